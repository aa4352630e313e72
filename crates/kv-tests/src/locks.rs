//! Row locks: modes, waiting, NOWAIT and SKIP LOCKED, and what a locking read returns.

use crate::Factory;
use crate::support::*;
use kv::{Error, Interrupt, LockMode, LockOptions, LockWait, Locked, Store, TxnOptions};
use log::Log;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A list that threads append to.
mod log {
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    pub struct Log(Arc<Mutex<Vec<String>>>);

    impl Log {
        pub fn push(&self, line: impl Into<String>) {
            self.0.lock().unwrap().push(line.into());
        }

        pub fn lines(&self) -> Vec<String> {
            self.0.lock().unwrap().clone()
        }
    }
}

fn with(mode: LockMode, wait: LockWait) -> LockOptions {
    LockOptions {
        mode,
        wait,
        interrupt: Interrupt::new(),
    }
}

fn nowait(mode: LockMode) -> LockOptions {
    with(mode, LockWait::NoWait)
}

/// Locks `key` in a separate thread and ends that transaction. Returns the outcome and how long it took.
fn lock_in_thread(
    store: &Store,
    key: &str,
    options: LockOptions,
) -> JoinHandle<(Result<Option<String>, Error>, Duration)> {
    let (store, key) = (store.clone(), key.to_owned());
    thread::spawn(move || {
        let mut txn = begin(&store);
        let start = Instant::now();
        let outcome = lock(&mut txn, &key, &options);
        (outcome, start.elapsed())
    })
}

pub fn exclusive_locks_exclude(new_subject: Factory) {
    let store = open(new_subject);
    let mut holder = begin(&store);
    lock(&mut holder, "a", &exclusive()).unwrap();
    let mut other = begin(&store);
    for mode in [LockMode::Shared, LockMode::Exclusive] {
        assert_eq!(lock(&mut other, "a", &nowait(mode)), Err(Error::LockNotAvailable));
    }
    assert_eq!(
        lock(&mut other, "b", &nowait(LockMode::Exclusive)),
        Ok(None),
        "another key is free"
    );
    drop(holder);
    assert_eq!(lock(&mut other, "a", &nowait(LockMode::Exclusive)), Ok(None));
}

pub fn shared_locks_share(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1"))]);
    let mut readers: Vec<_> = (0..3).map(|_| begin(&store)).collect();
    for reader in &mut readers {
        assert_eq!(lock(reader, "a", &nowait(LockMode::Shared)), Ok(Some("1".into())));
    }
    let mut writer = begin(&store);
    while let Some(reader) = readers.pop() {
        assert_eq!(
            lock(&mut writer, "a", &nowait(LockMode::Exclusive)),
            Err(Error::LockNotAvailable)
        );
        reader.rollback();
    }
    assert!(lock(&mut writer, "a", &nowait(LockMode::Exclusive)).is_ok());
}

pub fn a_sole_sharer_upgrades(new_subject: Factory) {
    let store = open(new_subject);
    let mut sole = begin(&store);
    lock(&mut sole, "a", &shared()).unwrap();
    lock(&mut sole, "a", &nowait(LockMode::Exclusive)).unwrap();
    let mut other = begin(&store);
    assert_eq!(
        lock(&mut other, "a", &nowait(LockMode::Shared)),
        Err(Error::LockNotAvailable)
    );
    sole.rollback();
    // While others share the lock, the upgrade waits.
    let mut first = begin(&store);
    lock(&mut first, "a", &shared()).unwrap();
    lock(&mut other, "a", &shared()).unwrap();
    assert_eq!(
        lock(&mut first, "a", &nowait(LockMode::Exclusive)),
        Err(Error::LockNotAvailable)
    );
    let upgrader = thread::spawn(move || lock(&mut first, "a", &exclusive()));
    wait_for_waiters(&store, 1);
    other.rollback();
    assert_eq!(upgrader.join().unwrap(), Ok(None));
    assert_eq!(store.lock_stats().held, 0);
}

