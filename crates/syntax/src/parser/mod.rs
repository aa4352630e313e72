//! The parser's cursor: the current token, lookahead, expected tokens, and error 1064.
//!
//! Each file has functions that read one part of the grammar. They take the cursor, and are called by the
//! file's name: `create_table::create_table(parser)`. [`grammar`] has the recursive entry points. [`names`],
//! [`values`] and [`clauses`] have the parts that several statements share.

mod account;
mod admin;
mod alter_table;
mod call_clauses;
mod calls;
mod cast;
mod clauses;
mod create_table;
mod data_type;
mod database;
mod deprecated;
mod diagnostics;
mod expr;
mod file;
mod foreign_key;
mod function;
mod grammar;
mod grant;
mod hints;
mod interval;
mod into;
mod json_table;
mod key_cache;
pub(crate) mod literal;
mod literal_rows;
mod names;
mod partition;
mod primary;
mod query;
mod select;
mod set;
mod show;
mod split_table;
mod statement;
mod stored_program;
mod table_options;
mod table_ref;
mod text;
pub(crate) mod transaction;
mod unsupported;
mod values;
mod view;
mod wide;
mod window;
mod write;
mod xa;

use types::name::check_length;
use types::{Error, Result, SqlMode, Warning, errno};

use crate::ast::{BinaryOp, Expr, ObjectName, ReadVariable, UnaryOp};
use crate::lexer::keywords::Keyword::{self, EXISTS, IF, NOT};
use crate::lexer::raw_bytes::has_carried;
use crate::lexer::token::{Kind, Token};
use crate::lexer::{Lexer, is_word_byte};
use crate::{near, syntax_message};
use literal::{text_of_bytes, unquote, unquote_name};

