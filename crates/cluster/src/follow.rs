//! Following the stored schema version.
//!
//! A node closes the tables that have changed to new transactions, as a definition statement does in one
//! process, waits for the transactions that use them, and installs the new definitions. A version is
//! published only when all live nodes have the one before it (`ddl`), so at most two neighbouring versions
//! are in use.
//!
//! Nothing here blocks on a transaction: if tables of the next version are in use, the node tries again at
//! its next look. So the lease is renewed meanwhile, and the node notices when the version is taken back.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kv::{Snapshot, Store, Timestamp};
use parking_lot::Mutex;
use schema::model::{Schema, Table};
use types::{Error, Result, errno};

use crate::lease::Lease;
use crate::metadata_lock::{ClosedTable, MetadataLocks, PAUSE_MAX, PAUSE_MIN, ROUND};
use crate::node::Node;
use crate::schema_cache::{Closing, SchemaCache, read_frozen};
use crate::transaction_locks::TransactionLocks;

/// A schema version as the store has it.
pub(crate) struct StoredVersion {
    schema: Schema,
    frozen: BTreeSet<Closing>,
}

impl StoredVersion {
    pub(crate) fn read(schemas: &SchemaCache, snapshot: &Snapshot) -> Result<Self> {
        Ok(Self {
            frozen: read_frozen(snapshot)?,
            schema: schemas.read(snapshot)?,
        })
    }
}

/// Where a node installs the versions that it follows.
#[derive(Clone, Copy)]
pub(crate) struct Installation<'a> {
    pub(crate) store: &'a Store,
    pub(crate) schemas: &'a SchemaCache,
    pub(crate) locks: &'a MetadataLocks,
}

/// The locks of a transaction whose commit may still arrive, until the store would refuse it.
struct UndeterminedTransaction {
    fence: Timestamp,
    _locks: TransactionLocks,
}

/// This node's progress towards the stored version.
#[derive(Default)]
pub(crate) struct Follower {
    approach: Mutex<Approach>,
    undetermined: Mutex<Vec<UndeterminedTransaction>>,
}

impl Follower {
    /// What a new node starts with. No statement uses it yet.
    pub(crate) fn start(&self, here: Installation<'_>) -> Result<()> {
        let version = StoredVersion::read(here.schemas, &here.store.snapshot_now()?)?;
        self.approach.lock().force(here, version)
    }

    /// Brings this node as near to the version `stored` as its transactions permit. If the lease was lost,
    /// joins again; returns the new node if its number is another.
    pub(crate) fn follow(&self, here: Installation<'_>, lease: &Lease, stored: u64) -> Result<Option<u32>> {
        // First, because what follows can take long.
        lease.renew_if_due(here.schemas.version())?;
        let mut approach = self.approach.lock();
        self.release_determined(here.store)?;
        if lease.node().is_lost() {
            return join_again(here, lease, &mut approach);
        }
        // Another thread may have read a newer version than the caller, and have installed it.
        if stored > here.schemas.version() {
            approach.busy_since = Some(Instant::now());
            approach.step(here, stored)?;
        }
        lease.renew_if_due(here.schemas.version())?;
        Ok(None)
    }

    /// When the definitions last changed.
    pub(crate) fn busy_since(&self) -> Option<Instant> {
        self.approach.lock().busy_since
    }

    /// Keeps the locks of a transaction whose commit has an unknown outcome, until that commit cannot arrive
    /// any more.
    pub(crate) fn keep_undetermined(&self, locks: TransactionLocks) {
        if let Some(fence) = locks.fence() {
            let fence = fence.last();
            self.undetermined
                .lock()
                .push(UndeterminedTransaction { fence, _locks: locks });
        }
    }

    fn release_determined(&self, store: &Store) -> Result<()> {
        let mut undetermined = self.undetermined.lock();
        if !undetermined.is_empty() {
            let now = store.current_ts()?;
            undetermined.retain(|transaction| transaction.fence >= now);
        }
        Ok(())
    }
}

/// The lease was lost: this node begins again with the newest version. Transactions of the old lease may go
/// on using tables, but cannot commit, so nothing waits for them here. Those that continue under the new
/// lease ([`Node::continues`]) use no table that has changed or is closed.
fn join_again(here: Installation<'_>, lease: &Lease, approach: &mut Approach) -> Result<Option<u32>> {
    // The version is installed before the lease is visible: a statement under the new lease sees definitions
    // that it covers.
    let (before, now) = lease.join_again(|node: &mut Node| {
        let version = StoredVersion::read(here.schemas, &here.store.snapshot_now()?)?;
        node.changed_tables = changed_tables(&here.schemas.current(), &version.schema);
        let frozen = version.frozen.iter().map(|closing| closing.table);
        node.changed_tables.extend(frozen);
        approach.force(here, version)
    })?;
    Ok((now.number != before.number).then_some(now.number))
}

#[derive(Default)]
struct Approach {
    /// Tables that are closed here: frozen in the installed version, or changed by the next.
    closed: HashMap<Closing, ClosedTable>,
    frozen: BTreeSet<Closing>,
    /// The version to install next.
    target: Option<StoredVersion>,
    round: Round,
    busy_since: Option<Instant>,
}

