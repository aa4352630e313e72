//! Following the stored schema version.
//!
//! Nothing here waits for transactions: a version whose tables are in use is approached again with the next look, so that
//! the lease is renewed meanwhile, and a version that is taken back is noticed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kv::Snapshot;
use schema::model::Schema;
use types::{Error, Result, errno};

use super::{Membership, lease_is_over, register};
use crate::Catalog;
use crate::catalog::load_schema;
use crate::ddl::job::Job;
use crate::meta::{keys, read_all, read_counter};
use crate::metadata_lock::{ClosedTable, MetadataLocks, PAUSE_MAX, PAUSE_MIN, ROUND};

/// A schema version as the store has it.
pub(crate) struct Loaded {
    schema: Schema,
    /// Tables that nobody may use in this version: a job is about to change them.
    frozen: BTreeSet<i64>,
}

impl Loaded {
    pub(crate) fn read(snapshot: &Snapshot) -> Result<Self> {
        let jobs: Vec<Job> = read_all(snapshot, &keys::jobs(), "job")?;
        Ok(Self {
            schema: load_schema(snapshot)?,
            frozen: jobs.into_iter().flat_map(|job| job.frozen).collect(),
        })
    }
}

/// How far this node has come.
#[derive(Default)]
pub(super) struct Follower {
    /// Tables that are closed here: frozen in the installed version, or about to change with the next.
    closed: HashMap<i64, ClosedTable>,
    frozen: BTreeSet<i64>,
    /// The version that is approached.
    target: Option<Loaded>,
    round: Round,
    /// When the definitions last changed.
    pub(super) busy_since: Option<Instant>,
}

/// Tables are held closed for a limited time, and then open for a while, until they are found empty.
#[derive(Default)]
struct Round {
    /// When the tables open again.
    until: Option<Instant>,
    /// When the next round begins.
    paused_until: Option<Instant>,
    pause: Duration,
}

impl Follower {
    /// Closes tables; whether no transaction is in any of them.
    fn close(&mut self, needed: &BTreeSet<i64>, locks: &MetadataLocks) -> bool {
        let now = Instant::now();
        let frozen = &self.frozen;
        self.closed
            .retain(|id, _| needed.contains(id) || frozen.contains(id));
        let is_paused = self.round.paused_until.is_some_and(|until| now < until);
        let to_close = needed.iter().filter(|_| !is_paused);
        for id in to_close {
            if !self.closed.contains_key(id)
                && let Some(closed) = locks.try_close(*id)
            {
                self.closed.insert(*id, closed);
            }
        }
        let is_closed = |id| self.closed.get(id).is_some_and(ClosedTable::is_empty);
        // In a pause, too: the version that takes back what the pause is for needs nothing closed.
        if needed.iter().all(is_closed) {
            return true;
        }
        if !is_paused && now >= *self.round.until.get_or_insert(now + ROUND) {
            self.closed.retain(|id, _| frozen.contains(id));
            let pause = (self.round.pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
            self.round = Round {
                until: None,
                paused_until: Some(now + pause),
                pause,
            };
        }
        false
    }
}

impl Catalog {
    /// Brings this node as near to the newest version as its transactions let it.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn follow(&self) -> Result<()> {
        let Some(membership) = &self.membership else {
            return Ok(());
        };
        let stored = read_counter(&self.store().latest(), &keys::schema_version())?;
        self.follow_to(membership, stored.unwrap_or(0))
    }

    pub(super) fn follow_to(&self, membership: &Membership, stored: u64) -> Result<()> {
        // First: what follows can take long.
        self.keep_lease()?;
        let mut follower = membership.follower.lock();
        let follower = &mut *follower;
        self.settle(membership)?;
        if membership.node().is_lost() {
            return self.join_again(membership, follower);
        }
        // Another thread may have looked later than the caller, and come further.
        if stored > self.schema_version() {
            follower.busy_since = Some(Instant::now());
            self.approach(follower, stored)?;
        }
        self.keep_lease()
    }

    fn approach(&self, follower: &mut Follower, stored: u64) -> Result<()> {
        let target = match follower.target.take() {
            Some(target) if target.schema.version >= stored => target,
            _ => Loaded::read(&self.store().snapshot_now()?)?,
        };
        let mut needed = changed_tables(&self.schema(), &target.schema);
        needed.extend(&target.frozen);
        if follower.close(&needed, self.locks()) {
            self.install(follower, target);
        } else {
            follower.target = Some(target);
        }
        Ok(())
    }

