//! Generated values of every type and collation: a row gives back what was stored, and keys are in the order
//! of their values. `STEMDB_GENERATED=10` tries ten times as many.

use std::cmp::Ordering;

use codec::RowHandle;
use functions::TimeZone;
use types::temporal::{DateTime, Time};
use types::{Collation, Decimal, Members, SqlType, TypeKind, Value};

use super::*;
use crate::model::{Column, Table};

/// How many values of each type, and pairs of texts in each collation.
const VALUES: u64 = 30_000;
const PAIRS: u64 = 4_000;

/// Letters that a language or a collation treats as more or less than one: spaces, cases, marks,
/// contractions, expansions, ignorable characters, other scripts, beyond 16 bits, and what has no weight.
const PIECES: [&str; 64] = [
    "a", "A", "b", "B", "z", "Z", " ", "  ", "\t", "\u{0}", "1", "9", "-", "_", "á", "Á", "ä", "Ä", "ö", "å",
    "ø", "ß", "ẞ", "ss", "SS", "ch", "Ch", "cH", "CH", "c", "h", "ll", "lj", "Lj", "ǉ", "ñ", "n\u{303}",
    "e\u{301}", "\u{301}", "\u{307}", "i", "ı", "İ", "I", "æ", "ae", "œ", "я", "Я", "ё", "σ", "ς", "가",
    "あ", "ア", "ｱ", "ー", "中", "一", "😀", "\u{200b}", "\u{feff}", "ก", "เก",
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Small and large ones, and the ends of the range.
    fn within(&mut self, low: i128, high: i128) -> i128 {
        let width = high - low + 1;
        let large = i128::from(self.next()) << 64 | i128::from(self.next());
        match self.below(5) {
            0 => low + self.below(3) as i128,
            1 => high - self.below(3) as i128,
            2 => (self.below(7) as i128 - 3).clamp(low, high),
            3 => (large >> (64 + self.below(63))).clamp(low, high),
            _ => low + large.rem_euclid(width),
        }
    }

    fn text(&mut self, most: u64) -> String {
        let pieces = self.below(most);
        let mut text = String::new();
        for _ in 0..pieces {
            match self.below(20) {
                0 => text.extend(char::from_u32(self.below(0x11_0000) as u32)),
                _ => text.push_str(PIECES[self.below(PIECES.len() as u64) as usize]),
            }
        }
        text
    }

    /// A text that differs little from another.
    fn variant(&mut self, text: &str) -> String {
        let mut letters: Vec<String> = text.chars().map(String::from).collect();
        let at = self.below(letters.len() as u64 + 1) as usize;
        let piece = PIECES[self.below(PIECES.len() as u64) as usize].to_owned();
        match self.below(4) {
            0 => letters.insert(at, piece),
            1 if at < letters.len() => drop(letters.remove(at)),
            2 if at < letters.len() => letters[at] = piece,
            _ => letters.push(" ".to_owned()),
        }
        letters.concat()
    }

    fn moment(&mut self, fsp: u8) -> DateTime {
        let micros = self.micros(fsp);
        DateTime::new(
            self.within(0, 9999) as u16,
            self.below(13) as u8,
            self.below(32) as u8,
            self.below(24) as u8,
            self.below(60) as u8,
            self.below(60) as u8,
            micros,
        )
    }

    fn micros(&mut self, fsp: u8) -> u32 {
        let unit = 10u32.pow(6 - u32::from(fsp));
        self.below(1_000_000) as u32 / unit * unit
    }

    fn value(&mut self, ty: &SqlType) -> Value {
        if self.below(20) == 0 {
            return Value::Null;
        }
        match ty.kind {
            TypeKind::Decimal => {
                let most = 10i128.pow(ty.length) - 1;
                Value::Decimal(Decimal::from_i128(self.within(-most, most), ty.decimals))
            }
            TypeKind::Double => loop {
                let value = match self.below(3) {
                    0 => self.within(-100, 100) as f64 / 8.0,
                    _ => f64::from_bits(self.next()),
                };
                if value.is_finite() {
                    break Value::Double(value);
                }
            },
            TypeKind::Float => loop {
                let value = f32::from_bits(self.next() as u32);
                if value.is_finite() {
                    break Value::Double(f64::from(value));
                }
            },
            TypeKind::Date => {
                let DateTime { year, month, day, .. } = self.moment(0);
                Value::UInt(DateTime::from_date(year, month, day).pack())
            }
            TypeKind::DateTime => Value::UInt(self.moment(ty.decimals).pack()),
            TypeKind::Timestamp => {
                let moment = self.moment(ty.decimals);
                let in_range = DateTime {
                    year: 1971 + moment.year % 66,
                    month: moment.month.max(1),
                    day: moment.day.clamp(1, 28),
                    ..moment
                };
                Value::UInt(in_range.pack())
            }
            TypeKind::Time => {
                let unit = 10i64.pow(6 - u32::from(ty.decimals));
                let most = i128::from(Time::MAX.0 / unit);
                Value::Int(self.within(-most, most) as i64 * unit)
            }
            TypeKind::Enum(members) => Value::UInt(self.below(members.enum_max() + 1)),
            TypeKind::Set(members) => Value::UInt(self.next() & members.set_max()),
            TypeKind::Char => Value::String(self.text(8).trim_end_matches(' ').to_owned()),
            _ if ty.is_binary() => Value::Bytes(self.text(8).into_bytes()),
            _ if ty.is_string() => Value::String(self.text(12)),
            _ => {
                let (low, high) = functions::assign::integer_range(ty);
                let value = self.within(low, high);
                match ty.unsigned || matches!(ty.kind, TypeKind::Year | TypeKind::Bit) {
                    true => Value::UInt(value as u64),
                    false => Value::Int(value as i64),
                }
            }
        }
    }
}

