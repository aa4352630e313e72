//! Column types and their synonyms.

use types::{Error, Result};

use super::Parser;
use super::literal::{bit_bytes, hex_bytes};
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
            members: Vec::new(),
        }
    }
}

impl Parser<'_> {
    /// A column's type, with its numeric and character attributes.
    pub fn data_type(&mut self) -> Result<DataType> {
        use TypeName::*;
        let simple = |name| DataType::new(name);
        match self.keyword() {
            Some(Kw::TINYINT | Kw::INT1) => self.integer(TinyInt),
            Some(Kw::SMALLINT | Kw::INT2) => self.integer(SmallInt),
            Some(Kw::MEDIUMINT | Kw::MIDDLEINT | Kw::INT3) => self.integer(MediumInt),
            Some(Kw::INT | Kw::INTEGER | Kw::INT4) => self.integer(Int),
            Some(Kw::BIGINT | Kw::INT8) => self.integer(BigInt),
            Some(Kw::BOOL | Kw::BOOLEAN) => self.word_type(simple(Bool)),
            Some(Kw::SERIAL) => self.word_type(simple(Serial)),
            Some(Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED) => self.fixed_point(),
            Some(Kw::FLOAT | Kw::FLOAT4) => self.floating(Float),
            Some(Kw::REAL) if self.mode.real_as_float => self.floating(Float),
            Some(Kw::DOUBLE | Kw::FLOAT8 | Kw::REAL) => self.floating(Double),
            Some(Kw::CHAR | Kw::CHARACTER | Kw::VARCHAR | Kw::VARCHARACTER) => self.character(),
            Some(Kw::NCHAR | Kw::NVARCHAR | Kw::NATIONAL) => self.national(),
            Some(Kw::BINARY) => self.bytes(Binary, false),
            Some(Kw::VARBINARY) => self.bytes(VarBinary, true),
            Some(Kw::TINYTEXT) => self.text_type(TinyText, false),
            Some(Kw::TEXT) => self.text_type(Text, true),
            Some(Kw::MEDIUMTEXT) => self.text_type(MediumText, false),
            Some(Kw::LONGTEXT) => self.text_type(LongText, false),
            Some(Kw::LONG) => self.long(),
            Some(Kw::TINYBLOB) => self.word_type(simple(TinyBlob)),
            Some(Kw::BLOB) => {
                self.advance();
                let mut ty = simple(Blob);
                ty.length = self.type_length()?;
                Ok(ty)
            }
            Some(Kw::MEDIUMBLOB) => self.word_type(simple(MediumBlob)),
            Some(Kw::LONGBLOB) => self.word_type(simple(LongBlob)),
            Some(Kw::DATE) => self.word_type(simple(Date)),
            Some(Kw::TIME) => self.fractional(Time),
            Some(Kw::DATETIME) => self.fractional(DateTime),
            Some(Kw::TIMESTAMP) => self.fractional(Timestamp),
            Some(Kw::YEAR) => {
                self.advance();
                let mut ty = simple(Year);
                ty.length = self.type_length()?;
                self.numeric_attributes(&mut ty);
                Ok(ty)
            }
            Some(Kw::JSON) => self.word_type(simple(Json)),
            Some(Kw::BIT) => {
                self.advance();
                let mut ty = simple(Bit);
                ty.length = self.type_length()?;
                Ok(ty)
            }
            Some(Kw::ENUM) => self.with_members(Enum),
            Some(Kw::SET) => self.with_members(Set),
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
                format!("columns of type {}", self.word().to_uppercase()),
                "use another type",
            )),
            _ => self.fail(),
        }
    }

    fn word_type(&mut self, ty: DataType) -> Result<DataType> {
        self.advance();
        Ok(ty)
    }

    /// `(n)`, where it is there.
    fn type_length(&mut self) -> Result<Option<u64>> {
        if !self.eat_kind(Kind::LeftParen) {
            return Ok(None);
        }
        let length = self.field_length()?;
        self.expect_kind(Kind::RightParen)?;
        Ok(Some(length))
    }

    /// A number, of which the digits behind a point do not count.
    fn field_length(&mut self) -> Result<u64> {
        if self.kind() != Kind::Decimal {
            return self.unsigned();
        }
        let whole = self
            .word()
            .split('.')
            .next()
            .and_then(|digits| digits.parse().ok());
        let Some(length) = whole else {
            return self.fail();
        };
        self.advance();
        Ok(length)
    }

    fn integer(&mut self, name: TypeName) -> Result<DataType> {
        self.advance();
        let mut ty = DataType::new(name);
        ty.length = self.type_length()?;
        self.numeric_attributes(&mut ty);
        Ok(ty)
    }

    fn numeric_attributes(&mut self, ty: &mut DataType) {
        while let Some(word) = self.eat_any(&[Kw::UNSIGNED, Kw::SIGNED, Kw::ZEROFILL]) {
            ty.unsigned |= word == Kw::UNSIGNED;
            ty.zerofill |= word == Kw::ZEROFILL;
        }
    }

    /// `(m)` or `(m, d)`.
    fn digits_and_decimals(&mut self, ty: &mut DataType, decimals_needed: bool) -> Result<()> {
        if self.eat_kind(Kind::LeftParen) {
            ty.length = Some(self.field_length()?);
            if self.eat_kind(Kind::Comma) {
                ty.decimals = Some(self.unsigned()?);
            } else if decimals_needed {
                return self.fail();
            }
            self.expect_kind(Kind::RightParen)?;
        }
        self.numeric_attributes(ty);
        Ok(())
    }

    fn fixed_point(&mut self) -> Result<DataType> {
        self.advance();
        let mut ty = DataType::new(TypeName::Decimal);
        self.digits_and_decimals(&mut ty, false)?;
        Ok(ty)
    }

    fn floating(&mut self, name: TypeName) -> Result<DataType> {
        let is_double = self.is(Kw::DOUBLE);
        self.advance();
        if is_double {
            self.eat(Kw::PRECISION);
        }
        let mut ty = DataType::new(name);
        self.digits_and_decimals(&mut ty, name == TypeName::Double)?;
        Ok(ty)
    }

    /// `CHAR`, `VARCHAR`, `CHARACTER VARYING`.
    fn character(&mut self) -> Result<DataType> {
        let mut varying = self.is_any(&[Kw::VARCHAR, Kw::VARCHARACTER]);
        self.advance();
        if !varying {
            varying = self.eat(Kw::VARYING);
        }
        self.characters(varying)
    }

    fn characters(&mut self, varying: bool) -> Result<DataType> {
        let mut ty = DataType::new(if varying {
            TypeName::VarChar
        } else {
            TypeName::Char
        });
        ty.length = self.type_length()?;
        if varying && ty.length.is_none() {
            return self.fail();
        }
        self.character_attributes(&mut ty)?;
        Ok(ty)
    }

    /// `NCHAR`, `NATIONAL CHAR VARYING` and the like: utf8mb3.
    fn national(&mut self) -> Result<DataType> {
        let mut varying = self.is(Kw::NVARCHAR);
        let is_national = self.is(Kw::NATIONAL);
        self.advance();
        if is_national {
            match self.eat_any(&[Kw::VARCHAR, Kw::VARCHARACTER, Kw::CHAR, Kw::CHARACTER]) {
                Some(Kw::VARCHAR | Kw::VARCHARACTER) => varying = true,
                Some(_) => varying = self.eat(Kw::VARYING),
                None => return self.fail(),
            }
        } else if !varying {
            varying = self.eat_any(&[Kw::VARYING, Kw::VARCHAR]).is_some();
        }
        let mut ty = DataType::new(if varying {
            TypeName::VarChar
        } else {
            TypeName::Char
        });
        ty.length = self.type_length()?;
        if varying && ty.length.is_none() {
            return self.fail();
        }
        ty.charset = Some(types::Charset::Utf8mb3.name().into());
        ty.national = true;
        ty.binary = self.eat(Kw::BINARY);
        Ok(ty)
    }

    /// `ENUM('a', 'b')` and SET.
    fn with_members(&mut self, name: TypeName) -> Result<DataType> {
        self.advance();
        let mut ty = DataType::new(name);
        self.expect_kind(Kind::LeftParen)?;
        loop {
            ty.members.push(self.member()?);
            if !self.eat_kind(Kind::Comma) {
                break;
            }
        }
        self.expect_kind(Kind::RightParen)?;
        self.character_attributes(&mut ty)?;
        Ok(ty)
    }

    fn member(&mut self) -> Result<Member> {
        let bytes = match self.kind() {
            Kind::Hex => hex_bytes(self.word()),
            Kind::Bits => bit_bytes(self.word()),
            _ => return Ok(Member::Text(self.text_literal()?)),
        };
        self.advance();
        Ok(Member::Bytes(bytes))
    }

    fn bytes(&mut self, name: TypeName, length_needed: bool) -> Result<DataType> {
        self.advance();
        let mut ty = DataType::new(name);
        ty.length = self.type_length()?;
        if length_needed && ty.length.is_none() {
            return self.fail();
        }
        Ok(ty)
    }

    fn text_type(&mut self, name: TypeName, with_length: bool) -> Result<DataType> {
        self.advance();
        let mut ty = DataType::new(name);
        if with_length {
            ty.length = self.type_length()?;
        }
        self.character_attributes(&mut ty)?;
        Ok(ty)
    }

    /// `LONG [VARCHAR]` is MEDIUMTEXT, `LONG VARBINARY` MEDIUMBLOB.
    fn long(&mut self) -> Result<DataType> {
        self.advance();
        if self.eat(Kw::VARBINARY) {
            return Ok(DataType::new(TypeName::MediumBlob));
        }
        if self.eat_any(&[Kw::VARCHAR, Kw::VARCHARACTER]).is_none()
            && self.eat_any(&[Kw::CHAR, Kw::CHARACTER]).is_some()
        {
            self.expect(Kw::VARYING)?;
        }
        let mut ty = DataType::new(TypeName::MediumText);
        self.character_attributes(&mut ty)?;
        Ok(ty)
    }

    fn fractional(&mut self, name: TypeName) -> Result<DataType> {
        self.advance();
        let mut ty = DataType::new(name);
        ty.decimals = self.type_length()?;
        Ok(ty)
    }

    /// Character set, `BINARY`, `ASCII`, `BYTE`; COLLATE is a column attribute as well and read there.
    fn character_attributes(&mut self, ty: &mut DataType) -> Result<()> {
        loop {
            if self.is(Kw::COLLATE) {
                return Ok(());
            }
            let mut collation = None;
            if self.charset_or_collation(&mut ty.charset, &mut collation)? {
                continue;
            }
            if self.eat(Kw::BINARY) {
                ty.binary = true;
            } else if self.eat(Kw::ASCII) {
                ty.charset = Some("latin1".into());
            } else if self.eat(Kw::BYTE) {
                ty.charset = Some("binary".into());
            } else if self.eat(Kw::UNICODE) {
                ty.charset = Some("ucs2".into());
            } else {
                return Ok(());
            }
        }
    }
}
