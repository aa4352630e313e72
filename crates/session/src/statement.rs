//! Statements that are no plans: transactions, USE, SET, KILL, definitions, accounts. Each does its work and says OK, or
//! sends a listing.

use std::io;

use cluster::metadata_lock::Use;
use ddl::DdlContext;
use planner::command::{Command, Explained, Show};
use planner::plan::Plan;
use schema::definition::{AlterChange, Ddl, TableName};
use syntax::ast::{ServerShow, TransactionStatement};
use types::{Error, Result, Value};
use wire::connection::PacketSink;
use wire::row::Format;

use crate::command::connection_number;
use crate::errors;
use crate::listing::{Listing, text, text_type};
use crate::lock_tables::{flush_of_some_tables, is_lock_error};
use crate::reply::Done;
use crate::run::{Outcome, joins_transaction};
use crate::session::Session;
use crate::statistics::Kind;
use crate::transaction::{BeginOptions, Characteristics};

impl Session {
    /// Runs a command statement.
    pub(crate) fn run_command(
        &mut self,
        command: &Command,
        format: Format,
        out: &mut dyn PacketSink,
    ) -> io::Result<(Kind, Result<Outcome>)> {
        let kind = kind_of(command);
        if let Command::Execute { name, using } = command {
            return self.execute_named(name, using, out);
        }
        let answer = match command {
            Command::Transaction(TransactionStatement::Commit {
                chain: false,
                release: false,
            }) => {
                self.transaction.next = Characteristics::default();
                Answer::of(self.commit_answered(Some((kind, out))))
            }
            Command::Transaction(TransactionStatement::Commit { chain, release }) => {
                Answer::of_end(self.end_transaction(true, *chain), *release)
            }
            Command::Transaction(TransactionStatement::Rollback { chain, release }) => {
                Answer::of_end(self.end_transaction(false, *chain), *release)
            }
            Command::Show(show) => {
                let eval = self.eval_context(self.command_params.clone(), functions::Strictness::Warn);
                Answer::Listing(self.show(show, &eval))
            }
            Command::Explain(explained) => Answer::Listing(self.explain(explained)),
            Command::AdminCheckTable { tables } => Answer::of(self.admin_check(tables)),
            Command::AdminShowDdlJobs { past } => Answer::Listing(self.show_ddl_jobs(*past)),
            Command::AdminCancelDdlJobs { jobs } => Answer::Listing(self.cancel_ddl_jobs(jobs)),
            Command::CheckTable { tables } => Answer::Listing(self.check_tables(tables)),
            Command::AnalyzeTable { tables } => {
                Answer::Listing(self.maintain(tables, "analyze", &NOT_ANALYZED))
            }
            Command::SplitTable { table, index, points } => {
                Answer::Listing(self.split_table(table, index.as_deref(), points))
            }
            Command::OptimizeTable { tables } => {
                Answer::Listing(self.maintain(tables, "optimize", &OPTIMIZED))
            }
            Command::RepairTable { tables } => Answer::Listing(self.maintain(tables, "repair", &[NO_REPAIR])),
            Command::Prepare { name, source } => {
                let done = Done {
                    info: "Statement prepared".into(),
                    ..Done::default()
                };
                Answer::Outcome(self.prepare_named(name, source).map(|()| Outcome::Ok(done)))
            }
            other => Answer::of(self.plain_command(other)),
        };
        self.command_params.clear();
        let outcome = match answer {
            Answer::Outcome(outcome) => outcome,
            Answer::Listing(Ok(listing)) => {
                if !matches!(
                    command,
                    Command::Show(Show::OfServer(ServerShow::Warnings { .. }))
                ) {
                    self.found_rows = listing.rows.len() as u64;
                }
                self.hide_warning_count = matches!(
                    command,
                    Command::Show(Show::OfServer(
                        ServerShow::Warnings { .. } | ServerShow::CountWarnings { .. }
                    ))
                );
                let sent = self.send_listing(&listing, format, out);
                self.hide_warning_count = false;
                sent?.map(|()| Outcome::Sent)
            }
            Answer::Listing(Err(error)) => Err(error),
        };
        Ok((kind, outcome))
    }

