//! Statements that MySQL has and StemDB has not: error 1235 that names them, so that nobody looks for a typing error.

use types::{Error, Result};

use super::Parser;
use crate::ast::{ObjectKind, Statement};

/// First words of statements, and what to do instead.
const STATEMENTS: &[(&str, &str)] = &[
    ("call", "run the statements from the client"),
    ("handler", "use SELECT"),
    ("load", "use INSERT with several rows"),
    ("import", "use INSERT with several rows"),
    ("checksum", "compare COUNT(*) and SUM() of columns"),
    ("install", ""),
    ("uninstall", ""),
    ("xa", "use one database for one transaction"),
    ("purge", "there is no binary log"),
    ("reset", "there is no binary log"),
    ("change", "there is no replication"),
    ("stop", "there is no replication"),
    ("binlog", "there is no binary log"),
    ("shutdown", "send SIGTERM to the server"),
    ("restart", "send SIGTERM to the server and start it again"),
    ("clone", ""),
    ("cache", ""),
    ("help", "see the manual"),
    ("signal", ""),
    ("resignal", ""),
    ("get", ""),
];

/// What CREATE, ALTER and DROP can be about.
const OBJECTS: &[(&str, &str, &str)] = &[
    ("VIEW", "views", "use the SELECT itself"),
    ("TRIGGER", "triggers", "do it in the application"),
    (
        "PROCEDURE",
        "stored procedures",
        "run the statements from the client",
    ),
    ("FUNCTION", "stored functions", "compute it in the application"),
    ("EVENT", "events", "use the operating system's scheduler"),
    ("FULLTEXT", "full-text indexes", "use LIKE"),
    ("SPATIAL", "spatial indexes", ""),
    ("ROLE", "roles", "GRANT ALL to each account"),
    ("SERVER", "federated servers", ""),
    ("TABLESPACE", "tablespaces", "storage is managed by the server"),
    ("UNDO", "tablespaces", "storage is managed by the server"),
    ("LOGFILE", "tablespaces", "storage is managed by the server"),
    ("RESOURCE", "resource groups", ""),
    ("TEMPORARY", "temporary tables", "use an ordinary table"),
    ("INSTANCE", "ALTER INSTANCE", ""),
];

impl Parser<'_> {
    /// Takes the words for what a database never has.
    pub fn object_kind(&mut self) -> Option<ObjectKind> {
        if self.eat_all(&["TEMPORARY", "TABLE"]) || self.eat_all(&["TEMPORARY", "TABLES"]) {
            return Some(ObjectKind::TemporaryTable);
        }
        match self.eat_any(&["VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"])? {
            "VIEW" => Some(ObjectKind::View),
            "PROCEDURE" => Some(ObjectKind::Procedure),
            "FUNCTION" => Some(ObjectKind::Function),
            "TRIGGER" => Some(ObjectKind::Trigger),
            _ => Some(ObjectKind::Event),
        }
    }

    /// DROP of it: nothing to do, and nothing to complain of where the statement says IF EXISTS.
    pub fn drop_object(&mut self, kind: ObjectKind) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let names = if matches!(kind, ObjectKind::View | ObjectKind::TemporaryTable) {
            let names = self.comma_separated(Self::object_name)?;
            self.eat_any(&["RESTRICT", "CASCADE"]);
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

    /// A statement that nothing above knows.
    pub fn refuse_statement(&self) -> Result<Statement> {
        for (word, instead) in STATEMENTS {
            if self.is(word) {
                return Err(Error::not_supported(self.word().to_uppercase(), instead));
            }
        }
        self.fail()
    }

    /// CREATE, ALTER or DROP of something, the verb taken.
    pub fn refuse_object(&self, verb: &str) -> Result<Statement> {
        // `CREATE OR REPLACE ALGORITHM = ... DEFINER = ... SQL SECURITY ... VIEW`
        let is_view = self.is_any(&["OR", "ALGORITHM", "DEFINER", "SQL"]);
        for (word, what, instead) in OBJECTS {
            if self.is(word) {
                return Err(Error::not_supported(format!("{verb} of {what}"), instead));
            }
        }
        if is_view {
            return Err(Error::not_supported(
                format!("{verb} of views and stored programs"),
                "",
            ));
        }
        self.fail()
    }
}
