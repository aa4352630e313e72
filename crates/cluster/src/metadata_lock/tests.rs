//! Metadata locks, transactions and LOCK TABLES against each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use kv::Interrupt;
use parking_lot::{Mutex, RwLock};
use types::Error;

use super::*;
use crate::TransactionLocks;
use crate::wait::state;

fn limit(interrupt: &Interrupt, ms: u64) -> WaitLimit<'_> {
    WaitLimit {
        timeout: Duration::from_millis(ms),
        interrupt,
    }
}

#[test]
fn sharers_do_not_wait_for_each_other_and_may_ask_again() {
    let locks = Arc::new(MetadataLocks::default());
    let never = Interrupt::new();
    let (mut a, mut b) = (TransactionLocks::new(locks.clone()), TransactionLocks::new(locks));
    for _ in 0..3 {
        a.acquire(1, Use::Read, &limit(&never, 0)).unwrap();
        b.acquire(1, Use::Read, &limit(&never, 0)).unwrap();
        b.acquire(2, Use::Read, &limit(&never, 0)).unwrap();
    }
    assert!(a.holds(1) && !a.holds(2) && b.holds(2));
    b.release_all();
    assert!(b.is_empty() && a.holds(1));
}

#[test]
fn exclusive_waits_for_sharers_and_keeps_new_ones_out() {
    let locks = Arc::new(MetadataLocks::default());
    let never = Interrupt::new();
    let mut holder = TransactionLocks::new(locks.clone());
    holder.acquire(7, Use::Read, &limit(&never, 0)).unwrap();
    let change = locks.lock_for_change(&[7], &limit(&never, 0)).unwrap();
    assert_eq!(change.exclusive(&limit(&never, 50)).err().unwrap().code, 1205);
    let cancelled = || Err(Error::new(8214, "Cancelled DDL job"));
    let waited = change.exclusive_while(&limit(&never, 60_000), &cancelled);
    assert_eq!(waited.err().unwrap().code, 8214);

    let granted = Arc::new(AtomicBool::new(false));
    let ddl = {
        let granted = granted.clone();
        thread::spawn(move || {
            let never = Interrupt::new();
            let exclusive = change.exclusive(&limit(&never, 60_000)).unwrap();
            granted.store(true, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(100));
            granted.store(false, Ordering::SeqCst);
            drop(exclusive);
        })
    };
    // A transaction that has the lock can take it again; another one must wait, from when the change asks for it.
    let mut newcomer = TransactionLocks::new(locks);
    let refused = loop {
        match newcomer.acquire(7, Use::Read, &limit(&never, 30)) {
            Ok(_) => newcomer.release_all(),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.code, 1205);
    assert!(!granted.load(Ordering::SeqCst));
    holder.acquire(7, Use::Read, &limit(&never, 0)).unwrap();
    assert!(newcomer.is_empty());
    holder.release_all();
    newcomer.acquire(7, Use::Read, &limit(&never, 60_000)).unwrap();
    assert!(
        !granted.load(Ordering::SeqCst),
        "let in while the change was at work"
    );
    ddl.join().unwrap();
}

#[test]
fn one_change_at_a_time_without_disturbing_sharers() {
    let locks = Arc::new(MetadataLocks::default());
    let never = Interrupt::new();
    let first = locks.lock_for_change(&[1, 2], &limit(&never, 0)).unwrap();
    assert_eq!(
        locks
            .lock_for_change(&[3, 2], &limit(&never, 30))
            .err()
            .unwrap()
            .code,
        1205
    );
    // What the failed request had got is free again.
    drop(locks.lock_for_change(&[3], &limit(&never, 0)).unwrap());
    TransactionLocks::new(locks.clone())
        .acquire(2, Use::Read, &limit(&never, 0))
        .unwrap();
    drop(first);
    drop(locks.lock_for_change(&[1, 2, 3], &limit(&never, 0)).unwrap());
}

#[test]
fn an_interrupt_ends_a_wait() {
    let locks = Arc::new(MetadataLocks::default());
    let kill = Interrupt::new();
    let mut holder = TransactionLocks::new(locks.clone());
    holder.acquire(1, Use::Read, &limit(&kill, 0)).unwrap();
    let change = locks.lock_for_change(&[1], &limit(&kill, 0)).unwrap();
    let killer = {
        let kill = kill.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            kill.raise();
        })
    };
    assert_eq!(change.exclusive(&limit(&kill, 60_000)).err().unwrap().code, 1317);
    killer.join().unwrap();
    // The table is open again.
    let never = Interrupt::new();
    TransactionLocks::new(locks)
        .acquire(1, Use::Read, &limit(&never, 0))
        .unwrap();
}

