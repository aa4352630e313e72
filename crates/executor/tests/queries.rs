//! Access paths, ranges and operators of queries.

mod support;

use support::{Conn, Db};
use types::Value;

fn db() -> Db {
    Db::with(
        "create table t (id int primary key, a int, b varchar(20), c int, key ab (a, b), unique uc (c), key kb (b(3)));
         insert into t values (1, 1, 'abc', 10), (2, 1, 'abd', 20), (3, 2, 'ABC', 30), (4, null, null, null), (5, 3, 'abcdef', 50),
         (6, null, 'x', null), (7, 2, '', 70)",
    )
}

fn ids(c: &mut Conn<'_>, condition: &str) -> String {
    let rows = c.rows(&format!("select id from t where {condition}"));
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort();
    rows.join(" ")
}

#[test]
fn conditions_find_their_rows_by_every_path() {
    let db = db();
    let mut c = db.conn();
    for (condition, expected) in [
        ("id = 3", "3"),
        ("id = 99", ""),
        ("id in (5, 1, 1, 99, 5)", "1 5"),
        ("id between 2 and 4", "2 3 4"),
        ("id > 2 and id < 5", "3 4"),
        ("id < 2 or id > 6", "1 7"),
        ("id < 5 or id < 3", "1 2 3 4"),
        ("c = 20", "2"),
        ("c in (70, 20, 20, 5)", "2 7"),
        ("c is null", "4 6"),
        ("c is not null and c < 30", "1 2"),
        ("c < 30", "1 2"),
        ("c <= 30", "1 2 3"),
        ("c > 30", "5 7"),
        ("a = 1", "1 2"),
        ("a = 1 and b = 'ABC'", "1"),
        ("a = 1 and b > 'abc'", "2"),
        ("a = 2 and b >= ''", "3 7"),
        ("a is null", "4 6"),
        ("a <=> null and b = 'x'", "6"),
        ("a <=> 2", "3 7"),
        ("a = null", ""),
        ("a > null", ""),
        ("a in (1, null, 3)", "1 2 5"),
        ("a = 1 or a = 3", "1 2 5"),
        ("a > 1 and b like 'abc%'", "3 5"),
        ("b = 'abc'", "1 3"),
        ("b = 'abcdef'", "5"),
        ("b > 'abc'", "2 5 6"),
        ("b >= 'abcd' and b < 'abd'", "5"),
        ("b < 'abd'", "1 3 5 7"),
        ("b like 'ab%'", "1 2 3 5"),
    ] {
        assert_eq!(ids(&mut c, condition), expected, "{condition}");
    }
}

#[test]
fn parameters_that_are_null_find_nothing() {
    let db = db();
    let mut c = db.conn();
    for sql in [
        "select id from t where id = ?",
        "select id from t where c = ?",
        "select id from t where a > ?",
        "select id from t where a = 1 and b < ?",
    ] {
        assert!(c.rows_with(sql, &[Value::Null]).is_empty(), "{sql}");
    }
    assert_eq!(
        c.rows_with("select id from t where a <=> ? and b = 'x'", &[Value::Null]),
        ["6"]
    );
}

#[test]
fn orders_come_from_indexes_or_sorts() {
    let db = db();
    let mut c = db.conn();
    let joined = |rows: Vec<String>| rows.join(" ");
    assert_eq!(
        joined(c.rows("select id from t order by id desc limit 3")),
        "7 6 5"
    );
    assert_eq!(
        joined(c.rows("select id from t where id < 6 order by id desc")),
        "5 4 3 2 1"
    );
    assert_eq!(
        joined(c.rows("select a, id from t where a > 0 order by a desc, b desc")),
        "3 5 2 3 2 7 1 2 1 1"
    );
    assert_eq!(joined(c.rows("select id from t order by b, id")), "4 7 1 3 5 2 6");
    assert_eq!(
        joined(c.rows("select id from t order by b desc, id")),
        "6 2 5 1 3 7 4"
    );
    assert_eq!(
        joined(c.rows("select id from t order by b, id limit 2, 3")),
        "1 3 5"
    );
    assert_eq!(joined(c.rows("select id from t order by id limit 5, 100")), "6 7");
    assert!(c.rows("select id from t limit 0").is_empty());
}

#[test]
fn groups_and_distinct() {
    let db = db();
    let mut c = db.conn();
    assert_eq!(
        c.rows("select a, count(*), sum(c), max(b) from t group by a order by a"),
        ["NULL 2 NULL x", "1 2 30 abd", "2 2 100 ABC", "3 1 50 abcdef"]
    );
    assert_eq!(
        c.rows("select count(*), sum(c) from t where id > 100"),
        ["0 NULL"]
    );
    assert!(
        c.rows("select count(*) from t where id > 100 group by a")
            .is_empty()
    );
    assert_eq!(
        c.rows("select distinct b from t where b like 'abc' order by b"),
        ["abc"]
    );
    assert_eq!(
        c.rows("select count(distinct b), count(distinct a) from t"),
        ["5 3"]
    );
    assert_eq!(
        c.rows("select a from t group by a having count(*) > 1 and a is not null order by a"),
        ["1", "2"]
    );
    assert_eq!(c.rows("select 1 + 1, 'x'"), ["2 x"]);
}

