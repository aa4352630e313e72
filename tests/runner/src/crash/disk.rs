//! A disk that fails under concurrent writers: writes are refused with an error, reads continue, and after
//! a restart on a working disk every acknowledged transaction is there.
//!
//! `shim/failing_disk.c`, preloaded into the server, injects the faults. If it cannot be compiled, the test
//! is skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;

use super::model::Model;
use super::{DATABASE, WRITERS, set_up, verify, writer};
use crate::report::Report;
use crate::server::{Program, Server};
use crate::text;

/// Writers that have not met the fault after this time never will.
const NOTICED_MAX: Duration = Duration::from_secs(180);

pub(super) const ER_DISK_FULL: u16 = 1021;
/// The accepted refusals: ER_DISK_FULL, ER_GET_ERRNO, ER_READ_ONLY_MODE, and TiDB's "result undetermined".
const REFUSALS: [u16; 4] = [ER_DISK_FULL, 1030, 1836, 8501];

pub fn check(program: &Program, report: &mut Report) {
    let faults = [
        ("sync", "crash: a disk that cannot sync"),
        ("full", "crash: a disk that is full"),
    ];
    match compile() {
        Ok(shim) => {
            for (fault, name) in faults {
                report.check(name, fails(program.clone(), &shim, fault));
            }
        }
        Err(why) => faults.iter().for_each(|(_, name)| report.skip(name, &why)),
    }
    report.check("crash: no space but the reserve", reserve(program.clone()));
}

/// Compiles the shim next to this program, so that the next run finds it.
fn compile() -> Result<PathBuf, String> {
    let shim = std::env::current_exe()
        .map_err(text)?
        .with_file_name("failing_disk.so");
    let output = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&shim)
        .arg("tests/runner/shim/failing_disk.c")
        .arg("-ldl")
        .output()
        .map_err(|e| format!("cc: {e}"))?;
    if output.status.success() {
        return Ok(shim);
    }
    Err(format!("cc: {}", String::from_utf8_lossy(&output.stderr)))
}

fn fails(program: Program, shim: &Path, fault: &str) -> Result<(), String> {
    let mut server = Server::prepare(program, &[])?;
    server.set_environment("LD_PRELOAD", &shim.display().to_string());
    let directory = server.path("").canonicalize().map_err(text)?;
    server.set_environment("FAILING_DISK", &directory.display().to_string());
    server.run()?;
    set_up(&server.address)?;
    let mut models: Vec<Model> = (0..WRITERS).map(Model::new).collect();
    let switch = server.path(fault);
    let acknowledged = write_until(&mut server, &mut models, || fs::write(&switch, "").map_err(text))?;
    reads_go_on(&server)?;
    write_is_refused(&server)?;
    server.kill();
    fs::remove_file(&switch).map_err(text)?;
    server.run()?;
    verify::verify(&server.address, &mut models).map_err(|e| {
        format!(
            "{acknowledged} acknowledged transactions: {e}\n{}",
            server.log_tail()
        )
    })?;
    write(&server).map_err(text)
}

/// Lets all writers run until the fault, which they must meet. Returns how many transactions were
/// acknowledged.
fn write_until(
    server: &mut Server,
    models: &mut [Model],
    fail: impl FnOnce() -> Result<(), String>,
) -> Result<u64, String> {
    let (failing, acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
    let address = server.address.clone();
    thread::scope(|scope| {
        let writers: Vec<_> = models
            .iter_mut()
            .map(|model| {
                let (address, failing, acknowledged) = (&address, &failing, &acknowledged);
                scope.spawn(move || writer::write(address, model, 1, failing, acknowledged))
            })
            .collect();
        thread::sleep(Duration::from_millis(500));
        while acknowledged.load(Ordering::SeqCst) == 0 && writers.iter().any(|writer| !writer.is_finished()) {
            thread::sleep(Duration::from_millis(20));
        }
        failing.store(true, Ordering::SeqCst);
        let switched = fail();
        let start = Instant::now();
        while writers.iter().any(|writer| !writer.is_finished()) && start.elapsed() < NOTICED_MAX {
            thread::sleep(Duration::from_millis(20));
        }
        let noticed = writers.iter().all(|writer| writer.is_finished());
        if !noticed {
            server.kill();
        }
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().map_err(|_| "a writer panicked".to_string())?)?;
        switched?;
        match (noticed, acknowledged.load(Ordering::SeqCst)) {
            (false, _) => Err(format!(
                "writers went on for {NOTICED_MAX:?} on a disk that fails"
            )),
            (_, 0) => Err("nothing was acknowledged before the disk failed".to_string()),
            (_, acknowledged) => Ok(acknowledged),
        }
    })
}

