//! INSERT and REPLACE: what MySQL 8.0.33 answered to the same statements.

mod support;

use kv::{KeyRange, Store};
use support::Db;
use types::Value;

#[test]
fn rows_defaults_and_counts() {
    let db = Db::with(
        "create table t (id int primary key, a int default 7, b varchar(5) not null default 'x', c int)",
    );
    let mut c = db.conn();
    assert_eq!(c.counts("insert into t (id) values (1), (2), (3)"), [3, 3, 3, 0]);
    c.exec("insert into t values (4, default, default, 5)");
    c.exec("insert into t set id = 5, c = a + 1");
    c.exec("insert into t (id, a, c) values (6, 1, a + id)");
    assert_eq!(
        c.rows("select * from t"),
        [
            "1 7 x NULL",
            "2 7 x NULL",
            "3 7 x NULL",
            "4 7 x 5",
            "5 7 x 8",
            "6 1 x 7"
        ]
    );
}

#[test]
fn missing_values_and_nulls() {
    let db =
        Db::with("create table q (a int not null, b int not null default 5, c varchar(3) not null, d int)");
    let mut c = db.conn();
    assert_eq!(
        c.error("insert into q (a) values (1)"),
        "1364 Field 'c' doesn't have a default value"
    );
    assert_eq!(
        c.error("insert into q values (default, 1, 'x', 1)"),
        "1364 Field 'a' doesn't have a default value"
    );
    assert_eq!(
        c.error("insert into q (c, d) values (default, 1)"),
        "1364 Field 'c' doesn't have a default value"
    );
    assert_eq!(
        c.error("insert into q (a, c) values (null, 'x')"),
        "1048 Column 'a' cannot be null"
    );
    // Reported once, and after what is wrong with the first row's values.
    assert_eq!(
        c.error("insert into q (a, d) values (null, 1)"),
        "1048 Column 'a' cannot be null"
    );
    assert_eq!(
        c.error("insert into q (a, d) values (1, 1), (null, 1)"),
        "1364 Field 'c' doesn't have a default value"
    );
    c.exec("insert ignore into q (d) values (1), (2)");
    assert_eq!(
        c.warnings,
        [
            "1364 Field 'a' doesn't have a default value",
            "1364 Field 'c' doesn't have a default value"
        ]
    );
    c.exec("delete from q");
    c.exec("insert ignore into q (a) values (1)");
    assert_eq!(c.warnings, ["1364 Field 'c' doesn't have a default value"]);
    c.exec("insert ignore into q (a, c) values (null, 'y')");
    assert_eq!(c.warnings, ["1048 Column 'a' cannot be null"]);
    assert_eq!(c.rows("select * from q"), ["1 5  NULL", "0 5 y NULL"]);

    // Outside strict mode a single row still fails, several only warn.
    c.sql_mode.strict = false;
    assert_eq!(
        c.error("insert into q (a, c) values (null, 'x')"),
        "1048 Column 'a' cannot be null"
    );
    c.exec("insert into q (a, c) values (null, 'x'), (1, 'x')");
    assert_eq!(c.warnings, ["1048 Column 'a' cannot be null"]);
    c.exec("insert into q (a) values (3)");
    assert_eq!(c.warnings, ["1364 Field 'c' doesn't have a default value"]);
}

#[test]
fn conversions_name_column_and_row() {
    let db = Db::with("create table q (a int, c varchar(3))");
    let mut c = db.conn();
    assert_eq!(
        c.error("insert into q values (1, 'abcd')"),
        "1406 Data too long for column 'c' at row 1"
    );
    assert_eq!(
        c.error("insert into q values (1, 'abc'), (5000000000, 'abc')"),
        "1264 Out of range value for column 'a' at row 2"
    );
    assert_eq!(c.rows("select count(*) from q"), ["0"]);
    assert_eq!(
        c.counts("insert ignore into q (c, a) values ('abc', 1), ('abcd', 5000000000)"),
        [2, 2, 2, 0]
    );
    assert_eq!(
        c.warnings,
        [
            "1265 Data truncated for column 'c' at row 2",
            "1264 Out of range value for column 'a' at row 2"
        ]
    );
    assert_eq!(c.rows("select * from q"), ["1 abc", "2147483647 abc"]);
}

