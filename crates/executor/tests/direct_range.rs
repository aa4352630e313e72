//! The short way of rows that are sent as they are stored gives the same bytes as operators do.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use executor::direct::{Fill, PacketRows};
use executor::{ReadSource, RowSink};
use planner::plan::{Plan, QueryPlan};
use support::{Conn, Db};
use types::{SqlType, Value, errno};
use wire::framing::FrameEncoder;
use wire::row::{Format, RowEncoder};

struct Sink<'e> {
    encoder: &'e RowEncoder,
    takes_packets: bool,
    packets: Vec<Vec<u8>>,
    /// Whether some came as a batch.
    batches: bool,
    /// The bytes of the largest part that was appended.
    largest: usize,
}

impl RowSink for Sink<'_> {
    fn batch(&mut self, batch: &arrow::record_batch::RecordBatch) -> types::Result<()> {
        self.batches = true;
        self.packets.extend(support::packets(self.encoder, batch)?);
        Ok(())
    }

    fn packets(&mut self) -> Option<&mut dyn PacketRows> {
        if self.takes_packets { Some(self) } else { None }
    }
}

impl PacketRows for Sink<'_> {
    fn encoder(&self) -> &RowEncoder {
        self.encoder
    }

    fn append(&mut self, fill: &mut Fill<'_>) -> types::Result<()> {
        let mut frames = FrameEncoder::new();
        let rows = fill(self.encoder, &mut frames)?;
        self.largest = self.largest.max(frames.bytes().len());
        let mut rest = frames.bytes();
        let before = self.packets.len();
        while let Some(([a, b, c, _], behind)) = rest.split_first_chunk() {
            let (payload, next) = behind.split_at(u32::from_le_bytes([*a, *b, *c, 0]) as usize);
            self.packets.push(payload.to_vec());
            rest = next;
        }
        assert_eq!((self.packets.len() - before) as u64, rows);
        Ok(())
    }
}

fn query(c: &Conn<'_>, sql: &str, params: &[Value]) -> QueryPlan {
    match c.plan(sql, params).unwrap() {
        Plan::Query(plan) => plan,
        other => panic!("{other:?}"),
    }
}

fn run(
    c: &mut Conn<'_>,
    sql: &str,
    params: &[Value],
    format: Format,
    takes_packets: bool,
) -> types::Result<(Vec<Vec<u8>>, bool)> {
    let plan = query(c, sql, params);
    let types: Vec<SqlType> = plan.columns.iter().map(|c| c.ty).collect();
    let eval = c.eval(params, false);
    let encoder = RowEncoder::new(format, &types, None);
    let mut sink = Sink {
        encoder: &encoder,
        takes_packets,
        packets: Vec::new(),
        batches: false,
        largest: 0,
    };
    let snapshot = c.db.store.snapshot_now().unwrap();
    let mut txn = c.txn.take();
    let source = match &mut txn {
        Some(txn) => ReadSource::Transaction(txn),
        None => ReadSource::Snapshot(&snapshot),
    };
    let result = executor::query(&plan, source, &c.context(&eval), &mut sink);
    let (packets, batches) = (sink.packets, sink.batches);
    assert!(
        sink.largest < 5 << 20,
        "{} bytes are appended at once",
        sink.largest
    );
    c.txn = txn;
    result.map(|()| (packets, batches))
}

/// Runs `sql` both ways in both formats; answers how many rows there were.
fn same(c: &mut Conn<'_>, sql: &str, params: &[Value]) -> usize {
    let mut rows = 0;
    for format in [Format::Text, Format::Binary] {
        let (general, _) = run(c, sql, params, format, false).unwrap();
        let (direct, batches) = run(c, sql, params, format, true).unwrap();
        // An index may be read for its order, and the rest of the condition is then a filter; or its entries
        // may do.
        let root = format!("{:?}", query(c, sql, params).root);
        let is_other = root.contains("filter: Some") || root.contains("covering: true");
        assert_eq!(batches, is_other && !direct.is_empty(), "{sql}");
        assert_eq!(direct, general, "{sql}");
        rows = direct.len();
    }
    rows
}

