//! Starting, stopping and observing the server, as its operators do. Only for StemDB.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::older;
use crate::report::Report;
use crate::server::{Program, Server};
use crate::{code, text};

type Check = fn(Program) -> Result<(), String>;

pub fn check(program: &Program, report: &mut Report) {
    let checks: [(&str, Check); 16] = [
        ("one line when ready", one_line),
        ("data outlives a stop", data_stays),
        ("persisted variables outlive a stop", persisted_stay),
        ("SIGTERM lets transactions finish", drains),
        ("SIGTERM does not wait for ever", drains_at_last),
        ("a second process is refused", second_process),
        ("connections that have ended leave nothing open", nothing_open),
        ("a damaged log is not taken for its end", damaged_log),
        ("configuration", configuration),
        ("unknown configuration keys", unknown_keys),
        ("an open account is not shown to the world", open_account),
        ("status and metrics", status),
        ("dashboards and alerts name what there is", monitoring),
        (
            "rows that were written just now are seen by the planner",
            fresh_rows,
        ),
        ("JSON that an older version stored as text", older::json_as_text),
        (
            "definitions that an older version has not finished",
            older::unfinished_definitions,
        ),
    ];
    for (name, check) in checks {
        report.check(&format!("lifecycle: {name}"), check(program.clone()));
    }
}

fn one_line(program: Program) -> Result<(), String> {
    let server = Server::start(program, &[])?;
    // The server prints the line just before or just after it accepts the first connection.
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut log = server.log_tail();
    while !log.contains("ready") && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
        log = server.log_tail();
    }
    let port = server.address.port.to_string();
    let ready: Vec<&str> = log.lines().filter(|line| line.contains("ready")).collect();
    match ready[..] {
        [line] if line.contains(&port) => Ok(()),
        _ => Err(format!("it said:\n{log}")),
    }
}

