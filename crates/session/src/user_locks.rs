//! User-level locks: GET_LOCK() and related functions. As in MySQL, they end with their server. If servers
//! share a store, a session that gets a lock on its own server then takes it among the servers, too
//! ([`cluster::named_lock`]).
//!
//! A session may hold several locks, each of them several times. Waiting sessions get a lock in the order of
//! their requests. A wait that would be a deadlock fails with 3058. As in MySQL, the locks are independent of
//! transactions: they last until they are released or the session ends.
//!
//! Not here: arguments and results of the functions (`functions::user_lock`).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cluster::named_lock::NamedLock;
use kv::{Interrupt, Store};
use parking_lot::{Condvar, Mutex};
use system::UserLock;
use types::{Error, Result, errno};

/// How often a wait checks for an interrupt.
const INTERRUPT_CHECK: Duration = Duration::from_millis(20);

/// All locks of a server.
#[derive(Default)]
pub struct UserLockTable {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    locks: HashMap<String, Lock>,
    /// The lock that each waiting session waits for.
    waits: HashMap<u64, String>,
}

struct Lock {
    owner: u64,
    /// How often the owner has taken it.
    count: u64,
    /// Whether the owner has it among the servers, too.
    is_taken: bool,
    /// Waiting sessions in the order of their requests.
    queue: VecDeque<u64>,
}

impl UserLockTable {
    /// All locks, and the requests that wait.
    pub fn now(&self) -> Vec<UserLock> {
        let state = self.state.lock();
        let mut all = Vec::new();
        for (name, lock) in &state.locks {
            let one = |session, waits| UserLock {
                name: name.clone(),
                session,
                waits,
            };
            all.push(one(lock.owner, !lock.is_taken));
            all.extend(lock.queue.iter().map(|session| one(*session, true)));
        }
        all
    }
}

impl State {
    /// Whether `session` would wait for itself if it waited for `name`. A waiting session waits for the owner
    /// of the lock; those ahead of it in the queue wait for the same owner.
    fn closes_cycle(&self, session: u64, name: &str) -> bool {
        let mut name = name;
        // A chain cannot be longer than the number of waits.
        for _ in 0..=self.waits.len() {
            let Some(lock) = self.locks.get(name) else {
                return false;
            };
            if lock.owner == session {
                return true;
            }
            match self.waits.get(&lock.owner) {
                Some(next) => name = next,
                None => return false,
            }
        }
        false
    }

    /// Gives a lock to the session that has waited longest, or removes it.
    fn hand_over(&mut self, name: &str) {
        let Some(lock) = self.locks.get_mut(name) else {
            return;
        };
        match lock.queue.pop_front() {
            Some(next) => {
                lock.owner = next;
                lock.count = 1;
                lock.is_taken = false;
                self.waits.remove(&next);
            }
            None => {
                self.locks.remove(name);
            }
        }
    }
}

/// The table as used by one session.
pub struct SessionUserLocks {
    table: Arc<UserLockTable>,
    session: u64,
    /// Ends the session's waits.
    interrupt: Arc<Interrupt>,
    /// The locks held, so that a session without locks does not touch the table when it ends.
    held: Mutex<Vec<Held>>,
    /// How often functions have acquired or released locks.
    uses: AtomicU64,
    /// `None`: this server does not share its store.
    store: Option<Store>,
}

/// What SHOW PROCESSLIST says of a session, until dropped.
struct Waiting<'a>(&'a Interrupt);

impl<'a> Waiting<'a> {
    fn new(interrupt: &'a Interrupt) -> Self {
        interrupt.set_waits_for("User lock");
        Self(interrupt)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.set_waits_for("");
    }
}

/// A lock that the session has.
struct Held {
    name: String,
    /// The lock among the servers.
    lock: Option<NamedLock>,
}

impl Held {
    /// Whether another server may have it.
    fn is_lost(&self) -> bool {
        self.lock.as_ref().is_some_and(NamedLock::is_lost)
    }
}

impl SessionUserLocks {
    /// `interrupt`: that of the session. `store`: one that servers share.
    pub fn new(table: Arc<UserLockTable>, interrupt: Arc<Interrupt>, store: Option<Store>) -> Self {
        Self {
            store,
            table,
            session: interrupt.session(),
            interrupt,
            held: Mutex::default(),
            uses: AtomicU64::new(0),
        }
    }

