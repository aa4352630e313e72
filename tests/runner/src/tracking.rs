//! The reports about its transaction that a client with SESSION_TRACK receives, packet by packet.

use std::io;

use crate::raw::Raw;
use crate::server::Address;

const CLIENT_SESSION_TRACK: u32 = 1 << 23;
const CLIENT_DEPRECATE_EOF: u32 = 1 << 24;
const SERVER_SESSION_STATE_CHANGED: u64 = 1 << 14;
const CHARACTERISTICS: u8 = 4;
const STATE: u8 = 5;

/// A statement, and what the last packet of its reply reports: the state of the transaction, and the
/// statements that would start it again.
type Step = (&'static str, Option<&'static str>, Option<&'static str>);

const NONE: Option<&str> = Some("________");

/// With `session_track_transaction_info = 'CHARACTERISTICS'`.
const STEPS: &[Step] = &[
    ("SELECT 1", None, None),
    ("SELECT id FROM tracked", None, None),
    ("BEGIN", Some("T_______"), Some("START TRANSACTION;")),
    ("SELECT 1", Some("T_____S_"), None),
    ("SELECT v FROM tracked WHERE id = 1", Some("T_R___S_"), None),
    ("SELECT v FROM tracked WHERE id = 1", None, None),
    ("UPDATE tracked SET v = 2", Some("T_R_W_S_"), None),
    ("SAVEPOINT s", None, None),
    ("COMMIT", NONE, Some("")),
    ("COMMIT", None, None),
    (
        "START TRANSACTION READ ONLY",
        Some("T_______"),
        Some("START TRANSACTION READ ONLY;"),
    ),
    ("ROLLBACK", NONE, Some("")),
    (
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE",
        Some("T_R_____"),
        Some("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE;"),
    ),
    ("ROLLBACK", NONE, Some("")),
    (
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        None,
        Some("SET TRANSACTION ISOLATION LEVEL READ COMMITTED;"),
    ),
    (
        "SET TRANSACTION READ ONLY",
        None,
        Some("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET TRANSACTION READ ONLY;"),
    ),
    (
        "BEGIN",
        Some("T_______"),
        Some("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ ONLY;"),
    ),
    ("COMMIT", NONE, Some("")),
    ("SET autocommit = 0", None, None),
    ("SELECT 1", None, None),
    ("INSERT INTO tracked VALUES (2, 2)", Some("I___W___"), None),
    ("SELECT COUNT(*) FROM tracked FOR UPDATE", Some("I___W_S_"), None),
    ("ROLLBACK", NONE, None),
    ("SET autocommit = 1", None, None),
    ("LOCK TABLES tracked READ", Some("_______L"), None),
    ("UNLOCK TABLES", NONE, None),
    ("BEGIN", Some("T_______"), Some("START TRANSACTION;")),
    (
        "INSERT INTO tracked SELECT id + 10, v FROM tracked",
        Some("T_R_W___"),
        None,
    ),
    ("CREATE TABLE tracked2 (id INT)", NONE, Some("")),
    ("DROP TABLE tracked, tracked2", None, None),
];

pub(crate) fn steps(address: &Address) -> Result<(), String> {
    let text = |e: io::Error| e.to_string();
    let mut raw = Raw::login_with(address, CLIENT_SESSION_TRACK | CLIENT_DEPRECATE_EOF).map_err(text)?;
    for statement in [
        "CREATE DATABASE IF NOT EXISTS tracking",
        "USE tracking",
        "DROP TABLE IF EXISTS tracked, tracked2",
        "CREATE TABLE tracked (id INT PRIMARY KEY, v INT)",
        "INSERT INTO tracked VALUES (1, 1)",
        "SET session_track_transaction_info = 'CHARACTERISTICS'",
    ] {
        reported(&mut raw, statement)?;
    }
    for (n, (statement, state, characteristics)) in STEPS.iter().enumerate() {
        let got = reported(&mut raw, statement)?;
        let expected = (state.map(str::to_owned), characteristics.map(str::to_owned));
        if got != expected {
            return Err(format!(
                "step {n}, {statement}: got {got:?}, expected {expected:?}"
            ));
        }
    }
    Ok(())
}

/// With `session_track_state_change = ON`: a statement, and whether its reply reports a change of the
/// session.
const CHANGES: &[(&str, bool)] = &[
    ("SET session_track_state_change = 1", false),
    ("DO 1", false),
    ("SET @x = 1", true),
    ("SET @x = 1, wait_timeout = 500", true),
    ("PREPARE s FROM 'SELECT 1'", true),
    ("DEALLOCATE PREPARE s", true),
    ("SET session_track_schema = 0", true),
    ("USE tracking", true),
    ("SET GLOBAL net_retry_count = 10", false),
];

/// Unlike the others, this entry is not a string.
const STATE_CHANGED: &[u8] = b"\x02\x011";

pub(crate) fn changes(address: &Address) -> Result<(), String> {
    let text = |e: io::Error| e.to_string();
    let mut raw = Raw::login_with(address, CLIENT_SESSION_TRACK | CLIENT_DEPRECATE_EOF).map_err(text)?;
    reported(&mut raw, "CREATE DATABASE IF NOT EXISTS tracking")?;
    for (statement, expected) in CHANGES {
        let last = last_packet(&mut raw, statement)
            .map_err(|e| format!("{statement}: {e}"))?
            .ok_or_else(|| format!("{statement} failed"))?;
        if last.ends_with(STATE_CHANGED) != *expected {
            return Err(format!("{statement}: got {last:?}"));
        }
    }
    Ok(())
}

/// Runs a statement. Returns the state and the characteristics that the last packet of its reply reports.
fn reported(raw: &mut Raw, statement: &str) -> Result<(Option<String>, Option<String>), String> {
    let last = last_packet(raw, statement)
        .map_err(|e| format!("{statement}: {e}"))?
        .ok_or_else(|| format!("{statement} failed"))?;
    parse(&last).ok_or_else(|| format!("{statement}: {last:?}"))
}

/// The OK packet that ends the reply, without its first byte; `None`: an error.
fn last_packet(raw: &mut Raw, statement: &str) -> io::Result<Option<Vec<u8>>> {
    raw.sequence = 0;
    raw.write(&[b"\x03", statement.as_bytes()].concat())?;
    let first = raw.read()?;
    let columns = match first.split_first() {
        Some((0, rest)) => return Ok(Some(rest.to_vec())),
        Some((0xff, _)) | None => return Ok(None),
        Some((columns, _)) => *columns,
    };
    for _ in 0..columns {
        raw.read()?;
    }
    loop {
        match raw.read()?.split_first() {
            Some((0xfe, rest)) => return Ok(Some(rest.to_vec())),
            Some((0xff, _)) => return Ok(None),
            _ => {}
        }
    }
}

fn parse(mut ok: &[u8]) -> Option<(Option<String>, Option<String>)> {
    let (_affected, _id) = (integer(&mut ok)?, integer(&mut ok)?);
    let flags = u64::from(u16::from_le_bytes(*ok.first_chunk()?));
    ok = ok.get(4..)?;
    let (mut state, mut characteristics) = (None, None);
    if flags & SERVER_SESSION_STATE_CHANGED == 0 {
        return Some((state, characteristics));
    }
    let _info = string(&mut ok)?;
    let mut changes = string(&mut ok)?;
    while let Some((kind, mut rest)) = changes.split_first() {
        let mut entry = string(&mut rest)?;
        changes = rest;
        let field = match *kind {
            STATE => &mut state,
            CHARACTERISTICS => &mut characteristics,
            _ => continue,
        };
        *field = Some(String::from_utf8(string(&mut entry)?.to_vec()).ok()?);
    }
    Some((state, characteristics))
}

/// `int<lenenc>`, of at most two bytes.
fn integer(from: &mut &[u8]) -> Option<u64> {
    let (first, rest) = from.split_first()?;
    let (value, rest) = match first {
        0xfc => (
            u64::from(u16::from_le_bytes(*rest.first_chunk()?)),
            rest.get(2..)?,
        ),
        small => (u64::from(*small), rest),
    };
    *from = rest;
    Some(value)
}

/// `string<lenenc>`.
fn string<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(integer(from)?).ok()?;
    let (text, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(text)
}
