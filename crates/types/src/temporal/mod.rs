//! MySQL's dates and times, with its zero dates and its TIMEs of 838 hours.
//!
//! - [`DateTime`]: the fields of a DATE, DATETIME or TIMESTAMP, and their 64-bit form.
//! - [`Time`]: a TIME, signed microseconds.
//! - [`calendar`]: day numbers, weekdays, leap years.
//!
//! Not here: time zones and the functions over dates (`functions`).

pub mod calendar;
mod datetime;
mod time;

pub use datetime::DateTime;
pub use time::Time;

use crate::number_text::write_padded;

/// Microseconds of a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// How many microseconds one unit of the last of `fsp` fractional digits is.
pub fn fsp_unit(fsp: u8) -> u32 {
    10u32.pow(6 - u32::from(fsp.min(6)))
}

/// Appends `.` and `fsp` digits of the microseconds, nothing for `fsp` 0.
fn write_fraction(microsecond: u32, fsp: u8, out: &mut Vec<u8>) {
    let fsp = fsp.min(6);
    if fsp > 0 {
        out.push(b'.');
        write_padded(u64::from(microsecond / fsp_unit(fsp)), usize::from(fsp), out);
    }
}

fn write_two(value: u8, out: &mut Vec<u8>) {
    if value < 100 {
        out.extend_from_slice(&[b'0' + value / 10, b'0' + value % 10]);
    } else {
        write_padded(u64::from(value), 2, out);
    }
}
