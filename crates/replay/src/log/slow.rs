//! The slow query log: lines that begin with `#` have the time and the account, then come `use`, `SET
//! timestamp` and the statement, which ends with a semicolon at the end of a line.

use std::collections::VecDeque;

use super::entry::{Action, Entry, Skipped, is_banner, statement};
use super::time;

#[derive(Debug, Default)]
pub(super) struct SlowLogState {
    at_us: u64,
    connection: u64,
    is_open: bool,
    line: u64,
    text: Vec<u8>,
}

pub(super) fn is_start(line: &[u8]) -> bool {
    line.starts_with(b"# Time: ") || line.starts_with(b"# User@Host: ")
}

impl SlowLogState {
    pub(super) fn line(
        &mut self,
        line: &[u8],
        number: u64,
        skipped: &mut Skipped,
        out: &mut VecDeque<Entry>,
    ) {
        let is_head = is_start(line) || line.starts_with(b"# Thread_id: ");
        if is_head || (self.text.is_empty() && line.starts_with(b"#")) {
            if is_head && !self.text.is_empty() {
                self.end(skipped, out);
            }
            self.head(line);
            self.is_open = true;
            return;
        }
        if !self.is_open || is_banner(line) && !line.is_empty() {
            skipped.lines += u64::from(!is_banner(line));
            return;
        }
        if self.text.is_empty() {
            if let Some(database) = line
                .strip_prefix(b"use ")
                .and_then(|rest| rest.strip_suffix(b";"))
            {
                if let Some(name) = statement(database) {
                    let name = name.trim().trim_matches('`').to_owned();
                    self.push(number, Action::UseDatabase(name), out);
                }
                return;
            }
            if let Some(seconds) = line.strip_prefix(b"SET timestamp=") {
                let digits = seconds.iter().take_while(|byte| byte.is_ascii_digit()).count();
                if let Some(seconds) = seconds.get(..digits).and_then(time::number) {
                    // Two sources of the same time: the finer one is kept.
                    if self.at_us / 1_000_000 != seconds {
                        self.at_us = seconds.saturating_mul(1_000_000);
                    }
                }
                return;
            }
            self.line = number;
        } else {
            self.text.push(b'\n');
        }
        self.text.extend_from_slice(line);
        if line.ends_with(b";") {
            self.text.pop();
            self.end(skipped, out);
        }
    }

    fn head(&mut self, line: &[u8]) {
        if let Some(rest) = line.strip_prefix(b"# Time: ")
            && let Some((at, _)) = time::parse(rest)
        {
            self.at_us = at;
        }
        let id = find(line, b"  Id:").or_else(|| find(line, b"# Thread_id:"));
        if let Some(rest) = id {
            let rest = rest.trim_ascii_start();
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if let Some(id) = rest.get(..digits).and_then(time::number) {
                self.connection = id;
            }
        }
    }

    fn push(&self, line: u64, action: Action, out: &mut VecDeque<Entry>) {
        out.push_back(Entry {
            at_us: self.at_us,
            connection: self.connection,
            line,
            action,
        });
    }

    pub(super) fn end(&mut self, skipped: &mut Skipped, out: &mut VecDeque<Entry>) {
        let bytes = std::mem::take(&mut self.text);
        match statement(&bytes) {
            Some(text) if text.trim().is_empty() => {}
            // An action of the server itself: `# administrator command: Quit`.
            Some(text) if text.starts_with('#') => {}
            Some(text) => self.push(self.line, Action::Statement(text), out),
            None => skipped.unreadable += 1,
        }
    }
}

/// What is behind a text in a line.
fn find<'a>(line: &'a [u8], text: &[u8]) -> Option<&'a [u8]> {
    let at = line.windows(text.len()).position(|part| part == text)?;
    line.get(at + text.len()..)
}
