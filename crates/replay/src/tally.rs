//! The results of the statements: latencies by kind, errors and differences by digest.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::log::Skipped;

/// A text of a log or of a server for a terminal, which obeys control characters: in one line, without any.
pub(crate) fn printable(text: &str) -> String {
    let shown = |character: char| match character {
        '\n' | '\r' | '\t' => ' ',
        other if other.is_control() => char::REPLACEMENT_CHARACTER,
        other => other,
    };
    text.chars().map(shown).collect()
}

/// Statements of one kind.
#[derive(Debug, Clone)]
pub(crate) struct KindTally {
    /// In microseconds.
    pub(crate) latency: Histogram<u64>,
    pub(crate) errors: u64,
}

impl Default for KindTally {
    fn default() -> Self {
        let mut latency = Histogram::new_with_bounds(1, 3_600_000_000, 3)
            .unwrap_or_else(|_| unreachable!("the bounds are valid"));
        latency.auto(true);
        Self { latency, errors: 0 }
    }
}

/// Statements that differ in their literals only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    pub(crate) count: u64,
    /// The line of the log of the first one, and what happened to it.
    pub(crate) line: u64,
    pub(crate) example: String,
}

/// What one worker, or all, have seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) kinds: BTreeMap<String, KindTally>,
    /// By code of the error and digest.
    pub(crate) errors: BTreeMap<(u16, String), Group>,
    /// By digest: statements whose results differ on the second server.
    pub(crate) differences: BTreeMap<String, Group>,
    /// Statements whose results were compared.
    pub(crate) compared: u64,
    pub(crate) connections: u64,
    /// Statements in each second of the replay.
    pub(crate) seconds: BTreeMap<u64, u64>,
    /// How late the latest statement was sent, in microseconds.
    pub(crate) latest_us: u64,
}

impl Tally {
    pub(crate) fn ran(&mut self, sql: &str, latency_us: u64, second: u64) -> &mut KindTally {
        *self.seconds.entry(second).or_default() += 1;
        let kind = self.kinds.entry(kind(sql)).or_default();
        // Longer than an hour counts as an hour.
        kind.latency.saturating_record(latency_us.max(1));
        kind
    }

    pub(crate) fn failed(&mut self, sql: &str, line: u64, code: u16, message: &str) {
        add(&mut self.errors, (code, digest(sql)), line, message);
    }

    pub(crate) fn differs(&mut self, sql: &str, line: u64, how: &str) {
        add(&mut self.differences, digest(sql), line, how);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (name, theirs) in other.kinds {
            let ours = self.kinds.entry(name).or_default();
            // Both have the same bounds.
            let _ = ours.latency.add(&theirs.latency);
            ours.errors += theirs.errors;
        }
        merge_groups(&mut self.errors, other.errors);
        merge_groups(&mut self.differences, other.differences);
        for (second, count) in other.seconds {
            *self.seconds.entry(second).or_default() += count;
        }
        self.compared += other.compared;
        self.connections += other.connections;
        self.latest_us = self.latest_us.max(other.latest_us);
    }

    pub(crate) fn statements(&self) -> u64 {
        self.kinds.values().map(|kind| kind.latency.len()).sum()
    }
}

/// The subject of the report.
pub(crate) struct Replayed {
    pub(crate) log: String,
    pub(crate) server: String,
    pub(crate) other: Option<String>,
    pub(crate) elapsed: Duration,
    pub(crate) skipped: Skipped,
    pub(crate) tally: Tally,
}

fn add<K: Ord>(groups: &mut BTreeMap<K, Group>, key: K, line: u64, example: &str) {
    let group = groups.entry(key).or_default();
    if group.count == 0 {
        group.line = line;
        group.example = example.to_owned();
    }
    group.count += 1;
}

fn merge_groups<K: Ord>(ours: &mut BTreeMap<K, Group>, theirs: BTreeMap<K, Group>) {
    for (key, group) in theirs {
        let mine = ours.entry(key).or_default();
        if mine.count == 0 || group.line < mine.line {
            mine.line = group.line;
            mine.example = group.example;
        }
        mine.count += group.count;
    }
}

