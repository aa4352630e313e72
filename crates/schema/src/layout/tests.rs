//! Rows and entries written and read back, for every kind of handle.

use codec::RowHandle;
use functions::TimeZone;
use proptest::prelude::*;
use types::array::value_at;
use types::temporal::DateTime;
use types::{Collation, Decimal, SqlType, TypeKind, Value};

use super::*;
use crate::model::{Column, Handle, Index, IndexPart, SchemaState, Table};

const ZONE: TimeZone = TimeZone::Offset(2 * 3600);
const TEXT: SqlType = SqlType::varchar(20, Collation::DEFAULT);
const PADDED: SqlType = SqlType::varchar(20, Collation::Utf8mb4Bin);
const BINARY: SqlType = SqlType::varchar(20, Collation::Binary);

fn column(id: i64, ty: SqlType) -> Column {
    Column {
        id,
        ..Column::plain(format!("c{id}"), ty, true)
    }
}

fn index(id: i64, unique: bool, parts: &[(usize, Option<u32>)]) -> Index {
    Index {
        id,
        name: format!("i{id}"),
        parts: parts
            .iter()
            .map(|&(column, prefix)| IndexPart {
                column,
                prefix,
                descending: false,
                stored_descending: false,
            })
            .collect(),
        unique,
        primary: false,
        comment: String::new(),
        state: SchemaState::Public,
        invisible: false,
        generated: false,
        using_btree: false,
        full_text: None,
    }
}

/// Columns: 0 int, 1 text, 2 timestamp, 3 decimal, 4 padded text, 5 binary, 6 time, 7 double, 8 int unsigned,
/// 9 json. Their ids do not follow their order.
fn table(handle: Handle, indexes: Vec<Index>) -> Table {
    let unsigned = SqlType {
        kind: TypeKind::Int,
        unsigned: true,
        ..SqlType::BIGINT
    };
    let types = [
        SqlType::BIGINT,
        TEXT,
        SqlType::timestamp(6),
        SqlType::decimal(10, 2),
        PADDED,
        BINARY,
        SqlType::time(6),
        SqlType::DOUBLE,
        unsigned,
        SqlType::JSON,
    ];
    Table {
        id: 77,
        name: "t".into(),
        database: "d".into(),
        columns: types
            .iter()
            .enumerate()
            .map(|(i, ty)| column(20 - i as i64, *ty))
            .collect(),
        indexes,
        handle,
        collation: Collation::DEFAULT,
        comment: String::new(),
        max_column_id: 20,
        max_index_id: 9,
        auto_increment_start: 1,
        shard_row_id_bits: 0,
        pre_split_regions: 0,
        created_us: 0,
        revision: 1,
        readable_from_ts: 0,
        view: None,
        system: Default::default(),
        checks: Vec::new(),
        bound: Default::default(),
        foreign_keys: Vec::new(),
        shadow: None,
        options: Default::default(),
        temporary: None,
        physical: None,
        partitioning: None,
    }
}

fn row(n: i64) -> Vec<Value> {
    vec![
        Value::Int(n),
        Value::from(format!("Text {n} ä")),
        Value::UInt(DateTime::new(2024, 3, 1, 1, 2, 3, n.unsigned_abs() as u32 % 1_000_000).pack()),
        Value::Decimal(Decimal::from_i128(i128::from(n) * 7, 2)),
        Value::from(format!("{n}\n ")),
        Value::Bytes(n.to_be_bytes().to_vec()),
        Value::Int(-n * 1_000_001),
        Value::Double(n as f64 / 4.0),
        Value::UInt(n.unsigned_abs() & 0xffff_ffff),
        Value::Json(types::json::JsonBinary::parse(b"{}").unwrap()),
    ]
}

