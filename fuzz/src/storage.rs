//! Keys and rows as a damaged disk may return them.

use codec::key::TableKey;
use codec::row::{RowEncoder, RowView};
use types::{Collation, SqlType, Value};

/// Types of every encoding.
const TYPES: [SqlType; 9] = [
    SqlType::BIGINT,
    SqlType::BIGINT_UNSIGNED,
    SqlType::DOUBLE,
    SqlType::decimal(20, 4),
    SqlType::datetime(6),
    SqlType::time(3),
    SqlType::varchar(20, Collation::Utf8mb40900AiCi),
    SqlType::varchar(20, Collation::Binary),
    SqlType::JSON,
];

pub fn keys(bytes: &[u8]) {
    drop(TableKey::parse(bytes));
    drop(codec::key::handle_bytes(bytes));
    drop(codec::key::index_parts(bytes));
    drop(codec::meta::MetaKey::parse(bytes));
    drop(codec::index::decode_handle(bytes, true));
    drop(codec::index::decode_handle(bytes, false));
    drop(codec::index::IndexValue::parse(bytes));
    for ty in &TYPES {
        let mut rest = bytes;
        drop(codec::datum::decode(&mut rest, ty));
    }
    let mut rest = bytes;
    while !rest.is_empty() && codec::datum::split(&mut rest).is_ok() {}
}

pub fn key_seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![
        codec::key::row_key(7, &codec::key::RowHandle::Int(-5)),
        codec::meta::hash_key(b"DBs", b"1"),
    ];
    for (ty, value) in TYPES.iter().zip(values()) {
        let mut index = codec::key::index_prefix(7, 2);
        if codec::datum::encode(&value, ty, &mut index).is_ok() {
            seeds.push(index);
        }
        let mut datum = Vec::new();
        if codec::datum::encode(&value, ty, &mut datum).is_ok() {
            seeds.push(datum);
        }
    }
    seeds
}

pub fn rows(bytes: &[u8]) {
    let Ok(view) = RowView::parse(bytes) else { return };
    for id in [0, 1, 2, 9, 255, 256, i64::MAX] {
        drop(view.get(id));
    }
    for ty in &TYPES {
        drop(codec::row::cell::decode(bytes, ty));
    }
}

pub fn row_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for first_id in [1, 250] {
        let mut encoder = RowEncoder::new();
        for (position, (ty, value)) in TYPES.iter().zip(values()).enumerate() {
            drop(encoder.push(first_id + position as i64, &value, ty));
        }
        drop(encoder.push(first_id + 90, &Value::Null, &TYPES[0]));
        seeds.extend(encoder.finish());
    }
    seeds
}

fn values() -> [Value; 9] {
    let decimal = types::Decimal::parse("-123456.7891").map_or(Value::Null, Value::Decimal);
    [
        Value::Int(-77),
        Value::UInt(u64::MAX),
        Value::Double(2.5e-10),
        decimal,
        Value::UInt(1_000_000_000_000_000),
        Value::Int(-3_600_000_001),
        Value::String("grün".to_owned()),
        Value::Bytes(vec![0, 255, 7, 7, 7, 7, 7, 7, 0]),
        Value::String("{\"a\": [1, null]}".to_owned()),
    ]
}