#[test]
fn every_type_and_access_path() {
    let db = Db::with(
        "create table e (id int primary key, t tinyint, bu bigint unsigned, d decimal(10, 3), f float, g double, dt date, dtm datetime(6),
         ts timestamp(3) null, tm time(2), y year, v varchar(20), b varchar(20) collate utf8mb4_bin, l varchar(20) character set latin1,
         vb varbinary(9), j json, key (t), key (v), key (t, v), unique (bu));
         insert into e values
         (1, -1, 18446744073709551615, -1.5, 0.1, -1e300, '2024-02-29', '1000-01-01 00:00:00.000001', '2024-07-01 12:00:00.5', '-838:59:58.99',
          1901, 'äöü', 'Z', 'é', x'00ff', '{\"a\": [1, null]}'),
         (2, 5, 0, 7.25, -2.5, 0, '2023-02-28', '2000-01-01', '2020-07-01 12:00:00', '00:00:01', 2000, 'AOU', 'a', 'E', x'', '1'),
         (3, 5, 9223372036854775808, null, null, -0.0, '0000-00-00', null, null, '10:00:00', 1999, 'b', '', 'f', x'00', 'null'),
         (-4, null, 3, 0, 2.5, null, null, '2000-01-01 00:00:01', '2020-07-01 12:00:00.001', null, null, null, null, null, null, null),
         (9, 127, 7, 7.25, 1e10, 1e300, '2024-03-01', '9999-12-31 23:59:59.999999', '1971-01-01', '838:59:58', 2155, 'aou', 'A', 'ê', x'ff', '[]')"
            .replace("'0000-00-00'", "'0001-01-01'")
            .as_str(),
    );
    let mut c = db.conn();
    c.exec("alter table e add column late varchar(9) not null default 'x'");
    c.exec("insert into e (id, t, late) values (20, 5, 'y'), (21, null, 'X')");
    for zone in ["UTC", "+05:30"] {
        c.time_zone = functions::TimeZone::parse(zone).unwrap();
        assert_eq!(same(&mut c, "select * from e", &[]), 7);
        for condition in [
            "id between 1 and 3",
            "id > 1",
            "id in (9, 2, 77, -4)",
            "t = 5",
            "t >= 5 and t < 200",
            "t is null",
            "v > 'a'",
            "t = 5 and v >= 'aou'",
        ] {
            assert!(same(&mut c, &format!("select * from e where {condition}"), &[]) > 0);
            for column in [
                "id", "t", "bu", "f", "g", "dt", "dtm", "ts", "tm", "y", "v", "b", "l", "vb", "late",
            ] {
                for direction in ["", " desc"] {
                    for what in ["*", column, "late, id, id"] {
                        let sql =
                            format!("select {what} from e where {condition} order by {column}{direction}");
                        same(&mut c, &sql, &[]);
                        same(&mut c, &format!("{sql} limit 2"), &[]);
                        same(&mut c, &format!("{sql} limit 1, 1"), &[]);
                    }
                    let sql = format!(
                        "select distinct {column} from e where {condition} order by {column}{direction}"
                    );
                    same(&mut c, &sql, &[]);
                    same(&mut c, &format!("{sql} limit 1, 2"), &[]);
                }
            }
        }
        assert_eq!(same(&mut c, "select v from e order by id desc", &[]), 7);
        assert_eq!(
            same(&mut c, "select v, id from e order by id desc limit 2, 3", &[]),
            3
        );
        assert_eq!(
            same(
                &mut c,
                "select v, id from e limit ?, ?",
                &[Value::UInt(6), Value::UInt(9)]
            ),
            1
        );
        assert_eq!(same(&mut c, "select v from e where id > 1 limit 0", &[]), 0);
        assert_eq!(
            same(&mut c, "select v from e where id > ? order by v", &[Value::Null]),
            0
        );
    }
}

