//! Connections over time: idleness, KILL, vanished clients, draining.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use server::StartError;

use crate::support::{TestServer, eventually};

#[test]
fn idle_connections_are_parked_and_come_back() {
    let server = TestServer::start_with(|config| config.park_after = Duration::from_millis(50)).unwrap();
    let mut connections: Vec<_> = (0..20).map(|_| server.root()).collect();
    let parked = || {
        let text = crate::status::get(&server, "/metrics").1;
        let line = text
            .lines()
            .find(|line| line.starts_with("stemdb_connections_parked "));
        line.unwrap().split(' ').nth(1).unwrap().parse::<f64>().unwrap() as usize
    };
    eventually("all are parked", || parked() == 20);
    for _ in 0..3 {
        for conn in &mut connections {
            assert_eq!(
                conn.query_first::<String, _>("ECHO back").unwrap().unwrap(),
                "back"
            );
        }
    }
    eventually("all are parked again", || parked() == 20);
    drop(connections);
    eventually("they are gone", || server.handle.connections() == 0);
}

#[test]
fn parked_tls_connections_come_back() {
    let server = TestServer::start_with(|config| config.park_after = Duration::from_millis(30)).unwrap();
    let tls = mysql::SslOpts::default().with_danger_accept_invalid_certs(true);
    let mut conn = mysql::Conn::new(server.options("root", "").ssl_opts(tls)).unwrap();
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(120));
        assert_eq!(
            conn.query_first::<String, _>("ECHO back").unwrap().unwrap(),
            "back"
        );
    }
}

/// The number of an error that is not the reply to a command, so its packet has number 0.
fn unasked_error(stream: &mut std::net::TcpStream) -> u16 {
    let (number, packet) = crate::raw::read_numbered(stream);
    assert_eq!((number, packet[0]), (0, 0xff));
    u16::from_le_bytes([packet[1], packet[2]])
}

#[test]
fn wait_timeout_closes_with_an_error() {
    for park_after in [Duration::from_millis(20), Duration::from_secs(60)] {
        let server = TestServer::start_with(|config| config.park_after = park_after).unwrap();
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        crate::raw::log_in_as_root(&mut stream);
        let started = Instant::now();
        std::io::Write::write_all(&mut stream, b"\x0a\0\0\0\x03TIMEOUT 1").unwrap();
        assert_eq!(crate::raw::read_packet(&mut stream)[0], 0);
        assert_eq!(unasked_error(&mut stream), 4031);
        assert!(started.elapsed() >= Duration::from_secs(1));
        assert!(crate::raw::read_packet(&mut stream).is_empty());
        drop(stream);
        eventually("it is closed", || server.handle.connections() == 0);
    }
}

#[test]
fn kill_ends_an_idle_connection() {
    for park_after in [Duration::from_millis(20), Duration::from_secs(60)] {
        let server = TestServer::start_with(|config| config.park_after = park_after).unwrap();
        let (mut victim, mut killer) = (server.root(), server.root());
        std::thread::sleep(Duration::from_millis(100));
        killer
            .query_drop(format!("KILL {}", victim.connection_id()))
            .unwrap();
        eventually("only the killer is left", || server.handle.connections() == 1);
        assert!(victim.query_drop("ECHO 1").is_err());
    }
}

#[test]
fn a_vanished_client_stops_its_statement() {
    let server = TestServer::start();
    let conn = server.root();
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    crate::raw::log_in_as_root(&mut stream);
    std::io::Write::write_all(&mut stream, b"\x06\0\0\0\x03SLEEP").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(stream);
    eventually("the statement is interrupted", || {
        server.fake.interrupted.load(Ordering::SeqCst)
    });
    eventually("one connection is left", || server.handle.connections() == 1);
    drop(conn);
}

#[test]
fn draining_lets_transactions_finish() {
    let server = TestServer::start();
    let mut idle = server.root();
    let mut open = server.root();
    open.query_drop("BEGIN").unwrap();
    std::thread::scope(|scope| {
        let drained = scope.spawn(|| server.handle.drain(Duration::from_secs(20)));
        eventually("the idle one is closed", || server.handle.connections() == 1);
        assert_eq!(crate::status::get(&server, "/status").0, 503);
        assert!(server.connect("root", "").is_err());
        assert!(idle.query_drop("ECHO 1").is_err());
        assert_eq!(
            open.query_first::<String, _>("ECHO in time").unwrap().unwrap(),
            "in time"
        );
        open.query_drop("COMMIT").unwrap();
        assert!(drained.join().unwrap());
    });
    assert!(!server.directory.path().join("stemdb.sock").exists());
    server.handle.wait();
}

#[test]
fn draining_does_not_wait_for_ever() {
    let server = TestServer::start();
    let mut open = server.root();
    open.query_drop("BEGIN").unwrap();
    let mut busy = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    crate::raw::log_in_as_root(&mut busy);
    std::io::Write::write_all(&mut busy, b"\x06\0\0\0\x03SLEEP").unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let started = Instant::now();
    assert!(!server.handle.drain(Duration::from_millis(300)));
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!(server.handle.connections(), 0);
    assert!(open.query_drop("ECHO 1").is_err());
}

#[test]
fn no_password_no_network() {
    let refused = TestServer::start_with(|config| config.listen = vec!["0.0.0.0:0".parse().unwrap()]);
    let Err(StartError::Exposed { accounts, .. }) = &refused else {
        panic!("it listens")
    };
    assert_eq!(accounts, "'root'@'localhost'");
    let message = refused.err().unwrap().to_string();
    assert!(message.contains("ALTER USER"), "{message}");
}

#[test]
fn a_stale_socket_file_is_replaced_and_a_living_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stemdb.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let with_socket = || TestServer::start_with(|config| config.socket = Some(path.clone()));
    let server = with_socket().unwrap();
    let second = with_socket();
    assert!(matches!(second, Err(StartError::Listen { .. })));
    server.handle.drain(Duration::ZERO);
    std::fs::write(&path, "not a socket").unwrap();
    assert!(with_socket().is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "not a socket");
}
