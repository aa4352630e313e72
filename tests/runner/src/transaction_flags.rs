//! Which statements open a transaction: SERVER_STATUS_IN_TRANS after each, in both protocols.

use std::io;

use crate::raw::Raw;
use crate::server::Address;

const CLIENT_DEPRECATE_EOF: u32 = 1 << 24;
const IN_TRANS: u16 = 1;
const AUTOCOMMIT: u16 = 2;
const IN_TRANS_READONLY: u16 = 1 << 13;

/// A statement, and whether it opens a transaction when it is the first one with autocommit off.
const STATEMENTS: &[(&str, bool)] = &[
    ("SELECT 1", false),
    ("SELECT 1 FROM DUAL WHERE 1 = 0", false),
    ("SELECT SLEEP(0), NOW(), @@version, CONNECTION_ID()", false),
    ("VALUES ROW(1)", false),
    ("SELECT 1 FOR UPDATE", false),
    ("SELECT * FROM (SELECT 1) AS d", false),
    ("DO 1", false),
    ("SET @x = 1", false),
    ("SHOW VARIABLES LIKE 'autocommit'", false),
    ("SELECT COUNT(*) FROM information_schema.PROCESSLIST", false),
    ("SELECT COUNT(*) FROM information_schema.ENGINES", false),
    ("SELECT COUNT(*) FROM information_schema.SCHEMATA", true),
    ("SELECT COUNT(*) FROM information_schema.CHARACTER_SETS", true),
    ("SELECT * FROM flags", true),
    ("SELECT * FROM flags WHERE id = 5", true),
    ("SELECT EXISTS (SELECT * FROM flags)", true),
    ("SELECT COUNT(*) FROM flags", true),
    ("SELECT * FROM flags FOR SHARE", true),
    ("DELETE FROM flags WHERE id = 5", true),
    ("INSERT INTO flags VALUES (5)", true),
];

pub(crate) fn check(address: &Address) -> Result<(), String> {
    let text = |e: io::Error| e.to_string();
    let mut raw = Raw::login_with(address, CLIENT_DEPRECATE_EOF).map_err(text)?;
    for statement in [
        "CREATE DATABASE IF NOT EXISTS tracking",
        "USE tracking",
        "DROP TABLE IF EXISTS flags",
        "CREATE TABLE flags (id INT PRIMARY KEY)",
    ] {
        raw_flags(&mut raw, statement)?;
    }
    for binary in [false, true] {
        for (statement, opens) in STATEMENTS {
            let run = if binary { prepared_flags } else { raw_flags };
            let opened = if *opens { IN_TRANS } else { 0 };
            raw_flags(&mut raw, "SET autocommit = 0")?;
            expect(run(&mut raw, statement)?, opened, statement)?;
            raw_flags(&mut raw, "ROLLBACK")?;
            raw_flags(&mut raw, "SET autocommit = 1")?;
            expect(run(&mut raw, statement)?, AUTOCOMMIT, statement)?;
            raw_flags(&mut raw, "DELETE FROM flags")?;
            raw_flags(&mut raw, "BEGIN")?;
            expect(run(&mut raw, statement)?, AUTOCOMMIT | IN_TRANS, statement)?;
            raw_flags(&mut raw, "ROLLBACK")?;
        }
    }
    for (statement, expected) in [
        (
            "START TRANSACTION READ ONLY",
            AUTOCOMMIT | IN_TRANS | IN_TRANS_READONLY,
        ),
        ("SELECT 1", AUTOCOMMIT | IN_TRANS | IN_TRANS_READONLY),
        ("COMMIT", AUTOCOMMIT),
        (
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            AUTOCOMMIT | IN_TRANS,
        ),
        ("ROLLBACK", AUTOCOMMIT),
        ("SET autocommit = 0", 0),
        ("SET TRANSACTION READ ONLY", 0),
        ("SELECT 1", 0),
        ("SAVEPOINT a", 0),
        ("SELECT * FROM flags", IN_TRANS | IN_TRANS_READONLY),
        ("DROP TABLE flags", 0),
    ] {
        expect(raw_flags(&mut raw, statement)?, expected, statement)?;
    }
    Ok(())
}

fn expect(flags: u16, expected: u16, statement: &str) -> Result<(), String> {
    let flags = flags & (IN_TRANS | AUTOCOMMIT | IN_TRANS_READONLY);
    match flags == expected {
        true => Ok(()),
        false => Err(format!("{statement}: flags {flags:#x}, expected {expected:#x}")),
    }
}

fn raw_flags(raw: &mut Raw, statement: &str) -> Result<u16, String> {
    command(raw, &[b"\x03", statement.as_bytes()].concat()).map_err(|e| format!("{statement}: {e}"))
}

/// By COM_STMT_PREPARE and COM_STMT_EXECUTE.
fn prepared_flags(raw: &mut Raw, statement: &str) -> Result<u16, String> {
    let prepare = |raw: &mut Raw| {
        raw.sequence = 0;
        raw.write(&[b"\x16", statement.as_bytes()].concat())?;
        let ok = raw.read()?;
        let (Some(0), Some(id), Some(columns)) = (ok.first(), ok.get(1..5), ok.get(5..7)) else {
            return Err(io::Error::other(format!("{ok:?}")));
        };
        for _ in 0..u16::from_le_bytes([columns[0], columns[1]]) {
            raw.read()?;
        }
        let execute = [b"\x17", id, b"\0\x01\0\0\0"].concat();
        command(raw, &execute)
    };
    prepare(raw).map_err(|e| format!("prepared {statement}: {e}"))
}

/// The status flags at the end of a command's reply.
fn command(raw: &mut Raw, payload: &[u8]) -> io::Result<u16> {
    raw.sequence = 0;
    raw.write(payload)?;
    let first = raw.read()?;
    let wrong = |packet: &[u8]| io::Error::other(format!("{packet:?}"));
    let columns = match first.split_first() {
        Some((0, rest)) => return flags(rest).ok_or_else(|| wrong(&first)),
        Some((0xff, _)) | None => return Err(wrong(&first)),
        Some((columns, _)) => *columns,
    };
    for _ in 0..columns {
        raw.read()?;
    }
    loop {
        let packet = raw.read()?;
        match packet.split_first() {
            Some((0xfe, rest)) => return flags(rest).ok_or_else(|| wrong(&packet)),
            Some((0xff, _)) | None => return Err(wrong(&packet)),
            _ => {}
        }
    }
}

/// The flags of an OK packet without its first byte: two small numbers come before them.
fn flags(ok: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes([*ok.get(2)?, *ok.get(3)?]))
}
