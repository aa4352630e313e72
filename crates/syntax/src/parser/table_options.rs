//! Options after a table's definition.

use types::{Error, Result, errno};

use super::Parser;
use crate::ast::TableOptions;
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// Options that mean nothing here: `NAME [=] value`. Some of them are shown.
const IGNORED: &[Kw] = &[
    Kw::ROW_FORMAT,
    Kw::KEY_BLOCK_SIZE,
    Kw::STATS_PERSISTENT,
    Kw::STATS_AUTO_RECALC,
    Kw::STATS_SAMPLE_PAGES,
    Kw::AVG_ROW_LENGTH,
    Kw::MAX_ROWS,
    Kw::MIN_ROWS,
    Kw::CHECKSUM,
    Kw::DELAY_KEY_WRITE,
    Kw::PACK_KEYS,
    Kw::COMPRESSION,
    Kw::INSERT_METHOD,
    Kw::TABLE_CHECKSUM,
    Kw::PASSWORD,
    Kw::CONNECTION,
    Kw::SECONDARY_ENGINE,
];

impl Parser<'_> {
    /// The options of CREATE TABLE, separated by blanks or commas.
    pub fn table_options(&mut self) -> Result<TableOptions> {
        let mut options = TableOptions::default();
        while !self.at_statement_end() {
            if !self.table_option(&mut options)? {
                break;
            }
            self.eat_kind(Kind::Comma);
        }
        Ok(options)
    }

    /// One option, where one begins.
    pub fn table_option(&mut self, options: &mut TableOptions) -> Result<bool> {
        if self.eat(Kw::ENGINE) {
            self.eat_kind(Kind::Equal);
            options.engine = Some(self.name_or_text()?);
        } else if self.eat(Kw::AUTO_INCREMENT) {
            self.eat_kind(Kind::Equal);
            options.auto_increment = Some(self.unsigned()?);
        } else if self.eat(Kw::AUTO_RANDOM_BASE) {
            self.eat_kind(Kind::Equal);
            options.auto_random_base = Some(self.unsigned()?);
        } else if self.eat(Kw::SHARD_ROW_ID_BITS) {
            self.eat_kind(Kind::Equal);
            options.shard_row_id_bits = Some(self.unsigned()?);
        } else if self.eat(Kw::PRE_SPLIT_REGIONS) {
            self.eat_kind(Kind::Equal);
            options.pre_split_regions = Some(self.unsigned()?);
        } else if self.eat(Kw::COMMENT) {
            self.eat_kind(Kind::Equal);
            options.comment = Some(self.text_literal()?);
        } else if self.is(Kw::DEFAULT) || self.is_any(&[Kw::CHARACTER, Kw::CHARSET, Kw::CHAR, Kw::COLLATE]) {
            self.eat(Kw::DEFAULT);
            self.charset_option(options)?;
        } else if self.is_any(IGNORED) {
            let name = self.word().to_uppercase();
            self.advance();
            self.eat_kind(Kind::Equal);
            let value = match self.kind() {
                Kind::Integer => self.unsigned()?.to_string(),
                Kind::Text => self.text_literal()?,
                Kind::Word | Kind::QuotedWord => {
                    let word = self.word().to_owned();
                    self.advance();
                    word
                }
                _ => return self.fail(),
            };
            options.shown.push((name, value));
        } else if self.is_any(&[Kw::DATA, Kw::INDEX]) && self.peek_is(Kw::DIRECTORY) {
            options.directories.push(match self.is(Kw::DATA) {
                true => "DATA DIRECTORY",
                false => "INDEX DIRECTORY",
            });
            self.advance();
            self.advance();
            self.eat_kind(Kind::Equal);
            self.text_literal()?;
        } else if self.eat(Kw::ENCRYPTION) {
            self.eat_kind(Kind::Equal);
            if self.text_literal()?.eq_ignore_ascii_case("y") {
                return Err(Error::not_supported("ENCRYPTION", "encrypt the file system"));
            }
        } else {
            return self.option_of_storage(options);
        }
        Ok(true)
    }

    /// Where and how MySQL would store the table.
    fn option_of_storage(&mut self, options: &mut TableOptions) -> Result<bool> {
        if self.eat(Kw::AUTOEXTEND_SIZE) {
            self.eat_kind(Kind::Equal);
            options.autoextend_size = Some(self.size()?);
        } else if self.eat(Kw::TABLESPACE) {
            self.eat_kind(Kind::Equal);
            options.tablespace = Some(self.name_or_text()?);
        } else if self.eat(Kw::UNION) {
            // Of the MERGE engine. InnoDB does not keep it.
            self.eat_kind(Kind::Equal);
            self.expect_kind(Kind::LeftParen)?;
            if self.kind() != Kind::RightParen {
                self.comma_separated(Self::object_name)?;
            }
            self.expect_kind(Kind::RightParen)?;
        } else if self.eat(Kw::ENGINE_ATTRIBUTE) {
            self.eat_kind(Kind::Equal);
            self.text_literal()?;
            return Err(Error::new(
                3981,
                "Storage engine 'InnoDB' does not support ENGINE_ATTRIBUTE.",
            ));
        } else if self.is(Kw::SECONDARY_ENGINE_ATTRIBUTE) {
            return Err(Error::not_supported(
                format!("the table option {}", self.word().to_uppercase()),
                "leave it out",
            ));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// A number of bytes: `4194304`, `4M`.
    fn size(&mut self) -> Result<u64> {
        if self.kind() == Kind::Integer {
            return self.unsigned();
        }
        let word = self.word().to_owned();
        let (digits, unit) = word
            .split_at_checked(word.len().saturating_sub(1))
            .unwrap_or_default();
        let shift = match unit {
            "k" | "K" => 10,
            "m" | "M" => 20,
            "g" | "G" => 30,
            "t" | "T" => 40,
            _ => return self.fail(),
        };
        let Ok(number) = digits.parse::<u64>() else {
            return self.fail();
        };
        self.advance();
        number.checked_mul(1 << shift).map_or_else(|| self.fail(), Ok)
    }

    fn charset_option(&mut self, options: &mut TableOptions) -> Result<()> {
        let mut charset = None;
        let mut collation = None;
        if !self.charset_or_collation(&mut charset, &mut collation)? {
            return self.fail();
        }
        if let Some(new) = charset {
            if let Some(old) = &options.charset
                && !old.eq_ignore_ascii_case(&new)
            {
                return Err(Error::new(
                    errno::ER_CONFLICTING_DECLARATIONS,
                    format!("Conflicting declarations: 'CHARACTER SET {old}' and 'CHARACTER SET {new}'"),
                ));
            }
            options.charset = Some(new);
        }
        if collation.is_some() {
            options.collation = collation;
        }
        Ok(())
    }
}
