//! The protocol's column types, and how StemDB's types look to a client.

use types::{Charset, Collation, SqlType, TypeKind};

/// `enum_field_types`.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/field__types_8h.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ColumnType {
    Decimal = 0,
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    NewDate = 14,
    VarChar = 15,
    Bit = 16,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    TinyBlob = 249,
    MediumBlob = 250,
    LongBlob = 251,
    Blob = 252,
    VarString = 253,
    String = 254,
    Geometry = 255,
}

impl ColumnType {
    pub fn from_code(code: u8) -> Option<Self> {
        use ColumnType::*;
        Some(match code {
            0 => Decimal,
            1 => Tiny,
            2 => Short,
            3 => Long,
            4 => Float,
            5 => Double,
            6 => Null,
            7 => Timestamp,
            8 => LongLong,
            9 => Int24,
            10 => Date,
            11 => Time,
            12 => DateTime,
            13 => Year,
            14 => NewDate,
            15 => VarChar,
            16 => Bit,
            245 => Json,
            246 => NewDecimal,
            247 => Enum,
            248 => Set,
            249 => TinyBlob,
            250 => MediumBlob,
            251 => LongBlob,
            252 => Blob,
            253 => VarString,
            254 => String,
            255 => Geometry,
            _ => return None,
        })
    }

    /// The type announced for a result's column. As in MySQL, every size of TEXT and BLOB is
    /// [`Self::Blob`].
    pub fn of(ty: &SqlType) -> Self {
        match ty.kind {
            TypeKind::Null => Self::Null,
            TypeKind::TinyInt => Self::Tiny,
            TypeKind::SmallInt => Self::Short,
            TypeKind::MediumInt => Self::Int24,
            TypeKind::Int => Self::Long,
            TypeKind::BigInt => Self::LongLong,
            TypeKind::Year => Self::Year,
            TypeKind::Decimal => Self::NewDecimal,
            TypeKind::Float => Self::Float,
            TypeKind::Double => Self::Double,
            TypeKind::Date => Self::Date,
            TypeKind::DateTime => Self::DateTime,
            TypeKind::Timestamp => Self::Timestamp,
            TypeKind::Time => Self::Time,
            TypeKind::Char => Self::String,
            TypeKind::VarChar => Self::VarString,
            TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText => Self::Blob,
            TypeKind::Json => Self::Json,
            // The flags say which they are.
            TypeKind::Enum(_) | TypeKind::Set(_) => Self::String,
            TypeKind::Bit => Self::Bit,
        }
    }

    /// The type of a TEXT or BLOB that is not a column. For these MySQL distinguishes the larger sizes.
    pub fn of_computed_text(ty: &SqlType) -> Self {
        match ty.kind {
            TypeKind::MediumText => Self::MediumBlob,
            TypeKind::LongText => Self::LongBlob,
            _ => Self::Blob,
        }
    }
}

/// Column definition flags.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/group__group__cs__column__definition__flags.html>
pub mod flag {
    pub const NOT_NULL: u16 = 1;
    pub const PRI_KEY: u16 = 1 << 1;
    pub const UNIQUE_KEY: u16 = 1 << 2;
    pub const MULTIPLE_KEY: u16 = 1 << 3;
    pub const BLOB: u16 = 1 << 4;
    pub const UNSIGNED: u16 = 1 << 5;
    pub const ZEROFILL: u16 = 1 << 6;
    pub const BINARY: u16 = 1 << 7;
    pub const ENUM: u16 = 1 << 8;
    pub const AUTO_INCREMENT: u16 = 1 << 9;
    pub const TIMESTAMP: u16 = 1 << 10;
    pub const SET: u16 = 1 << 11;
    pub const NO_DEFAULT_VALUE: u16 = 1 << 12;
    pub const ON_UPDATE_NOW: u16 = 1 << 13;
    /// Part of some key.
    pub const PART_KEY: u16 = 1 << 14;
}

/// Flags that follow from the type alone.
pub fn type_flags(ty: &SqlType) -> u16 {
    let mut flags = 0;
    if ty.unsigned {
        flags |= flag::UNSIGNED;
    }
    if ty.zerofill {
        flags |= flag::ZEROFILL;
    }
    if ty.kind == TypeKind::Year {
        flags |= flag::UNSIGNED | flag::ZEROFILL;
    }
    if ty.is_blob_or_text() || ty.kind == TypeKind::Json {
        flags |= flag::BLOB;
    }
    match ty.kind {
        TypeKind::Enum(_) => flags |= flag::ENUM,
        TypeKind::Set(_) => flags |= flag::SET,
        _ => {}
    }
    if ty.is_temporal()
        || (ty.is_string() || ty.has_members()) && !ty.is_text()
        || ty.kind == TypeKind::Json
        || ty.collation.name().ends_with("_bin")
    {
        flags |= flag::BINARY;
    }
    flags
}

/// The collation number announced for a result's column: that of `character_set_results` for text, `binary`
/// for everything else.
pub fn announced_collation(ty: &SqlType, results: Option<Collation>) -> u16 {
    if ty.is_text() {
        results.unwrap_or(ty.collation).id()
    } else {
        Collation::Binary.id()
    }
}

