//! Column types and their synonyms.

use types::{Error, Result};

use super::literal::{bit_bytes, hex_bytes};
use super::{Parser, database};
use crate::ast::{DataType, Member, TypeName};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl DataType {
    fn new(name: TypeName) -> Self {
        Self {
            name,
            length: None,
            decimals: None,
            unsigned: false,
            zerofill: false,
            charset: None,
            national: false,
            collation: None,
            binary: false,
            deprecated: Vec::new(),
            members: Vec::new(),
        }
    }
}

/// A column's type, with its numeric and character attributes.
pub fn data_type(parser: &mut Parser<'_>) -> Result<DataType> {
    use TypeName::*;
    let simple = |name| DataType::new(name);
    match parser.keyword() {
        Some(Kw::TINYINT | Kw::INT1) => integer(parser, TinyInt),
        Some(Kw::SMALLINT | Kw::INT2) => integer(parser, SmallInt),
        Some(Kw::MEDIUMINT | Kw::MIDDLEINT | Kw::INT3) => integer(parser, MediumInt),
        Some(Kw::INT | Kw::INTEGER | Kw::INT4) => integer(parser, Int),
        Some(Kw::BIGINT | Kw::INT8) => integer(parser, BigInt),
        Some(Kw::BOOL | Kw::BOOLEAN) => word_type(parser, simple(Bool)),
        Some(Kw::SERIAL) => word_type(parser, simple(Serial)),
        Some(Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED) => fixed_point(parser),
        Some(Kw::FLOAT | Kw::FLOAT4) => floating(parser, Float),
        Some(Kw::REAL) if parser.mode.real_as_float => floating(parser, Float),
        Some(Kw::DOUBLE | Kw::FLOAT8 | Kw::REAL) => floating(parser, Double),
        Some(Kw::CHAR | Kw::CHARACTER | Kw::VARCHAR | Kw::VARCHARACTER) => character(parser),
        Some(Kw::NCHAR | Kw::NVARCHAR | Kw::NATIONAL) => national(parser),
        Some(Kw::BINARY) => bytes(parser, Binary, false),
        Some(Kw::VARBINARY) => bytes(parser, VarBinary, true),
        Some(Kw::TINYTEXT) => text_type(parser, TinyText, false),
        Some(Kw::TEXT) => text_type(parser, Text, true),
        Some(Kw::MEDIUMTEXT) => text_type(parser, MediumText, false),
        Some(Kw::LONGTEXT) => text_type(parser, LongText, false),
        Some(Kw::LONG) => long(parser),
        Some(Kw::TINYBLOB) => word_type(parser, simple(TinyBlob)),
        Some(Kw::BLOB) => {
            parser.advance();
            let mut ty = simple(Blob);
            ty.length = type_length(parser)?;
            Ok(ty)
        }
        Some(Kw::MEDIUMBLOB) => word_type(parser, simple(MediumBlob)),
        Some(Kw::LONGBLOB) => word_type(parser, simple(LongBlob)),
        Some(Kw::DATE) => word_type(parser, simple(Date)),
        Some(Kw::TIME) => fractional(parser, Time),
        Some(Kw::DATETIME) => fractional(parser, DateTime),
        Some(Kw::TIMESTAMP) => fractional(parser, Timestamp),
        Some(Kw::YEAR) => {
            parser.advance();
            let mut ty = simple(Year);
            ty.length = type_length(parser)?;
            numeric_attributes(parser, &mut ty);
            Ok(ty)
        }
        Some(Kw::JSON) => word_type(parser, simple(Json)),
        Some(Kw::BIT) => {
            parser.advance();
            let mut ty = simple(Bit);
            ty.length = type_length(parser)?;
            Ok(ty)
        }
        Some(Kw::ENUM) => with_members(parser, Enum),
        Some(Kw::SET) => with_members(parser, Set),
        Some(
            Kw::GEOMETRY
            | Kw::POINT
            | Kw::LINESTRING
            | Kw::POLYGON
            | Kw::MULTIPOINT
            | Kw::MULTILINESTRING
            | Kw::MULTIPOLYGON
            | Kw::GEOMETRYCOLLECTION
            | Kw::GEOMCOLLECTION
            | Kw::VECTOR,
        ) => Err(Error::not_supported(
            format!("columns of type {}", parser.word().to_uppercase()),
            "use another type",
        )),
        _ => match instead_of(parser) {
            Some(instead) => Err(Error::not_supported(
                format!("columns of type {}", parser.word().to_uppercase()),
                instead,
            )),
            None => parser.fail(),
        },
    }
}

