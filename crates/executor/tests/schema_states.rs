//! Writes beside a schema change: which index entries they keep, by the index's state.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::sync::Arc;

use kv::{Durability, KeyRange, Reader, TxnOptions};
use planner::plan::Plan;
use schema::layout::index_range;
use schema::model::{SchemaState, Table};
use support::{Conn, Db};
use types::Result;

/// Runs a write as a node would that sees the table's last index in `state`.
fn write(c: &Conn<'_>, state: SchemaState, sql: &str) -> Result<u64> {
    let seen = |table: &Arc<Table>| {
        let mut table = Table::clone(table);
        table.indexes.last_mut().unwrap().state = state;
        Arc::new(table)
    };
    let eval = c.eval(&[], true);
    let ctx = c.context(&eval);
    let mut txn = c.db.store.begin(TxnOptions::default())?;
    let done = match c.plan(sql, &[])? {
        Plan::Insert(mut plan) => {
            plan.table = seen(&plan.table);
            executor::insert(&plan, &mut txn, &ctx)?
        }
        Plan::Update(mut plan) => {
            plan.target.scan.table = seen(&plan.target.scan.table);
            executor::update(&plan, &mut txn, &ctx)?
        }
        Plan::Delete(mut plan) => {
            plan.target.scan.table = seen(&plan.target.scan.table);
            executor::delete(&plan, &mut txn, &ctx)?
        }
        Plan::Query(_) | Plan::FoundWrite(_) => panic!("{sql}"),
    };
    txn.commit(Durability::Sync)?;
    Ok(done.affected)
}

/// How many entries the last index has.
fn entries(db: &Db) -> usize {
    let schema = db.cluster.schema();
    let table = schema.table("d", "t").unwrap();
    let range = KeyRange::from(index_range(table, table.indexes.len() - 1));
    let snapshot = db.store.snapshot_now().unwrap();
    snapshot.scan_page(&range, 1000, false).unwrap().len()
}

#[test]
fn delete_only_entries_are_removed_and_never_written() {
    for index in ["key k (a)", "unique k (a)"] {
        let db = Db::with(&format!(
            "create table t (id int primary key, a int, {index}); insert into t values (1, 1), (2, 2), (3, 3)"
        ));
        let c = db.conn();
        let state = SchemaState::DeleteOnly;
        assert_eq!(
            write(&c, state, "insert into t values (4, 4), (5, 1)").unwrap(),
            2,
            "{index}"
        );
        assert_eq!(entries(&db), 3);
        write(&c, state, "update t set a = 20 where id = 2").unwrap();
        assert_eq!(entries(&db), 2);
        write(&c, state, "delete from t where id in (3, 4)").unwrap();
        assert_eq!(entries(&db), 1);
    }
}

#[test]
fn write_only_entries_are_kept() {
    let db = Db::with("create table t (id int primary key, a int, key k (a)); insert into t values (1, 1)");
    let c = db.conn();
    let state = SchemaState::WriteOnly;
    write(&c, state, "insert into t values (2, 2), (3, 3)").unwrap();
    write(&c, state, "update t set a = a + 10").unwrap();
    write(&c, state, "replace into t values (3, 30)").unwrap();
    write(&c, state, "delete from t where id = 2").unwrap();
    assert_eq!(entries(&db), 2);
    db.check("t");
}

#[test]
fn duplicates_in_an_unfinished_unique_index_always_fail() {
    let db = Db::with(
        "create table t (id int primary key, a int, unique k (a)); insert into t values (1, 1), (2, 2)",
    );
    let c = db.conn();
    for sql in [
        "insert into t values (3, 1)",
        "insert ignore into t values (3, 1)",
        "replace into t values (3, 1)",
        "insert into t values (3, 1) on duplicate key update a = 9",
        "update t set a = 1 where id = 2",
        "update ignore t set a = 1 where id = 2",
    ] {
        let error = write(&c, SchemaState::WriteOnly, sql).unwrap_err();
        assert_eq!(error.code, 1062, "{sql}");
    }
    db.check("t");
}

/// A row that is not in the index yet must not take another row's entry with it.
#[test]
fn entries_of_other_rows_stay() {
    let db =
        Db::with("create table t (id int primary key, a int, unique k (a)); insert into t values (1, 1)");
    let c = db.conn();
    // Written by a node that does not keep the index yet.
    write(&c, SchemaState::DeleteOnly, "insert into t values (2, 1), (3, 1)").unwrap();
    assert_eq!(entries(&db), 1);
    write(&c, SchemaState::WriteOnly, "delete from t where id = 2").unwrap();
    write(&c, SchemaState::WriteOnly, "update t set a = 5 where id = 3").unwrap();
    assert_eq!(entries(&db), 2, "row 1 keeps its entry");
    db.check("t");
}

/// Nor must it replace that entry, when its own would change but for the key.
#[test]
fn entries_of_other_rows_are_not_replaced() {
    for (value, other, sql) in [
        ("1", "1", "update t set id = 9 where id = 2"),
        ("1", "1", "update ignore t set id = 9 where id = 2"),
        (
            "1",
            "1",
            "insert into t values (2, 7) on duplicate key update id = 9",
        ),
        ("'a'", "'A'", "update t set id = 9, a = 'a' where id = 2"),
    ] {
        let db = Db::with(&format!(
            "create table t (id int primary key, a varchar(9), unique k (a)); insert into t values (1, {value})"
        ));
        let c = db.conn();
        write(
            &c,
            SchemaState::DeleteOnly,
            &format!("insert into t values (2, {other})"),
        )
        .unwrap();
        let error = write(&c, SchemaState::WriteOnly, sql).unwrap_err();
        assert_eq!(error.code, 1062, "{sql}");
        write(&c, SchemaState::WriteOnly, "delete from t where id = 2").unwrap();
        assert_eq!(entries(&db), 1, "{sql}");
        db.check("t");
    }
}