#[test]
fn duplicates_are_named_as_mysql_names_them() {
    let db = Db::with(
        "create table d (a int, b varchar(20), c varbinary(10), d date, e decimal(10,3), f datetime(3), g binary(5),
         h char(5), i double, j time(2), k timestamp(1) null, primary key (a, b), unique uc (c), unique ud (d), unique ue (e),
         unique uf (f), unique ug (g), unique uh (h), unique ui (i), unique uj (j), unique uk (k), unique hp (h(2), c(1)));
         insert into d values (1, 'abc', x'01ff41', '2024-01-02', 1.5, '2024-01-02 03:04:05.678', x'0102', 'ab  ', 1.5,
         '01:02:03.4', '2024-01-02 03:04:05.6')",
    );
    let mut c = db.conn();
    for (columns, values, message) in [
        ("a, b", "1, 'ABC'", "'1-ABC' for key 'd.PRIMARY'"),
        ("c", "x'01ff41'", "'\\x01\\xFFA' for key 'd.uc'"),
        ("d", "'2024-01-02'", "'2024-01-02' for key 'd.ud'"),
        ("e", "1.5", "'1.500' for key 'd.ue'"),
        (
            "f",
            "'2024-01-02 03:04:05.678'",
            "'2024-01-02 03:04:05.678' for key 'd.uf'",
        ),
        ("g", "x'0102'", "'\\x01\\x02' for key 'd.ug'"),
        ("h", "'AB'", "'AB' for key 'd.uh'"),
        ("i", "1.5", "'1.5' for key 'd.ui'"),
        ("j", "'01:02:03.4'", "'01:02:03.40' for key 'd.uj'"),
        (
            "k",
            "'2024-01-02 03:04:05.6'",
            "'2024-01-02 03:04:05.6' for key 'd.uk'",
        ),
        ("h, c", "'abc', x'0102'", "'ab-\\x01' for key 'd.hp'"),
    ] {
        let (columns, values) = match columns {
            "a, b" => (columns.to_owned(), values.to_owned()),
            _ => (format!("a, b, {columns}"), format!("2, 'ABC', {values}")),
        };
        assert_eq!(
            c.error(&format!("insert into d ({columns}) values ({values})")),
            format!("1062 Duplicate entry {message}")
        );
    }
    // NULLs are never duplicates.
    c.exec("insert into d (a, b) values (2, 'x'), (3, 'x')");
    db.check("d");
}

#[test]
fn a_failing_statement_leaves_nothing() {
    let db = Db::with(
        "create table t (id int primary key, a int, unique (a), key (a, id)); insert into t values (1, 1)",
    );
    let mut c = db.conn();
    c.begin();
    c.exec("insert into t values (2, 2)");
    assert_eq!(
        c.error("insert into t values (3, 3), (4, 1)"),
        "1062 Duplicate entry '1' for key 't.a'"
    );
    assert_eq!(
        c.error("insert into t values (3, 3), (3, 4)"),
        "1062 Duplicate entry '3' for key 't.PRIMARY'"
    );
    c.commit();
    assert_eq!(c.rows("select * from t"), ["1 1", "2 2"]);
    db.check("t");
}

