//! Pending replies: another thread learns the outcome and sends the reply.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, SslOpts};

use crate::raw::{connect, log_in_as_root, read_packet, send_packet};
use crate::support::{TestServer, disk_full, eventually, mysql_error};

/// More than sockets buffer while the client does not read.
const LARGE: usize = 12 << 20;

fn log_in(server: &TestServer) -> TcpStream {
    let mut stream = connect(server);
    log_in_as_root(&mut stream);
    stream
}

fn send(stream: &mut TcpStream, query: &str) {
    send_packet(stream, 0, format!("\x03{query}").as_bytes());
}

/// Waits until the reply of that name is pending.
fn await_pending(server: &TestServer, name: &str) {
    eventually(&format!("{name} waits"), || server.fake.is_pending(name));
}

/// A packet with its number.
fn numbered_packet(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut header = [0; 4];
    stream.peek(&mut header).unwrap();
    (header[3], read_packet(stream))
}

/// The text of the OK packet that comes next.
fn ok_text(stream: &mut TcpStream) -> String {
    let (number, packet) = numbered_packet(stream);
    assert_eq!((number, packet[0]), (1, 0), "{packet:?}");
    // Header, no rows, no id, status, warnings; then the text with its length, which takes one byte.
    String::from_utf8(packet[8..].to_vec()).unwrap()
}

fn error_code(packet: &[u8]) -> u16 {
    assert_eq!(packet.first(), Some(&0xff), "{packet:?}");
    u16::from_le_bytes([packet[1], packet[2]])
}

fn assert_silent(stream: &TcpStream) {
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(stream.peek(&mut [0]).is_err(), "an answer that should wait");
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
}

/// The text of a reply to `ECHO`: in the third packet, as its only column.
fn echoed(stream: &mut TcpStream) -> String {
    let packets: Vec<_> = (0..5).map(|_| numbered_packet(stream)).collect();
    let numbers: Vec<u8> = packets.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    String::from_utf8(packets[3].1[1..].to_vec()).unwrap()
}

#[test]
fn a_reply_is_sent_when_it_is_completed() {
    let server = TestServer::start();
    let mut stream = log_in(&server);
    for round in 1..=3 {
        send(&mut stream, "DEFER a");
        await_pending(&server, "a");
        assert_silent(&stream);
        server.fake.complete("a", Ok(()));
        assert_eq!(ok_text(&mut stream), "a");
        assert_eq!(server.fake.detached.load(Ordering::SeqCst), round);
    }
    eventually("they are counted", || {
        let metrics = crate::status::get(&server, "/metrics").1;
        let mut lines = metrics.lines();
        lines.any(|line| line == "stemdb_commands_total{command=\"query\"} 3")
    });
}

#[test]
fn an_error_takes_the_replys_place_and_the_session_hears_of_it() {
    let server = TestServer::start();
    let mut stream = log_in(&server);
    send(&mut stream, "DEFER a");
    await_pending(&server, "a");
    assert_silent(&stream);
    server.fake.complete("a", Err(disk_full()));
    let (number, packet) = numbered_packet(&mut stream);
    assert_eq!((number, error_code(&packet)), (1, 1021));
    // The session hears of it before it gets its next command.
    send(&mut stream, "FAILED");
    assert_eq!(echoed(&mut stream), "Disk full");
    send(&mut stream, "DEFER b");
    await_pending(&server, "b");
    server.fake.complete("b", Ok(()));
    assert_eq!(ok_text(&mut stream), "b");
}

#[test]
fn an_outcome_may_be_there_before_the_reply() {
    let server = TestServer::start();
    let mut conn = server.root();
    for _ in 0..2 {
        for word in ["EARLY", "DETACHED"] {
            conn.query_drop(format!("{word} well")).unwrap();
            assert_eq!(conn.info_str(), "well");
            let error = mysql_error(conn.query_drop(format!("{word} badly")));
            assert_eq!(error, (1021, "Disk full".to_owned()));
        }
    }
    // The session did not learn the outcome that the committing thread knew.
    assert_eq!(
        conn.query_first::<String, _>("FAILED").unwrap().unwrap(),
        "Disk full, Disk full"
    );
    assert_eq!(server.fake.detached.load(Ordering::SeqCst), 4);
}

