//! SESSION_TRACK: changes of the session's state that the next OK packet reports, for programs that move
//! sessions between servers (manual 5.1.18, "Server Tracking of Client Session State").
//!
//! Before a packet that can report changes of the transaction, the state is compared with the one reported
//! last.

use runner::{Characteristics, Isolation, TransactionContext, TransactionUses};
use wire::session_track::SessionTrack;

use crate::variables::settings::TrackTransaction;

/// See the module.
#[derive(Default)]
pub struct SessionTracker {
    /// Changes that are not reported yet.
    changes: SessionTrack,
    reported: ReportedTransaction,
}

/// The state of the transaction that was reported last.
#[derive(Debug, PartialEq, Eq)]
struct ReportedTransaction {
    state: [u8; 8],
    characteristics: String,
}

impl Default for ReportedTransaction {
    fn default() -> Self {
        Self {
            state: *b"________",
            characteristics: String::new(),
        }
    }
}

impl SessionTracker {
    /// What the next OK packet reports.
    pub fn changes(&self) -> &SessionTrack {
        &self.changes
    }

    pub fn take_changes(&mut self) -> SessionTrack {
        std::mem::take(&mut self.changes)
    }

    /// Clears the changes, which have been reported or need not be.
    pub fn clear_changes(&mut self) {
        self.changes.clear();
    }

    pub fn system_variable(&mut self, name: &str, value: &str) {
        self.changes.system_variable(name, value);
    }

    pub fn schema(&mut self, database: &str) {
        self.changes.schema(database);
    }

    pub fn state_change(&mut self) {
        self.changes.state_change();
    }

    /// Must be called if the reported state of the transaction did not arrive. All of it is reported again.
    pub fn forget_transaction(&mut self) {
        self.reported = ReportedTransaction {
            state: [0; 8],
            characteristics: "?".to_owned(),
        };
    }

    /// Must be called before a packet that can report the transaction. `rows`: the packet ends a result set.
    pub fn transaction(
        &mut self,
        track: TrackTransaction,
        transaction: &mut TransactionContext,
        tables_locked: bool,
        rows: bool,
    ) {
        if track == TrackTransaction::Off {
            return;
        }
        let explicit = transaction.is_explicit();
        if !transaction.in_transaction() {
            transaction.uses = TransactionUses::default();
        }
        let uses = &mut transaction.uses;
        uses.returned_rows |= rows && (explicit || uses.any());
        let state = state(explicit, *uses, tables_locked);
        if state != self.reported.state {
            self.reported.state = state;
            self.changes.transaction_state(&String::from_utf8_lossy(&state));
        }
        if track == TrackTransaction::Characteristics {
            let text = statements(explicit, transaction.asked());
            if text != self.reported.characteristics {
                self.changes.transaction_characteristics(&text);
                self.reported.characteristics = text;
            }
        }
    }
}

/// Eight characters: transaction, reads and writes of tables without and with transactions, statements that
/// are not deterministic (never set here), rows sent, LOCK TABLES.
fn state(explicit: bool, uses: TransactionUses, tables_locked: bool) -> [u8; 8] {
    let mut state = *b"________";
    let mut set = |place: usize, on: bool, letter: u8| {
        if on {
            state[place] = letter;
        }
    };
    set(0, uses.any(), b'I');
    set(0, explicit, b'T');
    set(2, uses.read, b'R');
    set(4, uses.written, b'W');
    set(6, uses.returned_rows, b'S');
    set(7, tables_locked, b'L');
    state
}

/// The statements that would begin such a transaction, or prepare for it.
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
    use planner::object_access::LockMode;

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
        let mut uses = TransactionUses::default();
        assert_eq!(&state(false, uses, true), b"_______L");
        assert_eq!(&state(true, uses, false), b"T_______");
        uses.note(LockMode::Write);
        uses.note(LockMode::Read);
        uses.returned_rows = true;
        assert_eq!(&state(false, uses, false), b"I_R_W_S_");
    }
}
