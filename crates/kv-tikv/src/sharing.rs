//! Shared locks. The cluster knows exclusive ones only, so the sharers of one node hold one lock there together, in the
//! name of a transaction of its own (a proxy): it keeps other nodes from writing the row while anyone here reads it
//! FOR SHARE. Sharers on different nodes wait for each other, which is less concurrent than it could be, and right.
//! The commit of a sharer cannot prewrite what another transaction has locked, so it asks for the proxy's lock again once
//! its moment is chosen ([`SharedLocks::confirm`]).

use crate::cluster::Cluster;
use crate::failure::locks_lost;
use crate::fan_out::{Batch, Item};
use crate::keeper::Keeper;
use crate::locks::{ClusterLocks, Got, Request};
use crate::proto::kvrpcpb::PessimisticLockRequest;
use kv::{Error, LockWait, Result, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(20);

/// Each is in the name of another transaction.
const ONE_BY_ONE: Batch = Batch {
    items_max: 1,
    bytes_max: usize::MAX,
    interruptible: false,
};

#[derive(Default)]
struct State {
    sharers: usize,
    locks: Option<ClusterLocks>,
    /// Taken out of the map.
    is_over: bool,
}

type Proxy = Arc<Mutex<State>>;

/// The shared locks of this node, by key.
#[derive(Default)]
pub struct Sharing {
    proxies: Mutex<HashMap<Vec<u8>, Proxy>>,
}

impl Sharing {
    /// Joins the sharers of a key, or becomes the first. The value, if it came along, and whether others were in the way.
    pub fn join(
        &self,
        cluster: &Cluster,
        keeper: &Keeper,
        key: &[u8],
        request: Request,
    ) -> Result<(Got, bool)> {
        let mut has_waited = false;
        loop {
            let proxy = Arc::clone(self.proxies.lock().entry(key.to_vec()).or_default());
            let mut state = match proxy.try_lock() {
                Some(state) => state,
                None => {
                    has_waited = true;
                    enter(&proxy, request)?
                }
            };
            if state.is_over {
                continue;
            }
            if state.locks.as_ref().is_some_and(|locks| !locks.is_lost()) {
                state.sharers += 1;
                return Ok((Got::Locked, has_waited));
            }
            if state.sharers > 0 {
                // The others have lost theirs, and will be told when they try to use it.
                return Err(locks_lost());
            }
            let locked = lock(cluster, keeper, key, request);
            match locked {
                Ok((locks, got)) if got != Got::Skipped => {
                    has_waited |= locks.has_waited();
                    state.locks = Some(locks);
                    state.sharers = 1;
                    return Ok((got, has_waited));
                }
                other => {
                    state.is_over = true;
                    self.proxies.lock().remove(key);
                    return other.map(|(_, got)| (got, has_waited));
                }
            }
        }
    }

    /// Leaves; the last one releases the lock. The moment at which it was taken: until now, the key has not changed
    /// since. `None` if the lock was lost in between.
    pub fn leave(&self, cluster: &Cluster, key: &[u8]) -> Option<Timestamp> {
        let proxy = self.proxies.lock().get(key).cloned()?;
        let mut state = proxy.lock();
        state.sharers = state.sharers.saturating_sub(1);
        let locks = state.locks.as_mut()?;
        let since = (!locks.is_lost()).then_some(locks.for_update_ts);
        if state.sharers == 0 {
            if let Some(mut locks) = state.locks.take()
                && let Err(error) = locks.release(cluster, None)
            {
                tracing::warn!(%error, "a shared lock is left to run out");
            }
            state.is_over = true;
            self.proxies.lock().remove(key);
        }
        since
    }
}

/// The keys of one transaction's shared locks.
pub struct SharedLocks<'a> {
    pub sharing: &'a Sharing,
    /// With their prefix.
    pub keys: Vec<Vec<u8>>,
}

/// One lock, to be asked for again.
struct Again {
    key: Vec<u8>,
    request: PessimisticLockRequest,
}

impl Item for Again {
    fn key(&self) -> &[u8] {
        &self.key
    }
}

impl SharedLocks<'_> {
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Makes sure that nobody has changed any of the keys since it was locked, and that nobody will before the locks are
    /// released: a store may have lost one (its leader died before others knew of it), which no heartbeat need have met.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if somebody has, or has locked it to do so.
    pub fn confirm(&self, cluster: &Cluster) -> Result<()> {
        let locks = self.keys.iter().map(|key| -> Result<Again> {
            let request = self.of_proxy(key, |locks| (!locks.is_lost()).then(|| locks.again(cluster)));
            let request = request.flatten().ok_or_else(locks_lost)?;
            let key = key.clone();
            Ok(Again { key, request })
        });
        let mut backoff = cluster.backoff(None);
        cluster.fan_out(
            locks.collect::<Result<_>>()?,
            ONE_BY_ONE,
            &mut backoff,
            |locks: &[Again]| locks.first().map(|lock| lock.request.clone()).unwrap_or_default(),
            |locks, answer, _| {
                if answer.errors.is_empty() {
                    return Ok(Vec::new());
                }
                for Again { key, .. } in locks {
                    // So that nobody joins what can only fail.
                    self.of_proxy(&key, ClusterLocks::lose);
                }
                Err(locks_lost())
            },
        )
    }

    fn of_proxy<T>(&self, key: &[u8], body: impl FnOnce(&ClusterLocks) -> T) -> Option<T> {
        let proxy = self.sharing.proxies.lock().get(key).cloned()?;
        let state = proxy.lock();
        state.locks.as_ref().map(body)
    }
}

fn lock(cluster: &Cluster, keeper: &Keeper, key: &[u8], request: Request) -> Result<(ClusterLocks, Got)> {
    let start_ts = cluster.timestamp(Some(request.interrupt))?;
    let mut locks = ClusterLocks::new(start_ts, cluster.options.lock_ttl);
    let mut got = HashMap::new();
    let locked = locks.lock(cluster, keeper, vec![key.to_vec()], request, &mut got);
    if locked.is_err() {
        // An answer that was not waited for may still have locked it.
        let _ = locks.release(cluster, None);
    }
    locked?;
    let got = got.remove(key).unwrap_or(Got::Locked);
    Ok((locks, got))
}

/// The first sharer may be waiting for the cluster.
fn enter<'a>(proxy: &'a Proxy, request: Request) -> Result<MutexGuard<'a, State>> {
    let patience = match request.wait {
        LockWait::Timeout(timeout) => timeout,
        // The first one does not wait either, or will be told; it is a matter of one answer.
        LockWait::NoWait | LockWait::SkipLocked => Duration::from_secs(1),
    };
    let deadline = Instant::now().checked_add(patience);
    loop {
        if let Some(state) = proxy.try_lock_for(POLL) {
            return Ok(state);
        }
        request.interrupt.check()?;
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(match request.wait {
                LockWait::Timeout(_) => Error::LockTimeout,
                _ => Error::LockNotAvailable,
            });
        }
    }
}
