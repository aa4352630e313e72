//! Commands and packets that drivers rarely or never send. The expected replies are those of MySQL 8.0, and
//! are checked there.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use loadgen::random::Random;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use crate::character_sets;
use crate::local_files;
use crate::raw::{Answer, Raw, closed};
use crate::report::Report;
use crate::server::Address;
use crate::tracking;
use crate::transaction_flags;

type Check = fn(&Address) -> Result<(), String>;

pub fn check(address: &Address, report: &mut Report) {
    let checks: [(&str, Check); 23] = [
        ("simple commands", simple_commands),
        ("commands and what an account may do", commands_of_accounts),
        ("COM_FIELD_LIST", field_list),
        ("retired and unknown commands", unknown_commands),
        ("statements that are not there", unknown_statements),
        ("garbage instead of a login", garbage_at_login),
        ("garbage instead of a command", garbage_commands),
        ("packets out of order", out_of_order),
        ("broken statement parameters", broken_parameters),
        ("clients that vanish", vanishing),
        ("files of clients", local_files::check),
        ("max_allowed_packet", max_allowed_packet),
        ("max_connections", max_connections),
        ("an idle client gets an error with number 0", idle_clients),
        ("what opens a transaction", transaction_flags::check),
        ("transactions are tracked", tracking::steps),
        ("changes of the session are tracked", tracking::changes),
        ("names in character_set_results", character_sets::column_names),
        (
            "messages in character_set_results",
            character_sets::error_messages,
        ),
        (
            "names of tables in the case they are written in",
            character_sets::table_names,
        ),
        ("collations at login", character_sets::collations_at_login),
        ("bytes that are no text", character_sets::invalid_text),
        ("random packets", random_packets),
    ];
    for (name, check) in checks {
        // Whatever a connection does, the server must work for the next one.
        let result = check(address).and_then(|()| alive(address));
        report.check(&format!("protocol: {name}"), result);
    }
}

fn alive(address: &Address) -> Result<(), String> {
    let mut conn = address.connect().map_err(|e| format!("afterwards: {e}"))?;
    match conn.query_first::<u8, _>("SELECT 1") {
        Ok(Some(1)) => Ok(()),
        other => Err(format!("afterwards: {other:?}")),
    }
}

fn error(code: u16, state: &str) -> Answer {
    Answer::Error {
        code,
        state: state.to_string(),
    }
}

fn expect(raw: &mut Raw, what: &str, payload: &[u8], expected: &Answer) -> Result<(), String> {
    let got = raw.command(payload).map_err(|e| format!("{what}: {e}"))?;
    if got != *expected {
        return Err(format!("{what}: {got:?}, expected {expected:?}"));
    }
    Ok(())
}

fn login(address: &Address) -> Result<Raw, String> {
    Raw::login(address).map_err(|e| format!("login: {e}"))
}

/// Commands that are not statements, from an account that has lost a privilege, and from one whose password has
/// expired.
fn commands_of_accounts(address: &Address) -> Result<(), String> {
    const CAN_HANDLE_EXPIRED_PASSWORDS: u32 = 1 << 22;
    const DROP: &str = "DROP USER IF EXISTS protocol_user, protocol_other";
    let mut root = address.connect().map_err(|e| e.to_string())?;
    let mut run = |sql: &str| root.query_drop(sql).map_err(|e| format!("{sql}: {e}"));
    let log_in = |user: &str, capabilities| {
        Raw::login_as(address, user, capabilities).map_err(|e| format!("login of {user}: {e}"))
    };
    run(DROP)?;
    run("CREATE USER protocol_user, protocol_other")?;
    run("GRANT CONNECTION_ADMIN ON *.* TO protocol_user")?;
    let mut user = log_in("protocol_user", 0)?;
    let mut other = log_in("protocol_other", 0)?;
    let mut kill = vec![0x0c];
    kill.extend(connection_id(&mut other)?.to_le_bytes());
    run("REVOKE CONNECTION_ADMIN ON *.* FROM protocol_user")?;
    // In MySQL, connections keep their global privileges.
    if address.stemdb {
        expect(&mut user, "COM_PROCESS_KILL", &kill, &error(1095, "HY000"))?;
    }
    run("ALTER USER protocol_user PASSWORD EXPIRE")?;
    let mut expired = log_in("protocol_user", CAN_HANDLE_EXPIRED_PASSWORDS)?;
    expect(&mut expired, "COM_PING", b"\x0e", &Answer::Ok)?;
    for (what, command) in [
        ("COM_INIT_DB", &b"\x02information_schema"[..]),
        ("COM_FIELD_LIST", b"\x04t\0"),
        ("COM_STATISTICS", b"\x09"),
        ("COM_PROCESS_INFO", b"\x0a"),
        ("COM_PROCESS_KILL", &kill),
        ("COM_RESET_CONNECTION", b"\x1f"),
        ("COM_QUERY", b"\x03DO 1"),
    ] {
        expect(&mut expired, what, command, &error(1820, "HY000"))?;
    }
    run(DROP)
}

