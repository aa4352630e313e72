//! CREATE and ALTER DATABASE.

use types::{Charset, Collation, Error, Result, errno};

use super::Parser;
use crate::ast::{DatabaseOptions, Statement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

pub fn create_database(parser: &mut Parser<'_>) -> Result<Statement> {
    let if_not_exists = parser.if_not_exists()?;
    let name = parser.database_name()?;
    let options = database_options(parser)?;
    Ok(Statement::CreateDatabase {
        name,
        if_not_exists,
        options,
    })
}

pub fn alter_database(parser: &mut Parser<'_>) -> Result<Statement> {
    let has_name = !parser.is_any(&[
        Kw::DEFAULT,
        Kw::CHARACTER,
        Kw::CHARSET,
        Kw::CHAR,
        Kw::COLLATE,
        Kw::ENCRYPTION,
        Kw::READ,
    ]);
    let name = if has_name {
        Some(parser.database_name()?)
    } else {
        None
    };
    let start = parser.start();
    let options = database_options(parser)?;
    if parser.start() == start {
        return parser.fail();
    }
    Ok(Statement::AlterDatabase { name, options })
}

fn database_options(parser: &mut Parser<'_>) -> Result<DatabaseOptions> {
    let mut options = DatabaseOptions::default();
    while !parser.at_statement_end() {
        if parser.is(Kw::READ) {
            return Err(Error::not_supported(
                "READ ONLY databases",
                "revoke the privileges to write",
            ));
        }
        parser.eat(Kw::DEFAULT);
        if parser.eat(Kw::ENCRYPTION) {
            parser.eat_kind(Kind::Equal);
            let value = parser.text_literal()?;
            if value.eq_ignore_ascii_case("y") {
                return Err(Error::not_supported("ENCRYPTION", "encrypt the file system"));
            }
            if !value.eq_ignore_ascii_case("n") {
                return Err(Error::new(
                    errno::ER_XML_INVALID_VALUE,
                    format!("Incorrect argument (should be Y or N) value: '{value}'"),
                ));
            }
        } else if !charset_or_collation(parser, &mut options.charset, &mut options.collation)? {
            return parser.fail();
        }
    }
    Ok(options)
}

/// An optional `CHARACTER SET [=] x` or `COLLATE [=] x`. Fails if it contradicts the clauses before it. Whether
/// the last collation fits the character set is checked where the names are looked up.
pub fn charset_or_collation(
    parser: &mut Parser<'_>,
    charset: &mut Option<String>,
    collation: &mut Option<String>,
) -> Result<bool> {
    let names_charset = parser.eat_all(&[Kw::CHARACTER, Kw::SET])
        || parser.eat_all(&[Kw::CHAR, Kw::SET])
        || parser.eat(Kw::CHARSET);
    if !names_charset && !parser.eat(Kw::COLLATE) {
        return Ok(false);
    }
    parser.eat_kind(Kind::Equal);
    let name = match parser.eat(Kw::BINARY) {
        true => "binary".to_owned(),
        false => parser.name_or_text()?,
    };
    let of_collation = collation.as_deref().and_then(Collation::from_name);
    if names_charset {
        let of_charset = charset.as_deref().and_then(Charset::from_name);
        let old = of_charset.or(of_collation.map(Collation::charset));
        check_same_charset(old, Charset::from_name(&name))?;
        *charset = Some(name);
    } else {
        check_collations(of_collation, Collation::from_name(&name))?;
        *collation = Some(name);
    }
    Ok(true)
}

/// Fails with 1302.
fn check_same_charset(old: Option<Charset>, new: Option<Charset>) -> Result<()> {
    match (old, new) {
        (Some(old), Some(new)) if old != new => Err(Error::new(
            errno::ER_CONFLICTING_DECLARATIONS,
            format!(
                "Conflicting declarations: 'CHARACTER SET {}' and 'CHARACTER SET {}'",
                old.name(),
                new.name()
            ),
        )),
        _ => Ok(()),
    }
}

/// Fails with 1253.
fn check_collations(old: Option<Collation>, new: Option<Collation>) -> Result<()> {
    match (old, new) {
        (Some(old), Some(new)) if old.charset() != new.charset() => Err(Error::new(
            errno::ER_COLLATION_CHARSET_MISMATCH,
            format!(
                "COLLATION '{}' is not valid for CHARACTER SET '{}'",
                new.name(),
                old.charset().name()
            ),
        )),
        _ => Ok(()),
    }
}
