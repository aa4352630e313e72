//! The types that parameters have: of each kind of values the widest.

use types::{SqlType, TypeKind};

/// The length of a text parameter that has no value yet.
pub const GUESSED_CHARS: u32 = 16_383;

/// A number of characters, digits, days or rows.
pub(super) const COUNT: SqlType = SqlType {
    length: 21,
    ..SqlType::BIGINT
};

/// The type of every DECIMAL parameter.
pub const WIDEST_DECIMAL: SqlType = SqlType::decimal(65, 30);

/// MySQL announces one digit more for a parameter than for a column.
const YEAR: SqlType = SqlType {
    length: 5,
    ..SqlType::YEAR
};

/// As many bits as a BIGINT has digits, as MySQL counts them.
const BIT: SqlType = SqlType::bit(21);

/// The type of a parameter beside a value of type `ty`; `None` beside NULL.
pub(super) fn beside(ty: &SqlType) -> Option<SqlType> {
    Some(match ty.kind {
        TypeKind::Null => return None,
        TypeKind::Year => YEAR,
        TypeKind::Bit => BIT,
        TypeKind::Json => SqlType::JSON,
        TypeKind::Decimal => WIDEST_DECIMAL,
        TypeKind::Float | TypeKind::Double => SqlType::COMPUTED_DOUBLE,
        TypeKind::DateTime | TypeKind::Timestamp => SqlType::datetime(6),
        TypeKind::Time => SqlType::time(6),
        TypeKind::Date => SqlType::DATE,
        _ if ty.is_integer() => SqlType {
            unsigned: ty.unsigned,
            ..COUNT
        },
        _ if ty.is_blob_or_text() && ty.is_binary() => SqlType {
            kind: TypeKind::LongText,
            length: u32::MAX,
            ..*ty
        },
        _ if ty.is_binary() => SqlType::varchar(u32::from(u16::MAX), ty.collation),
        _ => SqlType::varchar(GUESSED_CHARS, ty.collation),
    })
}

/// The type of which values of a parameter of type `ty` are, if results are computed from them: a year or BIT is a
/// number.
pub(super) fn computed(ty: SqlType) -> SqlType {
    match ty.kind {
        TypeKind::Year => COUNT,
        TypeKind::Bit => SqlType {
            unsigned: true,
            ..COUNT
        },
        _ => ty,
    }
}

/// What a client is told of a parameter that is a value of type `ty`, is compared with one, or stored as one.
pub(super) fn announced(ty: SqlType) -> Option<SqlType> {
    let widest = beside(&ty)?;
    Some(match widest.kind {
        TypeKind::Year => SqlType {
            unsigned: false,
            ..widest
        },
        _ => widest,
    })
}
