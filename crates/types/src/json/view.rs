//! Values read in place. Damaged bytes read as null. They never cause a panic or endless recursion.

use std::cmp::Ordering;

use super::{
    HEADER_BYTES, Json, JsonBinary, KEY_ENTRY_BYTES, LITERAL_FALSE, LITERAL_NULL, LITERAL_TRUE, MAX_DEPTH,
    VALUE_ENTRY_BYTES, code, field_type,
};
use crate::Decimal;
use crate::decimal::binary as decimal;
use crate::temporal::{DateTime, Time};

/// One value of a document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JsonRef<'a> {
    code: u8,
    /// How many arrays and objects enclose it.
    depth: u8,
    /// The bytes after the type.
    value: &'a [u8],
}

/// The type and content of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JsonView<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    String(&'a str),
    Date(DateTime),
    DateTime(DateTime),
    Timestamp(DateTime),
    Time(Time),
    /// Bytes of one of MySQL's field types.
    Opaque(u8, &'a [u8]),
    Array(JsonArray<'a>),
    Object(JsonObject<'a>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JsonArray<'a>(Container<'a>);

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JsonObject<'a>(Container<'a>);

#[derive(Debug, Clone, Copy, PartialEq)]
struct Container<'a> {
    depth: u8,
    count: usize,
    /// Where the value entries begin.
    entries: usize,
    /// The container's bytes, from its count on.
    bytes: &'a [u8],
}

const NULL: JsonRef<'static> = JsonRef {
    code: code::LITERAL,
    depth: 0,
    value: &[LITERAL_NULL],
};

impl<'a> JsonRef<'a> {
    /// The value of a document in the binary form.
    pub fn of_document(bytes: &'a [u8]) -> Self {
        match bytes.split_first() {
            Some((code, value)) => Self {
                code: *code,
                depth: 0,
                value,
            },
            None => NULL,
        }
    }

    /// How many bytes the value may take, together with what follows it in its document.
    pub fn bytes(self) -> usize {
        self.value.len()
    }

    pub fn view(self) -> JsonView<'a> {
        self.read().unwrap_or(JsonView::Null)
    }

    fn read(self) -> Option<JsonView<'a>> {
        Some(match self.code {
            code::LITERAL => match *self.value.first()? {
                LITERAL_TRUE => JsonView::Bool(true),
                LITERAL_FALSE => JsonView::Bool(false),
                _ => JsonView::Null,
            },
            code::INT => JsonView::Int(self.eight_bytes()? as i64),
            code::UINT => JsonView::UInt(self.eight_bytes()?),
            code::DOUBLE => JsonView::Double(f64::from_bits(self.eight_bytes()?)),
            code::STRING => JsonView::String(std::str::from_utf8(with_length(self.value)?).ok()?),
            code::OPAQUE => {
                let (ty, rest) = self.value.split_first()?;
                let bytes = with_length(rest)?;
                match *ty {
                    field_type::DECIMAL => JsonView::Decimal(decimal::decode(&mut &bytes[..])?),
                    ty => JsonView::Opaque(ty, bytes),
                }
            }
            code::DATE => JsonView::Date(of_core_time(self.eight_bytes()?).date()),
            code::DATETIME => JsonView::DateTime(of_core_time(self.eight_bytes()?)),
            code::TIMESTAMP => JsonView::Timestamp(of_core_time(self.eight_bytes()?)),
            code::TIME => JsonView::Time(Time(self.eight_bytes()? as i64 / 1000)),
            code::ARRAY => JsonView::Array(JsonArray(self.container(0)?)),
            code::OBJECT => JsonView::Object(JsonObject(self.container(KEY_ENTRY_BYTES)?)),
            _ => return None,
        })
    }

    fn eight_bytes(self) -> Option<u64> {
        self.value.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    fn container(self, key_entry: usize) -> Option<Container<'a>> {
        let count = number_at(self.value, 0)?;
        let bytes = self.value.get(..number_at(self.value, 4)?)?;
        let entries = HEADER_BYTES + count.checked_mul(key_entry)?;
        let end = entries + count.checked_mul(VALUE_ENTRY_BYTES)?;
        (end <= bytes.len() && self.depth < MAX_DEPTH).then_some(Container {
            depth: self.depth,
            count,
            entries,
            bytes,
        })
    }

    /// The same value as a document of its own.
    pub fn to_binary(self) -> JsonBinary {
        let length = self
            .value_bytes()
            .unwrap_or(self.value.len())
            .min(self.value.len());
        let mut out = Vec::with_capacity(1 + length);
        out.push(self.code);
        out.extend_from_slice(self.value.get(..length).unwrap_or_default());
        JsonBinary::from_stored(out)
    }

    /// How many of the bytes after the type belong to the value.
    fn value_bytes(self) -> Option<usize> {
        Some(match self.code {
            code::LITERAL => 1,
            code::STRING => prefixed_bytes(self.value)?,
            code::OPAQUE => 1 + prefixed_bytes(self.value.get(1..)?)?,
            code::TIME => 12,
            code::ARRAY | code::OBJECT => number_at(self.value, 4)?,
            _ => 8,
        })
    }

    pub fn to_tree(self) -> Json {
        match self.view() {
            JsonView::Null => Json::Null,
            JsonView::Bool(v) => Json::Bool(v),
            JsonView::Int(v) => Json::Int(v),
            JsonView::UInt(v) => Json::UInt(v),
            JsonView::Double(v) => Json::Double(v),
            JsonView::Decimal(v) => Json::Decimal(v),
            JsonView::String(v) => Json::String(v.to_owned()),
            JsonView::Date(v) => Json::Date(v),
            JsonView::DateTime(v) => Json::DateTime(v),
            JsonView::Timestamp(v) => Json::Timestamp(v),
            JsonView::Time(v) => Json::Time(v),
            JsonView::Opaque(ty, bytes) => Json::Opaque(ty, bytes.to_vec()),
            JsonView::Array(items) => Json::Array(items.iter().map(Self::to_tree).collect()),
            JsonView::Object(members) => {
                Json::Object(members.iter().map(|(k, v)| (k.to_owned(), v.to_tree())).collect())
            }
        }
    }

    /// The member of an object.
    pub fn get(self, key: &str) -> Option<JsonRef<'a>> {
        match self.view() {
            JsonView::Object(object) => object.get(key),
            _ => None,
        }
    }

    /// The address of its bytes: two values with the same address are the same value.
    pub fn address(self) -> *const u8 {
        self.value.as_ptr()
    }
}

