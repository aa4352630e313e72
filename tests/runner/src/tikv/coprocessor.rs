//! The stores compute parts of queries: with pushdown and without, every query returns the same rows.
//! Meanwhile regions split, leaders move and connections break, stores refuse ([`refusals`]), rows are
//! locked, and transactions read their own writes.

mod refusals;

use std::thread;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};

use super::cluster::{Cluster, row_key};
use super::new_database;
use crate::agree;
use crate::report::Report;
use crate::server::Server;
use crate::text;

const DATABASE: &str = "coprocessor";

/// Rows of the table `t`, in regions of [`REGION_ROWS`] rows.
const ROWS: i64 = 4_000;
const REGION_ROWS: i64 = 500;

/// How long a region takes for a request while the requests in flight are counted.
const SLOW_MS: u64 = 400;

/// Queries of which at least a part is pushed down.
const PUSHED: [&str; 56] = [
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*), COUNT(n), SUM(n), AVG(n), MIN(n), MAX(n) FROM t",
    "SELECT COUNT(d), SUM(d), AVG(d), MIN(d), MAX(d), MIN(f), MAX(f), MIN(day), MAX(at) FROM t WHERE n > 100",
    "SELECT MIN(n), MAX(big), SUM(big), AVG(big) FROM t WHERE n < -5",
    "SELECT SUM(n), COUNT(*) FROM t WHERE n = 12345678",
    "SELECT id, n, big, d, f, day, at, during, b, s, ts, e, j FROM t WHERE n BETWEEN 40 AND 60",
    "SELECT id FROM t WHERE n IN (1, 2, NULL, 3) OR n IS NULL",
    "SELECT id FROM t WHERE NOT (n < 90 OR d >= 1.5)",
    "SELECT id FROM t WHERE n <=> NULL AND b IS NOT NULL",
    "SELECT id, s FROM t WHERE b = 'b7  ' OR b <> 'b7'",
    "SELECT id FROM t WHERE raw >= x'6237' AND raw < x'6238'",
    "SELECT id FROM t WHERE day >= '2024-01-15' AND at < '2024-03-01 12:00:00' AND during > '00:30:00'",
    "SELECT id FROM t WHERE f > 12.5 AND d IN (1.5, 2.5) AND big > 9223372036854775807",
    "SELECT id, s FROM t WHERE n > 50 AND s LIKE '%7' AND LENGTH(s) > 2",
    "SELECT id, n FROM t WHERE n > 95 LIMIT 7",
    "SELECT id + 1, n FROM t WHERE n > 95 LIMIT 5 OFFSET 3",
    "SELECT id, n FROM t ORDER BY n LIMIT 20",
    "SELECT id, n FROM t WHERE b <> 'b3' ORDER BY n DESC, id LIMIT 20",
    "SELECT id, n, d FROM t WHERE n IS NOT NULL ORDER BY d DESC, n LIMIT 15 OFFSET 5",
    "SELECT n, COUNT(*), SUM(d), MIN(at) FROM t GROUP BY n ORDER BY n",
    "SELECT day, n, AVG(d), COUNT(b) FROM t WHERE id BETWEEN 700 AND 2600 GROUP BY day, n ORDER BY day, n",
    "SELECT DISTINCT day, n FROM t WHERE d > 10",
    "SELECT DISTINCT n FROM t ORDER BY n DESC",
    "SELECT n FROM t WHERE f IS NOT NULL GROUP BY n HAVING n > 3 ORDER BY n",
    "SELECT COUNT(*), SUM(added) FROM t WHERE added = 5",
    "SELECT COUNT(*) FROM t WHERE id > 3990 OR n = 3",
    "SELECT k, v FROM pairs WHERE v > 3 ORDER BY v DESC LIMIT 6",
    "SELECT id, n, s FROM t WHERE n > -50 LIMIT 2500",
    "SELECT w FROM words WHERE n > 3",
    "SELECT COUNT(*) FROM words",
    "SELECT n, w FROM words WHERE w IS NOT NULL AND n <> 5",
    "SELECT w, n FROM cut WHERE n > 3",
    "SELECT w FROM cut WHERE w >= 'word5'",
    "SELECT a.id, b.n FROM t a JOIN t b ON a.id = b.id WHERE a.n = 7 AND b.n > 5",
    "SELECT id FROM t WHERE ts > '2024-01-15 05:00:00' AND n < 50",
    "SELECT id, ts FROM t WHERE ts BETWEEN '2024-01-03' AND '2024-01-05' OR ts = '2024-01-20 05:00:00'",
    "SELECT ts, COUNT(*), MIN(ts), MAX(ts) FROM t WHERE n > 0 GROUP BY ts ORDER BY ts",
    "SELECT id, g FROM t WHERE g = 'straSSe' OR g IN ('Ñ  ', 'x')",
    "SELECT id FROM t WHERE g <> 'É' AND n > 100",
    // Entries of indexes under an integer handle, without text and with it.
    "SELECT COUNT(*) FROM entries FORCE INDEX (ac) WHERE a > 3",
    "SELECT a, COUNT(*), SUM(c), MIN(id) FROM entries FORCE INDEX (ac) WHERE a BETWEEN 2 AND 9 GROUP BY a ORDER BY a",
    "SELECT id, a, c FROM entries FORCE INDEX (ac) WHERE a > 3 AND c < 4.5",
    "SELECT id FROM entries FORCE INDEX (ac) WHERE a >= 2 AND id > 100 LIMIT 5",
    "SELECT id, c FROM entries FORCE INDEX (ac) WHERE a > 2 ORDER BY c DESC LIMIT 9",
    "SELECT MIN(id), MAX(e) FROM entries FORCE INDEX (u) WHERE e > 18446744073709551000 OR e IS NULL",
    "SELECT id, e FROM entries FORCE INDEX (u) WHERE e < 900 AND id <> 3",
    "SELECT id, b, a, bin FROM entries FORCE INDEX (txt) WHERE a > 5",
    "SELECT COUNT(*), MAX(a) FROM entries FORCE INDEX (txt) WHERE b > 'c' AND bin <> 'B3'",
    "SELECT DISTINCT a FROM entries FORCE INDEX (ut) WHERE ub > 'a' AND a > 1",
    // Under a clustered one, and a hidden one.
    "SELECT k, p, a FROM clustered FORCE INDEX (av) WHERE a > 2 AND v < 50",
    "SELECT a, COUNT(*), MAX(p) FROM clustered FORCE INDEX (av) GROUP BY a ORDER BY a",
    "SELECT k, p, v FROM clustered FORCE INDEX (uv) WHERE v > 10 AND p <> 2",
    "SELECT k, p, v FROM clustered FORCE INDEX (uv) WHERE (v > 10 OR v IS NULL) AND p > 0 ORDER BY p, v LIMIT 7",
    "SELECT a, COUNT(*) FROM clustered FORCE INDEX (wa) WHERE w > 'b' AND a > 0 GROUP BY a ORDER BY a",
    "SELECT a, v FROM heap FORCE INDEX (av) WHERE a > 1 AND v <> 5",
    "SELECT a, v FROM heap FORCE INDEX (av) WHERE a > 1 ORDER BY v DESC LIMIT 5",
];

