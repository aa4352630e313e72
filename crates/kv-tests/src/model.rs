//! Random histories, compared step by step with the simplest correct implementation: a map of versions.
//!
//! One thread runs several open transactions, so every step has exactly one correct result. proptest
//! shrinks and prints failing histories.

use crate::support::*;
use crate::{Factory, Subject};
use kv::{Error, KeyRange, Limits, Reader, Savepoint, Snapshot, Store, Timestamp, Transaction};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use std::time::Duration;

const TRANSACTIONS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Begin {
        slot: usize,
        optimistic: bool,
    },
    Put {
        slot: usize,
        key: u8,
        value: u8,
    },
    Delete {
        slot: usize,
        key: u8,
    },
    Savepoint {
        slot: usize,
    },
    RollbackTo {
        slot: usize,
        back: usize,
    },
    Release {
        slot: usize,
        back: usize,
    },
    Refresh {
        slot: usize,
    },
    Check {
        slot: usize,
        from: u8,
        to: u8,
        reverse: bool,
        limit: usize,
    },
    CheckPast {
        back: usize,
    },
    Commit {
        slot: usize,
    },
    Rollback {
        slot: usize,
    },
    Collect,
    Flush,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let slot = 0..TRANSACTIONS;
    let key = 0..12_u8;
    let step = prop_oneof![
        3 => (slot.clone(), any::<bool>()).prop_map(|(slot, optimistic)| Step::Begin { slot, optimistic }),
        8 => (slot.clone(), key.clone(), any::<u8>()).prop_map(|(slot, key, value)| Step::Put { slot, key, value }),
        4 => (slot.clone(), key.clone()).prop_map(|(slot, key)| Step::Delete { slot, key }),
        2 => slot.clone().prop_map(|slot| Step::Savepoint { slot }),
        2 => (slot.clone(), 0..3_usize).prop_map(|(slot, back)| Step::RollbackTo { slot, back }),
        1 => (slot.clone(), 0..3_usize).prop_map(|(slot, back)| Step::Release { slot, back }),
        1 => slot.clone().prop_map(|slot| Step::Refresh { slot }),
        6 => (slot.clone(), 0..14_u8, 0..14_u8, any::<bool>(), 1..20_usize)
            .prop_map(|(slot, from, to, reverse, limit)| Step::Check { slot, from, to, reverse, limit }),
        2 => (0..30_usize).prop_map(|back| Step::CheckPast { back }),
        5 => slot.clone().prop_map(|slot| Step::Commit { slot }),
        1 => slot.prop_map(|slot| Step::Rollback { slot }),
        1 => Just(Step::Collect),
        1 => Just(Step::Flush),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..120)
}

/// Keys of several lengths; one is empty, and one is a prefix of the next.
fn key_of(number: u8) -> Vec<u8> {
    vec![0; usize::from(number)]
}

type State = BTreeMap<Vec<u8>, Vec<u8>>;

/// `None`: a deletion.
type Writes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// All versions, by key, then by commit timestamp.
#[derive(Default)]
struct Versions(BTreeMap<Vec<u8>, BTreeMap<Timestamp, Option<Vec<u8>>>>);

impl Versions {
    fn at(&self, ts: Timestamp) -> State {
        self.0
            .iter()
            .filter_map(|(key, versions)| {
                let (_, value) = versions.range(..=ts).next_back()?;
                Some((key.clone(), value.clone()?))
            })
            .collect()
    }

    fn newest(&self, key: &[u8]) -> Timestamp {
        self.0
            .get(key)
            .and_then(|versions| versions.keys().next_back().copied())
            .unwrap_or(0)
    }

    /// Deleting a missing key is a write, too: optimistic transactions conflict with it.
    fn commit(&mut self, ts: Timestamp, writes: &Writes) {
        for (key, value) in writes {
            self.0.entry(key.clone()).or_default().insert(ts, value.clone());
        }
    }
}

struct Open {
    txn: Transaction,
    optimistic: bool,
    writes: Writes,
    savepoints: Vec<(Savepoint, Writes)>,
}

impl Open {
    fn over(&self, mut state: State) -> State {
        for (key, value) in &self.writes {
            match value {
                Some(value) => state.insert(key.clone(), value.clone()),
                None => state.remove(key),
            };
        }
        state
    }
}

struct World<'a> {
    subject: &'a dyn Subject,
    store: Option<Store>,
    versions: Versions,
    commits: Vec<Timestamp>,
    open: [Option<Open>; TRANSACTIONS],
    /// A snapshot that stays open for some steps, to check that it does not change.
    held: Option<(Snapshot, State)>,
}

