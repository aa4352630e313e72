//! The general query log. An entry is a time, a connection, a command and its argument; a statement of
//! several lines continues in further lines. MariaDB leaves the time out when it is that of the entry before.

use std::collections::VecDeque;

use super::entry::{Action, Entry, Skipped, is_banner, statement};
use super::time;

/// All commands that either server names.
const COMMANDS: &[&[u8]] = &[
    b"Sleep",
    b"Quit",
    b"Init DB",
    b"Query",
    b"Field List",
    b"Create DB",
    b"Drop DB",
    b"Refresh",
    b"Shutdown",
    b"Statistics",
    b"Processlist",
    b"Connect",
    b"Kill",
    b"Debug",
    b"Ping",
    b"Time",
    b"Delayed insert",
    b"Change user",
    b"Binlog Dump GTID",
    b"Binlog Dump",
    b"Table Dump",
    b"Connect Out",
    b"Register Slave",
    b"Register Replica",
    b"Prepare",
    b"Execute",
    b"Long Data",
    b"Close stmt",
    b"Reset stmt",
    b"Set option",
    b"Fetch",
    b"Daemon",
    b"Reset Connection",
    b"Reset connection",
    b"Bulk Execute",
    b"Error",
    b"Clone",
    b"Group Replication Data Stream subscription",
    b"Subscribe Group Replication Stream",
];

#[derive(Debug, Default)]
pub(super) struct GeneralLogState {
    at_us: u64,
    open: Option<Open>,
}

/// The entry whose lines are being read.
#[derive(Debug)]
struct Open {
    at_us: u64,
    connection: u64,
    line: u64,
    command: &'static [u8],
    argument: Vec<u8>,
}

struct Head<'a> {
    at_us: Option<u64>,
    connection: u64,
    command: &'static [u8],
    argument: &'a [u8],
}

pub(super) fn is_start(line: &[u8]) -> bool {
    head(line).is_some()
}

impl GeneralLogState {
    pub(super) fn line(
        &mut self,
        line: &[u8],
        number: u64,
        skipped: &mut Skipped,
        out: &mut VecDeque<Entry>,
    ) {
        if let Some(head) = head(line) {
            self.end(skipped, out);
            self.at_us = head.at_us.unwrap_or(self.at_us);
            self.open = Some(Open {
                at_us: self.at_us,
                connection: head.connection,
                line: number,
                command: head.command,
                argument: head.argument.to_vec(),
            });
            return;
        }
        match &mut self.open {
            // A server that starts again writes its banner in the middle of the log.
            Some(open) if !is_banner(line) || line.is_empty() => {
                open.argument.push(b'\n');
                open.argument.extend_from_slice(line);
            }
            _ if is_banner(line) => self.end(skipped, out),
            _ => skipped.lines += 1,
        }
    }

    pub(super) fn end(&mut self, skipped: &mut Skipped, out: &mut VecDeque<Entry>) {
        let Some(open) = self.open.take() else { return };
        let Some(text) = statement(&open.argument) else {
            skipped.unreadable += 1;
            return;
        };
        let action = match open.command {
            b"Connect" if text.starts_with("Access denied") => return,
            b"Connect" => Action::Connect(database_of(&text)),
            b"Init DB" => Action::UseDatabase(text.trim().to_owned()),
            // The text of an execution has its parameters; the one of the preparation has not.
            b"Query" | b"Execute" if !text.trim().is_empty() => Action::Statement(text),
            b"Quit" => Action::Quit,
            _ => return,
        };
        out.push_back(Entry {
            at_us: open.at_us,
            connection: open.connection,
            line: open.line,
            action,
        });
    }
}

/// `user@host on database using TCP/IP`; the database may be empty.
fn database_of(connect: &str) -> Option<String> {
    let (_, rest) = connect.split_once(" on ")?;
    let database = rest.split(" using ").next().unwrap_or_default().trim();
    (!database.is_empty() && !database.starts_with("using")).then(|| database.to_owned())
}

/// The begin of an entry, if a line is one. A line of a statement that looks like one is taken for one: the
/// log does not tell them apart.
fn head(line: &[u8]) -> Option<Head<'_>> {
    let (at_us, rest) = match time::parse(line) {
        Some((at, rest)) => (Some(at), rest.strip_prefix(b"\t")?),
        None => (None, line.strip_prefix(b"\t\t")?),
    };
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at_checked(digits)?;
    let connection = time::number(digits)?;
    let rest = rest.strip_prefix(b" ")?;
    for command in COMMANDS {
        let Some(argument) = rest.strip_prefix(*command) else {
            continue;
        };
        let argument = argument.trim_ascii_start_of(b' ');
        if argument.is_empty() || argument.starts_with(b"\t") {
            return Some(Head {
                at_us,
                connection,
                command,
                argument: argument.strip_prefix(b"\t").unwrap_or(argument),
            });
        }
    }
    None
}

trait TrimStart {
    fn trim_ascii_start_of(&self, byte: u8) -> &Self;
}

impl TrimStart for [u8] {
    fn trim_ascii_start_of(&self, byte: u8) -> &Self {
        let count = self.iter().take_while(|found| **found == byte).count();
        self.get(count..).unwrap_or_default()
    }
}