/// Queries whose conditions and aggregates are not pushed down.
const KEPT: [&str; 14] = [
    "SELECT id FROM t WHERE s = 'S7'",
    "SELECT id FROM t WHERE n + 1 = 8",
    "SELECT id FROM t WHERE n = 1.5",
    "SELECT id FROM t WHERE b < 'b7'",
    "SELECT SUM(f) FROM t",
    "SELECT COUNT(DISTINCT n) FROM t",
    "SELECT id FROM t WHERE g < 'n'",
    "SELECT id FROM t WHERE ts > at",
    "SELECT id FROM t WHERE 100 / n > 10 AND n > 5",
    // Nearly as many groups as rows.
    "SELECT id, COUNT(*) FROM t GROUP BY id",
    // Index entries: a TIME, text together with a clustered key, descending parts, and an index that leads to
    // rows.
    "SELECT during FROM entries FORCE INDEX (tm) WHERE during > '00:10:00' AND a <> 4",
    "SELECT w FROM clustered FORCE INDEX (wa) WHERE w > 'b' AND a > 0",
    "SELECT d, a FROM entries FORCE INDEX (dd) WHERE d IS NOT NULL AND a > 3",
    "SELECT raw FROM entries FORCE INDEX (ac) WHERE a > 3 AND c < 1.5",
];

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    let server = Server::start(cluster.program(), &[])?;
    let mut conn = server.address.connect().map_err(text)?;
    // Statistics decide what is pushed down, so they must not change during the test.
    conn.query_drop("SET GLOBAL innodb_stats_auto_recalc = OFF")
        .map_err(text)?;
    new_database(&mut conn, DATABASE)?;
    fill(&mut conn)?;
    fill_indexed(&mut conn)?;
    split(cluster, &mut conn)?;
    let mut both = Both::connect(&server)?;
    report.check(
        "coprocessor: same rows with and without",
        same_rows(cluster, &mut both),
    );
    report.check(
        "coprocessor: EXPLAIN shows what is pushed down",
        explained(&mut both),
    );
    report.check(
        "coprocessor: a transaction's own writes",
        own_writes(cluster, &mut both),
    );
    report.check(
        "coprocessor: pages larger than the memory for responses",
        little_memory(cluster, &mut both),
    );
    agree::check_pushed(&server.address, report);
    if !cluster.is_real() {
        report.check("coprocessor: faults", faults(cluster, &mut both));
        report.check(
            "coprocessor: stores that refuse",
            refusals::check(cluster, &mut both),
        );
        let killed = refusals::killed(cluster, &server, report);
        report.check("coprocessor: KILL QUERY", killed);
        report.check(
            "coprocessor: rows that are locked",
            locked(cluster, &server, &mut both),
        );
        report.check(
            "coprocessor: many regions at the same time",
            at_once(cluster, &mut both),
        );
    }
    Ok(())
}