const ALL: [usize; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

/// A clustered primary key of text, a timestamp and the beginning of binary data.
fn clustered() -> Table {
    let mut primary = index(1, true, &[(1, None), (2, None), (5, Some(3))]);
    primary.primary = true;
    table(Handle::Clustered { index: 0 }, vec![primary])
}

fn tables() -> Vec<(Table, Option<RowHandle>)> {
    vec![
        (table(Handle::Integer { column: 0 }, vec![]), None),
        (table(Handle::Integer { column: 8 }, vec![]), None),
        (clustered(), None),
        (table(Handle::Hidden, vec![]), Some(RowHandle::Int(5))),
    ]
}

#[test]
fn rows_come_back_whatever_the_handle() {
    for (table, given) in tables() {
        let encoder = RowEncoder::new(&table).unwrap();
        let mut with_null = row(3);
        with_null[3] = Value::Null;
        with_null[9] = Value::Null;
        for row in [row(1), row(70_000), with_null] {
            let handle = given
                .clone()
                .unwrap_or_else(|| encoder.handle(&row, ZONE).unwrap());
            let (key, value) = (encoder.row_key(&handle), encoder.row_value(&row, ZONE).unwrap());
            assert!(table_range(&table).contains(&key));
            let layout = TableLayout::new(&table, &ALL).unwrap();
            assert_eq!(layout.decode_row_values(&key, &value, ZONE).unwrap(), row);
            assert_eq!(layout.handle_of_row_key(&key).unwrap(), handle);
            // Some columns, in another order, one of them twice.
            let chosen = [8, 2, 0, 5, 1, 2];
            let mut decoder = Decoder::of_rows(&table, &chosen, ZONE).unwrap();
            decoder.push(&key, &value).unwrap();
            assert_eq!(decoder.len(), 1);
            for (array, offset) in decoder.finish().unwrap().iter().zip(chosen) {
                assert_eq!(value_at(array, 0, &table.columns[offset].ty), row[offset]);
            }
        }
    }
}

#[test]
fn timestamps_are_stored_in_utc() {
    let table = clustered();
    let encoder = RowEncoder::new(&table).unwrap();
    let handle = encoder.handle(&row(1), ZONE).unwrap();
    let (key, value) = (
        encoder.row_key(&handle),
        encoder.row_value(&row(1), ZONE).unwrap(),
    );
    let layout = TableLayout::new(&table, &[2]).unwrap();
    let utc = layout
        .decode_row_values(&key, &value, TimeZone::Offset(0))
        .unwrap();
    let expected = DateTime::new(2024, 2, 29, 23, 2, 3, 1).pack();
    assert_eq!(utc, [Value::UInt(expected)]);
}

#[test]
fn keys_hold_what_rows_then_do_not() {
    let view_of = |table: &Table| {
        let value = RowEncoder::new(table).unwrap().row_value(&row(1), ZONE).unwrap();
        let view = codec::row::RowView::parse(&value).unwrap();
        let missing = |offset: &usize| view.get(table.columns[*offset].id) == Ok(codec::row::Cell::Missing);
        ALL.iter().copied().filter(missing).collect::<Vec<_>>()
    };
    assert_eq!(view_of(&table(Handle::Hidden, vec![])), [0usize; 0]);
    assert_eq!(view_of(&table(Handle::Integer { column: 0 }, vec![])), [0]);
    // Text and cut columns stay in the row.
    assert_eq!(view_of(&clustered()), [2]);
}

#[test]
fn older_rows_have_the_default_of_newer_columns() {
    let old = table(Handle::Hidden, vec![]);
    let value = RowEncoder::new(&old).unwrap().row_value(&row(1), ZONE).unwrap();
    let mut new = old;
    for (id, ty, default) in [
        (30, SqlType::BIGINT, Some("-4")),
        (31, BINARY, Some("0x00fF")),
        (32, TEXT, Some("text")),
        (33, SqlType::decimal(5, 2), Some("1.50")),
        (34, SqlType::BIGINT, None),
        (35, SqlType::timestamp(0), Some("2024-01-01 00:30:00")),
        (36, SqlType::DATE, Some("0000-00-00")),
        (37, SqlType::time(3), Some("-01:00:00.500")),
    ] {
        let mut added = column(id, ty);
        added.original_default = default.map(str::to_owned);
        new.columns.push(added);
    }
    let layout = TableLayout::new(&new, &[10, 11, 12, 13, 14, 15, 16, 17]).unwrap();
    let key = row_key(&new, &RowHandle::Int(1));
    let expected = [
        Value::Int(-4),
        Value::Bytes(vec![0, 0xff]),
        Value::from("text"),
        Value::Decimal(Decimal::from_i128(150, 2)),
        Value::Null,
        // Defaults of TIMESTAMPs are stored in UTC.
        Value::UInt(DateTime::new(2024, 1, 1, 2, 30, 0, 0).pack()),
        Value::UInt(0),
        Value::Int(-3_600_500_000),
    ];
    assert_eq!(layout.decode_row_values(&key, &value, ZONE).unwrap(), expected);
    // To be set to it is no change, to be set to anything else is one.
    let encoder = RowEncoder::new(&new).unwrap();
    for (at, default) in (10..).zip(expected) {
        let mut given = vec![Value::Null; new.columns.len()];
        let mut change = |to: Value| {
            given[at] = to;
            encoder.changed_value(&value, &given, &[at], ZONE).unwrap()
        };
        let had_default = !default.is_null();
        assert_eq!(change(default), None);
        assert_eq!(change(Value::Null).is_some(), had_default);
    }
    // NULL is not the default of the first, so it is written down.
    let mut nulls = row(1);
    nulls.extend(vec![Value::Null; 8]);
    let value = RowEncoder::new(&new).unwrap().row_value(&nulls, ZONE).unwrap();
    assert_eq!(
        layout.decode_row_values(&key, &value, ZONE).unwrap(),
        vec![Value::Null; 8]
    );
}

/// Every kind of index over every kind of handle: handle, covered columns, distinctness. For each subset of
/// some columns: what is copied and what is encoded make the same bytes as encoding all does.
#[test]
fn a_changed_row_is_what_encoding_all_of_it_gives() {
    for (table, _) in tables() {
        let encoder = RowEncoder::new(&table).unwrap();
        let with_null = |mut row: Vec<Value>, nulls: &[usize]| {
            nulls.iter().for_each(|&at| row[at] = Value::Null);
            row
        };
        let before = [row(3), with_null(row(3), &[3, 4, 6, 9]), row(-70_000)];
        let after = [row(4), with_null(row(4), &[3, 7, 9]), with_null(row(90), &[4, 6])];
        for (before, after) in before.iter().flat_map(|b| after.iter().map(move |a| (b, a))) {
            let stored = encoder.row_value(before, ZONE).unwrap();
            for subset in 0..1_u32 << ALL.len() {
                let changed: Vec<usize> = ALL.into_iter().filter(|at| subset >> at & 1 == 1).collect();
                let mut expected = before.clone();
                let mut given = vec![Value::Null; ALL.len()];
                for &at in &changed {
                    expected[at] = after[at].clone();
                    given[at] = after[at].clone();
                }
                let expected = encoder.row_value(&expected, ZONE).unwrap();
                assert_eq!(
                    encoder.changed_value(&stored, &given, &changed, ZONE).unwrap(),
                    (expected != stored).then_some(expected),
                    "{changed:?}"
                );
            }
        }
        let stored = encoder.row_value(&row(1), ZONE).unwrap();
        assert!(encoder.changed_value(&stored, &row(1)[1..], &[1], ZONE).is_err());
        assert!(encoder.changed_value(&stored[..4], &row(1), &[1], ZONE).is_err());
    }
}

#[test]
fn columns_are_decoded_in_their_places() {
    for (table, given) in tables() {
        let encoder = RowEncoder::new(&table).unwrap();
        let handle = given.unwrap_or_else(|| encoder.handle(&row(1), ZONE).unwrap());
        let (key, value) = (
            encoder.row_key(&handle),
            encoder.row_value(&row(1), ZONE).unwrap(),
        );
        for wanted in [&[][..], &[1], &[8, 0, 5], &ALL] {
            let layout = TableLayout::in_place(&table, wanted).unwrap();
            let decoded = layout.decode_row_values(&key, &value, ZONE).unwrap();
            let all = row(1).into_iter().enumerate();
            let expected: Vec<Value> = all
                .map(|(at, value)| if wanted.contains(&at) { value } else { Value::Null })
                .collect();
            assert_eq!(decoded, expected);
        }
        assert!(TableLayout::in_place(&table, &[10]).is_err());
    }
}

#[test]
fn entries_come_back_whatever_index_and_handle() {
    let shapes: [&[(usize, Option<u32>)]; 5] = [
        &[(0, None)],
        &[(3, None), (1, None)],
        &[(4, None), (6, None), (2, None)],
        &[(1, Some(3)), (8, None)],
        &[(5, Some(3)), (7, None)],
    ];
    for (mut table, given) in tables() {
        for (shape, unique) in shapes.iter().flat_map(|s| [(s, false), (s, true)]) {
            table
                .indexes
                .truncate(usize::from(matches!(table.handle, Handle::Clustered { .. })));
            table.indexes.push(index(9, unique, shape));
            let position = table.indexes.len() - 1;
            let encoder = RowEncoder::new(&table).unwrap();
            assert_eq!(encoder.entry_indexes().collect::<Vec<_>>(), [position]);
            let covered: Vec<usize> = ALL
                .into_iter()
                .filter(|c| index_covers(&table, position, &[*c]))
                .collect();
            let whole = shape.iter().filter(|p| p.1.is_none());
            assert!(
                whole.clone().all(|p| covered.contains(&p.0)),
                "{shape:?} {covered:?}"
            );
            let layout = IndexLayout::new(&table, position, &covered).unwrap();
            let mut with_null = row(3);
            with_null[shape[0].0] = Value::Null;
            for (row, has_null) in [(row(1), false), (row(-9), false), (with_null, true)] {
                let negative_unsigned =
                    matches!(table.handle, Handle::Integer { column } if row[column].is_null());
                if negative_unsigned
                    || (has_null && table.primary_parts().iter().any(|p| row[p.column].is_null()))
                {
                    continue;
                }
                let handle = given
                    .clone()
                    .unwrap_or_else(|| encoder.handle(&row, ZONE).unwrap());
                let entry = encoder.index_entry(position, &row, &handle, ZONE).unwrap();
                assert_eq!(entry.distinct, unique && !has_null);
                assert!(index_range(&table, position).contains(&entry.key));
                assert_eq!(layout.handle(&entry.key, &entry.value).unwrap(), handle);
                let expected: Vec<Value> = covered.iter().map(|&c| row[c].clone()).collect();
                let mut decoder = Decoder::new(
                    DecoderLayout::of_entries(&table, position, &covered).unwrap(),
                    ZONE,
                );
                decoder.push(&entry.key, &entry.value).unwrap();
                for ((array, value), ty) in decoder
                    .finish()
                    .unwrap()
                    .iter()
                    .zip(&expected)
                    .zip(layout.types())
                {
                    assert_eq!(&value_at(array, 0, ty), value);
                }
                damage_is_an_error(&layout, &mut decoder, &entry);
            }
        }
    }
}

/// Cut short anywhere, or with any byte changed: an error or other values, never a panic.
fn damage_is_an_error(layout: &IndexLayout, decoder: &mut Decoder, entry: &IndexEntry) {
    for len in 0..entry.key.len() {
        let _ = decoder.push(&entry.key[..len], &entry.value);
        let _ = layout.handle(&entry.key[..len], &entry.value);
    }
    for len in 0..entry.value.len() {
        let _ = decoder.push(&entry.key, &entry.value[..len]);
        let _ = layout.handle(&entry.key, &entry.value[..len]);
    }
    for at in 0..entry.value.len() {
        let mut changed = entry.value.clone();
        changed[at] ^= 0x55;
        let _ = decoder.push(&entry.key, &changed);
        let _ = layout.handle(&entry.key, &changed);
    }
}

#[test]
fn what_an_index_does_not_cover_is_refused() {
    let mut table = table(Handle::Integer { column: 0 }, vec![]);
    table.indexes.push(index(1, false, &[(1, Some(3)), (3, None)]));
    assert!(index_covers(&table, 0, &[0, 3]));
    assert!(!index_covers(&table, 0, &[1]));
    assert!(!index_covers(&table, 0, &[4]));
    assert!(IndexLayout::new(&table, 0, &[1]).is_err());
    assert!(IndexLayout::new(&table, 7, &[]).is_err());
    // A prefix as long as the column cuts nothing.
    table.indexes[0].parts[0].prefix = Some(20);
    assert!(index_covers(&table, 0, &[1]));
}

#[test]
fn entries_of_equal_rows_meet() {
    let mut table = table(
        Handle::Integer { column: 0 },
        vec![index(1, true, &[(1, Some(6)), (4, None)])],
    );
    let encoder = RowEncoder::new(&table).unwrap();
    let entry = |text: &str, padded: &str, id: i64| {
        let mut row = row(id);
        (row[1], row[4]) = (Value::from(text), Value::from(padded));
        encoder.index_entry(0, &row, &RowHandle::Int(id), ZONE).unwrap()
    };
    assert_eq!(entry("STRASS und", "x", 1).key, entry("straß", "x  ", 2).key);
    assert_ne!(entry("a", "x", 1).key, entry("a ", "x", 2).key);
    assert_ne!(entry("a", "x", 1).key, entry("a", "X", 2).key);
    table.indexes[0].unique = false;
    let encoder = RowEncoder::new(&table).unwrap();
    let of = |id| {
        encoder
            .index_entry(0, &row(1), &RowHandle::Int(id), ZONE)
            .unwrap()
            .key
    };
    assert!(of(-1) < of(1));
}

#[test]
fn rows_of_the_wrong_width_and_foreign_values_are_refused() {
    let table = table(Handle::Integer { column: 0 }, vec![]);
    let encoder = RowEncoder::new(&table).unwrap();
    assert!(encoder.row_value(&row(1)[..9], ZONE).is_err());
    let mut foreign = row(1);
    foreign[7] = Value::from("text");
    assert!(encoder.row_value(&foreign, ZONE).is_err());
    foreign[0] = Value::Null;
    assert!(encoder.handle(&foreign, ZONE).is_err());
    assert!(
        RowEncoder::new(&super::tests::table(Handle::Hidden, vec![]))
            .unwrap()
            .handle(&row(1), ZONE)
            .is_err()
    );
}

/// A range of an index against the same range over values.
fn check_range(
    table: &Table,
    parts: &KeyParts,
    position: Option<usize>,
    range: &ValueRange,
    rows: &[Vec<Value>],
) {
    let encoder = RowEncoder::new(table).unwrap();
    let keys = parts.range(range, ZONE).unwrap();
    for row in rows {
        let handle = encoder.handle(row, ZONE).unwrap();
        let key = match position {
            Some(position) => encoder.index_entry(position, row, &handle, ZONE).unwrap().key,
            None => encoder.row_key(&handle),
        };
        let value = |part: usize| &row[parts.column(part).unwrap()];
        let as_option = |v: &Value| v.as_i64();
        let prefix_matches = range
            .prefix
            .iter()
            .enumerate()
            .all(|(i, v)| as_option(v) == as_option(value(i)));
        let bounded = range.prefix.len();
        let inside = prefix_matches
            && match (&range.lower, &range.upper) {
                (None, None) => true,
                (lower, upper) => {
                    // NULL is less than every value, as None is.
                    let v = as_option(value(bounded));
                    let above = lower.as_ref().is_none_or(|l| {
                        let l = (as_option(&l.value), l.inclusive);
                        v > l.0 || (l.1 && v == l.0)
                    });
                    let below = upper.as_ref().is_none_or(|u| {
                        let u = (as_option(&u.value), u.inclusive);
                        v < u.0 || (u.1 && v == u.0)
                    });
                    above && below && (lower.is_some() || v.is_some())
                }
            };
        assert_eq!(keys.contains(&key), inside, "{range:?} {row:?}");
    }
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (-3i64..3).prop_map(Value::Int),
        1 => Just(Value::Null),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX)].prop_map(Value::Int),
    ]
}

