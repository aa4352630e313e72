//! A row in the form that it has in the memory of MySQL's server (`table->record[0]`, the `pack_length()`
//! bytes of each field), as far as CHECKSUM TABLE reads it: the NULL bits, then each column. For texts of
//! variable length, JSON and BIT these are the bytes of the value, for other columns their fixed form. A NULL
//! has the bytes of the column's default.
//!
//! Source: MySQL 8.0's `mysql_checksum_table` and the fields' storage formats (manual 11.7, "Data Type
//! Storage Requirements"; "Date and Time Data Type Representation" of the internals manual).

use crc32fast::Hasher;
use types::temporal::DateTime;
use types::{Error, Result, SqlType, TypeKind, Value};

pub(super) struct RowImage {
    types: Vec<SqlType>,
    /// For each column, the bit that says whether it is NULL.
    null_bits: Vec<Option<usize>>,
    /// The bits of a row without NULLs.
    no_nulls: Vec<u8>,
    /// Bits that are always set: the unused ones of the last byte, and the first bit of rows of fixed length.
    always: Vec<u8>,
    nulls: Vec<u8>,
    bytes: Vec<u8>,
}

impl RowImage {
    pub fn new(types: &[SqlType], nullable: &[bool]) -> Self {
        let is_variable = types.iter().any(is_of_variable_length);
        let mut next = usize::from(!is_variable);
        let null_bits = nullable
            .iter()
            .map(|is_nullable| {
                is_nullable.then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        let no_nulls = vec![0; next.div_ceil(8)];
        let mut always = no_nulls.clone();
        if let Some(last) = always.last_mut() {
            *last = (0xff_u16 << (next % 8)) as u8;
        }
        if let Some(first) = always.first_mut().filter(|_| !is_variable) {
            *first |= 1;
        }
        Self {
            types: types.to_vec(),
            null_bits,
            nulls: no_nulls.clone(),
            no_nulls,
            always,
            bytes: Vec::new(),
        }
    }

    /// Begins a row.
    pub fn start(&mut self) {
        self.nulls.clone_from(&self.no_nulls);
        self.bytes.clear();
    }

    /// Adds the next column. For a NULL, `value` is its default, which may be NULL.
    ///
    /// # Errors
    /// 1105 for a value that is not of the column's type.
    pub fn put(&mut self, column: usize, is_null: bool, value: &Value) -> Result<()> {
        let bit = self.null_bits.get(column).copied().flatten().filter(|_| is_null);
        if let Some(byte) = bit.and_then(|bit| self.nulls.get_mut(bit / 8)) {
            *byte |= 1 << (bit.unwrap_or_default() % 8);
        }
        let ty = self.types.get(column).copied().unwrap_or(SqlType::NULL);
        put_field(&ty, value, &mut self.bytes)
            .ok_or_else(|| Error::internal(format_args!("a value is not of type {:?}", ty.kind)))
    }

    pub fn checksum(&self) -> u32 {
        let mut hasher = Hasher::new();
        let nulls: Vec<u8> = self.nulls.iter().zip(&self.always).map(|(a, b)| a | b).collect();
        hasher.update(&nulls);
        hasher.update(&self.bytes);
        hasher.finalize()
    }
}

fn is_of_variable_length(ty: &SqlType) -> bool {
    use TypeKind::{Json, LongText, MediumText, Text, TinyText, VarChar};
    matches!(ty.kind, VarChar | TinyText | Text | MediumText | LongText | Json)
}

/// `None` for a value of another type.
fn put_field(ty: &SqlType, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    let number = match value {
        Value::Null => 0,
        Value::Int(v) => *v as u64,
        Value::UInt(v) => *v,
        _ => 0,
    };
    let little = |bytes: usize, out: &mut Vec<u8>| out.extend(number.to_le_bytes().into_iter().take(bytes));
    match ty.kind {
        TypeKind::Null => {}
        TypeKind::TinyInt => little(1, out),
        TypeKind::SmallInt => little(2, out),
        TypeKind::MediumInt => little(3, out),
        TypeKind::Int => little(4, out),
        TypeKind::BigInt => little(8, out),
        TypeKind::Year => out.push(number.saturating_sub(1900) as u8),
        TypeKind::Float => out.extend((as_double(value)? as f32).to_le_bytes()),
        TypeKind::Double => out.extend(as_double(value)?.to_le_bytes()),
        TypeKind::Decimal => put_decimal(ty, value, out)?,
        TypeKind::Date => {
            let date = DateTime::unpack(number);
            let packed = u32::from(date.year) << 9 | u32::from(date.month) << 5 | u32::from(date.day);
            out.extend(packed.to_le_bytes().into_iter().take(3));
        }
        TypeKind::DateTime => {
            let seconds = number >> 24;
            big_endian(seconds | 1 << 39, 5, out);
            fraction(number & ((1 << 24) - 1), ty.decimals, out);
        }
        TypeKind::Time => put_time(value.as_i64().unwrap_or(0), ty.decimals, out),
        TypeKind::Timestamp => put_timestamp(value, ty.decimals, out)?,
        TypeKind::Char => put_char(ty, value, out)?,
        TypeKind::VarChar
        | TypeKind::TinyText
        | TypeKind::Text
        | TypeKind::MediumText
        | TypeKind::LongText => put_text(ty, value, out)?,
        TypeKind::Json => match value {
            Value::Json(document) => document.root().write_text(out),
            // MySQL reads the missing document as a JSON null.
            Value::Null => out.extend(b"null"),
            _ => return None,
        },
        TypeKind::Enum(members) => little(if members.texts().len() < 256 { 1 } else { 2 }, out),
        TypeKind::Set(members) => little(set_bytes(members.texts().len()), out),
        TypeKind::Bit => big_endian(number, (ty.length as usize).div_ceil(8), out),
    }
    Some(())
}

fn as_double(value: &Value) -> Option<f64> {
    match value {
        Value::Double(v) => Some(*v),
        Value::Null => Some(0.0),
        _ => None,
    }
}

fn set_bytes(members: usize) -> usize {
    match members.div_ceil(8) {
        bytes @ 0..=4 => bytes.max(1),
        _ => 8,
    }
}

fn put_decimal(ty: &SqlType, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    let zero = types::Decimal::default();
    let number = match value {
        Value::Decimal(number) => number,
        Value::Null => &zero,
        _ => return None,
    };
    let mut form = Vec::new();
    types::decimal::binary::encode(number, ty.length as u8, ty.decimals, &mut form)?;
    // The digits follow precision and scale.
    out.extend(form.get(2..)?);
    Some(())
}

/// The lowest bytes of a number, big-endian.
fn big_endian(number: u64, bytes: usize, out: &mut Vec<u8>) {
    let all = number.to_be_bytes();
    out.extend(all.iter().skip(8_usize.saturating_sub(bytes)));
}

/// Two digits per byte.
fn fraction(microseconds: u64, fsp: u8, out: &mut Vec<u8>) {
    let bytes = usize::from(fsp).div_ceil(2);
    let unit = [1_000_000, 10_000, 100, 1].get(bytes).copied().unwrap_or(1);
    big_endian(microseconds / unit, bytes, out);
}

/// Hours, minutes and seconds are 24 bits above the fraction. A negative time is stored as the difference
/// from zero.
fn put_time(microseconds: i64, fsp: u8, out: &mut Vec<u8>) {
    let bytes = usize::from(fsp).div_ceil(2);
    let unit = [1_000_000, 10_000, 100, 1].get(bytes).copied().unwrap_or(1);
    let total = microseconds.unsigned_abs();
    let seconds = total / 1_000_000;
    let packed = ((seconds / 3600) << 12) | ((seconds / 60 % 60) << 6) | (seconds % 60);
    let magnitude = ((packed << (8 * bytes)) | (total % 1_000_000 / unit)) as i64;
    let signed = if microseconds < 0 { -magnitude } else { magnitude };
    let zero = 0x80_0000_i64 << (8 * bytes);
    big_endian((zero + signed) as u64, 3 + bytes, out);
}

/// `value` is that of UNIX_TIMESTAMP(): seconds since 1970.
fn put_timestamp(value: &Value, fsp: u8, out: &mut Vec<u8>) -> Option<()> {
    let microseconds = match value {
        Value::Null => 0,
        Value::Int(v) => u64::try_from(*v).ok()?.checked_mul(1_000_000)?,
        Value::UInt(v) => v.checked_mul(1_000_000)?,
        Value::Decimal(v) => {
            let text = v.to_string();
            let (seconds, digits) = text.split_once('.').unwrap_or((&text, ""));
            let digits: u64 = format!("{digits:0<6}").parse().ok()?;
            seconds
                .parse::<u64>()
                .ok()?
                .checked_mul(1_000_000)?
                .checked_add(digits)?
        }
        _ => return None,
    };
    big_endian(microseconds / 1_000_000, 4, out);
    fraction(microseconds % 1_000_000, fsp, out);
    Some(())
}

fn put_text(ty: &SqlType, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Null => {}
        Value::String(text) => out.extend(ty.collation.charset().encode(text).as_ref()),
        Value::Bytes(bytes) => out.extend(bytes),
        _ => return None,
    }
    Some(())
}

/// CHAR and BINARY, padded to their maximum size.
fn put_char(ty: &SqlType, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    put_text(ty, value, out)?;
    let charset = ty.collation.charset();
    let (size, pad) = match ty.is_binary() {
        true => (ty.length as usize, vec![0]),
        false => {
            let size = ty.length as usize * charset.max_bytes_per_char() as usize;
            (size, charset.encode(" ").into_owned())
        }
    };
    while out.len() < start + size {
        out.extend(&pad);
    }
    out.truncate(start + size);
    Some(())
}
