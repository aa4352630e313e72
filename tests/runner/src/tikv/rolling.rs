//! Two servers behind HAProxy are stopped and started one after the other, under load. No acknowledged
//! transaction is lost. The only errors that clients get come before their transactions have begun, and tell
//! them to connect again.

mod proxy;

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, TxOpts};

use self::proxy::{Proxy, State};
use super::cluster::Cluster;
use super::new_database;
use crate::report::Report;
use crate::server::{Address, Server};
use crate::text;

const CLIENTS: u64 = 6;
/// Transactions of each client before and after every step.
const PROGRESS: u64 = 5;
/// For each step, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than HAProxy needs to see the 503.
const DELAY_SECONDS: u64 = 1;

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    if !Proxy::can_run() {
        report.skip("a rolling restart behind HAProxy", "haproxy is not installed");
        return Ok(());
    }
    let first = start(cluster)?;
    set_up(&first)?;
    let mut servers = [first, start(cluster)?];
    let proxy = Proxy::start(&servers)?;
    report.check(
        "a rolling restart loses nothing",
        restart_all(&mut servers, &proxy),
    );
    Ok(())
}

fn start(cluster: &Cluster) -> Result<Server, String> {
    let mut server = Server::prepare(cluster.program(), &[])?;
    let file = server.path("node.toml");
    fs::write(&file, format!("[shutdown]\ndelay_seconds = {DELAY_SECONDS}\n")).map_err(|e| e.to_string())?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    server.run()?;
    Ok(server)
}

