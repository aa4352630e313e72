//! A full disk: statements that free space work, and the space is free soon after.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use loadgen::random::Random;
use mysql::Conn;
use mysql::prelude::Queryable;
use tempfile::TempDir;

use super::disk::ER_DISK_FULL;
use crate::report::Report;
use crate::server::{Program, Server};
use crate::text;

const DISK_MIB: u64 = 320;
const RESERVE_MIB: u64 = 64;
/// Rows of one INSERT.
const INSERT_ROWS: usize = 200;
const ROW_BYTES: usize = 2900;

/// Far longer than freeing the contents of a small disk takes.
const ROOM_MAX: Duration = Duration::from_secs(120);

/// Statements that free space, each with a statement after which the same rows can be written again.
const STATEMENTS: [[&str; 2]; 4] = [
    ["TRUNCATE TABLE room.t", "DO 0"],
    ["DROP TABLE room.t", TABLE],
    ["ALTER TABLE room.t DROP INDEX large", "DO 0"],
    ["DROP DATABASE room", "CREATE DATABASE room"],
];

const TABLE: &str = "CREATE TABLE room.t (id INT AUTO_INCREMENT PRIMARY KEY, wide VARBINARY(2900) NOT NULL, KEY large (wide))";

pub fn check(program: &Program, report: &mut Report) {
    let name = "crash: making room on a full disk";
    match SmallDisk::mount() {
        Ok(disk) => report.check(name, make_room(program, &disk)),
        Err(why) => report.skip(name, &why),
    }
}

/// A file system in memory, which is unmounted when this is dropped.
pub(super) struct SmallDisk(TempDir);

impl SmallDisk {
    /// Fails without the necessary privileges.
    pub(super) fn mount() -> Result<Self, String> {
        let at = tempfile::tempdir().map_err(text)?;
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={DISK_MIB}m"), "tmpfs"])
            .arg(at.path())
            .output()
            .map_err(|e| format!("mount: {e}"))?;
        if output.status.success() {
            return Ok(Self(at));
        }
        Err(format!("mount: {}", String::from_utf8_lossy(&output.stderr)))
    }

    fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    /// A server whose data are on it.
    pub(super) fn server(&self, program: &Program) -> Result<Server, String> {
        let Program::StemDb { binary, .. } = program else {
            return Err("not on MySQL".to_owned());
        };
        let program = Program::StemDb {
            binary: binary.clone(),
            store: Some(format!("rocksdb:{}", self.data().display())),
        };
        let mut server = Server::prepare(program, &[])?;
        let file = server.path("small.toml");
        let options = format!(
            "[storage]\nreserve_bytes = {}\nwrite_buffer_bytes = {}\n",
            RESERVE_MIB << 20,
            4 << 20
        );
        fs::write(&file, options).map_err(text)?;
        server.add_arguments(&["--config", &file.display().to_string()]);
        server.run()?;
        Ok(server)
    }

    /// Fills it but for so much beside the reserve. Returns the file that does.
    pub(super) fn fill(&self, left_mib: u64) -> Result<PathBuf, String> {
        let bytes = (DISK_MIB - RESERVE_MIB - left_mib).saturating_sub(self.used_mib()?) << 20;
        let ballast = self.0.path().join("ballast");
        fs::write(&ballast, vec![1; bytes as usize]).map_err(text)?;
        Ok(ballast)
    }

    fn used_mib(&self) -> Result<u64, String> {
        let output = Command::new("df")
            .args(["--output=used", "--block-size=1M"])
            .arg(self.0.path())
            .output()
            .map_err(|e| format!("df: {e}"))?;
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        let used = answer.lines().last().and_then(|line| line.trim().parse().ok());
        used.ok_or(answer)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

fn make_room(program: &Program, disk: &SmallDisk) -> Result<(), String> {
    let server = disk.server(program)?;
    let mut conn = server.address.connect().map_err(text)?;
    let mut random = Random::new(1);
    for statement in ["CREATE DATABASE room", TABLE] {
        conn.query_drop(statement).map_err(text)?;
    }
    for [statement, again] in STATEMENTS {
        fill(&mut conn, &mut random)?;
        conn.query_drop(statement)
            .and_then(|()| conn.query_drop(again))
            .map_err(|e| format!("{statement} on a full disk: {e}"))?;
        wait_for_room(disk).map_err(|e| format!("{statement}: {e}\n{}", server.log_tail()))?;
    }
    conn.query_drop(TABLE)
        .and_then(|()| insert(&mut conn, &mut random))
        .map_err(text)
}

/// Rows of random bytes, which cannot be compressed.
fn insert(conn: &mut Conn, random: &mut Random) -> mysql::Result<()> {
    let rows: Vec<Vec<u8>> = (0..INSERT_ROWS)
        .map(|_| (0..ROW_BYTES).map(|_| random.below(256) as u8).collect())
        .collect();
    let places = vec!["(?)"; rows.len()].join(", ");
    conn.exec_drop(format!("INSERT INTO room.t (wide) VALUES {places}"), rows)
}

/// Inserts until a write is refused.
fn fill(conn: &mut Conn, random: &mut Random) -> Result<(), String> {
    for _ in 0..DISK_MIB << 1 {
        match insert(conn, random) {
            Ok(()) => {}
            Err(mysql::Error::MySqlError(e)) if e.code == ER_DISK_FULL => return Ok(()),
            Err(e) => return Err(format!("filling the disk: {e}")),
        }
    }
    Err("the disk never fills up".to_owned())
}

/// Waits until twice the reserve is free again: as long as less is, space is freed at once. DROP INDEX frees about half.
fn wait_for_room(disk: &SmallDisk) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let used_mib = disk.used_mib()?;
        if used_mib <= DISK_MIB - 2 * RESERVE_MIB {
            return Ok(());
        }
        if start.elapsed() > ROOM_MAX {
            return Err(format!(
                "{used_mib} of {DISK_MIB} MiB are still used after {ROOM_MAX:?}"
            ));
        }
        thread::sleep(Duration::from_millis(50));
    }
}
