//! Column types and their synonyms.

use types::{Error, Result};

use super::Parser;
use crate::ast::{DataType, TypeName};
use crate::lexer::token::Kind;

impl DataType {
    fn new(name: TypeName) -> Self {
        Self {
            name,
            length: None,
            decimals: None,
            unsigned: false,
            charset: None,
            national: false,
            collation: None,
            binary: false,
        }
    }
}

impl Parser<'_> {
    /// A column's type, with its numeric and character attributes.
    pub fn data_type(&mut self) -> Result<DataType> {
        if !matches!(self.kind(), Kind::Word) {
            return self.fail();
        }
        let word = self.word().to_ascii_lowercase();
        use TypeName::*;
        let simple = |name| DataType::new(name);
        match word.as_str() {
            "tinyint" | "int1" => self.integer(TinyInt),
            "smallint" | "int2" => self.integer(SmallInt),
            "mediumint" | "middleint" | "int3" => self.integer(MediumInt),
            "int" | "integer" | "int4" => self.integer(Int),
            "bigint" | "int8" => self.integer(BigInt),
            "bool" | "boolean" => self.word_type(simple(Bool)),
            "serial" => self.word_type(simple(Serial)),
            "decimal" | "dec" | "numeric" | "fixed" => self.fixed_point(),
            "float" | "float4" => self.floating(Float),
            "real" if self.mode.real_as_float => self.floating(Float),
            "double" | "float8" | "real" => self.floating(Double),
            "char" | "character" | "varchar" | "varcharacter" => self.character(),
            "nchar" | "nvarchar" | "national" => self.national(),
            "binary" => self.bytes(Binary, false),
            "varbinary" => self.bytes(VarBinary, true),
            "tinytext" => self.text_type(TinyText, false),
            "text" => self.text_type(Text, true),
            "mediumtext" => self.text_type(MediumText, false),
            "longtext" => self.text_type(LongText, false),
            "long" => self.long(),
            "tinyblob" => self.word_type(simple(TinyBlob)),
            "blob" => {
                self.advance();
                let mut ty = simple(Blob);
                ty.length = self.type_length()?;
                Ok(ty)
            }
            "mediumblob" => self.word_type(simple(MediumBlob)),
            "longblob" => self.word_type(simple(LongBlob)),
            "date" => self.word_type(simple(Date)),
            "time" => self.fractional(Time),
            "datetime" => self.fractional(DateTime),
            "timestamp" => self.fractional(Timestamp),
            "year" => {
                self.advance();
                let mut ty = simple(Year);
                ty.length = self.type_length()?;
                while self.eat_any(&["UNSIGNED", "SIGNED"]).is_some() {}
                self.refuse_zerofill()?;
                Ok(ty)
            }
            "json" => self.word_type(simple(Json)),
            "enum" | "set" | "bit" | "geometry" | "point" | "linestring" | "polygon" | "multipoint"
            | "multilinestring" | "multipolygon" | "geometrycollection" | "geomcollection" | "vector" => {
                Err(Error::not_supported(
                    format!("columns of type {}", word.to_uppercase()),
                    "use another type",
                ))
            }
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
        let length = self.unsigned()?;
        self.expect_kind(Kind::RightParen)?;
        Ok(Some(length))
    }

    fn integer(&mut self, name: TypeName) -> Result<DataType> {
        self.advance();
        let mut ty = DataType::new(name);
        ty.length = self.type_length()?;
        self.numeric_attributes(&mut ty)?;
        Ok(ty)
    }

    fn numeric_attributes(&mut self, ty: &mut DataType) -> Result<()> {
        while let Some(word) = self.eat_any(&["UNSIGNED", "SIGNED"]) {
            ty.unsigned |= word == "UNSIGNED";
        }
        self.refuse_zerofill()
    }

    fn refuse_zerofill(&self) -> Result<()> {
        if self.is("ZEROFILL") {
            return Err(Error::not_supported("ZEROFILL", "use LPAD() when reading"));
        }
        Ok(())
    }

    /// `(m)` or `(m, d)`.
    fn digits_and_decimals(&mut self, ty: &mut DataType, decimals_needed: bool) -> Result<()> {
        if self.eat_kind(Kind::LeftParen) {
            ty.length = Some(self.unsigned()?);
            if self.eat_kind(Kind::Comma) {
                ty.decimals = Some(self.unsigned()?);
            } else if decimals_needed {
                return self.fail();
            }
            self.expect_kind(Kind::RightParen)?;
        }
        self.numeric_attributes(ty)
    }

    fn fixed_point(&mut self) -> Result<DataType> {
        self.advance();
        let mut ty = DataType::new(TypeName::Decimal);
        self.digits_and_decimals(&mut ty, false)?;
        Ok(ty)
    }

    fn floating(&mut self, name: TypeName) -> Result<DataType> {
        let is_double = self.is("DOUBLE");
        self.advance();
        if is_double {
            self.eat("PRECISION");
        }
        let mut ty = DataType::new(name);
        self.digits_and_decimals(&mut ty, name == TypeName::Double)?;
        Ok(ty)
    }

    /// `CHAR`, `VARCHAR`, `CHARACTER VARYING`.
    fn character(&mut self) -> Result<DataType> {
        let mut varying = self.is_any(&["VARCHAR", "VARCHARACTER"]);
        self.advance();
        if !varying {
            varying = self.eat("VARYING");
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
        let mut varying = self.is("NVARCHAR");
        let is_national = self.is("NATIONAL");
        self.advance();
        if is_national {
            match self.eat_any(&["VARCHAR", "VARCHARACTER", "CHAR", "CHARACTER"]) {
                Some("VARCHAR" | "VARCHARACTER") => varying = true,
                Some(_) => varying = self.eat("VARYING"),
                None => return self.fail(),
            }
        } else if !varying {
            varying = self.eat_any(&["VARYING", "VARCHAR"]).is_some();
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
        ty.binary = self.eat("BINARY");
        Ok(ty)
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
        if self.eat("VARBINARY") {
            return Ok(DataType::new(TypeName::MediumBlob));
        }
        if self.eat_any(&["VARCHAR", "VARCHARACTER"]).is_none()
            && self.eat_any(&["CHAR", "CHARACTER"]).is_some()
        {
            self.expect("VARYING")?;
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
            if self.is("COLLATE") {
                return Ok(());
            }
            let mut collation = None;
            if self.charset_or_collation(&mut ty.charset, &mut collation)? {
                continue;
            }
            if self.eat("BINARY") {
                ty.binary = true;
            } else if self.eat("ASCII") {
                ty.charset = Some("latin1".into());
            } else if self.eat("BYTE") {
                ty.charset = Some("binary".into());
            } else if self.is("UNICODE") {
                return Err(Error::not_supported("the character set ucs2", "use utf8mb4"));
            } else {
                return Ok(());
            }
        }
    }
}
