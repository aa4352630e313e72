//! KILL QUERY ends statements of each kind, wherever they run, and their changes are undone. Without KILL,
//! each would run for minutes. The time until the end is printed; the test fails only if a statement hangs, or if a thread
//! of the server computes on after it ([`stillness`]). So do KILL CONNECTION, time limits, and clients that go away.

mod stillness;
mod ways;

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{code, connect, text};
use crate::report::Report;
use crate::server::Address;

/// Rows of the table `kills`.
const ROWS: u64 = 20_000;
/// How long a statement runs before it is killed, and the longest time until it ends.
const BEFORE: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(20);
/// A busy machine begins a statement within this time.
const BEGINS_WITHIN: Duration = Duration::from_secs(120);

/// Each with a name.
const STATEMENTS: [(&str, &str); 13] = [
    (
        "filter of a join's rows",
        "SELECT COUNT(*) FROM kills a, kills b, kills c WHERE (a.v + b.v * c.v) % 1000003 = 7",
    ),
    (
        "join by a key",
        "SELECT COUNT(*) FROM kills a JOIN kills b ON a.g = b.g JOIN kills c ON b.g = c.g WHERE a.s < c.s",
    ),
    (
        "outer join",
        "SELECT COUNT(c.id) FROM kills a LEFT JOIN kills b ON a.v < b.v LEFT JOIN kills c ON b.v > c.v AND c.s <> a.s",
    ),
    (
        "sort",
        "SELECT a.id FROM kills a JOIN kills b ON a.g = b.g JOIN kills c ON c.g = a.g ORDER BY a.s, b.v DESC, c.id LIMIT 5",
    ),
    (
        "groups",
        "SELECT a.v % 1000, COUNT(*), SUM(b.v), MAX(c.s) FROM kills a JOIN kills b ON a.g = b.g JOIN kills c ON c.g = b.g \
         GROUP BY a.v % 1000",
    ),
    (
        "DISTINCT",
        "SELECT COUNT(*) FROM (SELECT DISTINCT a.g, b.v % 100, c.v % 3 FROM kills a JOIN kills b ON a.g = b.g \
         JOIN kills c ON c.g = b.g) d",
    ),
    (
        "window",
        "SELECT COUNT(m) FROM (SELECT MAX(a.s) OVER (ORDER BY a.v ROWS BETWEEN 9000 PRECEDING AND 9000 FOLLOWING) m, \
         MIN(CONCAT(a.s, a.id)) OVER (PARTITION BY a.g ORDER BY a.v DESC ROWS BETWEEN 4000 PRECEDING AND 4000 FOLLOWING) n \
         FROM kills a JOIN small b) w",
    ),
    (
        "recursive CTE",
        "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n % 100 + 1 FROM c) SELECT MAX(n) FROM c",
    ),
    (
        "correlated subquery",
        "SELECT COUNT(*) FROM kills a WHERE (SELECT COUNT(*) FROM kills b WHERE b.v % 999 > a.v % 1000 AND b.s <> a.s) = 4",
    ),
    (
        "UNION",
        "SELECT COUNT(*) FROM (SELECT a.v % 10 x FROM kills a, kills b, kills c UNION SELECT v FROM kills) u",
    ),
    (
        "INSERT ... SELECT",
        "INSERT INTO target SELECT a.id, b.v FROM kills a, kills b, kills c WHERE (a.v + b.v + c.v) % 1000003 = 7",
    ),
    (
        "UPDATE of a join",
        "UPDATE kills a JOIN kills b ON a.g = b.g JOIN kills c ON c.g = b.g SET a.v = 1 WHERE a.s > c.s",
    ),
    (
        "DELETE with a subquery",
        "DELETE FROM kills WHERE v % 7 = 3 AND (SELECT COUNT(*) FROM small b, small c, small d, small e, small f, small h \
         WHERE b.id + c.id + d.id + e.id + f.id + h.id > kills.v) > 0",
    ),
];