pub fn waiters_time_out(new_subject: Factory) {
    let store = open(new_subject);
    let mut holder = begin(&store);
    lock(&mut holder, "a", &exclusive()).unwrap();
    let mut txn = begin(&store);
    lock(&mut txn, "mine", &exclusive()).unwrap();
    let start = Instant::now();
    assert_eq!(
        lock(&mut txn, "a", &LockOptions::exclusive(SHORT)),
        Err(Error::LockTimeout)
    );
    assert!(start.elapsed() >= SHORT, "{:?}", start.elapsed());
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    assert_eq!(
        lock(&mut txn, "a", &LockOptions::exclusive(Duration::ZERO)),
        Err(Error::LockTimeout)
    );
    assert_eq!(store.lock_stats().waiting, 0);
    // The transaction goes on with the locks it had, and may try again.
    let mut other = begin(&store);
    assert_eq!(
        lock(&mut other, "mine", &nowait(LockMode::Exclusive)),
        Err(Error::LockNotAvailable)
    );
    holder.rollback();
    assert_eq!(lock(&mut txn, "a", &exclusive()), Ok(None));
    // A waiter that has given up does not block the waiters behind it.
    let impatient = lock_in_thread(&store, "a", LockOptions::exclusive(SHORT));
    wait_for_waiters(&store, 1);
    let patient = lock_in_thread(&store, "a", exclusive());
    assert_eq!(impatient.join().unwrap().0, Err(Error::LockTimeout));
    txn.rollback();
    assert_eq!(patient.join().unwrap().0, Ok(None));
}

pub fn waiters_are_woken_by_commit_and_rollback(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("old"))]);
    for (commits, expected) in [(true, "new"), (false, "new")] {
        let mut holder = begin(&store);
        lock(&mut holder, "a", &exclusive()).unwrap();
        let value = if commits { "new" } else { "never" };
        holder.put(b"a".to_vec(), value.into()).unwrap();
        let waiter = lock_in_thread(&store, "a", exclusive());
        wait_for_waiters(&store, 1);
        thread::sleep(SHORT);
        if commits {
            commit(holder).unwrap();
        } else {
            holder.rollback();
        }
        let (outcome, waited) = waiter.join().unwrap();
        assert_eq!(outcome.unwrap().as_deref(), Some(expected));
        assert!(waited >= SHORT && waited < LONG, "{waited:?}");
    }
}

pub fn waiters_are_served_in_order(new_subject: Factory) {
    let store = open(new_subject);
    let mut holder = begin(&store);
    lock(&mut holder, "a", &exclusive()).unwrap();
    let log = Log::default();
    let mut threads = Vec::new();
    for name in ["x1", "s2", "s3", "x4", "s5"] {
        let (store, log) = (store.clone(), log.clone());
        let before = store.lock_stats().waiting;
        let counted = store.clone();
        threads.push(thread::spawn(move || {
            let mut txn = begin(&store);
            let options = if name.starts_with('s') {
                shared()
            } else {
                exclusive()
            };
            lock(&mut txn, "a", &options).unwrap();
            log.push(name);
            // Long enough to see which transactions share.
            thread::sleep(SHORT / 4);
        }));
        wait_for_waiters(&counted, before + 1);
    }
    holder.rollback();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let mut lines = log.lines();
    // The two that share arrive in either order.
    lines[1..3].sort();
    assert_eq!(lines, ["x1", "s2", "s3", "x4", "s5"]);
}

/// A transaction that already holds a shared lock does not queue behind transactions that wait for it to
/// release the lock.
pub fn an_upgrade_goes_before_waiters(new_subject: Factory) {
    let store = open(new_subject);
    let mut upgrader = begin(&store);
    let mut sharer = begin(&store);
    lock(&mut upgrader, "a", &shared()).unwrap();
    lock(&mut sharer, "a", &shared()).unwrap();
    let log = Log::default();
    let (waiter_store, waiter_log) = (store.clone(), log.clone());
    let waiter = thread::spawn(move || {
        let mut txn = begin(&waiter_store);
        lock(&mut txn, "a", &exclusive()).unwrap();
        waiter_log.push("waiter");
    });
    wait_for_waiters(&store, 1);
    let upgrader_log = log.clone();
    let upgrade = thread::spawn(move || {
        let outcome = lock(&mut upgrader, "a", &LockOptions::exclusive(LONG / 2));
        upgrader_log.push("upgrader");
        outcome
    });
    wait_for_waiters(&store, 2);
    sharer.rollback();
    assert_eq!(upgrade.join().unwrap(), Ok(None));
    waiter.join().unwrap();
    assert_eq!(log.lines(), ["upgrader", "waiter"]);
}

