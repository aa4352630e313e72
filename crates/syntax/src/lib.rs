//! Parses text into an [`ast::Statement`]: MySQL's grammar, by recursive descent. Also normalises text:
//! without its literals, it is the plan cache's key.
//!
//! Not here: what names mean and what types expressions have (`planner`). One statement kind per file of
//! `parser`, whose `mod.rs` has the cursor and the errors, and whose `expr.rs` has the expressions with
//! MySQL's precedences.
//!
//! - [`lexer`]: tokens, for the parser and for [`normalize()`] alike.
//! - [`ast`]: statements as data, and what follows from them alone (which commit implicitly, which a READ
//!   ONLY transaction refuses).
//! - [`normalize()`], [`Template`]: a statement with `?` for its literals.
//! - [`statement_digest()`]: identifies a statement regardless of its literals, computed as MySQL does.
//! - [`mod@print`]: from the AST back to text, in MySQL's canonical form.
//!
//! Where to go next: [`parse`], and `parser/statement.rs`, which chooses the file by the first words of a statement.
//!
//! Why not `sqlparser`: `MySqlDialect` of 0.63 reads `/*!99999 ... */` as code and `DELETE QUICK FROM t` as a
//! delete from a table `quick`. It accepts `a::int` and `[1, 2]`, which are not MySQL's. It gives `LIKE`,
//! `XOR`, `^` and `NOT` other precedences. It rejects `!a`, `a MOD b`, `LOCK IN SHARE MODE`, `UPDATE IGNORE`,
//! `SERIAL`, `LONG VARCHAR`, accounts with hosts and `AS OF`. It keeps no byte positions, which column names
//! (`SELECT 1+1` has the column `1+1`) and error messages need. And normalising must read tokens exactly as
//! the parser does.

pub mod ast;
mod digest;
mod lexer;
mod normalize;
mod parser;
pub mod print;
mod secrets;
#[cfg(test)]
mod testing;

use std::ops::Range;

use types::{Error, Result, SqlMode, Warning, errno};

use ast::Statement;
use lexer::Lexer;
use lexer::token::Kind;
use parser::Parser;

pub use digest::{StatementDigest, statement_digest};
pub use lexer::keywords;
pub use lexer::raw_bytes::carry as carry_bytes;
pub use normalize::template::Template;
pub use normalize::{Normalized, normalize};
pub use parser::transaction::parse_transaction_word;
pub use secrets::without_secrets;

/// A statement of a text.
#[derive(Debug, Clone)]
pub struct Parsed {
    pub statement: Statement,
    /// Its bytes in the text, without the semicolon.
    pub text: Range<usize>,
    /// How many `?` it has.
    pub parameters: usize,
    /// Which of the parameters are numbers of rows, in LIMIT and OFFSET.
    pub row_counts: Vec<usize>,
    /// Whether it assigns to user variables in expressions: `@a := 1`.
    pub assigns: bool,
    /// Whether it reads `@@warning_count` or `@@error_count`.
    pub reads_diagnostics: bool,
    /// System variables that hints set for the statement: `SET_VAR(name = value)`.
    pub set_vars: Vec<(String, ast::Expr)>,
    /// The system variables that its expressions read, in the order of the text.
    pub read_variables: Vec<ast::ReadVariable>,
    /// What its text alone warns of: deprecated words and operators.
    pub warnings: Vec<Warning>,
}

/// The positions of the `?` in a text.
pub fn parameter_places(text: &str) -> Vec<usize> {
    let mut lexer = Lexer::new(text, 0, &SqlMode::default());
    let mut places = Vec::new();
    loop {
        let token = lexer.next_token();
        match token.kind {
            Kind::End | Kind::Bad => return places,
            Kind::Parameter => places.push(token.start),
            _ => {}
        }
    }
}

/// The statements of a text, as a client sends them with CLIENT_MULTI_STATEMENTS.
///
/// Fails with 1065 if there is no statement, with 1064 if the first one is not MySQL's, and with 1235 if
/// StemDB does not support it. If a later statement is wrong, the list ends with it as
/// [`Statement::Invalid`], because the statements before it must be run.
pub fn parse(text: &str, mode: &SqlMode) -> Result<Vec<Parsed>> {
    let mut statements: Vec<Parsed> = Vec::with_capacity(1);
    let mut at = 0;
    loop {
        let mut parser = Parser::new(text, at, *mode);
        if !statements.is_empty() && (parser.at_end() || parser.is_nothing()) {
            return Ok(statements);
        }
        let start = parser.start();
        match parser.parse_statement() {
            Ok(parsed) => statements.push(parsed),
            Err(error) if statements.is_empty() => return Err(error),
            Err(error) => {
                statements.push(Parsed {
                    statement: Statement::Invalid(error),
                    text: start..text.len(),
                    parameters: 0,
                    row_counts: Vec::new(),
                    assigns: false,
                    reads_diagnostics: false,
                    set_vars: Vec::new(),
                    read_variables: Vec::new(),
                    warnings: Vec::new(),
                });
                return Ok(statements);
            }
        }
        at = parser.behind_semicolon();
    }
}

/// The only statement of a text. A semicolon after it is allowed.
///
/// Fails with 1065 if there is no statement, with 1064 if the text is not MySQL's or another statement
/// follows, and with 1235 if StemDB does not support it.
pub fn parse_one(text: &str, mode: SqlMode) -> Result<Parsed> {
    let mut parser = Parser::new(text, 0, mode);
    let parsed = parser.parse_statement()?;
    parser.skip_semicolon();
    if parser.at_end() {
        Ok(parsed)
    } else {
        parser.fail()
    }
}

/// Whether a name is one of MySQL's keywords, reserved or not. SHOW CREATE quotes all of them.
pub fn is_keyword(name: &str) -> bool {
    keywords::Keyword::of(name.as_bytes()).is_some_and(keywords::Keyword::is_of_mysql)
}

/// Parses a text that is an expression, not a statement.
pub fn parse_expression(text: &str, mode: SqlMode) -> Result<ast::Expr> {
    let mut parser = Parser::new(text, 0, mode);
    let expr = parser.expression()?;
    if parser.at_end() { Ok(expr) } else { parser.fail() }
}

/// Error 1064 at a byte of the text.
pub fn syntax_error(text: &str, offset: usize) -> Error {
    Parser::new(text, offset, SqlMode::default()).error_at(offset)
}

/// Error 1064 at the statement's first `?`: only prepared statements have parameters.
pub fn syntax_error_at_parameter(text: &str, parsed: &Parsed) -> Error {
    let mut lexer = Lexer::new(text, parsed.text.start, &SqlMode::default());
    loop {
        let token = lexer.next_token();
        if matches!(token.kind, Kind::Parameter | Kind::End | Kind::Bad) {
            return syntax_error(text, token.start);
        }
    }
}

/// Error 1064, as MySQL words it.
pub(crate) fn syntax_message(near: &str) -> Error {
    Error::new(
        errno::ER_PARSE_ERROR,
        format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for \
             the right syntax to use {near}"
        ),
    )
}

/// The place of an error in the text, as MySQL words it.
pub(crate) fn near(rest: &str, line: usize) -> String {
    format!("near '{rest}' at line {line}")
}
