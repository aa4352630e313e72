//! What a statement cannot hold in memory goes to files: it answers as it does with all memory.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::PathBuf;

use support::{Conn, Db};
use types::Value;

/// `t` has 4,096 rows of about 100 bytes: `id` counts, `u` is another order of the numbers, `g` has 8 values, `s` is a
/// text that differs in its case only from that of another row, and `n` is often NULL.
fn db() -> Db {
    let db = Db::with(
        "create table t (id int primary key, u int, g int, s varchar(100), n int);
         insert into t values (0, 0, 0, '', null);
         create table copy (id int primary key, u int, s varchar(100))",
    );
    let mut c = db.conn();
    for i in 0..12 {
        c.exec_with(
            "insert into t select id + ?, 0, 0, '', null from t",
            &[Value::Int(1 << i)],
        );
    }
    c.exec_all(
        "update t set u = id * 2477 % 4096, g = id % 8, n = if(id % 3 = 0, null, id % 500),
           s = concat(if(id % 2 = 0, 'x', 'X'), repeat(lpad(id div 2, 5, '0'), 15));
         insert into copy select id + 1000, u, s from t where id % 5 > 0",
    );
    db
}

const LITTLE: usize = 128 << 10;

/// A batch of rows fits in it, but not all keys.
const FEW_GROUPS: usize = 768 << 10;

/// The rows with little memory are those with all memory, whatever their order.
fn same_rows(c: &mut Conn<'_>, limit: usize, sql: &str) {
    let (mut all, mut few) = both(c, limit, sql);
    all.sort();
    few.sort();
    assert!(!all.is_empty(), "{sql}");
    assert_eq!(few, all, "{sql}");
}

/// In the same order, too.
fn same(c: &mut Conn<'_>, sql: &str) {
    same_with(c, LITTLE, sql);
}

fn same_with(c: &mut Conn<'_>, limit: usize, sql: &str) {
    let (all, few) = both(c, limit, sql);
    assert!(!all.is_empty(), "{sql}");
    assert_eq!(few, all, "{sql}");
}

fn both(c: &mut Conn<'_>, limit: usize, sql: &str) -> (Vec<String>, Vec<String>) {
    c.memory_limit_bytes = 64 << 20;
    let all = c.rows(sql);
    c.memory_limit_bytes = limit;
    let few = c.rows(sql);
    c.memory_limit_bytes = 64 << 20;
    (all, few)
}

#[test]
fn sorts() {
    let db = db();
    let mut c = db.conn();
    for sql in [
        "select id, s from t order by u",
        "select u from t order by u",
        "select s, id from t order by s desc",
        "select id from t order by g, s, u desc",
        "select id, n from t order by n, u",
        "select id, s from t order by concat(s, g), id limit 3000",
        "select id, s from t order by u limit 2000, 1500",
        "select id, s from t order by u limit 7",
        "select distinct s from t order by s",
        "select distinct n from t order by n desc",
        "select distinct g, n from t order by n, g limit 100",
        // Of equal rows, the first that was read comes first.
        "select id, s from t order by g",
        "select id, s from t order by s limit 4000",
        "select d.id from (select id, s from t order by u limit 3000) d order by d.s, d.id",
    ] {
        same(&mut c, sql);
    }
    same_rows(&mut c, LITTLE, "select id, s from t order by rand()");
    c.memory_limit_bytes = LITTLE;
    let mut shuffled = c.rows("select id from t order by rand()");
    shuffled.sort_by_key(|id| id.parse::<u32>().unwrap());
    assert_eq!(shuffled, (0..4096).map(|id| id.to_string()).collect::<Vec<_>>());
}

#[test]
fn wide_rows_are_sorted_a_few_at_a_time() {
    let db = db();
    let mut c = db.conn();
    let wide = "from (select id, u, repeat(s, 500) w from t where id < 300) d";
    same(&mut c, &format!("select id, length(w) {wide} order by w desc"));
    same(&mut c, &format!("select id, md5(w) {wide} order by u limit 250"));
}

#[test]
fn groups_and_sets() {
    let db = db();
    let mut c = db.conn();
    for sql in [
        "select distinct s from t",
        "select distinct s, n from t",
        "select count(*) from (select distinct s from t limit 2000) d",
        "select s, count(*), sum(u), min(id), max(n), avg(n) from t group by s",
        "select s, g, count(n) from t group by s, g having count(*) > 0",
        "select s, group_concat(id order by u) from t group by s",
        "select s, count(distinct n), count(distinct u) from t group by s",
        "select max(length(s)), s, g, sum(u) from t group by s, g with rollup",
        "select upper(s), n + 1, count(*), json_arrayagg(id) from t group by 1, 2",
        "select s from t union select s from copy",
        "select s, u from t union select s, id from copy union all select s, 1 from t",
        "select s, u from t except select s, u from copy",
        "select s from t except all select s from copy",
        "select s from t intersect select s from copy",
        "select s from t intersect all select s from copy",
        "select u from copy except select id from t where id > 100",
        "(select s from t intersect select s from copy) except select s from t where g = 1",
        "select count(*) from (select distinct s from t) d",
    ] {
        same_rows(&mut c, FEW_GROUPS, sql);
    }
}