pub fn a_waiter_that_gives_up_blocks_no_other(new_subject: Factory) {
    let store = open(new_subject);
    let mut holder = begin(&store);
    lock(&mut holder, "a", &shared()).unwrap();
    let impatient = lock_in_thread(&store, "a", LockOptions::exclusive(SHORT));
    wait_for_waiters(&store, 1);
    // It could share with the holder if it were not for the waiter before it.
    let sharer = lock_in_thread(&store, "a", shared());
    wait_for_waiters(&store, 2);
    assert_eq!(impatient.join().unwrap().0, Err(Error::LockTimeout));
    let (outcome, waited) = sharer.join().unwrap();
    assert_eq!(outcome, Ok(None));
    assert!(waited < LONG / 2, "{waited:?}");
    drop(holder);
}

pub fn nowait_fails_at_once(new_subject: Factory) {
    let store = open(new_subject);
    let mut holder = begin(&store);
    lock(&mut holder, "b", &exclusive()).unwrap();
    let mut txn = begin(&store);
    let start = Instant::now();
    let outcome = txn.lock(&keys(&["a", "b", "c"]), &nowait(LockMode::Exclusive));
    assert_eq!(outcome, Err(Error::LockNotAvailable));
    assert!(start.elapsed() < LONG / 2);
    assert_eq!(txn.lock_count(), 1, "what was locked before stays");
    assert_eq!(
        txn.lock_only(&keys(&["a", "c"]), &nowait(LockMode::Exclusive)),
        Ok(vec![true, true])
    );
}

pub fn skip_locked_skips(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1")), ("b", Some("2")), ("c", Some("3"))]);
    let mut holder = begin(&store);
    lock(&mut holder, "b", &exclusive()).unwrap();
    let mut txn = begin(&store);
    let options = with(LockMode::Exclusive, LockWait::SkipLocked);
    let locked = txn.lock(&keys(&["a", "b", "c", "d"]), &options).unwrap();
    assert_eq!(
        locked,
        [
            Locked::Value(Some(b"1".to_vec())),
            Locked::Skipped,
            Locked::Value(Some(b"3".to_vec())),
            Locked::Value(None)
        ]
    );
    assert_eq!(txn.lock(&keys(&["b"]), &options), Ok(vec![Locked::Skipped]));
    assert_eq!(txn.lock_count(), 3);
    // Two workers of a queue never get the same row.
    let mut third = begin(&store);
    let answers = third.lock_only(&keys(&["a", "b", "c", "e"]), &options).unwrap();
    assert_eq!(answers, [false, false, false, true]);
}

fn interruptible() -> (Arc<Interrupt>, LockOptions) {
    let interrupt = Interrupt::new();
    let options = LockOptions {
        interrupt: Arc::clone(&interrupt),
        ..exclusive()
    };
    (interrupt, options)
}

pub fn an_interrupt_wakes_a_waiter(new_subject: Factory) {
    let store = open(new_subject);
    let mut holder = begin(&store);
    lock(&mut holder, "a", &exclusive()).unwrap();
    let (interrupt, options) = interruptible();
    let waiter = lock_in_thread(&store, "a", options.clone());
    wait_for_waiters(&store, 1);
    interrupt.raise();
    let (outcome, waited) = waiter.join().unwrap();
    assert_eq!(outcome, Err(Error::Interrupted));
    assert!(waited < LONG / 2);
    assert_eq!(store.lock_stats().waiting, 0);
    // The interrupt is raised already, so a wait ends at once. A free lock needs no wait.
    let mut txn = begin(&store);
    assert_eq!(lock(&mut txn, "a", &options), Err(Error::Interrupted));
    assert_eq!(lock(&mut txn, "free", &options), Ok(None));
    interrupt.clear();
    holder.rollback();
    assert_eq!(lock(&mut txn, "a", &options), Ok(None));
}

/// An interrupted transaction does not continue with a lock that was granted before its thread could run.
pub fn an_interrupt_beats_a_later_grant(new_subject: Factory) {
    let store = open(new_subject);
    for _ in 0..50 {
        let mut holder = begin(&store);
        lock(&mut holder, "a", &exclusive()).unwrap();
        let (interrupt, options) = interruptible();
        let waiter = lock_in_thread(&store, "a", options);
        wait_for_waiters(&store, 1);
        interrupt.raise();
        holder.rollback();
        assert_eq!(waiter.join().unwrap().0, Err(Error::Interrupted));
        let mut next = begin(&store);
        assert_eq!(
            lock(&mut next, "a", &with(LockMode::Exclusive, LockWait::NoWait)),
            Ok(None)
        );
    }
}

