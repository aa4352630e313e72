//! The copy, step by step.

use std::time::Instant;

use loadgen::progress::Progress;

use super::arguments::Arguments;
use super::copy::{Copied, Copying, Job, Unit, connect, units};
use super::cut_over::CutOver;
use super::definitions::{self, Outcome};
use super::follow::{Follower, Until};
use super::state;
use super::state::{KnownTable, Move, Stage};
use crate::binlog::gtid::GtidSet;
use crate::chunk;
use crate::endpoint::{Client, Endpoint};
use crate::error::Error;
use crate::foreign_keys::orphans;
use crate::inventory::{Inventory, Table};
use crate::snapshot::{Position, Snapshot};
use crate::whole;
use crate::{Common, Result};

pub(super) struct Transfer<'a> {
    arguments: &'a Arguments,
    common: &'a Common,
    source: Endpoint,
    target: Endpoint,
    databases: Vec<String>,
}

impl<'a> Transfer<'a> {
    pub(super) fn new(
        arguments: &'a Arguments,
        common: &'a Common,
        source: Endpoint,
        target: Endpoint,
    ) -> Result<Self> {
        let databases = source.databases();
        if databases.is_empty() {
            return Err(Error::Arguments(
                "--from names no database: mysql://USER@HOST/DB[,DB]".to_owned(),
            ));
        }
        if let Some(name) = databases.iter().find(|name| {
            matches!(
                name.as_str(),
                "mysql" | "sys" | "information_schema" | "performance_schema" | state::DATABASE
            )
        }) {
            return Err(Error::Arguments(format!(
                "{name} is the server's own and cannot be copied; docs/moving.md says how accounts are moved"
            )));
        }
        Ok(Self {
            arguments,
            common,
            source,
            target,
            databases,
        })
    }

    pub(super) fn run(&self) -> Result<()> {
        let mut target = connect(&self.target)?;
        let mut state = self.state(&mut target)?;
        if self.common.restart {
            for table in state.tables(&mut target)? {
                definitions::drop_table(&mut target, &table.database, &table.name)?;
            }
            state.forget(&mut target)?;
            state = self.state(&mut target)?;
        }
        let follows = self.arguments.follow || self.arguments.cut_over;
        if follows {
            Follower::check_source(&mut self.source.connect()?)?;
        }
        if let Some(set) = &self.arguments.gtid {
            self.start_behind(&mut target, &mut state, set)?;
        }
        match state.stage {
            Stage::CutOver => {
                println!("This move has ended: both sides were equal. --restart copies again.");
                return Ok(());
            }
            Stage::Following | Stage::Copied if follows => {}
            Stage::Following => {
                return Err(Error::Arguments(
                    "this source is being followed already: --follow goes on, --restart copies again"
                        .to_owned(),
                ));
            }
            Stage::New | Stage::Copying | Stage::Copied => self.copy(&mut target, &mut state)?,
        }
        drop(target);
        let follower = Follower {
            source: &self.source,
            target: &self.target,
            databases: &self.databases,
            skipped: &self.arguments.skip,
        };
        if self.arguments.cut_over {
            CutOver {
                follower,
                threads: usize::from(self.common.threads),
            }
            .run(&mut state)
        } else if self.arguments.follow {
            follower.run(&mut state, &Until::Killed).map(drop)
        } else {
            Ok(())
        }
    }

    /// Prepares a copy that another tool has made for following the log.
    fn start_behind(&self, target: &mut Client, state: &mut Move, set: &str) -> Result<()> {
        if !self.arguments.follow && !self.arguments.cut_over {
            return Err(Error::Arguments("--gtid needs --follow or --cut-over".to_owned()));
        }
        if state.stage != Stage::New {
            return Err(Error::Arguments(
                "this source is being copied or followed already: leave --gtid out to go on".to_owned(),
            ));
        }
        let gtids = GtidSet::parse(set).ok_or_else(|| {
            Error::Arguments(format!(
                "--gtid {set}: no set of transactions (UUID:1-5, or 0-1-100 of MariaDB)"
            ))
        })?;
        let position = Position {
            file: String::new(),
            offset: 0,
            gtids: gtids.to_string(),
        };
        state.set_position(target, Some(position))?;
        state.set_stage(target, Stage::Copied)
    }

