//! Stores that refuse to compute: the rows must come anyway. And queries that are killed while stores
//! compute.

use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use super::{Both, Cluster, DATABASE, PUSHED, answer};
use crate::concurrency::kills;
use crate::report::Report;
use crate::server::Server;
use crate::{code, text};

/// What the stores refuse: a request, or an expression.
const REFUSALS: [&str; 2] = ["other", "evaluate"];

/// How long requests are delayed while queries are killed: far longer than the test waits.
const DELAY_MS: u64 = 60_000;
/// How long a request may take to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// All requests are refused, then only that to one of several regions; and connections break for every
/// attempt.
pub fn check(cluster: &Cluster, both: &mut Both) -> Result<(), String> {
    for route in ["transactional", "analytical"] {
        both.run(&format!("SET stemdb_route = '{route}'"))?;
        both.in_order = route == "transactional";
        for query in PUSHED {
            // If several threads read, it is not determined which of equal rows come first.
            if route == "analytical" && query.contains("LIMIT") && !query.contains(", id LIMIT") {
                continue;
            }
            for how in REFUSALS {
                for count in [1_000, 1] {
                    let before = not_computed(&mut both.on)?;
                    cluster.control(&format!("/refuse-next?how={how}&count={count}"))?;
                    let same = both.same(query);
                    cluster.control("/clear")?;
                    same.map_err(|why| format!("{route}, {count} times {how}: {why}"))?;
                    // The refused request may be to a region for which a LIMIT does not wait.
                    if count > 1 && not_computed(&mut both.on)? == before {
                        return Err(format!("{route}, {how}: {query}: nothing was refused"));
                    }
                }
            }
        }
    }
    both.in_order = false;
    both.run("SET stemdb_route = DEFAULT")?;
    let paged = "SELECT id, n, s FROM t WHERE n > 20";
    for count in [1_000, 1] {
        let before = not_computed(&mut both.on)?;
        cluster.control(&format!("/refuse-next?how=stuck&count={count}"))?;
        let same = both.same(paged);
        cluster.control("/clear")?;
        same.map_err(|why| format!("{count} pages without progress: {why}"))?;
        if not_computed(&mut both.on)? == before {
            return Err(format!("{paged}: each page made progress"));
        }
    }
    let query = "SELECT n, COUNT(*), SUM(d) FROM t WHERE n <> 3 GROUP BY n ORDER BY n";
    for when in ["before", "after"] {
        cluster.control(&format!("/drop-next?rpc=Coprocessor&when={when}&count=60"))?;
        let same = both.same(query);
        cluster.control("/clear")?;
        same.map_err(|why| format!("dropped {when}: {why}"))?;
    }
    Ok(())
}

fn not_computed(conn: &mut Conn) -> Result<u64, String> {
    let row: Option<Row> = conn
        .query_first("SHOW GLOBAL STATUS LIKE 'Stemdb_requests_not_computed_total'")
        .map_err(text)?;
    let value = row.and_then(|row| row.get::<String, _>("Value"));
    let value = value.ok_or("no such counter")?;
    value.parse().map_err(|error| format!("{value}: {error}"))
}

/// A query that waits for the stores ends, on both routes.
pub fn killed(cluster: &Cluster, server: &Server, report: &Report) -> Result<(), String> {
    let mut killer = server.address.connect().map_err(text)?;
    for route in ["transactional", "analytical"] {
        for query in [
            "SELECT COUNT(*), SUM(n) FROM t",
            "SELECT id, s FROM t WHERE n > 50 AND s LIKE '%7'",
            "SELECT n, COUNT(*) FROM t GROUP BY n",
        ] {
            let mut conn = server.address.connect_to(DATABASE).map_err(text)?;
            conn.query_drop(format!("SET stemdb_route = '{route}'"))
                .map_err(text)?;
            answer(&mut conn, query)?;
            cluster.control("/counters?reset=1")?;
            cluster.control(&format!("/delay-next?rpc=Coprocessor&ms={DELAY_MS}&count=100"))?;
            let mut asked = Ok(());
            let ended = kills::kill(conn, query, || asked = wait_for_requests(cluster), &mut killer);
            cluster.control("/clear")?;
            asked?;
            let (result, took) = ended?;
            match result {
                Err(error) if code(&error) == 1317 => {}
                other => return Err(format!("{route}: {query}: {other:?}")),
            }
            report.note(&format!("{route}: KILL QUERY ended {query} after {took:?}"));
        }
    }
    Ok(())
}

/// Waits until a store has got a request to compute.
fn wait_for_requests(cluster: &Cluster) -> Result<(), String> {
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        if cluster.stand_in()?.count("Coprocessor")? > 0 {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err("no request".into())
}