/// A schema change that waits behind a long transaction lets others pass between its rounds.
#[test]
fn a_waiting_change_lets_others_pass() {
    let locks = Arc::new(MetadataLocks::default());
    let never = Interrupt::new();
    let mut long = TransactionLocks::new(locks.clone());
    long.acquire(1, Use::Read, &limit(&never, 0)).unwrap();
    let ddl = {
        let locks = locks.clone();
        thread::spawn(move || {
            let never = Interrupt::new();
            let change = locks.lock_for_change(&[1], &limit(&never, 0)).unwrap();
            change.exclusive(&limit(&never, 60_000)).map(drop)
        })
    };
    thread::sleep(Duration::from_millis(50));
    let mut other = TransactionLocks::new(locks);
    other
        .acquire(1, Use::Read, &limit(&never, 2 * ROUND.as_millis() as u64))
        .unwrap();
    other.release_all();
    long.release_all();
    ddl.join().unwrap().unwrap();
}

/// No transaction is ever inside together with a schema change.
#[test]
fn users_and_changes_never_meet() {
    let locks = Arc::new(MetadataLocks::default());
    let (inside, changing, stop) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let users: Vec<_> = (0..3)
        .map(|_| {
            let (locks, inside) = (locks.clone(), inside.clone());
            let (changing, stop) = (changing.clone(), stop.clone());
            thread::spawn(move || {
                let never = Interrupt::new();
                let mut mine = TransactionLocks::new(locks);
                while !stop.load(Ordering::SeqCst) {
                    mine.acquire(1, Use::Read, &limit(&never, 60_000)).unwrap();
                    inside.fetch_add(1, Ordering::SeqCst);
                    assert!(!changing.load(Ordering::SeqCst));
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    mine.release_all();
                }
            })
        })
        .collect();
    let never = Interrupt::new();
    for _ in 0..50 {
        let change = locks.lock_for_change(&[1], &limit(&never, 60_000)).unwrap();
        let exclusive = change.exclusive(&limit(&never, 60_000)).unwrap();
        changing.store(true, Ordering::SeqCst);
        assert_eq!(inside.load(Ordering::SeqCst), 0);
        thread::yield_now();
        changing.store(false, Ordering::SeqCst);
        drop(exclusive);
    }
    stop.store(true, Ordering::SeqCst);
    for user in users {
        user.join().unwrap();
    }
}

#[test]
fn a_transaction_waiting_on_a_forgotten_table_gets_through() {
    let locks = Arc::new(MetadataLocks::default());
    let never = Interrupt::new();
    let change = locks.lock_for_change(&[1], &limit(&never, 0)).unwrap();
    let exclusive = change.exclusive(&limit(&never, 0)).unwrap();
    let waiter = {
        let locks = locks.clone();
        thread::spawn(move || {
            let never = Interrupt::new();
            TransactionLocks::new(locks).acquire(1, Use::Read, &limit(&never, 10_000))
        })
    };
    thread::sleep(Duration::from_millis(30));
    locks.forget(1);
    drop(exclusive);
    waiter.join().unwrap().unwrap();
}

fn code<T>(result: types::Result<T>) -> u16 {
    result.err().map_or(0, |error| error.code)
}

