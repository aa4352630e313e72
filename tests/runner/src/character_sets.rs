//! Results in `character_set_results`, character sets requested at login, and bytes that are not valid
//! text. All are compared as bytes, since drivers convert them.

use crate::raw::{Answer, Raw};
use crate::server::Address;

/// A result: its columns' names, and its rows, whose values are short.
type Rows = (Vec<Vec<u8>>, Vec<Vec<Vec<u8>>>);

/// The texts, shorter than 251 bytes, at the start of a packet.
fn texts(packet: &[u8], count: usize) -> Result<Vec<Vec<u8>>, String> {
    let mut rest = packet;
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let (&length, behind) = rest.split_first().ok_or("a packet ends too early")?;
        let length = if length == 0xfb { 0 } else { usize::from(length) };
        all.push(behind.get(..length).ok_or("a text ends too early")?.to_vec());
        rest = &behind[length..];
    }
    Ok(all)
}

fn is_eof(packet: &[u8]) -> bool {
    packet.first() == Some(&0xfe) && packet.len() < 9
}

fn names(raw: &mut Raw, count: usize) -> Result<Vec<Vec<u8>>, String> {
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        let packet = raw.read().map_err(|e| e.to_string())?;
        // Catalog, database, table, original table, name.
        names.extend(texts(&packet, 5)?.pop());
    }
    if count > 0 && !is_eof(&raw.read().map_err(|e| e.to_string())?) {
        return Err("no end of the definitions".to_owned());
    }
    Ok(names)
}

/// The rows that a command returns. Binary ones are left out.
fn rows(raw: &mut Raw, command: &[u8]) -> Result<Rows, String> {
    let first = match raw.command(command).map_err(|e| e.to_string())? {
        Answer::Other(packet) => packet,
        other => return Err(format!("{}: {other:?}", command.escape_ascii())),
    };
    let columns = usize::from(first.first().copied().unwrap_or(0));
    let names = names(raw, columns)?;
    let mut rows = Vec::new();
    loop {
        let packet = raw.read().map_err(|e| e.to_string())?;
        if is_eof(&packet) {
            return Ok((names, rows));
        }
        if command.first() == Some(&3) {
            rows.push(texts(&packet, columns)?);
        }
    }
}

/// The number of the collation that the only column of a query's result announces.
fn announced(raw: &mut Raw, select: &[u8]) -> Result<u16, String> {
    match raw.command(&query(select)).map_err(|e| e.to_string())? {
        Answer::Other(count) if count == [1] => {}
        other => return Err(format!("{}: {other:?}", select.escape_ascii())),
    }
    let definition = raw.read().map_err(|e| e.to_string())?;
    while !is_eof(&raw.read().map_err(|e| e.to_string())?) {}
    while !is_eof(&raw.read().map_err(|e| e.to_string())?) {}
    // Behind the texts: the length of what follows, the collation, and ten more bytes.
    let fixed = definition
        .len()
        .checked_sub(12)
        .ok_or("a definition is too short")?;
    match definition.get(fixed..fixed + 2) {
        Some([low, high]) => Ok(u16::from_le_bytes([*low, *high])),
        _ => Err("a definition is too short".to_owned()),
    }
}

fn query(text: &[u8]) -> Vec<u8> {
    [b"\x03", text].concat()
}