/// The first word of a statement: `SELECT`.
pub(crate) fn kind(sql: &str) -> String {
    let digest = digest(sql);
    let word = digest
        .trim_start_matches('(')
        .split([' ', '('])
        .next()
        .unwrap_or_default();
    match word.is_empty() || !word.chars().all(|character| character.is_ascii_alphabetic()) {
        true => "OTHER".to_owned(),
        false => word.to_uppercase(),
    }
}

/// A statement without its literals and comments, on one line. Lists of literals become `(?, ...)`.
pub(crate) fn digest(sql: &str) -> String {
    let mut out = String::new();
    let mut rest = sql.trim();
    while let Some(first) = rest.chars().next() {
        let behind = &rest[first.len_utf8()..];
        let is_in_name =
            out.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | '$' | '`' | '@'));
        match first {
            '\'' | '"' => {
                rest = behind_quote(behind, first);
                literal(&mut out);
            }
            '`' => {
                let name = behind_quote(behind, '`');
                out.push_str(&rest[..rest.len() - name.len()]);
                rest = name;
            }
            '/' if behind.starts_with('*') => rest = behind.split_once("*/").map_or("", |(_, rest)| rest),
            '#' => rest = behind.split_once('\n').map_or("", |(_, rest)| rest),
            '-' if behind.starts_with("- ") => rest = behind.split_once('\n').map_or("", |(_, rest)| rest),
            '0'..='9' if !is_in_name => {
                let end = behind.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
                rest = end.map_or("", |end| &behind[end..]);
                literal(&mut out);
            }
            space if space.is_whitespace() => {
                if !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
                rest = behind;
            }
            other => {
                out.push(other);
                rest = behind;
            }
        }
    }
    out.trim_end_matches([' ', ';']).to_owned()
}

/// Writes `?`. Behind `?, ` it makes `?, ...`, and then nothing.
fn literal(out: &mut String) {
    let before = out.trim_end_matches(' ');
    if let Some(list) = before.strip_suffix(',') {
        let list = list.trim_end_matches(' ');
        if list.ends_with("...") || list.ends_with('?') {
            let is_long = list.ends_with("...");
            out.truncate(list.len());
            if !is_long {
                out.push_str(", ...");
            }
            return;
        }
    }
    out.push('?');
}

/// What is behind the closing quote. A doubled one and one behind a backslash do not close.
fn behind_quote(text: &str, quote: char) -> &str {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == '\\' && quote != '`' {
            characters.next();
        } else if character == quote {
            let behind = &text[at + 1..];
            if !behind.starts_with(quote) {
                return behind;
            }
            characters.next();
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_characters() {
        assert_eq!(
            printable("a\u{1b}[2J\n\té\u{9b}\u{0}"),
            "a\u{fffd}[2J  é\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn a_digest_has_no_literals() {
        for (sql, expected) in [
            (
                "SELECT  *\nFROM t1 WHERE a = 'x''y\\'z' AND b=12.5 -- end\n",
                "SELECT * FROM t1 WHERE a = ? AND b=?",
            ),
            (
                "select 1 from `a 1` where i in (1, 2,3)",
                "select ? from `a 1` where i in (?, ...)",
            ),
            (
                "/* hint */ INSERT INTO t VALUES (1,'é',NULL);",
                "INSERT INTO t VALUES (?, ...,NULL)",
            ),
            ("SELECT 'unclosed", "SELECT ?"),
            ("", ""),
        ] {
            assert_eq!(digest(sql), expected, "{sql}");
        }
    }

    #[test]
    fn kinds_are_first_words() {
        assert_eq!(kind("(select 1) union (select 2)"), "SELECT");
        assert_eq!(kind("/* x */ insert into t values (1)"), "INSERT");
        assert_eq!(kind("?"), "OTHER");
    }
}