/// One connection with pushdown, and one without.
struct Both {
    on: Conn,
    off: Conn,
    /// Whether rows come in the same order, too: one thread reads them.
    in_order: bool,
}

impl Both {
    fn connect(server: &Server) -> Result<Self, String> {
        let connect = |switch: &str| -> Result<Conn, String> {
            let mut conn = server.address.connect_to(DATABASE).map_err(text)?;
            let set =
                format!("SET optimizer_switch = 'engine_condition_pushdown={switch}', time_zone = '+02:00'");
            conn.query_drop(set).map_err(text)?;
            Ok(conn)
        };
        Ok(Self {
            on: connect("on")?,
            off: connect("off")?,
            in_order: false,
        })
    }

    fn run(&mut self, statement: &str) -> Result<(), String> {
        for conn in [&mut self.on, &mut self.off] {
            conn.query_drop(statement)
                .map_err(|error| format!("{statement}: {error}"))?;
        }
        Ok(())
    }

    fn same(&mut self, query: &str) -> Result<(), String> {
        let mut expected = answer(&mut self.off, query)?;
        let mut got = answer(&mut self.on, query)?;
        if !self.in_order && !query.contains("ORDER BY") {
            let text = |row: &Vec<Value>| row.iter().map(|value| value.as_sql(true)).collect::<Vec<_>>();
            expected.sort_by_cached_key(text);
            got.sort_by_cached_key(text);
        }
        if expected == got {
            return Ok(());
        }
        let differ = expected.iter().zip(&got).find(|(a, b)| a != b);
        Err(format!(
            "{query}: {} rows without, {} with; the first that differ: {differ:?}",
            expected.len(),
            got.len()
        ))
    }
}