#[test]
fn a_read_lock_keeps_writers_out_and_lets_readers_in() {
    let locks = Arc::new(MetadataLocks::default());
    let never = Interrupt::new();
    let mut other = TransactionLocks::new(locks.clone());
    let first = locks.lock_for_session(&[(1, false)], &limit(&never, 0)).unwrap();
    let second = locks.lock_for_session(&[(1, false)], &limit(&never, 0)).unwrap();
    other.acquire(1, Use::Read, &limit(&never, 0)).unwrap();
    // Neither from outside nor from inside.
    assert_eq!(code(other.acquire(1, Use::Write, &limit(&never, 30))), 1205);
    let mut writer = TransactionLocks::new(locks.clone());
    assert_eq!(code(writer.acquire(1, Use::Write, &limit(&never, 30))), 1205);
    drop(first);
    assert_eq!(code(writer.acquire(1, Use::Write, &limit(&never, 30))), 1205);
    drop(second);
    writer.acquire(1, Use::Write, &limit(&never, 0)).unwrap();
    other.acquire(1, Use::Write, &limit(&never, 0)).unwrap();
    // It waits for those that have written, and leaves nothing behind when it gives up.
    assert_eq!(
        code(locks.lock_for_session(&[(1, false)], &limit(&never, 30))),
        1205
    );
    writer.release_all();
    other.release_all();
    drop(locks.lock_for_session(&[(1, false)], &limit(&never, 0)).unwrap());
    writer.acquire(1, Use::Write, &limit(&never, 0)).unwrap();
}

#[test]
fn a_write_lock_keeps_everybody_out() {
    let locks = Arc::new(MetadataLocks::default());
    let never = Interrupt::new();
    let mut reader = TransactionLocks::new(locks.clone());
    reader.acquire(2, Use::Read, &limit(&never, 0)).unwrap();
    let wanted = [(1, false), (2, true)];
    assert_eq!(code(locks.lock_for_session(&wanted, &limit(&never, 30))), 1205);
    reader.release_all();
    let held = locks.lock_for_session(&wanted, &limit(&never, 0)).unwrap();
    reader.acquire(1, Use::Read, &limit(&never, 0)).unwrap();
    assert_eq!(code(reader.acquire(2, Use::Read, &limit(&never, 30))), 1205);
    assert_eq!(code(locks.lock_for_change(&[2], &limit(&never, 30))), 1205);
    assert_eq!(
        code(locks.lock_for_session(&[(2, false)], &limit(&never, 30))),
        1205
    );
    drop(held);
    reader.acquire(2, Use::Write, &limit(&never, 0)).unwrap();
}

