//! One memory budget for the process: many large sorts at once, large packets, and point selects meanwhile,
//! within a memory limit. Only for StemDB.

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::raw::{Answer, Raw};
use crate::report::Report;
use crate::server::{Program, Server};
use crate::{code, text};

/// The sizes of a run.
#[derive(Debug, Clone)]
pub struct Scale {
    /// The memory limit of the server, in bytes.
    pub limit: u64,
    /// The sizes of its caches, if the limit is too small for the default sizes.
    storage: &'static str,
    /// Rows of about 1 kB each, which every client sorts.
    pub rows: u64,
    /// Rows of a sort that holds all of them in memory.
    pub rows_in_memory: u64,
    /// Clients that sort at the same time.
    pub clients: u64,
}

impl Scale {
    /// All sorts together need twice the server's limit.
    pub fn small() -> Self {
        Self {
            limit: 400 << 20,
            storage: "[storage]\nblock_cache_bytes = 8388608\nrow_cache_bytes = 8388608\nhistory_bytes = 8388608\n\
                      write_buffer_bytes = 8388608\n",
            rows: 40_000,
            rows_in_memory: 14_000,
            clients: 20,
        }
    }

    /// For a machine with that much memory, with the default caches: the sorts need three times the limit.
    pub fn full() -> Self {
        Self {
            limit: 2 << 30,
            storage: "",
            rows: 300_000,
            rows_in_memory: 60_000,
            clients: 20,
        }
    }
}

const BATCH: u64 = 1_000;

/// How much more the kernel may count than the server does, as a fraction of the limit: for example pages
/// that were just freed.
const ALLOWANCE: f64 = 1.0 / 16.0;

pub fn check(program: &Program, scale: &Scale, report: &mut Report) {
    let server = match start(program.clone(), scale) {
        Ok(server) => server,
        Err(e) => return report.fail("memory: set up", &e),
    };
    report.check(
        "memory: a large statement waits for its turn, interruptible, and small ones go on",
        takes_turns(&server, scale),
    );
    report.check(
        "memory: what outlives a statement is counted",
        uncommitted_writes(&server),
    );
    report.check(
        "memory: packets are counted as they arrive, and refused where nothing is left",
        large_packets(&server),
    );
    report.check(
        "memory: many sorts at once stay within the limit, beside point selects",
        sorts_at_once(&server, scale, report),
    );
    report.check(
        "memory: a file that is longer than a transaction may be is loaded into an empty table",
        bulk_load(&server, scale),
    );
    report.check(
        "memory: what SET of LOAD DATA computes is counted",
        computed_in_load(&server, scale),
    );
    report.check(
        "memory: parts that leave statements nothing are refused by name",
        refused_by_name(program.clone()),
    );
}

/// The server's peak since it started, of all checks so far, is within the limit and the allowance.
fn peak_within(server: &Server, scale: &Scale) -> Result<(), String> {
    let peak = server.peak_bytes()?;
    let most = scale.limit + (scale.limit as f64 * ALLOWANCE) as u64;
    if peak > most {
        return Err(format!(
            "the server had {peak} bytes at its peak, with a limit of {} and {most} allowed",
            scale.limit
        ));
    }
    Ok(())
}

/// The rows and their index entries take three times as many bytes as one transaction may write.
fn bulk_load(server: &Server, scale: &Scale) -> Result<(), String> {
    const ROWS: u64 = 180_000;
    let mut conn = connect(server, "GLOBAL local_infile = ON")?;
    conn.query_drop(
        "CREATE TABLE loaded (id INT PRIMARY KEY, u CHAR(32) NOT NULL, pad VARCHAR(1000) NOT NULL, UNIQUE KEY (u), KEY (pad(500)))",
    )
    .map_err(text)?;
    conn.set_local_infile_handler(Some(mysql::LocalInfileHandler::new(|_, file| {
        let pad = "p".repeat(500);
        for n in 0..ROWS {
            let id = n * 7919 % ROWS;
            writeln!(file, "{id}\t{:032}\t{:08}{pad}", ROWS - id, id % 1000)?;
        }
        Ok(())
    })));
    conn.query_drop("LOAD DATA LOCAL INFILE 'rows' INTO TABLE loaded")
        .map_err(text)?;
    peak_within(server, scale)?;
    for index in ["PRIMARY", "u", "pad"] {
        let sql = format!("SELECT COUNT(*) FROM loaded FORCE INDEX ({index}) WHERE u >= '' AND pad > ''");
        let count: Option<u64> = conn.query_first(&sql).map_err(text)?;
        if count != Some(ROWS) {
            return Err(format!("{sql}: {count:?}"));
        }
    }
    conn.query_drop("ADMIN CHECK TABLE loaded").map_err(text)?;
    conn.query_drop("DROP TABLE loaded").map_err(text)
}

