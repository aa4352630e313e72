//! What a statement holds is bounded, or counted: batches do not grow with what expressions and joins make of
//! short rows, and what must be held is refused beyond the statement's limit.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use support::{Conn, Db};
use types::Value;

/// `t` has 2,048 rows: `v` and `k` count, and `one` is 1.
fn db() -> Db {
    let db = Db::with(
        "create table t (id int primary key, v int, k int, one int, key (v), key (k));
         insert into t values (1, 1, 1, 1)",
    );
    let mut c = db.conn();
    for i in 0..11 {
        c.exec_with(
            "insert into t select id + ?, v + ?, k + ?, 1 from t",
            &[Value::Int(1 << i), Value::Int(1 << i), Value::Int(1 << i)],
        );
    }
    db
}

fn is_refused(c: &mut Conn<'_>, sql: &str) {
    let error = c.error(sql);
    assert!(error.starts_with("8175 "), "{sql}: {error}");
}

/// The sink of all tests here refuses batches that are much larger than they should be.
#[test]
fn values_that_grow_make_smaller_batches() {
    let db = db();
    let mut c = db.conn();
    let rows = c.rows("select id, repeat('x', 50000 + v - v) s from t");
    assert_eq!(rows.len(), 2048);
    assert!(rows.iter().all(|row| row.len() > 50_000));
    let rows = c.rows("select length(s) from (select repeat('x', 50000 + v - v) s from t limit 1500) d");
    assert_eq!(rows, vec!["50000"; 1500]);
    let lengths = c.rows("select id from t where length(repeat('x', 200000 + v)) = 200007");
    assert_eq!(lengths, ["7"]);
}

#[test]
fn window_values_that_grow_with_their_frames_make_smaller_batches() {
    let db = db();
    let mut c = db.conn();
    let rows = c.rows("select json_arrayagg(v + 1000000) over (order by id) from t");
    assert_eq!(rows.len(), 2048);
    assert_eq!(rows[2047].len(), 2048 * "1000001, ".len());
    let rows =
        c.rows("select length(first_value(repeat('x', 30000)) over (order by id)) from t where id <= 1024");
    assert_eq!(rows, vec!["30000"; 1024]);
    let rows = c.rows("select first_value(repeat('x', 30000)) over (order by id) from t where id <= 1024");
    assert_eq!(rows.len(), 1024);
    // Many small partitions are one batch.
    let rows =
        c.rows("select json_arrayagg(v) over (partition by id), count(*) over (partition by id) from t");
    assert_eq!(rows.len(), 2048);
    assert_eq!(rows[2], "[3] 1");
    c.memory_limit_bytes = 64 << 10;
    is_refused(
        &mut c,
        "select json_arrayagg(repeat('x', 300)) over (order by id) from t where id < 500",
    );
}

#[test]
fn a_wide_row_in_many_pairs_makes_smaller_batches() {
    let db = db();
    let mut c = db.conn();
    c.exec_all(
        "create table wide (id int primary key, n int, s mediumtext);
         insert into wide values (1, 1, repeat('x', 100000)), (2, 2, 'y')",
    );
    for sql in [
        // By its key; by a hash table; by all pairs. And as the left side.
        "select length(t.one), w.s from t join wide w on w.id = t.one",
        "select t.id, w.s from t join wide w on w.n = t.one",
        "select t.id, w.s from t left join wide w on w.n < t.one + 1 and w.n > t.one - 1",
        "select w.s, t.id from wide w left join t on t.one = w.id where w.id = 1",
        "select w.s, t.id from wide w left join t on t.one + w.id < w.id + 2 where w.id = 1",
    ] {
        let rows = c.rows(sql);
        assert_eq!(rows.len(), 2048, "{sql}");
        assert!(rows.iter().all(|row| row.len() > 100_000), "{sql}");
    }
}

#[test]
fn large_rows_are_looked_up_a_few_at_a_time() {
    let db = db();
    let mut c = db.conn();
    c.exec_all(
        "create table wide (id int primary key, n int, s mediumtext, key (n));
         insert into wide select id, v, if(id > 300, repeat('x', 100000), 'y') from t where id < 400",
    );
    for sql in [
        "select s from wide force index (n) where n > 0",
        "select s from wide where id in (select id from t)",
        "select w.s from t join wide w on w.id = t.v",
        // By entries, whose rows are gathered over several rows of the left side.
        "select w.s from t straight_join wide w force index (n) on w.n = t.v",
    ] {
        let rows = c.rows(sql);
        assert_eq!(rows.len(), 399, "{sql}");
        assert_eq!(
            rows.iter().filter(|row| row.len() == 100_000).count(),
            99,
            "{sql}"
        );
    }
}

#[test]
fn a_row_of_a_join_with_more_entries_than_a_call_takes_is_read_page_by_page() {
    let db = db();
    let mut c = db.conn();
    c.exec_all(
        "create table skewed (id int primary key, n int, v int, key (n));
         insert into skewed select id, if(id <= 2000, 1, id), v from t",
    );
    let joined = "from t straight_join skewed s force index (n) on s.n = t.v where t.id < 2040";
    // Of 1 to 2,039, in the order of the left side and then of the entries.
    let rows = c.rows(&format!("select s.v {joined}"));
    let expected: Vec<String> = (1..2040).map(|v| v.to_string()).collect();
    assert_eq!(rows, expected);
    let rows = c.rows(&format!("select s.v {joined} limit 3"));
    assert_eq!(rows, ["1", "2", "3"]);
    let rows = c.rows(&format!("select s.v {joined} and s.v > 1990 limit 12"));
    assert_eq!(rows, (1991..2003).map(|v| v.to_string()).collect::<Vec<_>>());
}

#[test]
fn rows_of_a_cascade_are_counted() {
    let db = db();
    let mut c = db.conn();
    c.exec_all(
        "create table parent (id int primary key);
         create table child (id int primary key, p int, s varchar(200),
           foreign key (p) references parent (id) on delete cascade on update cascade);
         insert into parent values (1);
         insert into child select id, 1, repeat('x', 200) from t",
    );
    c.memory_limit_bytes = 200 << 10;
    is_refused(&mut c, "delete from parent where id = 1");
    is_refused(&mut c, "update parent set id = 2 where id = 1");
    assert_eq!(c.rows("select count(*) from child"), ["2048"]);
    c.memory_limit_bytes = 64 << 20;
    assert_eq!(c.exec("update parent set id = 2 where id = 1").affected, 1);
    assert_eq!(c.exec("delete from parent").affected, 1);
    assert_eq!(c.rows("select count(*) from child"), ["0"]);
    // Each parent that a child needs is remembered.
    c.exec("insert into parent select id from t");
    c.memory_limit_bytes = 100 << 10;
    is_refused(&mut c, "insert into child select id, v, 's' from t");
    assert_eq!(
        c.exec("insert into child select id, v, 's' from t where id < 300")
            .affected,
        299
    );
}

#[test]
fn keys_that_a_statement_remembers_are_counted() {
    let db = db();
    let mut c = db.conn();
    c.memory_limit_bytes = 64 << 10;
    let union = "select id from t where v > 0 or k > 2040";
    assert!(matches!(c.plan(union, &[]), Ok(plan) if format!("{plan:?}").contains("Union")));
    is_refused(&mut c, union);
    is_refused(&mut c, "select id from t limit 1500 for update");
    assert_eq!(c.rows("select id from t limit 100 for update").len(), 100);
    assert_eq!(c.rows("select id from t where v < 100 or k > 2000").len(), 147);
}
