//! Deadlock detection, when a transaction starts to wait: in the graph of which transactions wait for which.
//!
//! A transaction waits for one key at a time, and thereby for every holder of that key. That it also waits
//! for the requests ahead of it in the key's queue adds nothing: they wait for the same holders. So a circle
//! consists of waits for holders. The last of its members to start waiting closes it, and that one searches
//! after it has joined its queue. A grant only turns a waiter into a holder that runs, so it cannot close a
//! circle.
//!
//! The victim is the member that holds the fewest locks; among equals, the one that closed the circle.

use crate::lock::{DeadlockReport, LockWaiter, Owner};
use crate::lock_wait::{HeldKey, Waiter};
use crate::sync::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// A transaction that waits, and for which key.
pub(crate) struct Waiting {
    pub waiter: Arc<Waiter>,
    pub held: HeldKey,
    pub since: Instant,
}

/// All waiting transactions. Searches run one after the other, under the mutex, so that a circle has one
/// victim.
#[derive(Default)]
pub(crate) struct Detector {
    waiting: Mutex<HashMap<Owner, Waiting>>,
    last: Mutex<Option<DeadlockReport>>,
}

impl Detector {
    /// Registers a waiter and breaks every circle it closes. `holders_of` appends the owners of a key.
    pub fn start_waiting(&self, waiting: Waiting, holders_of: impl Fn(&HeldKey, &mut Vec<Owner>)) {
        let start = waiting.waiter.owner;
        let mut all = self.waiting.lock();
        all.insert(start, waiting);
        while let Some(circle) = find_circle(&all, start, &holders_of) {
            let victim = circle
                .iter()
                .filter_map(|owner| all.get(owner))
                .min_by_key(|waiting| (waiting.waiter.locks_held, waiting.waiter.owner != start));
            let Some(victim) = victim else { return };
            let victim_owner = victim.waiter.owner;
            if victim.waiter.make_victim() {
                *self.last.lock() = Some(report(&all, &circle, victim_owner));
                all.remove(&victim_owner);
            }
            // Otherwise it got the lock or gave up at this moment, and does not wait any more: search again.
            if victim_owner == start {
                return;
            }
        }
    }

    /// The owners that have waited for at least this long, and for which keys.
    pub fn long_waits(&self, at_least: Duration) -> Vec<(Owner, Arc<[u8]>)> {
        let all = self.waiting.lock();
        let is_long = |waiting: &&Waiting| waiting.since.elapsed() >= at_least && waiting.waiter.is_waiting();
        all.values()
            .filter(is_long)
            .map(|waiting| (waiting.waiter.owner, Arc::clone(&waiting.held.key)))
            .collect()
    }

    /// The last circle that was broken here.
    pub fn last(&self) -> Option<DeadlockReport> {
        self.last.lock().clone()
    }

    /// All waits of now, the longest first.
    pub fn waits(&self) -> Vec<(HeldKey, LockWaiter)> {
        let all = self.waiting.lock();
        let waiting = all.values().filter(|waiting| waiting.waiter.is_waiting());
        let mut waits: Vec<(HeldKey, LockWaiter)> = waiting
            .map(|waiting| {
                let waiter = LockWaiter {
                    owner: waiting.waiter.owner,
                    mode: waiting.waiter.mode,
                    since: waiting.since.elapsed(),
                };
                (waiting.held.clone(), waiter)
            })
            .collect();
        waits.sort_by_key(|(_, waiter)| std::cmp::Reverse(waiter.since));
        waits
    }

    /// Ends `owner`'s wait, after a circle has been found that is partly in another process; false if it does
    /// not wait any more.
    pub fn make_victim(&self, owner: Owner) -> bool {
        let mut all = self.waiting.lock();
        let was_waiting = all
            .get(&owner)
            .is_some_and(|waiting| waiting.waiter.make_victim());
        if was_waiting {
            all.remove(&owner);
        }
        was_waiting
    }

    pub fn stop_waiting(&self, owner: Owner) {
        self.waiting.lock().remove(&owner);
    }
}

fn report(all: &HashMap<Owner, Waiting>, circle: &[Owner], victim: Owner) -> DeadlockReport {
    let member = |owner: &Owner| {
        let waiting = all.get(owner)?;
        Some((*owner, Arc::clone(&waiting.held.key), waiting.waiter.mode))
    };
    DeadlockReport {
        at: SystemTime::now(),
        members: circle.iter().filter_map(member).collect(),
        victim,
    }
}

/// A path from `start` back to itself, over transactions that still wait.
fn find_circle(
    all: &HashMap<Owner, Waiting>,
    start: Owner,
    holders_of: &impl Fn(&HeldKey, &mut Vec<Owner>),
) -> Option<Vec<Owner>> {
    let mut visited = HashSet::new();
    // The path so far: each member, with the holders it waits for that have not been visited yet.
    let mut path: Vec<(Owner, Vec<Owner>)> = Vec::new();
    let blockers = |owner: Owner| -> Option<Vec<Owner>> {
        let waiting = all.get(&owner).filter(|waiting| waiting.waiter.is_waiting())?;
        let mut holders = Vec::new();
        holders_of(&waiting.held, &mut holders);
        holders.retain(|holder| *holder != owner);
        Some(holders)
    };
    path.push((start, blockers(start)?));
    while let Some((_, untried)) = path.last_mut() {
        let Some(next) = untried.pop() else {
            path.pop();
            continue;
        };
        if next == start {
            return Some(path.into_iter().map(|(owner, _)| owner).collect());
        }
        if visited.insert(next)
            && let Some(holders) = blockers(next)
        {
            path.push((next, holders));
        }
    }
    None
}