    /// Statements whose whole answer is OK.
    fn plain_command(&mut self, command: &Command) -> Result<()> {
        match command {
            Command::Transaction(statement) => self.transaction_statement(statement),
            Command::Use { database } => self.use_database(database),
            Command::Set(items) => self.set(items),
            Command::Kill {
                connection,
                query_only,
            } => {
                let eval = self.eval_context(self.command_params.clone(), functions::Strictness::Warn);
                let id = connection_number(&functions::eval_value(connection, &eval)?)?;
                self.kill(id, *query_only)
            }
            Command::Deallocate { name } => self.deallocate_named(name),
            Command::DoNothing(exprs) => {
                let eval = self.eval_context(self.command_params.clone(), functions::Strictness::Warn);
                exprs
                    .iter()
                    .try_for_each(|e| functions::eval_value(e, &eval).map(drop))?;
                self.end_of_evaluation(&eval);
                self.collect_warnings(&eval);
                Ok(())
            }
            Command::Flush { what } => self.flush(what),
            Command::DropAbsent {
                kind,
                names,
                if_exists,
            } => self.drop_absent(*kind, names, *if_exists),
            Command::LockTables { tables } => {
                self.lock_named_tables(tables)?;
                self.join_transaction(false)
            }
            Command::UnlockTables => self.unlock_tables(),
            other => self.account_command(other),
        }
    }

    fn transaction_statement(&mut self, statement: &TransactionStatement) -> Result<()> {
        match statement {
            TransactionStatement::Begin {
                read_only,
                consistent_snapshot,
                optimistic,
            } => {
                self.commit_transaction()?;
                self.unlock_for_transaction();
                let options = BeginOptions {
                    read_only: *read_only,
                    consistent_snapshot: *consistent_snapshot,
                    optimistic: *optimistic,
                };
                let interrupt = self.process.interrupt.clone();
                self.transaction
                    .begin(&self.shared.store, &self.settings, &interrupt, options)
            }
            TransactionStatement::Savepoint(name) => {
                self.transaction.savepoint(name, self.settings.autocommit);
                Ok(())
            }
            TransactionStatement::RollbackTo(name) => self.transaction.rollback_to(name),
            TransactionStatement::ReleaseSavepoint(name) => self.transaction.release(name),
            TransactionStatement::Commit { chain, .. } => self.end_transaction(true, *chain),
            TransactionStatement::Rollback { chain, .. } => self.end_transaction(false, *chain),
        }
    }

    /// FLUSH: nothing is cached that could be stale. `what` comes in upper case.
    fn flush(&mut self, what: &str) -> Result<()> {
        self.check_administer("RELOAD")?;
        let words: Vec<&str> = what.split_whitespace().collect();
        if let ["TABLE" | "TABLES", rest @ ..] = words.as_slice() {
            match rest {
                ["WITH", "READ", "LOCK"] => return self.lock_all_tables(),
                [.., "READ", "LOCK"] | [.., "FOR", "EXPORT"] => return Err(flush_of_some_tables()),
                _ => self.check_locked_for_flush()?,
            }
        }
        Ok(())
    }

    fn end_transaction(&mut self, commit: bool, chain: bool) -> Result<()> {
        let characteristics = self.transaction.chained();
        if commit {
            self.commit_transaction()?;
        } else {
            self.rollback_transaction();
        }
        self.transaction.next = if chain {
            characteristics
        } else {
            Characteristics::default()
        };
        if chain {
            let interrupt = self.process.interrupt.clone();
            self.transaction.begin(
                &self.shared.store,
                &self.settings,
                &interrupt,
                BeginOptions::default(),
            )?;
        }
        Ok(())
    }