/// Rows, and single calls, that take long. A batch of such rows alone would take longer than [`PATIENCE`].
const EXPENSIVE: [(&str, &str); 24] = [
    (
        "filter by long texts",
        "SELECT COUNT(*) FROM kills WHERE SHA2(REPEAT(s, 1000000), 512) = 'x'",
    ),
    (
        "hashes of long texts",
        "SELECT SHA2(REPEAT(s, 1000000), 512) FROM kills",
    ),
    (
        "filter by the length of long texts",
        "SELECT COUNT(*) FROM kills WHERE LENGTH(REPEAT(s, 1000000)) = 5",
    ),
    (
        "filter by LIKE",
        "SELECT COUNT(*) FROM kills WHERE REPEAT(s, 1000000) LIKE CONCAT('%', s, 'x%y')",
    ),
    (
        "filter by a regular expression",
        "SELECT COUNT(*) FROM kills WHERE REPEAT(s, 1000000) RLIKE 'x[0-9]+y'",
    ),
    (
        "JSON documents",
        "SELECT SUM(JSON_LENGTH(CONCAT('[', REPEAT(CONCAT('\"', s, '\",'), 100000), '1]'))) FROM kills",
    ),
    (
        "checksums of texts",
        "SELECT CRC32(REPEAT(s, 1000000)) FROM kills",
    ),
    (
        "texts in upper case, of one text for all rows",
        "SELECT SUM(CRC32(UPPER(CONCAT(s, long_text)))) FROM kills JOIN (SELECT REPEAT('a', 1000000) long_text) l",
    ),
    (
        "window over long texts",
        "SELECT SUM(CRC32(SHA2(REPEAT(s, 1000000), 512))) OVER (ORDER BY id) FROM kills LIMIT 1",
    ),
    (
        "sums of long texts",
        "SELECT SUM(LENGTH(REPLACE(REPEAT(s, 1000000), 'a', 'bb'))) FROM kills",
    ),
    (
        "groups by long texts",
        "SELECT SHA2(REPEAT(s, 1000000), 512) h, COUNT(*) FROM kills GROUP BY h",
    ),
    (
        "order by long texts",
        "SELECT id FROM kills ORDER BY SHA2(REPEAT(s, 1000000), 512) LIMIT 1",
    ),
    (
        "join by long texts",
        "SELECT COUNT(*) FROM kills a JOIN small b ON a.s = SHA2(REPEAT(CONCAT(a.s, b.id), 1000000), 512)",
    ),
    (
        "virtual column of long texts",
        "SELECT SUM(long_hash) FROM virtual_kills",
    ),
    (
        "search in one text",
        "SELECT LOCATE(CONCAT(REPEAT('a', 1000000), 'b'), REPEAT('a', 8000000))",
    ),
    (
        "search in one text for a filter",
        "SELECT COUNT(*) FROM kills WHERE v = LOCATE(CONCAT(REPEAT('a', 1000000), 'b'), REPEAT('a', 8000000))",
    ),
    (
        "LIKE of one text",
        "SELECT REPEAT('ab', 4000000) LIKE CONCAT('%', REPEAT('ab', 500000), 'bb%c%')",
    ),
    (
        "REGEXP_REPLACE of one text",
        "SELECT LENGTH(REGEXP_REPLACE(REPEAT('A', 2000000), '.*[^A-Z]|[A-Z]', 'x', 1, 0, 'c'))",
    ),
    (
        "JSON_OVERLAPS of two arrays",
        "SELECT JSON_OVERLAPS(CONCAT('[', REPEAT('1,', 500000), '1]'), CONCAT('[', REPEAT('2,', 500000), '2]'))",
    ),
    (
        "BENCHMARK",
        "SELECT BENCHMARK(1000000000, SHA2(REPEAT('a', 1000000), 512))",
    ),
    (
        "INSERT of long texts",
        "INSERT INTO target SELECT id, CRC32(SHA2(REPEAT(s, 1000000), 512)) % 1000 FROM kills",
    ),
    (
        "UPDATE of long texts",
        "UPDATE kills SET v = CRC32(SHA2(REPEAT(s, 1000000), 512)) % 1000",
    ),
    (
        "DELETE by long texts",
        "DELETE FROM kills WHERE SHA2(REPEAT(s, 1000000), 512) = 'x'",
    ),
    (
        "ALTER with long texts",
        "ALTER TABLE kills ADD COLUMN long_hash BIGINT AS (CRC32(SHA2(REPEAT(s, 1000000), 512))) STORED",
    ),
];

pub fn check(address: &Address, report: &mut Report) {
    let name = "concurrency: KILL QUERY ends";
    if let Err(why) = fill(address) {
        return report.fail(name, &why);
    }
    let routes: &[&str] = match has_routes(address) {
        true => &["transactional", "analytical"],
        false => &[""],
    };
    // MySQL looks within no call.
    let expensive = if address.stemdb { &EXPENSIVE[..] } else { &[] };
    for route in routes {
        for (kind, statement) in STATEMENTS.iter().chain(expensive) {
            let name = format!("{name} {kind} {route}");
            match killed(address, route, statement) {
                Ok(took) => {
                    report.note(&format!("{kind} {route}: {} ms", took.as_millis()));
                    report.pass(&name);
                }
                Err(why) => report.fail(&name, &why),
            }
        }
        let name = format!("concurrency: no thread computes on after KILL QUERY {route}");
        report.check(&name, stillness::wait(address));
    }
    if address.stemdb {
        ways::check(address, routes, report);
    }
}

