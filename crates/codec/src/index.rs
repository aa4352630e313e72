//! Values of index entries. They hold what the entry's key cannot: the row's handle in a unique index, and
//! the text of which the key holds only the sort key.
//!
//! There are three forms, distinguished by length and second byte (`docs/format.md` has every byte):
//!
//! | table's handle | text in the index | form |
//! |---|---|---|
//! | integer | no | plain: the handle (8 bytes, big-endian), or `0` where the key holds it |
//! | integer | yes | version 0: tail length, row of all parts, padding, handle if unique |
//! | parts of a primary key | either | version 1: tail length, 125, 1, handle if unique, row of the text |
//!
//! Source: TiDB, comments on index value layout in `tablecodec`.

use crate::datum::INT_FLAG;
use crate::key::RowHandle;
use crate::memcomparable::{decode_i64, encode_i64, take, take_slice};
use crate::row::{RowView, VERSION as ROW_VERSION};
use crate::{Error, Result};

const WHAT: &str = "an index entry's value";
/// The value of an entry whose key holds everything.
const NOTHING: u8 = b'0';
const VERSION_FLAG: u8 = 125;
const VERSION_1: u8 = 1;
const COMMON_HANDLE_FLAG: u8 = 127;
/// The length of the longest value of the plain form. Longer values have another form.
const MAX_PLAIN_LEN: usize = 9;
const HANDLE_LEN: usize = 8;

/// Appends an entry's value. `handle_in_value`: the entry is of a unique index and has no NULL part, so its
/// key does not hold the handle. `restored`: a [row](crate::row) of the parts that cannot be decoded from the
/// key.
pub fn encode_value(
    handle: &RowHandle,
    handle_in_value: bool,
    restored: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<()> {
    match (handle, restored) {
        (RowHandle::Int(id), None) if handle_in_value => out.extend_from_slice(&id.to_be_bytes()),
        (RowHandle::Int(_), None) => out.push(NOTHING),
        (RowHandle::Int(id), Some(row)) => {
            let start = out.len();
            out.push(0);
            out.extend_from_slice(row);
            if handle_in_value {
                out.extend_from_slice(&id.to_be_bytes());
                out[start] = HANDLE_LEN as u8;
            } else {
                let padding = (MAX_PLAIN_LEN + 1).saturating_sub(1 + row.len());
                out.resize(out.len() + padding, 0);
                out[start] = padding as u8;
            }
        }
        (RowHandle::Common(parts), restored) => {
            out.extend_from_slice(&[0, VERSION_FLAG, VERSION_1]);
            if handle_in_value {
                let len = u16::try_from(parts.len()).map_err(|_| Error::Malformed {
                    what: "a handle longer than 64 KiB",
                })?;
                out.push(COMMON_HANDLE_FLAG);
                out.extend_from_slice(&len.to_be_bytes());
                out.extend_from_slice(parts);
            }
            out.extend_from_slice(restored.unwrap_or_default());
        }
    }
    Ok(())
}

/// Appends a handle to an entry's key. Entries of unique indexes need it only if a part is NULL.
pub fn append_handle(handle: &RowHandle, key: &mut Vec<u8>) {
    match handle {
        RowHandle::Int(id) => {
            key.push(INT_FLAG);
            encode_i64(*id, key);
        }
        RowHandle::Common(parts) => key.extend_from_slice(parts),
    }
}

/// Reads the handle that [`append_handle`] wrote: the rest of a key after its parts.
pub fn decode_handle(mut rest: &[u8], integer: bool) -> Result<RowHandle> {
    const WHAT: &str = "the handle in an index entry's key";
    if !integer {
        return match rest {
            [] => Err(Error::Truncated { what: WHAT }),
            parts => Ok(RowHandle::Common(parts.to_vec())),
        };
    }
    let [flag] = take(&mut rest, WHAT)?;
    if flag != INT_FLAG {
        return Err(Error::UnknownFlag { what: WHAT, flag });
    }
    let id = decode_i64(&mut rest)?;
    match rest.len() {
        0 => Ok(RowHandle::Int(id)),
        bytes => Err(Error::TrailingBytes { what: WHAT, bytes }),
    }
}

/// A handle in an entry's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleRef<'a> {
    Int(i64),
    Common(&'a [u8]),
}

impl HandleRef<'_> {
    pub fn to_owned(self) -> RowHandle {
        match self {
            Self::Int(id) => RowHandle::Int(id),
            Self::Common(parts) => RowHandle::Common(parts.to_vec()),
        }
    }
}

/// The parts of an entry's value.
#[derive(Debug, Clone, Copy)]
pub struct IndexValue<'a> {
    /// `None` if the handle is in the key, after the parts.
    pub handle: Option<HandleRef<'a>>,
    /// The parts that cannot be decoded from the key.
    pub restored: Option<RowView<'a>>,
}