/// How deep calls, unary operators and other nested parts may be nested in the text. MySQL's stack ends at about as
/// many.
pub const MAX_NESTING: u32 = 2000;
/// How high the tree of an expression may be: `1 + 1 + 1 ...` grows without nesting. Because of the limit,
/// every walk over an expression may recurse.
pub const MAX_HEIGHT: u32 = 2000;
/// How high a tree of joined tables may be. MySQL joins 61 tables.
pub const MAX_TABLES: u32 = 256;
/// How many parentheses may be open around one operand, query or list of tables. They are counted in a loop
/// and add nothing to the tree, so the limit is that of MySQL's parser and not that of a stack.
pub const MAX_PARENTHESES: u32 = 32_000;
/// The most bytes that `near '...'` shows.
const NEAR_BYTES: usize = 80;
/// The protocol counts parameters with 16 bits.
const MAX_PARAMETERS: usize = 65_535;
/// A cursor over a text's tokens.
pub struct Parser<'a> {
    lexer: Lexer<'a>,
    pub mode: SqlMode,
    /// The token at the cursor.
    token: Token,
    /// The one after it.
    next: Token,
    /// Where the token before it ends.
    previous_end: usize,
    pub parameters: usize,
    /// The parameters of LIMIT and OFFSET.
    pub row_counts: Vec<usize>,
    /// An expression contains `@a := x`.
    pub assigns: bool,
    /// An expression contains `@@warning_count` or `@@error_count`.
    pub reads_diagnostics: bool,
    /// The variables of SET_VAR hints.
    pub set_vars: Vec<(String, Expr)>,
    /// What the expressions so far read: `@@name`.
    pub read_variables: Vec<ReadVariable>,
    /// What the text so far warns of: [`deprecated`].
    pub warnings: Vec<Warning>,
    /// It reads the query of CREATE VIEW, which checks the aliases in it.
    pub in_view: bool,
    /// The next SELECT is the statement's first one that is no common table expression's.
    is_first_select: bool,
    /// The first operand of the expression that is read next, and its height: set when parentheses around it
    /// have been read already.
    operand: Option<(Expr, u32)>,
    depth: u32,
    /// Height of the tallest expression finished since the frame of [`Self::apart`] began.
    height: u32,
    /// The same of the trees of tables.
    tables: u32,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str, at: usize, mode: SqlMode) -> Self {
        let mut lexer = Lexer::new(text, at, &mode);
        let token = lexer.next_token();
        let next = lexer.next_token();
        Self {
            lexer,
            mode,
            token,
            next,
            previous_end: at,
            parameters: 0,
            row_counts: Vec::new(),
            assigns: false,
            reads_diagnostics: false,
            set_vars: Vec::new(),
            read_variables: Vec::new(),
            warnings: Vec::new(),
            in_view: false,
            is_first_select: true,
            operand: None,
            depth: 0,
            height: 0,
            tables: 0,
        }
    }

    pub fn kind(&self) -> Kind {
        self.token.kind
    }

    pub fn start(&self) -> usize {
        self.token.start
    }

    /// Where the last token taken ends.
    pub fn previous_end(&self) -> usize {
        self.previous_end
    }

    pub fn source(&self, start: usize, end: usize) -> &'a str {
        let text = self.lexer.text();
        text.get(start..end.min(text.len())).unwrap_or_default()
    }

    /// The current token's text.
    pub fn word(&self) -> &'a str {
        self.source(self.token.start, self.token.end)
    }

    /// Continues at a later position, after the part that the caller has read.
    pub fn jump(&mut self, at: usize) {
        self.lexer.jump(at);
        self.previous_end = at;
        self.token = self.lexer.next_token();
        self.next = self.lexer.next_token();
    }

    /// The whole text.
    pub fn whole_text(&self) -> &'a str {
        self.lexer.text()
    }

    /// A copy, to look further ahead than [`Self::peek`] does.
    pub fn fork(&self) -> Self {
        Self {
            row_counts: self.row_counts.clone(),
            set_vars: self.set_vars.clone(),
            read_variables: Vec::new(),
            warnings: Vec::new(),
            operand: None,
            ..*self
        }
    }

    pub fn backslash_escapes(&self) -> bool {
        self.lexer.backslash_escapes()
    }

    pub fn advance(&mut self) {
        self.previous_end = self.token.end;
        self.token = self.next;
        self.next = self.lexer.next_token();
    }

    /// Whether a comma or a closing parenthesis follows the current token directly.
    pub fn is_before_delimiter(&self) -> bool {
        let next = self.lexer.text().as_bytes().get(self.token.end);
        matches!(next, Some(b',' | b')'))
    }

    /// Whether nothing can be nested any deeper.
    pub fn is_deepest(&self) -> bool {
        self.depth >= MAX_NESTING
    }

    /// The token after the current one.
    pub fn peek(&self) -> Token {
        self.next
    }

    /// The two tokens after the current one.
    pub fn peek_two(&self) -> (Token, Token) {
        let mut lexer = self.lexer;
        (self.next, lexer.next_token())
    }

    /// The keyword at the cursor; `None` at anything else, also at a quoted word.
    pub fn keyword(&self) -> Option<Keyword> {
        self.token.keyword
    }

    /// Whether the word at the cursor can be a name only in quotes.
    pub fn is_reserved(&self) -> bool {
        self.token.keyword.is_some_and(Keyword::is_reserved)
    }

    pub fn peek_is(&self, keyword: Keyword) -> bool {
        self.next.keyword == Some(keyword)
    }

    pub fn peek_is_any(&self, keywords: &[Keyword]) -> bool {
        self.next.keyword.is_some_and(|next| keywords.contains(&next))
    }

    /// Whether the current token and those after it are these words.
    pub fn are(&self, keywords: &[Keyword]) -> bool {
        let mut lexer = self.lexer;
        let mut tokens = [self.token, self.next].into_iter();
        keywords.iter().all(|keyword| {
            let token = tokens.next().unwrap_or_else(|| lexer.next_token());
            token.keyword == Some(*keyword)
        })
    }

    pub fn is(&self, keyword: Keyword) -> bool {
        self.token.keyword == Some(keyword)
    }

    pub fn is_any(&self, keywords: &[Keyword]) -> bool {
        self.token
            .keyword
            .is_some_and(|keyword| keywords.contains(&keyword))
    }

    pub fn eat(&mut self, keyword: Keyword) -> bool {
        let found = self.is(keyword);
        if found {
            self.advance();
        }
        found
    }

    /// Takes a word that is one of these, and returns it.
    pub fn eat_any(&mut self, keywords: &[Keyword]) -> Option<Keyword> {
        let found = self.token.keyword.filter(|keyword| keywords.contains(keyword))?;
        self.advance();
        Some(found)
    }

    /// Takes all of the words, or none.
    pub fn eat_all(&mut self, keywords: &[Keyword]) -> bool {
        let found = self.are(keywords);
        if found {
            keywords.iter().for_each(|_| self.advance());
        }
        found
    }

    pub fn expect(&mut self, keyword: Keyword) -> Result<()> {
        if self.eat(keyword) { Ok(()) } else { self.fail() }
    }

    pub fn eat_kind(&mut self, kind: Kind) -> bool {
        let found = self.token.kind == kind;
        if found {
            self.advance();
        }
        found
    }

    pub fn expect_kind(&mut self, kind: Kind) -> Result<()> {
        if self.eat_kind(kind) { Ok(()) } else { self.fail() }
    }

    pub fn at_end(&self) -> bool {
        self.token.kind == Kind::End
    }

    /// At the end of the statement.
    pub fn at_statement_end(&self) -> bool {
        matches!(self.token.kind, Kind::End | Kind::Semicolon)
    }

    /// Nothing but blanks and semicolons follow.
    pub fn is_nothing(&self) -> bool {
        let rest = self.source(self.start(), usize::MAX);
        rest.trim_matches(|c: char| c.is_whitespace() || c == ';' || c == '\0')
            .is_empty()
    }

    pub fn skip_semicolon(&mut self) {
        self.eat_kind(Kind::Semicolon);
    }

    /// Where the text after this statement begins.
    pub fn behind_semicolon(&self) -> usize {
        match self.token.kind {
            Kind::Semicolon => self.token.end,
            _ => self.token.start,
        }
    }

    /// Error 1064 at the current token.
    pub fn fail<T>(&self) -> Result<T> {
        Err(self.error_at(self.token.start))
    }

    pub fn error_at(&self, start: usize) -> Error {
        syntax_message(&self.near(start))
    }

    /// `near '...' at line n`, for a byte of the text.
    pub fn near(&self, start: usize) -> String {
        // MySQL cuts blanks and semicolons off a text before it reads it.
        let text = self.lexer.text();
        let text = text.trim_end_matches([';', ' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        let mut start = start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let mut end = text.len().min(start + NEAR_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let line = 1 + text.as_bytes()[..start].iter().filter(|&&b| b == b'\n').count();
        near(text.get(start..end).unwrap_or_default(), line)
    }

    /// A name: a word that is not reserved, or a quoted one. A quoted name may be empty: the lookup of such a
    /// name then fails.
    pub fn name(&mut self) -> Result<String> {
        let name = self.any_name()?;
        check_length(&name)?;
        Ok(name)
    }

    /// A name of any length: an alias, or a name that only means what has been defined elsewhere.
    pub fn any_name(&mut self) -> Result<String> {
        let name = match self.token.kind {
            Kind::Word if !self.is_reserved() && !has_carried(self.word()) && !calls::is_called(self) => {
                self.unquoted_name()
            }
            Kind::QuotedWord => self.quoted_name(),
            _ => return self.fail(),
        };
        self.advance();
        Ok(name)
    }

    /// The same of an alias, which may be the name of a function.
    pub fn alias_name(&mut self) -> Result<String> {
        let name = match self.token.kind {
            Kind::Word if !self.is_reserved() && !has_carried(self.word()) => self.unquoted_name(),
            Kind::QuotedWord => self.quoted_name(),
            _ => return self.fail(),
        };
        self.advance();
        Ok(name)
    }

    /// A name after a point, where reserved words are names too.
    pub fn name_behind_point(&mut self) -> Result<String> {
        let name = self.any_name_behind_point()?;
        check_length(&name)?;
        Ok(name)
    }

    /// The same of any length.
    pub fn any_name_behind_point(&mut self) -> Result<String> {
        let name = match self.token.kind {
            Kind::Word if !has_carried(self.word()) => self.unquoted_name(),
            Kind::QuotedWord => self.quoted_name(),
            _ => return self.fail(),
        };
        self.advance();
        Ok(name)
    }

    fn unquoted_name(&mut self) -> String {
        let name = self.word();
        if name.starts_with('$') {
            deprecated::removed(self, "$ as the first character of an unquoted identifier");
        }
        if self.is(Keyword::FULL) && !self.touches_point() {
            deprecated::full_as_name(self);
        }
        let name = name.to_owned();
        wide::in_utf8mb3(self, name)
    }

    /// Whether the current word follows a point, or a point and a name follow it, all without spaces: MySQL looks for no
    /// keyword there.
    fn touches_point(&self) -> bool {
        let Token { start, end, .. } = self.token;
        let after = self.source(end, usize::MAX).as_bytes();
        self.source(0, start).ends_with('.') || matches!(after, [b'.', b, ..] if is_word_byte(*b))
    }

    pub fn quoted_name(&mut self) -> String {
        let name = unquote_name(self.word());
        wide::in_utf8mb3(self, name)
    }

    /// The text of a COMMENT.
    pub fn comment(&mut self) -> Result<String> {
        let comment = self.text_literal()?;
        Ok(wide::in_utf8mb3(self, comment))
    }

    /// A name or a string, as MySQL allows it for variables' values, engines, character sets.
    pub fn name_or_text(&mut self) -> Result<String> {
        match self.token.kind {
            Kind::Text => self.text_literal(),
            _ => self.name(),
        }
    }

    /// A string literal.
    pub fn text_literal(&mut self) -> Result<String> {
        if self.token.kind != Kind::Text {
            return self.fail();
        }
        let text = text_of_bytes(unquote(self.word(), self.backslash_escapes()))?;
        self.advance();
        Ok(text)
    }

    /// A database's name; 1102 for an empty one.
    pub fn database_name(&mut self) -> Result<String> {
        let name = self.name()?;
        not_empty(&name, errno::ER_WRONG_DB_NAME, "database")?;
        Ok(name)
    }

    /// The name of a new index; 1280 for an empty one.
    pub fn index_name(&mut self) -> Result<String> {
        let name = self.name()?;
        not_empty(&name, errno::ER_WRONG_NAME_FOR_INDEX, "index")?;
        Ok(name)
    }

    /// `[database.]name` of a table; 1102 and 1103 for empty names.
    pub fn object_name(&mut self) -> Result<ObjectName> {
        let first = self.name()?;
        let named = if self.eat_kind(Kind::Dot) {
            not_empty(&first, errno::ER_WRONG_DB_NAME, "database")?;
            ObjectName {
                database: Some(first),
                name: self.name_behind_point()?,
            }
        } else {
            ObjectName {
                database: None,
                name: first,
            }
        };
        not_empty(&named.name, errno::ER_WRONG_TABLE_NAME, "table")?;
        Ok(named)
    }

    /// A number that consists of digits only, or of `0x` and hexadecimal digits.
    pub fn unsigned(&mut self) -> Result<u64> {
        if self.token.kind != Kind::Integer {
            return self.fail();
        }
        let Ok(number) = self.word().parse() else {
            return self.fail();
        };
        self.advance();
        Ok(number)
    }

    /// A number in a place where MySQL drops what is after the point or the `e`, and takes the largest number for one
    /// that is too large.
    pub fn truncated_unsigned(&mut self) -> Result<u64> {
        if !matches!(self.token.kind, Kind::Integer | Kind::Decimal | Kind::Float) {
            return self.fail();
        }
        let digits = self.word().split(|c: char| !c.is_ascii_digit()).next();
        let number = match digits.unwrap_or_default() {
            "" => 0,
            digits => digits.parse().unwrap_or(u64::MAX),
        };
        self.advance();
        Ok(number)
    }

    pub fn unsigned_32(&mut self) -> Result<u32> {
        let start = self.start();
        u32::try_from(self.unsigned()?).map_err(|_| self.error_at(start))
    }

    /// `item, item ...`
    pub fn comma_separated<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat_kind(Kind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub fn if_exists(&mut self) -> Result<bool> {
        if !self.eat(IF) {
            return Ok(false);
        }
        self.expect(EXISTS)?;
        Ok(true)
    }

    pub fn if_not_exists(&mut self) -> Result<bool> {
        if !self.eat(IF) {
            return Ok(false);
        }
        self.expect(NOT)?;
        self.expect(EXISTS)?;
        Ok(true)
    }

    /// The next `?`.
    pub fn parameter(&mut self) -> Result<usize> {
        if self.parameters >= MAX_PARAMETERS {
            return Err(Error::new(
                errno::ER_PS_MANY_PARAM,
                "Prepared statement contains too many placeholders",
            ));
        }
        self.expect_kind(Kind::Parameter)?;
        self.parameters += 1;
        Ok(self.parameters - 1)
    }

    /// Runs `parse` one level deeper. Fails if the nesting exceeds [`MAX_NESTING`].
    pub fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_NESTING {
            return Err(self.too_deep(MAX_NESTING));
        }
        self.depth += 1;
        let parsed = types::stack::with_room(|| self.apart(parse));
        self.depth -= 1;
        parsed
    }

    /// Runs `parse` for one of several parts of an expression. The height of each part counts from zero.
    pub fn apart<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outside = (std::mem::take(&mut self.height), std::mem::take(&mut self.tables));
        let parsed = parse(self);
        self.height = outside.0.max(self.height);
        self.tables = outside.1.max(self.tables);
        parsed
    }

    /// Counts one more level of the tree. Must be called for each node whose children were parsed in this
    /// frame of [`Self::apart`].
    pub fn grow(&mut self) -> Result<()> {
        self.height += 1;
        match self.height > MAX_HEIGHT {
            true => Err(self.too_deep(MAX_HEIGHT)),
            false => Ok(()),
        }
    }

    /// As [`Self::grow`], in a tree of tables.
    pub fn grow_tables(&mut self) -> Result<()> {
        self.tables += 1;
        match self.tables > MAX_TABLES {
            true => Err(self.too_deep(MAX_TABLES)),
            false => self.grow(),
        }
    }

    pub fn binary(&mut self, op: BinaryOp, left: Expr, right: Expr) -> Result<Expr> {
        self.grow()?;
        Ok(Expr::Binary {
            op,
            left: Box::new(left),
            right: Box::new(right),
        })
    }

    pub fn unary(&mut self, op: UnaryOp, operand: Expr) -> Result<Expr> {
        self.grow()?;
        Ok(Expr::Unary {
            op,
            operand: Box::new(operand),
        })
    }

    /// Takes all opening parentheses at the cursor, and returns their number.
    pub fn open_parentheses(&mut self) -> Result<u32> {
        let mut count = 0;
        while self.kind() == Kind::LeftParen {
            if count == MAX_PARENTHESES {
                return Err(self.too_deep(MAX_PARENTHESES));
            }
            count += 1;
            self.advance();
        }
        Ok(count)
    }

    /// Makes what has been read the first operand of the expression that is read next.
    fn set_operand(&mut self, operand: Expr) {
        self.operand = Some((operand, self.height));
    }

    /// The operand before the cursor with which the current expression begins, if it has been read already.
    fn operand_before(&mut self) -> Option<Expr> {
        let (operand, height) = self.operand.take()?;
        self.height = self.height.max(height);
        Some(operand)
    }

    fn too_deep(&self, limit: u32) -> Error {
        let near = self.error_at(self.token.start).message;
        let at = near.find(" near '").map_or("", |at| &near[at..]);
        Error::new(
            errno::ER_PARSE_ERROR,
            format!("Expressions are nested more than {limit} levels deep{at}"),
        )
    }
}

fn not_empty(name: &str, code: u16, what: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::new(code, format!("Incorrect {what} name ''")));
    }
    Ok(())
}
