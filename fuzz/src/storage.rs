//! Keys and rows as a damaged disk may return them.

use codec::key::TableKey;
use codec::row::{RowEncoder, RowView};
use types::json::{Json, JsonBinary, JsonRef, JsonView};
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

/// A document in the binary form, and the same bytes as a document's text.
pub fn json(bytes: &[u8]) {
    let document = JsonRef::of_document(bytes);
    let text = document.to_text();
    drop(document.to_tree());
    drop(document.to_binary().root().to_text());
    if let JsonView::Object(object) = document.view() {
        for key in object.keys() {
            drop(object.get(key).map(JsonRef::to_unquoted));
        }
    }
    for text in [text.as_bytes(), bytes] {
        drop(JsonBinary::parse(text));
    }
}

pub fn json_seeds() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 3] = [
        br#"{"a": [1, -2.5e10, true, null, "x"], "bb": {"c": {}, "d": [[], [[7]]]}}"#,
        br#"["a rather long text of more than a hundred and twenty-seven bytes, so that its length takes two of them, as it does here by now.", 18446744073709551615]"#,
        b"-7",
    ];
    let binary = texts.iter().filter_map(|text| JsonBinary::parse(text).ok());
    let binary = binary.map(JsonBinary::into_bytes);
    let mut seeds: Vec<Vec<u8>> = binary.collect();
    let tree = Json::Array(vec![
        Json::Decimal(types::Decimal::parse("-123456.7891").unwrap_or_default()),
        Json::UInt(u64::MAX),
        Json::Opaque(252, vec![0, 255, 7]),
        Json::DateTime(types::temporal::DateTime::new(2024, 2, 29, 23, 59, 59, 999_999)),
        Json::Time(types::temporal::Time(-3_600_000_001)),
    ]);
    seeds.extend(JsonBinary::new(&tree).ok().map(JsonBinary::into_bytes));
    seeds.extend(texts.iter().map(|text| text.to_vec()));
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
        JsonBinary::parse(br#"{"a": [1, null]}"#).map_or(Value::Null, Value::Json),
    ]
}