fn nothing_open(program: Program) -> Result<(), String> {
    const CONNECTIONS: usize = 100;
    let server = Server::start(program, &[])?;
    let connect = |count: usize| -> Result<(), String> {
        for number in 0..count {
            let mut conn = server.address.connect().map_err(text)?;
            conn.query_drop("SELECT 1").map_err(text)?;
            if number % 2 == 0 {
                conn.reset().map_err(text)?;
            }
        }
        Ok(())
    };
    // Files that the first ones open.
    connect(3)?;
    let before = server.open_files()?;
    connect(CONNECTIONS)?;
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.open_files()? > before + CONNECTIONS / 10 {
        if Instant::now() > deadline {
            let now = server.open_files()?;
            return Err(format!(
                "{before} files were open, and after {CONNECTIONS} connections {now}"
            ));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn data_stays(program: Program) -> Result<(), String> {
    let mut server = Server::start(program, &[])?;
    let mut conn = server.address.connect().map_err(text)?;
    for statement in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(10), KEY v (v))",
        "INSERT INTO d.t (v) VALUES ('a'), ('b')",
        "CREATE USER 'stays'@'%' IDENTIFIED BY 'sesame'",
        "SET GLOBAL innodb_lock_wait_timeout = 7",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    drop(conn);
    stop(&mut server)?;
    server.run()?;
    let mut conn = server.address.connect_to("d").map_err(text)?;
    let rows: Vec<(u32, String)> = conn.query("SELECT id, v FROM t ORDER BY id").map_err(text)?;
    if rows != [(1, "a".to_string()), (2, "b".to_string())] {
        return Err(format!("rows: {rows:?}"));
    }
    conn.query_drop("INSERT INTO t (v) VALUES ('c')").map_err(text)?;
    let ids: Vec<u32> = conn
        .query("SELECT id FROM t WHERE v = 'c' AND id > 2")
        .map_err(text)?;
    if ids.len() != 1 {
        return Err(format!("the id after the restart: {ids:?}"));
    }
    let opts = server.address.builder().user(Some("stays")).pass(Some("sesame"));
    mysql::Conn::new(opts).map_err(|e| format!("the account: {e}"))?;
    // SET GLOBAL lasts until the process ends, as in MySQL.
    let global: Option<u32> = conn
        .query_first("SELECT @@global.innodb_lock_wait_timeout")
        .map_err(text)?;
    if global != Some(50) {
        return Err(format!("innodb_lock_wait_timeout: {global:?}"));
    }
    Ok(())
}

fn persisted_stay(program: Program) -> Result<(), String> {
    let mut server = Server::start(program, &[])?;
    let mut conn = server.address.connect().map_err(text)?;
    for statement in [
        "SET PERSIST innodb_lock_wait_timeout = 7, PERSIST_ONLY net_read_timeout = 8",
        "SET PERSIST character_set_server = latin1, PERSIST wait_timeout = 9",
        "RESET PERSIST wait_timeout",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    drop(conn);
    stop(&mut server)?;
    server.run()?;
    let mut conn = server.address.connect().map_err(text)?;
    let values: Option<(u32, u32, String, u32)> = conn
        .query_first(
            "SELECT @@global.innodb_lock_wait_timeout, @@global.net_read_timeout, @@global.collation_server, \
             @@global.wait_timeout",
        )
        .map_err(text)?;
    if values != Some((7, 8, "latin1_swedish_ci".to_owned(), 28800)) {
        return Err(format!("after the restart: {values:?}"));
    }
    let sources: Vec<(String, String)> = conn
        .query(
            "SELECT variable_name, set_user FROM performance_schema.variables_info \
             WHERE variable_source = 'PERSISTED' ORDER BY variable_name",
        )
        .map_err(text)?;
    let names: Vec<&str> = sources.iter().map(|(name, _)| name.as_str()).collect();
    if names
        != [
            "character_set_server",
            "innodb_lock_wait_timeout",
            "net_read_timeout",
        ]
    {
        return Err(format!("persisted: {sources:?}"));
    }
    drop(conn);
    stop(&mut server)?;
    let file = server.path("not_persisted.toml");
    fs::write(&file, "[variables]\npersisted_globals_load = \"OFF\"\n").map_err(text)?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    server.run()?;
    let mut conn = server.address.connect().map_err(text)?;
    let values: Option<(u32, u32, u32)> = conn
        .query_first(
            "SELECT @@global.innodb_lock_wait_timeout, @@persisted_globals_load, COUNT(*) \
             FROM performance_schema.persisted_variables",
        )
        .map_err(text)?;
    match values {
        Some((50, 0, 3)) => Ok(()),
        other => Err(format!("without persisted values: {other:?}")),
    }
}

fn stop(server: &mut Server) -> Result<(), String> {
    server.terminate()?;
    let status = server.wait(Duration::from_secs(120))?;
    if !status.success() {
        return Err(format!("{status} after SIGTERM:\n{}", server.log_tail()));
    }
    Ok(())
}

/// A connection with an open transaction that has written a row.
fn open_transaction(server: &Server) -> Result<Conn, String> {
    let mut conn = server.address.connect().map_err(text)?;
    for statement in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY)",
        "BEGIN",
        "INSERT INTO d.t VALUES (1)",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    Ok(conn)
}

fn expect_rows(server: &Server, expected: u32) -> Result<(), String> {
    let mut conn = server.address.connect().map_err(text)?;
    let rows = conn.query_first::<u32, _>("SELECT COUNT(*) FROM d.t");
    match rows.map_err(text)? {
        Some(rows) if rows == expected => Ok(()),
        other => Err(format!("{other:?} rows instead of {expected}")),
    }
}

fn drains(program: Program) -> Result<(), String> {
    let mut server = Server::start(program, &[])?;
    let mut conn = open_transaction(&server)?;
    let idle = server.address.connect().map_err(text)?;
    server.terminate()?;
    let start = Instant::now();
    loop {
        match server.get("/status") {
            Ok((503, _)) => break,
            _ if start.elapsed() > Duration::from_secs(60) => {
                return Err("/status is not 503 while it drains".to_string());
            }
            _ => thread::sleep(Duration::from_millis(10)),
        }
    }
    if server.address.connect().is_ok() {
        return Err("a new connection was accepted".to_string());
    }
    conn.query_drop("INSERT INTO d.t VALUES (2)")
        .map_err(|e| format!("in the transaction: {e}"))?;
    conn.query_drop("COMMIT").map_err(|e| format!("COMMIT: {e}"))?;
    let status = server.wait(Duration::from_secs(60))?;
    drop(idle);
    if !status.success() {
        return Err(format!("{status}"));
    }
    server.run()?;
    expect_rows(&server, 2)
}

fn drains_at_last(program: Program) -> Result<(), String> {
    let mut server = Server::prepare(program, &[])?;
    let file = server.path("short.toml");
    fs::write(&file, "[shutdown]\ndrain_seconds = 1\n").map_err(|e| e.to_string())?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    server.run()?;
    let _conn = open_transaction(&server)?;
    stop(&mut server)?;
    server.run()?;
    expect_rows(&server, 0)
}

fn second_process(program: Program) -> Result<(), String> {
    let server = Server::start(program.clone(), &[])?;
    let other = Server::prepare(program, &[])?;
    let command = other.command()?;
    let store = format!("rocksdb:{}", server.data().display());
    let arguments: Vec<String> = command
        .get_args()
        .map(|a| a.to_string_lossy().into_owned())
        .map(|a| {
            if a.starts_with("rocksdb:") {
                store.clone()
            } else {
                a
            }
        })
        .collect();
    let output = std::process::Command::new(command.get_program())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() || !said.contains(&server.data().display().to_string()) {
        return Err(format!("{}: {said}", output.status));
    }
    server
        .address
        .connect()
        .map(drop)
        .map_err(|e| format!("the first process: {e}"))
}

/// If acknowledged rows cannot be read, the server refuses to start, and `check` and `repair` report the
/// damage. `repair` continues without these rows only if asked to.
fn damaged_log(program: Program) -> Result<(), String> {
    const ROWS: u32 = 400;
    let mut server = Server::start(program, &[])?;
    let mut conn = server.address.connect().map_err(text)?;
    for statement in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(200), KEY v (v))",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    for id in 0..ROWS {
        conn.query_drop(format!("INSERT INTO d.t VALUES ({id}, REPEAT('v', 150))"))
            .map_err(text)?;
    }
    drop(conn);
    server.kill();
    let binary = server.command()?.get_program().to_owned();
    let data = server.data();
    let run = |arguments: &[&str], expected: i32, says: &str| {
        let output = std::process::Command::new(&binary)
            .args(arguments)
            .arg(&data)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.code() == Some(expected) && said.contains(says) {
            true => Ok(()),
            false => Err(format!("{arguments:?}: {}: {said}", output.status)),
        }
    };
    run(&["check"], 0, "is whole")?;
    flip_in_log(&data)?;
    let refused = |server: &mut Server| match server.run() {
        Err(said) if said.contains(".log is damaged at byte") && said.contains("stemdb repair") => Ok(()),
        other => Err(format!("with a damaged log: {other:?}")),
    };
    refused(&mut server)?;
    run(&["check"], 1, "DAMAGED")?;
    run(&["repair"], 1, "Nothing was changed")?;
    refused(&mut server)?;
    run(&["repair", "--accept-data-loss"], 0, "was cut off")?;
    server.run()?;
    let mut conn = server.address.connect().map_err(text)?;
    let rows: Option<u32> = conn.query_first("SELECT COUNT(*) FROM d.t").map_err(text)?;
    if !rows.is_some_and(|rows| rows > 0 && rows < ROWS) {
        return Err(format!("rows after the repair: {rows:?}"));
    }
    conn.query_drop("ADMIN CHECK TABLE d.t").map_err(text)?;
    drop(conn);
    stop(&mut server)?;
    run(&["check"], 0, "is whole")
}

