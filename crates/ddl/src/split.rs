//! Splits a table into regions, for PRE_SPLIT_REGIONS and SPLIT TABLE.

use std::time::Duration;

use cluster::Cluster;
use codec::key::{index_prefix, row_prefix, table_prefix};
use functions::TimeZone;
use kv::KeyRange;
use schema::definition::TableName;
use schema::layout::{KeyParts, RowHandle, row_key};
use schema::model::{Handle, Table};
use types::{Error, Result, Value, Warning, errno};

use crate::DdlContext;
use crate::change::ranges;

/// TiDB's error for ranges that cannot be split.
const ER_SPLIT_REGION_RANGES: u16 = 8212;

/// The largest number of regions in one SPLIT TABLE, as in TiDB.
const REGIONS_MAX: u64 = 1_000;

/// Splits a new table according to PRE_SPLIT_REGIONS. If that fails, the table exists anyway, and a warning
/// is returned.
pub(crate) fn pre_split(cluster: &Cluster, name: &TableName, ctx: &DdlContext) -> Option<Warning> {
    let schema = cluster.schema();
    let table = schema.table(&name.database, &name.name)?;
    if table.pre_split_regions == 0 {
        return None;
    }
    let split = first_keys(table).and_then(|keys| {
        let report = cluster
            .store()
            .split_at(&keys, Duration::ZERO, Some(&ctx.interrupt))?;
        tracing::debug!(table = table.id, regions = report.split, "split a new table");
        Ok(())
    });
    let error = split.err()?;
    let message = format!("The table is there, but has not been split: {}", error.message);
    Some(Warning::warning(errno::ER_UNKNOWN_ERROR, message))
}

/// The keys at which the regions of a new table with PRE_SPLIT_REGIONS begin.
fn first_keys(table: &Table) -> Result<Vec<Vec<u8>>> {
    let mut keys = vec![table_prefix(table.physical_id())];
    let clustered = match table.handle {
        Handle::Clustered { index } => Some(index),
        Handle::Integer { .. } | Handle::Hidden => None,
    };
    for (at, index) in table.indexes.iter().enumerate() {
        if Some(at) != clustered {
            keys.extend([
                index_prefix(table.physical_id(), index.id),
                row_prefix(table.physical_id()),
            ]);
        }
    }
    let Some(layout) = table.auto_random_layout() else {
        let ids = table.row_id_layout().boundaries(table.pre_split_regions);
        keys.extend(ids.map(|id| row_key(table, &RowHandle::Int(id as i64))));
        return Ok(keys);
    };
    let parts = KeyParts::primary(table)?;
    let unsigned = parts.ty(0).is_some_and(|ty| ty.unsigned);
    for id in layout.boundaries(table.pre_split_regions) {
        let value = if unsigned {
            Value::UInt(id)
        } else {
            Value::Int(id as i64)
        };
        keys.push(parts.key(&[value], TimeZone::UTC)?);
    }
    Ok(keys)
}

/// The rows or the index of a table that SPLIT TABLE splits.
pub struct Splitting<'t> {
    table: &'t Table,
    /// Position in the table's indexes.
    index: Option<usize>,
    /// `None`: rows with hidden ids. Their key is an integer that is not a column.
    parts: Option<KeyParts>,
}

impl<'t> Splitting<'t> {
    /// # Errors
    /// 1176 if there is no such index.
    pub fn new(table: &'t Table, index: Option<&str>) -> Result<Self> {
        if table.partitioning.is_some() {
            return Err(Error::not_supported(
                "SPLIT TABLE of a table with partitions",
                "its regions split by themselves as they grow",
            ));
        }
        let position = index.map(|name| index_position(table, name)).transpose()?;
        let parts = match (position, table.handle) {
            (Some(position), _) => Some(KeyParts::index(table, position)?),
            (None, Handle::Hidden) => None,
            (None, _) => Some(KeyParts::primary(table)?),
        };
        Ok(Self {
            table,
            index: position,
            parts,
        })
    }