#[test]
fn a_transaction_sees_what_it_wrote() {
    let db = Db::with(
        "create table t (a int, b varchar(9), c int, primary key (b, a), key (c));
         insert into t values (1, 'b', 1), (2, 'b', 2), (1, 'A', 3)",
    );
    let mut c = db.conn();
    c.begin();
    c.exec("insert into t values (3, 'B', 1), (0, 'c', 2)");
    c.exec("delete from t where a = 2");
    c.exec("update t set c = 9 where b = 'a'");
    assert_eq!(same(&mut c, "select * from t", &[]), 4);
    assert_eq!(
        same(&mut c, "select a, b from t where b = 'B' order by c desc", &[]),
        2
    );
    assert_eq!(same(&mut c, "select b, a from t where c > 1 order by b", &[]), 2);
    assert_eq!(
        same(&mut c, "select b, a from t where c > 1 order by b limit 1", &[]),
        1
    );
}

/// More rows than are read or held at once, most of them equal to many others.
#[test]
fn many_rows() {
    let db = Db::with("create table t (id int primary key, a int, s varchar(310), key (a))");
    let mut c = db.conn();
    for block in 0..10 {
        let rows: Vec<String> = (block * 700..(block + 1) * 700)
            .map(|id| {
                format!(
                    "({id}, {}, '{}{}')",
                    id * 7919 % 1000,
                    "x".repeat(id % 300),
                    id % 11
                )
            })
            .collect();
        c.exec(&format!("insert into t values {}", rows.join(",")));
    }
    assert_eq!(same(&mut c, "select * from t", &[]), 7_000);
    assert_eq!(same(&mut c, "select s from t limit 3000, 2000", &[]), 2_000);
    assert_eq!(
        same(&mut c, "select id from t where a < 900 order by a desc", &[]),
        6_300
    );
    assert_eq!(
        same(&mut c, "select id from t where id > 3 order by a limit 10", &[]),
        10
    );
    assert_eq!(
        same(
            &mut c,
            "select id from t where id > 3 order by a limit 2000, 500",
            &[]
        ),
        500
    );
    assert_eq!(
        same(
            &mut c,
            "select id, s from t where id > 3 order by s desc limit 5",
            &[]
        ),
        5
    );
    assert_eq!(
        same(
            &mut c,
            "select distinct a from t where id >= 0 order by a desc",
            &[]
        ),
        1_000
    );
    assert_eq!(
        same(
            &mut c,
            "select distinct a from t where id >= 0 order by a limit 7, 3",
            &[]
        ),
        3
    );
    assert!(same(&mut c, "select distinct s from t where id >= 0 order by s", &[]) > 1_024);
    c.memory_limit_bytes = 100_000;
    for takes_packets in [false, true] {
        let sql = "select s from t order by s";
        let (sorted, _) = run(&mut c, sql, &[], Format::Text, takes_packets).unwrap();
        c.memory_limit_bytes = 64 << 20;
        let (all, _) = run(&mut c, sql, &[], Format::Text, takes_packets).unwrap();
        c.memory_limit_bytes = 100_000;
        assert!(sorted == all, "what does not fit in memory is sorted in files");
    }
    c.interrupt.raise();
    let stopped = run(&mut c, "select s from t", &[], Format::Text, true);
    assert_eq!(stopped.unwrap_err().code, errno::ER_QUERY_INTERRUPTED);
}

#[test]
fn other_queries_go_the_general_way() {
    let db = Db::with(
        "create table t (id int primary key, a int, b int, d decimal(5, 1), j json, unique (a), key (b), key (d));
         insert into t values (1, 1, 1, 1, '1'), (2, 2, 2, 2, '2')",
    );
    let mut c = db.conn();
    for sql in [
        "select id + 1 from t",
        "select * from t where id > 0 and b > 0",
        "select b from t where b > 0",
        "select id from t order by d",
        "select id from t order by j",
        "select id from t order by b, d",
        "select id from t order by b + 1",
        "select distinct b from t where id > 0",
        "select distinct id, d from t where id > 0 order by id",
        "select count(*) from t",
        "select b from t group by b",
    ] {
        let (_, batches) = run(&mut c, sql, &[], Format::Text, true).unwrap();
        assert!(batches, "{sql}");
    }
}

