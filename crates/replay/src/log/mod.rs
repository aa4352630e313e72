//! The statements of a log, in its order, each with its connection and its time.
//!
//! [`general`] and [`slow`] know the two formats. A log is read line by line, and only one statement is in
//! memory.

mod entry;
mod general;
mod slow;
#[cfg(test)]
mod tests;
mod time;

use std::io::BufRead;

use entry::is_banner;
pub(crate) use entry::{Action, Entry, Skipped};

/// Reads a log. Fails when reading fails, and then ends.
pub(crate) struct Log<R> {
    lines: Lines<R>,
    format: Option<Format>,
    pending: std::collections::VecDeque<Entry>,
    ended: bool,
}

#[derive(Debug)]
enum Format {
    General(general::GeneralLogState),
    Slow(slow::SlowLogState),
}

impl<R: BufRead> Log<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            lines: Lines {
                input,
                number: 0,
                last_is_open: false,
                skipped: Skipped::default(),
            },
            format: None,
            pending: std::collections::VecDeque::new(),
            ended: false,
        }
    }

    pub(crate) fn skipped(&self) -> Skipped {
        self.lines.skipped
    }

    /// Whether any line was of a log that is known.
    pub(crate) fn is_known(&self) -> bool {
        self.format.is_some()
    }

    fn line(&mut self, line: &[u8]) {
        let number = self.lines.number;
        if self.format.is_none() {
            if slow::is_start(line) {
                self.format = Some(Format::Slow(slow::SlowLogState::default()));
            } else if general::is_start(line) {
                self.format = Some(Format::General(general::GeneralLogState::default()));
            }
        }
        let skipped = &mut self.lines.skipped;
        match &mut self.format {
            Some(Format::General(state)) => state.line(line, number, skipped, &mut self.pending),
            Some(Format::Slow(state)) => state.line(line, number, skipped, &mut self.pending),
            None if is_banner(line) => {}
            None => skipped.lines += 1,
        }
    }

    fn end(&mut self) {
        self.ended = true;
        let skipped = &mut self.lines.skipped;
        match &mut self.format {
            Some(Format::General(state)) => state.end(skipped, &mut self.pending),
            Some(Format::Slow(state)) => state.end(skipped, &mut self.pending),
            None => {}
        }
        let is_statement = |entry: &Entry| matches!(entry.action, Action::Statement(_));
        if self.lines.last_is_open && self.pending.back().is_some_and(is_statement) {
            self.pending.pop_back();
            self.lines.skipped.is_cut_off = true;
        }
    }
}

impl<R: BufRead> Iterator for Log<R> {
    type Item = std::io::Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.pending.pop_front() {
                return Some(Ok(entry));
            }
            if self.ended {
                return None;
            }
            match self.lines.next() {
                Ok(Some(line)) => self.line(&line),
                Ok(None) => self.end(),
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

struct Lines<R> {
    input: R,
    number: u64,
    /// The last line that was read does not end with a line feed.
    last_is_open: bool,
    skipped: Skipped,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if self.input.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.last_is_open = line.pop_if(|last| *last == b'\n').is_none();
        self.number += 1;
        Ok(Some(line))
    }
}