/// `column_length`: the most bytes (for numbers and times: characters) a value can take in the results'
/// character set.
pub fn announced_length(ty: &SqlType, results: Option<Collation>) -> u32 {
    let fraction = if ty.decimals > 0 && ty.is_temporal() {
        u32::from(ty.decimals) + 1
    } else {
        0
    };
    let bytes_per_char = if !ty.is_text() {
        1
    } else {
        results
            .map_or(ty.collation.charset(), Collation::charset)
            .max_bytes_per_char()
    };
    // Where MySQL converts, it counts a TEXT's bytes as characters.
    let bytes_per_byte = if results.is_none() { 1 } else { bytes_per_char };
    match ty.kind {
        TypeKind::Null => 0,
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            if ty.length > 0 {
                ty.length
            } else {
                SqlType::full_width(ty.kind, ty.unsigned).unwrap_or(SqlType::BIGINT.length)
            }
        }
        TypeKind::Year => 4,
        TypeKind::Decimal => ty.length + u32::from(ty.decimals > 0) + u32::from(!ty.unsigned),
        TypeKind::Float if ty.length > 0 => ty.length,
        TypeKind::Float => 12,
        TypeKind::Double if ty.length > 0 => ty.length,
        TypeKind::Double => 22,
        TypeKind::Date => 10,
        TypeKind::DateTime | TypeKind::Timestamp => 19 + fraction,
        TypeKind::Time => 10 + fraction,
        TypeKind::Char | TypeKind::VarChar | TypeKind::Enum(_) | TypeKind::Set(_) => {
            ty.length.saturating_mul(bytes_per_char)
        }
        TypeKind::Bit => ty.length,
        TypeKind::TinyText => 0xff * bytes_per_byte,
        TypeKind::Text => 0xffff * bytes_per_byte,
        TypeKind::MediumText => 0xff_ffff * bytes_per_byte,
        TypeKind::LongText | TypeKind::Json => u32::MAX,
    }
}

/// `column_length` of a TEXT or BLOB that is not a column. MySQL counts its bytes as characters.
pub fn computed_text_length(ty: &SqlType, results: Option<Collation>) -> u32 {
    if ty.is_binary() {
        return ty.length;
    }
    let own = ty.collation.charset().max_bytes_per_char();
    let sent = results.map_or(own, |collation| collation.charset().max_bytes_per_char());
    let bytes = match ty.kind {
        TypeKind::TinyText | TypeKind::Text => ty.length.saturating_mul(own),
        _ => ty.length,
    };
    bytes.saturating_mul(sent)
}

/// `decimals` of the column definition: 31 for floating point without fixed digits, 0 for strings. The
/// caller must know that expressions of a string type announce 31.
pub fn announced_decimals(ty: &SqlType) -> u8 {
    match ty.kind {
        TypeKind::Char | TypeKind::VarChar => 0,
        _ => ty.decimals,
    }
}

/// The bytes of the longest character of a collation given by number; 4 if it is not one of ours.
pub fn max_bytes_per_char(collation_id: u16) -> u32 {
    Collation::from_id(collation_id)
        .map_or(Charset::Utf8mb4, Collation::charset)
        .max_bytes_per_char()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths as MySQL 8.0.33 announces them with `character_set_results = utf8mb4`.
    #[test]
    fn lengths_are_mysqls() {
        let utf8 = Some(Collation::Utf8mb40900AiCi);
        let text = |kind| SqlType {
            kind,
            ..SqlType::varchar(0, Collation::Latin1SwedishCi)
        };
        let blob = |kind| SqlType {
            kind,
            ..SqlType::varchar(0, Collation::Binary)
        };
        assert_eq!(announced_length(&SqlType::decimal(10, 2), utf8), 12);
        let unsigned = SqlType {
            unsigned: true,
            ..SqlType::decimal(10, 0)
        };
        assert_eq!(announced_length(&unsigned, utf8), 10);
        assert_eq!(announced_length(&SqlType::datetime(3), utf8), 23);
        assert_eq!(announced_length(&SqlType::time(2), utf8), 13);
        assert_eq!(
            announced_length(&SqlType::varchar(20, Collation::Latin1SwedishCi), utf8),
            80
        );
        assert_eq!(announced_length(&text(TypeKind::TinyText), utf8), 1020);
        assert_eq!(announced_length(&text(TypeKind::Text), utf8), 262_140);
        assert_eq!(announced_length(&text(TypeKind::MediumText), utf8), 67_108_860);
        assert_eq!(announced_length(&text(TypeKind::LongText), utf8), u32::MAX);
        assert_eq!(announced_length(&blob(TypeKind::Text), utf8), 65_535);
        assert_eq!(announced_length(&SqlType::DOUBLE, utf8), 22);
    }

    #[test]
    fn codes_round_trip() {
        for code in 0..=255u8 {
            if let Some(ty) = ColumnType::from_code(code) {
                assert_eq!(ty as u8, code);
            }
        }
        assert_eq!(ColumnType::from_code(17), None);
    }

    #[test]
    fn flags_of_types() {
        assert_eq!(type_flags(&SqlType::YEAR), flag::UNSIGNED | flag::ZEROFILL);
        assert_eq!(type_flags(&SqlType::DATE), flag::BINARY);
        assert_eq!(type_flags(&SqlType::JSON), flag::BLOB | flag::BINARY);
        assert_eq!(type_flags(&SqlType::varchar(4, Collation::Binary)), flag::BINARY);
        assert_eq!(type_flags(&SqlType::varchar(4, Collation::Utf8mb40900AiCi)), 0);
    }
}
