//! How many requests to the cluster each kind of statement sends: the round trips stated in
//! `docs/scale-out.md`.
//!
//! A server also sends requests of its own from time to time. So a statement is repeated until one run has
//! exactly the expected count. The server's own requests can only add to it, so a statement that costs more
//! than expected never passes.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Params};

use super::cluster::{Cluster, FIRST_ID, row_key, table_key};
use crate::report::Report;
use crate::server::{CHECK_PROMISES, Server};
use crate::text;

const TRIES: u64 = 40;
/// The time in which the other keys of a two-phase commit are committed in the background.
const BACKGROUND: Duration = Duration::from_millis(200);

/// The ids that the first tables may have. Their rows up to 999 are in one region together with their
/// indexes, the next 1,000 in a second region, the rest in a third.
const IDS: std::ops::Range<i64> = FIRST_ID..FIRST_ID + 40;

/// One kind of statement.
struct Case {
    name: &'static str,
    sql: &'static str,
    params: fn(u64) -> Vec<u64>,
    calls: &'static [(&'static str, u64)],
}

const READS: [Case; 8] = [
    Case {
        name: "a point read: one call, no timestamp",
        sql: "SELECT c FROM t WHERE id = ?",
        params: |_| vec![5],
        calls: &[("Get", 1)],
    },
    Case {
        name: "a point read of a row that is not there",
        sql: "SELECT c FROM t WHERE id = ?",
        params: |_| vec![77_777],
        calls: &[("Get", 1)],
    },
    Case {
        name: "several rows of one region: one call, no timestamp",
        sql: "SELECT c FROM t WHERE id IN (?, ?, ?)",
        params: |_| vec![5, 6, 7],
        calls: &[("BatchGet", 1)],
    },
    Case {
        name: "several rows of several regions: one call each",
        sql: "SELECT c FROM t WHERE id IN (?, ?, ?, ?)",
        params: |_| vec![5, 6, 1_005, 2_005],
        calls: &[("BatchGet", 3), ("Timestamps", 1)],
    },
    Case {
        name: "a row by a unique key: its entry, then the row",
        sql: "SELECT c FROM t WHERE u = ?",
        params: |_| vec![5],
        calls: &[("Get", 2), ("Timestamps", 1)],
    },
    Case {
        name: "a short range",
        sql: "SELECT c FROM t WHERE id BETWEEN ? AND ?",
        params: |_| vec![3, 9],
        calls: &[("Scan", 1), ("Timestamps", 1)],
    },
    Case {
        name: "rows of several regions that the stores count",
        sql: "SELECT COUNT(*) FROM t WHERE id >= ? AND id <= ?",
        params: |_| vec![3, 2_009],
        calls: &[("Coprocessor", 3), ("Timestamps", 1)],
    },
    Case {
        name: "a covering range of an index",
        sql: "SELECT id FROM t WHERE k = ?",
        params: |_| vec![5],
        calls: &[("Scan", 1), ("Timestamps", 1)],
    },
];

const WRITES: [Case; 7] = [
    Case {
        name: "UPDATE of a row: a timestamp, a lock with the value, a commit in one phase",
        sql: "UPDATE t SET c = ? WHERE id = 5",
        params: |n| vec![1_000_000 + n],
        calls: &[("PessimisticLock", 1), ("Prewrite", 1), ("Timestamps", 1)],
    },
    Case {
        name: "UPDATE of an indexed column costs no more: its entries are guarded by the row's lock",
        sql: "UPDATE t SET k = ? WHERE id = 6",
        params: |n| vec![1_000_000 + n],
        calls: &[("PessimisticLock", 1), ("Prewrite", 1), ("Timestamps", 1)],
    },
    Case {
        name: "UPDATE of a unique column locks its entries too",
        sql: "UPDATE t SET u = ? WHERE id = 6",
        params: |n| vec![1_000_000 + n],
        calls: &[("PessimisticLock", 2), ("Prewrite", 1), ("Timestamps", 1)],
    },
    Case {
        name: "INSERT of a row: a timestamp and a commit in one phase",
        sql: "INSERT INTO plain VALUES (?, 1)",
        params: |n| vec![100 + n],
        calls: &[("Prewrite", 1), ("Timestamps", 1)],
    },
    Case {
        name: "INSERT with unique and other indexes costs no more within a region",
        sql: "INSERT INTO t VALUES (?, ?, 1, 1)",
        params: |n| vec![100 + n, 100 + n],
        calls: &[("Prewrite", 1), ("Timestamps", 1)],
    },
    Case {
        name: "INSERT over two regions: both prewritten at once, one commit that decides, the rest in the background",
        sql: "INSERT INTO t VALUES (?, ?, 1, 1)",
        params: |n| vec![1_100 + n, 1_100 + n],
        calls: &[("Prewrite", 2), ("Commit", 3), ("Timestamps", 2)],
    },
    Case {
        name: "DELETE of a row",
        sql: "DELETE FROM plain WHERE id = ?",
        params: |n| vec![500 + n],
        calls: &[("PessimisticLock", 1), ("Prewrite", 1), ("Timestamps", 1)],
    },
];