impl<'a> Container<'a> {
    /// The value of an entry. It must lie after the entries, so it is smaller than the container.
    fn value(self, index: usize) -> Option<JsonRef<'a>> {
        if index >= self.count {
            return None;
        }
        let entry = self.entries + index * VALUE_ENTRY_BYTES;
        let code = *self.bytes.get(entry)?;
        let value = match code {
            code::LITERAL => self.bytes.get(entry + 1..entry + 2)?,
            _ => {
                let offset = number_at(self.bytes, entry + 1)?;
                let first = self.entries + self.count * VALUE_ENTRY_BYTES;
                self.bytes.get(offset..).filter(|_| offset >= first)?
            }
        };
        Some(JsonRef {
            code,
            depth: self.depth + 1,
            value,
        })
    }

    fn iter(self) -> impl ExactSizeIterator<Item = JsonRef<'a>> + Clone {
        (0..self.count).map(move |index| self.value(index).unwrap_or(NULL))
    }

    fn key(self, index: usize) -> &'a [u8] {
        let entry = HEADER_BYTES + index * KEY_ENTRY_BYTES;
        let found = || {
            let offset = number_at(self.bytes, entry)?;
            let length = self.bytes.get(entry + 4..)?.first_chunk()?;
            self.bytes
                .get(offset..offset.checked_add(usize::from(u16::from_le_bytes(*length)))?)
        };
        found().unwrap_or_default()
    }
}

impl<'a> JsonArray<'a> {
    pub fn len(self) -> usize {
        self.0.count
    }

    pub fn is_empty(self) -> bool {
        self.0.count == 0
    }

    pub fn get(self, index: usize) -> Option<JsonRef<'a>> {
        self.0.value(index)
    }

    pub fn iter(self) -> impl ExactSizeIterator<Item = JsonRef<'a>> + Clone {
        self.0.iter()
    }
}

impl<'a> JsonObject<'a> {
    pub fn len(self) -> usize {
        self.0.count
    }

    pub fn is_empty(self) -> bool {
        self.0.count == 0
    }