#[test]
fn keys_are_computed_once_for_each_row() {
    let db = db();
    let mut c = db.conn();
    for sql in [
        "select rand(1) r, count(*), min(s) from t group by r",
        "select s, rand(2) r, count(*) from t group by s, r",
        "select floor(rand(3) * 1000) r, count(*), max(s) from t group by s, r",
        "select count(*), max(c) from (select rand(1) r, count(*) c from t group by r) d",
        "select count(*) from (select distinct rand(1), s from t) d",
        "select rand(1) r, s from t union select id, s from t",
        "select s, rand(1) r from t except select s, id from copy",
    ] {
        same_rows(&mut c, FEW_GROUPS, sql);
    }
    // An assignment has its effect once.
    for limit in [64 << 20, FEW_GROUPS / 2] {
        c.memory_limit_bytes = limit;
        c.rows("select @i := 0");
        let groups = "select s, (@i := coalesce(@i, 0) + 1) k, count(*) n from t group by s, k";
        assert_eq!(
            c.rows(&format!(
                "select count(*), min(k), max(k), sum(n) from ({groups}) d"
            )),
            ["4096 1 4096 4096"]
        );
        c.rows("select @i := 0");
        assert_eq!(
            c.rows("select id, length(s) from t order by (@i := coalesce(@i, 0) + 1) desc limit 4000, 3"),
            ["95 76", "94 76", "93 76"]
        );
    }
}

#[test]
fn keys_warn_once_for_each_row() {
    let db = db();
    let mut c = db.conn();
    for sql in [
        "select count(*) from (select s, cast(s as signed) k, count(*) from t where id < 3000 group by s, k) d",
        "select count(*) from (select s, id from t where id < 3000 order by cast(s as signed), s limit 2999) d",
    ] {
        c.memory_limit_bytes = 64 << 20;
        c.rows(sql);
        let all = c.warning_count;
        assert!(all > 0, "{sql}");
        c.memory_limit_bytes = FEW_GROUPS / 2;
        c.rows(sql);
        assert_eq!(c.warning_count, all, "{sql}");
    }
}

#[test]
fn one_group_with_too_many_values_is_refused() {
    let db = db();
    let mut c = db.conn();
    c.memory_limit_bytes = LITTLE;
    let error = c.error("select json_arrayagg(s) from t");
    assert!(error.starts_with("8175 "), "{error}");
}

#[test]
fn joins() {
    let db = db();
    let mut c = db.conn();
    c.exec("create table few (k int, s varchar(100), z int)");
    c.exec("insert into few select id % 700, s, if(id % 3 = 0, null, id) from t where id < 1200");
    // Derived tables without a merge have no keys: these joins hold their right sides.
    let left = "(select id, u, s, n from t limit 4096) l";
    let right = "(select k, s, z from few limit 1200) r";
    let big = "(select id, u, s, n from t limit 4000) r";
    for sql in [
        format!("select l.id, r.s from {left} join {big} on l.u = r.id"),
        format!("select l.id, r.id, r.s from {left} join {big} on l.s = r.s"),
        format!("select l.id, l.u, r.id from {left} left join {big} on l.u = r.id and r.n > 250"),
        format!("select l.id, r.id, r.u from {left} left join {big} on l.n <=> r.n and l.id + 5 > r.id and r.id > l.id - 5"),
        format!("select l.id, r.id from {left} join {big} on l.id > r.id - 2 and l.id < r.id + 2 where l.id < 300"),
        format!("select l.id, r.id from {left} left join {big} on l.id * 2 = r.id + 1 or l.id = r.id + 3900 where l.id < 300"),
        "select id, s from t where u in (select u + 1 from t x where n is not null)".to_owned(),
        "select id, s from t where u not in (select u + 1 from t x where n is not null)".to_owned(),
        "select id, n in (select x.n from t x where x.id > 100) a, n not in (select x.n from t x where x.n > 7) b from t"
            .to_owned(),
        "select id, (n, u) in (select x.n, x.u from t x) a from t".to_owned(),
        format!("select l.id, r.z in (select n from t) z from {left} join {right} on l.u = r.k"),
        format!("select count(*), sum(l.id), min(r.s) from {left} join {big} on l.u = r.id"),
        format!("select l.id, r.s from {left} join {big} on l.u = r.id limit 50"),
        format!("select l.id, r.id, q.s from {left} join {big} on l.u = r.id join (select id, s from t limit 4090) q on q.id = r.u"),
        format!("select l.id, r.z from {left} left join {right} on l.id = r.k order by r.z, l.id limit 1000"),
    ] {
        same_with(&mut c, 256 << 10, &sql);
    }
    // A key that warns does so once for each row.
    let sql =
        format!("select count(*) from {left} join {big} on cast(l.s as signed) = cast(r.s as signed) + 1");
    c.rows(&sql);
    let all = c.warning_count;
    c.memory_limit_bytes = 256 << 10;
    c.rows(&sql);
    assert_eq!(c.warning_count, all);
}