fn set_up(server: &Server) -> Result<(), String> {
    let mut conn = server.address.connect().map_err(text)?;
    new_database(&mut conn, "rolling")?;
    for statement in [
        "CREATE TABLE rolling.marks (client INT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (client, n))",
        "CREATE TABLE rolling.counters (client INT PRIMARY KEY, v BIGINT NOT NULL)",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    (0..CLIENTS).try_for_each(|client| {
        conn.exec_drop("INSERT INTO rolling.counters VALUES (?, 0)", (client,))
            .map_err(text)
    })
}

/// What one client has observed.
#[derive(Default)]
struct Seen {
    acknowledged: AtomicU64,
    /// Connections that were lost between transactions, or refused.
    begun_again: AtomicU64,
    /// COMMITs without a reply.
    unknown: AtomicU64,
}

fn restart_all(servers: &mut [Server; 2], proxy: &Proxy) -> Result<(), String> {
    let stop = AtomicBool::new(false);
    let seen: [Seen; CLIENTS as usize] = Default::default();
    thread::scope(|scope| {
        let clients: Vec<_> = seen
            .iter()
            .zip(0..)
            .map(|(seen, number)| {
                let (stop, address) = (&stop, &proxy.address);
                scope.spawn(move || work(address, number, seen, stop))
            })
            .collect();
        let restarted = restart_in_turn(servers, proxy, &seen);
        stop.store(true, Ordering::SeqCst);
        let ended = clients
            .into_iter()
            .try_for_each(|client| client.join().map_err(|_| "a client panicked".to_owned())?);
        restarted.and(ended)
    })?;
    verify(&proxy.address, &seen)
}

fn restart_in_turn(servers: &mut [Server; 2], proxy: &Proxy, seen: &[Seen]) -> Result<(), String> {
    progress(seen)?;
    for (index, server) in servers.iter_mut().enumerate() {
        server.terminate()?;
        let status = server.wait(PATIENCE)?;
        if !status.success() {
            return Err(format!("server {index}: {status}:\n{}", server.log_tail()));
        }
        progress(seen)?;
        server.run()?;
        proxy.wait_for(index, State::Up, PATIENCE)?;
        progress(seen)?;
    }
    let moved: u64 = seen.iter().map(|s| s.begun_again.load(Ordering::SeqCst)).sum();
    match moved {
        // Each client was connected to one of the two servers, and had to leave it.
        0 => Err("no client had to begin again: the restart met nobody".to_owned()),
        _ => Ok(()),
    }
}

/// Every client makes progress.
fn progress(seen: &[Seen]) -> Result<(), String> {
    let goals: Vec<u64> = seen
        .iter()
        .map(|s| s.acknowledged.load(Ordering::SeqCst) + PROGRESS)
        .collect();
    let start = Instant::now();
    while seen
        .iter()
        .zip(&goals)
        .any(|(s, goal)| s.acknowledged.load(Ordering::SeqCst) < *goal)
    {
        if start.elapsed() > PATIENCE {
            return Err(format!("clients stand still for {PATIENCE:?}"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// How one transaction ended.
enum End {
    Acknowledged,
    /// It had not begun, or was refused as a whole.
    BeginAgain,
    /// The connection broke after COMMIT was sent.
    Unknown,
}

/// Runs transactions until stopped: number n inserts mark n, and increments a counter, which must be n
/// then.
fn work(address: &Address, client: u64, seen: &Seen, stop: &AtomicBool) -> Result<(), String> {
    let mut conn = None;
    let mut n = 1;
    while !stop.load(Ordering::SeqCst) {
        let open = match conn.take() {
            Some(open) => Ok(open),
            None => address.connect_to("rolling"),
        };
        let mut open = match open {
            Ok(open) => open,
            Err(error) => {
                refused(&error)?;
                seen.begun_again.fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        match transaction(&mut open, client, n)? {
            End::Acknowledged => {
                seen.acknowledged.fetch_add(1, Ordering::SeqCst);
                n += 1;
                conn = Some(open);
            }
            End::BeginAgain => {
                seen.begun_again.fetch_add(1, Ordering::SeqCst);
            }
            End::Unknown => {
                seen.unknown.fetch_add(1, Ordering::SeqCst);
                // The client finds the outcome by its own mark.
                let mut look = connect_patiently(address)?;
                let there: Option<u64> = look
                    .exec_first("SELECT n FROM marks WHERE client = ? AND n = ?", (client, n))
                    .map_err(text)?;
                if there.is_some() {
                    seen.acknowledged.fetch_add(1, Ordering::SeqCst);
                    n += 1;
                }
            }
        }
    }
    Ok(())
}

fn transaction(conn: &mut Conn, client: u64, n: u64) -> Result<End, String> {
    let mut transaction = match conn.start_transaction(TxOpts::default()) {
        Ok(transaction) => transaction,
        Err(error) => return refused(&error).map(|()| End::BeginAgain),
    };
    // From here on the server lets the transaction finish.
    let inside = |error: mysql::Error| format!("within a transaction: {error}");
    transaction
        .exec_drop("INSERT INTO marks VALUES (?, ?)", (client, n))
        .map_err(inside)?;
    transaction
        .exec_drop("UPDATE counters SET v = v + 1 WHERE client = ?", (client,))
        .map_err(inside)?;
    match transaction.commit() {
        Ok(()) => Ok(End::Acknowledged),
        Err(mysql::Error::MySqlError(error)) => Err(inside(mysql::Error::MySqlError(error))),
        Err(_) => Ok(End::Unknown),
    }
}

/// The errors allowed before a transaction begins: the server shuts down, or the connection is gone.
fn refused(error: &mysql::Error) -> Result<(), String> {
    match error {
        mysql::Error::MySqlError(e) if e.code != 1053 => Err(format!("at the beginning: {error}")),
        _ => Ok(()),
    }
}

fn connect_patiently(address: &Address) -> Result<Conn, String> {
    let start = Instant::now();
    loop {
        match address.connect_to("rolling") {
            Ok(conn) => return Ok(conn),
            Err(_) if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(text(error)),
        }
    }
}

fn verify(address: &Address, seen: &[Seen]) -> Result<(), String> {
    let mut conn = connect_patiently(address)?;
    let rows = by_client(&mut conn).map_err(text)?;
    if rows.len() != seen.len() {
        return Err(format!(
            "{} clients of {} have left marks",
            rows.len(),
            seen.len()
        ));
    }
    for (client, counter, marks, last) in rows {
        let acknowledged = seen[client as usize].acknowledged.load(Ordering::SeqCst);
        if counter != marks || marks != last || marks != acknowledged {
            return Err(format!(
                "client {client} has {acknowledged} acknowledged transactions; its counter is {counter}, and it has {marks} marks up to {last}"
            ));
        }
    }
    Ok(())
}

/// Each client's number and counter, how many marks it has left, and the last one.
fn by_client(conn: &mut Conn) -> mysql::Result<Vec<(u64, u64, u64, u64)>> {
    let counters: Vec<(u64, u64)> = conn.query("SELECT client, v FROM counters ORDER BY client")?;
    counters
        .into_iter()
        .map(|(client, v)| {
            let marks: Option<(u64, u64)> = conn.exec_first(
                "SELECT COUNT(*), COALESCE(MAX(n), 0) FROM marks WHERE client = ?",
                (client,),
            )?;
            let (count, last) = marks.unwrap_or((0, 0));
            Ok((client, v, count, last))
        })
        .collect()
}
