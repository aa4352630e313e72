//! How the values of a type are encoded: decided once per column.

use types::{SqlType, TypeKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// An integer of so many bytes in binary rows. YEAR, printed with four digits, is not one in text rows.
    Integer {
        bytes: u8,
        unsigned: bool,
    },
    /// The same for a column with ZEROFILL, whose text has leading zeros.
    Filled {
        bytes: u8,
    },
    Year,
    Float,
    Double,
    /// DATE, DATETIME, TIMESTAMP.
    DateTime,
    Time,
    /// Text in the results' character set.
    Text,
    /// Bytes without conversion.
    Bytes,
    /// Text in the results' character set that is converted from another form: ENUM, SET, JSON.
    PrintedText,
    /// A number sent as text, or as bytes, in both forms: DECIMAL, BIT.
    Printed,
}

impl Cell {
    pub(super) fn of(ty: &SqlType) -> Self {
        let integer = |bytes| match ty.zerofill {
            true => Self::Filled { bytes },
            false => Self::Integer {
                bytes,
                unsigned: ty.unsigned,
            },
        };
        match ty.kind {
            TypeKind::TinyInt => integer(1),
            TypeKind::SmallInt => integer(2),
            // INT24 takes four bytes.
            TypeKind::MediumInt | TypeKind::Int => integer(4),
            TypeKind::BigInt => integer(8),
            TypeKind::Year => Self::Year,
            TypeKind::Float => Self::Float,
            TypeKind::Double => Self::Double,
            TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => Self::DateTime,
            TypeKind::Time => Self::Time,
            TypeKind::Decimal | TypeKind::Null | TypeKind::Bit => Self::Printed,
            TypeKind::Json => Self::PrintedText,
            TypeKind::Enum(_) | TypeKind::Set(_) if !ty.is_text() => Self::Printed,
            TypeKind::Enum(_) | TypeKind::Set(_) => Self::PrintedText,
            _ if ty.is_binary() => Self::Bytes,
            _ => Self::Text,
        }
    }
}