#[test]
fn windows() {
    let db = db();
    let mut c = db.conn();
    for calls in [
        "row_number() over w, rank() over w, dense_rank() over w",
        "percent_rank() over w, cume_dist() over w, ntile(7) over w",
        "sum(u) over w, count(n) over w, min(s) over w, max(n) over w, avg(id) over w",
        "first_value(s) over w, last_value(id) over w",
        "lag(s) over w, lead(id, 3) over w, lag(n, 200, -1) over w, lead(s, 0) over w",
        "sum(id / 3e0) over w, bit_xor(id) over w",
    ] {
        for window in [
            "order by u",
            "order by n",
            "order by g desc",
            "partition by g order by n",
            "partition by g order by n, u",
            "partition by n order by s, u",
        ] {
            let order = if window.contains("u") { "" } else { ", id" };
            let sql = format!("select id, {calls} from t window w as ({window}{order}) order by id");
            same(&mut c, &sql);
        }
        same(
            &mut c,
            &format!("select id, {calls} from t window w as () order by id"),
        );
    }
    for frame in [
        "rows unbounded preceding",
        "rows between 3 preceding and 2 following",
        "rows between current row and 100 following",
        "rows between 5 preceding and 2 preceding",
        "rows between 2 following and 400 following",
        "rows between unbounded preceding and unbounded following",
        "range between unbounded preceding and unbounded following",
        "range unbounded preceding",
    ] {
        let window = format!("(partition by g % 2 order by u {frame})");
        same(
            &mut c,
            &format!(
                "select id, sum(n) over w, count(*) over w, min(s) over w, max(u) over w, first_value(s) over w,
                   last_value(n) over w, avg(u / 7e0) over w from t window w as {window} order by id"
            ),
        );
    }
    // Peers: more than a piece has.
    same(
        &mut c,
        "select id, rank() over w, sum(u) over w, cume_dist() over w from t window w as (order by g) order by id",
    );
    same(
        &mut c,
        "select id, nth_value(s, 2) over (order by u rows between 1 preceding and 3 following) from t order by id",
    );
    same_rows(
        &mut c,
        LITTLE,
        "select s, row_number() over (order by u) from t limit 3000",
    );
    same_with(
        &mut c,
        256 << 10,
        "select id, s, nth_value(s, 4000) over (order by u), nth_value(s, 3) over (order by u) from t order by id",
    );
    // Values that are as large as the frame.
    let arrays = "select json_arrayagg(u) over (order by u rows between current row and unbounded following), s from t";
    c.memory_limit_bytes = LITTLE;
    let error = c.error(arrays);
    assert!(error.starts_with("8175 "), "{error}");
    // The sorted rows leave memory to the partition.
    same_rows(
        &mut c,
        900 << 10,
        &format!("{arrays} where id between 100 and 2100 and id % 20 = 0"),
    );
}

/// Frames whose edges are found among the rows around the current one.
#[test]
fn moving_frames() {
    let db = db();
    let mut c = db.conn();
    let frames = [
        "order by u range between 5 preceding and 5 following",
        "order by u desc range between 5 preceding and 5 following",
        "order by u range between 40 preceding and 20 preceding",
        "order by u range between 3 following and 9 following",
        "order by g, u rows between 9 preceding and 4 following",
        "order by u rows between unbounded preceding and 7 preceding",
        "order by u rows between unbounded preceding and 7 following",
        "order by u range between unbounded preceding and 30 following",
        "partition by g % 2 order by u range between 50 preceding and 50 following",
    ];
    let calls = [
        "count(*)",
        "sum(u)",
        "max(s)",
        "avg(u + 0e0)",
        "first_value(u)",
        "last_value(u)",
        "nth_value(u, 3)",
    ];
    for frame in frames {
        let calls = calls.map(|call| format!("{call} over w"));
        same(
            &mut c,
            &format!(
                "select id, s, {}, row_number() over w, lag(u) over w from t window w as ({frame}) order by id",
                calls.join(", ")
            ),
        );
    }
    // Peers, some of them NULL.
    for frame in [
        "order by k range between 1 preceding and current row",
        "order by k desc range between current row and 1 following",
        "order by k range current row",
        "order by k range between 2 following and 3 following",
        "order by k range between unbounded preceding and 2 preceding",
        "order by k desc range between unbounded preceding and 2 following",
        "order by k desc range between unbounded preceding and current row",
    ] {
        same(
            &mut c,
            &format!(
                "select id, s, count(*) over w, sum(u) over w, max(s) over w, avg(u + 0e0) over w, rank() over w
                   from (select id, s, u, if(u < 40, null, u div 4) k from t) d window w as ({frame}) order by id"
            ),
        );
    }
}

