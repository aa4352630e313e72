//! Applies events of the binary log to the target, in order. The position is stored in the transaction of
//! the rows before it, so that whatever ends the program, nothing is lost and nothing applied twice.

use std::collections::HashMap;

use super::definitions::reason;
use super::rows::{RowWriter, TargetTable};
use super::state::{self, Move};
use super::statement::{self, Kind};
use crate::Result;
use crate::binlog::event::{Event, Query, RawEvent};
use crate::binlog::gtid::{Gtid, GtidSet};
use crate::binlog::reader::FIRST_EVENT;
use crate::binlog::rows::{Change, Rows};
use crate::binlog::table_map::TableMap;
use crate::endpoint::{Client, literal, quoted};
use crate::error::Error;
use crate::foreign_keys::cascades;
use crate::inventory::columns_and_key;
use crate::retry::is_for_now;
use crate::snapshot::Position;

/// Transactions of the source that are committed together while the target is behind.
const TOGETHER: usize = 200;

/// Errors of a definition that ran before: it was begun by a run that was killed before it stored its end.
/// Database, table, column, key or constraint exists; or does not, to be dropped.
const DONE_BEFORE: &[u16] = &[1007, 1008, 1050, 1051, 1060, 1061, 1091, 1146, 1826, 3822];

pub(super) struct Applier<'a> {
    target: Client,
    state: &'a mut Move,
    databases: &'a [String],
    /// Definitions that the target refuses are skipped at these places of the log.
    skipped: &'a [String],
    /// What has been read, and applied or being applied.
    position: Position,
    /// The transactions before it; `None` if the source has no ids, or some that are not read here.
    gtids: Option<GtidSet>,
    /// The id of the transaction that is being applied.
    gtid: Option<Gtid>,
    maps: HashMap<u64, TableMap>,
    tables: HashMap<(String, String), TargetTable>,
    /// Within a transaction of the source.
    in_source_transaction: bool,
    /// That transaction has changed rows of the target.
    has_rows: bool,
    in_transaction: bool,
    /// `foreign_key_checks` of the target's session.
    checks_keys: bool,
    /// Transactions of the source since the last commit.
    waiting: usize,
    pub(super) transactions: u64,
    /// When the last applied transaction was written on the source, in seconds since 1970.
    pub(super) written_at: u32,
}

impl<'a> Applier<'a> {
    pub(super) fn new(
        target: Client,
        state: &'a mut Move,
        databases: &'a [String],
        skipped: &'a [String],
        position: Position,
    ) -> Self {
        Self {
            target,
            state,
            databases,
            skipped,
            gtids: GtidSet::parse(&position.gtids),
            gtid: None,
            position,
            maps: HashMap::new(),
            tables: HashMap::new(),
            in_source_transaction: false,
            has_rows: false,
            in_transaction: false,
            checks_keys: false,
            waiting: 0,
            transactions: 0,
            written_at: 0,
        }
    }

    pub(super) fn position(&self) -> &Position {
        &self.position
    }

    /// Whether the source is between two transactions, so that the position is one to stop at.
    pub(super) fn is_between(&self) -> bool {
        !self.in_source_transaction
    }

    pub(super) fn apply(&mut self, raw: &RawEvent) -> Result<()> {
        let event = raw.read().map_err(|error| self.wrong(error.to_string()))?;
        self.event(event, raw.end)?;
        if raw.timestamp != 0 && raw.end != 0 {
            self.written_at = raw.timestamp;
        }
        Ok(())
    }

