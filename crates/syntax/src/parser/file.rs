//! LOAD DATA, and the clauses about a file's format.

use types::{Error, Result};

use super::Parser;
use crate::ast::{Expr, FileFormat, IntoFile, LoadData, LoadDuplicates, LoadField, Statement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// The cursor at LOAD.
    pub fn load(&mut self) -> Result<Statement> {
        self.advance();
        if self.is(Kw::XML) {
            return Err(Error::not_supported(
                "LOAD XML",
                "convert the file to CSV, and use LOAD DATA",
            ));
        }
        self.expect(Kw::DATA)?;
        // Both are about table locks, which InnoDB does not take either.
        self.eat_any(&[Kw::LOW_PRIORITY, Kw::CONCURRENT]);
        self.eat(Kw::FROM);
        let local = self.eat(Kw::LOCAL);
        self.expect(Kw::INFILE)?;
        let file = self.text_literal()?;
        let duplicates = match self.eat_any(&[Kw::REPLACE, Kw::IGNORE]) {
            Some(Kw::REPLACE) => LoadDuplicates::Replace,
            Some(_) => LoadDuplicates::Ignore,
            None => LoadDuplicates::Unspecified,
        };
        self.expect(Kw::INTO)?;
        self.expect(Kw::TABLE)?;
        let table = self.object_name()?;
        let partitions = self.partition_selection()?;
        let charset = self.charset_of_file()?;
        let format = self.file_format()?;
        let mut ignored_lines = 0;
        if self.eat(Kw::IGNORE) {
            ignored_lines = self.unsigned()?;
            if self.eat_any(&[Kw::LINES, Kw::ROWS]).is_none() {
                return self.fail();
            }
        }
        let mut fields = Vec::new();
        if self.eat_kind(Kind::LeftParen) {
            if self.kind() != Kind::RightParen {
                fields = self.comma_separated(Self::load_field)?;
            }
            self.expect_kind(Kind::RightParen)?;
        }
        let assignments = match self.eat(Kw::SET) {
            true => self.comma_separated(Self::assignment)?,
            false => Vec::new(),
        };
        Ok(Statement::LoadData(Box::new(LoadData {
            local,
            file,
            duplicates,
            table,
            partitions,
            charset,
            format,
            ignored_lines,
            fields,
            assignments,
        })))
    }

    /// The cursor at OUTFILE or DUMPFILE.
    pub fn target_file(&mut self) -> Result<IntoFile> {
        let is_dump = self.eat(Kw::DUMPFILE);
        if !is_dump {
            self.expect(Kw::OUTFILE)?;
        }
        let file = self.text_literal()?;
        if is_dump {
            return Ok(IntoFile {
                file,
                format: None,
                charset: None,
            });
        }
        Ok(IntoFile {
            file,
            charset: self.charset_of_file()?,
            format: Some(self.file_format()?),
        })
    }

    fn load_field(&mut self) -> Result<LoadField> {
        match self.kind() {
            Kind::At => self.user_variable_name().map(LoadField::Variable),
            _ => self.column_name().map(LoadField::Column),
        }
    }

    /// `CHARACTER SET name`
    pub fn charset_of_file(&mut self) -> Result<Option<String>> {
        if !self.eat(Kw::CHARSET)
            && !self.eat_all(&[Kw::CHARACTER, Kw::SET])
            && !self.eat_all(&[Kw::CHAR, Kw::SET])
        {
            return Ok(None);
        }
        if self.eat(Kw::BINARY) {
            return Ok(Some("binary".to_owned()));
        }
        self.name_or_text().map(Some)
    }

    /// FIELDS (or COLUMNS) and LINES, each with its clauses in any order.
    pub fn file_format(&mut self) -> Result<FileFormat> {
        let mut format = FileFormat::default();
        if self.eat_any(&[Kw::FIELDS, Kw::COLUMNS]).is_some() {
            let start = self.start();
            loop {
                if self.eat(Kw::TERMINATED) {
                    self.expect(Kw::BY)?;
                    format.fields_terminated = Some(self.separator()?);
                } else if self.is_any(&[Kw::OPTIONALLY, Kw::ENCLOSED]) {
                    format.optionally_enclosed = self.eat(Kw::OPTIONALLY);
                    self.expect(Kw::ENCLOSED)?;
                    self.expect(Kw::BY)?;
                    format.fields_enclosed = Some(self.separator()?);
                } else if self.eat(Kw::ESCAPED) {
                    self.expect(Kw::BY)?;
                    format.fields_escaped = Some(self.separator()?);
                } else if self.start() == start {
                    return self.fail();
                } else {
                    break;
                }
            }
        }
        if self.eat(Kw::LINES) {
            let start = self.start();
            loop {
                if self.eat(Kw::TERMINATED) {
                    self.expect(Kw::BY)?;
                    format.lines_terminated = Some(self.separator()?);
                } else if self.eat(Kw::STARTING) {
                    self.expect(Kw::BY)?;
                    format.lines_starting = Some(self.separator()?);
                } else if self.start() == start {
                    return self.fail();
                } else {
                    break;
                }
            }
        }
        Ok(format)
    }

    /// A text, or bytes as a hexadecimal or bit literal.
    fn separator(&mut self) -> Result<Vec<u8>> {
        if self.kind() == Kind::Text {
            return self.text_literal().map(String::into_bytes);
        }
        if !matches!(self.kind(), Kind::Hex | Kind::Bits) {
            return self.fail();
        }
        match self.expression()? {
            Expr::Bytes(bytes) => Ok(bytes),
            _ => self.fail(),
        }
    }
}
