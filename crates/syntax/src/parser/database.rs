//! CREATE and ALTER DATABASE.

use types::{Error, Result, errno};

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

/// An optional `CHARACTER SET [=] x` or `COLLATE [=] x`.
pub fn charset_or_collation(
    parser: &mut Parser<'_>,
    charset: &mut Option<String>,
    collation: &mut Option<String>,
) -> Result<bool> {
    let target = if parser.eat_all(&[Kw::CHARACTER, Kw::SET])
        || parser.eat_all(&[Kw::CHAR, Kw::SET])
        || parser.eat(Kw::CHARSET)
    {
        charset
    } else if parser.eat(Kw::COLLATE) {
        collation
    } else {
        return Ok(false);
    };
    parser.eat_kind(Kind::Equal);
    if parser.eat(Kw::DEFAULT) {
        return Ok(true);
    }
    *target = Some(if parser.eat(Kw::BINARY) {
        "binary".into()
    } else {
        parser.name_or_text()?
    });
    Ok(true)
}
