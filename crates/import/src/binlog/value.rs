//! One value of a row, as the parameter of a statement.

use mysql::Value;

use super::bytes::{Bytes, Malformed, Result};
use super::json;
use super::packed::{date_time, decimal, packed_date_time};
use super::table_map::ColumnType;

impl ColumnType {
    pub(super) fn value(self, data: &mut Bytes<'_>, is_unsigned: bool) -> Result<Value> {
        Ok(match self {
            Self::Integer(length) if is_unsigned => Value::UInt(data.uint(length)?),
            Self::Integer(length) => Value::Int(data.int(length)?),
            Self::Float => Value::Float(f32::from_bits(data.uint(4)? as u32)),
            Self::Double => Value::Double(f64::from_bits(data.uint(8)?)),
            Self::Decimal { precision, scale } => Value::Bytes(decimal(data, precision, scale)?.into_bytes()),
            Self::Year => Value::UInt(match data.uint(1)? {
                0 => 0,
                year => 1900 + year,
            }),
            Self::Date => {
                let packed = data.uint(3)?;
                date(packed >> 9, packed >> 5 & 15, packed & 31)
            }
            Self::OldTime => {
                let packed = data.int(3)?;
                time(packed < 0, packed.unsigned_abs(), 0)
            }
            Self::OldDateTime => {
                let packed = data.uint(8)?;
                let (day, second) = (packed / 1_000_000, packed % 1_000_000);
                date_time(day / 10_000, day / 100 % 100, day % 100, second, 0)
            }
            Self::OldTimestamp => timestamp(data.uint(4)?, 0),
            Self::Timestamp(digits) => {
                let seconds = data.big_endian(4)?;
                timestamp(seconds, fraction(data, digits)?)
            }
            Self::DateTime(digits) => packed_date_time(data.big_endian(5)?, fraction(data, digits)?),
            Self::Time(digits) => packed_time(data, digits)?,
            Self::Bit(length) => Value::UInt(data.big_endian(length)?),
            Self::Enum(length) | Self::Set(length) => Value::UInt(data.uint(length)?),
            Self::Bytes(prefix) => {
                let length = data.uint(prefix)? as usize;
                Value::Bytes(data.take(length)?.to_vec())
            }
            Self::Json(prefix) => {
                let length = data.uint(prefix)? as usize;
                Value::Bytes(json::text(data.take(length)?)?.into_bytes())
            }
            Self::Unknown(number) => {
                return Err(Malformed::new(format!(
                    "a column of the type {number}, which is not known"
                )));
            }
        })
    }
}

/// Microseconds: two digits in each byte, high byte first.
fn fraction(data: &mut Bytes<'_>, digits: usize) -> Result<u32> {
    let bytes = digits.div_ceil(2);
    let scale = 100u64.pow(3u32.saturating_sub(bytes as u32));
    Ok((data.big_endian(bytes)? * scale) as u32)
}

fn date(year: u64, month: u64, day: u64) -> Value {
    Value::Date(year as u16, month as u8, day as u8, 0, 0, 0, 0)
}

/// `packed` is HHMMSS in decimal.
fn time(is_negative: bool, packed: u64, micros: u32) -> Value {
    let hours = packed / 10_000;
    Value::Time(
        is_negative,
        (hours / 24) as u32,
        (hours % 24) as u8,
        (packed / 100 % 100) as u8,
        (packed % 100) as u8,
        micros,
    )
}

/// 1 bit of sign, 1 unused, 10 of hour, 6 of minute, 6 of second, then the fraction. A negative time is the
/// complement of all of it.
fn packed_time(data: &mut Bytes<'_>, digits: usize) -> Result<Value> {
    let bytes = digits.div_ceil(2);
    let whole = data.big_endian(3 + bytes)?;
    let half = 1u64 << (23 + 8 * bytes);
    let is_negative = whole < half;
    let value = if is_negative { half - whole } else { whole - half };
    let seconds = value >> (8 * bytes);
    let scale = 100u64.pow(3u32.saturating_sub(bytes as u32));
    let micros = (value & ((1 << (8 * bytes)) - 1)) * scale;
    let clock = (seconds >> 12 & 0x3ff) * 10_000 + (seconds >> 6 & 63) * 100 + (seconds & 63);
    Ok(time(is_negative, clock, micros as u32))
}

/// Seconds since 1970, in UTC as the target's session has it. 0 is MySQL's zero date.
fn timestamp(seconds: u64, micros: u32) -> Value {
    if seconds == 0 && micros == 0 {
        return date(0, 0, 0);
    }
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 1970 to a date, in years that begin in March (Hinnant, "chrono-compatible date algorithms").
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let clock = second / 3600 * 10_000 + second / 60 % 60 * 100 + second % 60;
    date_time(year, month, day, clock, micros)
}
