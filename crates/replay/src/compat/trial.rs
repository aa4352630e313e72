//! An empty server in memory, which ends with the program, whose end closes its standard input. Definitions are run on it; queries and writes are prepared, so
//! that nothing is read or written; everything else is left to the grammar.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use loadgen::client::{Connection, Param};
use loadgen::target::Target;
use syntax::ast::{SetClause, Statement, VariableScope};
use types::errno;

use crate::error::{Error, Result};
use crate::tally::digest;

/// What every session of it begins with. A dump has its own settings.
const SESSION: &str = "SET NAMES utf8mb4";
/// The database of a dump that names none.
const DATABASE: &str = "check_compat";
/// So many kinds of statements are remembered, each of which is prepared once.
const KINDS_MAX: usize = 100_000;

/// Errors of an object that another file defines, or that is there already. They say nothing about the server.
const OF_MISSING: &[u16] = &[
    errno::ER_NO_SUCH_TABLE,
    errno::ER_BAD_DB_ERROR,
    1046, // no database is selected
    1007, // the database is there
    1008, // it is not
    1050, // the table is there
    1051, // it is not
    1109, // nor is it in the statement
    1141, // there is no such grant
    1147, // nor on that table
    1269, // the account does not have it
    1396, // the account is there, or is not
    1410, // the account is not there
    1824, // the parent of a foreign key is not there
    3162, // nor is the account
    3523, // nor is the role
];
/// The statement cannot be prepared, in MySQL neither.
const ER_UNSUPPORTED_PS: u16 = 1295;

/// What is done with a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trying {
    Run,
    Prepare,
    Nothing,
}

pub(super) struct Trial {
    server: Child,
    connection: Connection,
    database: Option<String>,
    /// Digests of statements that have been prepared, with the database.
    prepared: HashSet<(Option<String>, String)>,
}

impl Trial {
    /// Starts this program again, as a server.
    pub(super) fn start() -> Result<Self> {
        let failed = |error: std::io::Error| Error::Trial(error.to_string());
        let mut server = Command::new(std::env::current_exe().map_err(failed)?)
            .args([
                "serve",
                "--store",
                "memory:",
                "--listen",
                "127.0.0.1:0",
                "--status",
                "off",
                "--stop-with-stdin",
            ])
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        match connect(&mut server) {
            Ok(connection) => Ok(Self {
                server,
                connection,
                database: None,
                prepared: HashSet::new(),
            }),
            Err(error) => {
                end(&mut server);
                Err(error)
            }
        }
    }

    /// Selects a database, and makes it first if it is not there.
    pub(super) fn select(&mut self, database: Option<&String>) -> Result<()> {
        if let Some(database) = database
            && self.database.as_ref() != Some(database)
        {
            let name = format!("`{}`", database.replace('`', "``"));
            if self
                .run(&format!("CREATE DATABASE IF NOT EXISTS {name}"))?
                .is_none()
                && self.run(&format!("USE {name}"))?.is_none()
            {
                self.database = Some(database.clone());
            }
        }
        Ok(())
    }

    /// Why the server refuses a statement, if it does.
    pub(super) fn try_out(&mut self, sql: &str, statement: &Statement) -> Result<Option<String>> {
        if let Statement::Use(database) = statement {
            self.select(Some(database))?;
            return Ok(None);
        }
        let refused = match trying(statement) {
            Trying::Nothing => None,
            Trying::Run => {
                let refused = self.run(sql)?;
                if matches!(statement, Statement::Set(_)) {
                    self.run(SESSION)?;
                }
                refused
            }
            Trying::Prepare if self.is_new(sql) => {
                let mut prepare = b"PREPARE statement FROM ".to_vec();
                Param::Text(sql).write_literal(&mut prepare);
                self.run_bytes(&prepare)?
            }
            Trying::Prepare => None,
        };
        Ok(refused
            .filter(|(code, _)| *code != ER_UNSUPPORTED_PS && !OF_MISSING.contains(code))
            .map(|(_, message)| message))
    }

    fn is_new(&mut self, sql: &str) -> bool {
        if self.prepared.len() >= KINDS_MAX {
            return false;
        }
        self.prepared.insert((self.database.clone(), digest(sql)))
    }

    fn run(&mut self, sql: &str) -> Result<Option<(u16, String)>> {
        self.run_bytes(sql.as_bytes())
    }

    /// The server's error, if it refuses the statement.
    fn run_bytes(&mut self, sql: &[u8]) -> Result<Option<(u16, String)>> {
        match self.connection.query_bytes(sql) {
            Ok(_) => Ok(None),
            Err(loadgen::Error::Server { code, message }) => Ok(Some((code, message))),
            Err(error) => Err(Error::Trial(error.to_string())),
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        end(&mut self.server);
    }
}

fn end(server: &mut Child) {
    // It has nothing to lose. An error means that it has ended.
    let _ = server.kill();
    let _ = server.wait();
}

/// Waits for the line in which the server says where it listens: `stemdb VERSION ready for connections: ADDRESS (...)`.
fn connect(server: &mut Child) -> Result<Connection> {
    let mut line = String::new();
    if let Some(stdout) = server.stdout.take() {
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(|error| Error::Trial(error.to_string()))?;
    }
    let address = line
        .split_once("ready for connections: ")
        .and_then(|(_, rest)| rest.split_whitespace().next())
        .ok_or_else(|| Error::Trial("it did not start".to_owned()))?;
    let target = Target::parse(&format!("mysql://root@{address}"), "")?;
    let mut connection = Connection::open(&target)?;
    connection.query(SESSION)?;
    connection.query(&format!("CREATE DATABASE {DATABASE}"))?;
    connection.query(&format!("USE {DATABASE}"))?;
    Ok(connection)
}

fn trying(statement: &Statement) -> Trying {
    use Statement::*;
    match statement {
        CreateDatabase { .. }
        | AlterDatabase { .. }
        | DropDatabase { .. }
        | CreateTable(_)
        | CreateTableLike { .. }
        | AlterTable { .. }
        | DropTable { .. }
        | CreateView(_)
        | DropObject { .. }
        | RenameTable(_)
        | Grant(_)
        | Revoke(_)
        | User(_)
        | OfProgram { .. } => Trying::Run,
        Set(clauses) if clauses.iter().all(is_of_session) => Trying::Run,
        Query(_) | Insert(_) | Update(_) | Delete(_) | Show(_) | Do(_) => Trying::Prepare,
        _ => Trying::Nothing,
    }
}

/// Other settings would change the server, and files beside it.
fn is_of_session(clause: &SetClause) -> bool {
    match clause {
        SetClause::Variable { scope, .. } | SetClause::Transaction { scope, .. } => {
            matches!(scope, VariableScope::Session | VariableScope::NextTransaction)
        }
        SetClause::User { .. } | SetClause::Names { .. } | SetClause::CharacterSet(_) => true,
    }
}
