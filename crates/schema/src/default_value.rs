//! Defaults as text: the values of rows that are older than their column, and TIMESTAMPs in different time
//! zones.

use functions::TimeZone;
use types::temporal::DateTime;
use types::{SqlType, TypeKind};

use crate::model::{Column, Default};

/// [`Column::original_default`] of a new column: the value that existing rows have for it. `now_us`: when the
/// ALTER TABLE began.
pub fn for_existing_rows(column: &Column, now_us: i64, time_zone: &TimeZone) -> Option<String> {
    match &column.default {
        Default::Literal(text) => Some(text.clone()),
        Default::Now => Some(now_text(&column.ty, now_us, time_zone)),
        // `ddl` computes it.
        Default::Expression(_) => None,
        Default::None | Default::Null | Default::Dropped if column.nullable => None,
        Default::None | Default::Null | Default::Dropped => Some(implicit(&column.ty)),
    }
}

/// `CURRENT_TIMESTAMP` as text: a TIMESTAMP's in UTC, a DATETIME's in the session's zone.
pub fn now_text(ty: &SqlType, now_us: i64, time_zone: &TimeZone) -> String {
    let unit = 10i64.pow(6 - u32::from(ty.decimals.min(6)));
    let whole = now_us - now_us.rem_euclid(unit);
    let zone = if ty.kind == TypeKind::Timestamp {
        &TimeZone::UTC
    } else {
        time_zone
    };
    date_time_text(&zone.from_unix_us(whole), ty.decimals)
}

/// The implicit default of a NOT NULL column. Source: manual 11.6 "Data Type Default Values".
pub fn implicit(ty: &SqlType) -> String {
    let fraction = || match ty.decimals {
        0 => String::new(),
        n => format!(".{}", "0".repeat(usize::from(n))),
    };
    match ty.kind {
        TypeKind::Year => "0000".to_owned(),
        TypeKind::Date => "0000-00-00".to_owned(),
        TypeKind::DateTime | TypeKind::Timestamp => format!("0000-00-00 00:00:00{}", fraction()),
        TypeKind::Time => format!("00:00:00{}", fraction()),
        TypeKind::Decimal => format!("0{}", fraction()),
        TypeKind::Float | TypeKind::Double if ty.decimals < SqlType::NOT_FIXED => format!("0{}", fraction()),
        TypeKind::Json => "null".to_owned(),
        TypeKind::Enum(members) => members.enum_text(1).to_owned(),
        TypeKind::Set(_) => String::new(),
        TypeKind::Bit => "b'0'".to_owned(),
        TypeKind::Char if ty.is_binary() => format!("0x{}", "00".repeat(ty.length as usize)),
        _ if ty.is_binary() => "0x".to_owned(),
        _ if ty.is_string() => String::new(),
        _ => "0".to_owned(),
    }
}

/// `YYYY-MM-DD hh:mm:ss[.fraction]`.
pub fn date_time_text(at: &DateTime, decimals: u8) -> String {
    let mut text = format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
        at.year, at.month, at.day, at.hour, at.minute, at.second
    );
    if decimals > 0 {
        let digits = format!("{:06}", at.microsecond);
        text.push('.');
        text.push_str(&digits[..usize::from(decimals.min(6))]);
    }
    text
}

/// A TIMESTAMP literal in UTC, converted to a session's time zone. Other text stays as it is.
pub fn timestamp_in_zone(text: &str, decimals: u8, time_zone: &TimeZone) -> String {
    match parse(text) {
        Some(utc) if utc.year > 0 => {
            let local = DateTime::unpack(time_zone.utc_to_local(utc.pack()));
            date_time_text(&local, decimals)
        }
        _ => text.to_owned(),
    }
}

/// Reads what [`date_time_text`] writes.
fn parse(text: &str) -> Option<DateTime> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u32>().ok();
    let fraction = match text.get(19..) {
        None => return None,
        Some("") => 0,
        Some(rest) => {
            let digits = rest.strip_prefix('.').filter(|d| d.len() <= 6)?;
            format!("{digits:0<6}").parse().ok()?
        }
    };
    Some(DateTime {
        year: u16::try_from(number(0..4)?).ok()?,
        month: number(5..7)? as u8,
        day: number(8..10)? as u8,
        hour: number(11..13)? as u8,
        minute: number(14..16)? as u8,
        second: number(17..19)? as u8,
        microsecond: fraction,
    })
}

#[cfg(test)]
mod tests {
    use types::Collation;

    use super::*;

    #[test]
    fn timestamps_move_between_zones() {
        let zone = TimeZone::Offset(5 * 3600 + 1800);
        assert_eq!(
            timestamp_in_zone("2024-02-28 20:00:00", 0, &zone),
            "2024-02-29 01:30:00"
        );
        assert_eq!(
            timestamp_in_zone("2024-02-28 20:00:00.50", 2, &zone),
            "2024-02-29 01:30:00.50"
        );
        assert_eq!(
            timestamp_in_zone("0000-00-00 00:00:00", 0, &zone),
            "0000-00-00 00:00:00"
        );
        assert_eq!(timestamp_in_zone("nonsense", 0, &zone), "nonsense");
    }

    #[test]
    fn now_is_cut_to_the_columns_precision() {
        let us = 1_700_000_000_987_654;
        let zone = TimeZone::Offset(3600);
        assert_eq!(now_text(&SqlType::timestamp(0), us, &zone), "2023-11-14 22:13:20");
        assert_eq!(
            now_text(&SqlType::datetime(3), us, &zone),
            "2023-11-14 23:13:20.987"
        );
    }

    #[test]
    fn implicit_defaults() {
        assert_eq!(implicit(&SqlType::BIGINT), "0");
        assert_eq!(implicit(&SqlType::decimal(5, 2)), "0.00");
        assert_eq!(implicit(&SqlType::datetime(2)), "0000-00-00 00:00:00.00");
        assert_eq!(implicit(&SqlType::varchar(3, Collation::DEFAULT)), "");
        assert_eq!(implicit(&SqlType::varchar(3, Collation::Binary)), "0x");
        let binary = SqlType {
            kind: TypeKind::Char,
            ..SqlType::varchar(2, Collation::Binary)
        };
        assert_eq!(implicit(&binary), "0x0000");
    }
}