fn connection_id(raw: &mut Raw) -> Result<u32, String> {
    let failed = |e: std::io::Error| e.to_string();
    raw.command(b"\x03SELECT CONNECTION_ID()").map_err(failed)?;
    // The column's definition, the end of the definitions, the row, the end of the rows.
    let packets = [(); 4].map(|()| raw.read());
    let [_, _, row, _] = packets;
    let row = row.map_err(failed)?;
    let text = row.get(1..).and_then(|text| std::str::from_utf8(text).ok());
    let id = text.and_then(|text| text.parse().ok());
    id.ok_or_else(|| format!("SELECT CONNECTION_ID(): {row:?}"))
}

fn simple_commands(address: &Address) -> Result<(), String> {
    let mut raw = login(address)?;
    expect(&mut raw, "COM_PING", b"\x0e", &Answer::Ok)?;
    expect(&mut raw, "COM_INIT_DB", b"\x02mysql", &Answer::Ok)?;
    expect(
        &mut raw,
        "COM_INIT_DB",
        b"\x02no_such_database",
        &error(1049, "42000"),
    )?;
    expect(&mut raw, "COM_RESET_CONNECTION", b"\x1f", &Answer::Ok)?;
    expect(
        &mut raw,
        "COM_PROCESS_KILL",
        b"\x0c\xff\xff\xff\x7f",
        &error(1094, "HY000"),
    )?;
    expect(&mut raw, "COM_QUERY", b"\x03DO 1", &Answer::Ok)?;
    expect(&mut raw, "COM_QUERY", b"\x03", &error(1065, "42000"))?;
    match raw.command(b"\x09") {
        Ok(Answer::Other(text)) if text.starts_with(b"Uptime: ") => {}
        other => return Err(format!("COM_STATISTICS: {other:?}")),
    }
    // COM_SET_OPTION switches several statements in one query on and off.
    for (option, several) in [(b"\x1b\x00\x00", true), (b"\x1b\x01\x00", false)] {
        match raw.command(option) {
            Ok(Answer::Ok) => {}
            Ok(Answer::Other(eof)) if eof.first() == Some(&0xfe) => {}
            other => return Err(format!("COM_SET_OPTION: {other:?}")),
        }
        let mut second = raw.command(b"\x03DO 1; DO 2").map_err(|e| e.to_string())?;
        if several {
            second = raw.answer().map_err(|e| e.to_string())?;
        }
        let expected = if several { Answer::Ok } else { error(1064, "42000") };
        if second != expected {
            return Err(format!("several statements {several}: {second:?}"));
        }
    }
    raw.sequence = 0;
    raw.write(b"\x01").map_err(|e| e.to_string())?;
    match raw.answer() {
        Ok(Answer::Closed) => Ok(()),
        other => Err(format!("COM_QUIT: {other:?}")),
    }
}

/// Each definition ends with the column's default: client libraries refuse a reply without it.
fn field_list(address: &Address) -> Result<(), String> {
    let text = |e: std::io::Error| e.to_string();
    let mut raw = login(address)?;
    for statement in [
        "CREATE DATABASE IF NOT EXISTS field_list",
        "USE field_list",
        "DROP TABLE IF EXISTS t",
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(5) DEFAULT 'x', c VARCHAR(5) NOT NULL, \
         d DECIMAL(5,2) DEFAULT 1.5, e VARBINARY(3) DEFAULT 'yz', f DATETIME NOT NULL)",
    ] {
        let query = [b"\x03", statement.as_bytes()].concat();
        expect(&mut raw, statement, &query, &Answer::Ok)?;
    }
    let defaults: [&[u8]; 7] = [
        b"\x010",
        b"\xfb",
        b"\x01x",
        b"\0",
        b"\x041.50",
        b"\x02yz",
        b"\x130000-00-00 00:00:00",
    ];
    raw.sequence = 0;
    raw.write(b"\x04t\0").map_err(text)?;
    for default in defaults {
        let definition = raw.read().map_err(text)?;
        // After the number of decimals and two bytes that are always 0.
        if !definition.ends_with(&[b"\0\0", default].concat()) {
            return Err(format!("{definition:?} does not end with {default:?}"));
        }
    }
    let end = raw.read().map_err(text)?;
    if end.first() != Some(&0xfe) {
        return Err(format!("ends with {end:?}"));
    }
    expect(&mut raw, "no such table", b"\x04no_such\0", &error(1146, "42S02"))
}

