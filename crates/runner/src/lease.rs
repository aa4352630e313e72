//! What a statement does if its node has no lease in the store: it waits for one, and continues or starts
//! again under it.
//!
//! A store that pauses for longer than a lease lasts would otherwise fail every statement that comes next,
//! although the node has a lease again within milliseconds. `docs/schema-changes.md` says why waiting is
//! right, and why a transaction that has written cannot go on.

use std::time::Duration;

use cluster::wait::WaitLimit;
use types::{Error, Result, errno};

use crate::environment::Environment;
use crate::interruption::{interruption, out_of_time};
use crate::transaction::TransactionContext;

impl<'a> Environment<'a> {
    /// How long a statement waits for a lease.
    pub(crate) fn lease_wait(&self) -> Duration {
        let configured = self.engine.cluster.lease_wait();
        configured.min(self.settings.metadata_lock_wait)
    }

    fn lease_limit(&self) -> WaitLimit<'a> {
        WaitLimit {
            timeout: self.lease_wait(),
            interrupt: self.interrupt,
        }
    }
}

/// Waits for a lease before the store is asked for row estimates: without a lease nothing is run in any case,
/// and a store that does not renew it does not answer such questions either. `time_limit`: that of the
/// statement, which is not started yet.
///
/// # Errors
/// 8027 without a lease in time; 3024 at the time limit; 1317 when interrupted.
pub fn await_lease_to_plan(env: Environment<'_>, time_limit: Option<Duration>) -> Result<()> {
    let cluster = &env.engine.cluster;
    if cluster.has_lease() {
        return Ok(());
    }
    let lease_wait = env.lease_wait();
    let timeout = time_limit.map_or(lease_wait, |limit| lease_wait.min(limit));
    let limit = WaitLimit {
        timeout,
        interrupt: env.interrupt,
    };
    cluster.await_lease(&limit).map_err(|error| match error.code {
        errno::ER_SCHEMA_OUT_OF_DATE if timeout < lease_wait => out_of_time(),
        _ => interruption(env.interrupt, error),
    })
}

/// Names the lease of the node that the transaction relies on, before its statement takes locks. Waits for one,
/// if there is none.
///
/// # Errors
/// 8027 without a lease that the transaction can go on with; 1317 or 3024 when interrupted.
pub(crate) fn rely_on(env: Environment<'_>, transaction: &mut TransactionContext) -> Result<()> {
    match transaction.locks.rely_on(env.engine.cluster.lease()) {
        Ok(()) => Ok(()),
        Err(_) => regain(env, transaction),
    }
}

/// Waits for a lease at the beginning of a statement, which found none.
#[cold]
fn regain(env: Environment<'_>, transaction: &mut TransactionContext) -> Result<()> {
    let limit = env.lease_limit();
    let is_bound = transaction.has_locked();
    let lease = env.engine.cluster.lease();
    let regained = transaction.locks.regain(lease, is_bound, &limit);
    regained.map_err(|error| {
        if error.code == errno::ER_SCHEMA_OUT_OF_DATE {
            // What the transaction has done cannot be committed any more.
            transaction.roll_back(&env.engine.counters);
        }
        interruption(env.interrupt, error)
    })
}

/// Opens the transaction that a write runs in, if none is open. `temporary`: it writes nothing but temporary
/// tables, which a READ ONLY transaction may do.
pub(crate) fn open_for_writing(
    env: Environment<'_>,
    transaction: &mut TransactionContext,
    temporary: bool,
) -> Result<()> {
    let opened = match temporary {
        true => transaction.ensure(env)?,
        false => transaction.for_write(env)?,
    };
    let start_ts = opened.start_ts();
    begin_within(env, transaction, start_ts)
}

/// Opens the transaction that a query with locks runs in, if none is open.
pub(crate) fn open_for_locking(
    env: Environment<'_>,
    transaction: &mut TransactionContext,
    needs_read_write: bool,
) -> Result<()> {
    let start_ts = transaction.for_locking_read(needs_read_write, env)?.start_ts();
    begin_within(env, transaction, start_ts)
}

/// A transaction that had to wait for its timestamp may have begun after the end of the lease, within which it
/// has to commit. As long as it has neither written nor locked anything, it can rely on the next lease.
fn begin_within(
    env: Environment<'_>,
    transaction: &mut TransactionContext,
    start_ts: kv::Timestamp,
) -> Result<()> {
    let is_behind = |fence: &kv::Fence| fence.last() < start_ts;
    if !transaction.locks.fence().is_some_and(is_behind) || transaction.has_locked() {
        return Ok(());
    }
    wait_to_cover(env, transaction, start_ts, false)?;
    regain(env, transaction)
}

/// Whether rows that were read at a moment may be returned: they may under a lease that covers it. Waits for
/// such a lease, if there is none. `is_bound`: whether the transaction has written or locked rows.
///
/// # Errors
/// 8027 if there is none.
pub(crate) fn check_read_at(
    env: Environment<'_>,
    transaction: &TransactionContext,
    ts: kv::Timestamp,
    is_bound: impl FnOnce() -> bool,
) -> Result<()> {
    match transaction.locks.check_read_at(ts) {
        Ok(()) => Ok(()),
        Err(_) => wait_to_cover(env, transaction, ts, is_bound()),
    }
}

#[cold]
fn wait_to_cover(
    env: Environment<'_>,
    transaction: &TransactionContext,
    ts: kv::Timestamp,
    is_bound: bool,
) -> Result<()> {
    let lease = env.engine.cluster.lease();
    let covered = transaction
        .locks
        .wait_to_cover(lease, ts, is_bound, &env.lease_limit());
    covered.map_err(|error: Error| interruption(env.interrupt, error))
}
