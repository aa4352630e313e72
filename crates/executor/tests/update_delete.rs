//! UPDATE and DELETE: what MySQL 8.0.33 answered to the same statements.

mod support;

use planner::plan::Plan;
use support::{Answer, Conn, Db};
use types::Value;

const U: &str =
    "create table u (id int primary key, a int unique, b int, ts timestamp null on update current_timestamp);
    insert into u (id, a, b) values (1, 1, 1), (2, 2, 2), (3, 3, 3)";

#[test]
fn keys_move_in_order() {
    let db = Db::with(U);
    let mut c = db.conn();
    assert_eq!(
        c.error("update u set id = id + 1"),
        "1062 Duplicate entry '2' for key 'u.PRIMARY'"
    );
    assert_eq!(c.counts("update u set id = id + 1 order by id desc")[..2], [3, 3]);
    assert_eq!(c.rows("select id, a, b from u"), ["2 1 1", "3 2 2", "4 3 3"]);
    assert_eq!(
        c.error("update u set a = 1 where id in (3, 4)"),
        "1062 Duplicate entry '1' for key 'u.a'"
    );
    c.exec("update u set a = a + 1 order by a desc");
    assert_eq!(c.rows("select a from u order by a"), ["2", "3", "4"]);
    db.check("u");
}

#[test]
fn assignments_go_from_left_to_right() {
    let db = Db::with(U);
    let mut c = db.conn();
    c.exec("update u set b = b + 10, a = b where id = 3");
    assert_eq!(c.rows("select a, b from u where id = 3"), ["13 13"]);
    c.exec("update u set b = 1, b = b + 1 where id = 3");
    assert_eq!(c.rows("select b from u where id = 3"), ["2"]);
    db.check("u");
}

#[test]
fn unchanged_rows_are_matched_and_not_changed() {
    let db = Db::with(U);
    let mut c = db.conn();
    assert_eq!(c.counts("update u set a = a where id = 3")[..2], [0, 1]);
    assert_eq!(c.rows("select ts is null from u where id = 3"), ["1"]);
    assert_eq!(c.counts("update u set b = b + 1")[..2], [3, 3]);
    assert_eq!(c.rows("select ts is null from u where id = 3"), ["0"]);
    assert_eq!(c.counts("update u set b = 2 where id < 3")[..2], [1, 2]);
    c.exec("update u set b = 5, ts = null");
    assert_eq!(c.rows("select count(ts) from u"), ["0"]);
}

/// A row found by its key keeps the bytes of what is not assigned; one that a scan finds is encoded again.
/// Columns came to the table when it had rows.
#[test]
fn rows_found_by_key_change_as_those_of_a_scan() {
    let columns = "a tinyint, b bigint unsigned, c decimal(20, 5), d float, e double, f char(9), g varchar(300), h text,
        i varbinary(30), j binary(4), k blob, l json, m date, n datetime(6), o timestamp(3) null, p time(2), q year,
        r varchar(20) collate utf8mb4_bin";
    let full =
        "-1, 18446744073709551615, 12345.67891, 1.5, -2.25, 'chär', repeat('v', 250), 'text', x'00ff', 'ab',
        x'f4908080', '{\"a\": [1]}', '2024-02-29', '2024-02-29 01:02:03.000004', '2024-02-29 01:02:03.5',
        '-10:11:12.13', 1999, 'bin'";
    let db = Db::with("");
    let mut c = db.conn();
    c.time_zone = functions::TimeZone::Offset(3 * 3600);
    for table in ["p", "s"] {
        c.exec(&format!(
            "create table {table} (id int primary key, {columns}, key (g(5), n), unique (b, id))"
        ));
        c.exec(&format!(
            "insert into {table} values (1, {full}), (2, {full}), (3, {full})"
        ));
        c.exec(&format!("insert into {table} (id) values (4), (5)"));
        c.exec(&format!(
            "alter table {table} add x int not null default 7, add y varchar(9) default 'new', add z int"
        ));
        c.exec(&format!(
            "insert into {table} values (6, {full}, 8, null, 9), (7, {full}, 8, 'y', null)"
        ));
        c.exec(&format!("alter table {table} drop e"));
    }
    let values = [
        ("a", "a + 1"),
        ("b", "id"),
        ("c", "-0.00001"),
        ("d", "null"),
        ("f", "concat(id, '')"),
        ("g", "repeat('w', 260 + id)"),
        ("h", "null"),
        ("i", "x'01'"),
        ("j", "'abcd'"),
        ("k", "repeat('k', 65500)"),
        ("l", "'[1]'"),
        ("m", "'2023-01-01'"),
        ("n", "o"),
        ("o", "'2023-01-01 00:00:00.25'"),
        ("p", "'1:2'"),
        ("q", "2001"),
        ("r", "y"),
        ("x", "x + 1"),
        ("y", "null"),
        ("z", "a"),
        ("id", "id + 100"),
    ];
    for (column, value) in values {
        for id in 1..=7 {
            let by_key = c.counts(&format!("update p set {column} = {value} where id = {id}"));
            let by_scan = c.counts(&format!("update s set {column} = {value} where id + 0 = {id}"));
            assert_eq!(by_key, by_scan, "{column} {id}");
        }
        assert_eq!(c.rows("select * from p"), c.rows("select * from s"), "{column}");
    }
    c.exec("update p set g = null, x = 0 where id = 102 and z < 5 and y is null");
    c.exec("update s set g = null, x = 0 where id + 0 = 102 and z < 5 and y is null");
    assert_eq!(
        c.counts("update p set x = 1 where id = 103 and z > 5")[..2],
        [0, 0]
    );
    assert_eq!(c.rows("select * from p"), c.rows("select * from s"));
    assert_eq!(c.rows("select x from p where id = 102"), ["0"]);
    assert_eq!(c.counts("delete from p where id = 102 and x = 1")[..2], [0, 0]);
    assert_eq!(c.counts("delete from p where id = 102 and x = 0")[..2], [1, 1]);
    ["p", "s"].iter().for_each(|table| db.check(table));
}