    /// The column of a part of the key, to whose type a value is converted. `None`: BIGINT.
    ///
    /// # Errors
    /// 1136 if the key has no such part. `row`: the number of the list of values in the statement.
    pub fn column(&self, part: usize, row: usize) -> Result<Option<usize>> {
        let parts = self.parts.as_ref().map_or(1, KeyParts::len);
        if part >= parts {
            return Err(Error::new(
                errno::ER_WRONG_VALUE_COUNT_ON_ROW,
                format!("Column count doesn't match value count at row {row}"),
            ));
        }
        Ok(self.parts.as_ref().and_then(|parts| parts.column(part)))
    }

    /// `BY (...), ...`: values in the types of the parts.
    ///
    /// # Errors
    /// 8212 for a NULL that the key cannot have.
    pub fn by(&self, points: &[Vec<Value>], zone: TimeZone) -> Result<Vec<Vec<u8>>> {
        let mut keys = self.around();
        for values in points {
            keys.push(self.key(values, zone)?);
        }
        Ok(keys)
    }

    /// `BETWEEN (lower) AND (upper) REGIONS regions`.
    ///
    /// # Errors
    /// 8212 if the range is empty or too small, or the number is invalid.
    pub fn between(
        &self,
        lower: &[Value],
        upper: &[Value],
        regions: u64,
        zone: TimeZone,
    ) -> Result<Vec<Vec<u8>>> {
        if regions == 0 {
            return Err(wrong("the number of regions should be greater than 0"));
        }
        if regions > REGIONS_MAX {
            return Err(wrong(format!(
                "the number of regions exceeds the limit {REGIONS_MAX}"
            )));
        }
        let (from, to) = (self.key(lower, zone)?, self.key(upper, zone)?);
        if from >= to {
            return Err(wrong("the lower value should be less than the upper value"));
        }
        let mut keys = self.around();
        match (self.integer(lower), self.integer(upper)) {
            (Some(from), Some(to)) => {
                let step = from.abs_diff(to) / regions;
                let ids = (1..regions).map(|part| from.wrapping_add_unsigned(step * part));
                keys.extend(ids.map(|id| row_key(self.table, &RowHandle::Int(id))));
            }
            _ => keys.extend(evenly(&from, &to, regions)),
        }
        Ok(keys)
    }

    fn key(&self, values: &[Value], zone: TimeZone) -> Result<Vec<u8>> {
        if self.index.is_none() && values.iter().any(Value::is_null) {
            return Err(wrong("a row's key cannot be NULL"));
        }
        match &self.parts {
            Some(parts) => parts.key(values, zone),
            None => match values.first().and_then(Value::as_i64) {
                Some(id) => Ok(row_key(self.table, &RowHandle::Int(id))),
                None => Err(wrong("the key of a row without a primary key is an integer")),
            },
        }
    }

    /// The value, if a row's key consists only of it.
    fn integer(&self, values: &[Value]) -> Option<i64> {
        let is_integer = self.index.is_none() && !matches!(self.table.handle, Handle::Clustered { .. });
        values.first().filter(|_| is_integer)?.as_i64()
    }

    /// The keys that separate the rows or index from the other parts of the table.
    fn around(&self) -> Vec<Vec<u8>> {
        let clustered = matches!(self.table.handle, Handle::Clustered { .. });
        let others = self.table.indexes.len() - usize::from(clustered);
        let id_of = |index: usize| self.table.indexes.get(index).map_or(0, |index| index.id);
        match self.index {
            None if others == 0 => Vec::new(),
            None => vec![row_prefix(self.table.physical_id())],
            Some(index) => {
                let start = index_prefix(self.table.physical_id(), id_of(index));
                let has_next = self.table.indexes.iter().any(|other| other.id > id_of(index));
                let end = has_next.then(|| codec::prefix_next(&start));
                std::iter::once(start).chain(end).collect()
            }
        }
    }
}