fn unknown_commands(address: &Address) -> Result<(), String> {
    let mut raw = login(address)?;
    for command in [0x00, 0x05, 0x06, 0x0b, 0x0f, 0x10, 0x40, 0x7f, 0xfe, 0xff] {
        expect(
            &mut raw,
            &format!("command {command:#x}"),
            &[command, 1, 2],
            &error(1047, "08S01"),
        )?;
    }
    expect(&mut raw, "COM_PING", b"\x0e", &Answer::Ok)
}

fn unknown_statements(address: &Address) -> Result<(), String> {
    let mut raw = login(address)?;
    let execute = b"\x17\x63\x00\x00\x00\x00\x01\x00\x00\x00";
    expect(&mut raw, "COM_STMT_EXECUTE", execute, &error(1243, "HY000"))?;
    expect(
        &mut raw,
        "COM_STMT_RESET",
        b"\x1a\x63\x00\x00\x00",
        &error(1243, "HY000"),
    )?;
    let fetch = b"\x1c\x63\x00\x00\x00\x01\x00\x00\x00";
    expect(&mut raw, "COM_STMT_FETCH", fetch, &error(1243, "HY000"))?;
    // These two have no reply; the ping after them has one.
    for silent in [&b"\x19\x63\x00\x00\x00"[..], b"\x18\x63\x00\x00\x00\x00\x00abc"] {
        raw.sequence = 0;
        raw.write(silent).map_err(|e| e.to_string())?;
        expect(&mut raw, "COM_PING", b"\x0e", &Answer::Ok)?;
    }
    Ok(())
}

/// Expects an error packet or nothing, and then the end of the connection.
fn refused(raw: &mut Raw) -> Result<(), String> {
    for _ in 0..3 {
        match raw.answer() {
            Ok(Answer::Closed) => return Ok(()),
            Ok(Answer::Error { .. }) => {}
            other => return Err(format!("{other:?}")),
        }
    }
    Err("the connection goes on".to_string())
}

fn garbage_at_login(address: &Address) -> Result<(), String> {
    let mut random = Random::new(3);
    let mut noise = || -> Vec<u8> { (0..200).map(|_| random.below(256) as u8).collect() };
    let mut framed = |sequence: u8| {
        let payload = noise();
        let mut packet = vec![payload.len() as u8, 0, 0, sequence];
        packet.extend(payload);
        packet
    };
    let garbage = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        framed(1),
        framed(77),
        vec![0, 0, 0, 1],
        vec![1, 0, 0, 1, 0],
        // A login that ends in the middle of its fields.
        vec![10, 0, 0, 1, 0x85, 0xa2, 0x0f, 0, 0, 0, 0, 1, 45, 0],
    ];
    for bytes in garbage {
        let mut raw = Raw::open(address).map_err(|e| e.to_string())?;
        raw.read().map_err(|e| e.to_string())?;
        raw.stream.write_all(&bytes).map_err(|e| e.to_string())?;
        // A server that waits for the rest of a packet sees that nothing more comes.
        let _ = raw.stream.shutdown(Shutdown::Write);
        refused(&mut raw).map_err(|e| format!("after {:02x?}: {e}", &bytes[..bytes.len().min(16)]))?;
    }
    Ok(())
}

fn garbage_commands(address: &Address) -> Result<(), String> {
    let mut raw = login(address)?;
    // Bytes that are not UTF-8 and no SQL.
    expect(
        &mut raw,
        "noise as SQL",
        b"\x03\xff\xfe\x80\x00\x01'",
        &error(1064, "42000"),
    )?;
    expect(&mut raw, "COM_PING", b"\x0e", &Answer::Ok)?;
    raw.stream
        .write_all(b"\xff\xff\xff\x00and then nothing")
        .map_err(|e| e.to_string())?;
    let _ = raw.stream.shutdown(Shutdown::Write);
    refused(&mut raw).map_err(|e| format!("half a packet: {e}"))
}

fn out_of_order(address: &Address) -> Result<(), String> {
    let mut raw = login(address)?;
    raw.sequence = 5;
    raw.write(b"\x0e").map_err(|e| e.to_string())?;
    match raw.answer() {
        Ok(Answer::Error { code: 1156, state }) if state == "08S01" => {}
        other => return Err(format!("{other:?}")),
    }
    refused(&mut raw)
}

