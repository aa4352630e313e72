//! SESSION_TRACK of the transaction, for those who move sessions from server to server
//! (`session_track_transaction_info`; manual 5.1.18, "Server Tracking of Client Session State").
//!
//! What there is to tell is found by comparison with what was told last, when a packet leaves that can carry it.

use cluster::metadata_lock::Use;

use crate::session::Session;
use crate::transaction::Characteristics;
use crate::variables::settings::Isolation;

/// `session_track_transaction_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackTransaction {
    Off,
    /// What the transaction has done.
    State,
    /// And the statements that would begin it again.
    Characteristics,
}

/// What the open transaction has done with tables, and whether its client has seen rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Deeds {
    read: bool,
    wrote: bool,
    sent_rows: bool,
}

impl Deeds {
    pub fn note(&mut self, what: Use) {
        match what {
            Use::Read => self.read = true,
            Use::Write => self.wrote = true,
        }
    }

    fn any(self) -> bool {
        self.read || self.wrote
    }
}

/// What the client has been told.
#[derive(Debug, PartialEq, Eq)]
pub struct Told {
    state: [u8; 8],
    characteristics: String,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            state: *b"________",
            characteristics: String::new(),
        }
    }
}

impl Told {
    /// Nobody knows what: all is told again.
    pub fn unknown() -> Self {
        Self {
            state: [0; 8],
            characteristics: "?".to_owned(),
        }
    }
}

impl Session {
    /// A packet is about to leave that can tell of the transaction; `rows`: it ends a result set.
    pub(crate) fn track_transaction(&mut self, rows: bool) {
        let track = self.settings.track_transaction;
        if track == TrackTransaction::Off {
            return;
        }
        let locked = self.locked.is_some();
        let explicit = self.transaction.is_explicit();
        let open = self.transaction.in_transaction();
        let deeds = &mut self.transaction.deeds;
        if !open {
            *deeds = Deeds::default();
        }
        deeds.sent_rows |= rows && (explicit || deeds.any());
        let state = state(explicit, *deeds, locked);
        if state != self.told.state {
            self.told.state = state;
            self.changes.transaction_state(&String::from_utf8_lossy(&state));
        }
        if track == TrackTransaction::Characteristics {
            let text = statements(explicit, self.transaction.asked());
            if text != self.told.characteristics {
                self.changes.transaction_characteristics(&text);
                self.told.characteristics = text;
            }
        }
    }
}

/// The eight places: transaction, reads and writes of tables without and with transactions, statements that are not
/// deterministic (not told), rows sent, LOCK TABLES.
fn state(explicit: bool, deeds: Deeds, locked: bool) -> [u8; 8] {
    let mut state = *b"________";
    let mut set = |place: usize, on: bool, letter: u8| {
        if on {
            state[place] = letter;
        }
    };
    set(0, deeds.any(), b'I');
    set(0, explicit, b'T');
    set(2, deeds.read, b'R');
    set(4, deeds.wrote, b'W');
    set(6, deeds.sent_rows, b'S');
    set(7, locked, b'L');
    state
}

/// The statements that begin such a transaction, or prepare for it.
fn statements(explicit: bool, (asked, consistent_snapshot): (Characteristics, bool)) -> String {
    let mut statements = Vec::new();
    if let Some(isolation) = asked.isolation {
        let level = match isolation {
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE READ",
        };
        statements.push(format!("SET TRANSACTION ISOLATION LEVEL {level};"));
    }
    let access = asked
        .read_only
        .map(|read_only| if read_only { "READ ONLY" } else { "READ WRITE" });
    if explicit {
        let snapshot = consistent_snapshot.then_some("WITH CONSISTENT SNAPSHOT");
        let options: Vec<&str> = snapshot.into_iter().chain(access).collect();
        let space = if options.is_empty() { "" } else { " " };
        statements.push(format!("START TRANSACTION{space}{};", options.join(", ")));
    } else if let Some(access) = access {
        statements.push(format!("SET TRANSACTION {access};"));
    }
    statements.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_begin_the_transaction_again() {
        let asked = |isolation, read_only| Characteristics { isolation, read_only };
        let none = asked(None, None);
        let both = asked(Some(Isolation::ReadCommitted), Some(true));
        for (explicit, asked, snapshot, expected) in [
            (false, none, false, ""),
            (true, none, false, "START TRANSACTION;"),
            (true, none, true, "START TRANSACTION WITH CONSISTENT SNAPSHOT;"),
            (
                true,
                both,
                true,
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;",
            ),
            (
                false,
                both,
                false,
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET TRANSACTION READ ONLY;",
            ),
        ] {
            assert_eq!(statements(explicit, (asked, snapshot)), expected);
        }
    }

    #[test]
    fn letters_have_their_places() {
        let mut deeds = Deeds::default();
        assert_eq!(&state(false, deeds, true), b"_______L");
        assert_eq!(&state(true, deeds, false), b"T_______");
        deeds.note(Use::Write);
        deeds.note(Use::Read);
        deeds.sent_rows = true;
        assert_eq!(&state(false, deeds, false), b"I_R_W_S_");
    }
}