/// Short lines, of which SET makes rows that together need twice the limit.
fn computed_in_load(server: &Server, scale: &Scale) -> Result<(), String> {
    const EACH: u64 = 2 << 20;
    let mut conn = connect(server, "GLOBAL local_infile = ON")?;
    conn.query_drop("CREATE TABLE computed (id INT PRIMARY KEY, wide LONGTEXT)")
        .map_err(text)?;
    let lines = 2 * scale.limit / EACH;
    conn.set_local_infile_handler(Some(mysql::LocalInfileHandler::new(move |_, file| {
        (0..lines).try_for_each(|id| writeln!(file, "{id}"))
    })));
    let loaded = conn.query_drop(format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE computed (id) SET wide = REPEAT('x', {EACH})"
    ));
    peak_within(server, scale)?;
    conn.query_drop("DROP TABLE computed").map_err(text)?;
    match loaded {
        Err(mysql::Error::MySqlError(error)) if matches!(error.code, 8004 | 8175) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

fn start(program: Program, scale: &Scale) -> Result<Server, String> {
    let mut server = Server::prepare(program, &[])?;
    let file = server.path("memory.toml");
    // No sort may time out, however busy the machine is.
    let configuration = format!(
        "[memory]\nlimit_bytes = {}\nwait_seconds = 3000\n{}",
        scale.limit, scale.storage
    );
    fs::write(&file, configuration).map_err(text)?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    server.run()?;
    let mut conn = server.address.connect().map_err(text)?;
    conn.query_drop("DROP DATABASE IF EXISTS memory").map_err(text)?;
    conn.query_drop("CREATE DATABASE memory").map_err(text)?;
    conn.query_drop("USE memory").map_err(text)?;
    conn.query_drop("CREATE TABLE big (id INT PRIMARY KEY, pad VARCHAR(1100) NOT NULL)")
        .map_err(text)?;
    for id in 1..=BATCH {
        conn.exec_drop("INSERT INTO big VALUES (?, REPEAT(MD5(?), 31))", (id, id))
            .map_err(text)?;
    }
    for batch in 1..scale.rows / BATCH {
        conn.query_drop(format!(
            "INSERT INTO big SELECT id + {n}, REPEAT(MD5(id + {n}), 31) FROM big WHERE id <= {BATCH}",
            n = batch * BATCH
        ))
        .map_err(text)?;
    }
    Ok(server)
}

fn connect(server: &Server, settings: &str) -> Result<Conn, String> {
    let mut conn = server.address.connect_to("memory").map_err(text)?;
    conn.query_drop(format!("SET {settings}")).map_err(text)?;
    Ok(conn)
}

fn status(conn: &mut Conn, name: &str) -> Result<u64, String> {
    let row: Option<(String, u64)> = conn
        .query_first(format!("SHOW STATUS LIKE 'Stemdb_memory_{name}'"))
        .map_err(text)?;
    row.map(|(_, value)| value)
        .ok_or_else(|| format!("no Stemdb_memory_{name}"))
}

/// Waits until this many statements wait for memory.
fn await_waiting(conn: &mut Conn, count: u64) -> Result<(), String> {
    eventually(
        &format!("{count} statements should wait for memory by now"),
        || Ok((status(conn, "waiting")? == count).then_some(())),
    )
}

/// A sort in memory, by a computed key.
fn sort_in_memory(rows: u64) -> String {
    format!("SELECT id, pad FROM big WHERE id <= {rows} ORDER BY CONCAT(pad, '-'), id")
}

/// Sorts whose clients stop reading hold their memory, so the next sort has to wait.
fn takes_turns(server: &Server, scale: &Scale) -> Result<(), String> {
    let mut watch = connect(server, "@unused = 0")?;
    let refused = status(&mut watch, "refused")?;
    let sort = sort_in_memory(scale.rows_in_memory);
    let mut holders = Vec::new();
    loop {
        let mut conn = connect(server, "stemdb_route = 'transactional'")?;
        let id = conn.connection_id();
        let (sent, first) = std::sync::mpsc::channel();
        let (go_on, goes_on) = std::sync::mpsc::channel::<()>();
        let query = sort.clone();
        let thread = thread::spawn(move || {
            let mut rows = conn.query_iter(query).map_err(|e| (code(&e), text(e)))?;
            let one = rows.next().transpose().map_err(|e| (code(&e), text(e)))?;
            let _ = sent.send(());
            let _ = goes_on.recv();
            let mut count = u64::from(one.is_some());
            for row in rows {
                row.map_err(|e| (code(&e), text(e)))?;
                count += 1;
            }
            Ok::<u64, (u16, String)>(count)
        });
        // It has its memory, or it waits for it.
        let is_waiting = loop {
            if first.recv_timeout(Duration::from_millis(5)).is_ok() {
                break false;
            }
            if thread.is_finished() {
                return Err(format!("a sort failed: {:?}", thread.join()));
            }
            if status(&mut watch, "waiting")? > 0 {
                break true;
            }
        };
        holders.push((id, go_on, thread));
        if is_waiting {
            break;
        }
        if holders.len() > 100 {
            return Err("a hundred sorts hold their rows, and none had to wait".to_string());
        }
    }
    // A statement that needs little memory, and one with a time limit.
    let one: Option<u64> = watch
        .query_first("SELECT id FROM big WHERE id = 17")
        .map_err(text)?;
    if one != Some(17) {
        return Err(format!("beside one that waits, a point select answers {one:?}"));
    }
    let mut hasty = connect(server, "stemdb_route = 'transactional', max_execution_time = 50")?;
    match hasty.query_drop(&sort) {
        Err(e) if code(&e) == 3024 => {}
        other => return Err(format!("max_execution_time while waiting: {other:?}")),
    }
    // KILL ends a wait.
    let mut killed = connect(server, "stemdb_route = 'transactional'")?;
    let id = killed.connection_id();
    let query = sort.clone();
    let killed = thread::spawn(move || killed.query_drop(query).map_err(|e| code(&e)));
    await_waiting(&mut watch, 2)?;
    watch.query_drop(format!("KILL QUERY {id}")).map_err(text)?;
    match killed.join() {
        Ok(Err(1317)) => {}
        other => return Err(format!("KILL QUERY while waiting: {other:?}")),
    }
    // When the other sorts end, the waiting sort continues.
    await_waiting(&mut watch, 1)?;
    for (_, go_on, thread) in holders {
        let _ = go_on.send(());
        match thread.join() {
            Ok(Ok(rows)) if rows == scale.rows_in_memory => {}
            other => return Err(format!("a sort that held its rows: {other:?}")),
        }
    }
    match (status(&mut watch, "waiting")?, status(&mut watch, "refused")?) {
        (0, now) if now == refused => Ok(()),
        (waiting, now) => Err(format!("{waiting} wait still, {} were refused", now - refused)),
    }
}

/// Uncommitted writes count against the budget, and are released.
fn uncommitted_writes(server: &Server) -> Result<(), String> {
    let mut watch = connect(server, "@unused = 0")?;
    let mut conn = connect(server, "@unused = 0")?;
    conn.query_drop("CREATE TABLE copied LIKE big").map_err(text)?;
    eventually("earlier statements hold memory", || {
        Ok((status(&mut watch, "used_bytes")? == 0).then_some(()))
    })?;
    conn.query_drop("BEGIN").map_err(text)?;
    conn.query_drop("INSERT INTO copied SELECT * FROM big WHERE id <= 5000")
        .map_err(text)?;
    let open = status(&mut watch, "used_bytes")?;
    if open < 15 << 20 {
        return Err(format!("{open} while 5 MB are written"));
    }
    conn.query_drop("ROLLBACK").map_err(text)?;
    eventually("the writes' memory does not come back", || {
        Ok((status(&mut watch, "used_bytes")? == 0).then_some(()))
    })?;
    conn.query_drop("DROP TABLE copied").map_err(text)
}

/// Clients each send all but the last frame of a large packet, until the server has no memory for another.
/// That client gets error 1041 and loses its connection. The others are served, and all memory is released.
fn large_packets(server: &Server) -> Result<(), String> {
    const FRAME_BYTES: usize = 0xff_ffff;
    const FULL_FRAMES: usize = 3;
    let mut watch = connect(server, "@unused = 0")?;
    let before = status(&mut watch, "used_bytes")?;
    let refusals = status(&mut watch, "refused")?;
    let ping = [&[0x0e][..], &vec![b'x'; FRAME_BYTES - 1]].concat();
    let mut clients: Vec<Raw> = Vec::new();
    loop {
        let used = status(&mut watch, "used_bytes")?;
        let received = bytes_received(&mut watch)?;
        let mut raw = Raw::login(&server.address).map_err(text)?;
        raw.sequence = 0;
        for _ in 0..FULL_FRAMES {
            raw.write(&ping).map_err(text)?;
        }
        clients.push(raw);
        let sent = (FULL_FRAMES * FRAME_BYTES) as u64;
        let is_refused = eventually("a packet is neither counted nor refused", || {
            let is_refused = status(&mut watch, "refused")? > refusals;
            // While its last frame arrives, the packet takes a few megabytes more than afterwards.
            let is_counted = bytes_received(&mut watch)? >= received + sent
                && status(&mut watch, "used_bytes")? >= used + sent - (1 << 20);
            Ok((is_refused || is_counted).then_some(is_refused))
        })?;
        if is_refused {
            break;
        }
        if clients.len() > 100 {
            return Err("a hundred large packets wait for their ends, and none was refused".to_string());
        }
    }
    let Some((refused, others)) = clients.split_last_mut().filter(|(_, others)| !others.is_empty()) else {
        return Err("the first packet was refused".to_string());
    };
    refused.write(b"x").map_err(text)?;
    match (refused.answer(), refused.answer()) {
        (Ok(Answer::Error { code: 1041, .. }), Ok(Answer::Closed)) => {}
        other => return Err(format!("a packet that is refused: {other:?}")),
    }
    for raw in others {
        raw.write(b"x").map_err(text)?;
        match raw.answer() {
            Ok(Answer::Ok) => {}
            other => return Err(format!("a packet that was counted: {other:?}")),
        }
    }
    eventually("the packets' memory does not come back", || {
        Ok((status(&mut watch, "used_bytes")? <= before).then_some(()))
    })
}

/// Bytes that the server has received from all clients.
fn bytes_received(conn: &mut Conn) -> Result<u64, String> {
    let row: Option<(String, u64)> = conn
        .query_first("SHOW GLOBAL STATUS LIKE 'Bytes_received'")
        .map_err(text)?;
    row.map(|(_, value)| value)
        .ok_or_else(|| "no Bytes_received".to_string())
}

/// Repeats `ask` until it returns a value.
fn eventually<T>(otherwise: &str, mut ask: impl FnMut() -> Result<Option<T>, String>) -> Result<T, String> {
    let started = Instant::now();
    loop {
        match ask()? {
            Some(answer) => return Ok(answer),
            None if started.elapsed() > Duration::from_secs(60) => return Err(otherwise.to_string()),
            None => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn sorts_at_once(server: &Server, scale: &Scale, report: &Report) -> Result<(), String> {
    let mut watch = connect(server, "@unused = 0")?;
    let refused = status(&mut watch, "refused")?;
    let started = Instant::now();
    let done = AtomicBool::new(false);
    let (sorts, mut points) = thread::scope(|scope| {
        let points = scope.spawn(|| point_selects(server, scale, &done));
        let sorts: Vec<_> = (0..scale.clients)
            .map(|client| scope.spawn(move || sort_all(server, scale, client)))
            .collect();
        let sorts: Vec<_> = sorts.into_iter().map(join).collect();
        done.store(true, Ordering::Relaxed);
        (sorts, join(points))
    });
    for sort in sorts {
        sort?;
    }
    let peak = server.peak_bytes()?;
    let refused = status(&mut watch, "refused")? - refused;
    let times = points.as_mut().map_err(|e| e.clone())?;
    times.sort_unstable();
    let place = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
    report.note(&format!(
        "memory: {} sorts of {} rows in {:?}: peak {} MiB of {}; {} waits, {} refused; {} point selects, P50 {:?}, P99 {:?}, \
         longest {:?}",
        scale.clients,
        scale.rows,
        started.elapsed(),
        peak >> 20,
        scale.limit >> 20,
        status(&mut watch, "waits")?,
        refused,
        times.len(),
        place(50),
        place(99),
        times.last().copied().unwrap_or_default(),
    ));
    peak_within(server, scale)?;
    eventually("bytes are still held by nobody", || {
        Ok((status(&mut watch, "used_bytes")? == 0).then_some(()))
    })
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, Result<T, String>>) -> Result<T, String> {
    thread.join().map_err(|_| "a client panicked".to_string())?
}

/// Sorts all rows. One client in four uses the executor that sorts in memory, with fewer rows.
fn sort_all(server: &Server, scale: &Scale, client: u64) -> Result<(), String> {
    let (route, expected, query) = match client % 4 {
        0 => (
            "transactional",
            scale.rows_in_memory,
            format!(
                "SELECT pad, id FROM big WHERE id <= {} ORDER BY pad, id",
                scale.rows_in_memory
            ),
        ),
        _ => (
            "analytical",
            scale.rows,
            "SELECT pad, id FROM big ORDER BY pad, id".to_string(),
        ),
    };
    let context = |e: String| format!("client {client}, {route}: {e}");
    let mut conn = connect(server, &format!("stemdb_route = '{route}'"))?;
    let (mut rows, mut ids, mut last) = (0, 0, (String::new(), 0));
    for row in conn.query_iter(query).map_err(|e| context(text(e)))? {
        let row: (String, u64) = mysql::from_row(row.map_err(|e| context(text(e)))?);
        if row <= last {
            return Err(context(format!("row {} comes after {}", row.1, last.1)));
        }
        rows += 1;
        ids += row.1;
        last = row;
    }
    if rows != expected || ids != expected * (expected + 1) / 2 {
        return Err(context(format!("{rows} rows of {expected}, ids add up to {ids}")));
    }
    Ok(())
}

/// Runs point selects until `done`; returns how long each took.
fn point_selects(server: &Server, scale: &Scale, done: &AtomicBool) -> Result<Vec<Duration>, String> {
    let mut conn = connect(server, "@unused = 0")?;
    let statement = conn.prep("SELECT id FROM big WHERE id = ?").map_err(text)?;
    let (mut times, mut id) = (Vec::new(), 1);
    while !done.load(Ordering::Relaxed) {
        let started = Instant::now();
        let found: Option<u64> = conn.exec_first(&statement, (id,)).map_err(text)?;
        times.push(started.elapsed());
        if found != Some(id) {
            return Err(format!("row {id}: {found:?}"));
        }
        id = id * 7_919 % scale.rows + 1;
    }
    Ok(times)
}

fn refused_by_name(program: Program) -> Result<(), String> {
    let server = Server::prepare(program, &[])?;
    let file = server.path("memory.toml");
    fs::write(
        &file,
        "[memory]\nlimit_bytes = 536870912\n[storage]\nblock_cache_bytes = 536870912\n",
    )
    .map_err(text)?;
    let mut command = server.command()?;
    command
        .args(["--config", &file.display().to_string()])
        .stderr(std::process::Stdio::piped());
    let output = command.output().map_err(text)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match !output.status.success()
        && said.contains("block_cache 536870912")
        && said.contains("memory.limit_bytes")
    {
        true => Ok(()),
        false => Err(format!("{}: {said}", output.status)),
    }
}