/// COMMIT after each of these lists of statements.
const COMMITS: [(&[&str], Case); 3] = [
    (
        &["BEGIN", "UPDATE t SET k = k + 1, c = c + 1 WHERE id = 7"],
        Case {
            name: "COMMIT within a region: a timestamp and one request",
            sql: "COMMIT",
            params: |_| Vec::new(),
            calls: &[("Prewrite", 1), ("Timestamps", 1)],
        },
    ),
    (
        &["BEGIN", "UPDATE t SET k = k + 1 WHERE id IN (8, 1008)"],
        Case {
            name: "COMMIT over two regions: both prewritten at once, one commit that decides",
            sql: "COMMIT",
            params: |_| Vec::new(),
            calls: &[("Prewrite", 2), ("Commit", 3), ("Timestamps", 2)],
        },
    ),
    (
        &[
            "BEGIN",
            "SELECT c FROM t WHERE id = 9 FOR SHARE",
            "UPDATE t SET k = k + 1 WHERE id = 4",
        ],
        Case {
            name: "COMMIT with a row that is locked FOR SHARE: it is looked at once more, and released",
            sql: "COMMIT",
            params: |_| Vec::new(),
            calls: &[
                ("Prewrite", 1),
                ("PessimisticLock", 1),
                ("Commit", 2),
                ("PessimisticRollback", 1),
                ("Timestamps", 2),
            ],
        },
    ),
];

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    for table in IDS {
        cluster.split(&table_key(table, b""))?;
        cluster.split(&row_key(table, 1_000))?;
        cluster.split(&row_key(table, 2_000))?;
    }
    let mut server = Server::prepare(cluster.program(), &[])?;
    // Checking promises sends requests.
    server.set_environment(CHECK_PROMISES, "0");
    server.run()?;
    let mut conn = set_up(&server)?;
    for case in READS.iter().chain(&WRITES) {
        report.check(
            &format!("cost: {}", case.name),
            one(cluster, &mut conn, &[], case),
        );
    }
    for (before, case) in &COMMITS {
        report.check(
            &format!("cost: {}", case.name),
            one(cluster, &mut conn, before, case),
        );
    }
    Ok(())
}

fn set_up(server: &Server) -> Result<Conn, String> {
    let mut conn = server.address.connect().map_err(text)?;
    for statement in [
        "CREATE DATABASE cost",
        "USE cost",
        "CREATE TABLE plain (id BIGINT PRIMARY KEY, c BIGINT NOT NULL)",
        "CREATE TABLE t (id BIGINT PRIMARY KEY, u BIGINT NOT NULL, k BIGINT NOT NULL, c BIGINT NOT NULL, \
         UNIQUE KEY u (u), KEY k (k))",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    let row = |id: u64| format!("({id}, {id}, {id}, {id})");
    let near: Vec<String> = (1..10).chain(1_001..1_010).chain(2_001..2_010).map(row).collect();
    conn.query_drop(format!("INSERT INTO t VALUES {}", near.join(", ")))
        .map_err(text)?;
    let plain: Vec<String> = (500..500 + TRIES + 1).map(|id| format!("({id}, 1)")).collect();
    conn.query_drop(format!("INSERT INTO plain VALUES {}", plain.join(", ")))
        .map_err(text)?;
    Ok(conn)
}

/// `before`: statements that are not counted.
fn one(cluster: &Cluster, conn: &mut Conn, before: &[&str], case: &Case) -> Result<(), String> {
    let statement = conn.prep(case.sql).map_err(text)?;
    let expected = expectation(case);
    let mut seen = String::new();
    for n in 0..TRIES {
        let params = Params::from((case.params)(n));
        for statement in before {
            conn.query_drop(statement).map_err(text)?;
        }
        cluster.control("/counters?reset=1")?;
        conn.exec_drop(&statement, params).map_err(text)?;
        let mut calls = calls(cluster)?;
        let start = Instant::now();
        while calls != expected && expected.contains_key("Commit") && start.elapsed() < BACKGROUND {
            thread::sleep(Duration::from_millis(5));
            calls = self::calls(cluster)?;
        }
        // The first run fills caches: plans, regions, connections.
        if calls == expected && n > 0 {
            return Ok(());
        }
        seen = format!("{calls:?}");
        thread::sleep(Duration::from_millis(3 * (n % 5)));
    }
    Err(format!("{seen}, expected {expected:?}"))
}

fn expectation(case: &Case) -> BTreeMap<String, u64> {
    let calls = case.calls.iter();
    calls.map(|(call, count)| ((*call).to_owned(), *count)).collect()
}

/// The requests, without counting the streams and messages that carry them.
fn calls(cluster: &Cluster) -> Result<BTreeMap<String, u64>, String> {
    let counters = cluster.stand_in()?.counters()?.into_iter();
    Ok(counters
        .filter(|(call, count)| !matches!(call.as_str(), "BatchCommands" | "Tso") && *count > 0)
        .collect())
}