#[test]
fn ignore_skips_duplicates_within_the_statement_too() {
    let db = Db::with("create table t (id int primary key, a int unique); insert into t values (1, 1)");
    let mut c = db.conn();
    assert_eq!(
        c.counts("insert ignore into t values (1, 5), (2, 1), (3, 3), (3, 4), (4, 3), (5, null), (6, null)"),
        [3, 3, 7, 4]
    );
    assert_eq!(
        c.warnings,
        [
            "1062 Duplicate entry '1' for key 't.PRIMARY'",
            "1062 Duplicate entry '1' for key 't.a'",
            "1062 Duplicate entry '3' for key 't.PRIMARY'",
            "1062 Duplicate entry '3' for key 't.a'"
        ]
    );
    assert_eq!(
        c.rows("select * from t order by id"),
        ["1 1", "3 3", "5 NULL", "6 NULL"]
    );
    db.check("t");
}

#[test]
fn replace_counts_as_mysql_does() {
    let db = Db::with(
        "create table p (id int auto_increment primary key, a int, b int, unique (a));
         insert into p (a, b) values (1, 1), (2, 2), (3, 3);
         create table nn (id int primary key, k int not null, s varchar(3)); insert into nn values (1, 0, 'a')",
    );
    let mut c = db.conn();
    assert_eq!(c.exec("replace into p values (1, 1, 1)").affected, 2);
    assert_eq!(c.exec("replace into p values (1, 1, 2)").affected, 2);
    assert_eq!(c.exec("replace into p values (1, 2, 2)").affected, 3);
    assert_eq!(c.rows("select * from p"), ["1 2 2", "3 3 3"]);
    assert_eq!(c.exec("replace into p (a, b) values (3, 3)").affected, 2);
    assert_eq!(c.rows("select * from p order by id"), ["1 2 2", "4 3 3"]);
    // Only a primary key: updated in place, and what stays the same is not counted.
    assert_eq!(
        c.counts("replace into nn values (1, 1, 'b'), (1, 1, 'b'), (1, 2, 'c')"),
        [5, 5, 3, 2]
    );
    db.check("p");
}

#[test]
fn on_duplicate_key_update() {
    let db = Db::with(
        "create table p (id int auto_increment primary key, a int, b int, unique (a));
         insert into p (a, b) values (1, 1)",
    );
    let mut c = db.conn();
    let insert = "insert into p values (10, 10, 10) on duplicate key update";
    assert_eq!(c.counts(&format!("{insert} b = b")), [1, 1, 1, 0]);
    assert_eq!(c.counts(&format!("{insert} b = b")), [0, 1, 1, 0]);
    assert_eq!(c.counts(&format!("{insert} b = b + 1")), [2, 2, 1, 1]);
    c.exec("insert into p (a, b) values (10, 1) on duplicate key update b = b + 1");
    c.exec("insert into p (a, b) values (10, 1) on duplicate key update b = b + 1, id = last_insert_id(id)");
    assert_eq!(c.last_insert_id, 10);
    let done = c.exec(
        "insert into p (a, b) values (10, 1), (11, 1), (12, 1) on duplicate key update b = values(b) + a",
    );
    assert_eq!((done.affected, done.duplicates), (4, 1));
    assert_eq!(
        c.rows("select a, b from p order by a"),
        ["1 1", "10 11", "11 1", "12 1"]
    );
    assert_eq!(
        c.error("insert into p values (10, 10, 10) on duplicate key update a = 1"),
        "1062 Duplicate entry '1' for key 'p.a'"
    );
    c.exec("insert ignore into p values (10, 10, 10) on duplicate key update a = 1");
    assert_eq!(c.warnings, ["1062 Duplicate entry '1' for key 'p.a'"]);
    c.exec("insert into p values (10, 99, 99) on duplicate key update id = 50, b = null");
    assert_eq!(c.rows("select * from p where a = 10"), ["50 10 NULL"]);
    db.check("p");
}