fn has_routes(address: &Address) -> bool {
    let found = connect(address).and_then(|mut conn| {
        let row: Option<(String, String)> = conn
            .query_first("SHOW VARIABLES LIKE 'stemdb_route'")
            .map_err(text)?;
        Ok(row.is_some())
    });
    found.unwrap_or(false)
}

fn fill(address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    for statement in [
        "CREATE TABLE kills (id INT PRIMARY KEY, g INT, v INT, s VARCHAR(40))".to_owned(),
        "CREATE TABLE small (id INT PRIMARY KEY)".to_owned(),
        "CREATE TABLE target (id INT, v INT)".to_owned(),
        // Statistics of the column would be computed in the background, which no KILL ends.
        "CREATE TABLE virtual_kills (id INT PRIMARY KEY, s VARCHAR(40)) STATS_AUTO_RECALC = 0".to_owned(),
        format!("SET cte_max_recursion_depth = {ROWS}"),
        format!(
            "INSERT INTO kills WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {ROWS}) \
             SELECT n, n % 4, n * 7919 % 100003, MD5(n) FROM c"
        ),
        "INSERT INTO virtual_kills SELECT id, s FROM kills".to_owned(),
        // Afterwards, because an INSERT computes virtual columns, too.
        "ALTER TABLE virtual_kills ADD COLUMN long_hash BIGINT AS (CRC32(SHA2(REPEAT(s, 1000000), 512))) VIRTUAL"
            .to_owned(),
        "INSERT INTO small SELECT id FROM kills WHERE id <= 60".to_owned(),
    ] {
        conn.query_drop(&statement)
            .map_err(|error| format!("{statement}: {error}"))?;
    }
    Ok(())
}

/// `""`: as the server decides.
fn set_route(conn: &mut Conn, route: &str) -> Result<(), String> {
    match route {
        "" => Ok(()),
        route => conn
            .query_drop(format!("SET stemdb_route = '{route}'"))
            .map_err(text),
    }
}

/// The time from the KILL to the end of a statement.
fn killed(address: &Address, route: &str, statement: &str) -> Result<Duration, String> {
    let (mut conn, mut killer) = (connect(address)?, connect(address)?);
    conn.query_drop("SET cte_max_recursion_depth = 4294967295")
        .map_err(text)?;
    set_route(&mut conn, route)?;
    let before = sums(&mut killer)?;
    let (id, mut watcher, mut runs) = (conn.connection_id(), connect(address)?, Ok(()));
    let (result, took) = kill(
        conn,
        statement,
        || runs = wait_until_it_runs(&mut watcher, id),
        &mut killer,
    )?;
    runs?;
    match result {
        Err(error) if code(&error) == 1317 => {}
        other => return Err(format!("{statement}: {other:?}")),
    }
    match sums(&mut killer)? {
        after if after == before => Ok(took),
        after => Err(format!("{statement}: {before:?} before, {after:?} after it")),
    }
}

/// Waits until a connection has run a statement for some time. A KILL that comes before it is forgotten.
fn wait_until_it_runs(watcher: &mut Conn, id: u32) -> Result<(), String> {
    let runs = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND command IN ('Query', 'Execute')"
    );
    let start = Instant::now();
    while watcher.query_first::<u64, _>(&runs).map_err(text)? != Some(1) {
        if start.elapsed() > BEGINS_WITHIN {
            return Err("the statement does not begin".to_owned());
        }
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(BEFORE);
    Ok(())
}

/// Runs a statement, kills it after `wait`, and returns its result and the time from the KILL to the end.
pub fn kill(
    mut conn: Conn,
    statement: &str,
    wait: impl FnOnce(),
    killer: &mut Conn,
) -> Result<(mysql::Result<()>, Duration), String> {
    let (id, running) = (conn.connection_id(), statement.to_owned());
    let (ended, ends) = mpsc::channel();
    // If it does not end, the thread is left running.
    thread::spawn(move || {
        let result = conn.query_drop(running);
        // After a failure nothing receives this.
        let _ = ended.send((result, Instant::now()));
    });
    wait();
    let since = Instant::now();
    killer.query_drop(format!("KILL QUERY {id}")).map_err(text)?;
    let (result, at) = ends
        .recv_timeout(PATIENCE)
        .map_err(|_| format!("{statement}: it goes on after KILL QUERY"))?;
    Ok((result, at.saturating_duration_since(since)))
}

type Sums = (u64, Option<i64>, u64);

fn sums(conn: &mut Conn) -> Result<Sums, String> {
    let sums = conn.query_first(
        "SELECT (SELECT COUNT(*) FROM kills), (SELECT CAST(SUM(v) AS SIGNED) FROM kills), (SELECT COUNT(*) FROM target)",
    );
    sums.map_err(text)?.ok_or_else(|| "no sums".to_owned())
}
