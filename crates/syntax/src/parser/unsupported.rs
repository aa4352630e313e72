//! MySQL's statements that the parser does not read yet: error 1235 with their name, not 1064, which means a
//! typing error.

use types::{Error, Result};

use super::Parser;
use crate::ast::{ObjectKind, Statement};
use crate::lexer::keywords::Keyword as Kw;

/// First words of statements, and what to do instead.
const STATEMENTS: &[(Kw, &str)] = &[
    (Kw::CALL, "run the statements from the client"),
    (Kw::HANDLER, "use SELECT"),
    (Kw::IMPORT, "use INSERT with several rows"),
    (Kw::INSTALL, ""),
    (Kw::UNINSTALL, ""),
    (Kw::PURGE, "there is no binary log"),
    (Kw::RESET, "there is no binary log"),
    (Kw::CHANGE, "there is no replication"),
    (Kw::STOP, "there is no replication"),
    (Kw::BINLOG, "there is no binary log"),
    (Kw::SHUTDOWN, "send SIGTERM to the server"),
    (Kw::RESTART, "send SIGTERM to the server and start it again"),
    (Kw::CLONE, ""),
    (Kw::CACHE, ""),
    (Kw::HELP, "see the manual"),
    (Kw::SIGNAL, ""),
    (Kw::RESIGNAL, ""),
    (Kw::GET, ""),
];

/// What CREATE, ALTER and DROP can be about.
const OBJECTS: &[(Kw, &str, &str)] = &[
    (Kw::TRIGGER, "triggers", "do it in the application"),
    (
        Kw::PROCEDURE,
        "stored procedures",
        "run the statements from the client",
    ),
    (Kw::FUNCTION, "stored functions", "compute it in the application"),
    (Kw::EVENT, "events", "use the operating system's scheduler"),
    (Kw::FULLTEXT, "full-text indexes", "use LIKE"),
    (Kw::SPATIAL, "spatial indexes", ""),
    (Kw::SERVER, "federated servers", ""),
    (Kw::TABLESPACE, "tablespaces", "storage is managed by the server"),
    (Kw::UNDO, "tablespaces", "storage is managed by the server"),
    (Kw::LOGFILE, "tablespaces", "storage is managed by the server"),
    (Kw::RESOURCE, "resource groups", ""),
    (Kw::INSTANCE, "ALTER INSTANCE", ""),
];

impl Parser<'_> {
    /// Takes the words for a kind of object.
    pub fn object_kind(&mut self) -> Option<ObjectKind> {
        match self.eat_any(&[Kw::VIEW, Kw::PROCEDURE, Kw::FUNCTION, Kw::TRIGGER, Kw::EVENT])? {
            Kw::VIEW => Some(ObjectKind::View),
            Kw::PROCEDURE => Some(ObjectKind::Procedure),
            Kw::FUNCTION => Some(ObjectKind::Function),
            Kw::TRIGGER => Some(ObjectKind::Trigger),
            _ => Some(ObjectKind::Event),
        }
    }

    /// DROP of such an object, the kind taken.
    pub fn drop_object(&mut self, kind: ObjectKind) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let names = if kind == ObjectKind::View {
            let names = self.comma_separated(Self::object_name)?;
            self.eat_any(&[Kw::RESTRICT, Kw::CASCADE]);
            names
        } else {
            vec![self.object_name()?]
        };
        Ok(Statement::DropObject {
            kind,
            names,
            if_exists,
        })
    }

    /// A statement that begins with no word of those that the parser reads.
    pub fn refuse_statement(&self) -> Result<Statement> {
        for (word, instead) in STATEMENTS {
            if self.is(*word) {
                return Err(Error::not_supported(self.word().to_uppercase(), instead));
            }
        }
        self.fail()
    }

    /// CREATE, ALTER or DROP of something, the verb taken.
    pub fn refuse_object(&self, verb: &str) -> Result<Statement> {
        for (word, what, instead) in OBJECTS {
            if self.is(*word) {
                return Err(Error::not_supported(format!("{verb} of {what}"), instead));
            }
        }
        // `CREATE DEFINER = ... TRIGGER`
        if self.is(Kw::DEFINER) {
            return Err(Error::not_supported(
                format!("{verb} of stored programs"),
                "run the statements from the client",
            ));
        }
        self.fail()
    }
}
