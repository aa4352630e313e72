//! Aggregates straight from stored rows give what the operators over arrays give.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use planner::plan::Plan;
use support::{Answer, Conn, Db};
use types::{Error, Result, Value, errno};

const COLUMNS: [&str; 17] = [
    "id", "t", "bu", "d", "wide", "f", "g", "dt", "dtm", "ts", "tm", "y", "v", "l", "vb", "j", "late",
];

/// What the general operators look at: a condition that is always true, and is computed for each row.
const ALWAYS: &str = "abs(id) >= 0";

/// Whether a query's aggregates are computed straight from stored rows.
fn is_direct(c: &Conn<'_>, sql: &str, params: &[Value]) -> bool {
    match c.plan(sql, params).unwrap() {
        Plan::Query(plan) => executor::direct::aggregate::is_direct(&plan).unwrap(),
        _ => panic!("{sql}"),
    }
}

/// Runs an aggregation both ways.
fn same(c: &mut Conn<'_>, what: &str, condition: &str) -> Result<Vec<String>> {
    let direct = format!("select {what} from e where {condition}");
    let general = format!("{direct} and {ALWAYS}");
    for (sql, filtered) in [(&direct, false), (&general, true)] {
        let Plan::Query(plan) = c.plan(sql, &[])? else {
            panic!("{sql}");
        };
        assert_eq!(
            format!("{:?}", plan.root).contains("filter: Some"),
            filtered,
            "{sql}"
        );
    }
    assert!(!is_direct(c, &general, &[]), "{general}");
    let (direct, general) = (one_row(c, &direct), one_row(c, &general));
    let told = |error: &Error| (error.code, error.message.clone());
    assert_eq!(
        direct.as_ref().map_err(told),
        general.as_ref().map_err(told),
        "{what} where {condition}"
    );
    direct
}

fn one_row(c: &mut Conn<'_>, sql: &str) -> Result<Vec<String>> {
    match c.run(sql, &[])? {
        Answer::Rows(rows) => Ok(rows.concat()),
        Answer::Done(_) => panic!("{sql} gives no rows"),
    }
}

fn filled() -> Db {
    Db::with(
        "create table e (id int primary key, t tinyint, bu bigint unsigned, d decimal(10, 3), wide decimal(65, 2), f float, g double,
         dt date, dtm datetime(6), ts timestamp(3) null, tm time(2), y year, v varchar(20), l varchar(20) character set latin1,
         vb varbinary(9), j json, big bigint, key (t), unique (bu));
         insert into e values
         (1, -1, 18446744073709551615, -1.5, 999999999999999999999999999999999999999999999999999999999999999.99, 0.1, -1e300, '2024-02-29',
          '1000-01-01 00:00:00.000001', '2024-07-01 12:00:00.5', '-838:59:58.99', 1901, 'äöü', 'é', x'00ff', '{\"a\": [1, null]}',
          9223372036854775807),
         (2, 5, 0, 7.25, 1, -2.5, 0, '2023-02-28', '2000-01-01', '2020-07-01 12:00:00', '00:00:01', 2000, 'AOU', 'E', x'', '1',
          9223372036854775807),
         (3, 5, 9223372036854775808, null, null, null, -0.0, '0001-01-01', null, null, '10:00:00', 1999, 'b', 'f', x'00', 'null',
          9223372036854775807),
         (-4, null, 3, 0, -1.25, 2.5, null, null, '2000-01-01 00:00:01', '2020-07-01 12:00:00.001', null, null, null, null, null, null,
          -9223372036854775808),
         (9, 127, 7, 7.25, 12.5, 1e10, 1e300, '2024-03-01', '9999-12-31 23:59:59.999999', '1971-01-01', '838:59:58', 2155, 'aou', 'ê',
          x'ff', '[]', 1)",
    )
}

/// Answers are the same either way: only this shows that the short one is taken.
#[test]
fn which_aggregations_go_the_short_way() {
    let db = filled();
    let c = db.conn();
    let range = [Value::Int(1), Value::Int(9)];
    for what in [
        "sum(big)",
        "count(*)",
        "avg(d)",
        "min(v)",
        "max(dtm), sum(t) + 1",
        "std(g)",
    ] {
        let sql = format!("select {what} from e where id between ? and ?");
        assert!(is_direct(&c, &sql, &range), "{sql}");
    }
    for condition in ["id = 1", "id in (1, 2)", "id > 3", "t = 5", "id between 1 and 9"] {
        let sql = format!("select sum(big) from e where {condition}");
        assert!(is_direct(&c, &sql, &[]), "{sql}");
    }
    assert!(is_direct(&c, "select sum(big) from e", &[]));
    assert!(is_direct(&c, "select sum(big) as s from e having s > 1", &[]));
    for sql in [
        "select sum(big + 1) from e where id > 1",
        "select sum(distinct big) from e where id > 1",
        "select group_concat(v) from e where id > 1",
        "select sum(big) from e where id > 1 and t = 5 and abs(id) > 1",
        "select sum(big) from e where id > 1 group by t",
        "select sum(big) from e where id > 1 for update",
        "select big from e where id > 1",
        "select 1",
    ] {
        assert!(!is_direct(&c, sql, &[]), "{sql}");
    }
}