impl<'a> IndexValue<'a> {
    pub fn parse(value: &'a [u8]) -> Result<Self> {
        if value.len() <= MAX_PLAIN_LEN {
            return Self::parse_short(value);
        }
        let mut rest = value;
        let [tail_len] = take(&mut rest, WHAT)?;
        if rest.starts_with(&[VERSION_FLAG]) {
            return Self::parse_version_1(rest, tail_len);
        }
        let body_len = rest
            .len()
            .checked_sub(usize::from(tail_len))
            .ok_or(Error::Truncated { what: WHAT })?;
        let (body, tail) = rest.split_at(body_len);
        let handle = match <[u8; HANDLE_LEN]>::try_from(tail) {
            Ok(bytes) => Some(HandleRef::Int(i64::from_be_bytes(bytes))),
            Err(_) => None,
        };
        Ok(Self {
            handle,
            restored: restored(body)?,
        })
    }

    /// Parses the plain form, or version 1 without a handle and a row: anything more would be longer.
    fn parse_short(value: &'a [u8]) -> Result<Self> {
        let handle = match value {
            [NOTHING] | [0, VERSION_FLAG, VERSION_1] => None,
            _ => match <[u8; HANDLE_LEN]>::try_from(value) {
                Ok(bytes) => Some(HandleRef::Int(i64::from_be_bytes(bytes))),
                Err(_) => return Err(Error::Malformed { what: WHAT }),
            },
        };
        Ok(Self {
            handle,
            restored: None,
        })
    }

    fn parse_version_1(mut rest: &'a [u8], tail_len: u8) -> Result<Self> {
        let [_, version] = take(&mut rest, WHAT)?;
        if version != VERSION_1 || tail_len != 0 {
            return Err(Error::UnknownFlag {
                what: WHAT,
                flag: version,
            });
        }
        let mut handle = None;
        if rest.first() == Some(&COMMON_HANDLE_FLAG) {
            let [_, high, low] = take(&mut rest, WHAT)?;
            let len = usize::from(u16::from_be_bytes([high, low]));
            handle = Some(HandleRef::Common(take_slice(&mut rest, len, WHAT)?));
        }
        Ok(Self {
            handle,
            restored: restored(rest)?,
        })
    }
}

fn restored(bytes: &[u8]) -> Result<Option<RowView<'_>>> {
    match bytes.first() {
        None => Ok(None),
        Some(&ROW_VERSION) => RowView::parse(bytes).map(Some),
        Some(flag) => Err(Error::UnknownFlag {
            what: WHAT,
            flag: *flag,
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use types::{Collation, SqlType, Value};

    use super::*;
    use crate::row::{Cell, RowEncoder};

    fn value(handle: &RowHandle, unique: bool, restored: Option<&[u8]>) -> Vec<u8> {
        let mut out = Vec::new();
        encode_value(handle, unique, restored, &mut out).unwrap();
        out
    }

    fn restored_row() -> Vec<u8> {
        let mut encoder = RowEncoder::new();
        let ty = SqlType::varchar(9, Collation::DEFAULT);
        encoder.push(2, &Value::from("x"), &ty).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn plain_values() {
        assert_eq!(value(&RowHandle::Int(1), true, None), [0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(value(&RowHandle::Int(1), false, None), b"0");
        // A handle whose bytes look like version 1.
        let odd = RowHandle::Int(0x007d_0100_0000_0000);
        let bytes = value(&odd, true, None);
        assert_eq!(IndexValue::parse(&bytes).unwrap().handle.unwrap().to_owned(), odd);
    }

    #[test]
    fn every_form_comes_back() {
        let row = restored_row();
        let mut encoder = RowEncoder::new();
        encoder.push(2, &Value::Null, &SqlType::BIGINT).unwrap();
        let null_row = encoder.finish().unwrap();
        let mut common = Vec::new();
        crate::datum::encode(&Value::Int(7), &SqlType::BIGINT, &mut common).unwrap();
        for handle in [RowHandle::Int(-3), RowHandle::Common(common)] {
            for restored in [None, Some(&row), Some(&null_row)] {
                for unique in [false, true] {
                    let bytes = value(&handle, unique, restored.map(Vec::as_slice));
                    let parsed = IndexValue::parse(&bytes).unwrap();
                    assert_eq!(
                        parsed.handle.map(HandleRef::to_owned),
                        unique.then(|| handle.clone())
                    );
                    let cell = parsed.restored.map(|r| r.get(2).unwrap());
                    let expected = restored.map(|r| if *r == row { Cell::Bytes(b"x") } else { Cell::Null });
                    assert_eq!(cell, expected);
                    for len in 0..bytes.len() {
                        let _ = IndexValue::parse(&bytes[..len]);
                    }
                }
            }
        }
    }

    #[test]
    fn handles_behind_the_parts() {
        for handle in [RowHandle::Int(i64::MIN), RowHandle::Common(vec![3, 1])] {
            let mut key = Vec::new();
            append_handle(&handle, &mut key);
            let integer = matches!(handle, RowHandle::Int(_));
            assert_eq!(decode_handle(&key, integer), Ok(handle));
        }
        assert!(decode_handle(&[], true).is_err());
        assert!(decode_handle(&[], false).is_err());
        assert!(decode_handle(&[4, 0, 0, 0, 0, 0, 0, 0, 0], true).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_fail(input: Vec<u8>) {
            for prefix in [vec![], vec![0, VERSION_FLAG, VERSION_1], vec![8, ROW_VERSION, 0]] {
                let _ = IndexValue::parse(&[prefix, input.clone()].concat());
            }
            let _ = decode_handle(&input, true);
        }
    }
}