fn reads_go_on(server: &Server) -> Result<(), String> {
    let mut conn = server
        .address
        .connect_to(DATABASE)
        .map_err(|e| format!("a new connection on a failing disk: {e}"))?;
    for table in ["orders", "items", "accounts", "transfers"] {
        let count: Option<u64> = conn
            .query_first(format!("SELECT COUNT(*) FROM {table}"))
            .map_err(|e| format!("reading on a failing disk: {e}"))?;
        count.ok_or("no count")?;
    }
    Ok(())
}

fn write(server: &Server) -> mysql::Result<()> {
    let mut conn = server.address.connect_to(DATABASE)?;
    conn.query_drop("INSERT INTO transfers (name, source, target, amount) VALUES ('last', 1, 2, 0)")
}

fn write_is_refused(server: &Server) -> Result<(), String> {
    match write(server) {
        Err(mysql::Error::MySqlError(e)) if REFUSALS.contains(&e.code) => Ok(()),
        other => Err(format!("a write on a failing disk: {other:?}")),
    }
}

/// What is dropped to free space.
const SPARE: [&str; 4] = [
    "CREATE DATABASE spare",
    "CREATE TABLE spare.a (id INT PRIMARY KEY, n INT, KEY n (n))",
    "CREATE TABLE spare.b (id INT PRIMARY KEY)",
    "INSERT INTO spare.a VALUES (1, 1), (2, 2)",
];

/// Some space is reserved for acknowledged data: only statements that free space may use it, and all reads
/// work.
fn reserve(program: Program) -> Result<(), String> {
    let mut server = Server::prepare(program, &[])?;
    let file = server.path("reserve.toml");
    server.add_arguments(&["--config", &file.display().to_string()]);
    fs::write(&file, "").map_err(text)?;
    server.run()?;
    set_up(&server.address)?;
    let mut conn = server.address.connect().map_err(text)?;
    for statement in SPARE {
        conn.query_drop(statement).map_err(text)?;
    }
    drop(conn);
    server.kill();
    fs::write(&file, "[storage]\nreserve_bytes = 1152921504606846976\n").map_err(text)?;
    server.run()?;
    reads_go_on(&server)?;
    let mut conn = server.address.connect_to(DATABASE).map_err(text)?;
    for statement in [
        "INSERT INTO transfers (name, source, target, amount) VALUES ('last', 1, 2, 0)",
        "UPDATE accounts SET balance = balance + 1",
        "CREATE TABLE another (id INT PRIMARY KEY)",
    ] {
        match conn.query_drop(statement) {
            Err(mysql::Error::MySqlError(e)) if e.code == ER_DISK_FULL => {}
            other => return Err(format!("{statement}: {other:?}")),
        }
    }
    for statement in [
        "ALTER TABLE spare.a DROP INDEX n",
        "TRUNCATE TABLE spare.a",
        "DROP TABLE spare.b",
        "DROP DATABASE spare",
    ] {
        conn.query_drop(statement)
            .map_err(|e| format!("{statement} with the reserve only: {e}"))?;
    }
    drop(conn);
    server.kill();
    fs::write(&file, "").map_err(text)?;
    server.run()?;
    write(&server).map_err(text)?;
    verify::check_tables(&mut server.address.connect_to(DATABASE).map_err(text)?, true)
}