/// What a statement keeps for its next runs is not of one run.
#[test]
fn plans_run_again_with_other_values() {
    let db = Db::with(U);
    let mut c = db.conn();
    let values = |a, b| [Value::Int(a), Value::Int(b)];
    let affected = |c: &mut Conn, plan: &Plan, a, b| match c.run_made(plan, &values(a, b)) {
        Ok(Answer::Done(done)) => done.affected,
        _ => panic!("{plan:?} fails"),
    };
    let update = c.plan("update u set b = ? where id = ?", &values(1, 1)).unwrap();
    for id in 1..=3 {
        assert_eq!(affected(&mut c, &update, id * 10, id), 1);
    }
    assert_eq!(c.rows("select b from u"), ["10", "20", "30"]);
    let insert = "insert into u values (?, ?, 0, null) on duplicate key update a = a + 50, b = b + 1";
    let insert = c.plan(insert, &values(1, 1)).unwrap();
    for (id, count) in [(4, 1), (4, 2), (2, 2)] {
        assert_eq!(affected(&mut c, &insert, id, id), count);
    }
    assert_eq!(c.rows("select a, b from u"), ["1 10", "52 21", "3 30", "54 1"]);
    let delete = c
        .plan("delete from u where b = ? and id = ?", &values(1, 1))
        .unwrap();
    assert_eq!(affected(&mut c, &delete, 10, 2), 0);
    assert_eq!(affected(&mut c, &delete, 21, 2), 1);
    assert_eq!(affected(&mut c, &delete.clone(), 30, 3), 1);
    assert_eq!(c.rows("select id from u"), ["1", "4"]);
    db.check("u");
}

#[test]
fn last_insert_id_can_be_set() {
    let db = Db::with(U);
    let mut c = db.conn();
    let done = c.exec("update u set b = last_insert_id(b + 100) where id = 2");
    assert_eq!(
        (done.ok_insert_id, done.generated_id, c.last_insert_id),
        (102, None, 102)
    );
    assert_eq!(c.exec("update u set b = 0").ok_insert_id, 0);
}

#[test]
fn the_case_of_text_is_a_change() {
    let db = Db::with(
        "create table t (s varchar(10) primary key, u varchar(10), unique (u)); insert into t values ('abc', 'Abc')",
    );
    let mut c = db.conn();
    assert_eq!(c.exec("update t set s = 'ABC', u = 'aBC'").affected, 1);
    assert_eq!(
        c.rows("select s, u from t where s = 'abc' and u = 'abc'"),
        ["ABC aBC"]
    );
    assert_eq!(c.rows("select u from t where u = 'abc'"), ["aBC"]);
    assert_eq!(c.exec("update t set u = 'aBC'").affected, 0);
    db.check("t");
}

#[test]
fn ignore_leaves_duplicates_as_they_are() {
    let db = Db::with(U);
    let mut c = db.conn();
    assert_eq!(c.counts("update ignore u set a = 7")[..2], [1, 3]);
    assert_eq!(
        c.warnings,
        [
            "1062 Duplicate entry '7' for key 'u.a'",
            "1062 Duplicate entry '7' for key 'u.a'"
        ]
    );
    c.exec("update ignore u set id = 3");
    assert_eq!(
        c.rows("select id, a, b from u order by id"),
        ["1 7 1", "2 2 2", "3 3 3"]
    );
    db.check("u");
}

