//! Metadata locks of a statement.

use cluster::metadata_lock::Use;
use cluster::wait::WaitLimit;
use planner::object_access::{LockMode, ObjectAccess};
use types::Result;

use crate::environment::Environment;
use crate::interruption::interruption;
use crate::transaction::TransactionContext;

/// What a lock mode means for a table's metadata lock.
pub fn use_of(mode: LockMode) -> Use {
    match mode {
        LockMode::Read => Use::Read,
        LockMode::Write => Use::Write,
    }
}

/// The metadata locks of a plan that was made for `schema_version`.
pub(crate) struct PlanLocks<'a> {
    pub accesses: &'a [ObjectAccess],
    pub schema_version: u64,
    /// The caller holds locks of these tables for longer (LOCK TABLES).
    pub are_held: bool,
}

impl PlanLocks<'_> {
    /// Takes the locks. `false`: one of the tables is not what it was.
    pub fn take(&self, env: Environment<'_>, transaction: &mut TransactionContext) -> Result<bool> {
        let limit = WaitLimit {
            timeout: env.settings.metadata_lock_wait,
            interrupt: env.interrupt,
        };
        for access in self.accesses {
            let Some(mode) = access.lock else { continue };
            transaction.uses.note(mode);
            if !self.are_held {
                transaction
                    .locks
                    .acquire(access.table.id, use_of(mode), &limit)
                    .map_err(|error| interruption(env.interrupt, error))?;
            }
        }
        Ok(self.fit_schema(env))
    }

    fn fit_schema(&self, env: Environment<'_>) -> bool {
        let cluster = &env.engine.cluster;
        if cluster.schema_version() == self.schema_version {
            return true;
        }
        let schema = cluster.schema();
        self.accesses
            .iter()
            .filter(|access| access.lock.is_some())
            .all(|access| {
                let planned = &access.table;
                schema
                    .table(&planned.database, &planned.name)
                    .is_some_and(|now| now.id == planned.id && now.revision == planned.revision)
            })
    }
}
