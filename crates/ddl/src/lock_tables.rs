//! LOCK TABLES: tables that a session keeps from others, on all nodes of the store.

use std::sync::Arc;

use cluster::metadata_lock::SessionLocks;
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
}

impl SchemaChanger {
    /// Locks tables for a session: their ids, each once, and whether it is WRITE. Waits for the statements and
    /// transactions that use them, on all nodes. The session must not use any of them.
    ///
    /// # Errors
    /// 1205 after the timeout, 1317 when interrupted, 8027 when the lease is lost meanwhile; those of the store.
    pub fn lock_tables(self: &Arc<Self>, tables: &[(i64, bool)], limit: &WaitLimit) -> Result<HeldTables> {
        let held = match &self.jobs {
            Jobs::Local(_) => {
                let locks = self.cluster().metadata_locks();
                Held::Here(locks.lock_for_session(tables, limit)?)
            }
            Jobs::Shared(_) if tables.is_empty() => Held::OnAllNodes { _lock: None },
            Jobs::Shared(jobs) => Held::OnAllNodes {
                _lock: Some(Box::new(OnAllNodes {
                    job: jobs.lock_tables(tables, limit)?,
                    changer: Arc::clone(self),
                })),
            },
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