fn answer(conn: &mut Conn, query: &str) -> Result<Vec<Vec<Value>>, String> {
    let rows: Vec<Row> = conn.query(query).map_err(|error| format!("{query}: {error}"))?;
    Ok(rows.into_iter().map(Row::unwrap).collect())
}

fn fill(conn: &mut Conn) -> Result<(), String> {
    let run = |conn: &mut Conn, statement: &str| {
        conn.query_drop(statement)
            .map_err(|error| format!("{statement:.300}: {error}"))
    };
    run(
        conn,
        "CREATE TABLE t (id INT PRIMARY KEY, n INT, big BIGINT UNSIGNED, d DECIMAL(12,4), f DOUBLE, day DATE, \
         at DATETIME(3), during TIME(1), b VARCHAR(20) COLLATE utf8mb4_bin, raw VARBINARY(20), s VARCHAR(20), \
         ts TIMESTAMP NULL, e ENUM('x', 'y'), j JSON, y YEAR, g VARCHAR(20) COLLATE utf8mb4_general_ci)",
    )?;
    for first in (1..=ROWS).step_by(500) {
        let rows: Vec<String> = (first..first + 500).map(row).collect();
        run(conn, &format!("INSERT INTO t VALUES {}", rows.join(", ")))?;
    }
    // Columns that the stored rows lack.
    run(
        conn,
        "ALTER TABLE t ADD COLUMN added INT NOT NULL DEFAULT 5, ADD COLUMN late VARCHAR(9) DEFAULT 'late'",
    )?;
    run(conn, "UPDATE t SET added = 6, late = NULL WHERE id % 3 = 0")?;
    run(
        conn,
        "CREATE TABLE pairs (k VARBINARY(10), part INT, v INT, PRIMARY KEY (k, part))",
    )?;
    let pairs: Vec<String> = (0..60)
        .map(|i| format!("('k{}', {}, {})", i % 7, i / 7, i % 5))
        .collect();
    run(conn, &format!("INSERT INTO pairs VALUES {}", pairs.join(", ")))?;
    // Primary keys of which the key holds sort keys or prefixes.
    for table in [
        "words (w VARCHAR(20), n INT, v INT, PRIMARY KEY (w, n))",
        "cut (w VARCHAR(20) COLLATE utf8mb4_0900_bin, n INT, v INT, PRIMARY KEY (w(3), n))",
    ] {
        run(conn, &format!("CREATE TABLE {table}"))?;
        let name = table.split(' ').next().unwrap_or_default();
        let rows: Vec<String> = (0..40).map(|i| format!("('Word{}', {i}, {i})", i % 9)).collect();
        run(conn, &format!("INSERT INTO {name} VALUES {}", rows.join(", ")))?;
    }
    Ok(())
}