    /// Takes a lock among the servers that the session has on its own server already.
    fn take_among_servers(
        &self,
        name: &str,
        deadline: Instant,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Option<Held>> {
        let name = name.to_owned();
        let Some(store) = &self.store else {
            return Ok(Some(Held { name, lock: None }));
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let _waiting = Waiting::new(&self.interrupt);
        let taken = NamedLock::take(store, &name, self.session, left, &self.interrupt);
        match taken {
            Ok(lock) => Ok(lock.map(|lock| Held {
                name,
                lock: Some(lock),
            })),
            // KILL and the time limit have their own errors.
            Err(error) => Err(check().err().unwrap_or(error)),
        }
    }

    /// Ends a lock that has been lost among the servers, as if the session had released it.
    fn forget_if_lost(&self, name: &str) {
        let lost = {
            let mut held = self.held.lock();
            let lost = held.iter().position(|held| held.name == name && held.is_lost());
            lost.map(|at| held.swap_remove(at))
        };
        if lost.is_some() {
            drop(lost);
            self.table.state.lock().hand_over(name);
            self.table.changed.notify_all();
        }
    }

    /// Changes whenever a statement has taken or released locks.
    pub fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    fn wait(&self, name: &str, timeout: Duration, check: &dyn Fn() -> Result<()>) -> Result<bool> {
        let deadline = Instant::now() + timeout;
        let _waiting = Waiting::new(&self.interrupt);
        let mut state = self.table.state.lock();
        loop {
            if !state.waits.contains_key(&self.session) {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let interruption = check();
            if interruption.is_err() || left.is_zero() {
                state.waits.remove(&self.session);
                if let Some(lock) = state.locks.get_mut(name) {
                    lock.queue.retain(|waiter| *waiter != self.session);
                }
                return interruption.map(|()| false);
            }
            self.table.changed.wait_for(&mut state, left.min(INTERRUPT_CHECK));
        }
    }
}

impl functions::UserLocks for SessionUserLocks {
    fn acquire(&self, name: &str, timeout: Duration, check: &dyn Fn() -> Result<()>) -> Result<bool> {
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.forget_if_lost(name);
        let deadline = Instant::now() + timeout;
        let mut state = self.table.state.lock();
        match state.locks.get_mut(name) {
            None => {
                let lock = Lock {
                    owner: self.session,
                    count: 1,
                    is_taken: false,
                    queue: VecDeque::new(),
                };
                state.locks.insert(name.to_owned(), lock);
                drop(state);
            }
            Some(lock) if lock.owner == self.session => {
                lock.count += 1;
                return Ok(true);
            }
            Some(_) if timeout.is_zero() => return Ok(false),
            Some(_) => {
                if state.closes_cycle(self.session, name) {
                    return Err(Error::new(
                        errno::ER_USER_LOCK_DEADLOCK,
                        "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing \
                         locks and restarting lock acquisition.",
                    ));
                }
                if let Some(lock) = state.locks.get_mut(name) {
                    lock.queue.push_back(self.session);
                }
                state.waits.insert(self.session, name.to_owned());
                drop(state);
                if !self.wait(name, timeout, check)? {
                    return Ok(false);
                }
            }
        }
        let taken = self.take_among_servers(name, deadline, check);
        let mut state = self.table.state.lock();
        if !matches!(taken, Ok(Some(_))) {
            state.hand_over(name);
            self.table.changed.notify_all();
        } else if let Some(lock) = state.locks.get_mut(name) {
            lock.is_taken = true;
        }
        drop(state);
        let taken = taken?;
        let is_taken = taken.is_some();
        self.held.lock().extend(taken);
        Ok(is_taken)
    }

    fn release(&self, name: &str) -> Result<Option<bool>> {
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.forget_if_lost(name);
        let mut state = self.table.state.lock();
        let Some(lock) = state.locks.get_mut(name) else {
            drop(state);
            // Another server may still hold it.
            return Ok(self.owner(name)?.map(|_| false));
        };
        if lock.owner != self.session {
            return Ok(Some(false));
        }
        lock.count -= 1;
        if lock.count == 0 {
            state.hand_over(name);
            drop(state);
            // The other servers may take some time.
            self.held.lock().retain(|held| held.name != name);
            self.table.changed.notify_all();
        }
        Ok(Some(true))
    }

    fn release_all(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed);
        let held = std::mem::take(&mut *self.held.lock());
        if held.is_empty() {
            return 0;
        }
        let mut state = self.table.state.lock();
        let mut released = 0;
        for one in &held {
            if !one.is_lost() {
                released += state.locks.get(&one.name).map_or(0, |lock| lock.count);
            }
            state.hand_over(&one.name);
        }
        drop(state);
        // The other servers may take some time.
        drop(held);
        self.table.changed.notify_all();
        released
    }

    fn owner(&self, name: &str) -> Result<Option<u64>> {
        self.forget_if_lost(name);
        let here = self.table.state.lock().locks.get(name).map(|lock| lock.owner);
        match &self.store {
            // Another session of this server may have lost it, or wait for it among the servers.
            Some(store) if here != Some(self.session) => NamedLock::owner(store, name),
            _ => Ok(here),
        }
    }
}

impl Drop for SessionUserLocks {
    fn drop(&mut self) {
        functions::UserLocks::release_all(self);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use functions::UserLocks;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn sessions<const N: usize>() -> [Arc<SessionUserLocks>; N] {
        let table = Arc::new(UserLockTable::default());
        std::array::from_fn(|i| {
            let interrupt = Interrupt::of_session(i as u64 + 1);
            Arc::new(SessionUserLocks::new(table.clone(), interrupt, None))
        })
    }

    fn now(session: &SessionUserLocks, name: &str) -> bool {
        session.acquire(name, Duration::ZERO, &|| Ok(())).unwrap()
    }

    fn released(session: &SessionUserLocks, name: &str) -> Option<bool> {
        session.release(name).unwrap()
    }

    fn owner(session: &SessionUserLocks, name: &str) -> Option<u64> {
        session.owner(name).unwrap()
    }

    fn until_waiting(session: &SessionUserLocks) {
        while !session.table.state.lock().waits.contains_key(&session.session) {
            thread::yield_now();
        }
    }

    #[test]
    fn taken_several_times_and_released_as_often() {
        let [a, b] = sessions();
        assert!(now(&a, "x") && now(&a, "x") && now(&a, "y"));
        assert!(!now(&b, "x"));
        assert_eq!((released(&b, "x"), owner(&b, "x")), (Some(false), Some(1)));
        assert_eq!((released(&a, "x"), now(&b, "x")), (Some(true), false));
        assert_eq!(
            (released(&a, "x"), released(&a, "x"), now(&b, "x")),
            (Some(true), None, true)
        );
        assert_eq!((now(&a, "y"), a.release_all(), a.release_all()), (true, 2, 0));
        assert_eq!(owner(&b, "y"), None);
    }

    #[test]
    fn waits_end_in_their_order_and_when_the_owner_s_session_ends() {
        let [a, b, c] = sessions();
        now(&a, "x");
        let wait = |session: &Arc<SessionUserLocks>| {
            let waiter = session.clone();
            let handle = thread::spawn(move || waiter.acquire("x", LONG, &|| Ok(())).unwrap());
            until_waiting(session);
            handle
        };
        let (first, second) = (wait(&b), wait(&c));
        drop(a);
        let waits = |session| {
            let mut locks = b.table.now().into_iter();
            locks.find(|lock| lock.session == session).map(|lock| lock.waits)
        };
        assert!(first.join().unwrap());
        assert_eq!(
            (waits(2), waits(3), c.interrupt.waits_for()),
            (Some(false), Some(true), "User lock")
        );
        assert_eq!(owner(&c, "x"), Some(2));
        released(&b, "x");
        assert!(second.join().unwrap());
        assert_eq!(c.interrupt.waits_for(), "");
    }

    #[test]
    fn a_cycle_of_waits_is_refused_and_an_interrupted_wait_leaves_nothing() {
        let [a, b] = sessions();
        now(&a, "x");
        now(&b, "y");
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let waiter = {
            let (a, stop) = (a.clone(), stop.clone());
            thread::spawn(move || {
                let check = || match stop.load(std::sync::atomic::Ordering::SeqCst) {
                    true => Err(Error::new(1317, "")),
                    false => Ok(()),
                };
                a.acquire("y", LONG, &check)
            })
        };
        until_waiting(&a);
        assert_eq!(b.acquire("x", LONG, &|| Ok(())).unwrap_err().code, 3058);
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(waiter.join().unwrap().unwrap_err().code, 1317);
        released(&b, "y");
        assert_eq!(owner(&a, "y"), None);
    }
}
