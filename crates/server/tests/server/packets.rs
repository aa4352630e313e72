//! Packets of all sizes and values of all types, in both directions.

use mysql::prelude::Queryable;
use mysql::{Conn, Value};

use crate::support::{TestServer, mysql_error};

#[test]
fn beyond_16_mib_both_ways() {
    let server = TestServer::start();
    let mut conn = server.root();
    for length in [0xff_ffff - 8, 0xff_ffff - 7, 0xff_ffff, 20_000_000] {
        let sent = format!("LENGTH {}", "x".repeat(length));
        assert_eq!(conn.query_first::<usize, _>(sent).unwrap(), Some(length));
        // 0xff_ffff bytes of text make a row of four more bytes.
        let received: String = conn
            .query_first(format!("REPEAT {}", length - 4))
            .unwrap()
            .unwrap();
        assert_eq!(received.len(), length - 4);
    }
}

#[test]
fn max_allowed_packet() {
    let server = TestServer::start();
    let options = server
        .options("root", "")
        .max_allowed_packet(Some(200 * 1024 * 1024));
    let mut conn = Conn::new(options).unwrap();
    let sent = format!("LENGTH {}", "x".repeat(65 * 1024 * 1024));
    // The client may find the connection closed while it is still writing.
    match conn.query_drop(sent) {
        Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1153),
        Err(_) => {}
        Ok(()) => panic!("a packet beyond the limit went through"),
    }
    assert!(server.root().ping().is_ok());
}

#[test]
fn parameters_of_every_type_come_back() {
    let server = TestServer::start();
    let mut conn = server.root();
    let sent = vec![
        Value::NULL,
        Value::Int(-5),
        Value::UInt(u64::MAX),
        Value::Float(1.5),
        Value::Double(-2.25),
        Value::Bytes("grün".into()),
        Value::Bytes(vec![0, 255, 1]),
        Value::Date(2024, 2, 29, 0, 0, 0, 0),
        Value::Date(2024, 2, 29, 23, 59, 58, 123_456),
        Value::Time(true, 34, 22, 59, 59, 0),
        Value::Time(false, 0, 0, 0, 1, 5),
    ];
    let row: mysql::Row = conn
        .exec_first("?,?,?,?,?,?,?,?,?,?,?", sent.clone())
        .unwrap()
        .unwrap();
    let mut expected = sent;
    expected[3] = Value::Double(1.5);
    assert_eq!(row.unwrap(), expected);
    // The same statement again, with other types.
    let row: mysql::Row = conn
        .exec_first("?,?,?,?,?,?,?,?,?,?,?", vec![Value::Int(1); 11])
        .unwrap()
        .unwrap();
    assert_eq!(row.unwrap(), vec![Value::Int(1); 11]);
}

#[test]
fn long_data() {
    let server = TestServer::start();
    let mut conn = server.root();
    // The driver sends a parameter that is longer than a packet in pieces, before the execution.
    let long = Value::Bytes(vec![b'x'; 20_000_000]);
    let row: mysql::Row = conn.exec_first("?,?", (long.clone(), 7)).unwrap().unwrap();
    assert_eq!(row.unwrap(), vec![long, Value::Int(7)]);
}

#[test]
fn a_panic_is_an_error_on_one_connection_only() {
    let server = TestServer::start();
    let (mut victim, mut other) = (server.root(), server.root());
    assert_eq!(mysql_error(victim.query_drop("PANIC")).0, 1105);
    assert!(victim.query_drop("ECHO 1").is_err());
    assert_eq!(
        other.query_first::<String, _>("ECHO hello").unwrap().unwrap(),
        "hello"
    );
}

#[test]
fn errors_leave_the_connection_open() {
    let server = TestServer::start();
    let mut conn = server.root();
    assert_eq!(
        mysql_error(conn.query_drop("NONSENSE")),
        (1064, "no such word: NONSENSE".to_owned())
    );
    assert_eq!(conn.query_first::<String, _>("ECHO 1").unwrap().unwrap(), "1");
}