    /// A definition, committed with its end. What was open has been committed ([`crate::implicit_commit`]).
    pub(crate) fn run_ddl(&mut self, ddl: &Ddl) -> Result<Done> {
        self.check_ddl(ddl)?;
        self.check_locked_ddl(ddl)?;
        self.shared.check_writable()?;
        let context = DdlContext {
            interrupt: self.process.interrupt.clone(),
            lock_wait: self.settings.metadata_lock_wait,
            now_us: self.now_us(),
            time_zone: self.settings.time_zone,
            sql_mode: self.settings.sql_mode,
            server_collation: self.settings.collation_server,
            user: self.account.name(),
        };
        let tables_before = self.tables_of_dropped(ddl);
        let shared = self.shared.clone();
        let warnings = match ddl {
            // ALTER TABLE ... DISABLE KEYS, as dumps have it between LOCK TABLES and UNLOCK TABLES.
            Ddl::AlterTable { changes, .. } if changes.is_empty() && self.locked.is_some() => Vec::new(),
            _ => self.without_locks(|_| shared.catalog.changer.execute(ddl, &context))?,
        };
        let count = warnings.len() as u64;
        self.keep_warnings((warnings, count));
        let mut done = Done::default();
        match ddl {
            Ddl::DropDatabase { name, .. } => {
                done.affected = tables_before;
                if self.database.as_deref() == Some(name.as_str()) {
                    self.leave_database();
                }
            }
            Ddl::CreateDatabase { .. } | Ddl::AlterDatabase { .. } => done.affected = 1,
            Ddl::AlterTable { changes, .. }
                if changes.is_empty()
                    || changes
                        .iter()
                        .any(|c| !matches!(c, AlterChange::RenameTable { .. })) =>
            {
                done.info = format!("Records: 0  Duplicates: 0  Warnings: {}", self.diagnostics.count).into();
            }
            _ => {}
        }
        Ok(done)
    }

    /// DROP DATABASE answers with the number of tables that went.
    fn tables_of_dropped(&self, ddl: &Ddl) -> u64 {
        let Ddl::DropDatabase { name, .. } = ddl else {
            return 0;
        };
        self.shared
            .catalog
            .cluster
            .schema()
            .database(name)
            .map_or(0, |d| d.tables.len() as u64)
    }

    fn admin_check(&mut self, tables: &[TableName]) -> Result<()> {
        for name in tables {
            let table = self.table(name)?;
            ddl::check::check_table(&self.shared.store, &table, &self.process.interrupt)?;
        }
        Ok(())
    }

    /// CHECK TABLE: ADMIN CHECK TABLE with MySQL's way to answer.
    fn check_tables(&mut self, tables: &[TableName]) -> Result<Listing> {
        check_unique(tables)?;
        let mut listing = maintenance_listing();
        for name in tables {
            let locked = self.check_locked_name(name, Use::Read);
            match locked.and_then(|()| self.admin_check(std::slice::from_ref(name))) {
                Ok(()) => listing.push(maintenance_row(name, "check", OK)),
                Err(error) => push_failure(&mut listing, name, "check", &error),
            }
        }
        Ok(listing)
    }

    /// ANALYZE, OPTIMIZE and REPAIR TABLE: row estimates are kept up to date and space is reclaimed by themselves, and
    /// nothing of a table is ever left half written. `said`: what InnoDB says of a table that is there.
    fn maintain(&mut self, tables: &[TableName], operation: &str, said: &[(&str, &str)]) -> Result<Listing> {
        if operation != "analyze" {
            for name in tables {
                let schema = self.shared.catalog.cluster.schema();
                if schema.database(&name.database).is_some_and(|d| d.is_system()) {
                    return Err(errors::database_access(&self.account.name(), &name.database));
                }
            }
        }
        check_unique(tables)?;
        let mut listing = maintenance_listing();
        for name in tables {
            let what = if operation == "optimize" {
                Use::Write
            } else {
                Use::Read
            };
            match self.check_locked_name(name, what) {
                Ok(()) => {
                    for message in said {
                        listing.push(maintenance_row(name, operation, *message));
                    }
                }
                Err(error) => push_failure(&mut listing, name, operation, &error),
            }
        }
        Ok(listing)
    }

