//! The weights of numbers, dates and times, by which MySQL sorts them.

use types::temporal::DateTime;
use types::{SqlType, TypeKind};

use crate::datum::Datum;

/// The length of the weight of a number, date or time, in bytes.
pub(super) const NUMBER_WEIGHT: u32 = 8;

/// Whether MySQL sorts values of a type as numbers. Of these, only integers, dates and times have a weight.
pub(super) fn is_sorted_as_number(ty: &SqlType) -> bool {
    ty.is_numeric() || ty.is_temporal() || ty.has_members() || ty.kind == TypeKind::Bit
}

/// The weight of an integer, date or time; `None` for other numbers.
pub(super) fn weight_of_number(datum: &Datum<'_>, ty: &SqlType) -> Option<u64> {
    const SIGN: u64 = 1 << 63;
    let clock = |hours: i64, minutes: i64, seconds: i64| hours << 12 | minutes << 6 | seconds;
    let packed = match datum {
        Datum::Int(us) if ty.kind == TypeKind::Time => {
            let seconds = us.abs() / 1_000_000;
            let whole = clock(seconds / 3600, seconds / 60 % 60, seconds % 60) << 24;
            (whole + us.abs() % 1_000_000) * us.signum()
        }
        Datum::UInt(packed) if ty.is_datetime() => {
            let at = DateTime::unpack(*packed);
            let days = (i64::from(at.year) * 13 + i64::from(at.month)) << 5 | i64::from(at.day);
            let time = clock(i64::from(at.hour), i64::from(at.minute), i64::from(at.second));
            (days << 17 | time) << 24 | i64::from(at.microsecond)
        }
        Datum::Int(number) => *number,
        Datum::UInt(number) if ty.has_members() => number.cast_signed(),
        Datum::UInt(number) => return Some(*number),
        _ => return None,
    };
    let is_unsigned = ty.kind == TypeKind::Year || ty.is_integer() && ty.unsigned;
    Some(if is_unsigned {
        packed.cast_unsigned()
    } else {
        packed.cast_unsigned() ^ SIGN
    })
}
