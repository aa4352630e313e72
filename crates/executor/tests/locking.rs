//! Locks: which transaction waits for which, and what it sees after the wait.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use support::{Conn, Db};

fn db() -> Db {
    Db::with(
        "create table t (id int primary key, a int unique, b int, key (b)); insert into t values (1, 1, 1), (2, 2, 2), (3, 3, 3)",
    )
}

/// Runs `first` in a transaction, then `second` on another connection, which waits; commits the first, and
/// answers with what `second` gave.
fn after_wait<T: Send>(db: &Db, first: &str, second: impl FnOnce(&mut Conn<'_>) -> T + Send) -> T {
    let mut holder = db.conn();
    holder.begin();
    holder.exec(first);
    let (done, is_done) = mpsc::channel();
    thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let mut c = db.conn();
            c.lock_wait = Duration::from_secs(10);
            let answer = second(&mut c);
            done.send(()).unwrap();
            answer
        });
        assert!(
            is_done.recv_timeout(Duration::from_millis(100)).is_err(),
            "it has to wait"
        );
        holder.commit();
        waiter.join().unwrap()
    })
}

#[test]
fn waiting_updates_see_what_was_committed() {
    let db = db();
    after_wait(&db, "update t set b = b + 1 where id = 1", |c| {
        c.exec("update t set b = b + 1 where id = 1")
    });
    assert_eq!(db.conn().rows("select b from t where id = 1"), ["3"]);
    let by_index = after_wait(&db, "update t set b = 100 where id = 2", |c| {
        c.exec("update t set b = b + 1 where b = 2")
    });
    assert_eq!(by_index.matched, 0, "the row does not match any more");
    let gone = after_wait(&db, "delete from t where id = 3", |c| {
        c.exec("update t set b = 7 where a = 3")
    });
    assert_eq!(gone.matched, 0);
    db.check("t");
}

#[test]
fn a_unique_key_that_moved_is_followed() {
    let db = db();
    let rows = after_wait(&db, "update t set a = 10 where id = 1", |c| {
        c.rows("select id from t where a = 1 for update")
    });
    assert!(rows.is_empty());
    let mut c = db.conn();
    c.exec("update t set a = 1 where id = 1");
    // While we wait for row 1, its key goes to row 2.
    let mut holder = db.conn();
    holder.begin();
    holder.exec("update t set a = 20 where id = 1");
    holder.exec("update t set a = 1 where id = 2");
    let rows = thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut c = db.conn();
            c.lock_wait = Duration::from_secs(10);
            c.rows("select id from t where a = 1 for update")
        });
        thread::sleep(Duration::from_millis(100));
        holder.commit();
        waiter.join().unwrap()
    });
    assert_eq!(rows, ["2"]);
}

#[test]
fn nowait_and_skip_locked() {
    let db = db();
    let (mut a, mut b) = (db.conn(), db.conn());
    a.begin();
    assert_eq!(a.rows("select id from t where id = 1 for update"), ["1"]);
    b.begin();
    assert!(
        b.error("select * from t where id = 1 for update nowait")
            .starts_with("3572 ")
    );
    assert_eq!(
        b.rows("select id from t order by id for update skip locked"),
        ["2", "3"]
    );
    assert_eq!(a.error("update t set b = 0 where id = 2").get(..4), Some("1205"));
    b.commit();
    assert_eq!(
        b.rows("select id from t where b >= 0 limit 1 for update skip locked"),
        ["2"]
    );
    assert_eq!(
        b.rows("select id from t"),
        ["1", "2", "3"],
        "plain reads do not mind"
    );
    a.commit();
}

#[test]
fn a_queue_hands_out_each_row_once() {
    let db = Db::with(
        "create table q (id int primary key, done int, key (done)); insert into q values (1, 0), (2, 0), (3, 0), (4, 0)",
    );
    let take = "select id from q where done = 0 order by id limit 1 for update skip locked";
    let mut conns: Vec<_> = (0..5).map(|_| db.conn()).collect();
    let mut taken = Vec::new();
    for c in &mut conns {
        c.begin();
        taken.extend(c.rows(take));
    }
    taken.sort();
    assert_eq!(taken, ["1", "2", "3", "4"]);
}

#[test]
fn shared_locks_are_shared() {
    let db = db();
    let (mut a, mut b, mut c) = (db.conn(), db.conn(), db.conn());
    a.begin();
    b.begin();
    assert_eq!(a.rows("select b from t where id = 1 for share"), ["1"]);
    assert_eq!(b.rows("select b from t where id = 1 for share"), ["1"]);
    assert!(c.error("update t set b = 5 where id = 1").starts_with("1205 "));
    a.commit();
    b.commit();
    c.exec("update t set b = 5 where id = 1");
}

#[test]
fn inserts_wait_for_each_others_keys() {
    let db = db();
    let message = after_wait(&db, "insert into t values (9, 9, 9)", |c| {
        c.error("insert into t values (8, 9, 8)")
    });
    assert_eq!(message, "1062 Duplicate entry '9' for key 't.a'");
    let done = after_wait(&db, "delete from t where id = 9", |c| {
        c.exec("insert into t values (8, 9, 8)")
    });
    assert_eq!(done.affected, 1);
    let done = after_wait(&db, "update t set a = 11 where id = 1", |c| {
        c.exec("insert into t values (10, 1, 1)")
    });
    assert_eq!(done.affected, 1);
    db.check("t");
}