    /// Shows a version to everybody, and opens the tables that it does not keep closed.
    fn install(&self, follower: &mut Follower, target: Loaded) {
        let Loaded { mut schema, frozen } = target;
        let before = self.schema();
        let changed = changed_tables(&before, &schema);
        keep_unchanged(&before, &mut schema);
        let gone: Vec<i64> = changed
            .iter()
            .copied()
            .filter(|id| schema.table_by_id(*id).is_none())
            .collect();
        self.set_schema(schema);
        for id in changed {
            // ALTER TABLE ... AUTO_INCREMENT; what was leased and not used is lost.
            self.counters.forget(id);
            self.statistics.forget(id);
        }
        follower.closed.retain(|id, _| frozen.contains(id));
        follower.frozen = frozen;
        follower.round = Round::default();
        follower.target = None;
        for id in gone {
            self.locks().forget(id);
        }
    }

    /// What a new node begins with. Nobody uses it yet.
    pub(super) fn begin_following(&self, loaded: Loaded) -> Result<()> {
        let Some(membership) = &self.membership else {
            return Ok(());
        };
        self.install_whatever_is_in_use(&mut membership.follower.lock(), loaded)
    }

    /// The lease was over: this node begins again with the newest version. Transactions of the old lease may go on using
    /// tables, but cannot commit, so nothing waits for them here; those that go on under the new lease
    /// ([`Node::continues`](super::Node)) use no table that has moved. What sessions have locked by LOCK TABLES is unlocked.
    fn join_again(&self, membership: &Membership, follower: &mut Follower) -> Result<()> {
        self.locks().revoke_session_locks();
        let before = membership.node();
        let (options, started_us) = (&membership.options, membership.started_us);
        let mut node = register::enrol(self.store(), options, started_us, Some(&before))?;
        let loaded = Loaded::read(&self.store().snapshot_now()?)?;
        node.moved = changed_tables(&self.schema(), &loaded.schema);
        node.moved.extend(&loaded.frozen);
        self.install_whatever_is_in_use(follower, loaded)?;
        *membership.renewed.lock() = Default::default();
        // After the version: whoever relies on the new lease sees definitions that it covers.
        let number = node.number;
        membership.node.store(Arc::new(node));
        membership.tell_of_lease();
        if number != before.number {
            self.tell_number(number);
        }
        Ok(())
    }

    fn install_whatever_is_in_use(&self, follower: &mut Follower, loaded: Loaded) -> Result<()> {
        for id in &loaded.frozen {
            if follower.closed.contains_key(id) {
                continue;
            }
            let closed = self.locks().try_close(*id).ok_or_else(|| {
                Error::new(
                    errno::ER_LOCK_WAIT_TIMEOUT,
                    "a table that another server changes is being locked by LOCK TABLES",
                )
            })?;
            follower.closed.insert(*id, closed);
        }
        self.install(follower, loaded);
        Ok(())
    }

    /// Releases the locks of transactions whose commits cannot arrive any more.
    fn settle(&self, membership: &Membership) -> Result<()> {
        let mut unsettled = membership.unsettled.lock();
        if !unsettled.is_empty() {
            let now = self.store().current_ts()?;
            unsettled.retain(|transaction| transaction.last >= now);
        }
        Ok(())
    }

    /// The lease that a transaction relies on from now on; none where one process has the store to itself.
    ///
    /// # Errors
    /// 8027 while there is none.
    pub(crate) fn lease(&self) -> Result<Option<Arc<super::Node>>> {
        let Some(membership) = &self.membership else {
            return Ok(None);
        };
        let node = membership.node();
        if node.is_good() {
            Ok(Some(node))
        } else {
            Err(lease_is_over())
        }
    }
}

/// Tables whose definitions in `after` are others, or that are gone.
fn changed_tables(before: &Schema, after: &Schema) -> BTreeSet<i64> {
    let revisions: HashMap<i64, u64> = after.tables().map(|t| (t.id, t.revision)).collect();
    before
        .tables()
        .filter(|t| revisions.get(&t.id) != Some(&t.revision))
        .map(|t| t.id)
        .collect()
}

/// Lets unchanged tables be the same objects as before: statements keep what they know of them by that. Ids can be taken
/// from a table without a change of its definition.
fn keep_unchanged(before: &Schema, after: &mut Schema) {
    let known: HashMap<i64, &Arc<schema::model::Table>> = before.tables().map(|t| (t.id, t)).collect();
    for database in after.databases.values_mut().filter(|d| !d.is_system()) {
        for table in Arc::make_mut(database).tables.values_mut() {
            if let Some(old) = known.get(&table.id).filter(|old| old.as_ref() == table.as_ref()) {
                *table = Arc::clone(old);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It takes back what the pause is for, or is about other things.
    #[test]
    fn a_version_that_closes_nothing_does_not_wait_for_the_end_of_a_pause() {
        let locks = MetadataLocks::default();
        let mut follower = Follower::default();
        follower.round.paused_until = Some(Instant::now() + Duration::from_secs(3_600));
        assert!(!follower.close(&BTreeSet::from([7]), &locks));
        assert!(follower.close(&BTreeSet::new(), &locks));
    }
}