#[test]
fn on_duplicate_key_update_checks_its_values() {
    let db = Db::with(
        "create table nn (id int primary key, k int not null, s varchar(3)); insert into nn values (1, 1, 'a')",
    );
    let mut c = db.conn();
    let insert = "insert into nn values (1, 1, 'b') on duplicate key update";
    assert_eq!(
        c.error(&format!("{insert} k = null")),
        "1048 Column 'k' cannot be null"
    );
    assert_eq!(
        c.error(&format!("{insert} s = 'abcd'")),
        "1406 Data too long for column 's' at row 1"
    );
    assert_eq!(
        c.error("insert into nn values (2, 1, 'b'), (1, 1, 'c') on duplicate key update s = 'abcd'"),
        "1406 Data too long for column 's' at row 2"
    );
    assert_eq!(
        c.error(&format!("{insert} k = default")),
        "1364 Field 'k' doesn't have a default value"
    );
    c.exec("insert ignore into nn values (1, 1, 'b') on duplicate key update k = null");
    assert_eq!(c.warnings, ["1048 Column 'k' cannot be null"]);
    assert_eq!(c.rows("select * from nn"), ["1 0 a"]);
}

#[test]
fn auto_increment() {
    let db = Db::with("create table a2 (id int unsigned auto_increment primary key, a int unique)");
    let mut c = db.conn();
    let done = c.exec("insert into a2 (id, a) values (null, 1), (10, 2), (null, 3), (5, 4), (0, 5)");
    assert_eq!((done.generated_id, done.ok_insert_id), (Some(1), 1));
    assert_eq!(
        c.rows("select id, a from a2 order by a"),
        ["1 1", "10 2", "11 3", "5 4", "12 5"]
    );
    assert_eq!(
        c.error("insert into a2 (id, a) values (-1, 6)"),
        "1264 Out of range value for column 'id' at row 1"
    );
    c.sql_mode.no_auto_value_on_zero = true;
    c.exec("insert into a2 (id, a) values (0, 100)");
    assert_eq!(c.rows("select a from a2 where id = 0"), ["100"]);
    c.sql_mode.no_auto_value_on_zero = false;
    c.exec("insert into a2 (id, a) values (0.4, 102)");
    c.exec("update a2 set id = 1000 where a = 102");
    c.exec("insert into a2 (a) values (200)");
    assert_eq!(c.rows("select id from a2 where a = 200"), ["1001"]);
    c.auto_increment = (10, 5);
    c.exec("insert into a2 (a) values (201), (202), (203)");
    assert_eq!(
        c.rows("select id from a2 where a between 201 and 203 order by a"),
        ["1005", "1015", "1025"]
    );
    let done = c.exec("insert into a2 (id, a) values (7777, 400)");
    assert_eq!((done.generated_id, done.ok_insert_id), (None, 7777));
    // Only rows that were inserted count.
    let done = c.exec("insert ignore into a2 (a) values (400), (401), (402)");
    let first = c.rows("select id from a2 where a = 401");
    assert_eq!(done.generated_id.map(|id| id.to_string()), Some(first[0].clone()));
    assert_eq!(
        c.error("update a2 set id = null where a = 402"),
        "1048 Column 'id' cannot be null"
    );
    db.check("a2");
}

/// Two servers on one store; the first has made the tables, and neither sees to more.
fn two_nodes(tables: &str) -> [Db; 2] {
    let store = Store::memory();
    let first = Db::node(&store);
    first.conn().exec("create database d");
    first.conn().exec_all(tables);
    [first, Db::node(&store)]
}

