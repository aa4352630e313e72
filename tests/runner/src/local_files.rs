//! LOAD DATA LOCAL with clients that send nothing, send invalid rows, or stop in the middle.

use std::io;

use mysql::prelude::Queryable;

use crate::raw::{Answer, Raw};
use crate::server::Address;

const CLIENT_LOCAL_FILES: u32 = 1 << 7;

const LOAD: &[u8] = b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE local_files.t";
const REPLACE: &[u8] = b"\x03LOAD DATA LOCAL INFILE 'f' REPLACE INTO TABLE local_files.t";

pub(crate) fn check(address: &Address) -> Result<(), String> {
    let mut conn = address.connect().map_err(|e| e.to_string())?;
    for statement in [
        "SET GLOBAL local_infile = 1",
        "DROP DATABASE IF EXISTS local_files",
        "CREATE DATABASE local_files",
        "CREATE TABLE local_files.t (id INT PRIMARY KEY)",
    ] {
        conn.query_drop(statement).map_err(|e| e.to_string())?;
    }
    let mut rows = |expected: u64| {
        let found: Option<u64> = conn
            .query_first("SELECT COUNT(*) FROM local_files.t")
            .map_err(|e| e.to_string())?;
        match found == Some(expected) {
            true => Ok(()),
            false => Err(format!("{found:?} rows, {expected} expected")),
        }
    };
    let text = |e: io::Error| e.to_string();
    let mut raw = Raw::login_with(address, CLIENT_LOCAL_FILES).map_err(text)?;
    sent(&mut raw, LOAD, &[], &Answer::Ok)?;
    sent(&mut raw, LOAD, &[b"1\n2\n", b"3"], &Answer::Ok)?;
    rows(3)?;
    // The rest of the file is read before the error is sent.
    let wrong = Answer::Error {
        code: 1366,
        state: "HY000".to_owned(),
    };
    sent(&mut raw, REPLACE, &[b"5\nx\n", b"6\n", b"7\n"], &wrong)?;
    rows(3)?;
    let ping = raw.command(b"\x0e").map_err(text)?;
    if ping != Answer::Ok {
        return Err(format!("COM_PING: {ping:?}"));
    }
    request(&mut raw, LOAD)?;
    raw.write(b"8\n9\n").map_err(text)?;
    drop(raw);
    let mut without = Raw::login(address).map_err(text)?;
    let refused = without.command(LOAD).map_err(text)?;
    let expected = Answer::Error {
        code: 3948,
        state: "42000".to_owned(),
    };
    if refused != expected {
        return Err(format!("a client without the capability: {refused:?}"));
    }
    rows(3)?;
    conn.query_drop("DROP DATABASE local_files")
        .map_err(|e| e.to_string())
}

/// Starts a LOAD DATA LOCAL: the server asks for the file.
fn request(raw: &mut Raw, statement: &[u8]) -> Result<(), String> {
    let asked = raw.command(statement).map_err(|e| e.to_string())?;
    match asked == Answer::Other(b"\xfbf".to_vec()) {
        true => Ok(()),
        false => Err(format!("the server does not ask for the file: {asked:?}")),
    }
}

/// Sends a file in pieces, and checks the reply.
fn sent(raw: &mut Raw, statement: &[u8], pieces: &[&[u8]], expected: &Answer) -> Result<(), String> {
    request(raw, statement)?;
    for piece in pieces.iter().chain([&b"".as_slice()]) {
        raw.write(piece).map_err(|e| e.to_string())?;
    }
    let got = raw.answer().map_err(|e| e.to_string())?;
    match got == *expected {
        true => Ok(()),
        false => Err(format!("a file of {} pieces: {got:?}", pieces.len())),
    }
}