fn assert_reads(reader: &dyn Reader, expected: &State, range: &KeyRange, reverse: bool, limit: usize) {
    let mut pairs: Vec<_> = expected
        .iter()
        .filter(|(key, _)| range.contains(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if reverse {
        pairs.reverse();
    }
    pairs.truncate(limit);
    assert_eq!(reader.scan_page(range, limit, reverse).unwrap(), pairs);
    let keys: Vec<_> = (0..13).map(key_of).collect();
    let values: Vec<_> = keys.iter().map(|key| expected.get(key).cloned()).collect();
    assert_eq!(reader.batch_get(&keys).unwrap(), values);
    for (key, value) in keys.iter().zip(&values) {
        assert_eq!(reader.get(key).unwrap(), *value);
    }
}

fn assert_all(reader: &dyn Reader, expected: &State) {
    for reverse in [false, true] {
        assert_reads(reader, expected, &KeyRange::all(), reverse, usize::MAX);
    }
}

impl World<'_> {
    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Begin { slot, optimistic } => {
                let txn = if optimistic {
                    begin_optimistic(self.store())
                } else {
                    begin(self.store())
                };
                self.open[slot] = Some(Open {
                    txn,
                    optimistic,
                    writes: BTreeMap::new(),
                    savepoints: Vec::new(),
                });
            }
            Step::Commit { slot } => self.commit(slot),
            Step::Rollback { slot } => {
                if let Some(open) = self.open[slot].take() {
                    open.txn.rollback();
                }
            }
            Step::CheckPast { back } => self.check_past(back),
            Step::Collect => {
                self.store().set_gc_age(Duration::ZERO);
                self.store().run_gc().unwrap();
            }
            Step::Flush => self.store().flush().unwrap(),
            Step::Reopen => self.reopen(),
            _ => {
                if let Some(open) = self.open.get_mut(slot_of(step)).and_then(Option::as_mut) {
                    run_inside(open, step, &self.versions);
                }
            }
        }
    }

    fn commit(&mut self, slot: usize) {
        let Some(open) = self.open[slot].take() else {
            return;
        };
        let start_ts = open.txn.start_ts();
        let newest = open
            .writes
            .keys()
            .map(|key| self.versions.newest(key))
            .max()
            .unwrap_or(0);
        match open.txn.commit(kv::Durability::Os) {
            Ok(ts) if open.writes.is_empty() => assert!(ts >= start_ts),
            Ok(ts) => {
                assert!(ts > start_ts && self.commits.last().is_none_or(|last| ts > *last));
                assert!(!open.optimistic || newest <= start_ts, "a conflict went unseen");
                self.versions.commit(ts, &open.writes);
                self.commits.push(ts);
            }
            Err(Error::WriteConflict { .. }) => assert!(open.optimistic && newest > start_ts),
            Err(error) => panic!("{error}"),
        }
    }

    fn check_past(&mut self, back: usize) {
        let Some(ts) = self.commits.iter().rev().nth(back).copied() else {
            return;
        };
        let expected = self.versions.at(ts);
        match self.store().snapshot(ts) {
            Ok(snapshot) => {
                assert_all(&snapshot, &expected);
                if back.is_multiple_of(3) {
                    self.held = Some((snapshot, expected));
                }
            }
            Err(Error::SnapshotTooOld { .. }) => assert!(ts < self.store().safe_point()),
            Err(error) => panic!("{error}"),
        }
    }

    fn reopen(&mut self) {
        if self.subject.is_persistent() {
            self.open = [const { None }; TRANSACTIONS];
            self.held = None;
            self.store = None;
            self.store = Some(self.subject.open(Limits::default()));
        }
    }

    fn check(&self) {
        assert_all(&self.store().latest(), &self.versions.at(Timestamp::MAX));
        if let Some((snapshot, state)) = &self.held {
            assert_all(snapshot, state);
        }
    }
}

fn slot_of(step: &Step) -> usize {
    match step {
        Step::Put { slot, .. }
        | Step::Delete { slot, .. }
        | Step::Savepoint { slot }
        | Step::RollbackTo { slot, .. }
        | Step::Release { slot, .. }
        | Step::Refresh { slot }
        | Step::Check { slot, .. } => *slot,
        _ => TRANSACTIONS,
    }
}

/// One step within an open transaction.
fn run_inside(open: &mut Open, step: &Step, versions: &Versions) {
    match *step {
        Step::Put { key, value, .. } => {
            open.txn.put(key_of(key), vec![value]).unwrap();
            open.writes.insert(key_of(key), Some(vec![value]));
        }
        Step::Delete { key, .. } => {
            open.txn.delete(key_of(key)).unwrap();
            open.writes.insert(key_of(key), None);
        }
        Step::Savepoint { .. } => open.savepoints.push((open.txn.savepoint(), open.writes.clone())),
        Step::RollbackTo { back, .. } => {
            if let Some(at) = open.savepoints.len().checked_sub(back + 1) {
                open.savepoints.truncate(at + 1);
                let (savepoint, writes) = &open.savepoints[at];
                open.txn.rollback_to(*savepoint);
                open.writes.clone_from(writes);
            }
        }
        Step::Release { back, .. } => {
            if let Some(at) = open.savepoints.len().checked_sub(back + 1) {
                open.txn.release(open.savepoints[at].0);
                open.savepoints.truncate(at);
            }
        }
        Step::Refresh { .. } => open.txn.refresh_snapshot().unwrap(),
        Step::Check {
            from,
            to,
            reverse,
            limit,
            ..
        } => {
            let range = KeyRange::new(key_of(from), key_of(to));
            let at_snapshot = open.over(versions.at(open.txn.snapshot_ts()));
            assert_reads(&open.txn, &at_snapshot, &range, reverse, limit);
            assert_reads(&open.txn.view(), &at_snapshot, &range, !reverse, limit);
            let now = open.over(versions.at(Timestamp::MAX));
            assert_reads(&open.txn.current(), &now, &range, reverse, limit);
        }
        _ => {}
    }
}

pub fn random_histories_agree_with_a_map_of_versions(new_subject: Factory) {
    let persistent = new_subject().is_persistent();
    let mut runner = TestRunner::new(Config {
        cases: if persistent { 24 } else { 150 },
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&steps(), |steps| {
            let subject = new_subject();
            let mut world = World {
                store: Some(subject.open(Limits::default())),
                subject: &*subject,
                versions: Versions::default(),
                commits: Vec::new(),
                open: [const { None }; TRANSACTIONS],
                held: None,
            };
            for step in &steps {
                world.run(step);
            }
            world.check();
            world.reopen();
            world.check();
            Ok(())
        })
        .unwrap();
}
