//! Deadlocks: found when a transaction starts to wait, in the graph of who waits for whom.
//!
//! A transaction waits for one key at a time, and thereby for every holder of that key. That it also waits for those
//! ahead of it in the key's queue adds nothing: they wait for the same holders. So a circle goes through holders only,
//! and it is closed by the last of its members to start waiting, who looks after it has joined its queue. Grants
//! only turn a waiter into a holder that runs, and can close no circle.
//!
//! Of a circle's members, the one that holds the fewest locks gives way; between equals, the one who closed it.

use crate::lock_table::{HeldKey, Owner, Waiter};
use crate::sync::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A transaction that waits, and for which key.
pub(crate) struct Waiting {
    pub waiter: Arc<Waiter>,
    pub held: HeldKey,
    pub since: Instant,
}

/// Everyone who waits. The lock around them makes searches follow one another, so that two members of a circle do not
/// both give way.
#[derive(Default)]
pub(crate) struct Detector {
    waiting: Mutex<HashMap<Owner, Waiting>>,
}

impl Detector {
    /// Registers a waiter and breaks every circle it closes. `holders_of` appends the owners of a key.
    pub fn start_waiting(&self, waiting: Waiting, holders_of: impl Fn(&HeldKey, &mut Vec<Owner>)) {
        let start = waiting.waiter.owner;
        let mut everyone = self.waiting.lock();
        everyone.insert(start, waiting);
        while let Some(circle) = find_circle(&everyone, start, &holders_of) {
            let victim = circle
                .iter()
                .filter_map(|owner| everyone.get(owner))
                .min_by_key(|waiting| (waiting.waiter.locks_held, waiting.waiter.owner != start));
            let Some(victim) = victim else { return };
            let victim_owner = victim.waiter.owner;
            if victim.waiter.make_victim() {
                everyone.remove(&victim_owner);
            }
            // Otherwise it was granted or gave up in this moment, and no longer waits: look again.
            if victim_owner == start {
                return;
            }
        }
    }

    /// Who has waited for so long, and for which key.
    pub fn long_waits(&self, at_least: Duration) -> Vec<(Owner, Arc<[u8]>)> {
        let everyone = self.waiting.lock();
        let is_long = |waiting: &&Waiting| waiting.since.elapsed() >= at_least && waiting.waiter.is_waiting();
        everyone
            .values()
            .filter(is_long)
            .map(|waiting| (waiting.waiter.owner, Arc::clone(&waiting.held.key)))
            .collect()
    }

    /// Someone who sees further has found a circle through `owner`; false if it does not wait any more.
    pub fn give_way(&self, owner: Owner) -> bool {
        let mut everyone = self.waiting.lock();
        let was_waiting = everyone
            .get(&owner)
            .is_some_and(|waiting| waiting.waiter.make_victim());
        if was_waiting {
            everyone.remove(&owner);
        }
        was_waiting
    }

    pub fn stop_waiting(&self, owner: Owner) {
        self.waiting.lock().remove(&owner);
    }
}

/// A path from `start` back to itself, over those who really wait.
fn find_circle(
    everyone: &HashMap<Owner, Waiting>,
    start: Owner,
    holders_of: &impl Fn(&HeldKey, &mut Vec<Owner>),
) -> Option<Vec<Owner>> {
    let mut visited = HashSet::new();
    // The path so far, each member with the holders it waits for that have not been tried yet.
    let mut path: Vec<(Owner, Vec<Owner>)> = Vec::new();
    let blockers = |owner: Owner| -> Option<Vec<Owner>> {
        let waiting = everyone
            .get(&owner)
            .filter(|waiting| waiting.waiter.is_waiting())?;
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
