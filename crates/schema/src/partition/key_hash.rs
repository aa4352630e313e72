//! The hash of KEY partitioning: that of MySQL's columns in their stored form (`Field::hash`), so that a row
//! is in the partition of the same number.

use functions::TimeZone;
use types::temporal::{DateTime, Time};
use types::{Charset, Collation, Result, SqlType, TypeKind, Value};

/// The hash of some columns of a row.
pub fn hash(columns: &[usize], types: &[SqlType], row: &[Value], zone: TimeZone) -> Result<u32> {
    let mut state = State { first: 1, second: 4 };
    for (&column, ty) in columns.iter().zip(types) {
        match row.get(column) {
            None | Some(Value::Null) => state.first ^= (state.first << 1) | 1,
            Some(value) => state.add(value, ty, zone)?,
        }
    }
    Ok(state.first as u32)
}

/// The two numbers that MySQL's hash functions carry from column to column.
struct State {
    first: u64,
    second: u64,
}

impl State {
    fn add(&mut self, value: &Value, ty: &SqlType, zone: TimeZone) -> Result<()> {
        match (ty.kind, value.as_bytes()) {
            (TypeKind::Bit, _) => self.bytes(&value.as_u64().unwrap_or(0).to_be_bytes()),
            (TypeKind::Enum(_) | TypeKind::Set(_), _) => {
                let bytes = value.as_u64().unwrap_or(0).to_le_bytes();
                self.bytes(&bytes[..ty.fixed_bytes().clamp(1, 8) as usize]);
            }
            (_, Some(text)) => self.text(text, ty),
            _ if matches!(ty.kind, TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time) => {
                self.bytes(&stored_bytes(value, ty, zone)?);
            }
            _ => self.numeric(&stored_bytes(value, ty, zone)?),
        }
        Ok(())
    }

    fn mix(&mut self, weight: u64) {
        let factor = (self.first & 63).wrapping_add(self.second);
        self.first ^= factor.wrapping_mul(weight).wrapping_add(self.first << 8);
        self.second = self.second.wrapping_add(3);
    }

    /// As binary strings and times are hashed.
    fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.mix(u64::from(byte)));
    }

    /// As numbers and dates are: their bytes taken for text of latin1_swedish_ci, without trailing spaces.
    fn numeric(&mut self, bytes: &[u8]) {
        let end = bytes
            .iter()
            .rposition(|&byte| byte != b' ')
            .map_or(0, |at| at + 1);
        let weights = bytes[..end].iter().map(|&byte| u64::from(latin1_weight(byte)));
        weights.for_each(|weight| self.mix(weight));
    }

    fn text(&mut self, text: &[u8], ty: &SqlType) {
        let collation = ty.collation;
        let end = text.iter().rposition(|&byte| byte != b' ').map_or(0, |at| at + 1);
        let trimmed = &text[..end];
        let mut weights = Vec::new();
        match collation {
            Collation::Binary => self.bytes(text),
            // A CHAR is hashed with the spaces that fill its bytes, which this collation does not ignore.
            Collation::Utf8mb40900AiCi => {
                let bytes = ty.length as usize * collation.charset().max_bytes_per_char() as usize;
                let mut text = text.to_vec();
                if ty.kind == TypeKind::Char {
                    text.resize(bytes.max(text.len()), b' ');
                }
                collation.weight_string(&text, &mut weights);
                // FNV-1a.
                self.first ^= 14_695_981_039_346_656_037;
                for weight in weights.chunks(2) {
                    let weight = weight
                        .iter()
                        .fold(0u64, |number, &byte| number << 8 | u64::from(byte));
                    self.first = (self.first ^ weight).wrapping_mul(1_099_511_628_211);
                }
            }
            _ if collation.is_bytewise() => match collation.charset() {
                Charset::Latin1 => {
                    collation.weight_string(trimmed, &mut weights);
                    self.bytes(&weights);
                }
                _ => self.bytes(trimmed),
            },
            Collation::Utf8mb4GeneralCi | Collation::Utf8mb3GeneralCi => {
                collation.weight_string(trimmed, &mut weights);
                for weight in weights.chunks(2) {
                    weight.iter().rev().for_each(|&byte| self.mix(u64::from(byte)));
                }
            }
            _ => {
                collation.weight_string(trimmed, &mut weights);
                self.bytes(&weights);
            }
        }
    }
}

