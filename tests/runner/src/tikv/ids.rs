//! Ids on two servers. Each leases ranges of ids. A client may insert an explicit id that the other server
//! has leased.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::cluster::Cluster;
use super::new_database;
use crate::report::Report;
use crate::server::Server;
use crate::{code, text};

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    let one = Server::start(cluster.program(), &[])?;
    let two = Server::start(cluster.program(), &[])?;
    new_database(&mut one.address.connect().map_err(text)?, "ids")?;
    let connect = |server: &Server| server.address.connect_to("ids").map_err(text);
    let (mut one, mut two) = (connect(&one)?, connect(&two)?);
    report.check(
        "ids: those that another server's client has taken are skipped",
        taken_ids(&mut one, &mut two),
    );
    report.check(
        "ids: AUTO_RANDOM takes all servers' ids into account",
        sequence(&mut one, &mut two),
    );
    Ok(())
}

fn taken_ids(one: &mut Conn, two: &mut Conn) -> Result<(), String> {
    run(
        one,
        "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, KEY (v))",
    )?;
    let leased = insert(two, "INSERT INTO t (v) VALUES (0)")?;
    let take = |conn: &mut Conn, offsets: &[u64]| {
        let rows: Vec<String> = offsets.iter().map(|n| format!("({}, -1)", leased + n)).collect();
        run(conn, &format!("INSERT INTO t VALUES {}", rows.join(", ")))
    };
    // The collision is detected by the commit, by a lock, and by statements that ignore or update duplicates.
    take(one, &[1, 2, 4])?;
    expect(insert(two, "INSERT INTO t (v) VALUES (1)")?, leased + 3)?;
    run(two, "BEGIN")?;
    take(one, &[6])?;
    expect(insert(two, "INSERT INTO t (v) VALUES (2)")?, leased + 5)?;
    expect(insert(two, "INSERT INTO t (v) VALUES (3)")?, leased + 7)?;
    run(two, "COMMIT")?;
    take(one, &[8, 10])?;
    expect(insert(two, "INSERT IGNORE INTO t (v) VALUES (4)")?, leased + 9)?;
    let upsert = "INSERT INTO t (v) VALUES (5) ON DUPLICATE KEY UPDATE v = 1000";
    expect(insert(two, upsert)?, leased + 11)?;
    let own = format!("INSERT INTO t VALUES ({}, 6)", leased + 1);
    match two.query_drop(own) {
        Err(error) if code(&error) == 1062 => {}
        other => return Err(format!("an id given twice by hand: {other:?}")),
    }
    let values: Vec<i64> = two.query("SELECT v FROM t ORDER BY id").map_err(text)?;
    expect(values, vec![0, -1, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5])?;
    run(two, "ADMIN CHECK TABLE t")
}

fn sequence(one: &mut Conn, two: &mut Conn) -> Result<(), String> {
    run(one, "CREATE TABLE s (id BIGINT AUTO_INCREMENT PRIMARY KEY)")?;
    insert(one, "INSERT INTO s VALUES ()")?;
    // Above 2^58, on the other server.
    run(two, "INSERT INTO s VALUES (300000000000000000)")?;
    let alter = |bits: u32| format!("ALTER TABLE s MODIFY COLUMN id BIGINT AUTO_RANDOM({bits})");
    match one.query_drop(alter(5)) {
        Err(error) if code(&error) == 8216 => {}
        other => return Err(format!("{}: {other:?}", alter(5))),
    }
    run(one, &alter(4))?;
    insert(one, "INSERT INTO s VALUES ()").map(drop)
}

/// The generated id.
fn insert(conn: &mut Conn, sql: &str) -> Result<u64, String> {
    run(conn, sql)?;
    match conn.last_insert_id() {
        0 => Err(format!("{sql}: no id")),
        id => Ok(id),
    }
}

fn expect<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{found:?}, expected {expected:?}")),
    }
}

fn run(conn: &mut Conn, sql: &str) -> Result<(), String> {
    conn.query_drop(sql).map_err(|error| format!("{sql}: {error}"))
}
