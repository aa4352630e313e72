//! `stemdb import` into a server whose disk fills: a clear error, and a second run goes on.

use std::fs;
use std::io::Write;
use std::process::Command;

use loadgen::random::Random;
use mysql::prelude::Queryable;

use super::disk::ER_DISK_FULL;
use super::room::SmallDisk;
use crate::report::Report;
use crate::server::Program;
use crate::text;

const ROWS: u32 = 30_000;
/// Of which a row has many, so that they do not fit beside what is on the disk.
const DIGITS: u32 = 100;
const LEFT_MIB: u64 = 8;

pub fn check(program: &Program, report: &mut Report) {
    let name = "crash: an import onto a disk that fills goes on when there is room";
    match SmallDisk::mount() {
        Ok(disk) => report.check(name, goes_on(program, &disk)),
        Err(why) => report.skip(name, &why),
    }
}

fn goes_on(program: &Program, disk: &SmallDisk) -> Result<(), String> {
    let Program::StemDb { binary, .. } = program else {
        return Err("not on MySQL".to_owned());
    };
    let server = disk.server(program)?;
    let mut conn = server.address.connect().map_err(text)?;
    for statement in [
        "SET GLOBAL local_infile = ON",
        "CREATE DATABASE full",
        "CREATE TABLE full.t (id INT PRIMARY KEY, wide TEXT NOT NULL, n BIGINT, KEY (n))",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    let path = server.path("full.t.tsv");
    let mut random = Random::new(1);
    let mut file = std::io::BufWriter::new(fs::File::create(&path).map_err(text)?);
    for id in 0..ROWS {
        let wide: String = (0..DIGITS)
            .map(|_| format!("{:015x}", random.below(1 << 60)))
            .collect();
        writeln!(file, "{id}\t{wide}\t{}", random.below(1 << 40)).map_err(text)?;
    }
    file.flush().map_err(text)?;
    let import = || -> Result<(bool, String), String> {
        let output = Command::new(binary)
            .args([
                "import",
                "--to",
                &format!("mysql://root@127.0.0.1:{}", server.address.port),
            ])
            .arg("--rejected")
            .arg(server.path("rejected"))
            .arg(&path)
            .output()
            .map_err(text)?;
        let printed = [output.stdout, output.stderr].concat();
        Ok((
            output.status.success(),
            String::from_utf8_lossy(&printed).into_owned(),
        ))
    };
    let ballast = disk.fill(LEFT_MIB)?;
    let (succeeded, printed) = import()?;
    let expected = [&ER_DISK_FULL.to_string(), "Disk full", "the same command goes on"];
    if succeeded || !expected.iter().all(|text| printed.contains(*text)) {
        return Err(format!("on a full disk: {printed}"));
    }
    fs::remove_file(ballast).map_err(text)?;
    let (succeeded, printed) = import()?;
    if !succeeded {
        return Err(format!("with room: {printed}\n{}", server.log_tail()));
    }
    conn.query_drop("ADMIN CHECK TABLE full.t").map_err(text)?;
    let sql = "SELECT COUNT(*) FROM full.t FORCE INDEX (n) WHERE n >= 0";
    let rows: Option<u32> = conn.query_first(sql).map_err(text)?;
    match rows {
        Some(ROWS) => Ok(()),
        other => Err(format!("{other:?} rows of {ROWS}; {printed}")),
    }
}