    pub(crate) fn explain(&mut self, explained: &Explained) -> Result<Listing> {
        self.check_plan(&explained.plan)?;
        if explained.analyze {
            return Err(Error::not_supported("EXPLAIN ANALYZE", "use EXPLAIN"));
        }
        let (columns, rows) = planner::explain::explain(explained, &|table| self.row_estimate(table))?;
        let looks_at_tables = match &explained.plan {
            Plan::Query(query) => joins_transaction(&query.root),
            _ => true,
        };
        if looks_at_tables {
            self.join_transaction(false)?;
        }
        Ok(Listing { columns, rows })
    }

    /// See [`crate::transaction::TransactionState::joined_by_command`].
    pub(crate) fn join_transaction(&mut self, fixes_snapshot: bool) -> Result<()> {
        let (store, interrupt) = (&self.shared.store, &self.process.interrupt);
        self.transaction
            .joined_by_command(fixes_snapshot, store, &self.settings, interrupt)
    }
}

/// Kind and text of a maintenance statement's row.
const OK: (&str, &str) = ("status", "OK");
const NOT_ANALYZED: [(&str, &str); 2] = [
    (
        "note",
        "Statistics are not collected: row counts are estimated from the store whenever a statement is planned",
    ),
    OK,
];
const OPTIMIZED: [(&str, &str); 2] = [
    (
        "note",
        "Nothing to do: the store compacts itself in the background, and statistics are not collected",
    ),
    OK,
];
const NO_REPAIR: (&str, &str) = ("note", "The storage engine for the table doesn't support repair");

enum Answer {
    Outcome(Result<Outcome>),
    Listing(Result<Listing>),
}

impl Answer {
    fn of(result: Result<()>) -> Self {
        Self::Outcome(result.map(|()| Outcome::Ok(Done::default())))
    }

    fn of_end(result: Result<()>, release: bool) -> Self {
        Self::Outcome(result.map(|()| {
            if release {
                Outcome::Close(Done::default())
            } else {
                Outcome::Ok(Done::default())
            }
        }))
    }
}

fn maintenance_listing() -> Listing {
    Listing::new(&[
        ("Table", text_type(128)),
        ("Op", text_type(10)),
        ("Msg_type", text_type(10)),
        ("Msg_text", text_type(393_216)),
    ])
}

fn maintenance_row(name: &TableName, operation: &str, (kind, message): (&str, &str)) -> Vec<Value> {
    vec![
        text(format!("{}.{}", name.database, name.name)),
        text(operation),
        text(kind),
        text(message),
    ]
}

/// What is said of a table that cannot be used.
fn push_failure(listing: &mut Listing, name: &TableName, operation: &str, error: &Error) {
    listing.push(maintenance_row(name, operation, ("Error", &error.message)));
    let last = if is_lock_error(error) {
        ("status", "Operation failed")
    } else {
        ("error", "Corrupt")
    };
    listing.push(maintenance_row(name, operation, last));
}

/// Fails with 1066 if a statement names a table twice.
fn check_unique(tables: &[TableName]) -> Result<()> {
    for (position, name) in tables.iter().enumerate() {
        if tables[..position].contains(name) {
            return Err(errors::not_unique(&name.name));
        }
    }
    Ok(())
}

fn kind_of(command: &Command) -> Kind {
    match command {
        Command::Transaction(TransactionStatement::Begin { .. }) => Kind::Begin,
        Command::Transaction(TransactionStatement::Commit { .. }) => Kind::Commit,
        Command::Transaction(TransactionStatement::Rollback { .. }) => Kind::Rollback,
        Command::Set(_) => Kind::Set,
        Command::Show(_) => Kind::Show,
        Command::Prepare { .. } => Kind::Prepare,
        _ => Kind::Other,
    }
}