#[test]
fn unique_keys_hold_under_races() {
    let db = Db::with("create table r (id int auto_increment primary key, u int, n int, unique (u))");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut c = db.conn();
                c.lock_wait = Duration::from_secs(10);
                for i in 0..60 {
                    let sql = format!(
                        "insert into r (u, n) values ({}, 1) on duplicate key update n = n + 1",
                        i % 20
                    );
                    while let Err(error) = c.run(&sql, &[]) {
                        assert_eq!(error.code, 1213, "{error}");
                    }
                }
            });
        }
    });
    let mut c = db.conn();
    assert_eq!(c.rows("select count(*), sum(n), min(n) from r"), ["20 240 12"]);
    db.check("r");
}

#[test]
fn transfers_keep_their_sum() {
    let db = Db::with(
        "create table acc (id int primary key, v int); insert into acc values (0, 100), (1, 100), (2, 100), (3, 100)",
    );
    thread::scope(|scope| {
        for seed in 0..4u32 {
            let db = &db;
            scope.spawn(move || {
                let mut c = db.conn();
                c.lock_wait = Duration::from_secs(10);
                let mut x = seed + 1;
                for _ in 0..50 {
                    x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let (from, to, v) = (x >> 8 & 3, x >> 12 & 3, x >> 16 & 7);
                    c.begin();
                    let first = c.run(&format!("update acc set v = v - {v} where id = {from}"), &[]);
                    let second = first
                        .and_then(|_| c.run(&format!("update acc set v = v + {v} where id = {to}"), &[]));
                    match second {
                        Ok(_) => c.commit(),
                        Err(error) => {
                            assert_eq!(error.code, 1213, "{error}");
                            c.rollback();
                        }
                    }
                    assert_eq!(c.rows("select sum(v) from acc"), ["400"]);
                }
            });
        }
    });
}

#[test]
fn optimistic_transactions_wait_for_nobody() {
    let db = db();
    let (mut a, mut b) = (db.conn(), db.conn());
    let begin = || {
        let options = kv::TxnOptions {
            optimistic: true,
            ..Default::default()
        };
        Some(db.store.begin(options).unwrap())
    };
    let commit = |c: &mut Conn<'_>| c.txn.take().unwrap().commit(kv::Durability::Sync);
    a.txn = begin();
    a.exec("update t set b = b + 1 where id = 1");
    a.exec("update t set b = 20 where b = 2");
    a.exec("insert into t values (9, 9, 9)");
    b.exec("update t set b = 30 where id = 3");
    commit(&mut a).unwrap();
    assert_eq!(b.rows("select b from t order by id"), ["20", "20", "30", "9"]);
    for (mine, theirs) in [
        (
            "update t set b = 0 where id = 1",
            "update t set b = 7 where id = 1",
        ),
        ("delete from t where b = 20", "update t set b = 8 where id = 2"),
        (
            "insert into t values (10, 10, 10)",
            "insert into t values (11, 10, 11)",
        ),
    ] {
        a.txn = begin();
        a.exec(mine);
        b.exec(theirs);
        let error = types::Error::from(commit(&mut a).unwrap_err());
        assert_eq!(error.code, 9007, "{mine}");
    }
    db.check("t");
}

/// More rows than a locking scan keeps in memory, so that it reads them once more when all are locked.
#[test]
fn many_locked_rows_are_read_again_as_they_were_locked() {
    let db = Db::with("create table big (id int primary key, v int, filler varchar(2000), key (v))");
    let mut c = db.conn();
    let filler = "x".repeat(2_000);
    for from in (0..6_000).step_by(500) {
        let rows: Vec<String> = (from..from + 500)
            .map(|id| format!("({id}, {}, '{filler}')", id % 3))
            .collect();
        c.exec(&format!("insert into big values {}", rows.join(",")));
    }
    // The index that the rows are found by is what changes.
    let moved = c.exec("update big set v = v + 1 where v >= 0");
    assert_eq!((moved.matched, moved.affected), (6_000, 6_000));
    assert_eq!(c.rows("select min(v), max(v), sum(v) from big"), ["1 3 12000"]);
    let mut other = db.conn();
    other.begin();
    other.exec("update big set v = 9 where id in (0, 4000)");
    c.begin();
    let skipped =
        c.rows("select id, filler from big where v > 0 order by id limit 5000 for update skip locked");
    assert_eq!(skipped.len(), 5_000);
    assert!(
        skipped[0].starts_with("1 ") && skipped[4_999].starts_with("5001 "),
        "{}",
        &skipped[4_999][..8]
    );
    other.commit();
    let deleted = c.exec("delete from big where v < 9 limit 5500");
    assert_eq!(deleted.affected, 5_500);
    assert_eq!(c.rows("select count(*) from big"), ["500"]);
    c.commit();
    db.check("big");
}
