//! The type of a column or an expression.

use arrow::datatypes::DataType;
use serde::{Deserialize, Serialize};

use crate::{Collation, Members};

/// MySQL's types. Source: MySQL 8.0 manual, chapter 11 "Data Types".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TypeKind {
    /// The type of a bare `NULL`.
    Null,
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Year,
    Decimal,
    Float,
    Double,
    Date,
    DateTime,
    Timestamp,
    Time,
    /// CHAR, or BINARY when the collation is `binary`.
    Char,
    /// VARCHAR, or VARBINARY when the collation is `binary`.
    VarChar,
    /// TINYTEXT or TINYBLOB; and so on for the other three sizes.
    TinyText,
    Text,
    MediumText,
    LongText,
    Json,
    Enum(Members),
    Set(Members),
    /// BIT(n): an unsigned integer whose text is its bytes.
    Bit,
}

/// The type of a column or an expression.
///
/// Both [`crate::Value`] and Arrow arrays hold the values of each type as
///
/// | types | Arrow | meaning |
/// |---|---|---|
/// | TINYINT .. BIGINT signed | `Int64` | |
/// | TINYINT .. BIGINT unsigned, YEAR | `UInt64` | |
/// | DECIMAL(p, s) | `Decimal128(p, s)` up to 38 digits, else `Decimal256(p, s)` | |
/// | FLOAT, DOUBLE | `Float64` | a FLOAT has been rounded to 32 bits |
/// | DATE, DATETIME, TIMESTAMP | `UInt64` | [`crate::temporal::DateTime::pack`]; a TIMESTAMP in the session's zone |
/// | TIME | `Int64` | signed microseconds |
/// | CHAR, VARCHAR, TEXT | `Utf8` | whatever the column's character set, valid UTF-8 in memory |
/// | BINARY, VARBINARY, BLOB | `Binary` | |
/// | JSON | `LargeBinary`, which nothing else has | [`crate::json::JsonBinary`] |
/// | ENUM, SET, BIT | `UInt64` | the number ([`Members`]); BIT: its bits |
/// | NULL | `Null` | |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SqlType {
    pub kind: TypeKind,
    pub unsigned: bool,
    /// Integers: display width. DECIMAL: precision (1..=65). Strings: maximum length in characters
    /// (CHAR, VARCHAR, ENUM, SET) or bytes (BINARY, VARBINARY, TEXT, BLOB). BIT: its bits. Otherwise 0.
    pub length: u32,
    /// DECIMAL: scale (0..=30). Temporal types: fractional digits (0..=6).
    /// FLOAT and DOUBLE: [`SqlType::NOT_FIXED`] unless declared `(M,D)`. Otherwise 0.
    pub decimals: u8,
    /// Strings, ENUM and SET: their collation. Every other type: [`Collation::Binary`].
    pub collation: Collation,
    /// A column of numbers is shown with leading zeros up to the display width.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zerofill: bool,
}

impl SqlType {
    /// `decimals` of a FLOAT or DOUBLE with no fixed number of digits, as in the protocol.
    pub const NOT_FIXED: u8 = 31;

    pub const NULL: Self = Self::plain(TypeKind::Null, 0);
    pub const BIGINT: Self = Self::plain(TypeKind::BigInt, 20);
    pub const BIGINT_UNSIGNED: Self = Self {
        unsigned: true,
        ..Self::plain(TypeKind::BigInt, 20)
    };
    /// The type of comparisons and logical operators: BIGINT of display width 1.
    pub const BOOL: Self = Self::plain(TypeKind::BigInt, 1);
    pub const DOUBLE: Self = Self {
        decimals: Self::NOT_FIXED,
        ..Self::plain(TypeKind::Double, 22)
    };
    /// The type of a computed DOUBLE: MySQL announces one character more than for a column.
    pub const COMPUTED_DOUBLE: Self = Self {
        length: 23,
        ..Self::DOUBLE
    };
    pub const FLOAT: Self = Self {
        decimals: Self::NOT_FIXED,
        ..Self::plain(TypeKind::Float, 12)
    };
    pub const DATE: Self = Self::plain(TypeKind::Date, 10);
    pub const YEAR: Self = Self {
        unsigned: true,
        ..Self::plain(TypeKind::Year, 4)
    };
    pub const JSON: Self = Self {
        collation: Collation::Utf8mb4Bin,
        ..Self::plain(TypeKind::Json, 0)
    };

    /// BIT(bits).
    pub const fn bit(bits: u32) -> Self {
        Self {
            unsigned: true,
            ..Self::plain(TypeKind::Bit, bits)
        }
    }

    /// ENUM with these members.
    pub fn of_enum(members: Members, collation: Collation) -> Self {
        Self {
            collation,
            ..Self::plain(TypeKind::Enum(members), members.enum_chars())
        }
    }

    /// SET with these members.
    pub fn of_set(members: Members, collation: Collation) -> Self {
        Self {
            collation,
            ..Self::plain(TypeKind::Set(members), members.set_chars())
        }
    }

    const fn plain(kind: TypeKind, length: u32) -> Self {
        Self {
            kind,
            unsigned: false,
            length,
            decimals: 0,
            collation: Collation::Binary,
            zerofill: false,
        }
    }

    pub const fn decimal(precision: u32, scale: u8) -> Self {
        Self {
            length: precision,
            decimals: scale,
            ..Self::plain(TypeKind::Decimal, 0)
        }
    }

    pub const fn datetime(fsp: u8) -> Self {
        Self {
            decimals: fsp,
            ..Self::plain(TypeKind::DateTime, 0)
        }
    }