    /// The member with a key, found by binary search.
    pub fn get(self, key: &str) -> Option<JsonRef<'a>> {
        let order = |index: usize| {
            let other = self.0.key(index);
            other
                .len()
                .cmp(&key.len())
                .then_with(|| other.cmp(key.as_bytes()))
        };
        let (mut low, mut high) = (0, self.0.count);
        while low < high {
            let middle = low.midpoint(high);
            match order(middle) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return self.0.value(middle),
            }
        }
        None
    }

    pub fn keys(self) -> impl ExactSizeIterator<Item = &'a str> + Clone {
        (0..self.0.count).map(move |index| std::str::from_utf8(self.0.key(index)).unwrap_or_default())
    }

    pub fn values(self) -> impl ExactSizeIterator<Item = JsonRef<'a>> + Clone {
        self.0.iter()
    }

    pub fn iter(self) -> impl Iterator<Item = (&'a str, JsonRef<'a>)> + Clone {
        self.keys().zip(self.values())
    }
}

fn number_at(bytes: &[u8], at: usize) -> Option<usize> {
    let number = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*number) as usize)
}

/// A length prefix, seven bits a byte, and how many bytes it takes.
fn length_of(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut length = 0;
    for (i, byte) in bytes.iter().take(5).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((length, i + 1));
        }
    }
    None
}

fn prefixed_bytes(bytes: &[u8]) -> Option<usize> {
    length_of(bytes).map(|(length, prefix)| prefix + length)
}

/// The bytes after a length prefix.
fn with_length(bytes: &[u8]) -> Option<&[u8]> {
    let (length, prefix) = length_of(bytes)?;
    bytes.get(prefix..prefix.checked_add(length)?)
}

fn of_core_time(bits: u64) -> DateTime {
    let field = |shift: u32, width: u32| bits >> shift & ((1 << width) - 1);
    DateTime::new(
        field(50, 14) as u16,
        field(46, 4) as u8,
        field(41, 5) as u8,
        field(36, 5) as u8,
        field(30, 6) as u8,
        field(24, 6) as u8,
        field(4, 20) as u32,
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_json() -> impl Strategy<Value = Json> {
        let scalar = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            any::<i64>().prop_map(Json::Int),
            any::<u64>().prop_map(Json::UInt),
            (-1e300..1e300).prop_map(Json::Double),
            (any::<i64>(), 0u8..30).prop_map(|(v, s)| Json::Decimal(Decimal::from_i128(v.into(), s))),
            ".{0,200}".prop_map(Json::String),
            (0i64..1_000_000).prop_map(|us| Json::Time(Time(us - 500_000))),
            (1000u16..9999, 1u8..13, 1u8..29).prop_map(|(y, m, d)| Json::Date(DateTime::from_date(y, m, d))),
            (1000u16..9999, 0u8..24, 0u32..1_000_000)
                .prop_map(|(y, h, us)| Json::DateTime(DateTime::new(y, 1, 2, h, 59, 58, us))),
            (249u8..=252, proptest::collection::vec(any::<u8>(), 0..200))
                .prop_map(|(ty, b)| Json::Opaque(ty, b)),
        ];
        scalar.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..8).prop_map(Json::Array),
                proptest::collection::vec((".{0,5}", inner), 0..8).prop_map(Json::object),
            ]
        })
    }

    fn walk(json: JsonRef<'_>) -> usize {
        match json.view() {
            JsonView::Array(items) => 1 + items.iter().map(walk).sum::<usize>(),
            JsonView::Object(members) => 1 + members.iter().map(|(_, v)| walk(v)).sum::<usize>(),
            _ => 1,
        }
    }

    proptest! {
        #[test]
        fn trees_come_back(json in any_json()) {
            let binary = JsonBinary::new(&json).unwrap();
            prop_assert_eq!(&binary.root().to_tree(), &json);
            prop_assert_eq!(binary.root().to_binary(), binary.clone());
            if let (Json::Object(members), JsonView::Object(object)) = (&json, binary.root().view()) {
                for (key, value) in members {
                    let found = object.get(key).unwrap();
                    prop_assert_eq!(&found.to_tree(), value);
                    prop_assert_eq!(found.to_binary(), JsonBinary::new(value).unwrap());
                }
                prop_assert_eq!(object.get("no such key"), None);
            }
        }

        #[test]
        fn damaged_bytes_are_read(json in any_json(), at in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>()) {
            let mut bytes = JsonBinary::new(&json).unwrap().as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(1 + cut.index(bytes.len()));
            walk(JsonRef::of_document(&bytes));
            let _ = JsonRef::of_document(&bytes).to_text();
        }
    }
}