fn bound() -> impl Strategy<Value = Option<ValueBound>> {
    // NULL as a bound is only ever IS NOT NULL: lower and exclusive.
    let value = number().prop_filter("not NULL", |v| !v.is_null());
    proptest::option::of(
        (value, any::<bool>()).prop_map(|(value, inclusive)| ValueBound { value, inclusive }),
    )
}

proptest! {
    #[test]
    fn ranges_hold_the_keys_of_their_values(
        prefix in proptest::collection::vec(number(), 0..=1),
        lower in bound(),
        upper in bound(),
        not_null: bool,
        values in proptest::collection::vec((number(), number()), 1..20),
    ) {
        let mut table = table(Handle::Integer { column: 2 }, vec![index(1, false, &[(0, None), (1, None)])]);
        for offset in 0..3 {
            table.columns[offset].ty = SqlType::BIGINT;
        }
        let lower = lower.or(not_null.then_some(ValueBound { value: Value::Null, inclusive: false }));
        let rows: Vec<Vec<Value>> = values.into_iter().enumerate().map(|(i, (a, b))| {
            let mut row = row(1);
            (row[0], row[1], row[2]) = (a, b, Value::Int(i as i64 - 5));
            row
        }).collect();
        let range = ValueRange { prefix, lower, upper };
        check_range(&table, &KeyParts::index(&table, 0).unwrap(), Some(0), &range, &rows);
        if range.prefix.is_empty() {
            check_range(&table, &KeyParts::primary(&table).unwrap(), None, &range, &rows);
        }
    }

    #[test]
    fn damaged_rows_are_errors(value: Vec<u8>, key: Vec<u8>) {
        for (table, _) in tables() {
            let layout = TableLayout::new(&table, &ALL).unwrap();
            let _ = layout.decode_row_values(&key, &value, ZONE);
            let headed = [vec![128, 0, 2, 0, 1, 0, 11, 12, 13], value.clone()].concat();
            let headed_key = [codec::key::row_prefix(77), key.clone()].concat();
            let _ = layout.decode_row_values(&headed_key, &headed, ZONE);
            let _ = layout.handle_of_row_key(&headed_key);
        }
    }
}