pub fn locking_reads_see_the_newest_version(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1")), ("b", Some("1"))]);
    let mut txn = begin(&store);
    write(&store, &[("a", Some("2")), ("b", None)]);
    assert_eq!(get(&txn, "a").as_deref(), Some("1"));
    assert_eq!(lock(&mut txn, "a", &exclusive()), Ok(Some("2".into())));
    assert_eq!(lock(&mut txn, "b", &shared()), Ok(None));
    assert_eq!(
        get(&txn, "a").as_deref(),
        Some("1"),
        "plain reads stay where they are"
    );
    txn.put(b"a".to_vec(), b"own".to_vec()).unwrap();
    txn.put(b"c".to_vec(), b"own".to_vec()).unwrap();
    let locked = txn.lock(&keys(&["a", "b", "c"]), &exclusive()).unwrap();
    let values: Vec<_> = locked.into_iter().map(Locked::into_value).collect();
    assert_eq!(values, [Some(b"own".to_vec()), None, Some(b"own".to_vec())]);
    txn.delete(b"a".to_vec()).unwrap();
    assert_eq!(lock(&mut txn, "a", &exclusive()), Ok(None));
}

pub fn missing_keys_can_be_locked(new_subject: Factory) {
    let store = open(new_subject);
    let mut holder = begin(&store);
    assert_eq!(lock(&mut holder, "a", &exclusive()), Ok(None));
    let waiter = lock_in_thread(&store, "a", exclusive());
    wait_for_waiters(&store, 1);
    holder.put(b"a".to_vec(), b"inserted".to_vec()).unwrap();
    commit(holder).unwrap();
    assert_eq!(waiter.join().unwrap().0, Ok(Some("inserted".into())));
}

pub fn locks_survive_savepoint_rollback(new_subject: Factory) {
    let store = open(new_subject);
    let mut txn = begin(&store);
    let savepoint = txn.savepoint();
    lock(&mut txn, "a", &exclusive()).unwrap();
    txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
    txn.rollback_to(savepoint);
    let mut other = begin(&store);
    assert_eq!(
        lock(&mut other, "a", &nowait(LockMode::Shared)),
        Err(Error::LockNotAvailable)
    );
    commit(txn).unwrap();
    assert_eq!(lock(&mut other, "a", &nowait(LockMode::Shared)), Ok(None));
}

pub fn locks_can_be_taken_again(new_subject: Factory) {
    let store = open(new_subject);
    let mut txn = begin(&store);
    let waiting = {
        lock(&mut txn, "a", &exclusive()).unwrap();
        lock_in_thread(&store, "a", exclusive())
    };
    wait_for_waiters(&store, 1);
    // Neither the transaction's own lock nor the queue behind it is in the way.
    for options in [nowait(LockMode::Shared), nowait(LockMode::Exclusive)] {
        assert_eq!(lock(&mut txn, "a", &options), Ok(None));
    }
    assert_eq!(
        txn.lock(&keys(&["a", "a", "b", "a"]), &exclusive())
            .unwrap()
            .len(),
        4
    );
    assert_eq!(txn.lock_count(), 2);
    txn.rollback();
    assert!(waiting.join().unwrap().0.is_ok());
}

pub fn a_commit_waits_for_unlocked_keys(new_subject: Factory) {
    let store = open(new_subject);
    let mut holder = begin(&store);
    lock(&mut holder, "a", &exclusive()).unwrap();
    holder.put(b"a".to_vec(), b"first".to_vec()).unwrap();
    let blind = |wait: Duration| {
        let mut txn = store
            .begin(TxnOptions {
                commit_lock_wait: wait,
                ..TxnOptions::default()
            })
            .unwrap();
        txn.put(b"a".to_vec(), b"second".to_vec()).unwrap();
        txn.put(b"b".to_vec(), b"second".to_vec()).unwrap();
        txn
    };
    assert_eq!(commit(blind(SHORT)), Err(Error::LockTimeout));
    let patient = blind(LONG);
    let committer = thread::spawn(move || commit(patient));
    wait_for_waiters(&store, 1);
    let first = commit(holder).unwrap();
    assert!(committer.join().unwrap().unwrap() > first);
    assert_eq!(scan_all(&store.latest()), ["a=second", "b=second"]);
}

