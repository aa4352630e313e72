//! `--follow`: applies the source's binary log until it is stopped, and reports how far it is behind.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::apply::{Applier, file_number};
use super::copy::connect;
use super::state::{Move, Stage};
use crate::Result;
use crate::binlog::gtid::GtidSet;
use crate::binlog::reader::{HEARTBEAT, Next, Reader};
use crate::endpoint::{Client, Endpoint, Flavour};
use crate::error::Error;
use crate::retry::{ATTEMPTS, is_for_now};
use crate::snapshot::{Position, position};

/// A connection over which not even a heartbeat comes is lost after this time.
const SILENCE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The log that was to be read is no longer there.
const ER_LOG_GONE: u16 = 1236;

pub(super) struct Follower<'a> {
    pub(super) source: &'a Endpoint,
    pub(super) target: &'a Endpoint,
    pub(super) databases: &'a [String],
    pub(super) skipped: &'a [String],
}

/// How long to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Until {
    Killed,
    /// The source has nothing that is not applied.
    CaughtUp,
    /// This position is reached.
    Position(Position),
}

impl Follower<'_> {
    /// Fails if the source cannot be followed, before anything is copied.
    pub(super) fn check_source(source: &mut Client) -> Result<()> {
        let (flavour, version) = source.flavour()?;
        if flavour == Flavour::StemDb {
            return Err(Error::Source(format!(
                "the source, {version}, writes no binary log"
            )));
        }
        for (variable, wanted, instead) in [
            ("log_bin", "1", "start the source with --log-bin"),
            (
                "binlog_format",
                "ROW",
                "SET GLOBAL binlog_format = ROW, and let all sessions connect again",
            ),
        ] {
            let value = source
                .one(&format!("SELECT @@GLOBAL.{variable}"))?
                .unwrap_or_default();
            if value != wanted {
                return Err(Error::Source(format!(
                    "--follow needs {variable} = {wanted} on the source, and it is {value}: {instead}"
                )));
            }
        }
        match position(source, flavour) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(Error::Source(
                "the source shows no position of its binary log".to_owned(),
            )),
            Err(error) => Err(Error::Source(format!(
                "the account needs REPLICATION CLIENT (MariaDB: BINLOG MONITOR) and REPLICATION SLAVE: {error}"
            ))),
        }
    }

    /// Follows, across lost connections and temporary errors.
    pub(super) fn run(&self, state: &mut Move, until: &Until) -> Result<Position> {
        let mut pause = Duration::from_millis(500);
        let mut failed = 0;
        loop {
            let before = state.position.clone();
            match self.follow(state, until) {
                // With its connection the transaction ends, and is applied again from the position before it.
                Err(error) if error.is_lost() || is_for_now(error.code()) && failed < ATTEMPTS => {
                    failed += u32::from(!error.is_lost());
                    if state.position != before {
                        pause = Duration::from_millis(500);
                        failed = 0;
                    }
                    let what = match error.is_lost() {
                        true => "Lost a connection",
                        false => "Cannot go on for now",
                    };
                    eprintln!("{what}, trying again in {:.1} s: {error}", pause.as_secs_f64());
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                other => return other,
            }
        }
    }

    /// Follows with one connection to either side.
    fn follow(&self, state: &mut Move, until: &Until) -> Result<Position> {
        let mut target = connect(self.target)?;
        state.reload(&mut target)?;
        let start = state.position.clone().ok_or_else(|| {
            Error::Source(
                "the copy has no position of the source's binary log: copy again with --restart".to_owned(),
            )
        })?;
        if state.stage == Stage::Copied {
            state.set_stage(&mut target, Stage::Following)?;
        }
        let mut asking = self.source.connect()?;
        let (flavour, _) = asking.flavour()?;
        let connection = self.source.connect_raw(Some(SILENCE))?.into_inner();
        // Replicas of one source need different numbers.
        let server_id = 0x5354_0000 | std::process::id() & 0xffff;
        let behind = GtidSet::parse(&start.gtids);
        let mut reader = Reader::start(connection, server_id, &start.file, start.offset, behind.as_ref())
            .map_err(|error| from_source(self.source, error))?;
        let mut applier = Applier::new(target, state, self.databases, self.skipped, start);
        let mut display = Display::new();
        let mut asked: Option<(Instant, Position)> = None;
        loop {
            match reader.next(Duration::ZERO) {
                Next::Event(event) => {
                    applier.apply(&event)?;
                    display.busy(&applier);
                }
                Next::Failed(error) => return Err(from_source(self.source, error)),
                Next::Malformed(what) => {
                    return Err(Error::Log(format!("behind {}: {what}", applier.position())));
                }
                Next::Nothing => {
                    applier.commit()?;
                    let is_due = asked.as_ref().is_none_or(|(at, _)| at.elapsed() > HEARTBEAT / 4);
                    if is_due {
                        let now = position(&mut asking, flavour)?.unwrap_or_default();
                        asked = Some((Instant::now(), now));
                    }
                    let end = match until {
                        Until::Position(end) => Some(end),
                        _ => asked.as_ref().map(|(_, end)| end),
                    };
                    let is_there = end.is_some_and(|end| reached(applier.position(), end));
                    display.idle(&applier, is_there);
                    if is_there && applier.is_between() && *until != Until::Killed {
                        return Ok(applier.position().clone());
                    }
                    match reader.next(Duration::from_millis(50)) {
                        Next::Event(event) => applier.apply(&event)?,
                        Next::Failed(error) => return Err(from_source(self.source, error)),
                        Next::Malformed(what) => {
                            return Err(Error::Log(format!("behind {}: {what}", applier.position())));
                        }
                        Next::Nothing => {}
                    }
                }
            }
        }
    }
}