    fn event(&mut self, event: Event, end: u64) -> Result<()> {
        match event {
            // Read after a set of transactions: the first event says where that is.
            Event::Rotate { file, offset } if self.position.file.is_empty() => {
                self.position.file = file_name(&file);
                self.position.offset = offset;
                Ok(())
            }
            // The first event says again where the log is read. MariaDB's has a checksum after the name,
            // before the log has said that there are checksums.
            Event::Rotate { file, .. } if end == 0 && file.starts_with(&self.position.file) => Ok(()),
            Event::Rotate { file, .. } if end == 0 && !goes_on(&self.position, &file_name(&file)) => {
                Err(self.wrong(format!(
                    "the source goes on with {}: what is between is missing there. If another server has these transactions, \
                     follow that one with --gtid (column gtids of stemdb_import.moves on the target); otherwise copy again \
                     with --restart",
                    file_name(&file)
                )))
            }
            Event::Rotate { file, offset } => {
                if self.position.file != file {
                    self.maps.clear();
                }
                if self.position.file != file || self.position.offset < offset {
                    self.position.file = file;
                    self.position.offset = offset;
                }
                Ok(())
            }
            Event::Gtid(gtid) => {
                self.gtid = Some(gtid);
                Ok(())
            }
            Event::Begin(gtid) => {
                self.gtid = Some(gtid);
                self.source_begin();
                Ok(())
            }
            Event::Query(query) => self.query(&query, end),
            Event::TableMap(map) => {
                self.maps.insert(map.id, map);
                Ok(())
            }
            Event::Rows(rows) => self.rows(&rows),
            Event::Commit => self.source_commit(end),
            Event::Payload(events) => {
                for raw in events {
                    let event = raw.read().map_err(|error| self.wrong(error.to_string()))?;
                    self.event(event, end)?;
                }
                Ok(())
            }
            Event::Incident(message) => Err(self.wrong(format!(
                "the source reports that its log is incomplete ({message}): copy again with --restart"
            ))),
            Event::Unsupported(what) => Err(self.wrong(what)),
            // This is the only sign that the transactions in the set have been passed.
            Event::Heartbeat | Event::Ignored
                if !self.in_source_transaction && end > self.position.offset =>
            {
                self.position.offset = end;
                Ok(())
            }
            Event::Heartbeat | Event::Ignored => Ok(()),
        }
    }

    fn wrong(&self, what: impl std::fmt::Display) -> Error {
        Error::Log(format!("behind {}: {what}", self.position))
    }

    fn query(&mut self, query: &Query, end: u64) -> Result<()> {
        match statement::kind(&query.sql) {
            Kind::Begin => self.source_begin(),
            Kind::Commit => return self.source_commit(end),
            Kind::Rollback => {
                // A source logs one after rows of tables without transactions, which stay, and perhaps of others.
                if self.has_rows {
                    return Err(self.wrong(
                        "a ROLLBACK of a transaction that has changed rows: those of tables without transactions stay on \
                         the source, and the log does not say which these are. Change such tables to InnoDB, and copy \
                         again with --restart",
                    ));
                }
                self.in_source_transaction = false;
                self.pass(end);
            }
            Kind::Savepoint if self.in_transaction => self.target.run(&query.sql)?,
            Kind::Definition if self.concerns(query) => return self.definition(query, end),
            Kind::LeftOut if self.concerns(query) => {
                eprintln!("Note: not applied, at {}: {}", self.position, shown(&query.sql));
                self.pass(end);
            }
            Kind::Rows if self.concerns(query) => {
                return Err(self.wrong(format!(
                    "a statement instead of rows: set binlog_format = ROW on the source, and copy again with \
                     --restart. It is: {}",
                    shown(&query.sql)
                )));
            }
            Kind::Xa => {
                return Err(
                    self.wrong("an XA transaction: end all XA transactions before you follow the log")
                );
            }
            _ if !self.in_source_transaction => self.pass(end),
            _ => {}
        }
        Ok(())
    }

    /// Whether a statement is about a database that was copied: what it defines, or if that is not read, its own database
    /// or one that it names.
    fn concerns(&self, query: &Query) -> bool {
        if let Some(named) = statement::databases(&query.sql, query.sql_mode, &query.database) {
            // A source may compare names without case.
            let is_copied = |name: &String| self.databases.iter().any(|own| own.eq_ignore_ascii_case(name));
            return named.iter().any(is_copied);
        }
        self.databases.iter().any(|name| {
            *name == query.database
                || query.sql.contains(&format!("`{name}`"))
                || query.sql.contains(&format!("{name}."))
        })
    }