/// Each of many rows repeats a long one of another table, which is sent in parts and not held for each of them.
#[test]
fn joins_that_repeat_long_rows_are_bounded() {
    let db = Db::with(
        "create table long_rows (id int primary key, t longtext);
         create table short_rows (id int primary key, long_id int, n int, key (long_id));
         insert into long_rows values (1, repeat('x', 100000));
         insert into short_rows values (1, 1, 1)",
    );
    let mut c = db.conn();
    for i in 0..9 {
        let sql = "insert into short_rows select id + ?, 1, id from short_rows";
        c.exec_with(sql, &[Value::Int(1 << i)]);
    }
    c.memory_limit_bytes = 8 << 20;
    for sql in [
        "select t, n from long_rows l straight_join short_rows s on s.long_id = l.id where l.id in (1, 2)",
        "select t, n from short_rows s straight_join long_rows l on l.id = s.long_id where s.long_id in (1, 2)",
    ] {
        let (packets, batches) = run(&mut c, sql, &[], Format::Text, true).unwrap();
        assert_eq!(packets.len(), 512, "{sql}");
        assert!(packets.iter().all(|packet| packet.len() > 100_000));
        assert!(!batches, "{sql}: {:?}", query(&c, sql, &[]).root);
    }
}

/// A key that is computed from a document.
#[test]
fn keys_of_joins_are_computed_from_documents() {
    let db = Db::with(
        "create table a (id int primary key, doc json);
         create table b (id bigint primary key, n int);
         insert into a values (1, '{\"b\": 7}'), (2, '{\"b\": 8}'), (3, null);
         insert into b values (7, 70), (9, 90)",
    );
    let mut c = db.conn();
    let sql = "select a.id, b.n from a straight_join b on b.id = cast(json_extract(a.doc, '$.b') as signed) where a.id in (1, 2)";
    assert_eq!(same(&mut c, sql, &[]), 1);
}

/// Packets of a join begin as the one before where the rows are the same; columns of all tables may come in any order.
#[test]
fn packets_of_joins_repeat_columns() {
    let db = Db::with(
        "create table a (id int primary key, name varchar(20), note varchar(20));
         create table b (id int primary key, a_id int, n decimal(9, 2), note longtext, key (a_id));
         create table c (x int, y int, b_id int, t varchar(20), primary key (x, y), key (b_id));
         insert into a values (1, 'one', null), (2, null, 'two'), (3, 'three', 'three');
         insert into b values (10, 1, 1.5, 'x'), (11, 2, null, null), (12, 1, 1.5, 'x'), (13, 3, 7, 'z'), (14, 1, null, '');
         insert into c values (1, 1, 10, 'a'), (1, 2, 10, null), (2, 1, 12, 'b'), (2, 2, 11, 'c'), (3, 1, 14, null),
             (3, 2, 14, 'd'), (4, 1, 13, 'e'), (5, 5, 10, 'f')",
    );
    let mut c = db.conn();
    let chain =
        "from a straight_join b on b.a_id = a.id straight_join c on c.b_id = b.id where a.id in (1, 2, 3)";
    for columns in [
        "a.name, a.note, b.n, b.note, c.x, c.y, c.t",
        "a.note, b.note, a.name, c.t, b.n, a.id, c.y",
        "c.t, a.name, b.note",
        "b.n, b.id, a.name, c.x",
        "a.id",
        "a.name, a.name, b.n, b.n",
    ] {
        assert_eq!(same(&mut c, &format!("select {columns} {chain}"), &[]), 8);
    }
    // The rows of one table are the same for each row.
    for (id, rows) in [(1, 6), (3, 1), (9, 0)] {
        let sql = format!(
            "select a.name, a.note, b.id, b.note, c.t from b straight_join a straight_join c on c.b_id = b.id \
             where b.a_id = {id} and a.id = {id}"
        );
        assert_eq!(same(&mut c, &sql, &[]), rows);
    }
    let sql = "select b.id, a.id, a.name from b straight_join a where b.id < 14 and a.id in (1, 2, 3)";
    assert_eq!(same(&mut c, sql, &[]), 12);
}