#[test]
fn every_type_function_and_access_path() {
    let db = filled();
    let mut c = db.conn();
    c.exec("alter table e add column late decimal(5, 2) not null default '1.5'");
    c.exec("insert into e (id, t, late) values (20, 5, 2.25), (21, null, 3)");
    for zone in ["UTC", "+05:30"] {
        c.time_zone = functions::TimeZone::parse(zone).unwrap();
        for condition in [
            "id between 1 and 3",
            "id > 1",
            "id in (9, 2, 77, -4)",
            "id = -4",
            "id > 1000",
            "id between 5 and 4",
            "t = 5",
            "t is null",
        ] {
            let rows = same(
                &mut c,
                "count(*), count(d), sum(big), avg(d), min(v), max(id)",
                condition,
            )
            .unwrap();
            assert_eq!(rows.len(), 6);
            for column in COLUMNS {
                for function in [
                    "count",
                    "sum",
                    "avg",
                    "min",
                    "max",
                    "any_value",
                    "bit_and",
                    "bit_or",
                    "bit_xor",
                    "std",
                    "var_samp",
                ] {
                    let _ = same(&mut c, &format!("{function}({column})"), condition);
                }
                for call in [
                    "count(distinct {})",
                    "sum(distinct {})",
                    "group_concat({})",
                    "sum({}) + 1",
                ] {
                    let _ = same(&mut c, &call.replace("{}", column), condition);
                }
            }
        }
    }
    let rows = same(
        &mut c,
        "sum(big), sum(bu), sum(t), avg(d), sum(wide)",
        "id between 1 and 3",
    )
    .unwrap();
    assert_eq!(
        rows,
        [
            "27670116110564327421",
            "27670116110564327423",
            "9",
            "2.8750000",
            "1000000000000000000000000000000000000000000000000000000000000000.99"
        ]
    );
    assert_eq!(
        same(&mut c, "count(*), sum(t), min(v)", "id > 1000").unwrap(),
        ["0", "NULL", "NULL"]
    );
}

#[test]
fn sums_that_are_out_of_range_fail_alike() {
    let db = filled();
    let mut c = db.conn();
    c.exec("update e set g = 1.7e308");
    let error = same(&mut c, "sum(g)", "id between 1 and 3").unwrap_err();
    assert_eq!(error.code, errno::ER_DATA_OUT_OF_RANGE);
}

#[test]
fn a_transaction_sums_what_it_wrote() {
    let db = filled();
    let mut c = db.conn();
    c.begin();
    c.exec("insert into e (id, t, v) values (100, 100, 'zz'), (0, null, 'a')");
    c.exec("delete from e where id = 2");
    c.exec("update e set t = 7 where id = 3");
    let rows = same(
        &mut c,
        "count(*), count(t), sum(t), max(v)",
        "id between -100 and 200",
    )
    .unwrap();
    assert_eq!(rows, ["6", "4", "233", "zz"]);
    assert_eq!(
        same(&mut c, "count(*), sum(id) * 2", "t = 7").unwrap(),
        ["1", "6"]
    );
}

/// Many more rows than are read at once.
#[test]
fn many_rows() {
    let db = Db::with("create table e (id int primary key, a int, s varchar(310), key (a))");
    let mut c = db.conn();
    for block in 0..10 {
        let rows: Vec<String> = (block * 700..(block + 1) * 700)
            .map(|id| format!("({id}, {}, '{}')", id * 7919 % 1000, "x".repeat(id % 300)))
            .collect();
        c.exec(&format!("insert into e values {}", rows.join(",")));
    }
    let all = same(
        &mut c,
        "count(*), sum(a), max(s), avg(id), bit_xor(a), std(a)",
        "id >= 0",
    )
    .unwrap();
    assert_eq!(all[0], "7000");
    same(&mut c, "count(s), sum(id), min(s)", "a between 10 and 500").unwrap();
    c.interrupt.raise();
    let stopped = one_row(&mut c, "select sum(a) from e where id >= 0");
    assert_eq!(stopped.unwrap_err().code, errno::ER_QUERY_INTERRUPTED);
}