/// All keys of a table, or of one of its indexes.
///
/// # Errors
/// 1176 if there is no such index.
pub fn keys_of(table: &Table, index: Option<&str>) -> Result<Vec<KeyRange>> {
    Ok(ranges(match index {
        Some(name) => table.index_ranges(index_position(table, name)?),
        None => table.data_ranges(),
    }))
}

fn index_position(table: &Table, name: &str) -> Result<usize> {
    let is_entries = |at: usize| !matches!(table.handle, Handle::Clustered { index } if index == at);
    let found = table
        .indexes
        .iter()
        .position(|index| types::same_name(&index.name, name));
    found.filter(|&at| is_entries(at)).ok_or_else(|| {
        Error::new(
            errno::ER_KEY_DOES_NOT_EXITS,
            format!("Key '{name}' doesn't exist in table '{}'", table.name),
        )
    })
}

/// Keys that divide the range between two keys into `parts`, by the eight bytes at which the two first
/// differ.
fn evenly(from: &[u8], to: &[u8], parts: u64) -> impl Iterator<Item = Vec<u8>> {
    let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let prefix = from[..common].to_vec();
    let number = |key: &[u8], padding: u8| {
        let mut bytes = [padding; 8];
        let rest = &key[common..];
        let length = rest.len().min(bytes.len());
        bytes[..length].copy_from_slice(&rest[..length]);
        u64::from_be_bytes(bytes)
    };
    let first = number(from, 0);
    let step = (number(to, 0xFF) - first) / parts;
    (1..parts).map(move |part| {
        let mut key = prefix.clone();
        key.extend_from_slice(&(first + step * part).to_be_bytes());
        key
    })
}

/// Error 8212.
fn wrong(what: impl std::fmt::Display) -> Error {
    Error::new(
        ER_SPLIT_REGION_RANGES,
        format!("Failed to split region ranges: {what}"),
    )
}

/// A key as TiDB shows it: `t_22_r_11`, `t_22_i_5_0380...`; a key that is not of a table in hexadecimal
/// digits.
pub fn key_text(key: &[u8]) -> String {
    let Some((id, rest)) = key.strip_prefix(b"t").and_then(number) else {
        return hex(key);
    };
    if let Some(handle) = rest.strip_prefix(b"_r") {
        return match number(handle) {
            Some((row, b"")) => format!("t_{id}_r_{row}"),
            _ if handle.is_empty() => format!("t_{id}_r"),
            _ => format!("t_{id}_r_{}", hex(handle)),
        };
    }
    match rest.strip_prefix(b"_i").and_then(number) {
        Some((index, parts)) => format!("t_{id}_i_{index}_{}", hex(parts)),
        None => format!("t_{id}_{}", hex(rest)),
    }
}

