//! Changes that others read the table beside, and do not write.

use std::time::Instant;

use kv::{LockOptions, Transaction, TxnOptions};
use schema::definition::{AlterChange, Position};
use schema::layout::{RowHandle, row_key};

use super::*;

/// A transaction with the lock of the row with an id: rewriting rows waits for it. It is not one that uses the table.
pub(super) fn row_lock(db: &SchemaChanger, id: i64) -> Transaction {
    let mut txn = db.cluster().store().begin(TxnOptions::default()).unwrap();
    let key = row_key(&table(db, "t"), &RowHandle::Int(id));
    txn.lock(&[key], &LockOptions::exclusive(Duration::from_secs(20)))
        .unwrap();
    txn
}

pub(super) fn new_ids() -> Vec<AlterChange> {
    vec![
        add_column(auto("s", int()), Position::Last),
        add_index("s", &["s"], true),
    ]
}

/// The error of a transaction that uses `t`, if it cannot within a short time.
pub(super) fn refusal(db: &SchemaChanger, uses: &[Use]) -> Option<u16> {
    let ctx = DdlContext {
        lock_wait: Duration::from_millis(20),
        ..context()
    };
    let mut locks = TransactionLocks::new(db.cluster().metadata_locks().clone());
    let id = table(db, "t").id;
    let mut all = uses.iter();
    let taken = all.try_for_each(|one| locks.acquire(id, *one, &ctx.limit()));
    taken.err().map(|error| error.code)
}

/// Waits until writers cannot use `t`, and readers can.
pub(super) fn wait_for_readers_only(db: &SchemaChanger) {
    let start = Instant::now();
    // Only what waits for readers in the end refuses with 1213, not the short exclusive moment before.
    while refusal(db, &[Use::Read, Use::Write]) != Some(1213) || refusal(db, &[Use::Read]).is_some() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "never closed to writers"
        );
    }
}

#[test]
fn others_read_a_table_whose_rows_get_ids() {
    let db = new_db();
    jobs::filled(&db, 1_000);
    let lock = row_lock(&db, 700);
    thread::scope(|scope| {
        let altering = scope.spawn(|| alter(&db, "t", new_ids()));
        wait_for_readers_only(&db);
        // The change would wait for it in the end.
        assert_eq!(refusal(&db, &[Use::Read, Use::Write]), Some(1213));
        assert_eq!(table(&db, "t").columns.len(), 3);
        assert!(!altering.is_finished());
        drop(lock);
        altering.join().unwrap().unwrap();
    });
    assert_eq!(refusal(&db, &[Use::Read, Use::Write]), None);
    let made = table(&db, "t");
    let ids = rows(&db, &made).into_iter().map(|row| row[3].clone());
    assert!(ids.eq((1..=1_000).map(Value::Int)));
    assert_eq!(checked(&db, "t"), 1_000);
}

#[test]
fn a_change_beside_readers_is_killed_and_undone() {
    let db = new_db();
    let before = jobs::filled(&db, 1_000);
    let lock = row_lock(&db, 700);
    let ctx = context();
    thread::scope(|scope| {
        let altering = scope.spawn(|| alter_with(&db, "t", new_ids(), &ctx));
        wait_for_readers_only(&db);
        ctx.interrupt.raise();
        drop(lock);
        assert_eq!(fails(altering.join().unwrap()).0, 1317);
    });
    assert_eq!(refusal(&db, &[Use::Read, Use::Write]), None);
    assert_eq!(table(&db, "t").columns, before.columns);
    assert_eq!(checked(&db, "t"), 1_000);
}

/// Writers do not wait for it longer than `lock_wait_timeout`.
#[test]
fn a_row_that_stays_locked_ends_the_change() {
    let db = new_db();
    let before = jobs::filled(&db, 10);
    let lock = row_lock(&db, 7);
    let ctx = DdlContext {
        lock_wait: Duration::from_millis(300),
        ..context()
    };
    thread::scope(|scope| {
        let altering = scope.spawn(|| alter_with(&db, "t", new_ids(), &ctx));
        let start = Instant::now();
        while !altering.is_finished() && start.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(10));
        }
        drop(lock);
        assert_eq!(fails(altering.join().unwrap()).0, 1205);
    });
    assert_eq!(refusal(&db, &[Use::Read, Use::Write]), None);
    assert_eq!(table(&db, "t").columns, before.columns);
    assert_eq!(checked(&db, "t"), 10);
}

/// A reader that stays keeps the change from its last step, and writers out until it has given up.
#[test]
fn a_reader_that_stays_is_waited_for_in_the_end() {
    let db = new_db();
    let before = jobs::filled(&db, 10);
    let lock = row_lock(&db, 7);
    let ctx = DdlContext {
        lock_wait: Duration::from_secs(5),
        ..context()
    };
    thread::scope(|scope| {
        let altering = scope.spawn(|| alter_with(&db, "t", new_ids(), &ctx));
        wait_for_readers_only(&db);
        let mut reader = TransactionLocks::new(db.cluster().metadata_locks().clone());
        reader.acquire(before.id, Use::Read, &context().limit()).unwrap();
        drop(lock);
        assert_eq!(fails(altering.join().unwrap()).0, 1205);
        drop(reader);
    });
    db.resume_jobs(&kv::Interrupt::new());
    assert_eq!(refusal(&db, &[Use::Read, Use::Write]), None);
    assert_eq!(table(&db, "t").columns, before.columns);
    assert_eq!(checked(&db, "t"), 10);
}
