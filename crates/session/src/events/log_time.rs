//! Times in the format of the logs.

use functions::TimeZone;

/// `2024-01-31T23:59:59.123456Z`.
pub fn utc(us: i64) -> String {
    let at = TimeZone::UTC.from_unix_us(us);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
        at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond
    )
}
