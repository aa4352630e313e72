//! MySQL's statements that the parser does not read. They fail with error 1235 and their name, because 1064
//! would mean a syntax error.

use types::{Error, Result};

use super::{Parser, account};
use crate::ast::{ObjectKind, Statement};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// First words of statements, and what to do instead.
const STATEMENTS: &[(Kw, &str)] = &[
    (Kw::HANDLER, "use SELECT"),
    (Kw::IMPORT, "copy rows with stemdb export and import"),
    (Kw::INSTALL, "there are no plugins and components"),
    (Kw::UNINSTALL, "there are no plugins and components"),
    (Kw::PURGE, "there is no binary log"),
    (Kw::RESET, "there is no binary log"),
    (Kw::CHANGE, "there is no replication"),
    (Kw::STOP, "there is no replication"),
    (Kw::BINLOG, "there is no binary log"),
    (Kw::SHUTDOWN, "send SIGTERM to the server"),
    (Kw::RESTART, "send SIGTERM to the server and start it again"),
    (Kw::CLONE, "use stemdb export and import"),
];

/// Objects of CREATE, ALTER and DROP: the keyword, the object's name in the error, and what to do instead.
const OBJECTS: &[(Kw, &str, &str)] = &[
    (Kw::TRIGGER, "TRIGGER", "do it in the application"),
    (Kw::PROCEDURE, "PROCEDURE", "run the statements from the client"),
    (Kw::FUNCTION, "FUNCTION", "compute it in the application"),
    (
        Kw::AGGREGATE,
        "AGGREGATE FUNCTION",
        "compute it in the application",
    ),
    (Kw::EVENT, "EVENT", "use the operating system's scheduler"),
    (Kw::SPATIAL, "SPATIAL", "index coordinates as numbers"),
    (Kw::SERVER, "SERVER", "copy the rows: stemdb import"),
    (Kw::TABLESPACE, "TABLESPACE", "storage is managed by the server"),
    (Kw::UNDO, "UNDO TABLESPACE", "storage is managed by the server"),
    (Kw::LOGFILE, "LOGFILE GROUP", "storage is managed by the server"),
    (
        Kw::RESOURCE,
        "RESOURCE GROUP",
        "limit accounts and statements instead: MAX_USER_CONNECTIONS, max_execution_time",
    ),
    (
        Kw::INSTANCE,
        "INSTANCE",
        "restart the server, which reads certificates and keys again",
    ),
];

/// Takes the keywords of a kind of object.
pub fn object_kind(parser: &mut Parser<'_>) -> Option<ObjectKind> {
    match parser.eat_any(&[Kw::VIEW, Kw::PROCEDURE, Kw::FUNCTION, Kw::TRIGGER, Kw::EVENT])? {
        Kw::VIEW => Some(ObjectKind::View),
        Kw::PROCEDURE => Some(ObjectKind::Procedure),
        Kw::FUNCTION => Some(ObjectKind::Function),
        Kw::TRIGGER => Some(ObjectKind::Trigger),
        _ => Some(ObjectKind::Event),
    }
}

/// DROP of such an object, after its kind.
pub fn drop_object(parser: &mut Parser<'_>, kind: ObjectKind) -> Result<Statement> {
    let if_exists = parser.if_exists()?;
    let names = if kind == ObjectKind::View {
        let names = parser.comma_separated(Parser::object_name)?;
        parser.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
        names
    } else {
        vec![parser.object_name()?]
    };
    Ok(Statement::DropObject {
        kind,
        names,
        if_exists,
    })
}

/// The error for a statement that begins with a word that the parser does not know.
pub fn refuse_statement(parser: &Parser<'_>) -> Result<Statement> {
    for (word, instead) in STATEMENTS {
        if parser.is(*word) {
            return Err(Error::not_supported(parser.word().to_uppercase(), instead));
        }
    }
    parser.fail()
}

/// The error for CREATE, ALTER or DROP of an unknown object, after the verb.
pub fn refuse_object(parser: &mut Parser<'_>, verb: &str) -> Result<Statement> {
    if parser.are(&[Kw::OR, Kw::REPLACE]) && parser.peek_two().1.keyword == Some(Kw::SPATIAL) {
        parser.eat_all(&[Kw::OR, Kw::REPLACE]);
    }
    for (word, what, instead) in OBJECTS {
        if parser.is(*word) {
            return Err(Error::not_supported(format!("{verb} {what}"), instead));
        }
    }
    // `CREATE DEFINER = ... TRIGGER`
    if parser.eat(Kw::DEFINER) {
        parser.expect_kind(Kind::Equal)?;
        account::account_name(parser)?;
        return Err(Error::not_supported(
            format!("{verb} DEFINER ... of a stored program"),
            "run the statements from the client",
        ));
    }
    parser.fail()
}