/// Tables with indexes whose entries hold all columns of a query.
fn fill_indexed(conn: &mut Conn) -> Result<(), String> {
    let mut run = |statement: String| {
        conn.query_drop(&statement)
            .map_err(|error| format!("{statement:.300}: {error}"))
    };
    run("CREATE TABLE entries (id INT PRIMARY KEY, a INT, b VARCHAR(20), bin VARCHAR(20) COLLATE utf8mb4_0900_bin, \
         c DECIMAL(8, 2), d DATETIME, e BIGINT UNSIGNED, during TIME, ub VARCHAR(20), raw VARBINARY(20), \
         INDEX ac (a, c), UNIQUE INDEX u (e), INDEX txt (b, a, bin), INDEX tm (during, a), UNIQUE INDEX ut (ub, a), \
         INDEX dd (d DESC, a))"
        .into())?;
    run(
        "CREATE TABLE clustered (k VARBINARY(10), p INT, a INT, v INT, w VARCHAR(10), PRIMARY KEY (k, p), \
         INDEX av (a, v), UNIQUE INDEX uv (v), INDEX wa (w, a))"
            .into(),
    )?;
    run("CREATE TABLE heap (a INT, v INT, x INT, INDEX av (a, v))".into())?;
    let or_null = |i: i64, every: i64, value: String| if i % every == 0 { "NULL".to_owned() } else { value };
    let quoted = |text: String| format!("'{text}'");
    let entries: Vec<String> = (1..=600)
        .map(|i| {
            let fields = [
                i.to_string(),
                or_null(i, 13, (i % 11).to_string()),
                or_null(i, 17, quoted(format!("{}Text", char::from(b'a' + (i % 5) as u8)))),
                or_null(i, 7, quoted(format!("B{}", i % 6))),
                or_null(i, 19, format!("{}.{:02}", i % 9 - 2, i % 100)),
                quoted(format!("2024-01-{:02} 10:00:00", i % 28 + 1)),
                or_null(
                    i,
                    10,
                    if i % 3 == 0 {
                        u64::MAX - i as u64
                    } else {
                        i as u64 * 3
                    }
                    .to_string(),
                ),
                quoted(format!("{:02}:{:02}:00", i % 3, i % 60)),
                or_null(i, 23, quoted(format!("u{i}"))),
                quoted(format!("r{i}")),
            ];
            format!("({})", fields.join(", "))
        })
        .collect();
    run(format!("INSERT INTO entries VALUES {}", entries.join(", ")))?;
    let clustered: Vec<String> = (0..80)
        .map(|i| {
            let v = or_null(i, 9, i.to_string());
            format!("('k{}', {}, {}, {v}, 'W{}')", i % 8, i / 8, i % 5, i % 6)
        })
        .collect();
    run(format!("INSERT INTO clustered VALUES {}", clustered.join(", ")))?;
    let heap: Vec<String> = (0..60).map(|i| format!("({}, {}, {i})", i % 4, i % 7)).collect();
    run(format!("INSERT INTO heap VALUES {}", heap.join(", ")))
}

fn row(id: i64) -> String {
    let or_null = |every: i64, value: String| if id % every == 0 { "NULL".to_owned() } else { value };
    let n = id * 7919 % 211 - 60;
    let big = match id % 5 {
        0 => u64::MAX - id as u64,
        1 => i64::MAX as u64 + id as u64,
        _ => id as u64,
    };
    let fields = [
        id.to_string(),
        or_null(17, n.to_string()),
        or_null(19, big.to_string()),
        or_null(13, format!("{}.{}", n - 3, id % 10 * 5)),
        or_null(23, format!("{}e-1", n * 3)),
        or_null(11, format!("'2024-{:02}-{:02}'", id % 12 + 1, id % 28 + 1)),
        or_null(
            29,
            format!(
                "'2024-{:02}-{:02} 11:{:02}:07.125'",
                id % 4 + 1,
                id % 28 + 1,
                id % 60
            ),
        ),
        or_null(
            31,
            format!(
                "'{}{}:{:02}:00.5'",
                if id % 2 == 0 { "-" } else { "" },
                id % 3,
                id % 60
            ),
        ),
        or_null(9, format!("'b{}{}'", id % 9, if id % 4 == 0 { " " } else { "" })),
        format!("'b{}'", id % 10),
        format!("'s{}'", id % 8),
        format!("'2024-01-{:02} 03:00:00'", id % 28 + 1),
        or_null(7, format!("'{}'", if id % 2 == 0 { "x" } else { "y" })),
        format!("'{{\"id\": {id}}}'"),
        (2000 + id % 50).to_string(),
        or_null(
            27,
            format!(
                "'{}'",
                ["Strasse", "STRASSE ", "straße", "ñ", "e", "X"][id as usize % 6]
            ),
        ),
    ];
    format!("({})", fields.join(", "))
}