#[test]
fn where_replies_can_be_pending() {
    let server = TestServer::start();
    let reply = |mut conn: Conn| {
        conn.query_drop("DETACHED well").unwrap();
        conn.info_str().into_owned()
    };
    assert_eq!(reply(server.root()), "well");
    let socket = server.directory.path().join("stemdb.sock");
    let local = server.options("root", "").socket(socket.to_str());
    assert_eq!(reply(Conn::new(local).unwrap()), "well");
    // Not on connections where another thread cannot write to the socket directly.
    let tls = SslOpts::default().with_danger_accept_invalid_certs(true);
    let tls = server.options("root", "").ssl_opts(tls);
    assert_eq!(reply(Conn::new(tls).unwrap()), "not deferred");
    let compressed = server
        .options("root", "")
        .compress(Some(mysql::Compression::fast()));
    assert_eq!(reply(Conn::new(compressed).unwrap()), "not deferred");
}

#[test]
fn a_client_that_sends_ahead_gets_its_replies_in_order() {
    let server = TestServer::start();
    let mut stream = log_in(&server);
    let mut all = Vec::new();
    for query in ["DEFER a", "ECHO b", "DEFER c", "DETACHED well", "ECHO d"] {
        all.extend([query.len() as u8 + 1, 0, 0, 0, 3]);
        all.extend(query.as_bytes());
    }
    stream.write_all(&all).unwrap();
    await_pending(&server, "a");
    assert_silent(&stream);
    assert!(!server.fake.is_pending("c"));
    server.fake.complete("a", Ok(()));
    assert_eq!(ok_text(&mut stream), "a");
    assert_eq!(echoed(&mut stream), "b");
    await_pending(&server, "c");
    assert_silent(&stream);
    server.fake.complete("c", Err(disk_full()));
    assert_eq!(error_code(&read_packet(&mut stream)), 1021);
    assert_eq!(ok_text(&mut stream), "well");
    assert_eq!(echoed(&mut stream), "d");
}

#[test]
fn a_client_that_does_not_read_delays_no_other() {
    let server = TestServer::start();
    let (mut slow, mut other) = (log_in(&server), log_in(&server));
    send(&mut slow, &format!("DEFER large {LARGE}"));
    send(&mut slow, "ECHO after");
    send(&mut other, "DEFER small");
    await_pending(&server, "large");
    await_pending(&server, "small");
    assert_silent(&slow);
    let (complete, released) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            server.fake.complete("large", Ok(()));
            server.fake.complete("small", Ok(()));
            complete.send(()).unwrap();
        });
        let waited = released.recv_timeout(Duration::from_secs(60));
        // In any case, so that the thread ends.
        assert_eq!(ok_text(&mut other), "small");
        let (number, packet) = numbered_packet(&mut slow);
        assert_eq!(number, 1);
        assert!(packet.ends_with(b"xxx") && packet.len() > LARGE);
        assert_eq!(echoed(&mut slow), "after");
        waited.unwrap();
    });
}

#[test]
fn nothing_follows_half_a_reply() {
    let server = TestServer::start();
    let mut stream = log_in(&server);
    send(&mut stream, "PATIENCE 1");
    assert_eq!(read_packet(&mut stream)[0], 0);
    send(&mut stream, &format!("DEFER large {LARGE}"));
    send(&mut stream, "DEFER after");
    await_pending(&server, "large");
    server.fake.complete("large", Ok(()));
    eventually("the connection is closed", || server.handle.connections() == 0);
    assert!(!server.fake.is_pending("after"));
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() < LARGE);
}

#[test]
fn draining_waits_for_a_pending_reply() {
    let server = TestServer::start();
    let mut stream = log_in(&server);
    send(&mut stream, "DEFER a");
    await_pending(&server, "a");
    assert_silent(&stream);
    std::thread::scope(|scope| {
        let drained = scope.spawn(|| server.handle.drain(Duration::from_secs(20)));
        eventually("it drains", || crate::status::get(&server, "/status").0 == 503);
        assert_silent(&stream);
        assert_eq!(server.handle.connections(), 1);
        server.fake.complete("a", Ok(()));
        assert_eq!(ok_text(&mut stream), "a");
        let last = read_packet(&mut stream);
        assert!(last.is_empty() || error_code(&last) == 1053);
        assert!(drained.join().unwrap());
    });
}