/// A client of another server has given them by hand, out of the range that this one has leased.
#[test]
fn generated_ids_that_are_taken_are_skipped() {
    let [other, own] = two_nodes("create table t (id bigint auto_increment primary key, u int, unique (u))");
    let (mut other, mut c) = (other.conn(), own.conn());
    assert_eq!(c.exec("insert into t (u) values (1)").generated_id, Some(1));
    other.exec("insert into t values (2, 20), (3, 30), (5, 50), (8, 80)");
    let done = c.exec("insert into t (u) values (2)");
    assert_eq!(
        (done.generated_id, done.ok_insert_id, done.affected),
        (Some(4), 4, 1)
    );
    // A statement's ids come in a block; what replaces one of them comes from behind it.
    let done = c.exec("insert into t (u) values (3), (4)");
    assert_eq!((done.generated_id, done.affected), (Some(7), 2));
    assert_eq!(
        c.rows("select id from t where u in (3, 4) order by u"),
        ["7", "6"]
    );
    // The other's rows are not duplicates of what had to be given another id.
    let done = c.exec("insert ignore into t (u) values (5)");
    assert_eq!((done.generated_id, done.duplicates), (Some(9), 0));
    other.exec("insert into t values (10, 100), (12, 120)");
    assert_eq!(c.counts("replace into t (u) values (6)"), [1, 1, 1, 0]);
    let done = c.exec("insert into t (u) values (7) on duplicate key update u = 1000");
    assert_eq!((done.generated_id, done.duplicates), (Some(13), 0));
    assert_eq!(
        c.rows("select id, u from t where id in (10, 11, 12, 13) order by id"),
        ["10 100", "11 6", "12 120", "13 7"]
    );
    // Duplicates of explicit ids and of other unique keys are reported as usual.
    assert_eq!(
        c.error("insert into t values (2, 9)"),
        "1062 Duplicate entry '2' for key 't.PRIMARY'"
    );
    assert_eq!(
        c.error("insert into t (u) values (20)"),
        "1062 Duplicate entry '20' for key 't.u'"
    );
    own.check("t");
}

/// As InnoDB, which gives it again and again.
#[test]
fn the_last_id_there_is_is_not_skipped() {
    let [other, own] = two_nodes("create table t (id tinyint auto_increment primary key)");
    let (mut other, mut c) = (other.conn(), own.conn());
    c.exec("insert into t values ()");
    other.exec("insert into t values (126), (127)");
    c.exec("insert into t values (125)");
    assert_eq!(
        c.error("insert into t values ()"),
        "1062 Duplicate entry '127' for key 't.PRIMARY'"
    );
}

#[test]
fn insert_select_does_not_see_its_own_rows() {
    let db = Db::with(
        "create table h (id int primary key, k int, key (k)); insert into h values (1, 1), (2, 2), (3, 3)",
    );
    let mut c = db.conn();
    c.begin();
    c.exec("insert into h values (4, 4)");
    assert_eq!(c.counts("insert into h select id + 10, k from h"), [4, 4, 4, 0]);
    assert_eq!(
        c.counts("insert into h select id + 100, k from h for update"),
        [8, 8, 8, 0]
    );
    c.commit();
    assert_eq!(c.rows("select count(*) from h"), ["16"]);
    assert_eq!(
        c.error("insert into h select id + 1, k from h"),
        "1062 Duplicate entry '2' for key 'h.PRIMARY'"
    );
    assert_eq!(
        c.exec("insert ignore into h select id + 1, k from h where id < 10")
            .affected,
        1
    );
    db.check("h");
}

#[test]
fn many_rows_in_many_batches() {
    let db = Db::with(
        "create table n (id int primary key, s varchar(20), key (s)); insert into n values (0, 'x')",
    );
    let mut c = db.conn();
    for i in 0..12 {
        c.exec_with("insert into n select id + ?, s from n", &[Value::Int(1 << i)]);
    }
    assert_eq!(
        c.rows("select count(*), min(id), max(id) from n"),
        ["4096 0 4095"]
    );
    db.check("n");
}

#[test]
fn tables_without_a_primary_key() {
    let db = Db::with("create table t (a int, b varchar(5), unique (b), key (a))");
    let mut c = db.conn();
    c.exec("insert into t values (1, 'a'), (1, 'b'), (null, null), (null, null)");
    assert_eq!(
        c.error("insert into t values (9, 'A')"),
        "1062 Duplicate entry 'A' for key 't.b'"
    );
    c.exec("replace into t values (7, 'A')");
    c.exec("insert into t values (8, 'b') on duplicate key update a = values(a)");
    c.exec("update t set a = 5 where a is null");
    assert_eq!(
        c.rows("select a, b from t order by a, b"),
        ["5 NULL", "5 NULL", "7 A", "8 b"]
    );
    c.exec("delete from t where a = 5");
    assert_eq!(c.rows("select count(*) from t"), ["2"]);
    db.check("t");
}

