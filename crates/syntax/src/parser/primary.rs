//! The operands of operators: literals, names, parameters, variables, parentheses, unary operators. Calls and
//! special forms are in [`super::function`].

use types::{Charset, Error, Result, errno};

use super::Parser;
use super::literal::{bit_bytes, hex_bytes, text_or_bytes, unquote, unquote_name};
use crate::ast::{
    BinaryOp, ColumnName, Expr, Introducer, NumberText, QueryBody, TemporalKind, UnaryOp, VariableScope,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::raw_bytes::bytes_of;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// A literal directly followed by a comma or a closing parenthesis: what most values of large INSERTs
    /// are. It is taken without asking at each level of precedence for an operator that is not there.
    pub fn lone_literal(&mut self) -> Result<Option<Expr>> {
        if !self.is_before_delimiter() || self.is_deepest() {
            return Ok(None);
        }
        match self.kind() {
            Kind::Integer | Kind::Decimal | Kind::Float | Kind::Text => self.primary().map(Some),
            Kind::Word if self.is(Kw::NULL) => {
                self.advance();
                Ok(Some(Expr::Null))
            }
            _ => Ok(None),
        }
    }

    /// An operand, with its unary operators and COLLATE.
    pub fn simple(&mut self) -> Result<Expr> {
        if let Some(operand) = self.operand_before() {
            return self.collated(operand);
        }
        let operator = match self.kind() {
            Kind::Minus => Some(UnaryOp::Minus),
            Kind::Tilde => Some(UnaryOp::BitNot),
            Kind::Bang => Some(UnaryOp::Not),
            Kind::Plus => {
                self.advance();
                return self.nested(Self::simple);
            }
            Kind::Word if self.is(Kw::NOT) && self.mode.high_not_precedence => Some(UnaryOp::Not),
            Kind::Word if self.is(Kw::BINARY) => {
                self.advance();
                let operand = self.nested(Self::simple)?;
                self.grow()?;
                return Ok(Expr::Binarize(Box::new(operand)));
            }
            _ => None,
        };
        if let Some(operator) = operator {
            self.advance();
            let operand = self.nested(Self::simple)?;
            return self.unary(operator, operand);
        }
        let operand = self.primary()?;
        self.collated(operand)
    }

    fn collated(&mut self, mut operand: Expr) -> Result<Expr> {
        while self.eat(Kw::COLLATE) {
            let collation = if self.eat(Kw::BINARY) {
                "binary".into()
            } else {
                self.name_or_text()?
            };
            self.grow()?;
            operand = Expr::Collate {
                operand: Box::new(operand),
                collation,
            };
        }
        Ok(operand)
    }

    pub fn primary(&mut self) -> Result<Expr> {
        match self.kind() {
            Kind::Integer => Ok(Expr::Number(NumberText::Integer(self.take_word()))),
            Kind::Decimal => Ok(Expr::Number(NumberText::Decimal(self.take_word()))),
            Kind::Float => Ok(Expr::Number(NumberText::Float(self.take_word()))),
            Kind::Text | Kind::NationalText => self.text(),
            Kind::Hex => {
                let bytes = hex_bytes(self.word());
                self.advance();
                Ok(Expr::Bytes(bytes))
            }
            Kind::Bits => {
                let bytes = bit_bytes(self.word());
                self.advance();
                Ok(Expr::Bytes(bytes))
            }
            Kind::Parameter => Ok(Expr::Parameter(self.parameter()?)),
            Kind::At => self.user_variable(),
            Kind::AtAt => self.system_variable(),
            Kind::LeftParen => self.parenthesised(),
            Kind::LeftBrace => self.odbc_escape(),
            Kind::QuotedWord => self.column(),
            Kind::Word => self.word_operand(),
            _ => self.fail(),
        }
    }

    fn take_word(&mut self) -> String {
        let word = self.word().to_string();
        self.advance();
        word
    }

    /// Adjacent literals are one: `'a' 'b'`.
    fn text(&mut self) -> Result<Expr> {
        let is_national = self.kind() == Kind::NationalText;
        // `N` before the quote.
        let first = &self.word()[usize::from(is_national)..];
        let mut text = unquote(first, self.backslash_escapes());
        self.advance();
        while self.kind() == Kind::Text {
            text.push_str(&unquote(self.word(), self.backslash_escapes()));
            self.advance();
        }
        if is_national {
            return Ok(Expr::Introduced {
                charset: Introducer::National,
                bytes: bytes_of(text),
                quoted: true,
            });
        }
        Ok(text_or_bytes(text))
    }

    /// `_latin1'text'`, where the word names a character set and a literal follows.
    pub fn introduced(&mut self) -> Result<Option<Expr>> {
        let name = self.word().strip_prefix('_').unwrap_or_default();
        if Charset::from_name(name).is_none() {
            return Ok(None);
        }
        let charset = Introducer::Named(name.to_owned());
        if !matches!(self.peek().kind, Kind::Text | Kind::Hex | Kind::Bits) {
            return Ok(None);
        }
        self.advance();
        let bytes = match self.kind() {
            Kind::Hex => hex_bytes(self.word()),
            Kind::Bits => bit_bytes(self.word()),
            _ => {
                let mut bytes = Vec::new();
                while self.kind() == Kind::Text {
                    bytes.extend(bytes_of(unquote(self.word(), self.backslash_escapes())));
                    self.advance();
                }
                return Ok(Some(Expr::Introduced {
                    charset,
                    bytes,
                    quoted: true,
                }));
            }
        };
        self.advance();
        Ok(Some(Expr::Introduced {
            charset,
            bytes,
            quoted: false,
        }))
    }

    fn user_variable(&mut self) -> Result<Expr> {
        let name = self.user_variable_name()?;
        if self.kind() != Kind::Assign {
            return Ok(Expr::UserVariable(name));
        }
        self.advance();
        self.assigns = true;
        let value = self.nested(Self::expression)?;
        self.grow()?;
        Ok(Expr::Assign {
            name,
            value: Box::new(value),
        })
    }

    /// `@name`: letters, digits, `.`, `_`, `$`, or a quoted name. Lower case, as they are compared.
    pub fn user_variable_name(&mut self) -> Result<String> {
        self.expect_kind(Kind::At)?;
        let adjacent = self.start() == self.previous_end();
        let name = match self.kind() {
            Kind::QuotedWord if adjacent => unquote_name(self.word()),
            Kind::Text if adjacent => unquote(self.word(), self.backslash_escapes()),
            Kind::Word | Kind::Integer | Kind::Decimal if adjacent => {
                let start = self.start();
                self.advance();
                while self.start() == self.previous_end()
                    && matches!(
                        self.kind(),
                        Kind::Dot | Kind::Word | Kind::Integer | Kind::Decimal
                    )
                {
                    self.advance();
                }
                return Ok(self.source(start, self.previous_end()).to_lowercase());
            }
            _ => return self.fail(),
        };
        self.advance();
        Ok(name.to_lowercase())
    }

    fn system_variable(&mut self) -> Result<Expr> {
        let (scope, name) = self.system_variable_name()?;
        Ok(Expr::SystemVariable { scope, name })
    }

    /// `@@name`, `@@scope.name`.
    pub fn system_variable_name(&mut self) -> Result<(Option<VariableScope>, String)> {
        self.expect_kind(Kind::AtAt)?;
        let first = self.name_behind_point()?;
        if !self.eat_kind(Kind::Dot) {
            return Ok((None, first.to_lowercase()));
        }
        let scope = match first.to_ascii_lowercase().as_str() {
            "global" => Some(VariableScope::Global),
            "session" | "local" => Some(VariableScope::Session),
            "persist" | "persist_only" => {
                return Err(Error::not_supported(
                    "persisted variables",
                    "use the configuration file",
                ));
            }
            _ => None,
        };
        let second = self.name_behind_point()?;
        let name = if scope.is_some() {
            second
        } else {
            format!("{first}.{second}")
        };
        Ok((scope, name.to_lowercase()))
    }

    /// Parentheses that stand together are counted, and closed one after the other around what the innermost ones
    /// hold.
    fn parenthesised(&mut self) -> Result<Expr> {
        let open = self.open_parentheses()?;
        let outside = std::mem::take(&mut self.height);
        let mut inner = if self.at_query() {
            let query = Box::new(self.nested(Self::query)?);
            self.grow()?;
            Expr::Subquery(query)
        } else {
            self.expression()?
        };
        inner = self.closed(inner)?;
        for _ in 1..open {
            if self.kind() != Kind::RightParen {
                inner = match inner {
                    // `((SELECT 1) UNION (SELECT 2))`
                    Expr::Subquery(query) if self.is_within_query() => {
                        self.grow()?;
                        Expr::Subquery(Box::new(self.query_behind(QueryBody::Nested(query))?))
                    }
                    inner => {
                        self.operand = Some((inner, self.height));
                        self.expression()?
                    }
                };
            }
            inner = self.closed(inner)?;
        }
        self.height = outside.max(self.height);
        Ok(inner)
    }

    /// Whether a query in parentheses, the cursor after them, is an operand of another.
    fn is_within_query(&self) -> bool {
        self.is_any(&[Kw::UNION, Kw::EXCEPT, Kw::INTERSECT, Kw::ORDER, Kw::LIMIT])
    }

    /// What parentheses hold, whose first expression has been read: itself, or a row.
    fn closed(&mut self, first: Expr) -> Result<Expr> {
        if self.kind() != Kind::Comma {
            self.expect_kind(Kind::RightParen)?;
            return Ok(first);
        }
        let mut list = vec![first];
        while self.eat_kind(Kind::Comma) {
            list.push(self.expression()?);
        }
        self.expect_kind(Kind::RightParen)?;
        self.grow()?;
        Ok(Expr::Row(list))
    }

    /// `EXISTS (SELECT ...)`, the cursor at the parenthesis.
    pub fn exists(&mut self) -> Result<Expr> {
        let query = self.query_in_parentheses()?;
        self.grow()?;
        Ok(Expr::Exists(query))
    }

    /// `{d '2024-01-01'}`, ODBC's way to write temporal literals; any other word is ignored.
    fn odbc_escape(&mut self) -> Result<Expr> {
        self.advance();
        let word = self.name()?;
        let expr = self.expression()?;
        self.expect_kind(Kind::RightBrace)?;
        let kind = match word.to_ascii_lowercase().as_str() {
            "d" => TemporalKind::Date,
            "t" => TemporalKind::Time,
            "ts" => TemporalKind::Timestamp,
            _ => return Ok(expr),
        };
        Ok(match expr {
            Expr::Text(text) => Expr::Temporal { kind, text },
            other => other,
        })
    }

    /// `[[database.]table.]column`, `column -> path`.
    pub fn column(&mut self) -> Result<Expr> {
        let name = self.column_name()?;
        let op = match self.kind() {
            Kind::Arrow => BinaryOp::JsonExtract,
            Kind::LongArrow => BinaryOp::JsonUnquote,
            Kind::Assign => return self.fail(),
            _ => return Ok(Expr::Column(name)),
        };
        self.advance();
        let path = Expr::Text(self.text_literal()?);
        self.binary(op, Expr::Column(name), path)
    }

    pub fn column_name(&mut self) -> Result<ColumnName> {
        let mut names = vec![self.name()?];
        while names.len() < 3 && self.kind() == Kind::Dot && self.peek().kind != Kind::Star {
            self.advance();
            names.push(self.name_behind_point()?);
        }
        let column = names.pop().unwrap_or_default();
        let mut table = names.pop();
        let database = names.pop();
        match database.as_deref() {
            Some("") => return Err(Error::new(errno::ER_WRONG_DB_NAME, "Incorrect database name ''")),
            Some(_) => {}
            // To MySQL an empty table is none.
            None => table = table.filter(|table| !table.is_empty()),
        }
        Ok(ColumnName {
            database,
            table,
            column,
        })
    }
}
