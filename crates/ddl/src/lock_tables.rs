//! LOCK TABLES: tables that a session keeps from others, on all nodes of the store.

use std::sync::Arc;

use cluster::metadata_lock::{Claim, Purpose, SessionLocks, Stage};
use cluster::wait::WaitLimit;
use types::Result;

use crate::changer::{Jobs, SchemaChanger};
use crate::job::Job;

/// Tables that a session has locked. Dropping it unlocks them.
pub struct HeldTables(Held);

enum Held {
    /// One process has the store to itself.
    Here(SessionLocks),
    /// `None`: no tables.
    OnAllNodes { _lock: Option<Box<OnAllNodes>> },
}

struct OnAllNodes {
    changer: Arc<SchemaChanger>,
    job: Job,
    /// What others of this node see of it.
    _claim: Arc<Claim>,
}

impl SchemaChanger {
    /// Locks tables for a session: their ids, each once, and whether it is WRITE. Waits for the statements and
    /// transactions that use them, on all nodes. The session must not use any of them.
    ///
    /// # Errors
    /// 1205 after the timeout, 1317 when interrupted, 8027 when the lease is lost meanwhile; those of the store.
    pub fn lock_tables(self: &Arc<Self>, tables: &[(i64, bool)], limit: &WaitLimit) -> Result<HeldTables> {
        self.hold(Purpose::LockTables, tables, limit)
    }

    /// The same for FLUSH TABLES WITH READ LOCK, which others see as one lock of all tables.
    ///
    /// # Errors
    /// Those of [`SchemaChanger::lock_tables`].
    pub fn lock_all_tables(
        self: &Arc<Self>,
        tables: &[(i64, bool)],
        limit: &WaitLimit,
    ) -> Result<HeldTables> {
        self.hold(Purpose::LockAll, tables, limit)
    }

    fn hold(
        self: &Arc<Self>,
        purpose: Purpose,
        tables: &[(i64, bool)],
        limit: &WaitLimit,
    ) -> Result<HeldTables> {
        let locks = self.cluster().metadata_locks();
        let held = match &self.jobs {
            Jobs::Local(_) => Held::Here(match purpose {
                Purpose::LockAll => locks.lock_all_for_session(tables, limit)?,
                _ => locks.lock_for_session(tables, limit)?,
            }),
            Jobs::Shared(_) if tables.is_empty() => Held::OnAllNodes { _lock: None },
            Jobs::Shared(jobs) => {
                let claim = locks.claim(limit.interrupt.session(), purpose, tables);
                let job = jobs.lock_tables(tables, limit)?;
                claim.set(Stage::Holds);
                Held::OnAllNodes {
                    _lock: Some(Box::new(OnAllNodes {
                        job,
                        changer: Arc::clone(self),
                        _claim: claim,
                    })),
                }
            }
        };
        Ok(HeldTables(held))
    }
}

impl HeldTables {
    /// Whether a schema change of this process waits for one of the tables. Among nodes it waits for a job,
    /// not for a table.
    pub fn delays_change(&self) -> bool {
        match &self.0 {
            Held::Here(locks) => locks.delays_change(),
            Held::OnAllNodes { .. } => false,
        }
    }
}

impl Drop for OnAllNodes {
    fn drop(&mut self) {
        if let Jobs::Shared(jobs) = &self.changer.jobs {
            jobs.unlock_tables(std::mem::take(&mut self.job));
        }
    }
}
