//! Regions as a client sees them: tables created as several regions, manual splits, and ids that spread
//! over regions.

use std::collections::HashSet;

use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use super::cluster::Cluster;
use super::new_database;
use crate::report::Report;
use crate::server::Server;
use crate::text;

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    let server = Server::start(cluster.program(), &[])?;
    let mut conn = server.address.connect().map_err(text)?;
    new_database(&mut conn, "regions")?;
    report.check("regions: a table is made as several", made(&mut conn));
    report.check("regions: SPLIT TABLE splits rows and indexes", split(&mut conn));
    report.check("regions: ids spread over what was split", spread(&mut conn));
    Ok(())
}

fn made(conn: &mut Conn) -> Result<(), String> {
    run(
        conn,
        "CREATE TABLE made (a INT, KEY (a)) SHARD_ROW_ID_BITS = 4 PRE_SPLIT_REGIONS = 2",
    )?;
    let starts = starts(conn, "SHOW TABLE made REGIONS")?;
    let ends = [
        "_",
        "_r",
        "_r_2305843009213693952",
        "_r_4611686018427387904",
        "_r_6917529027641081856",
    ];
    expect(&starts, |starts| {
        ends.iter()
            .all(|end| starts.iter().any(|start| without_id(start) == *end))
    })
}

fn split(conn: &mut Conn) -> Result<(), String> {
    run(
        conn,
        "CREATE TABLE split (a INT PRIMARY KEY, b VARCHAR(10), KEY b (b))",
    )?;
    run(conn, "INSERT INTO split VALUES (1, 'a'), (300, 'm'), (700, 'z')")?;
    let answer = split_answer(conn, "SPLIT TABLE split BETWEEN (0) AND (1000) REGIONS 4")?;
    // One more region begins where the rows begin, apart from the index.
    expect(&answer, |answer| *answer == (4, 1.0))?;
    let answer = split_answer(conn, "SPLIT TABLE split INDEX b BY ('g'), ('p')")?;
    expect(&answer, |answer| answer.0 >= 2 && answer.1 == 1.0)?;
    let again = split_answer(conn, "SPLIT TABLE split BY (250), (500)")?;
    expect(&again, |again| again.0 == 0)?;
    let rows = starts(conn, "SHOW TABLE split REGIONS")?;
    expect(&rows, |starts| {
        ["_r_250", "_r_500", "_r_750"]
            .iter()
            .all(|end| starts.iter().any(|start| without_id(start) == *end))
    })?;
    let index = starts(conn, "SHOW TABLE split INDEX b REGIONS")?;
    expect(&index, |starts| starts.len() >= 3)?;
    let found: Vec<i64> = conn
        .query("SELECT a FROM split WHERE b > 'b' ORDER BY b")
        .map_err(text)?;
    expect(&found, |found| *found == [300, 700])
}

fn spread(conn: &mut Conn) -> Result<(), String> {
    run(
        conn,
        "CREATE TABLE spread (a BIGINT PRIMARY KEY AUTO_RANDOM(3), b INT) PRE_SPLIT_REGIONS = 3",
    )?;
    for b in 0..100 {
        run(conn, &format!("INSERT INTO spread (b) VALUES ({b})"))?;
    }
    let shards: Vec<u64> = conn.query("SELECT DISTINCT a >> 60 FROM spread").map_err(text)?;
    let shards: HashSet<u64> = shards.into_iter().collect();
    expect(&shards, |shards| shards.len() > 4)?;
    let stores: Vec<Row> = conn.query("SHOW TABLE spread REGIONS").map_err(text)?;
    let stores: HashSet<u64> = stores
        .iter()
        .filter_map(|row| row.get("LEADER_STORE_ID"))
        .collect();
    expect(&stores, |stores| stores.len() > 1)?;
    run(conn, "ADMIN CHECK TABLE spread")
}

/// Removes the number of the table: `t_101_r_5` becomes `_r_5`.
fn without_id(key: &str) -> &str {
    key.strip_prefix("t_")
        .map_or("", |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn starts(conn: &mut Conn, statement: &str) -> Result<Vec<String>, String> {
    let rows: Vec<Row> = conn.query(statement).map_err(text)?;
    Ok(rows.iter().filter_map(|row| row.get("START_KEY")).collect())
}

fn split_answer(conn: &mut Conn, statement: &str) -> Result<(i64, f64), String> {
    let answer: Option<(i64, f64)> = conn.query_first(statement).map_err(text)?;
    answer.ok_or_else(|| format!("{statement}: no answer"))
}

fn expect<T: std::fmt::Debug>(found: &T, is_right: impl Fn(&T) -> bool) -> Result<(), String> {
    if is_right(found) {
        return Ok(());
    }
    Err(format!("{found:?}"))
}

fn run(conn: &mut Conn, statement: &str) -> Result<(), String> {
    conn.query_drop(statement)
        .map_err(|error| format!("{statement}: {error}"))
}