    /// The position is behind a transaction.
    fn pass(&mut self, end: u64) {
        self.position.offset = end;
        let Some(gtid) = self.gtid.take() else { return };
        self.gtids = self
            .gtids
            .take()
            .and_then(|mut set| set.add(&gtid).then_some(set));
        self.position.gtids = self.gtids.as_ref().map(ToString::to_string).unwrap_or_default();
    }

    fn source_begin(&mut self) {
        self.in_source_transaction = true;
        self.has_rows = false;
    }

    fn source_commit(&mut self, end: u64) -> Result<()> {
        self.in_source_transaction = false;
        self.pass(end);
        self.transactions += 1;
        self.waiting += 1;
        match self.waiting >= TOGETHER {
            true => self.commit(),
            false => Ok(()),
        }
    }

    /// Makes everything so far durable, with its position. Called when there is nothing else to read, too.
    pub(super) fn commit(&mut self) -> Result<()> {
        if self.in_source_transaction {
            return Ok(());
        }
        self.waiting = 0;
        if self.in_transaction || self.state.position.as_ref() != Some(&self.position) {
            self.target.run(&self.state.position_statement(&self.position))?;
            if self.in_transaction {
                self.target.run("COMMIT")?;
                self.in_transaction = false;
            }
            self.state.position = Some(self.position.clone());
        }
        Ok(())
    }