#[test]
fn points_need_every_value() {
    let table = table(
        Handle::Integer { column: 0 },
        vec![index(1, true, &[(1, None), (3, None)])],
    );
    let parts = KeyParts::index(&table, 0).unwrap();
    let values = [Value::from("x"), Value::Decimal(Decimal::from_i64(1))];
    let key = parts.point(&values, ZONE).unwrap().unwrap();
    let mut row = row(1);
    (row[1], row[3]) = (values[0].clone(), values[1].clone());
    let entry = RowEncoder::new(&table)
        .unwrap()
        .index_entry(0, &row, &RowHandle::Int(1), ZONE)
        .unwrap();
    assert_eq!(entry.key, key);
    assert_eq!(
        parts.point(&[Value::Null, values[1].clone()], ZONE).unwrap(),
        None
    );
    let primary = KeyParts::primary(&table).unwrap();
    let row_key = primary.point(&[Value::Int(7)], ZONE).unwrap();
    assert_eq!(row_key, Some(super::row_key(&table, &RowHandle::Int(7))));
}

/// The order of entries, and the rows that they lead to, by an index with a descending part as it is stored now and
/// as older definitions have it.
#[test]
fn only_parts_that_are_stored_so_descend() {
    let older = IndexPart {
        descending: true,
        ..IndexPart::whole(0)
    };
    for stored_descending in [false, true] {
        let mut of_two = index(3, false, &[(0, None), (1, None)]);
        of_two.parts[0] = IndexPart {
            stored_descending,
            ..older
        };
        let table = table(Handle::Hidden, vec![of_two]);
        let encoder = RowEncoder::new(&table).unwrap();
        let layout = IndexLayout::new(&table, 0, &[0, 1]).unwrap();
        let mut last = None;
        for n in [-5, 0, 3, 1 << 40] {
            let handle = RowHandle::Int(n + 100);
            let entry = encoder.index_entry(0, &row(n), &handle, ZONE).unwrap();
            assert_eq!(layout.handle(&entry.key, &entry.value).unwrap(), handle);
            let parts = KeyParts::index(&table, 0).unwrap();
            let bound = |n| {
                Some(ValueBound {
                    value: Value::Int(n),
                    inclusive: true,
                })
            };
            let range = |lower, upper| ValueRange {
                prefix: Vec::new(),
                lower,
                upper,
            };
            for (range, inside) in [
                (range(bound(n), None), true),
                (range(None, bound(n)), true),
                (range(bound(n + 1), None), false),
                (range(None, bound(n - 1)), false),
            ] {
                let keys = parts.range(&range, ZONE).unwrap();
                assert_eq!(keys.contains(&entry.key), inside, "{n} in {range:?}");
            }
            if let Some(last) = last.replace(entry.key.clone()) {
                assert_eq!(last > entry.key, stored_descending);
            }
        }
    }
}