#[test]
fn covering_indexes_give_the_same_as_rows() {
    let db = db();
    let mut c = db.conn();
    let covered = c.rows("select a, b, id from t where a in (1, 2) order by a, b");
    let rows = c.rows("select a, b, id from t where a + 0 in (1, 2) order by a, b");
    assert_eq!(covered, rows);
    assert_eq!(covered, ["1 abc 1", "1 abd 2", "2  7", "2 ABC 3"]);
}

#[test]
fn own_writes_and_snapshots() {
    let db = db();
    let (mut c, mut other) = (db.conn(), db.conn());
    c.begin();
    assert_eq!(c.rows("select count(*) from t"), ["7"]);
    other.exec("insert into t values (8, 8, 'new', 80)");
    other.exec("update t set b = 'changed' where id = 1");
    c.exec("delete from t where id = 2");
    c.exec("update t set a = 100 where id = 3");
    assert_eq!(c.rows("select id from t where a = 100"), ["3"]);
    assert_eq!(c.rows("select count(*) from t"), ["6"]);
    assert_eq!(c.rows("select b from t where id = 1"), ["abc"]);
    // Changes are made to what is newest, not to what the snapshot shows.
    assert_eq!(c.exec("update t set b = concat(b, '!') where id = 1").affected, 1);
    assert_eq!(c.rows("select b from t where id = 1"), ["changed!"]);
    assert_eq!(c.exec("delete from t where a = 8").affected, 1);
    c.commit();
    assert_eq!(other.rows("select count(*) from t"), ["6"]);
    db.check("t");
}

#[test]
fn results_stream_in_batches() {
    let db = Db::with("create table n (id int primary key, k int, key (k)); insert into n values (0, 0)");
    let mut c = db.conn();
    for i in 0..13 {
        c.exec_with(
            "insert into n select id + ?, id + ? from n",
            &[Value::Int(1 << i), Value::Int(1 << i)],
        );
    }
    assert_eq!(
        c.rows("select count(*), sum(id), sum(k) from n"),
        ["8192 33550336 33550336"]
    );
    assert_eq!(
        c.rows("select count(*) from n where k >= 100 and k % 1000 = 7"),
        ["8"]
    );
    assert_eq!(
        c.rows("select id from n where k > 5 and k % 4000 = 1 limit 2"),
        ["4001", "8001"]
    );
    assert_eq!(
        c.rows("select k from n where k < 5000 order by k desc limit 4998, 1"),
        ["1"]
    );
    let all = c.rows("select id from n where k >= 0 order by k desc");
    assert_eq!(all.len(), 8192);
    assert!(all.iter().rev().enumerate().all(|(i, id)| *id == i.to_string()));
}

#[test]
fn the_past_can_be_read() {
    let db = db();
    let mut c = db.conn();
    let sql = "select count(*) from t as of timestamp ?";
    std::thread::sleep(std::time::Duration::from_millis(5));
    let before = c.rows("select now(6)")[0].clone();
    std::thread::sleep(std::time::Duration::from_millis(5));
    c.exec("delete from t");
    assert_eq!(c.rows_with(sql, &[Value::from(before.as_str())]), ["7"]);
    assert_eq!(c.rows("select count(*) from t"), ["0"]);
    assert!(
        c.error("select * from t as of timestamp '2999-01-01'")
            .starts_with("8135 ")
    );
    // The table did not exist then.
    assert!(
        c.error("select * from t as of timestamp '1999-01-01'")
            .starts_with("1412 ")
    );
    c.begin();
    assert!(
        c.error("select * from t as of timestamp now()")
            .starts_with("8135 ")
    );
}

#[test]
fn kill_ends_a_query() {
    let db = db();
    let mut c = db.conn();
    c.interrupt.raise();
    assert_eq!(c.error("select * from t"), "1317 Query execution was interrupted");
    c.interrupt.clear();
    assert_eq!(c.rows("select count(*) from t"), ["7"]);
}

/// DISTINCT removes duplicates by sorting if the order includes all columns, else with a set of keys.
#[test]
fn distinct_rows_in_order() {
    let db = Db::with("create table n (id int primary key, s varchar(20)); insert into n values (0, 'row')");
    let mut c = db.conn();
    for doubled in 0..13 {
        c.exec_with(
            "insert into n select id + ?, s from n",
            &[Value::Int(1 << doubled)],
        );
    }
    c.exec("update n set s = if(id % 2, concat('Ä', id % 3001), concat('a', id % 3001)) where id > 0");
    // The first of equal rows stays.
    c.exec("update n set s = null where id % 3001 = 7");
    let by_order = c.rows("select distinct s from n order by s");
    assert_eq!(by_order.len(), 3001 + 1, "{:?}", by_order.get(..3));
    assert_eq!(by_order[0], "NULL");
    assert_eq!(by_order, c.rows("select min(s) from n group by s order by s"));
    let mut reversed = c.rows("select distinct s from n order by s desc");
    reversed.reverse();
    assert_eq!(reversed, by_order);
    for limit in [1, 5, 1500, 4000] {
        let some = c.rows(&format!("select distinct s from n order by s limit {limit}"));
        assert_eq!(some, by_order[..by_order.len().min(limit)]);
    }
    let pairs = c.rows("select distinct id % 2, id % 3 from n order by 2, 1 desc");
    assert_eq!(pairs, ["1 0", "0 0", "1 1", "0 1", "1 2", "0 2"]);
    let by_less = c.rows("select distinct id % 2, id % 3 from n order by 2");
    assert_eq!(by_less.len(), 6);
}