#[test]
fn values_are_checked() {
    let db = Db::with(
        "create table nn (id int primary key, k int not null, s varchar(3)); insert into nn values (1, 1, 'a'), (2, 2, 'b')",
    );
    let mut c = db.conn();
    assert_eq!(
        c.error("update nn set s = 'abcd'"),
        "1406 Data too long for column 's' at row 1"
    );
    assert_eq!(
        c.error("update nn set k = null"),
        "1048 Column 'k' cannot be null"
    );
    assert_eq!(
        c.error("update nn set k = default"),
        "1364 Field 'k' doesn't have a default value"
    );
    assert_eq!(c.counts("update ignore nn set k = null")[..2], [2, 2]);
    assert_eq!(c.warnings, ["1048 Column 'k' cannot be null"; 2]);
    assert_eq!(c.rows("select k from nn"), ["0", "0"]);
}

#[test]
fn limits_and_orders() {
    let db = Db::with(U);
    let mut c = db.conn();
    assert_eq!(c.counts("update u set b = 10 limit 2")[..2], [2, 2]);
    assert_eq!(c.rows("select b from u order by id"), ["10", "10", "3"]);
    c.exec("update u set b = 99 order by a desc limit 1");
    assert_eq!(c.rows("select b from u where id = 3"), ["99"]);
    assert_eq!(c.exec("delete from u order by b, id limit 1").affected, 1);
    assert_eq!(c.rows("select id from u order by id"), ["2", "3"]);
    assert_eq!(c.exec("delete from u limit 0").affected, 0);
    assert_eq!(c.exec("delete from u").affected, 2);
    db.check("u");
}

/// The Halloween problem: rows that an UPDATE moves ahead of its own scan come once.
#[test]
fn moved_rows_are_not_met_again() {
    let db = Db::with(
        "create table h (id int primary key, k int, key (k)); insert into h values (1, 1), (2, 2), (3, 3)",
    );
    let mut c = db.conn();
    for i in 0..10 {
        c.exec_with("insert into h select id + ?, k from h", &[Value::Int(3 << i)]);
    }
    assert_eq!(c.rows("select count(*) from h"), ["3072"]);
    assert_eq!(c.exec("update h set k = k + 10 where k > 0").affected, 3072);
    assert_eq!(c.rows("select min(k), max(k) from h"), ["11 13"]);
    assert_eq!(c.exec("update h set id = id + 10000 where id > 0").affected, 3072);
    assert_eq!(c.rows("select min(id), max(id) from h"), ["10001 13072"]);
    assert_eq!(c.exec("delete from h where k = 12").affected, 1024);
    assert_eq!(c.rows("select count(*) from h"), ["2048"]);
    db.check("h");
}

#[test]
fn indexes_follow_every_kind_of_change() {
    let db = Db::with(
        "create table w (a int, b varchar(10), c decimal(8, 2), d timestamp(3) null, e varbinary(5), f text, g double,
         primary key (b, a), unique ua (a, c), unique uf (f(4)), key kc (c, b), key kd (d), key ke (e, g), key kb (b(3)))",
    );
    let mut c = db.conn();
    c.time_zone = functions::TimeZone::parse("+05:30").unwrap();
    c.exec_all(
        "insert into w values (1, 'one', 1.25, '2024-05-06 07:08:09.123', x'00ff', 'long text', 0.5);
         insert into w values (2, 'two', null, null, null, null, null), (3, 'TWO', null, null, '', 'x', -1e10);
         update w set c = c + 1, d = '2001-02-03 04:05:06';
         update w set a = a + 10, b = concat(b, '-') where a > 1;
         update w set f = concat('p', f), g = null;
         replace into w values (1, 'ONE', 9, null, null, 'zzzzzz', 1);
         insert into w values (1, 'one', 1, null, null, 'y', 1) on duplicate key update b = 'uno', c = 10, f = 'zzzz2';
         delete from w where a = 12",
    );
    db.check("w");
    assert_eq!(
        c.rows("select a, b, c, f from w order by a"),
        ["1 uno 10.00 zzzz2", "13 TWO- NULL px"]
    );
    assert_eq!(
        c.error("update w set f = 'ZZZZxyz' where a = 13"),
        "1062 Duplicate entry 'ZZZZ' for key 'w.uf'"
    );
    db.check("w");
}

#[test]
fn a_statement_over_its_memory_limit_fails_alone() {
    let db = Db::with(
        "create table m (id int primary key, s varchar(1000)); insert into m values (1, repeat('x', 1000))",
    );
    let mut c = db.conn();
    for i in 0..13 {
        c.exec_with("insert into m select id + ?, s from m", &[Value::Int(1 << i)]);
    }
    c.memory_limit_bytes = 8_000_000;
    // Rows that are locked need not all be held at once.
    assert_eq!(c.exec("update m set id = -id").affected, 8192);
    assert_eq!(c.exec("update m set id = -id").affected, 8192);
    assert!(c.error("select json_arrayagg(s) from m").starts_with("8175 "));
    assert_eq!(c.rows("select id from m order by s, id desc limit 1"), ["8192"]);
    let one = c.rows("select distinct s from m order by s");
    assert_eq!(one, ["x".repeat(1000)], "equal rows are not all held");
    assert_eq!(c.exec("update m set s = 'y'").affected, 8192);
}
