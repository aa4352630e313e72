//! Metadata locks of a statement.

use cluster::metadata_lock::Use;
use cluster::wait::WaitLimit;
use planner::object_access::{LockMode, ObjectAccess};
use types::Result;

use crate::runner::Runner;

/// What a lock mode means for a table's metadata lock.
pub fn use_of(mode: LockMode) -> Use {
    match mode {
        LockMode::Read => Use::Read,
        LockMode::Write => Use::Write,
    }
}

impl Runner<'_> {
    /// Names the lease of the node that the transaction relies on, before its statement takes locks. Waits
    /// for one, if there is none.
    ///
    /// # Errors
    /// 8027 without a lease that the transaction can go on with; 1317 or 3024 when interrupted.
    pub fn rely_on_lease(&mut self) -> Result<()> {
        match self.transaction.locks.rely_on(self.env.engine.cluster.lease()) {
            Ok(()) => Ok(()),
            Err(_) => self.regain_lease(),
        }
    }

    /// Takes the metadata locks of a plan. `false`: one of its tables is not what it was at `schema_version`,
    /// for which the plan was made; plan again. `are_held`: the caller holds locks of these tables for longer
    /// (LOCK TABLES).
    ///
    /// # Errors
    /// 1205 after `lock_wait_timeout`; 1317 or 3024 when interrupted.
    pub fn lock_tables(
        &mut self,
        accesses: &[ObjectAccess],
        schema_version: u64,
        are_held: bool,
    ) -> Result<bool> {
        let limit = WaitLimit {
            timeout: self.env.settings.metadata_lock_wait,
            interrupt: self.env.interrupt,
        };
        for access in accesses {
            let Some(mode) = access.lock else { continue };
            self.transaction.uses.note(mode);
            if !are_held {
                self.transaction
                    .locks
                    .acquire(access.table.id, use_of(mode), &limit)
                    .map_err(|error| self.interruption(error))?;
            }
        }
        Ok(self.is_current(accesses, schema_version))
    }

    fn is_current(&self, accesses: &[ObjectAccess], schema_version: u64) -> bool {
        let cluster = &self.env.engine.cluster;
        if cluster.schema_version() == schema_version {
            return true;
        }
        let schema = cluster.schema();
        accesses
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