/// Tables are kept closed for a limited time, and then open for a while, until no transaction uses them.
#[derive(Default)]
struct Round {
    /// When the tables open again.
    until: Option<Instant>,
    /// When the next round begins.
    paused_until: Option<Instant>,
    pause: Duration,
}

impl Approach {
    /// Closes the changed tables and, if no transaction uses them, installs the version.
    fn step(&mut self, here: Installation<'_>, stored: u64) -> Result<()> {
        let target = match self.target.take() {
            Some(target) if target.schema.version >= stored => target,
            _ => StoredVersion::read(here.schemas, &here.store.snapshot_now()?)?,
        };
        let changed = changed_tables(&here.schemas.current(), &target.schema);
        let mut needed: BTreeSet<Closing> = changed.into_iter().map(Closing::to_all).collect();
        needed.extend(&target.frozen);
        if self.close(&needed, here.locks) {
            self.install(here, target);
        } else {
            self.target = Some(target);
        }
        Ok(())
    }

    /// Closes tables. True if no transaction that they are closed to uses any of them.
    fn close(&mut self, needed: &BTreeSet<Closing>, locks: &MetadataLocks) -> bool {
        let now = Instant::now();
        let frozen = &self.frozen;
        self.closed
            .retain(|closing, _| needed.contains(closing) || frozen.contains(closing));
        let is_paused = self.round.paused_until.is_some_and(|until| now < until);
        let to_close = needed.iter().filter(|_| !is_paused);
        for closing in to_close {
            if !self.closed.contains_key(closing)
                && let Some(closed) = locks.try_close(closing.table, closing.to)
            {
                self.closed.insert(*closing, closed);
            }
        }
        let is_closed = |closing| self.closed.get(closing).is_some_and(ClosedTable::is_left);
        // Also in a pause: the version that takes back the one that caused the pause needs no table closed.
        if needed.iter().all(is_closed) {
            return true;
        }
        if !is_paused && now >= *self.round.until.get_or_insert(now + ROUND) {
            self.closed.retain(|closing, _| frozen.contains(closing));
            let pause = (self.round.pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
            self.round = Round {
                until: None,
                paused_until: Some(now + pause),
                pause,
            };
        }
        false
    }

    /// Makes a version visible, and opens the tables that are not frozen in it.
    fn install(&mut self, here: Installation<'_>, target: StoredVersion) {
        let StoredVersion { mut schema, frozen } = target;
        let before = here.schemas.current();
        let changed = changed_tables(&before, &schema);
        share_unchanged(&before, &mut schema);
        let is_dropped = |id: &i64| schema.table_by_id(*id).is_none();
        let dropped: Vec<i64> = changed.iter().copied().filter(is_dropped).collect();
        here.schemas.install(schema);
        for id in changed {
            here.schemas.table_changed(id);
        }
        self.closed.retain(|closing, _| frozen.contains(closing));
        self.frozen = frozen;
        self.round = Round::default();
        self.target = None;
        for id in dropped {
            here.locks.forget(id);
        }
    }

    /// Installs a version although transactions may use its tables.
    fn force(&mut self, here: Installation<'_>, version: StoredVersion) -> Result<()> {
        for closing in &version.frozen {
            if self.closed.contains_key(closing) {
                continue;
            }
            let closed = here.locks.try_close(closing.table, closing.to).ok_or_else(|| {
                Error::new(
                    errno::ER_LOCK_WAIT_TIMEOUT,
                    "another server has closed a table whose definition this one is changing; try again",
                )
            })?;
            self.closed.insert(*closing, closed);
        }
        self.install(here, version);
        Ok(())
    }
}

/// Tables of `before` whose definitions in `after` are different, or that `after` does not have.
fn changed_tables(before: &Schema, after: &Schema) -> BTreeSet<i64> {
    let revisions: HashMap<i64, u64> = after.tables().map(|t| (t.id, t.revision)).collect();
    before
        .tables()
        .filter(|t| revisions.get(&t.id) != Some(&t.revision))
        .map(|t| t.id)
        .collect()
}

/// Uses the objects of `before` for tables that are equal: statements recognise by the address what they have
/// cached. The comparison is of whole definitions, since a definition can change without a new revision (it
/// takes ids for new indexes).
fn share_unchanged(before: &Schema, after: &mut Schema) {
    let old: HashMap<i64, &Arc<Table>> = before.tables().map(|t| (t.id, t)).collect();
    for database in after.databases.values_mut().filter(|d| !d.is_system()) {
        for table in Arc::make_mut(database).tables.values_mut() {
            if let Some(old) = old.get(&table.id).filter(|old| old.as_ref() == table.as_ref()) {
                *table = Arc::clone(old);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Such a version takes back the one that caused the pause, or is about other tables.
    #[test]
    fn a_version_that_closes_no_table_does_not_wait_for_the_end_of_a_pause() {
        let locks = MetadataLocks::default();
        let mut approach = Approach::default();
        approach.round.paused_until = Some(Instant::now() + Duration::from_secs(3_600));
        assert!(!approach.close(&BTreeSet::from([Closing::to_all(7)]), &locks));
        assert!(approach.close(&BTreeSet::new(), &locks));
    }
}