/// Sessions that lock tables, and transactions that use them in the opposite order, all get on.
#[test]
fn sessions_and_transactions_do_not_block_each_other_for_ever() {
    let locks = Arc::new(MetadataLocks::default());
    let writing = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let (locks, writing) = (locks.clone(), writing.clone());
            thread::spawn(move || {
                let never = Interrupt::new();
                let mut mine = TransactionLocks::new(locks.clone());
                for round in 0..4 {
                    if n % 2 == 0 {
                        let write = round % 2 == 0;
                        let held = locks
                            .lock_for_session(&[(2, write), (1, false)], &limit(&never, 60_000))
                            .unwrap();
                        assert_eq!(writing.load(Ordering::SeqCst), 0);
                        drop(held);
                    } else {
                        mine.acquire(2, Use::Read, &limit(&never, 60_000)).unwrap();
                        mine.acquire(1, Use::Write, &limit(&never, 60_000)).unwrap();
                        writing.fetch_add(1, Ordering::SeqCst);
                        thread::yield_now();
                        writing.fetch_sub(1, Ordering::SeqCst);
                        mine.release_all();
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_statement_that_fills_a_table_keeps_writers_out_and_readers_only_at_its_end() {
    let locks = Arc::new(MetadataLocks::default());
    let never = Interrupt::new();
    let mut filler = TransactionLocks::new(locks.clone());
    filler.acquire(3, Use::Write, &limit(&never, 0)).unwrap();
    let begin = |locks: &MetadataLocks| locks.fill(3, true, &limit(&Interrupt::new(), 10_000)).unwrap();
    let (mut reader, mut writer) = (
        TransactionLocks::new(locks.clone()),
        TransactionLocks::new(locks.clone()),
    );
    // Beside another writer or reader it does not begin, and leaves nothing behind.
    writer.acquire(3, Use::Write, &limit(&never, 0)).unwrap();
    assert!(begin(&locks).is_none());
    writer.release_all();
    reader.acquire(3, Use::Read, &limit(&never, 0)).unwrap();
    assert!(begin(&locks).is_none());
    reader.acquire(3, Use::Write, &limit(&never, 0)).unwrap();
    reader.release_all();
    let change = locks.lock_for_change(&[3], &limit(&never, 0)).unwrap();
    assert!(begin(&locks).is_none());
    drop(change);

    let filling = begin(&locks).unwrap();
    // Another one has to wait for its turn, although it could write the table row by row.
    let second = locks.fill(3, true, &limit(&never, 300));
    assert_eq!(second.err().unwrap().code, 1205);
    assert_eq!(
        writer
            .acquire(3, Use::Write, &limit(&never, 30))
            .unwrap_err()
            .code,
        1205
    );
    assert_eq!(
        locks
            .lock_for_change(&[3], &limit(&never, 30))
            .err()
            .unwrap()
            .code,
        1205
    );
    reader.acquire(3, Use::Read, &limit(&never, 0)).unwrap();
    let waiting = {
        let locks = locks.clone();
        thread::spawn(move || {
            let filling = filling;
            let alone = filling.alone(&limit(&Interrupt::new(), 60_000)).unwrap();
            let mut late = TransactionLocks::new(locks);
            let refused = late.acquire(3, Use::Read, &limit(&Interrupt::new(), 30));
            drop(alone);
            late.acquire(3, Use::Read, &limit(&Interrupt::new(), 60_000))
                .unwrap();
            refused.unwrap_err().code
        })
    };
    // The reader goes on to write: the filler waits for it to end, so it cannot.
    let refused = reader.acquire(3, Use::Write, &limit(&never, 60_000)).unwrap_err();
    assert_eq!(refused.code, 1213);
    reader.release_all();
    assert_eq!(waiting.join().unwrap(), 1205);
    filler.release_all();
    writer.acquire(3, Use::Write, &limit(&never, 0)).unwrap();
    drop(locks.lock_for_change(&[3], &limit(&never, 0)).unwrap());
}

/// One that gives up its turn writes row by row. It does not do that beside another one that counts on being alone.
#[test]
fn a_statement_that_waits_for_its_turn_does_not_write_beside_one_that_fills_the_table() {
    let locks = Arc::new(MetadataLocks::default());
    let mut all: Vec<_> = (0..3).map(|_| TransactionLocks::new(locks.clone())).collect();
    for filler in &mut all {
        filler
            .acquire(3, Use::Write, &limit(&Interrupt::new(), 0))
            .unwrap();
    }
    let writes = RwLock::new(());
    thread::scope(|scope| {
        for mut filler in all {
            let (locks, writes) = (&locks, &writes);
            scope.spawn(move || {
                let filling = locks.fill(3, true, &limit(&Interrupt::new(), 60_000)).unwrap();
                let (alone, beside) = match &filling {
                    Some(_) => (Some(writes.try_write().expect("others that write")), None),
                    None => (None, Some(writes.try_read().expect("one that fills"))),
                };
                // Longer than the others are willing to wait.
                thread::sleep(Duration::from_millis(300));
                if let Some(filling) = &filling {
                    drop(filling.alone(&limit(&Interrupt::new(), 60_000)).unwrap());
                }
                drop((alone, beside));
                drop(filling);
                filler.release_all();
            });
        }
    });
}

/// With nothing else to do than to fill the table, a statement waits for all others that write it, and takes turns with
/// those that fill it, too. What others do at that moment decides nothing.
#[test]
fn a_statement_that_has_to_fill_a_table_waits_for_its_turn() {
    let locks = Arc::new(MetadataLocks::default());
    let never = Interrupt::new();
    let (mut writer, mut reader) = (
        TransactionLocks::new(locks.clone()),
        TransactionLocks::new(locks.clone()),
    );
    writer.acquire(3, Use::Write, &limit(&never, 0)).unwrap();
    reader.acquire(3, Use::Read, &limit(&never, 0)).unwrap();
    let fill = |locks: &MetadataLocks, wait_ms| locks.fill(3, false, &limit(&Interrupt::new(), wait_ms));
    let mut fillers: Vec<_> = (0..3).map(|_| TransactionLocks::new(locks.clone())).collect();
    for filler in &mut fillers {
        filler.acquire(3, Use::Write, &limit(&never, 0)).unwrap();
    }
    assert_eq!(fill(&locks, 30).err().unwrap().code, 1205);
    let turns = Arc::new(Mutex::new(Vec::new()));
    let threads: Vec<_> = fillers
        .into_iter()
        .map(|mut filler| {
            let (locks, turns) = (locks.clone(), turns.clone());
            thread::spawn(move || {
                let filling = fill(&locks, 60_000).unwrap().unwrap();
                turns.lock().push("begins");
                drop(filling.alone(&limit(&Interrupt::new(), 60_000)).unwrap());
                turns.lock().push("ends");
                drop(filling);
                filler.release_all();
            })
        })
        .collect();
    assert!(turns.lock().is_empty());
    writer.release_all();
    while turns.lock().is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    // The reader is waited for at the end.
    assert_eq!(*turns.lock(), ["begins"]);
    reader.release_all();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*turns.lock(), ["begins", "ends"].repeat(3));
    // A change of the definition waits for the statement, so the statement does not wait for the change.
    let mut filler = TransactionLocks::new(locks.clone());
    filler.acquire(3, Use::Write, &limit(&never, 0)).unwrap();
    let change = locks.lock_for_change(&[3], &limit(&never, 0)).unwrap();
    assert!(fill(&locks, 60_000).unwrap().is_none());
    drop(change);
    assert!(fill(&locks, 0).unwrap().is_some());
}

#[test]
fn a_table_that_is_closed_to_writers_is_open_to_readers() {
    let locks = Arc::new(MetadataLocks::default());
    let never = Interrupt::new();
    let (mut reader, mut writer) = (
        TransactionLocks::new(locks.clone()),
        TransactionLocks::new(locks.clone()),
    );
    writer.acquire(1, Use::Write, &limit(&never, 0)).unwrap();
    let closed = locks.try_close(1, ClosedTo::Writers).unwrap();
    assert!(!closed.is_left());
    reader.acquire(1, Use::Read, &limit(&never, 0)).unwrap();
    writer.release_all();
    assert!(closed.is_left());
    assert_eq!(code(writer.acquire(1, Use::Write, &limit(&never, 30))), 1205);
    // Several may close it.
    let second = locks.try_close(1, ClosedTo::Writers).unwrap();
    drop(closed);
    assert_eq!(code(writer.acquire(1, Use::Write, &limit(&never, 30))), 1205);
    drop(second);
    writer.acquire(1, Use::Write, &limit(&never, 0)).unwrap();
}

#[test]
fn others_see_what_is_locked_and_what_waits() {
    let locks = Arc::new(MetadataLocks::default());
    let of = |session| Interrupt::of_session(session);
    let seen = |session: u64| {
        let claims = locks.claims().into_iter();
        let of_session = claims.filter(|claim| claim.session == session);
        of_session
            .map(|claim| (claim.purpose, claim.stage, claim.tables))
            .collect::<Vec<_>>()
    };
    let (first, second) = (of(1), of(2));
    let held = locks
        .lock_for_session(&[(7, false)], &limit(&first, 1000))
        .unwrap();
    assert_eq!(seen(1), [(Purpose::LockTables, Stage::Holds, vec![(7, false)])]);
    let change = locks.lock_for_change(&[7], &limit(&second, 1000)).unwrap();
    assert_eq!(seen(2), [(Purpose::Alter, Stage::Holds, vec![(7, true)])]);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| change.exclusive(&limit(&second, 60_000)).map(drop));
        while second.waits_for() != state::TABLE {
            thread::yield_now();
        }
        assert_eq!(seen(2)[0].1, Stage::WaitsAlone);
        drop(held);
        waiter.join().unwrap().unwrap();
    });
    assert_eq!((seen(2)[0].1, second.waits_for()), (Stage::Holds, ""));
    assert_eq!(seen(1), []);
    drop(change);
    // FLUSH TABLES WITH READ LOCK gives what waits for it another name.
    let all = locks
        .lock_all_for_session(&[(7, false)], &limit(&first, 1000))
        .unwrap();
    assert_eq!(locks.claims.state_of_wait(7, Use::Write), state::ALL_TABLES);
    assert_eq!(locks.claims.state_of_wait(7, Use::Read), state::TABLE);
    assert_eq!(locks.claims.state_of_wait(INSTANCE, Use::Write), state::BACKUP);
    drop(all);
    assert_eq!(locks.claims.state_of_wait(7, Use::Write), state::TABLE);
    assert!(locks.claims().is_empty());
}