/// Splits `t` into several regions.
fn split(cluster: &Cluster, conn: &mut Conn) -> Result<(), String> {
    let bounds: Vec<String> = (REGION_ROWS..ROWS)
        .step_by(REGION_ROWS as usize)
        .map(|id| format!("({id})"))
        .collect();
    conn.query_drop(format!("SPLIT TABLE t BY {}", bounds.join(", ")))
        .map_err(text)?;
    if !cluster.is_real() {
        cluster.control("/counters?reset=1")?;
    }
    Ok(())
}

/// With the least memory, a page of wide rows is so large that only one request may be in flight. When it ends
/// within its range, requests for later ranges are in flight, and the rest of the range comes first.
fn little_memory(cluster: &Cluster, both: &mut Both) -> Result<(), String> {
    let conn = &mut both.on;
    for statement in [
        "CREATE TABLE wide (id INT PRIMARY KEY, n INT, pad VARCHAR(2000) CHARACTER SET ascii)",
        "INSERT INTO wide SELECT id, n, REPEAT(CHAR(97 + id % 26), 1200) FROM t",
        "SPLIT TABLE wide BY (2000)",
        "ANALYZE TABLE wide",
    ] {
        conn.query_drop(statement)
            .map_err(|error| format!("{statement}: {error}"))?;
    }
    both.run("SET stemdb_route = 'transactional', stemdb_memory_limit = 1048576")?;
    let before = calls(cluster)?;
    // The time limit ends a statement that waits forever.
    let query = "SELECT /*+ MAX_EXECUTION_TIME(60000) */ id, pad FROM wide WHERE n > 95";
    both.same(query)?;
    let pushed = before.is_none() || calls(cluster)? > before;
    both.run("SET stemdb_route = DEFAULT, stemdb_memory_limit = DEFAULT")?;
    both.run("DROP TABLE IF EXISTS wide")?;
    match pushed {
        true => Ok(()),
        false => Err(format!("not pushed down: {query}")),
    }
}

fn calls(cluster: &Cluster) -> Result<Option<u64>, String> {
    match cluster.is_real() {
        true => Ok(None),
        false => cluster.stand_in()?.count("Coprocessor").map(Some),
    }
}

fn same_rows(cluster: &Cluster, both: &mut Both) -> Result<(), String> {
    for route in ["transactional", "analytical", "auto"] {
        both.run(&format!("SET stemdb_route = '{route}'"))?;
        both.in_order = route == "transactional";
        for query in PUSHED {
            // If several threads read, it is not determined which of equal rows come first.
            if route == "analytical" && query.contains("LIMIT") && !query.contains(", id LIMIT") {
                continue;
            }
            let before = calls(cluster)?;
            answer(&mut both.off, query)?;
            let without = calls(cluster)?;
            both.same(query)?;
            let with = calls(cluster)?;
            if without != before || before.is_some() && with <= without {
                return Err(format!(
                    "{route}: {query}: {before:?}, {without:?}, {with:?} calls"
                ));
            }
        }
        for query in KEPT {
            // Threads add up in an order of their own.
            if route == "transactional" || !query.contains("SUM(f)") {
                both.same(query)?;
            }
        }
        let term = |i: usize| format!("{} = {i}", ["n", "d", "big"][i % 3]);
        let many: Vec<String> = (0..3_000).map(term).collect();
        let deep = (0..80).fold(term(0), |inner, i| {
            format!("({} OR ({inner} AND n < {i}))", term(i))
        });
        for condition in [many.join(" OR "), deep] {
            both.same(&format!("SELECT id FROM t WHERE {condition}"))
                .map_err(|error| format!("{error:.300}"))?;
        }
    }
    both.in_order = false;
    // Values that are not known when the plan is made.
    for value in ["5", "-5", "NULL", "'7'", "1.5", "18446744073709551615", "'x'"] {
        let run = |conn: &mut Conn| -> Result<Vec<Vec<Value>>, String> {
            for statement in [
                "PREPARE p FROM 'SELECT id FROM t WHERE n > ? AND n <> 3'".to_owned(),
                format!("SET @v = {value}"),
            ] {
                conn.query_drop(&statement)
                    .map_err(|error| format!("{statement}: {error}"))?;
            }
            answer(conn, "EXECUTE p USING @v")
        };
        let (expected, got) = (run(&mut both.off)?, run(&mut both.on)?);
        if expected != got {
            return Err(format!("{value}: {expected:?}, {got:?}"));
        }
    }
    Ok(())
}