fn done(raw: &mut Raw, text: &[u8]) -> Result<(), String> {
    match raw.command(&query(text)).map_err(|e| e.to_string())? {
        Answer::Ok => Ok(()),
        other => Err(format!("{}: {other:?}", text.escape_ascii())),
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), String> {
    if got == expected {
        return Ok(());
    }
    Err(format!("{what}: {got:?}, expected {expected:?}"))
}

fn login(address: &Address) -> Result<Raw, String> {
    Raw::login(address).map_err(|e| format!("login: {e}"))
}

/// Names of columns by `character_set_results`.
const NAMES: [(&str, &[u8]); 6] = [
    ("utf8mb4", "é漢?".as_bytes()),
    ("latin1", b"\xe9??"),
    ("ascii", b"???"),
    ("utf8mb3", "é漢?".as_bytes()),
    ("binary", "é漢?".as_bytes()),
    ("NULL", "é漢?".as_bytes()),
];

pub fn column_names(address: &Address) -> Result<(), String> {
    let mut raw = login(address)?;
    let select = "SELECT 'é漢😀', t.x FROM (SELECT 1 AS x) AS t".as_bytes();
    // COM_STMT_PREPARE; the definitions at the execution are checked.
    let prepared = match raw
        .command(&[b"\x16", select].concat())
        .map_err(|e| e.to_string())?
    {
        Answer::Ok => names(&mut raw, 2)?,
        other => return Err(format!("prepare: {other:?}")),
    };
    equal(
        "prepared",
        prepared,
        vec!["é漢?".as_bytes().to_vec(), b"x".to_vec()],
    )?;
    let execute = b"\x17\x01\0\0\0\0\x01\0\0\0";
    for (results, name) in NAMES.iter().chain(&NAMES[..2]) {
        done(
            &mut raw,
            format!("SET character_set_results = {results}").as_bytes(),
        )?;
        for command in [query(select), execute.to_vec()] {
            let (names, _) = rows(&mut raw, &command)?;
            equal(results, names, vec![name.to_vec(), b"x".to_vec()])?;
        }
    }
    Ok(())
}

pub fn error_messages(address: &Address) -> Result<(), String> {
    let mut raw = login(address)?;
    let utf8 = "Unknown column 'nö漢' in 'field list'".as_bytes();
    for (results, message) in [
        ("latin1", &b"Unknown column 'n\xf6\\6F22' in 'field list'"[..]),
        ("ascii", b"Unknown column 'n\\00F6\\6F22' in 'field list'"),
        ("utf8mb3", utf8),
        ("binary", utf8),
        ("NULL", utf8),
        ("utf8mb4", utf8),
    ] {
        done(
            &mut raw,
            format!("SET character_set_results = {results}").as_bytes(),
        )?;
        raw.sequence = 0;
        raw.write(&query("SELECT `nö漢`".as_bytes()))
            .map_err(|e| e.to_string())?;
        let packet = raw.read().map_err(|e| e.to_string())?;
        // After the number and the SQLSTATE.
        let got = packet.get(9..).unwrap_or_default();
        equal(
            results,
            got.escape_ascii().to_string(),
            message.escape_ascii().to_string(),
        )?;
    }
    Ok(())
}

/// Database, table, original table and name of a column, in the letter case of the statement.
pub fn table_names(address: &Address) -> Result<(), String> {
    let mut raw = login(address)?;
    for (select, expected) in [
        (
            "SELECT default_collate_name FROM INFORMATION_SCHEMA.Character_Sets LIMIT 0",
            "def information_schema Character_Sets CHARACTER_SETS DEFAULT_COLLATE_NAME",
        ),
        (
            "SELECT Id FROM Information_Schema.processList LIMIT 0",
            "def information_schema processList PROCESSLIST Id",
        ),
        (
            "SELECT T.id FROM information_schema.processlist T LIMIT 0",
            "def information_schema T PROCESSLIST id",
        ),
    ] {
        raw.sequence = 0;
        raw.write(&query(select.as_bytes())).map_err(|e| e.to_string())?;
        let mut packets = Vec::new();
        for _ in 0..4 {
            packets.push(raw.read().map_err(|e| e.to_string())?);
        }
        let definition = texts(packets.get(1).map_or(&[][..], Vec::as_slice), 5)?;
        equal(select, definition.join(&b' '), expected.as_bytes().to_vec())?;
    }
    Ok(())
}

/// Collations selected by number in the client's first packet. Results announce them until
/// `character_set_results` is set, and those that SET NAMES names.
pub fn collations_at_login(address: &Address) -> Result<(), String> {
    for (id, charset, collation, number) in [
        (8, "latin1", "latin1_swedish_ci", 8),
        (33, "utf8mb3", "utf8mb3_general_ci", 33),
        (45, "utf8mb4", "utf8mb4_general_ci", 45),
        (63, "binary", "binary", 63),
        (83, "utf8mb3", "utf8mb3_bin", 83),
        (192, "utf8mb3", "utf8mb3_unicode_ci", 192),
        (214, "utf8mb3", "utf8mb3_unicode_520_ci", 214),
        // Not one of MySQL's collations: the server's default is used.
        (254, "utf8mb4", "utf8mb4_0900_ai_ci", 255),
    ] {
        let (mut raw, answer) = Raw::log_in(address, 0, id).map_err(|e| format!("{id}: {e}"))?;
        equal("login", answer, Answer::Ok)?;
        let select = b"SELECT @@character_set_client, @@character_set_results, @@collation_connection";
        let (_, found) = rows(&mut raw, &query(select))?;
        let expected = [charset, charset, collation].map(|name| name.as_bytes().to_vec());
        equal(&id.to_string(), found, vec![expected.to_vec()])?;
        let text = b"SELECT DATABASE()";
        equal(collation, announced(&mut raw, text)?, number)?;
        for (set, number) in [
            ("SET NAMES utf8mb4 COLLATE utf8mb4_bin", 46),
            ("SET character_set_results = utf8mb4", 255),
            ("SET NAMES latin1 COLLATE latin1_bin", 47),
            ("SET character_set_connection = utf8mb4", 47),
            ("SET collation_connection = utf8mb4_bin", 47),
            ("SET CHARACTER SET latin1", 8),
            ("SET NAMES utf8mb3", 33),
        ] {
            done(&mut raw, set.as_bytes())?;
            equal(set, announced(&mut raw, text)?, number)?;
        }
    }
    // utf16_general_ci
    let (_, answer) = Raw::log_in(address, 0, 54).map_err(|e| e.to_string())?;
    let refused = Answer::Error {
        code: 1231,
        state: "42000".to_owned(),
    };
    equal("utf16", answer, refused)
}

/// Bytes that are not valid text: warning 1300, and they are unchanged.
pub fn invalid_text(address: &Address) -> Result<(), String> {
    let mut raw = login(address)?;
    for (client, select, value, warning) in [
        (
            "utf8mb4",
            &b"'a\xffbcde'"[..],
            &b"a\xffbcde"[..],
            "Invalid utf8mb4 character string: 'FF6263'",
        ),
        (
            "utf8mb4",
            b"_utf8mb4'\xe4'",
            b"\xe4",
            "Invalid utf8mb4 character string: 'E4'",
        ),
        ("utf8mb4", b"_binary'a\xff'", b"a\xff", ""),
        (
            "utf8mb3",
            "'a😀'".as_bytes(),
            "a😀".as_bytes(),
            "Invalid utf8mb3 character string: 'F09F98'",
        ),
        ("utf8mb3", "'é'".as_bytes(), "é".as_bytes(), ""),
        (
            "ascii",
            b"'a\xe4'",
            b"a\xe4",
            "Invalid ascii character string: 'E4'",
        ),
        ("latin1", b"'a\xe4'", b"a\xe4", ""),
        ("binary", b"'a\xff'", b"a\xff", ""),
    ] {
        done(&mut raw, format!("SET NAMES {client}").as_bytes())?;
        let what = format!("{client} {}", select.escape_ascii());
        let (names, found) = rows(&mut raw, &query(&[b"SELECT ", select, b" AS x"].concat()))?;
        equal(&what, found, vec![vec![value.to_vec()]])?;
        equal(&what, names, vec![b"x".to_vec()])?;
        let (_, warnings) = rows(&mut raw, &query(b"SHOW WARNINGS"))?;
        let warnings: Vec<String> = warnings
            .iter()
            .filter_map(|row| row.get(2))
            .map(|text| String::from_utf8_lossy(text).into_owned())
            .collect();
        let expected: Vec<String> = Some(warning.to_owned())
            .filter(|w| !w.is_empty())
            .into_iter()
            .collect();
        equal(&what, warnings, expected)?;
    }
    done(&mut raw, b"SET NAMES utf8mb4")?;
    let (names, _) = rows(
        &mut raw,
        &query(b"SELECT 'a\xffbcde', 'a\xffb', _binary'a\xff', 1 AS `x\xe4`"),
    )?;
    equal(
        "names",
        names,
        [&b"a?bcde"[..], b"a", b"a?", b"x"].map(<[u8]>::to_vec).to_vec(),
    )?;
    done(&mut raw, b"CREATE DATABASE IF NOT EXISTS protocol_text")?;
    done(
        &mut raw,
        b"CREATE TABLE protocol_text.t (t VARCHAR(9), b VARBINARY(9), l VARCHAR(9) CHARACTER SET latin1)",
    )?;
    for (column, value, code, state) in [
        ("t", b"a\xff".as_slice(), 1366, "HY000"),
        // It breaks off in what could be a character.
        ("l", b"a\xff", 1406, "22001"),
        ("l", b"a\xe9\xe9\xe9", 1366, "HY000"),
    ] {
        let refused = Answer::Error {
            code,
            state: state.to_owned(),
        };
        let insert = format!("INSERT INTO protocol_text.t ({column}) VALUES ('");
        let insert = query(&[insert.as_bytes(), value, b"')"].concat());
        equal(column, raw.command(&insert).map_err(|e| e.to_string())?, refused)?;
    }
    done(&mut raw, b"INSERT INTO protocol_text.t (b) VALUES ('a\xff')")?;
    let (_, counted) = rows(
        &mut raw,
        &query(b"SELECT @@warning_count, HEX(b) FROM protocol_text.t"),
    )?;
    equal("binary", counted, vec![vec![b"1".to_vec(), b"61FF".to_vec()]])?;
    let (_, counted) = rows(
        &mut raw,
        &query(
            b"SELECT COUNT(t = 'a\xff'), COUNT(t LIKE 'a\xff'), SUM(b = 'a\xff'), COUNT(l = 'a\xff') FROM protocol_text.t",
        ),
    )?;
    equal(
        "compared",
        counted,
        vec![vec![b"0".to_vec(), b"0".to_vec(), b"1".to_vec(), b"0".to_vec()]],
    )?;
    done(&mut raw, b"DROP DATABASE protocol_text")
}
