//! What others see of the locks of statements and sessions, for `metadata_locks`. The tables that transactions use
//! are not among them: [`crate::TableUses`].

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::Use;
use crate::wait::state;

/// What locks are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// ALTER TABLE and its like, beside transactions until the new definition is published.
    Alter,
    /// DROP, TRUNCATE and RENAME TABLE, which no transaction sees.
    Replace,
    /// LOCK TABLES.
    LockTables,
    /// FLUSH TABLES WITH READ LOCK.
    LockAll,
    /// LOCK INSTANCE FOR BACKUP.
    Backup,
    /// A statement that LOCK INSTANCE keeps out.
    Definition,
}

/// How far a claim is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It waits for its first lock.
    Waits,
    /// It has its locks.
    Holds,
    /// It has them, and waits for the transactions that use the tables.
    WaitsAlone,
    /// No transaction uses the tables.
    Alone,
}

const STAGES: [Stage; 4] = [Stage::Waits, Stage::Holds, Stage::WaitsAlone, Stage::Alone];

/// Locks that a session has or waits for. Dropped, they are not shown any more.
pub struct Claim {
    session: u64,
    purpose: Purpose,
    /// Ids, and whether for writing.
    tables: Vec<(i64, bool)>,
    stage: AtomicU8,
    /// [`Claims::all_locked`], for a claim that counts there.
    counted: Option<Arc<AtomicUsize>>,
}

/// A [`Claim`] of this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimNow {
    /// 0: the server itself.
    pub session: u64,
    pub purpose: Purpose,
    pub stage: Stage,
    pub tables: Vec<(i64, bool)>,
}

impl Claim {
    /// Shows how far it is.
    pub fn set(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Relaxed);
    }

    fn now(&self) -> ClaimNow {
        ClaimNow {
            session: self.session,
            purpose: self.purpose,
            stage: STAGES[usize::from(self.stage.load(Ordering::Relaxed))],
            tables: self.tables.clone(),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(counted) = &self.counted {
            counted.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The claims of a process.
#[derive(Default)]
pub(super) struct Claims {
    all: Mutex<Vec<Weak<Claim>>>,
    /// How many sessions have, or wait for, all tables by FLUSH TABLES WITH READ LOCK.
    all_locked: Arc<AtomicUsize>,
}

impl Claims {
    /// Shows a claim that waits, until the result is dropped.
    pub(super) fn add(&self, session: u64, purpose: Purpose, tables: &[(i64, bool)]) -> Arc<Claim> {
        let counted = (purpose == Purpose::LockAll).then(|| Arc::clone(&self.all_locked));
        if let Some(counted) = &counted {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        let claim = Arc::new(Claim {
            session,
            purpose,
            tables: tables.to_vec(),
            stage: AtomicU8::new(Stage::Waits as u8),
            counted,
        });
        let mut all = self.all.lock();
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&claim));
        claim
    }

    pub(super) fn now(&self) -> Vec<ClaimNow> {
        let all = self.all.lock();
        let alive = all.iter().filter_map(Weak::upgrade);
        alive.map(|claim| claim.now()).collect()
    }

    /// What a session waits for that cannot use a table.
    pub(super) fn state_of_wait(&self, table: i64, what: Use) -> &'static str {
        match what {
            _ if table == super::INSTANCE => state::BACKUP,
            Use::Write if self.all_locked.load(Ordering::Relaxed) > 0 => state::ALL_TABLES,
            _ => state::TABLE,
        }
    }
}
