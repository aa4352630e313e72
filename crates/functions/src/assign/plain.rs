//! A fast path for texts in exactly the form in which the column shows its values, like most texts in a dump
//! or a file. They need no conversion rules, no warning and no copy.

use types::temporal::DateTime;
use types::{Decimal, SqlType, TypeKind, Value};

use super::number::{integer_range, integer_value};

/// Every number with at most this many digits fits into an `i64`.
const DIGITS_MAX: usize = 18;

/// 10 to the powers from 0 to [`DIGITS_MAX`].
const POWERS: [i64; DIGITS_MAX + 1] = {
    let mut powers = [1; DIGITS_MAX + 1];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// The value of a text for a column; `None` if the text needs the complete check.
pub(super) fn value(text: &str, to: &SqlType) -> Option<Value> {
    let bytes = text.as_bytes();
    match to.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            let (number, fraction) = number(bytes)?;
            let (min, max) = integer_range(to);
            let number = i128::from(number);
            (fraction.is_none() && (min..=max).contains(&number)).then(|| integer_value(number, to))
        }
        TypeKind::Decimal => decimal(bytes, to),
        TypeKind::Date => Some(Value::UInt(date(bytes)?.pack())),
        TypeKind::DateTime => datetime(bytes),
        _ => None,
    }
}

/// The digits of a number, which may have a sign and a point, and how many follow the point.
fn number(bytes: &[u8]) -> Option<(i64, Option<usize>)> {
    let (is_negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits[0].is_ascii_digit() {
        return None;
    }
    let mut number = 0_i64;
    let mut fraction = None;
    for (position, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => number = number * 10 + i64::from(byte - b'0'),
            b'.' if fraction.is_none() && position + 1 < digits.len() => {
                fraction = Some(digits.len() - position - 1);
            }
            _ => return None,
        }
    }
    Some((if is_negative { -number } else { number }, fraction))
}

fn decimal(bytes: &[u8], to: &SqlType) -> Option<Value> {
    let (number, fraction) = number(bytes)?;
    let missing = usize::from(to.decimals).checked_sub(fraction.unwrap_or(0))?;
    let is_negative_zero = number == 0 && bytes.first() == Some(&b'-');
    if is_negative_zero || number < 0 && to.unsigned {
        return None;
    }
    let unscaled = i128::from(number) * i128::from(*POWERS.get(missing)?);
    let fits = match POWERS.get(to.length as usize) {
        Some(limit) => unscaled.unsigned_abs() < u128::from(limit.unsigned_abs()),
        None => to.length >= 38 || unscaled.unsigned_abs() < 10_u128.pow(to.length),
    };
    fits.then(|| Value::Decimal(Decimal::from_i128(unscaled, to.decimals)))
}

/// `2024-02-28`. Days that only some months have are left to the complete check.
fn date(bytes: &[u8]) -> Option<DateTime> {
    let &[a, b, c, d, b'-', e, f, b'-', g, h] = bytes else {
        return None;
    };
    let year = u16::from(two_digits(a, b)?) * 100 + u16::from(two_digits(c, d)?);
    let (month, day) = (two_digits(e, f)?, two_digits(g, h)?);
    let is_plain = year > 0 && (1..=12).contains(&month) && (1..=28).contains(&day);
    is_plain.then(|| DateTime::from_date(year, month, day))
}

/// `2024-02-28 23:59:59`
fn datetime(bytes: &[u8]) -> Option<Value> {
    let (day, time) = bytes.split_at_checked(10)?;
    let &[b' ', a, b, b':', c, d, b':', e, f] = time else {
        return None;
    };
    let (hour, minute, second) = (two_digits(a, b)?, two_digits(c, d)?, two_digits(e, f)?);
    let at = DateTime {
        hour,
        minute,
        second,
        ..date(day)?
    };
    (hour < 24 && minute < 60 && second < 60).then(|| Value::UInt(at.pack()))
}

fn two_digits(tens: u8, ones: u8) -> Option<u8> {
    (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + (ones - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EvalContext;
    use crate::assign::Target;
    use crate::datum::Datum;

    /// For each text that is accepted here, the complete check gives the same value and no warning.
    #[test]
    fn agrees_with_the_complete_check() {
        let unsigned = |ty: SqlType| SqlType { unsigned: true, ..ty };
        let int = SqlType {
            kind: TypeKind::Int,
            ..SqlType::BIGINT
        };
        let kinds = [
            SqlType::BIGINT,
            int,
            unsigned(int),
            SqlType::decimal(5, 2),
            SqlType::decimal(65, 30),
            SqlType::decimal(15, 0),
            unsigned(SqlType::decimal(4, 1)),
            SqlType::DATE,
            SqlType::datetime(0),
            SqlType::datetime(6),
        ];
        let texts = [
            "0",
            "-0",
            "00",
            "7",
            "-7",
            "007",
            "2147483647",
            "2147483648",
            "-2147483649",
            "4294967295",
            "999999999999999999",
            "1234567890123456789",
            "1.5",
            "1.50",
            "-1.25",
            "1.255",
            "999.99",
            "1000.00",
            "-0.00",
            "0.1",
            ".5",
            "5.",
            "1..2",
            "1e3",
            " 1",
            "1 ",
            "+1",
            "",
            "-",
            "2024-02-28",
            "2024-02-29",
            "2023-02-29",
            "2024-02-30",
            "0000-00-00",
            "2024-00-10",
            "0001-01-01",
            "9999-12-28",
            "24-02-28",
            "2024-2-8",
            "2024-02-28 01:02:03",
            "2024-02-28 24:00:00",
            "2024-02-28 01:60:00",
            "2024-02-28T01:02:03",
            "2024-02-28 01:02:03.5",
            "20240228",
            "2024/02/28",
        ];
        let from = crate::bind::literal_type(0, types::Collation::DEFAULT);
        let mut taken = 0;
        for to in &kinds {
            for text in texts {
                let Some(quick) = value(text, to) else { continue };
                taken += 1;
                let ctx = EvalContext::default();
                let target = Target {
                    from: &from,
                    to,
                    column: "c",
                    source: None,
                    row_number: 1,
                    ctx: &ctx,
                    on_loss: crate::assign::OnLoss::of(&ctx),
                };
                let complete = target.convert(Datum::String(text)).unwrap();
                assert_eq!(format!("{quick:?}"), format!("{complete:?}"), "{text} as {to:?}");
                assert_eq!(ctx.warnings.count(), 0, "{text} as {to:?}");
            }
        }
        assert!(taken > 40, "{taken}");
    }
}
