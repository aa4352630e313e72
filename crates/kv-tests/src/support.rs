//! Helpers of the cases.

use kv::{
    Durability, KeyRange, Limits, LockOptions, Locked, Reader, Result, Store, Timestamp, Transaction,
    TxnOptions,
};
use std::ops::{ControlFlow, Deref};
use std::time::{Duration, Instant};

use crate::{Factory, Subject};

/// Longer than any wait that is meant to succeed.
pub const LONG: Duration = Duration::from_secs(120);
/// Long enough that a thread which is not blocked would have continued.
pub const SHORT: Duration = Duration::from_millis(100);

/// An open store together with its data (a temporary directory, for example), which is dropped after the
/// store.
pub struct Opened {
    store: Store,
    _subject: Box<dyn Subject>,
}

impl Deref for Opened {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

pub fn open(new_subject: Factory) -> Opened {
    let subject = new_subject();
    Opened {
        store: subject.open(Limits::default()),
        _subject: subject,
    }
}

pub fn begin(store: &Store) -> Transaction {
    store.begin(TxnOptions::default()).unwrap()
}

pub fn begin_optimistic(store: &Store) -> Transaction {
    store
        .begin(TxnOptions {
            optimistic: true,
            ..TxnOptions::default()
        })
        .unwrap()
}

/// Commits without waiting for the disk, which most cases do not need.
pub fn commit(txn: Transaction) -> Result<Timestamp> {
    txn.commit(Durability::Os)
}

/// One transaction of puts and, for `None`, deletions.
pub fn write(store: &Store, writes: &[(&str, Option<&str>)]) -> Timestamp {
    let mut txn = begin(store);
    for (key, value) in writes {
        match value {
            Some(value) => txn
                .put(key.as_bytes().to_vec(), value.as_bytes().to_vec())
                .unwrap(),
            None => txn.delete(key.as_bytes().to_vec()).unwrap(),
        }
    }
    commit(txn).unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn get(reader: &dyn Reader, key: &str) -> Option<String> {
    reader.get(key.as_bytes()).unwrap().as_deref().map(text)
}

/// All pairs as "key=value", in the order visited.
pub fn scan(reader: &dyn Reader, range: &KeyRange, reverse: bool) -> Vec<String> {
    let mut pairs = Vec::new();
    reader
        .scan(range, reverse, &mut |key, value| {
            pairs.push(format!("{}={}", text(key), text(value)));
            ControlFlow::Continue(())
        })
        .unwrap();
    pairs
}

pub fn scan_all(reader: &dyn Reader) -> Vec<String> {
    scan(reader, &KeyRange::all(), false)
}

pub fn keys(names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

pub fn exclusive() -> LockOptions {
    LockOptions::exclusive(LONG)
}

pub fn shared() -> LockOptions {
    LockOptions::shared(LONG)
}

/// Locks one key and returns its value.
pub fn lock(txn: &mut Transaction, key: &str, options: &LockOptions) -> Result<Option<String>> {
    let mut locked = txn.lock(&[key.as_bytes().to_vec()], options)?;
    match locked.pop() {
        Some(Locked::Value(value)) => Ok(value.as_deref().map(text)),
        other => panic!("not locked: {other:?}"),
    }
}

pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until that many requests wait for locks.
pub fn wait_for_waiters(store: &Store, count: u64) {
    wait_until("lock waits", || store.lock_stats().waiting == count);
}

/// A small generator of pseudo-random numbers. The seed decides all of them.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