pub fn a_shared_lock_does_not_allow_writes(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1"))]);
    let mut sharer = begin(&store);
    assert_eq!(lock(&mut sharer, "a", &shared()), Ok(Some("1".into())));
    let writer = |wait| {
        let mut txn = store
            .begin(TxnOptions {
                commit_lock_wait: wait,
                ..TxnOptions::default()
            })
            .unwrap();
        assert_eq!(txn.lock_one(b"a", &shared()).unwrap().as_deref(), Some(&b"1"[..]));
        txn.put(b"a".to_vec(), b"2".to_vec()).unwrap();
        txn
    };
    assert_eq!(commit(writer(SHORT)), Err(Error::LockTimeout));
    let patient = writer(LONG);
    let committer = thread::spawn(move || commit(patient));
    wait_for_waiters(&store, 1);
    assert_eq!(get(&store.latest(), "a").as_deref(), Some("1"));
    sharer.rollback();
    committer.join().unwrap().unwrap();
    assert_eq!(get(&store.latest(), "a").as_deref(), Some("2"));
}

pub fn one_key_is_locked_as_many_are(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("a", Some("1")), ("b", Some("1")), ("c", Some("1"))]);
    let mut holder = begin(&store);
    lock(&mut holder, "c", &exclusive()).unwrap();
    let mut txn = begin(&store);
    write(&store, &[("a", Some("2")), ("b", None)]);
    let mut one = |key: &str, options: &LockOptions| {
        let value = txn.lock_one(key.as_bytes(), options)?;
        Ok(value.as_deref().map(text))
    };
    assert_eq!(one("a", &exclusive()), Ok(Some("2".into())));
    assert_eq!(one("b", &exclusive()), Ok(None));
    for wait in [LockWait::NoWait, LockWait::SkipLocked] {
        assert_eq!(
            one("c", &with(LockMode::Exclusive, wait)),
            Err(Error::LockNotAvailable)
        );
    }
    assert_eq!(txn.lock_count(), 2);
    txn.put(b"a".to_vec(), b"own".to_vec()).unwrap();
    txn.delete(b"b".to_vec()).unwrap();
    assert_eq!(
        txn.lock_one(b"a", &shared()).unwrap().as_deref(),
        Some(&b"own"[..])
    );
    assert_eq!(txn.lock_one(b"b", &shared()).unwrap(), None);
    commit(txn).unwrap();
    assert_eq!(scan_all(&store.latest()), ["a=own", "c=1"]);
}

pub fn no_lock_is_left_behind(new_subject: Factory) {
    let store = open(new_subject);
    write(&store, &[("k1", Some("0"))]);
    let threads: Vec<_> = (0..6_u64)
        .map(|seed| {
            let store = store.clone();
            thread::spawn(move || {
                let mut random = Random::new(seed + 1);
                for _ in 0..150 {
                    let mut txn = begin(&store);
                    for _ in 0..=random.below(3) {
                        let key = format!("k{}", random.below(5));
                        let mode = if random.below(3) == 0 {
                            LockMode::Shared
                        } else {
                            LockMode::Exclusive
                        };
                        let wait = match random.below(4) {
                            0 => LockWait::NoWait,
                            1 => LockWait::SkipLocked,
                            2 => LockWait::Timeout(Duration::from_micros(random.below(2_000))),
                            _ => LockWait::Timeout(LONG),
                        };
                        let outcome = txn.lock(&[key.clone().into_bytes()], &with(mode, wait));
                        match outcome {
                            Ok(_) | Err(Error::LockTimeout | Error::LockNotAvailable) => {}
                            Err(Error::Deadlock) => break,
                            Err(error) => panic!("{error}"),
                        }
                        thread::sleep(Duration::from_micros(random.below(50)));
                    }
                    if random.below(2) == 0 {
                        txn.rollback();
                    } else {
                        drop(txn);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let stats = store.lock_stats();
    assert_eq!((stats.held, stats.waiting), (0, 0), "{stats:?}");
    assert!(stats.waits > 0, "nobody ever waited");
}