/// Frames that end with the partition.
#[test]
fn shrinking_frames() {
    let db = db();
    let mut c = db.conn();
    let call_lists = [
        "count(*) over w, sum(u) over w, max(s) over w, min(n) over w",
        "avg(u) over w, avg(u + 0e0) over w, count(n) over w, round(var_samp(u) over w, 3)",
        "bit_and(u) over w, bit_or(id) over w, bit_xor(u) over w, bit_xor(cast(left(s, 9) as binary(9))) over w",
        "first_value(s) over w, last_value(s) over w, nth_value(u, 3) over w, nth_value(u, 70) over w",
        "sum(n / 3) over w, row_number() over w, rank() over w, lag(u) over w, lead(u) over w",
    ];
    let frames = [
        "order by u rows between current row and unbounded following",
        "order by u desc rows between 3 preceding and unbounded following",
        "order by u rows between 100 following and unbounded following",
        "order by u range between current row and unbounded following",
        "order by u range between 5 preceding and unbounded following",
        "order by u desc range between 50 following and unbounded following",
        "order by g, u rows between 1 following and unbounded following",
        "partition by g % 2 order by u range between 50 preceding and unbounded following",
        "partition by g % 2 order by u rows between 5000 following and unbounded following",
    ];
    for frame in frames {
        for calls in call_lists {
            let sql = format!("select id, s, {calls} from t window w as ({frame}) order by id");
            same_with(&mut c, 512 << 10, &sql);
        }
    }
    for frame in [
        "order by g range between current row and unbounded following",
        "order by n range between 2 preceding and unbounded following",
    ] {
        same_with(
            &mut c,
            512 << 10,
            &format!(
                "select id, count(*) over w, sum(u) over w, bit_xor(u) over w, rank() over w from t window w as ({frame})
                   order by id"
            ),
        );
    }
}

#[test]
fn common_tables() {
    let db = db();
    let mut c = db.conn();
    for sql in [
        "with c as (select id, s from t) select id from c union all select length(s) from c",
        "with c as (select id, s from t) select count(*), sum(id) from c where id > (select avg(id) from c)",
        "with recursive c as (select 0 n, repeat('x', 500) s union all select n + 1, s from c where n < 500)
           select count(*), sum(length(s)) from c",
        "with recursive c as (select id, s, 0 n from t union all select id, s, n + 1 from c where n < 3 and id % 2 = 0)
           select n, count(*), sum(id), max(s) from c group by n",
    ] {
        c.cte_max_recursion_depth = 1000;
        same_rows(&mut c, LITTLE, sql);
    }
}

#[test]
fn changes() {
    let db = db();
    let mut c = db.conn();
    c.exec("create table small (id int primary key, v int)");
    c.exec("insert into small select id, 0 from t where id % 4 = 0");
    c.memory_limit_bytes = 2 << 20;
    assert_eq!(
        c.exec("update t join small on small.id = t.id set t.n = -1, small.v = length(t.s)")
            .affected,
        2 * 1024
    );
    assert_eq!(
        c.rows("select count(*), min(v), max(v) from small"),
        ["1024 76 76"]
    );
    assert_eq!(c.rows("select count(*) from t where n = -1"), ["1024"]);
    assert_eq!(
        c.exec("update t set id = id + 10000 order by id desc").affected,
        4096
    );
    assert_eq!(
        c.exec("insert into copy select id + 100000, u, s from t order by s")
            .affected,
        4096
    );
    assert_eq!(
        c.rows("select count(*), min(length(s)) from copy where id >= 100000"),
        ["4096 76"]
    );
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let db = db();
    let mut c = db.conn();
    c.memory_limit_bytes = LITTLE;
    c.spill_directory = PathBuf::from("/nowhere");
    let error = c.error("select id, s from t order by u");
    assert!(
        error.contains("cannot make a temporary file in /nowhere"),
        "{error}"
    );
}

#[test]
fn an_interrupted_statement_ends() {
    let db = db();
    let mut c = db.conn();
    c.memory_limit_bytes = LITTLE;
    c.interrupt.raise();
    let error = c.error("select id, s from t order by u");
    assert!(error.starts_with("1317 "), "{error}");
}