/// What to use in place of a type that MariaDB has and MySQL does not.
fn instead_of(parser: &Parser<'_>) -> Option<&'static str> {
    const TYPES: &[(&str, &str)] = &[
        ("INET4", "use INT UNSIGNED, with INET_ATON() and INET_NTOA()"),
        ("INET6", "use VARBINARY(16), with INET6_ATON() and INET6_NTOA()"),
        (
            "UUID",
            "use BINARY(16), with UUID_TO_BIN() and BIN_TO_UUID(), or CHAR(36)",
        ),
    ];
    let is_it = |name: &str| parser.kind() == Kind::Word && parser.word().eq_ignore_ascii_case(name);
    TYPES
        .iter()
        .find(|(name, _)| is_it(name))
        .map(|(_, instead)| *instead)
}

fn word_type(parser: &mut Parser<'_>, ty: DataType) -> Result<DataType> {
    parser.advance();
    Ok(ty)
}

/// An optional `(n)`.
fn type_length(parser: &mut Parser<'_>) -> Result<Option<u64>> {
    if !parser.eat_kind(Kind::LeftParen) {
        return Ok(None);
    }
    let length = field_length(parser)?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(Some(length))
}

/// A number. Digits after its point are ignored. One beyond 64 bits is too large for every type.
pub(super) fn field_length(parser: &mut Parser<'_>) -> Result<u64> {
    if parser.kind() == Kind::Integer && parser.word().parse::<u64>().is_err() {
        parser.advance();
        return Ok(u64::MAX);
    }
    if parser.kind() != Kind::Decimal {
        return parser.unsigned();
    }
    let whole = parser
        .word()
        .split('.')
        .next()
        .and_then(|digits| digits.parse().ok());
    let Some(length) = whole else {
        return parser.fail();
    };
    parser.advance();
    Ok(length)
}

fn integer(parser: &mut Parser<'_>, name: TypeName) -> Result<DataType> {
    parser.advance();
    let mut ty = DataType::new(name);
    ty.length = type_length(parser)?;
    numeric_attributes(parser, &mut ty);
    Ok(ty)
}

fn numeric_attributes(parser: &mut Parser<'_>, ty: &mut DataType) {
    while let Some(word) = parser.eat_any(&[Kw::UNSIGNED, Kw::SIGNED, Kw::ZEROFILL]) {
        ty.unsigned |= word == Kw::UNSIGNED;
        ty.zerofill |= word == Kw::ZEROFILL;
    }
}

/// `(m)` or `(m, d)`.
fn digits_and_decimals(parser: &mut Parser<'_>, ty: &mut DataType, decimals_needed: bool) -> Result<()> {
    if parser.eat_kind(Kind::LeftParen) {
        ty.length = Some(field_length(parser)?);
        if parser.eat_kind(Kind::Comma) {
            ty.decimals = Some(parser.unsigned()?);
        } else if decimals_needed {
            return parser.fail();
        }
        parser.expect_kind(Kind::RightParen)?;
    }
    numeric_attributes(parser, ty);
    Ok(())
}

fn fixed_point(parser: &mut Parser<'_>) -> Result<DataType> {
    parser.advance();
    let mut ty = DataType::new(TypeName::Decimal);
    digits_and_decimals(parser, &mut ty, false)?;
    Ok(ty)
}

fn floating(parser: &mut Parser<'_>, name: TypeName) -> Result<DataType> {
    let is_double = parser.is(Kw::DOUBLE);
    parser.advance();
    if is_double {
        parser.eat(Kw::PRECISION);
    }
    let mut ty = DataType::new(name);
    digits_and_decimals(parser, &mut ty, name == TypeName::Double)?;
    Ok(ty)
}

/// `CHAR`, `VARCHAR`, `CHARACTER VARYING`.
fn character(parser: &mut Parser<'_>) -> Result<DataType> {
    let mut varying = parser.is_any(&[Kw::VARCHAR, Kw::VARCHARACTER]);
    parser.advance();
    if !varying {
        varying = parser.eat(Kw::VARYING);
    }
    characters(parser, varying)
}

/// An optional length. `VARCHAR` requires one.
fn sized_characters(parser: &mut Parser<'_>, varying: bool) -> Result<DataType> {
    let mut ty = DataType::new(if varying {
        TypeName::VarChar
    } else {
        TypeName::Char
    });
    ty.length = type_length(parser)?;
    if varying && ty.length.is_none() {
        return parser.fail();
    }
    Ok(ty)
}

fn characters(parser: &mut Parser<'_>, varying: bool) -> Result<DataType> {
    let mut ty = sized_characters(parser, varying)?;
    character_attributes(parser, &mut ty)?;
    Ok(ty)
}

/// `NCHAR`, `NATIONAL CHAR VARYING` and the like: utf8mb3.
fn national(parser: &mut Parser<'_>) -> Result<DataType> {
    let mut varying = parser.is(Kw::NVARCHAR);
    let is_national = parser.is(Kw::NATIONAL);
    parser.advance();
    if is_national {
        match parser.eat_any(&[Kw::VARCHAR, Kw::VARCHARACTER, Kw::CHAR, Kw::CHARACTER]) {
            Some(Kw::VARCHAR | Kw::VARCHARACTER) => varying = true,
            Some(_) => varying = parser.eat(Kw::VARYING),
            None => return parser.fail(),
        }
    } else if !varying {
        varying = parser.eat_any(&[Kw::VARYING, Kw::VARCHAR]).is_some();
    }
    let mut ty = sized_characters(parser, varying)?;
    ty.charset = Some(types::Charset::Utf8mb3.name().into());
    ty.national = true;
    if parser.eat(Kw::BINARY) {
        ty.binary = true;
        ty.deprecated.push("BINARY");
    }
    Ok(ty)
}

/// `ENUM('a', 'b')` and SET.
fn with_members(parser: &mut Parser<'_>, name: TypeName) -> Result<DataType> {
    parser.advance();
    let mut ty = DataType::new(name);
    parser.expect_kind(Kind::LeftParen)?;
    loop {
        ty.members.push(member(parser)?);
        if !parser.eat_kind(Kind::Comma) {
            break;
        }
    }
    parser.expect_kind(Kind::RightParen)?;
    character_attributes(parser, &mut ty)?;
    Ok(ty)
}

fn member(parser: &mut Parser<'_>) -> Result<Member> {
    let bytes = match parser.kind() {
        Kind::Hex => hex_bytes(parser.word()),
        Kind::Bits => bit_bytes(parser.word()),
        _ => return Ok(Member::Text(parser.text_literal()?)),
    };
    parser.advance();
    Ok(Member::Bytes(bytes))
}

fn bytes(parser: &mut Parser<'_>, name: TypeName, length_needed: bool) -> Result<DataType> {
    parser.advance();
    let mut ty = DataType::new(name);
    ty.length = type_length(parser)?;
    if length_needed && ty.length.is_none() {
        return parser.fail();
    }
    Ok(ty)
}

fn text_type(parser: &mut Parser<'_>, name: TypeName, with_length: bool) -> Result<DataType> {
    parser.advance();
    let mut ty = DataType::new(name);
    if with_length {
        ty.length = type_length(parser)?;
    }
    character_attributes(parser, &mut ty)?;
    Ok(ty)
}

/// `LONG [VARCHAR]` is MEDIUMTEXT, `LONG VARBINARY` MEDIUMBLOB.
fn long(parser: &mut Parser<'_>) -> Result<DataType> {
    parser.advance();
    if parser.eat(Kw::VARBINARY) {
        return Ok(DataType::new(TypeName::MediumBlob));
    }
    if parser.eat_any(&[Kw::VARCHAR, Kw::VARCHARACTER]).is_none()
        && parser.eat_any(&[Kw::CHAR, Kw::CHARACTER]).is_some()
    {
        parser.expect(Kw::VARYING)?;
    }
    let mut ty = DataType::new(TypeName::MediumText);
    character_attributes(parser, &mut ty)?;
    Ok(ty)
}

fn fractional(parser: &mut Parser<'_>, name: TypeName) -> Result<DataType> {
    parser.advance();
    let mut ty = DataType::new(name);
    ty.decimals = type_length(parser)?;
    Ok(ty)
}

/// Character set, `BINARY`, `ASCII`, `BYTE`. COLLATE is read with the attributes of columns.
fn character_attributes(parser: &mut Parser<'_>, ty: &mut DataType) -> Result<()> {
    loop {
        if parser.is(Kw::COLLATE) {
            return Ok(());
        }
        let mut collation = None;
        if database::charset_or_collation(parser, &mut ty.charset, &mut collation)? {
            continue;
        }
        if parser.eat(Kw::BINARY) {
            ty.binary = true;
            ty.deprecated.push("BINARY");
        } else if parser.eat(Kw::ASCII) {
            ty.charset = Some("latin1".into());
            ty.deprecated.push("ASCII");
        } else if parser.eat(Kw::BYTE) {
            ty.charset = Some("binary".into());
        } else if parser.eat(Kw::UNICODE) {
            ty.charset = Some("ucs2".into());
            ty.deprecated.push("UNICODE");
        } else {
            return Ok(());
        }
    }
}
