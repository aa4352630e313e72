//! The short way of single rows gives the same bytes as the general one.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use executor::direct::point::PointSelect;
use executor::{ReadSource, RowSink};
use planner::plan::{Plan, QueryPlan};
use support::{Conn, Db};
use types::{Charset, SqlType, Value};
use wire::row::{Format, RowEncoder};

struct Packets<'e> {
    encoder: &'e RowEncoder,
    packets: Vec<Vec<u8>>,
}

impl RowSink for Packets<'_> {
    fn batch(&mut self, batch: &arrow::record_batch::RecordBatch) -> types::Result<()> {
        self.packets.extend(support::packets(self.encoder, batch)?);
        Ok(())
    }
}

fn query(c: &Conn<'_>, sql: &str, params: &[Value]) -> QueryPlan {
    match c.plan(sql, params).unwrap() {
        Plan::Query(plan) => plan,
        other => panic!("{other:?}"),
    }
}

/// Runs `sql` both ways in both formats; answers whether there was a row.
fn same(c: &Conn<'_>, sql: &str, params: &[Value]) -> bool {
    let plan = query(c, sql, params);
    let point = PointSelect::compile(&plan).unwrap_or_else(|| panic!("{sql} is not taken"));
    let types: Vec<SqlType> = plan.columns.iter().map(|c| c.ty).collect();
    let eval = c.eval(params, false);
    let mut found = false;
    for format in [Format::Text, Format::Binary] {
        for charset in [None, Some(Charset::Latin1)] {
            let encoder = RowEncoder::new(format, &types, charset);
            let snapshot = c.db.store.snapshot_now().unwrap();
            let mut general = Packets {
                encoder: &encoder,
                packets: Vec::new(),
            };
            executor::query(
                &plan,
                ReadSource::Snapshot(&snapshot),
                &c.context(&eval),
                &mut general,
            )
            .unwrap();
            let mut short = Vec::new();
            found = point.run(&snapshot, &eval, &encoder, &mut short).unwrap();
            let short: Vec<Vec<u8>> = found.then_some(short).into_iter().collect();
            assert_eq!(short, general.packets, "{sql}");
        }
    }
    found
}

#[test]
fn every_type() {
    let db = Db::with(
        "create table e (id int primary key, t tinyint, su smallint unsigned, m mediumint, b bigint, bu bigint unsigned, d decimal(10, 3),
         dd decimal(60, 5), f float, g double, dt date, dtm datetime(6), ts timestamp(3) null, tm time(2), y year, c char(5), v varchar(20),
         l varchar(20) character set latin1, bi binary(4), vb varbinary(9), tx text, bl blob, j json, unique (v));
         insert into e values (1, -1, 65535, -8388608, -9223372036854775808, 18446744073709551615, -1.5, 12345678901234567890.12345, 0.1, -1e300,
         '2024-02-29', '1000-01-01 00:00:00.000001', '2024-07-01 12:00:00.5', '-838:59:58.99', 1901, 'ab ', 'äöü', 'é', x'01', x'00ff', 'text', x'fe', '{\"a\": [1, null]}');
         insert into e (id, v) values (2, 'only'), (-3, '')",
    );
    let mut c = db.conn();
    c.exec("alter table e add column late timestamp null default '2020-01-01 00:00:00'");
    c.exec("alter table e add column later varchar(9) not null default 'x'");
    c.exec("insert into e (id, v, late, later) values (4, 'late', null, 'y')");
    for zone in ["UTC", "+05:30"] {
        c.time_zone = functions::TimeZone::parse(zone).unwrap();
        for (id, exists) in [(1, true), (2, true), (-3, true), (4, true), (5, false)] {
            assert_eq!(
                same(&c, "select * from e where id = ?", &[Value::Int(id)]),
                exists
            );
        }
        assert!(same(
            &c,
            "select later, late, j, id, id from e where v = ?",
            &[Value::from("ÄÖÜ")]
        ));
        assert!(!same(
            &c,
            "select id from e where v = ?",
            &[Value::from("nothing")]
        ));
        assert!(!same(&c, "select id from e where v = ?", &[Value::Null]));
    }
}

#[test]
fn keys_of_several_columns() {
    let db = Db::with(
        "create table k (a int unsigned, s varchar(10), d date, b varbinary(4), x int, primary key (d, s, a, b));
         insert into k values (7, 'Key', '2024-01-02', x'00', 1);
         create table bu (id bigint unsigned primary key, v int); insert into bu values (18446744073709551615, 1), (1, 2);
         create table p (s varchar(20), n int, primary key (s(3))); insert into p values ('abcdef', 1)",
    );
    let c = db.conn();
    assert!(same(
        &c,
        "select b, x, s, d, a from k where a = 7 and s = 'KEY' and d = '2024-01-02' and b = x'00'",
        &[]
    ));
    assert!(same(
        &c,
        "select x from k where a = 7 and s = 'key' and d = '2024-01-02' and b = x'00'",
        &[]
    ));
    assert!(same(
        &c,
        "select * from bu where id = ?",
        &[Value::UInt(u64::MAX)]
    ));
    assert!(same(&c, "select v, id from bu where id = ?", &[Value::Int(1)]));
    assert!(!same(&c, "select v, id from bu where id = ?", &[Value::Int(-1)]));
}

#[test]
fn other_queries_go_the_general_way() {
    let db = Db::with("create table t (id int primary key, a int, b int, unique (a), key (b))");
    let c = db.conn();
    for sql in [
        "select * from t where id = 1 for update",
        "select id + 1 from t where id = 1",
        "select * from t where id = 1 and b = 2",
        "select * from t where id in (1, 2)",
        "select * from t where b = 1",
        "select * from t",
        "select count(*) from t where id = 1",
        "select 1",
    ] {
        assert!(PointSelect::compile(&query(&c, sql, &[])).is_none(), "{sql}");
    }
}