fn broken_parameters(address: &Address) -> Result<(), String> {
    for tail in [
        // Types announced but missing; a string longer than the packet; an invalid length; too few bytes
        // for a date.
        &b"\x00\x01"[..],
        b"\x00\x01\x0f\x00\x0f\x00\x30abc\x01a",
        b"\x00\x01\x0f\x00\x0f\x00\xff\x01a",
        b"\x00\x01\x0a\x00\x0f\x00\x04\xe8",
        b"",
    ] {
        let mut raw = login(address)?;
        raw.sequence = 0;
        raw.write(b"\x16SELECT ?, ?").map_err(|e| e.to_string())?;
        let prepared = raw.read().map_err(|e| e.to_string())?;
        let mut execute = vec![0x17];
        execute.extend(prepared.get(1..5).ok_or("no statement id")?);
        execute.extend(b"\x00\x01\x00\x00\x00");
        execute.extend(tail);
        // Parameters and columns: 2 + 2 definitions and an EOF after each.
        for _ in 0..6 {
            raw.read().map_err(|e| format!("definitions: {e}"))?;
        }
        match raw.command(&execute) {
            Ok(Answer::Error { .. } | Answer::Closed) => {}
            other => return Err(format!("{tail:02x?}: {other:?}")),
        }
    }
    Ok(())
}

fn vanishing(address: &Address) -> Result<(), String> {
    let mut conn = address.connect().map_err(|e| e.to_string())?;
    for statement in [
        "DROP DATABASE IF EXISTS protocol",
        "CREATE DATABASE protocol",
        "CREATE TABLE protocol.t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO protocol.t VALUES (1, 0), (2, 0)",
        "SET innodb_lock_wait_timeout = 20",
    ] {
        conn.query_drop(statement).map_err(|e| e.to_string())?;
    }
    // The client vanishes in a transaction, while a statement runs, and before it has read the reply.
    let mut idle = login(address)?;
    expect(&mut idle, "BEGIN", b"\x03BEGIN", &Answer::Ok)?;
    expect(
        &mut idle,
        "UPDATE",
        b"\x03UPDATE protocol.t SET v = 1 WHERE id = 1",
        &Answer::Ok,
    )?;
    drop(idle);
    let mut running = login(address)?;
    expect(&mut running, "BEGIN", b"\x03BEGIN", &Answer::Ok)?;
    expect(
        &mut running,
        "UPDATE",
        b"\x03UPDATE protocol.t SET v = 1 WHERE id = 2",
        &Answer::Ok,
    )?;
    running.sequence = 0;
    running.write(b"\x03DO SLEEP(30)").map_err(|e| e.to_string())?;
    std::thread::sleep(Duration::from_millis(100));
    drop(running);
    conn.query_drop("UPDATE protocol.t SET v = 2")
        .map_err(|e| format!("the rows of clients that are gone: {e}"))
}

fn max_allowed_packet(address: &Address) -> Result<(), String> {
    let mut conn = address.connect().map_err(|e| e.to_string())?;
    let before: Option<u64> = conn
        .query_first("SELECT @@global.max_allowed_packet")
        .map_err(|e| e.to_string())?;
    conn.query_drop("SET GLOBAL max_allowed_packet = 1048576")
        .map_err(|e| e.to_string())?;
    let result = (|| {
        let mut raw = login(address)?;
        let mut query = b"\x03SELECT '".to_vec();
        query.resize(900_000, b'x');
        query.push(b'\'');
        match raw.command(&query) {
            Ok(Answer::Other(_)) => {}
            other => return Err(format!("900 kB: {other:?}")),
        }
        let mut raw = login(address)?;
        query.resize(2_000_000, b'x');
        raw.sequence = 0;
        // The server may close the connection before all of it is sent.
        let _ = raw.write(&query);
        match raw.answer() {
            Ok(Answer::Error { code: 1153, state }) if state == "08S01" => {}
            Ok(Answer::Closed) => {}
            other => return Err(format!("2 MB: {other:?}")),
        }
        let mut rest = Vec::new();
        match raw.stream.read_to_end(&mut rest) {
            Ok(_) => Ok(()),
            Err(e) if closed(&e) => Ok(()),
            Err(e) => Err(e.to_string()),
        }
    })();
    let before = before.unwrap_or(64 << 20);
    conn.query_drop(format!("SET GLOBAL max_allowed_packet = {before}"))
        .map_err(|e| e.to_string())?;
    result
}