fn types() -> Vec<SqlType> {
    let integer = |kind, unsigned| SqlType {
        kind,
        unsigned,
        ..SqlType::BIGINT
    };
    let texts = ["x", "a", "m", "Z"].map(str::to_owned).to_vec();
    let members = Members::new(texts);
    let of_kind = |kind, collation| SqlType {
        kind,
        ..SqlType::varchar(255, collation)
    };
    let mut types = Vec::new();
    for kind in [
        TypeKind::TinyInt,
        TypeKind::SmallInt,
        TypeKind::MediumInt,
        TypeKind::Int,
        TypeKind::BigInt,
    ] {
        types.extend([integer(kind, false), integer(kind, true)]);
    }
    types.extend([SqlType::YEAR, SqlType::bit(1), SqlType::bit(17), SqlType::bit(64)]);
    types.extend([(1, 0), (5, 2), (9, 9), (18, 3), (30, 30), (37, 10)].map(|(p, s)| SqlType::decimal(p, s)));
    types.extend([SqlType::DOUBLE, SqlType::FLOAT, SqlType::DATE]);
    types.extend([0, 3, 6].map(SqlType::datetime));
    types.extend([0, 2, 6].map(SqlType::timestamp));
    types.extend([0, 1, 6].map(SqlType::time));
    types.push(SqlType::of_enum(members, Collation::DEFAULT));
    types.push(SqlType::of_set(members, Collation::DEFAULT));
    for collation in [
        Collation::DEFAULT,
        Collation::Utf8mb4Bin,
        Collation::Utf8mb4GeneralCi,
        Collation::Binary,
    ] {
        types.extend([TypeKind::VarChar, TypeKind::Text].map(|kind| of_kind(kind, collation)));
    }
    types.push(of_kind(TypeKind::Char, Collation::DEFAULT));
    types
}

/// How MySQL compares two values of a type; NULL is first.
fn compare(a: &Value, b: &Value, ty: &SqlType) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).unwrap(),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => ty.collation.compare(a.as_bytes(), b.as_bytes()),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        other => panic!("{other:?} of {ty:?}"),
    }
}

fn times(count: u64) -> u64 {
    let factor = std::env::var("STEMDB_GENERATED").ok();
    count * factor.and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[test]
fn values_come_back_and_keys_are_in_their_order() {
    let mut random = Random(0x5EED_1234);
    for ty in types() {
        let column = Column {
            id: 1,
            ..Column::plain("c", ty, true)
        };
        let table = Table::of_columns(7, "d", "t", vec![column]);
        let (encoder, layout) = (
            RowEncoder::new(&table).unwrap(),
            TableLayout::new(&table, &[0]).unwrap(),
        );
        let parts = KeyParts::of_columns(&table, &[0]).unwrap();
        let row_key = encoder.row_key(&RowHandle::Int(1));
        let mut before: Option<(Value, Vec<u8>)> = None;
        for _ in 0..times(VALUES) {
            let value = random.value(&ty);
            let stored = encoder
                .row_value(std::slice::from_ref(&value), TimeZone::UTC)
                .unwrap();
            let read = layout
                .decode_row_values(&row_key, &stored, TimeZone::UTC)
                .unwrap();
            assert_eq!(read, std::slice::from_ref(&value), "{ty:?}");
            let key = parts.key(std::slice::from_ref(&value), TimeZone::UTC).unwrap();
            if let Some((other, other_key)) = &before {
                let expected = compare(other, &value, &ty);
                assert_eq!(other_key.cmp(&key), expected, "{other:?} {value:?} {ty:?}");
            }
            before = Some((value, key));
        }
    }
}

#[test]
fn sort_keys_are_in_the_order_of_their_collation() {
    let mut random = Random(0x00C0_FFEE);
    let (mut a_key, mut b_key) = (Vec::new(), Vec::new());
    for collation in Collation::ALL {
        for _ in 0..times(PAIRS) {
            let a = random.text(10);
            let b = match random.below(3) {
                0 => random.text(10),
                _ => random.variant(&a),
            };
            a_key.clear();
            b_key.clear();
            collation.sort_key(a.as_bytes(), &mut a_key);
            collation.sort_key(b.as_bytes(), &mut b_key);
            let expected = collation.compare(a.as_bytes(), b.as_bytes());
            assert_eq!(a_key.cmp(&b_key), expected, "{a:?} {b:?} {}", collation.name());
            let numbers = [&a, &b].map(|text| collation.order_number(text.as_bytes()));
            if numbers[0] != numbers[1] {
                assert_eq!(
                    numbers[0].cmp(&numbers[1]),
                    expected,
                    "{a:?} {b:?} {}",
                    collation.name()
                );
            }
        }
    }
}