fn explained(both: &mut Both) -> Result<(), String> {
    both.run("SET stemdb_route = 'transactional'")?;
    let tree = |conn: &mut Conn, query: &str| -> Result<String, String> {
        let tree: Option<String> = conn
            .query_first(format!("EXPLAIN FORMAT=TREE {query}"))
            .map_err(text)?;
        Ok(tree.unwrap_or_default())
    };
    for query in PUSHED {
        let (with, without) = (tree(&mut both.on, query)?, tree(&mut both.off, query)?);
        if !with.contains("cop[tikv]") || without.contains("cop[tikv]") {
            return Err(format!("{query}: {with}{without}"));
        }
    }
    for query in KEPT {
        let with = tree(&mut both.on, query)?;
        if with.contains("cop[tikv]") {
            return Err(format!("{query}: {with}"));
        }
    }
    both.run("SET stemdb_route = DEFAULT")
}

fn own_writes(cluster: &Cluster, both: &mut Both) -> Result<(), String> {
    let queries = ["SELECT COUNT(*), SUM(n) FROM t", "SELECT id FROM t WHERE n = 99"];
    let run = |conn: &mut Conn| -> Result<Vec<Vec<Vec<Value>>>, String> {
        let mut seen = Vec::new();
        for change in [
            "BEGIN",
            "INSERT INTO t (id, n) VALUES (100001, 99)",
            "DELETE FROM t WHERE id = 5",
            "UPDATE t SET n = 99 WHERE id = 6",
            "ROLLBACK",
        ] {
            conn.query_drop(change)
                .map_err(|error| format!("{change}: {error}"))?;
            for query in queries {
                seen.push(answer(conn, query)?);
            }
        }
        Ok(seen)
    };
    let expected = run(&mut both.off)?;
    let before = calls(cluster)?;
    let got = run(&mut both.on)?;
    if expected != got {
        return Err(format!("{expected:?}, {got:?}"));
    }
    if before.is_some() && calls(cluster)? <= before {
        return Err("nothing was pushed down before the first write".into());
    }
    Ok(())
}

/// Each request fails once, in different ways.
fn faults(cluster: &Cluster, both: &mut Both) -> Result<(), String> {
    let queries = [
        "SELECT COUNT(*), SUM(n), MIN(d), MAX(big) FROM t",
        "SELECT id, n, s FROM t WHERE n > 20",
        "SELECT n, COUNT(*) FROM t GROUP BY n ORDER BY n",
        "SELECT id FROM t ORDER BY n DESC LIMIT 30",
    ];
    let errors = [
        "not-leader",
        "epoch-not-match",
        "region-not-found",
        "server-is-busy",
        "stale-command",
    ];
    for query in queries {
        for error in errors {
            cluster.control(&format!(
                "/region-error-next?rpc=Coprocessor&error={error}&count=2"
            ))?;
            both.same(query).map_err(|why| format!("{error}: {why}"))?;
        }
        for when in ["before", "after"] {
            cluster.control(&format!("/drop-next?rpc=Coprocessor&when={when}"))?;
            both.same(query).map_err(|why| format!("dropped {when}: {why}"))?;
        }
    }
    // Regions split and leaders move while requests are in flight.
    let table = table_id(&mut both.off)?;
    for (number, query) in queries.into_iter().enumerate() {
        for step in 0..4 {
            let id = 37 + REGION_ROWS * step + 61 * number as i64;
            cluster.control("/delay-next?rpc=Coprocessor&ms=30&count=8")?;
            thread::scope(|scope| {
                let changes = scope.spawn(move || -> Result<(), String> {
                    thread::sleep(Duration::from_millis(5));
                    cluster.split(&row_key(table, id))?;
                    cluster.move_leader(&row_key(table, id), 1 + (step as u64 + number as u64) % 3)
                });
                let same = both.same(query);
                changes.join().map_err(|_| "a thread panicked")??;
                same
            })?;
            cluster.control("/clear")?;
        }
    }
    // The rows' regions have leaders other than the server's cache says.
    cluster.control("/stop?store=2")?;
    let result = queries.iter().try_for_each(|query| both.same(query));
    cluster.control("/start?store=2")?;
    result
}