    /// A definition commits by itself. So its place is stored before it; if it ran and the program was killed
    /// before the place after it was stored, the next run sees that it may have run.
    fn definition(&mut self, query: &Query, end: u64) -> Result<()> {
        self.in_source_transaction = false;
        self.commit()?;
        check_keys(&mut self.target, &mut self.checks_keys, false)?;
        let place = self.position.to_string();
        let sql = statement::begins_transaction(&query.sql).unwrap_or(&query.sql);
        if self.skipped.contains(&place) {
            eprintln!("Note: skipped, at {place}: {}", shown(sql));
        } else {
            let may_have_run = self.state.definition.as_deref() == Some(place.as_str());
            if may_have_run && !statement::can_run_again(sql, query.sql_mode) {
                return Err(Error::Log(format!(
                    "a run has ended while the target was at the statement at {place}, and whether it has run cannot be seen \
                     by running it again. It is: {}\nLook at the target, do there what it should do if it has not been \
                     done, and go on with --skip {place}",
                    shown(sql)
                )));
            }
            self.target.run(&self.state.definition_statement(&place))?;
            self.state.definition = Some(place.clone());
            // Of a database that is not copied, names without one must not mean another database's tables.
            let database = match self.databases.contains(&query.database) {
                true => &query.database,
                false => state::DATABASE,
            };
            self.target.run(&format!("USE {}", quoted(database)))?;
            let mode = literal(&statement::sql_mode(query.sql_mode));
            self.target.run(&format!("SET SESSION sql_mode = {mode}"))?;
            let done = self.target.run(sql);
            self.target
                .run(&format!("SET SESSION sql_mode = '{}'", statement::sql_mode(0)))?;
            match done {
                Err(error) if error.is_lost() || is_for_now(error.code()) => return Err(error),
                Err(error) if may_have_run && DONE_BEFORE.contains(&error.code()) => {}
                Err(error) => {
                    return Err(Error::Log(format!(
                        "the target refuses the statement at {place}: {}. It is: {}\n\
                         Do on the target what it should do, and go on with --skip {place}",
                        reason(&error),
                        shown(sql)
                    )));
                }
                Ok(()) => eprintln!("Applied at {place}: {}", shown(sql)),
            }
            for database in self.databases {
                self.target.run(&self.state.new_tables_statement(database))?;
            }
        }
        self.tables.clear();
        self.pass(end);
        if sql.len() < query.sql.len() {
            self.source_begin();
        }
        self.target.run(&self.state.position_statement(&self.position))?;
        self.state.position = Some(self.position.clone());
        self.state.definition = None;
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> Result<()> {
        let Some(map) = self.maps.get(&rows.table) else {
            return Err(self.wrong("rows of a table that was not described"));
        };
        if !self.databases.contains(&map.database) {
            return Ok(());
        }
        let name = (map.database.clone(), map.table.clone());
        let map = map.clone();
        if !self.tables.contains_key(&name) {
            let table = self.describe(&map)?;
            self.tables.insert(name.clone(), table);
        }
        let Some(table) = self.tables.get(&name) else {
            return Ok(());
        };
        // The source may hide columns at the end, those of functional indexes.
        if map.width() < table.columns.len() {
            return Err(self.wrong(format!(
                "rows of {}.{} with {} columns, but the target's table has {}",
                map.database,
                map.table,
                map.width(),
                table.columns.len()
            )));
        }
        let changes = rows
            .rows(&map, &table.is_unsigned)
            .map_err(|error| Error::Log(format!("behind {}: {error}", self.position)))?;
        if !self.in_transaction {
            self.state.begin_applying(&mut self.target)?;
            self.in_transaction = true;
        }
        self.has_rows = true;
        // References need no check. But what foreign keys do to other tables, they have to do here as well.
        let cascades = table.cascades && rows.change != Change::Insert && rows.leaves_out_cascades;
        check_keys(&mut self.target, &mut self.checks_keys, cascades)?;
        let mut row = RowWriter {
            target: &mut self.target,
            map: &map,
            table,
            position: &self.position,
        };
        match rows.change {
            Change::Insert => row.insert(changes.into_iter().filter_map(|row| row.after).collect())?,
            change => changes
                .into_iter()
                .try_for_each(|changed| row.change(change, changed))?,
        }
        Ok(())
    }

    fn describe(&mut self, map: &TableMap) -> Result<TargetTable> {
        let (columns, key) = columns_and_key(&mut self.target, &map.database, &map.table)?;
        if columns.is_empty() {
            return Err(self.wrong(format!(
                "rows of {}.{}, which the target has not; it was left out, or dropped",
                map.database, map.table
            )));
        }
        Ok(TargetTable {
            is_unsigned: columns
                .iter()
                .map(|column| column.column_type.contains("unsigned"))
                .collect(),
            columns,
            key,
            cascades: cascades(&mut self.target, &map.database, &map.table)?,
        })
    }
}

/// Sets `foreign_key_checks` of the target's session, where it `is` another one.
fn check_keys(target: &mut Client, is: &mut bool, wanted: bool) -> Result<()> {
    if *is != wanted {
        target.run(&format!("SET SESSION foreign_key_checks = {}", u8::from(wanted)))?;
        *is = wanted;
    }
    Ok(())
}

/// The name of a file of the log. MariaDB's first event has a checksum after it.
fn file_name(name: &str) -> String {
    let digits = name.rfind('.').map_or(name.len(), |point| point + 1);
    let length = name.bytes().skip(digits).take_while(u8::is_ascii_digit).count();
    name.get(..digits + length).unwrap_or(name).to_owned()
}

/// The number of a file of the log: 12 of `binlog.000012`.
pub(super) fn file_number(file: &str) -> Option<u64> {
    file.rsplit('.').next().and_then(|digits| digits.parse().ok())
}

/// Whether `file`, which the source begins to send, is the one at this position or behind it. A log says at its end
/// where it goes on, unless its server was killed.
fn goes_on(position: &Position, file: &str) -> bool {
    match (file_number(&position.file), file_number(file)) {
        (Some(ours), Some(theirs)) => {
            theirs == ours || ours.checked_add(1) == Some(theirs) && position.offset > FIRST_EVENT
        }
        _ => true,
    }
}

fn shown(sql: &str) -> String {
    const LONGEST: usize = 300;
    let mut text: String = sql.chars().take(LONGEST).collect();
    if text.len() < sql.len() {
        text += " ...";
    }
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_missing_is_noticed() {
        let at = |file: &str, offset| Position {
            file: file.to_owned(),
            offset,
            gtids: String::new(),
        };
        // The log has said that it goes on there.
        assert!(goes_on(&at("binlog.000009", 4), "binlog.000009"));
        assert!(!goes_on(&at("binlog.000009", 4), "binlog.000010"));
        // It has ended without saying so.
        assert!(goes_on(&at("binlog.000009", 157), "binlog.000010"));
        assert!(!goes_on(&at("binlog.000009", 157), "binlog.000011"));
        assert!(!goes_on(&at("binlog.000009", 157), "binlog.000008"));
    }
}