/// The integer at the beginning of the rest of a key, and what follows it.
fn number(mut key: &[u8]) -> Option<(i64, &[u8])> {
    let number = codec::memcomparable::decode_i64(&mut key).ok()?;
    Some((number, key))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use schema::test_support::*;

    use super::*;

    fn table(definition: &schema::definition::TableDefinition) -> Table {
        let mut table = schema::new_table(&name("t"), definition, 0).unwrap().0;
        table.id = 101;
        table
    }

    fn texts(keys: &[Vec<u8>], table: &Table) -> Vec<String> {
        let prefix = format!("t_{}_", table.id);
        let text = |key: &Vec<u8>| key_text(key).replacen(&prefix, "", 1);
        keys.iter().map(text).collect()
    }

    #[test]
    fn keys_are_shown_as_tidb_shows_them() {
        assert_eq!(key_text(b""), "");
        assert_eq!(key_text(&table_prefix(22)), "t_22_");
        assert_eq!(key_text(&row_prefix(22)), "t_22_r");
        assert_eq!(
            key_text(&codec::key::row_key(22, &RowHandle::Int(-11))),
            "t_22_r_-11"
        );
        assert_eq!(
            key_text(&codec::key::row_key(22, &RowHandle::Common(vec![1, 0xAB]))),
            "t_22_r_01ab"
        );
        assert_eq!(key_text(&index_prefix(22, 5)), "t_22_i_5_");
        assert_eq!(
            key_text(&[index_prefix(22, 5), vec![3, 0x80]].concat()),
            "t_22_i_5_0380"
        );
        assert_eq!(key_text(b"x\0\0"), "780000");
        assert_eq!(key_text(b"tab"), "746162");
    }

    #[test]
    fn integer_keys_are_cut_evenly() {
        let t = table(&by_id(vec![not_null("id", int())], vec![]));
        let rows = Splitting::new(&t, None).unwrap();
        let between = |from, to, regions| {
            let keys = rows.between(&[Value::Int(from)], &[Value::Int(to)], regions, TimeZone::UTC);
            keys.map(|keys| texts(&keys, &t))
        };
        assert_eq!(between(0, 10_000, 4).unwrap(), ["r_2500", "r_5000", "r_7500"]);
        assert_eq!(between(i64::MIN, i64::MAX, 2).unwrap(), ["r_-1"]);
        assert_eq!(between(0, 10, 1).unwrap(), [""; 0]);
        for (from, to, regions) in [(5, 5, 2), (6, 5, 2), (0, 10, 0), (0, 10, 1001)] {
            assert_eq!(
                between(from, to, regions).unwrap_err().code,
                ER_SPLIT_REGION_RANGES
            );
        }
        let by = rows.by(&[vec![Value::Int(10)], vec![Value::Int(-3)]], TimeZone::UTC);
        assert_eq!(texts(&by.unwrap(), &t), ["r_10", "r_-3"]);
        assert_eq!(
            rows.column(1, 1).unwrap_err().code,
            errno::ER_WRONG_VALUE_COUNT_ON_ROW
        );
    }

    /// The example of TiDB's documentation: a to z in 25 parts begins a region at each letter.
    #[test]
    fn other_keys_are_cut_by_their_bytes() {
        let columns = vec![column(
            "a",
            types::SqlType::varchar(9, types::Collation::Utf8mb4Bin),
        )];
        let t = table(&heap(columns, vec![key("a", &[0]), key("b", &[0])]));
        let index = Splitting::new(&t, Some("A")).unwrap();
        let keys = index
            .between(&[text("a")], &[text("z")], 25, TimeZone::UTC)
            .unwrap();
        let shown = texts(&keys, &t);
        assert_eq!(
            shown[..2],
            ["i_1_", "i_2_"],
            "apart from the other index and the rows"
        );
        assert_eq!(shown.len(), 2 + 24);
        assert!(
            shown[2].starts_with("i_1_0162") && shown[25].starts_with("i_1_0179"),
            "{shown:?}"
        );
        assert_eq!(Splitting::new(&t, Some("c")).err().map(|e| e.code), Some(1176));
        let rows = Splitting::new(&t, None).unwrap();
        let keys = rows.by(&[vec![Value::Int(7)]], TimeZone::UTC).unwrap();
        assert_eq!(texts(&keys, &t), ["r", "r_7"]);
    }

    #[test]
    fn a_new_table_is_split_at_its_shards() {
        let mut definition = heap(vec![column("a", int())], vec![key("a", &[0])]);
        definition.shard_row_id_bits = 4;
        definition.pre_split_regions = 2;
        let t = table(&definition);
        assert_eq!(
            texts(&first_keys(&t).unwrap(), &t),
            [
                "",
                "i_1_",
                "r",
                "r_2305843009213693952",
                "r_4611686018427387904",
                "r_6917529027641081856"
            ]
        );
    }
}