    fn state(&self, target: &mut Client) -> Result<Move> {
        Move::open(
            target,
            &format!("{}/{}", self.source.address(), self.databases.join(",")),
        )
    }

    /// Copies everything at one point, and checks it.
    fn copy(&self, target: &mut Client, state: &mut Move) -> Result<()> {
        let start = Instant::now();
        let readers = usize::from(self.common.threads);
        let mut snapshot = Snapshot::open(&self.source, &self.databases, readers)?;
        let known = state.tables(target)?;
        let resumed = state.stage != Stage::New;
        let tables = self.define(target, state, &snapshot.inventory, &known)?;
        state.set_stage(target, Stage::Copying)?;
        if resumed {
            for table in &tables {
                state.lock_loads(target, table)?;
                state.unlock_loads(target, table)?;
            }
        }
        let (units, chunks) = self.plan(target, state, &mut snapshot.readers, &tables, &known)?;
        let mut writers = (0..readers)
            .map(|_| connect(&self.target))
            .collect::<Result<Vec<_>>>()?;
        let progress = Progress::new("copying", chunks);
        let copying = Copying::new(state, &progress, &self.target, units, resumed);
        let copied = copying
            .run(&mut snapshot.readers, &mut writers)
            .map_err(|error| {
                Error::Source(format!(
                    "{error}\nWhat is copied is stored: the same command goes on from there."
                ))
            })?;
        progress.finish();
        let differences = self.finish(target, &snapshot.inventory, &tables, copied.differences.clone())?;
        report(&tables, &copied, chunks, start);
        if !differences.is_empty() {
            return Err(Error::Different(format!(
                "the copy is not what the source has:\n  {}",
                differences.join("\n  ")
            )));
        }
        state.set_position(target, snapshot.position.clone())?;
        state.set_stage(target, Stage::Copied)?;
        match &snapshot.position {
            Some(position) => println!("The copy is equal to the source at {position} of its binary log."),
            None => println!("The copy is equal to the source at the point when the copy began."),
        }
        Ok(())
    }

    /// Creates what is not there yet. Returns the tables to copy.
    fn define<'i>(
        &self,
        target: &mut Client,
        state: &Move,
        inventory: &'i Inventory,
        known: &[KnownTable],
    ) -> Result<Vec<&'i Table>> {
        definitions::databases(target, inventory)?;
        let mut refused: Vec<String> = inventory.left_out.clone();
        let mut tables = Vec::new();
        let mut created = Vec::new();
        for table in &inventory.tables {
            let earlier = known
                .iter()
                .find(|known| known.database == table.database && known.name == table.name);
            let is_there = definitions::exists(target, &table.database, &table.name)?;
            match earlier {
                Some(earlier) if is_there && definitions::same(&earlier.definition, &table.create) => {
                    tables.push(table);
                    continue;
                }
                Some(_) => definitions::drop_table(target, &table.database, &table.name)?,
                None if is_there => {
                    undo(target, &created)?;
                    return Err(Error::Arguments(format!(
                        "the target has a table {} that no earlier run has created: drop it, or name another target",
                        table.shown()
                    )));
                }
                None => {}
            }
            match definitions::table(target, table, self.common.skip_unsupported)? {
                Outcome::Refused(reason) => {
                    refused.push(format!("table {}: {reason}", table.shown()));
                    continue;
                }
                Outcome::Partly(lines) => {
                    refused.extend(
                        lines
                            .iter()
                            .map(|line| format!("table {}: {line}", table.shown())),
                    );
                }
                Outcome::Created => {}
            }
            state.add_table(target, table)?;
            created.push(table);
            tables.push(table);
        }
        if refused.is_empty() {
            return Ok(tables);
        }
        let list = refused.join("\n  ");
        if !self.common.skip_unsupported {
            undo(target, &created)?;
            return Err(Error::Unsupported(format!(
                "the target does not take these, so nothing was copied; --skip-unsupported copies the rest:\n  {list}"
            )));
        }
        eprintln!("Left out:\n  {list}");
        Ok(tables)
    }

    /// Where chunks begin, from an earlier run or from the source. Returns how many there are, too.
    fn plan<'i>(
        &self,
        target: &mut Client,
        state: &Move,
        readers: &mut [Client],
        tables: &[&'i Table],
        known: &[KnownTable],
    ) -> Result<(Vec<Unit<'i>>, u64)> {
        let (mut all, mut count) = (Vec::new(), 0);
        let Some(reader) = readers.first_mut() else {
            return Ok((all, count));
        };
        let least = least_to_load(target)?;
        for table in tables {
            let planned = known.iter().any(|known| {
                known.planned
                    && known.database == table.database
                    && known.name == table.name
                    && definitions::same(&known.definition, &table.create)
            });
            let chunks = if planned {
                state.plan(target, table)?
            } else {
                let bounds = chunk::plan(reader, table)?;
                let chunks = state.set_plan(target, table, &bounds)?;
                chunks.into_iter().map(|chunk| (chunk, false)).collect()
            };
            count += chunks.len() as u64;
            let jobs = chunks.into_iter();
            let jobs = jobs.map(|(chunk, was_copied)| Job { chunk, was_copied });
            let loads = least.is_some_and(|least| is_loaded(table, least));
            all.extend(units(table, jobs.collect(), loads));
        }
        Ok((all, count))
    }

    /// Views and references, when all rows are there. Returns what is not equal.
    fn finish(
        &self,
        target: &mut Client,
        inventory: &Inventory,
        tables: &[&Table],
        mut differences: Vec<String>,
    ) -> Result<Vec<String>> {
        for note in definitions::views(target, &inventory.views)? {
            eprintln!("Note: {note}");
        }
        let is_equal = differences.is_empty();
        for table in tables {
            for found in orphans(target, table)? {
                // Where both tables are equal to the source's, it has these rows as well.
                match is_equal && self.databases.contains(&found.parent_database) {
                    true => found
                        .lines
                        .iter()
                        .for_each(|line| eprintln!("Note: {line}, as on the source")),
                    false => differences.extend(found.lines),
                }
            }
        }
        Ok(differences)
    }
}

