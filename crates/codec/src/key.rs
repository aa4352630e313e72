//! Keys of rows and of index entries.
//!
//! ```text
//! t {table id: 8} _r {handle}            handle: an integer (8), or the encoded parts of the primary key
//! t {table id: 8} _i {index id: 8} {encoded parts} [handle]
//! ```
//!
//! Ids and integer handles are [`memcomparable`](crate::memcomparable) signed integers without a flag.
//! [`crate::index`] describes what follows the index id.

use crate::memcomparable::{decode_i64, encode_i64, take};
use crate::{Error, Result};

const TABLE: u8 = b't';
const ROW: [u8; 2] = *b"_r";
const INDEX: [u8; 2] = *b"_i";

/// `t`, the table id, `_r`.
pub const ROW_PREFIX_LEN: usize = 11;
/// `t`, the table id, `_i`, the index id.
pub const INDEX_PREFIX_LEN: usize = 19;

/// The identity of a row in its table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowHandle {
    /// An integer primary key, or a hidden row id.
    Int(i64),
    /// The encoded parts of any other primary key, as in the row's key.
    Common(Vec<u8>),
}

impl RowHandle {
    /// How many bytes it takes in a row's key.
    pub fn length(&self) -> usize {
        match self {
            Self::Int(_) => size_of::<i64>(),
            Self::Common(parts) => parts.len(),
        }
    }

    /// Appends the handle in its form in a row's key.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Int(id) => encode_i64(*id, out),
            Self::Common(parts) => out.extend_from_slice(parts),
        }
    }
}

/// The prefix of all keys of a table's rows and indexes: `t` and the table id.
pub fn table_prefix(table_id: i64) -> Vec<u8> {
    let mut key = Vec::with_capacity(ROW_PREFIX_LEN);
    key.push(TABLE);
    encode_i64(table_id, &mut key);
    key
}

/// The prefix of the keys of a table's rows.
pub fn row_prefix(table_id: i64) -> Vec<u8> {
    let mut key = Vec::with_capacity(ROW_PREFIX_LEN);
    append_row_prefix(table_id, &mut key);
    key
}

fn append_row_prefix(table_id: i64, key: &mut Vec<u8>) {
    key.push(TABLE);
    encode_i64(table_id, key);
    key.extend_from_slice(&ROW);
}

/// The table id in a key of a row or an index entry.
pub fn table_id(key: &[u8]) -> Result<i64> {
    match key.split_first() {
        Some((&TABLE, mut rest)) => decode_i64(&mut rest),
        _ => Err(Error::Malformed {
            what: "a table's key",
        }),
    }
}

/// Replaces the table id in a key of a row or an index entry.
pub fn set_table_id(key: &mut [u8], table_id: i64) {
    if let Some(id) = key.get_mut(1..1 + size_of::<i64>()) {
        let mut bytes = Vec::with_capacity(size_of::<i64>());
        encode_i64(table_id, &mut bytes);
        id.copy_from_slice(&bytes);
    }
}

pub fn row_key(table_id: i64, handle: &RowHandle) -> Vec<u8> {
    let mut key = Vec::with_capacity(ROW_PREFIX_LEN + handle.length());
    append_row_prefix(table_id, &mut key);
    handle.append_to(&mut key);
    key
}

/// The prefix of the keys of an index's entries.
pub fn index_prefix(table_id: i64, index_id: i64) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    key.push(TABLE);
    encode_i64(table_id, &mut key);
    key.extend_from_slice(&INDEX);
    encode_i64(index_id, &mut key);
    key
}

/// The parts of a key of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKey<'a> {
    Row {
        table_id: i64,
        handle: &'a [u8],
    },
    Index {
        table_id: i64,
        index_id: i64,
        parts: &'a [u8],
    },
}

impl<'a> TableKey<'a> {
    pub fn parse(key: &'a [u8]) -> Result<Self> {
        const WHAT: &str = "a table's key";
        let mut rest = key;
        let [table] = take(&mut rest, WHAT)?;
        if table != TABLE {
            return Err(Error::UnknownFlag {
                what: WHAT,
                flag: table,
            });
        }
        let table_id = decode_i64(&mut rest)?;
        match take::<2>(&mut rest, WHAT)? {
            ROW => Ok(Self::Row {
                table_id,
                handle: rest,
            }),
            INDEX => Ok(Self::Index {
                table_id,
                index_id: decode_i64(&mut rest)?,
                parts: rest,
            }),
            _ => Err(Error::Malformed { what: WHAT }),
        }
    }
}