#[test]
fn a_connection_ends_after_its_reply() {
    type End = fn(&TestServer, TcpStream) -> Option<TcpStream>;
    let ends: [(&str, End); 4] = [
        ("its client is gone", |_, _| None),
        ("its client says that it sends no more", |_, stream| {
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            Some(stream)
        }),
        ("COM_QUIT", |_, mut stream| {
            send_packet(&mut stream, 0, &[1]);
            Some(stream)
        }),
        ("KILL", |server, _| {
            let sessions = server.fake.sessions.lock().unwrap();
            sessions.values().for_each(|victim| victim.hang_up());
            None
        }),
    ];
    for outcome in [Ok(()), Err(disk_full())] {
        for (how, end) in ends {
            let server = TestServer::start();
            let mut stream = log_in(&server);
            send(&mut stream, "DEFER a");
            await_pending(&server, "a");
            assert_silent(&stream);
            let stream = end(&server, stream);
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(server.fake.sessions.lock().unwrap().len(), 1, "{how}");
            server.fake.complete("a", outcome.clone());
            if let Some(mut stream) = stream {
                let (number, packet) = numbered_packet(&mut stream);
                let first = if outcome.is_ok() { 0 } else { 0xff };
                assert_eq!((number, packet[0]), (1, first), "{how}");
                assert!(read_packet(&mut stream).is_empty());
            }
            eventually(how, || server.handle.connections() == 0);
        }
    }
}

#[test]
fn the_last_reply_can_be_pending() {
    let server = TestServer::start();
    for outcome in [Ok(()), Err(disk_full())] {
        let mut stream = log_in(&server);
        send(&mut stream, "LAST a");
        await_pending(&server, "a");
        assert_silent(&stream);
        server.fake.complete("a", outcome.clone());
        match outcome {
            Ok(()) => assert_eq!(ok_text(&mut stream), "a"),
            Err(_) => assert_eq!(error_code(&read_packet(&mut stream)), 1021),
        }
        assert!(read_packet(&mut stream).is_empty());
    }
}

#[test]
fn a_defect_leaves_no_reply_pending() {
    let server = TestServer::start();
    let mut stream = log_in(&server);
    send(&mut stream, "DEFECT a");
    assert_eq!(error_code(&read_packet(&mut stream)), 1105);
    assert!(read_packet(&mut stream).is_empty());
    // Draining waits for pending replies, too.
    let mut stream = log_in(&server);
    send(&mut stream, "CRASH a");
    await_pending(&server, "a");
    assert_silent(&stream);
    server.fake.complete("a", Ok(()));
    assert_eq!(error_code(&read_packet(&mut stream)), 1105);
    assert!(read_packet(&mut stream).is_empty());
    eventually("it is closed", || server.handle.connections() == 0);
}

#[test]
fn a_defect_after_a_reply_closes_its_connection() {
    let server = TestServer::start();
    let mut other = log_in(&server);
    for word in ["DEFER", "DETACHED"] {
        let mut stream = log_in(&server);
        send(&mut stream, &format!("{word} panic"));
        if word == "DEFER" {
            await_pending(&server, "panic");
            assert_silent(&stream);
            server.fake.complete_with_panic("panic");
        }
        assert!(read_packet(&mut stream).is_empty(), "{word}");
    }
    eventually("they are closed", || server.handle.connections() == 1);
    send(&mut other, "DEFER a");
    await_pending(&server, "a");
    server.fake.complete("a", Ok(()));
    assert_eq!(ok_text(&mut other), "a");
}

#[test]
fn a_client_is_idle_from_its_reply_on() {
    for park_after in [Duration::from_millis(20), Duration::from_secs(60)] {
        let server = TestServer::start_with(|config| config.park_after = park_after).unwrap();
        let mut stream = log_in(&server);
        send(&mut stream, "TIMEOUT 1");
        assert_eq!(read_packet(&mut stream)[0], 0);
        send(&mut stream, "DEFER a");
        await_pending(&server, "a");
        std::thread::sleep(Duration::from_millis(1200));
        let answered = Instant::now();
        server.fake.complete("a", Ok(()));
        assert_eq!(ok_text(&mut stream), "a");
        assert_eq!(error_code(&read_packet(&mut stream)), 4031);
        assert!(answered.elapsed() >= Duration::from_secs(1));
    }
}