/// A table of fewer bytes is inserted. `None`: all are.
fn least_to_load(target: &mut Client) -> Result<Option<u64>> {
    let least = whole::least_bytes(target)?;
    if least.is_some() && !whole::takes_local_files(target)? {
        eprintln!(
            "Note: rows are inserted, which takes several times as long as LOAD DATA: the target takes no files from \
             clients. SET GLOBAL local_infile = ON there for as long as this takes"
        );
        return Ok(None);
    }
    Ok(least)
}

/// Whether the rows of a table are loaded, as sorted files. A partitioned table takes none.
fn is_loaded(table: &Table, least: u64) -> bool {
    // The source may have no estimate, or know the rows and not yet their length.
    let is_known = table.rows > 0 && table.row_bytes > 0;
    let is_short = is_known && table.rows.saturating_mul(table.row_bytes) <= least;
    !is_short && !table.create.contains("PARTITION BY")
}

fn undo(target: &mut Client, created: &[&Table]) -> Result<()> {
    for table in created {
        definitions::drop_table(target, &table.database, &table.name)?;
    }
    Ok(())
}

fn report(tables: &[&Table], copied: &Copied, chunks: u64, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} tables, {} rows in {seconds:.1} s ({:.0} rows/s); compared by count and checksum in {chunks} chunks, \
         {} of them copied by an earlier run.",
        tables.len(),
        copied.rows,
        copied.rows as f64 / seconds.max(1e-3),
        copied.unchanged
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_tables_are_loaded() {
        let table = |rows, row_bytes, create: &str| Table {
            database: "d".to_owned(),
            name: "t".to_owned(),
            columns: Vec::new(),
            key: Vec::new(),
            create: create.to_owned(),
            rows,
            row_bytes,
        };
        let is_loaded = |rows, row_bytes, create| super::is_loaded(&table(rows, row_bytes, create), 1 << 20);
        assert!(!is_loaded(10, 100, "CREATE TABLE t (a INT)"));
        assert!(is_loaded(100_000, 100, "CREATE TABLE t (a INT)"));
        assert!(is_loaded(0, 0, "CREATE TABLE t (a INT)"));
        // The estimate of a table that was just filled.
        assert!(is_loaded(60_000, 0, "CREATE TABLE t (a INT)"));
        assert!(!is_loaded(
            100_000,
            100,
            "CREATE TABLE t (a INT) PARTITION BY HASH (a)"
        ));
    }
}
