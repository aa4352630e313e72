//! Row locks. What must hold: an exclusive owner is the only owner; a waiting request is woken when its turn
//! has come; if transactions wait for each other, one of them is the victim; at the end the table is empty.

use super::run_together;
use crate::lock::Owner;
use crate::lock_table::{Acquired, LockRequest, LockTable};
use crate::lock_wait::HeldKey;
use crate::sync::{Condvar, Mutex};
use crate::{Error, Interrupt, LockMode, LockWait, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as Unseen, PoisonError};
use std::time::Duration;

const LONG: LockWait = LockWait::Timeout(Duration::from_secs(3600));

type Key = &'static str;

#[derive(Default)]
struct World {
    locks: LockTable,
    /// Which owner holds which key, in which mode, for the checks.
    owners: Unseen<BTreeMap<Key, Vec<(Owner, LockMode)>>>,
    interrupt: Arc<Interrupt>,
    /// Whether the last transaction has had its turn.
    is_over: Mutex<bool>,
    over: Condvar,
}

/// A transaction's locks.
struct Holder<'a> {
    world: &'a World,
    owner: Owner,
    interrupt: Arc<Interrupt>,
    held: Vec<(Key, HeldKey)>,
}

impl World {
    fn owners(&self) -> std::sync::MutexGuard<'_, BTreeMap<Key, Vec<(Owner, LockMode)>>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holder(&self, owner: Owner) -> Holder<'_> {
        Holder {
            world: self,
            owner,
            interrupt: Interrupt::new(),
            held: Vec::new(),
        }
    }
}

impl Holder<'_> {
    fn lock(&mut self, key: Key, mode: LockMode, wait: LockWait) -> Result<bool> {
        let request = LockRequest {
            owner: self.owner,
            locks_held: self.held.len(),
            key: key.as_bytes(),
            mode,
            wait,
            interrupt: &self.interrupt,
            has_waited: std::cell::Cell::default(),
        };
        match self.world.locks.lock(&request)? {
            Acquired::Skipped => return Ok(false),
            Acquired::New(held) => self.held.push((key, held)),
            Acquired::AfterPending(..) => panic!("no transaction commits"),
            Acquired::AlreadyHeld => {}
        }
        let mut owners = self.world.owners();
        let owners = owners.entry(key).or_default();
        let others = owners.iter().filter(|(owner, _)| *owner != self.owner);
        for (other, others) in others {
            let both_share = mode == LockMode::Shared && *others == LockMode::Shared;
            assert!(both_share, "{} and {other} have {key}", self.owner);
        }
        owners.retain(|(owner, _)| *owner != self.owner);
        owners.push((self.owner, mode));
        Ok(true)
    }
}

impl Drop for Holder<'_> {
    fn drop(&mut self) {
        for (key, held) in self.held.drain(..) {
            if let Some(owners) = self.world.owners().get_mut(key) {
                owners.retain(|(owner, _)| *owner != self.owner);
            }
            self.world.locks.unlock(self.owner, &held);
        }
    }
}

fn together<T: Send + 'static, const N: usize>(world: &Arc<World>, threads: [fn(&World) -> T; N]) -> Vec<T> {
    let ended = run_together(world, threads);
    let stats = world.locks.stats();
    assert_eq!((stats.held, stats.waiting), (0, 0));
    ended
}

use LockMode::{Exclusive, Shared};

/// Writers and readers of one key, and requests that do not wait.
pub fn one_key() {
    let world = Arc::new(World::default());
    together(
        &world,
        [
            |world| {
                world.holder(1).lock("a", Exclusive, LONG).expect("granted");
                world.holder(2).lock("a", Shared, LONG).expect("granted");
            },
            |world| {
                world.holder(3).lock("a", Shared, LONG).expect("granted");
                world.holder(4).lock("a", Exclusive, LONG).expect("granted");
            },
            |world| {
                world
                    .holder(5)
                    .lock("a", Exclusive, LockWait::SkipLocked)
                    .expect("never fails");
                let refused = world.holder(6).lock("a", Shared, LockWait::NoWait);
                assert!(matches!(refused, Ok(true) | Err(Error::LockNotAvailable)));
                world.holder(7).lock("a", Exclusive, LONG).expect("granted");
            },
        ],
    );
}

fn victims(outcomes: &[Result<()>]) -> usize {
    outcomes
        .iter()
        .map(|outcome| match outcome {
            Ok(()) => 0,
            Err(Error::Deadlock) => 1,
            Err(error) => panic!("{error}"),
        })
        .sum()
}

fn in_turn(world: &World, owner: Owner, keys: &[Key]) -> Result<()> {
    let mut holder = world.holder(owner);
    for key in keys {
        holder.lock(key, Exclusive, LONG)?;
    }
    Ok(())
}

/// Each transaction holds what the next one requests.
pub fn a_circle() {
    let world = Arc::new(World::default());
    let outcomes = together(
        &world,
        [
            |world| in_turn(world, 1, &["a", "b"]),
            |world| in_turn(world, 2, &["b", "c"]),
            |world| in_turn(world, 3, &["c", "a"]),
        ],
    );
    assert!(victims(&outcomes) <= 1, "{outcomes:?}");
    let broken = world.locks.stats().deadlocks;
    assert_eq!(broken, victims(&outcomes) as u64);
}

/// Two transactions that share a key both request it exclusively.
pub fn upgrades() {
    fn upgrade(world: &World, owner: Owner) -> Result<()> {
        let mut holder = world.holder(owner);
        holder.lock("a", Shared, LONG)?;
        holder.lock("a", Exclusive, LONG)?;
        Ok(())
    }
    let world = Arc::new(World::default());
    let outcomes = together(
        &world,
        [
            |world| upgrade(world, 1),
            |world| upgrade(world, 2),
            |world| in_turn(world, 3, &["a"]),
        ],
    );
    assert!(victims(&outcomes) <= 1, "{outcomes:?}");
}

/// A waiting transaction is killed, possibly just when its turn comes.
pub fn an_interrupt() {
    let world = Arc::new(World::default());
    together(
        &world,
        [
            |world| {
                let mut holder = world.holder(1);
                holder.interrupt = Arc::clone(&world.interrupt);
                match holder.lock("a", Exclusive, LONG) {
                    Ok(true) | Err(Error::Interrupted) => {}
                    other => panic!("{other:?}"),
                }
            },
            |world| world.interrupt.raise(),
            |world| assert!(world.holder(2).lock("a", Exclusive, LONG).is_ok()),
            |world| assert!(world.holder(3).lock("a", Shared, LONG).is_ok()),
        ],
    );
}

/// A request that alone waits for the end of a shared lock gives up. A request for a shared lock queued after
/// it must be granted at once, because the lock's owner waits for that.
pub fn a_turn_that_is_passed_on() {
    let world = Arc::new(World::default());
    together(
        &world,
        [
            |world| {
                let mut holder = world.holder(1);
                assert!(holder.lock("a", Shared, LONG).is_ok());
                let mut is_over = world.is_over.lock();
                while !*is_over {
                    world.over.wait(&mut is_over);
                }
            },
            |world| {
                let mut holder = world.holder(2);
                holder.interrupt = Arc::clone(&world.interrupt);
                let ended = holder.lock("a", Exclusive, LONG);
                assert!(matches!(ended, Ok(true) | Err(Error::Interrupted)));
            },
            |world| {
                assert!(world.holder(3).lock("a", Shared, LONG).is_ok());
                *world.is_over.lock() = true;
                world.over.notify_all();
            },
            |world| world.interrupt.raise(),
        ],
    );
}