/// Whether a position is at another one or after it. Files are numbered: `binlog.000012`.
fn reached(position: &Position, end: &Position) -> bool {
    match (file_number(&position.file), file_number(&end.file)) {
        (Some(ours), Some(theirs)) => (ours, position.offset) >= (theirs, end.offset),
        _ => position.file == end.file && position.offset >= end.offset,
    }
}

fn from_source(source: &Endpoint, error: mysql::Error) -> Error {
    match &error {
        mysql::Error::MySqlError(server) if server.code == ER_LOG_GONE => Error::Log(format!(
            "it cannot be read from where the copy is: {}. If another server has these transactions, follow that \
             one with --gtid (column gtids of stemdb_import.moves on the target); otherwise copy again with --restart",
            server.message
        )),
        _ => source.failed("reading the binary log", error),
    }
}

/// How far behind the copy is: a line that changes on a terminal, a line from time to time elsewhere.
struct Display {
    terminal: bool,
    shown: Option<Instant>,
    transactions: u64,
}

impl Display {
    fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            shown: None,
            transactions: 0,
        }
    }

    fn idle(&mut self, applier: &Applier<'_>, is_there: bool) {
        match is_there {
            true => self.show(applier, "nothing behind"),
            false => self.busy(applier),
        }
    }

    fn busy(&mut self, applier: &Applier<'_>) {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |now| now.as_secs());
        let behind = match applier.written_at {
            0 => "reading".to_owned(),
            at => format!("{} s behind", now.saturating_sub(u64::from(at))),
        };
        self.show(applier, &behind);
    }

    fn show(&mut self, applier: &Applier<'_>, behind: &str) {
        let every = Duration::from_millis(if self.terminal { 500 } else { 5000 });
        let elapsed = self.shown.map(|at| at.elapsed());
        if elapsed.is_some_and(|elapsed| elapsed < every) {
            return;
        }
        let count = applier.transactions - self.transactions;
        let rate = elapsed.map_or(0.0, |elapsed| count as f64 / elapsed.as_secs_f64());
        self.transactions = applier.transactions;
        self.shown = Some(Instant::now());
        let line = format!(
            "following {}: {behind}, {} transactions, {rate:.0}/s",
            applier.position(),
            applier.transactions
        );
        // Errors of the terminal are ignored: they must not stop the work.
        let _ = match self.terminal {
            true => write!(std::io::stderr(), "\r{line}\x1b[K"),
            false => writeln!(std::io::stderr(), "{line}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_ordered_by_file_and_offset() {
        let at = |file: &str, offset| Position {
            file: file.to_owned(),
            offset,
            gtids: String::new(),
        };
        assert!(reached(&at("binlog.000002", 4), &at("binlog.000001", 900)));
        assert!(reached(&at("binlog.000002", 4), &at("binlog.000002", 4)));
        assert!(!reached(&at("binlog.000009", 900), &at("binlog.000010", 4)));
    }
}