    pub const fn timestamp(fsp: u8) -> Self {
        Self {
            decimals: fsp,
            ..Self::plain(TypeKind::Timestamp, 0)
        }
    }

    pub const fn time(fsp: u8) -> Self {
        Self {
            decimals: fsp,
            ..Self::plain(TypeKind::Time, 0)
        }
    }

    /// VARCHAR(length), or VARBINARY(length) when the collation is `binary`.
    pub const fn varchar(length: u32, collation: Collation) -> Self {
        Self {
            length,
            collation,
            ..Self::plain(TypeKind::VarChar, 0)
        }
    }

    /// The type of a text, or of bytes, that a client sends as a parameter. Its length is rounded up, so that
    /// parameters of similar lengths share plans.
    pub fn given(length: usize, collation: Collation) -> Self {
        let length = match length {
            0..=255 => 255,
            256..=16_383 => 16_383,
            _ => u32::try_from(length).unwrap_or(u32::MAX).max(4_194_303),
        };
        Self::varchar(length, collation)
    }

    pub fn is_integer(&self) -> bool {
        use TypeKind::*;
        matches!(
            self.kind,
            TinyInt | SmallInt | MediumInt | Int | BigInt | Year | Bit
        )
    }

    pub fn is_decimal(&self) -> bool {
        self.kind == TypeKind::Decimal
    }

    pub fn is_float(&self) -> bool {
        matches!(self.kind, TypeKind::Float | TypeKind::Double)
    }

    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_decimal() || self.is_float()
    }

    /// CHAR .. LONGTEXT and BINARY .. LONGBLOB. JSON is not one.
    pub fn is_string(&self) -> bool {
        use TypeKind::*;
        matches!(
            self.kind,
            Char | VarChar | TinyText | Text | MediumText | LongText
        )
    }

    /// The type of a value computed from values of this type: without ZEROFILL, which only columns have.
    pub fn computed(self) -> Self {
        Self {
            zerofill: false,
            ..self
        }
    }

    /// The display width of an integer type for which none is declared: what its longest value takes, sign
    /// included. `None`: it is no such type.
    pub const fn full_width(kind: TypeKind, unsigned: bool) -> Option<u32> {
        Some(match (kind, unsigned) {
            (TypeKind::TinyInt, false) => 4,
            (TypeKind::TinyInt, true) => 3,
            (TypeKind::SmallInt, false) => 6,
            (TypeKind::SmallInt, true) => 5,
            (TypeKind::MediumInt, false) => 9,
            (TypeKind::MediumInt, true) => 8,
            (TypeKind::Int, false) => 11,
            (TypeKind::Int, true) => 10,
            (TypeKind::BigInt, _) => 20,
            _ => return None,
        })
    }

    /// The type that expressions take a column of this type for. The values of `INT(2)` may have more than two
    /// digits: a declared display width only says how a column is announced. With ZEROFILL it also decides
    /// about the text, and stays.
    pub fn as_operand(self) -> Self {
        match Self::full_width(self.kind, self.unsigned) {
            Some(length) if !self.zerofill => Self { length, ..self },
            _ => self,
        }
    }

    /// ENUM or SET.
    pub fn has_members(&self) -> bool {
        matches!(self.kind, TypeKind::Enum(_) | TypeKind::Set(_))
    }

    /// A string, an ENUM or a SET that is not binary data: its values are text in a character set.
    pub fn is_text(&self) -> bool {
        (self.is_string() || self.has_members()) && self.collation != Collation::Binary
    }

    /// The bytes of a BIT.
    pub fn bit_bytes(&self) -> usize {
        self.length.div_ceil(8).clamp(1, 8) as usize
    }

    /// BINARY, VARBINARY and the BLOBs.
    pub fn is_binary(&self) -> bool {
        self.is_string() && self.collation == Collation::Binary
    }

    /// TINYTEXT .. LONGTEXT and TINYBLOB .. LONGBLOB.
    pub fn is_blob_or_text(&self) -> bool {
        use TypeKind::*;
        matches!(self.kind, TinyText | Text | MediumText | LongText)
    }

    /// DATE, DATETIME or TIMESTAMP: types whose values are packed points in time.
    pub fn is_datetime(&self) -> bool {
        matches!(
            self.kind,
            TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp
        )
    }

    /// DATE, DATETIME, TIMESTAMP or TIME.
    pub fn is_temporal(&self) -> bool {
        self.is_datetime() || self.kind == TypeKind::Time
    }

    /// The Arrow type that holds this type's values (see the table above).
    pub fn arrow_type(&self) -> DataType {
        use TypeKind::*;
        match self.kind {
            Null => DataType::Null,
            Year | Date | DateTime | Timestamp | Enum(_) | Set(_) | Bit => DataType::UInt64,
            Time => DataType::Int64,
            TinyInt | SmallInt | MediumInt | Int | BigInt if self.unsigned => DataType::UInt64,
            TinyInt | SmallInt | MediumInt | Int | BigInt => DataType::Int64,
            Decimal if self.length <= 38 => DataType::Decimal128(self.length as u8, self.decimals as i8),
            Decimal => DataType::Decimal256(self.length as u8, self.decimals as i8),
            Float | Double => DataType::Float64,
            Json => DataType::LargeBinary,
            Char | VarChar | TinyText | Text | MediumText | LongText if self.is_binary() => DataType::Binary,
            Char | VarChar | TinyText | Text | MediumText | LongText => DataType::Utf8,
        }
    }
}