/// Changes a bit three quarters of the way through the current log.
fn flip_in_log(data: &std::path::Path) -> Result<(), String> {
    let files = fs::read_dir(data).map_err(|e| e.to_string())?;
    let mut logs: Vec<_> = files.flatten().map(|entry| entry.path()).collect();
    logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.sort();
    let log = logs.pop().ok_or("there is no log")?;
    let mut bytes = fs::read(&log).map_err(|e| e.to_string())?;
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
    let byte = bytes.get_mut(end / 4 * 3).ok_or("the log is empty")?;
    *byte ^= 1;
    fs::write(&log, bytes).map_err(|e| e.to_string())
}

fn configuration(program: Program) -> Result<(), String> {
    let mut server = Server::prepare(program, &[])?;
    let file = server.path("good.toml");
    fs::write(
        &file,
        "[variables]\nmax_connections = 7\nsql_mode = \"ANSI_QUOTES\"\n",
    )
    .map_err(|e| e.to_string())?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    server.run()?;
    let mut conn = server.address.connect().map_err(text)?;
    let got: Option<(u32, String)> = conn
        .query_first("SELECT @@global.max_connections, @@global.sql_mode")
        .map_err(text)?;
    if got != Some((7, "ANSI_QUOTES".to_string())) {
        return Err(format!("{got:?}"));
    }
    Ok(())
}

fn unknown_keys(program: Program) -> Result<(), String> {
    for (content, key) in [
        ("lisen = \"127.0.0.1:1\"\n", "lisen"),
        ("[storage]\nblock_cash_bytes = 5\n", "block_cash_bytes"),
        ("[variables]\nmax_connectons = 5\n", "max_connectons"),
    ] {
        let mut server = Server::prepare(program.clone(), &[])?;
        let file = server.path("bad.toml");
        fs::write(&file, content).map_err(|e| e.to_string())?;
        server.add_arguments(&["--config", &file.display().to_string()]);
        match server.run() {
            Err(said) if said.contains(key) => {}
            other => return Err(format!("{key}: {other:?}")),
        }
    }
    Ok(())
}

