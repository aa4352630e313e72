//! `--cut-over`: the end of a move. The source takes no more writes, its log is applied up to the end, and
//! both sides are compared.

use std::collections::VecDeque;
use std::sync::Mutex;

use loadgen::progress::Progress;

use super::check::{differences, summary};
use super::follow::{Follower, Until};
use super::state::{Move, Stage};
use crate::Result;
use crate::chunk::{self, Chunk, chunks};
use crate::endpoint::{Client, Endpoint, Flavour};
use crate::error::Error;
use crate::inventory::{Inventory, Table};
use crate::snapshot::{lock_all, position};

pub(super) struct CutOver<'a> {
    pub(super) follower: Follower<'a>,
    pub(super) threads: usize,
}

impl CutOver<'_> {
    pub(super) fn run(&self, state: &mut Move) -> Result<()> {
        // The log is applied almost to its end before any client has to wait.
        let reached = self.follower.run(state, &Until::CaughtUp)?;
        eprintln!("Caught up at {reached}. The source takes no more writes from now on.");
        let mut source = self.follower.source.connect()?;
        let (flavour, _) = source.flavour()?;
        let read_only = ReadOnly::set(&mut source, flavour)?;
        let done = self.compare(state, &mut source, flavour);
        if !matches!(done, Ok(ref differences) if differences.is_empty()) {
            read_only.undo(&mut source)?;
            eprintln!("The source takes writes again.");
        }
        let differences = done?;
        if !differences.is_empty() {
            return Err(Error::Different(format!(
                "the sides are not equal; copy again with --restart:\n  {}",
                differences.join("\n  ")
            )));
        }
        let mut target = self.follower.target.connect()?;
        state.set_stage(&mut target, Stage::CutOver)?;
        println!("Point the application at {}.", self.follower.target.address());
        println!(
            "The source stays read-only; this undoes it: {}",
            read_only.undoing()
        );
        Ok(())
    }

    /// Applies the end of the log and compares everything. Returns what differs.
    fn compare(&self, state: &mut Move, source: &mut Client, flavour: Flavour) -> Result<Vec<String>> {
        let end = position(source, flavour)?;
        let end =
            end.ok_or_else(|| Error::Source("the source shows no position of its binary log".to_owned()))?;
        self.follower.run(state, &Until::Position(end.clone()))?;
        let mut target = self.follower.target.connect()?;
        let theirs = Inventory::read(source, self.follower.databases)?;
        let ours = state.tables(&mut target)?;
        // A table that was left out at the start is not a difference; one that came later is here, too.
        let mut tables = Vec::new();
        for table in &theirs.tables {
            let is_here = super::definitions::exists(&mut target, &table.database, &table.name)?;
            if is_here
                || ours
                    .iter()
                    .any(|known| known.database == table.database && known.name == table.name)
            {
                tables.push(table);
            } else {
                eprintln!("Note: not on the target: {}", table.shown());
            }
        }
        let mut jobs = VecDeque::new();
        for table in &tables {
            jobs.extend(
                chunks(&chunk::plan(source, table)?)
                    .into_iter()
                    .map(|chunk| (*table, chunk)),
            );
        }
        let (rows, differences) = self.compare_all(jobs)?;
        if differences.is_empty() {
            println!(
                "Source and target are equal at {end}: {} tables, {rows} rows, by count and checksum.",
                tables.len()
            );
        }
        Ok(differences)
    }

    fn compare_all(&self, jobs: VecDeque<(&Table, Chunk)>) -> Result<(u64, Vec<String>)> {
        let progress = Progress::new("comparing", jobs.len() as u64);
        let jobs = Mutex::new(jobs);
        let (source, target) = (self.follower.source, self.follower.target);
        let results: Vec<Result<(u64, Vec<String>)>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|_| scope.spawn(|| compare_some(source, target, &jobs, &progress)))
                .collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.map(|done| done.unwrap_or(Err(Error::Thread))).collect()
        });
        progress.finish();
        let (mut rows, mut differences) = (0, Vec::new());
        for result in results {
            let (count, lines) = result?;
            rows += count;
            differences.extend(lines);
        }
        Ok((rows, differences))
    }
}

fn compare_some(
    source: &Endpoint,
    target: &Endpoint,
    jobs: &Mutex<VecDeque<(&Table, Chunk)>>,
    progress: &Progress,
) -> Result<(u64, Vec<String>)> {
    let (mut source, mut target) = (source.connect()?, target.connect()?);
    let (mut rows, mut lines) = (0, Vec::new());
    let next = || jobs.lock().ok().and_then(|mut jobs| jobs.pop_front());
    while let Some((table, chunk)) = next() {
        let condition = chunk.condition(table);
        let theirs = summary(&mut source, table, &condition)?;
        if theirs != summary(&mut target, table, &condition)? {
            lines.extend(differences(&mut source, &mut target, table, &condition)?);
        }
        rows += theirs.rows;
        progress.add(1);
    }
    Ok((rows, lines))
}

/// The source without writes, and how it was before.
struct ReadOnly {
    variable: &'static str,
    was: String,
}

impl ReadOnly {
    fn set(source: &mut Client, flavour: Flavour) -> Result<Self> {
        // MariaDB lets privileged accounts write to a read-only server, so its tables are locked as well,
        // for as long as this connection lives.
        let variable = match flavour {
            Flavour::MySql => "super_read_only",
            _ => "read_only",
        };
        // super_read_only sets read_only, and leaves it set when it is unset.
        let was = source.one("SELECT @@GLOBAL.read_only")?.unwrap_or_default();
        let done = source.run(&format!("SET GLOBAL {variable} = 1"));
        done.map_err(|error| Error::Source(format!("the source cannot be made read-only: {error}")))?;
        if flavour != Flavour::MySql {
            lock_all(source)?;
        }
        Ok(Self { variable, was })
    }

    fn undoing(&self) -> String {
        format!(
            "SET GLOBAL {} = 0, GLOBAL read_only = {}",
            self.variable, self.was
        )
    }

    fn undo(&self, source: &mut Client) -> Result<()> {
        source.run("UNLOCK TABLES")?;
        source.run(&self.undoing())
    }
}