/// The handle's bytes in a row's key.
pub fn handle_bytes(row_key: &[u8]) -> Result<&[u8]> {
    match row_key.get(ROW_PREFIX_LEN..) {
        Some(handle) if row_key[0] == TABLE && row_key[9..ROW_PREFIX_LEN] == ROW => Ok(handle),
        _ => Err(Error::Malformed { what: "a row's key" }),
    }
}

/// The integer handle in a row's key.
pub fn int_handle(row_key: &[u8]) -> Result<i64> {
    let mut rest = handle_bytes(row_key)?;
    let handle = decode_i64(&mut rest)?;
    match rest.len() {
        0 => Ok(handle),
        bytes => Err(Error::TrailingBytes {
            what: "an integer handle",
            bytes,
        }),
    }
}

/// The encoded parts in an index entry's key, followed by the handle if the key has one.
pub fn index_parts(index_key: &[u8]) -> Result<&[u8]> {
    match index_key.get(INDEX_PREFIX_LEN..) {
        Some(parts) if index_key[0] == TABLE && index_key[9..11] == INDEX => Ok(parts),
        _ => Err(Error::Malformed {
            what: "an index entry's key",
        }),
    }
}

/// The smallest key after all keys that begin with `prefix`. If there is none, it is empty, which stands for
/// no bound.
pub fn prefix_next(prefix: &[u8]) -> Vec<u8> {
    let mut next = prefix.to_vec();
    while let Some(last) = next.pop() {
        if last < 0xff {
            next.push(last + 1);
            break;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_as_documented() {
        assert_eq!(
            row_key(1, &RowHandle::Int(2)),
            b"t\x80\0\0\0\0\0\0\x01_r\x80\0\0\0\0\0\0\x02"
        );
        assert_eq!(
            index_prefix(1, -1),
            b"t\x80\0\0\0\0\0\0\x01_i\x7f\xff\xff\xff\xff\xff\xff\xff"
        );
        assert_eq!(row_prefix(1).len(), ROW_PREFIX_LEN);
        assert_eq!(index_prefix(1, 1).len(), INDEX_PREFIX_LEN);
    }

    #[test]
    fn keys_are_taken_apart() {
        let key = row_key(-5, &RowHandle::Common(vec![1, 2]));
        assert_eq!(
            TableKey::parse(&key),
            Ok(TableKey::Row {
                table_id: -5,
                handle: &[1, 2]
            })
        );
        assert_eq!(handle_bytes(&key), Ok(&[1, 2][..]));
        assert_eq!(int_handle(&row_key(9, &RowHandle::Int(-7))), Ok(-7));
        assert!(int_handle(&key).is_err());
        let mut key = index_prefix(3, 4);
        key.push(0);
        assert_eq!(
            TableKey::parse(&key),
            Ok(TableKey::Index {
                table_id: 3,
                index_id: 4,
                parts: &[0]
            })
        );
        assert_eq!(index_parts(&key), Ok(&[0][..]));
        assert!(index_parts(&row_key(1, &RowHandle::Int(1))).is_err());
    }

    #[test]
    fn prefix_next_carries() {
        assert_eq!(prefix_next(&[1, 2]), [1, 3]);
        assert_eq!(prefix_next(&[1, 0xff]), [2]);
        assert!(prefix_next(&[0xff, 0xff]).is_empty());
        assert!(prefix_next(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn row_keys_sort_by_handle(a: i64, b: i64) {
            let key = |h| row_key(1, &RowHandle::Int(h));
            prop_assert_eq!(a.cmp(&b), key(a).cmp(&key(b)));
        }

        #[test]
        fn any_bytes_parse_or_fail(input: Vec<u8>) {
            let _ = TableKey::parse(&input);
            let _ = handle_bytes(&input);
            let _ = int_handle(&input);
            let _ = index_parts(&input);
        }
    }
}