fn open_account(program: Program) -> Result<(), String> {
    let mut server = Server::prepare(program, &[])?;
    server.listen("0.0.0.0");
    match server.run() {
        Err(said) if said.contains("root") && said.contains("password") => {}
        other => return Err(format!("listening everywhere: {other:?}")),
    }
    // With a password, it may listen on all interfaces.
    server.listen("127.0.0.1");
    server.run()?;
    let mut conn = server.address.connect().map_err(text)?;
    conn.query_drop("ALTER USER 'root'@'localhost' IDENTIFIED BY 'sesame'")
        .map_err(text)?;
    drop(conn);
    stop(&mut server)?;
    server.listen("0.0.0.0");
    server.root_password = Some("sesame".to_string());
    server.run()?;
    // The password must stay: without it the next start would be refused.
    let opts = server.address.builder().pass(Some("sesame"));
    let mut conn = mysql::Conn::new(opts).map_err(text)?;
    for statement in [
        "SET PASSWORD = ''",
        "CREATE USER 'open'@'%'",
        "ALTER USER 'root'@'localhost' IDENTIFIED BY ''",
    ] {
        match conn.query_drop(statement) {
            Err(error) if code(&error) == 1819 => {}
            other => return Err(format!("{statement}: {other:?}")),
        }
    }
    conn.query_drop("CREATE USER 'closed'@'%' ACCOUNT LOCK")
        .map_err(text)
}

fn status(program: Program) -> Result<(), String> {
    let server = Server::start(program, &[])?;
    let mut conn = server.address.connect().map_err(text)?;
    conn.query_drop("DO 1").map_err(text)?;
    match server.get("/status").map_err(|e| e.to_string())? {
        (200, _) => {}
        other => return Err(format!("/status: {other:?}")),
    }
    let (code, metrics) = server.get("/metrics").map_err(|e| e.to_string())?;
    if code != 200 || !metrics.contains("# TYPE ") || !metrics.contains("# HELP ") {
        return Err(format!("/metrics: {code} {:.300}", metrics));
    }
    // A part of a metric's name for each kind of metric: queries, latencies, connections, transactions,
    // conflicts.
    for promised in ["quer", "seconds_bucket", "connection", "transaction", "conflict"] {
        if !metrics.contains(promised) {
            return Err(format!("/metrics says nothing of {promised}"));
        }
    }
    match server.get("/nothing_here").map_err(|e| e.to_string())? {
        (404, _) => Ok(()),
        other => Err(format!("an unknown path: {other:?}")),
    }
}

/// The server has every metric that `deploy/monitoring` names.
fn monitoring(program: Program) -> Result<(), String> {
    let server = Server::start(program, &[])?;
    // Histograms have lines once something was counted.
    let mut conn = server.address.connect().map_err(text)?;
    conn.query_drop("SELECT 1").map_err(text)?;
    let (_, metrics) = server.get("/metrics").map_err(|e| e.to_string())?;
    let there = names_of_metrics(&metrics);
    for file in ["alerts.yaml", "grafana-dashboard.json"] {
        let path = Path::new("deploy/monitoring").join(file);
        let content = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let named = names_of_metrics(&content);
        if named.len() < 5 {
            return Err(format!("{file} names {} metrics", named.len()));
        }
        if let Some(missing) = named.difference(&there).next() {
            return Err(format!(
                "{file} names {missing}, which is no metric of the server"
            ));
        }
    }
    Ok(())
}

/// All words that begin with `stemdb_`.
fn names_of_metrics(content: &str) -> BTreeSet<&str> {
    content
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("stemdb_"))
        .collect()
}

/// Statistics of rows that are not in any file of the store yet.
fn fresh_rows(program: Program) -> Result<(), String> {
    const ROWS: u64 = 30_000;
    let server = Server::start(program, &[])?;
    let mut conn = server.address.connect().map_err(text)?;
    for statement in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT, pad VARCHAR(200), KEY a (a), KEY b (b))",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    let pad = "x".repeat(200);
    let rows: Vec<String> = (0..ROWS)
        .map(|id| format!("({id}, {id}, {id}, '{pad}')"))
        .collect();
    for rows in rows.chunks(1_000) {
        conn.query_drop(format!("INSERT INTO d.t VALUES {}", rows.join(", ")))
            .map_err(text)?;
    }
    let estimate: Option<u64> = conn
        .query_first("SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'd'")
        .map_err(text)?;
    if !estimate.is_some_and(|estimate| estimate > ROWS / 3 && estimate < ROWS * 3) {
        return Err(format!("{ROWS} rows are taken for {estimate:?}"));
    }
    let plan: Option<mysql::Row> = conn
        .query_first("EXPLAIN SELECT a % 7, COUNT(*) FROM d.t GROUP BY a % 7")
        .map_err(text)?;
    let extra: Option<String> = plan.and_then(|row| row.get("Extra"));
    match extra {
        Some(extra) if extra.contains("Analytical executor") => Ok(()),
        other => Err(format!("EXPLAIN says {other:?}")),
    }
}
