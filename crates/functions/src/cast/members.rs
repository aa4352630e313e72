//! Conversions of ENUM, SET and BIT.
//!
//! Converted to a number, they become their own number. Every other conversion starts from their text, which
//! for a BIT is its bytes.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::UInt64Type;
use types::array::ColumnBuilder;
use types::{Collation, Error, Result, SqlType, TypeKind, Value};

use super::conversion::Conversion;
use crate::bind::arguments::text_type;
use crate::datum::Datum;

/// Converts from one of these types. `None` for every other type, and if the value is a number already.
pub(super) fn from_stored(value: Datum<'_>, conversion: &Conversion<'_>) -> Option<Result<Value>> {
    let (from, to) = (&conversion.from, &conversion.to);
    let by_text = match from.kind {
        TypeKind::Enum(_) | TypeKind::Set(_) => !to.is_numeric(),
        TypeKind::Bit => to.is_string(),
        _ => return None,
    };
    // JSON keeps which of the types it was.
    if to.kind == TypeKind::Json || matches!(value, Datum::String(_) | Datum::Bytes(_)) {
        return None;
    }
    let (value, from) = match by_text {
        true => (text(value, from), text_type(from, from.collation)),
        false if from.kind == TypeKind::Bit => return None,
        false => (value.to_value(), SqlType::BIGINT_UNSIGNED),
    };
    Some(super::datum(
        Datum::of(&value),
        &Conversion { from, ..*conversion },
    ))
}

/// The text of a value, as bytes if it is not text in a character set.
pub(crate) fn text(value: Datum<'_>, ty: &SqlType) -> Value {
    let text = value.to_value().to_text(ty).unwrap_or_default();
    if !ty.is_text() {
        return Value::Bytes(text);
    }
    Value::String(String::from_utf8(text).unwrap_or_default())
}

/// The texts of an array of numbers.
pub(super) fn texts(numbers: &ArrayRef, from: &SqlType, to: &SqlType) -> Result<ArrayRef> {
    let numbers = numbers
        .as_primitive_opt::<UInt64Type>()
        .ok_or_else(|| Error::internal("the members of an ENUM or SET are not stored as integers"))?;
    let mut out = ColumnBuilder::new(to, numbers.len());
    let mut set = String::new();
    for number in numbers {
        match (number, from.kind) {
            (None, _) => out.append_null(),
            (Some(number), TypeKind::Enum(members)) => out.append_str(members.enum_text(number))?,
            (Some(bits), TypeKind::Set(members)) => {
                set.clear();
                for text in members.set_texts(bits) {
                    if !set.is_empty() {
                        set.push(',');
                    }
                    set.push_str(text);
                }
                out.append_str(&set)?;
            }
            (Some(_), _) => return Err(Error::internal("members of another type")),
        }
    }
    Ok(out.finish())
}

/// The number of the member equal to `text`, which is compared with values of the type; see `bind::compare`.
const NO_MEMBER: u64 = u64::MAX;

pub(super) fn number_of_text(text: Datum<'_>, ty: &SqlType) -> Value {
    let Ok(text) = std::str::from_utf8(text.bytes()) else {
        return Value::UInt(NO_MEMBER);
    };
    let equal = |own: &str| same(own, text, ty.collation);
    let number = match ty.kind {
        _ if equal("") => 0,
        TypeKind::Enum(members) => members
            .find(text, ty.collation)
            .map_or(NO_MEMBER, |position| position as u64 + 1),
        TypeKind::Set(members) => match members.find_set(text, ty.collation) {
            (bits, true) if equal(&Value::UInt(bits).display_text(ty)) => bits,
            _ => NO_MEMBER,
        },
        _ => NO_MEMBER,
    };
    Value::UInt(number)
}

fn same(a: &str, b: &str, collation: Collation) -> bool {
    collation.compare(a.as_bytes(), b.as_bytes()).is_eq()
}