/// The order of latin1_swedish_ci.
fn latin1_weight(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => byte - 32,
        0xC0..=0xC3 | 0xE0..=0xE3 => b'A',
        0xC4 | 0xC6 | 0xE4 | 0xE6 => 0x5C,
        0xC5 | 0xE5 => 0x5B,
        0xC7 | 0xE7 => b'C',
        0xC8..=0xCB | 0xE8..=0xEB => b'E',
        0xCC..=0xCF | 0xEC..=0xEF => b'I',
        0xD0 | 0xF0 => b'D',
        0xD1 | 0xF1 => b'N',
        0xD2..=0xD5 | 0xF2..=0xF5 => b'O',
        0xD6 | 0xF6 => 0x5D,
        0xD8 | 0xF8 => 0xD8,
        0xD9..=0xDB | 0xF9..=0xFB => b'U',
        0xDC | 0xDD | 0xFC | 0xFD => b'Y',
        0xFE => 0xDE,
        other => other,
    }
}

/// A number or a time as InnoDB's row has it.
fn stored_bytes(value: &Value, ty: &SqlType, zone: TimeZone) -> Result<Vec<u8>> {
    let little = |number: u64, bytes: usize| number.to_le_bytes()[..bytes].to_vec();
    let big = |number: u64, bytes: usize| number.to_be_bytes()[8 - bytes..].to_vec();
    let integer = match value {
        Value::Int(number) => *number as u64,
        Value::UInt(number) => *number,
        _ => 0,
    };
    let moment = || DateTime::unpack(integer);
    Ok(match ty.kind {
        TypeKind::TinyInt => little(integer, 1),
        TypeKind::SmallInt => little(integer, 2),
        TypeKind::MediumInt => little(integer, 3),
        TypeKind::Int => little(integer, 4),
        TypeKind::BigInt => little(integer, 8),
        TypeKind::Year => little(integer.saturating_sub(1900), 1),
        TypeKind::Float => (double(value) as f32).to_le_bytes().to_vec(),
        TypeKind::Double => double(value).to_le_bytes().to_vec(),
        TypeKind::Date => {
            let date = moment();
            let packed = u64::from(date.day) | u64::from(date.month) << 5 | u64::from(date.year) << 9;
            little(packed, 3)
        }
        TypeKind::DateTime => {
            let at = moment();
            let date = (u64::from(at.year) * 13 + u64::from(at.month)) << 5 | u64::from(at.day);
            let time = u64::from(at.hour) << 12 | u64::from(at.minute) << 6 | u64::from(at.second);
            let mut bytes = big((date << 17 | time) + 0x80_0000_0000, 5);
            bytes.extend(fraction(u64::from(at.microsecond), ty.decimals));
            bytes
        }
        TypeKind::Timestamp => {
            let mut converted = Value::Null;
            let stored = crate::layout::to_stored(value, ty, zone, &mut converted)?;
            let at = DateTime::unpack(stored.as_u64().unwrap_or(0));
            let seconds = match at.is_zero_date() {
                true => 0,
                false => at.to_epoch_us().div_euclid(1_000_000) as u64,
            };
            let mut bytes = big(seconds, 4);
            bytes.extend(fraction(u64::from(at.microsecond), ty.decimals));
            bytes
        }
        TypeKind::Time => time_bytes(Time(value.as_i64().unwrap_or(0)), ty.decimals),
        TypeKind::Decimal => {
            let mut key = Vec::new();
            codec::datum::encode(value, ty, &mut key)?;
            // Behind the flag, the precision and the scale comes MySQL's binary form.
            key.get(3..).unwrap_or_default().to_vec()
        }
        _ => Vec::new(),
    })
}

/// The digits after the second: a byte for each two of them.
fn fraction(microseconds: u64, digits: u8) -> Vec<u8> {
    let (number, bytes) = match digits {
        0 => return Vec::new(),
        1 | 2 => (microseconds / 10_000, 1),
        3 | 4 => (microseconds / 100, 2),
        _ => (microseconds, 3),
    };
    number.to_be_bytes()[8 - bytes..].to_vec()
}

fn time_bytes(time: Time, digits: u8) -> Vec<u8> {
    let fields = i64::from(time.hours()) << 12 | i64::from(time.minutes()) << 6 | i64::from(time.seconds());
    let magnitude = (fields << 24) + i64::from(time.microseconds());
    let packed = if time.is_negative() { -magnitude } else { magnitude };
    let (whole, rest) = (packed >> 24, packed % (1 << 24));
    let mut bytes = ((whole + 0x80_0000) as u64).to_be_bytes()[5..].to_vec();
    match digits {
        0 => {}
        1 | 2 => bytes.push((rest / 10_000) as u8),
        3 | 4 => bytes.extend(((rest / 100) as i16).to_be_bytes()),
        _ => bytes = ((packed + 0x8000_0000_0000) as u64).to_be_bytes()[2..].to_vec(),
    }
    bytes
}

fn double(value: &Value) -> f64 {
    match value {
        Value::Double(number) => *number,
        _ => 0.0,
    }
}