fn connected(conn: &mut Conn) -> Result<u64, String> {
    let row: Option<(String, u64)> = conn
        .query_first("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
        .map_err(|e| e.to_string())?;
    row.map(|(_, count)| count)
        .ok_or_else(|| "no Threads_connected".to_owned())
}

fn max_connections(address: &Address) -> Result<(), String> {
    let mut admin = address.connect().map_err(|e| e.to_string())?;
    for statement in [
        "DROP USER IF EXISTS 'protocol'@'%'",
        "CREATE USER 'protocol'@'%' IDENTIFIED WITH mysql_native_password BY 'sesame'",
    ] {
        admin.query_drop(statement).map_err(|e| e.to_string())?;
    }
    // The connections of earlier checks end first.
    let start = Instant::now();
    while connected(&mut admin)? > 1 && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(10));
    }
    admin
        .query_drop("SET GLOBAL max_connections = 5")
        .map_err(|e| e.to_string())?;
    let mut open = Vec::new();
    let mut refused = None;
    for _ in 0..8 {
        let opts: OptsBuilder = address.builder().user(Some("protocol")).pass(Some("sesame"));
        match Conn::new(opts) {
            Ok(conn) => open.push(conn),
            Err(mysql::Error::MySqlError(e)) => {
                refused = Some((e.code, e.state));
                break;
            }
            Err(e) => return Err(e.to_string()),
        }
    }
    let count = open.len();
    drop(open);
    admin
        .query_drop("SET GLOBAL max_connections = DEFAULT")
        .map_err(|e| e.to_string())?;
    if refused != Some((1040, "08004".to_string())) || count < 3 {
        return Err(format!("{count} connections, then {refused:?}"));
    }
    Ok(())
}

/// An idle client gets error 4031, which is no reply to a command. So its sequence number is 0, with
/// compression in both layers. Drivers treat any other number as a packet out of order.
fn idle_clients(address: &Address) -> Result<(), String> {
    const CLIENT_COMPRESS: u32 = 32;
    const SET: &[u8] = b"\x03SET wait_timeout = 1";
    let command = [&[SET.len() as u8, 0, 0, 0], SET].concat();
    let compressed = [&[command.len() as u8, 0, 0, 0, 0, 0, 0], command.as_slice()].concat();
    for (what, capabilities, command, header) in [
        ("plain", 0, &command, 4),
        ("compressed", CLIENT_COMPRESS, &compressed, 7),
    ] {
        let text = |e: std::io::Error| format!("{what}: {e}");
        let mut raw = Raw::login_with(address, capabilities).map_err(text)?;
        raw.stream.write_all(command).map_err(text)?;
        let mut sent = Vec::new();
        raw.stream.read_to_end(&mut sent).map_err(text)?;
        // The OK packet comes first, in a frame of its own.
        let ok = header + sent.first().copied().map_or(0, usize::from);
        let error = sent.get(ok..).unwrap_or_default();
        // A compressed packet contains its uncompressed length.
        let length = usize::from(*error.get(if header == 7 { 4 } else { 0 }).unwrap_or(&0));
        if error.get(3) != Some(&0) || length < 100 {
            return Err(format!("{what}: {error:?}"));
        }
        if header == 4 && error.get(4..7) != Some(b"\xff\xbf\x0f") {
            return Err(format!("{what}: {error:?}"));
        }
    }
    Ok(())
}

fn random_packets(address: &Address) -> Result<(), String> {
    let mut random = Random::new(11);
    let mut raw = login(address)?;
    for n in 0..1500 {
        let length = random.below(40) as usize + 1;
        let mut payload: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        // Usually real commands followed by random bytes; not commands that stop the server, dump its log,
        // or have replies that cannot be followed.
        payload[0] =
            [0x02, 0x03, 0x04, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1c, 0x1f, 0x09][random.below(11) as usize];
        raw.sequence = 0;
        if raw.write(&payload).is_err() {
            raw = login(address)?;
            continue;
        }
        if matches!(payload[0], 0x18 | 0x19) {
            continue;
        }
        match raw.answer() {
            Ok(Answer::Ok | Answer::Error { .. }) => {}
            // Part of a longer reply, or the end of the connection. Opening a new connection is simpler than
            // reading the rest.
            Ok(Answer::Other(_) | Answer::Closed) => raw = login(address)?,
            Err(e) => return Err(format!("packet {n}, {payload:02x?}: {e}")),
        }
    }
    Ok(())
}
