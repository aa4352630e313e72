//! Shared locks. The cluster has exclusive locks only. So the transactions of one node that share a row
//! hold one lock in the cluster together, in the name of a separate transaction, the proxy. It keeps other
//! nodes from writing the row while a transaction here reads it FOR SHARE. Transactions on different nodes
//! that share a row wait for each other: correct, but less concurrent than it could be.
//!
//! A commit cannot prewrite keys that another transaction has locked. So once a sharing transaction has
//! chosen its commit timestamp, it requests the proxy's locks again ([`SharedLocks::confirm`]).

use crate::cluster::Cluster;
use crate::failure::locks_lost;
use crate::fan_out::{Batch, Item, fan_out};
use crate::heartbeat::{Heartbeats, Lifetime};
use crate::locks::{ClusterLocks, LockOutcome, Request};
use crate::proto::kvrpcpb::PessimisticLockRequest;
use kv::{Error, LockWait, Result, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(20);

/// Each request is in the name of another transaction.
const ONE_BY_ONE: Batch = Batch {
    items_max: 1,
    bytes_max: usize::MAX,
    interruptible: false,
};

#[derive(Default)]
struct ProxyState {
    sharers: usize,
    locks: Option<ClusterLocks>,
    /// It has been taken out of the map.
    is_over: bool,
}

type Proxy = Arc<Mutex<ProxyState>>;

/// The shared locks of this node, by key.
#[derive(Default)]
pub struct Sharing {
    proxies: Mutex<HashMap<Vec<u8>, Proxy>>,
}

impl Sharing {
    /// Joins the transactions that share a key, or becomes the first. Returns the result, with the value if
    /// the store sent it, and whether another transaction was in the way.
    pub fn join(
        &self,
        cluster: &Cluster,
        heartbeats: &Heartbeats,
        key: &[u8],
        request: Request,
    ) -> Result<(LockOutcome, bool)> {
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
                return Ok((LockOutcome::Locked, has_waited));
            }
            if state.sharers > 0 {
                // The other transactions have lost their lock. They get an error when they use it.
                return Err(locks_lost());
            }
            let locked = lock(cluster, heartbeats, key, request);
            match locked {
                Ok((locks, got)) if got != LockOutcome::Skipped => {
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

    /// Leaves; the last transaction releases the lock. Returns the timestamp at which the lock was taken:
    /// the key has not changed since. `None` if the lock was lost in between.
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

/// The keys that one transaction holds shared locks on.
pub struct SharedLocks<'a> {
    pub sharing: &'a Sharing,
    /// With the keyspace's prefix.
    pub keys: Vec<Vec<u8>>,
}

/// A lock that is requested again.
struct Relock {
    key: Vec<u8>,
    request: PessimisticLockRequest,
}

impl Item for Relock {
    fn key(&self) -> &[u8] {
        &self.key
    }
}

impl SharedLocks<'_> {
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Makes sure that no transaction has changed any of the keys since it was locked, and that none will
    /// before the locks are released. A store may have lost a lock (its leader died before the other
    /// replicas had it), and a heartbeat need not notice that.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if another transaction has changed a key, or has locked it to do so.
    pub fn confirm(&self, cluster: &Cluster) -> Result<()> {
        let locks = self.keys.iter().map(|key| -> Result<Relock> {
            let request = self.with_proxy(key, |locks| {
                (!locks.is_lost()).then(|| locks.relock_request(cluster))
            });
            let request = request.flatten().ok_or_else(locks_lost)?;
            let key = key.clone();
            Ok(Relock { key, request })
        });
        let mut backoff = cluster.backoff(None);
        fan_out(
            cluster,
            locks.collect::<Result<_>>()?,
            ONE_BY_ONE,
            &mut backoff,
            |locks: &[Relock]| locks.first().map(|lock| lock.request.clone()).unwrap_or_default(),
            |locks, answer, _| {
                if answer.errors.is_empty() {
                    return Ok(Vec::new());
                }
                for Relock { key, .. } in locks {
                    // No transaction may join a proxy that can only fail.
                    self.with_proxy(&key, ClusterLocks::lose);
                }
                Err(locks_lost())
            },
        )
    }

    fn with_proxy<T>(&self, key: &[u8], body: impl FnOnce(&ClusterLocks) -> T) -> Option<T> {
        let proxy = self.sharing.proxies.lock().get(key).cloned()?;
        let state = proxy.lock();
        state.locks.as_ref().map(body)
    }
}

fn lock(
    cluster: &Cluster,
    heartbeats: &Heartbeats,
    key: &[u8],
    request: Request,
) -> Result<(ClusterLocks, LockOutcome)> {
    let start_ts = cluster.timestamp(Some(request.interrupt))?;
    let mut locks = ClusterLocks::new(start_ts, Lifetime::configured(&cluster.options));
    let mut got = HashMap::new();
    let locked = locks.lock(cluster, heartbeats, vec![key.to_vec()], request, &mut got);
    if locked.is_err() {
        // A request whose response was not waited for may have taken the lock.
        let _ = locks.release(cluster, None);
    }
    locked?;
    let got = got.remove(key).unwrap_or(LockOutcome::Locked);
    Ok((locks, got))
}

/// Waits for the proxy: the first transaction may hold it while it waits for the cluster.
fn enter<'a>(proxy: &'a Proxy, request: Request) -> Result<MutexGuard<'a, ProxyState>> {
    let patience = match request.wait {
        LockWait::Timeout(timeout) => timeout,
        // The first transaction waits for no lock either, or gets an error: this takes one round trip.
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
