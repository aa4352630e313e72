//! An entry of a log.

/// An action of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// It was opened, with this database.
    Connect(Option<String>),
    /// It changed its database.
    UseDatabase(String),
    Statement(String),
    Quit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Microseconds since 1970, as the log says it; what it leaves out is the time of the entry before.
    pub(crate) at_us: u64,
    pub(crate) connection: u64,
    /// The line on which it begins, from 1.
    pub(crate) line: u64,
    pub(crate) action: Action,
}

/// What of a log was not read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// Lines that belong to no entry.
    pub(crate) lines: u64,
    /// Statements with bytes that are not UTF-8, or with zero bytes: damage, or a text in another character
    /// set.
    pub(crate) unreadable: u64,
    /// The last line has no end. Its statement may be incomplete: a DELETE without its condition.
    pub(crate) is_cut_off: bool,
}

/// What a server writes when it opens a log: its version, its port, the names of the columns.
pub(super) fn is_banner(line: &[u8]) -> bool {
    let has = |text: &[u8]| line.windows(text.len()).any(|part| part == text);
    line.is_empty() || has(b", Version: ") || line.starts_with(b"Tcp port: ") || line.starts_with(b"Time  ")
}

/// A statement as text, without the semicolon of a slow log. `None` for what no client has sent so.
pub(super) fn statement(bytes: &[u8]) -> Option<String> {
    if bytes.contains(&0) {
        return None;
    }
    String::from_utf8(bytes.to_vec()).ok()
}