/// The ids of rows by their last 58 bits, and in how many of AUTO_RANDOM's 32 shards they are.
fn sequences_and_shards(ids: &[u64]) -> (Vec<u64>, usize) {
    let mut sequences: Vec<u64> = ids.iter().map(|id| id & ((1 << 58) - 1)).collect();
    sequences.sort_unstable();
    let shards: std::collections::HashSet<u64> = ids.iter().map(|id| id >> 58).collect();
    (sequences, shards.len())
}

#[test]
fn auto_random_spreads_transactions_and_keeps_their_rows_together() {
    let db = Db::with("create table t (id bigint primary key auto_random, a int)");
    let mut c = db.conn();
    let ids = |c: &mut support::Conn<'_>| -> Vec<u64> {
        let rows = c.rows("select id from t");
        rows.iter().map(|id| id.parse().unwrap()).collect()
    };
    c.exec("insert into t (a) values (1), (2), (3)");
    let (sequences, shards) = sequences_and_shards(&ids(&mut c));
    assert_eq!((sequences, shards), (vec![1, 2, 3], 1));
    let first = ids(&mut c)[0];
    assert_eq!(c.last_insert_id, first);
    for a in 4..=40 {
        c.exec(&format!("insert into t values (null, {a})"));
    }
    let (sequences, shards) = sequences_and_shards(&ids(&mut c));
    assert_eq!(sequences, (1..=40).collect::<Vec<u64>>());
    assert!(shards > 8, "{shards} of 32 shards used by 38 transactions");
    assert!(c.error("insert into t values (5, 5)").starts_with("8216 "));
    c.explicit_auto_random = true;
    c.exec("insert into t values (1000, 0)");
    c.exec("insert into t (a) values (41)");
    let (sequences, _) = sequences_and_shards(&ids(&mut c));
    assert_eq!(sequences[40..], [1000, 1001]);
    db.check("t");
}

#[test]
fn auto_random_takes_the_ids_of_all_servers_into_account() {
    let [other, own] = two_nodes("create table t (id bigint auto_increment primary key)");
    own.conn().exec("insert into t values ()");
    other.conn().exec("insert into t values (300000000000000000)");
    assert_eq!(
        own.conn()
            .error("alter table t modify column id bigint auto_random(5)"),
        "8216 Invalid auto random: max allowed auto_random shard bits is 4, but got 5 on column `id`"
    );
}

#[test]
fn hidden_row_ids_are_spread_where_the_table_says_so() {
    let db = Db::with("create table t (a int, unique (a)) shard_row_id_bits = 4");
    let mut c = db.conn();
    for a in 0..30 {
        c.exec(&format!("insert into t values ({a}), ({})", a + 100));
    }
    let schema = db.cluster.schema();
    let range = KeyRange::from(schema::layout::table_range(schema.table("d", "t").unwrap()));
    let ids: Vec<u64> = kv::Reader::scan_page(&db.store.latest(), &range, usize::MAX, false)
        .unwrap()
        .iter()
        .map(|(key, _)| u64::from_be_bytes(key[key.len() - 8..].try_into().unwrap()) ^ (1 << 63))
        .collect();
    let mut sequences: Vec<u64> = ids.iter().map(|id| id & ((1 << 59) - 1)).collect();
    sequences.sort_unstable();
    assert_eq!(sequences, (1..=60).collect::<Vec<u64>>());
    let shards: std::collections::HashSet<u64> = ids.iter().map(|id| id >> 59).collect();
    assert!(
        shards.len() > 4 && shards.iter().all(|&shard| shard < 16),
        "{shards:?}"
    );
    db.check("t");
    assert_eq!(
        c.rows("select count(*), sum(a) from t where a > 100"),
        ["29 3335"]
    );
}