fn table_id(conn: &mut Conn) -> Result<i64, String> {
    let rows: Vec<Row> = conn.query("SHOW TABLE t REGIONS").map_err(text)?;
    let starts = rows.iter().filter_map(|row| row.get::<String, _>("START_KEY"));
    let id = starts
        .filter_map(|start| start.strip_prefix("t_")?.split('_').next()?.parse().ok())
        .next();
    id.ok_or_else(|| "no region starts within t".to_owned())
}

/// Rows that a commit has locked: the commit has succeeded and its client does not know that yet, or it has
/// not succeeded.
fn locked(cluster: &Cluster, server: &Server, both: &mut Both) -> Result<(), String> {
    let mut writer = server.address.connect_to(DATABASE).map_err(text)?;
    for round in 0..6 {
        let ids = format!("({}, {}, {})", 10 + round, 1_200 + round, 3_300 + round);
        cluster.control("/delay-next?rpc=Commit&ms=150&count=3")?;
        thread::scope(|scope| {
            let writer = &mut writer;
            let commit = scope.spawn(move || {
                writer
                    .query_drop(format!("UPDATE t SET n = n + 1, d = d + 1 WHERE id IN {ids}"))
                    .map_err(text)
            });
            thread::sleep(Duration::from_millis(20));
            let during = answer(&mut both.on, "SELECT COUNT(*) FROM t WHERE id > 0").map(drop);
            commit.join().map_err(|_| "a thread panicked")??;
            during
        })?;
        cluster.control("/clear")?;
        both.same("SELECT COUNT(*), SUM(n), SUM(d) FROM t")?;
        both.same("SELECT id, n FROM t WHERE n > 100")?;
    }
    Ok(())
}

/// As many requests are in flight as there are cores, both with pushdown and without.
fn at_once(cluster: &Cluster, both: &mut Both) -> Result<(), String> {
    let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
    for store in 1..=3 {
        cluster.control(&format!("/slow?store={store}&ms={SLOW_MS}"))?;
    }
    let most = |conn: &mut Conn, query: &str, call: &str| -> Result<u64, String> {
        cluster.control("/at-once?reset=1")?;
        answer(conn, query)?;
        let text = cluster.control("/at-once")?;
        let found = text.lines().find_map(|line| {
            let (name, count) = line.trim().trim_end_matches(',').split_once(':')?;
            (name.trim_matches('"') == call).then(|| count.trim().parse().ok())?
        });
        Ok(found.unwrap_or(0))
    };
    both.run("SET stemdb_route = 'analytical'")?;
    let wanted = cores.min(4);
    let pushed = most(&mut both.on, "SELECT SUM(n) FROM t", "Coprocessor")?;
    let read = most(&mut both.off, "SELECT SUM(n) FROM t", "Scan")?;
    both.run("SET stemdb_route = DEFAULT")?;
    cluster.control("/clear")?;
    match pushed >= wanted && read >= wanted {
        true => Ok(()),
        false => Err(format!(
            "{cores} cores, {pushed} requests computed and {read} read at the same time"
        )),
    }
}
