//! TIMESTAMPs are in the session's time zone in memory and in UTC in the store.

use functions::TimeZone;
use types::temporal::DateTime;
use types::{Error, Result, SqlType, TypeKind, Value, errno};

/// A packed TIMESTAMP in the session's time zone. `0000-00-00 00:00:00` is the same in all zones.
pub fn to_local(packed: u64, zone: TimeZone) -> u64 {
    if packed == 0 { 0 } else { zone.utc_to_local(packed) }
}

/// A value as it is stored. Only TIMESTAMPs change; `converted` then has the result.
///
/// # Errors
/// 1292 for a TIMESTAMP that does not exist in the zone.
pub(crate) fn to_stored<'a>(
    value: &'a Value,
    ty: &SqlType,
    zone: TimeZone,
    converted: &'a mut Value,
) -> Result<&'a Value> {
    match value {
        Value::UInt(packed) if ty.kind == TypeKind::Timestamp && *packed != 0 => {
            let Some(utc) = zone.local_to_utc(*packed) else {
                let text = DateTime::unpack(*packed).datetime_text(ty.decimals);
                return Err(Error::new(
                    errno::ER_TRUNCATED_WRONG_VALUE,
                    format!("Incorrect datetime value: '{text}'"),
                ));
            };
            *converted = Value::UInt(utc);
            Ok(converted)
        }
        value => Ok(value),
    }
}

/// The inverse of [`to_stored`].
pub(super) fn from_stored(value: Value, ty: &SqlType, zone: TimeZone) -> Value {
    match value {
        Value::UInt(packed) if ty.kind == TypeKind::Timestamp => Value::UInt(to_local(packed, zone)),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_timestamps_move_and_zero_stays() {
        let zone = TimeZone::Offset(3600);
        let local = DateTime::new(2024, 1, 1, 0, 30, 0, 7).pack();
        let utc = DateTime::new(2023, 12, 31, 23, 30, 0, 7).pack();
        let timestamp = SqlType::timestamp(6);
        let mut converted = Value::Null;
        let value = Value::UInt(local);
        assert_eq!(
            to_stored(&value, &timestamp, zone, &mut converted).unwrap(),
            &Value::UInt(utc)
        );
        assert_eq!(from_stored(Value::UInt(utc), &timestamp, zone), value);
        let mut converted = Value::Null;
        assert_eq!(
            to_stored(&value, &SqlType::datetime(6), zone, &mut converted).unwrap(),
            &value
        );
        let mut converted = Value::Null;
        assert_eq!(
            to_stored(&Value::UInt(0), &timestamp, zone, &mut converted).unwrap(),
            &Value::UInt(0)
        );
        assert_eq!(to_local(0, zone), 0);
    }
}
