//! Clients that break the protocol: each gets an error packet and loses its connection, and other clients
//! are not affected.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use wire::auth::{CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, Nonce, native};

use crate::support::{TestServer, mysql_error};

pub fn connect(server: &TestServer) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// One frame's payload, or nothing at the end.
pub fn read_packet(stream: &mut impl Read) -> Vec<u8> {
    read_numbered(stream).1
}

/// The same, with the frame's sequence number.
pub fn read_numbered(stream: &mut impl Read) -> (u8, Vec<u8>) {
    let mut header = [0; 4];
    if stream.read_exact(&mut header).is_err() {
        return (0, Vec::new());
    }
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload).unwrap();
    (header[3], payload)
}

/// A response to the greeting without any scramble: capabilities PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH.
pub fn send_login(stream: &mut impl Write, user: &str, plugin: &str) {
    let mut login = vec![0x00, 0x82, 0x08, 0x00, 0, 0, 0, 1, 45];
    login.resize(32, 0);
    login.extend(format!("{user}\0\0{plugin}\0").as_bytes());
    send_packet(stream, 1, &login);
}

pub fn send_packet(stream: &mut impl Write, sequence: u8, payload: &[u8]) {
    let [low, middle, high, ..] = (payload.len() as u32).to_le_bytes();
    let mut packet = vec![low, middle, high, sequence];
    packet.extend(payload);
    stream.write_all(&packet).unwrap();
}

pub fn log_in_as_root(stream: &mut TcpStream) {
    assert_eq!(read_packet(stream)[0], 10);
    send_login(stream, "root", CACHING_SHA2_PASSWORD);
    assert_eq!(read_packet(stream)[0], 0);
}

/// As MySQL's own library does with `default-auth=mysql_native_password`, and before version 8 without it:
/// the greeting's nonce was made for the other plugin, so the client asks for a new one by sending nothing.
#[test]
fn a_client_that_begins_with_the_other_plugin() {
    let server = TestServer::start();
    for (password, answer) in [("secret", 0), ("wrong", 0xff), ("", 0xff)] {
        let mut stream = connect(&server);
        assert_eq!(read_packet(&mut stream)[0], 10);
        send_login(&mut stream, "native", MYSQL_NATIVE_PASSWORD);
        let switch = read_packet(&mut stream);
        let nonce = switch
            .strip_prefix(b"\xfemysql_native_password\0")
            .and_then(|rest| rest.strip_suffix(&[0]))
            .unwrap_or_else(|| panic!("{switch:?}"));
        let nonce = Nonce::from_bytes(nonce.try_into().unwrap());
        send_packet(&mut stream, 3, &native::scramble(password.as_bytes(), &nonce));
        assert_eq!(read_packet(&mut stream)[0], answer, "{password}");
    }
}

/// A client that knows no plugins has the nonce of the greeting only, for COM_CHANGE_USER, too.
#[test]
fn a_client_without_plugins_changes_its_user() {
    let server = TestServer::start();
    for (password, answer) in [("secret", 0), ("wrong", 0xff)] {
        let mut stream = connect(&server);
        let greeting = read_packet(&mut stream);
        // After the version: the connection's id and 8 bytes of the nonce, 19 other bytes, and the rest.
        let start = greeting.iter().position(|byte| *byte == 0).unwrap() + 5;
        let nonce = [&greeting[start..start + 8], &greeting[start + 27..start + 39]].concat();
        let nonce = Nonce::from_bytes(nonce.try_into().unwrap());
        // PROTOCOL_41 and SECURE_CONNECTION.
        let mut login = vec![0x00, 0x82, 0, 0, 0, 0, 0, 1, 45];
        login.resize(32, 0);
        login.extend(b"native\0\x14");
        login.extend(native::scramble(b"secret", &nonce));
        send_packet(&mut stream, 1, &login);
        assert_eq!(read_packet(&mut stream)[0], 0);
        let mut change = b"\x11native\0\x14".to_vec();
        change.extend(native::scramble(password.as_bytes(), &nonce));
        change.extend(b"\0");
        send_packet(&mut stream, 0, &change);
        assert_eq!(read_packet(&mut stream)[0], answer, "{password}");
    }
}

/// Reads the greeting, sends `bytes`, and returns the number of the error that comes back.
fn error_after_greeting(server: &TestServer, bytes: &[u8]) -> u16 {
    let mut stream = connect(server);
    assert_eq!(read_packet(&mut stream)[0], 10);
    stream.write_all(bytes).unwrap();
    let packet = read_packet(&mut stream);
    assert_eq!(packet.first(), Some(&0xff), "{packet:?}");
    assert!(
        read_packet(&mut stream).is_empty(),
        "the connection has to be closed"
    );
    u16::from_le_bytes([packet[1], packet[2]])
}

#[test]
fn garbage_instead_of_a_login() {
    let server = TestServer::start();
    let bystander = server.root();
    assert_eq!(
        error_after_greeting(&server, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        1156
    );
    assert_eq!(error_after_greeting(&server, &[0xff; 64]), 1156);
    assert_eq!(
        error_after_greeting(&server, &[3, 0, 0, 1, 0x85, 0xa6, 0xff]),
        1043
    );
    // A login of slightly more than 64 MiB.
    assert_eq!(error_after_greeting(&server, &[1, 0, 0, 1, 0]), 1043);
    drop(bystander);
    assert!(server.root().ping().is_ok());
}

#[test]
fn garbage_instead_of_a_command() {
    let server = TestServer::start();
    let mut stream = connect(&server);
    log_in_as_root(&mut stream);
    // An unknown command is an error, and the connection stays open.
    stream.write_all(&[1, 0, 0, 0, 0x7f]).unwrap();
    let answer = read_packet(&mut stream);
    assert_eq!(
        (answer[0], u16::from_le_bytes([answer[1], answer[2]])),
        (0xff, 1047)
    );
    // A wrong sequence number ends it.
    stream.write_all(&[1, 0, 0, 9, 0x0e]).unwrap();
    let answer = read_packet(&mut stream);
    assert_eq!(
        (answer[0], u16::from_le_bytes([answer[1], answer[2]])),
        (0xff, 1156)
    );
    assert!(read_packet(&mut stream).is_empty());
}

#[test]
fn an_empty_command_packet() {
    let server = TestServer::start();
    let mut stream = connect(&server);
    log_in_as_root(&mut stream);
    stream.write_all(&[0, 0, 0, 0]).unwrap();
    assert_eq!(read_packet(&mut stream).first(), Some(&0xff));
}

#[test]
fn a_storm_of_garbage_disturbs_nobody() {
    let server = TestServer::start();
    let mut bystander = server.root();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..300 {
        let mut stream = connect(&server);
        if round % 3 == 0 {
            log_in_as_root(&mut stream);
        } else {
            read_packet(&mut stream);
        }
        let length = random() % 200;
        let mut bytes: Vec<u8> = (0..length).map(|_| random() as u8).collect();
        if round % 2 == 0 && length > 4 {
            // At least the frame's header is valid.
            bytes[..4].copy_from_slice(&[(length - 4) as u8, 0, 0, u8::from(round % 3 != 0)]);
        }
        // The server may have closed the connection already.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
    }
    bystander.ping().unwrap();
    crate::support::eventually("only the bystander is left", || server.handle.connections() == 1);
}

#[test]
fn a_client_that_never_logs_in_is_cut() {
    let server = TestServer::start();
    server.set(|settings| settings.connect_timeout = Duration::from_millis(300));
    let mut stream = connect(&server);
    read_packet(&mut stream);
    let started = Instant::now();
    let packet = read_packet(&mut stream);
    assert!(packet.is_empty() || packet[0] == 0xff);
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn logging_in_byte_by_byte_does_not_hold_a_connection() {
    let server = TestServer::start();
    server.set(|settings| settings.connect_timeout = Duration::from_millis(300));
    let mut stream = connect(&server);
    read_packet(&mut stream);
    let started = Instant::now();
    stream.write_all(&[100, 0, 0, 1]).unwrap();
    while stream.write_all(&[0]).is_ok() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(started.elapsed() < Duration::from_secs(59), "still connected");
}

#[test]
fn a_proxy_header_from_someone_who_may_not() {
    let server = TestServer::start();
    let header = proxy_header([192, 0, 2, 7]);
    assert_eq!(error_after_greeting(&server, &header), 1105);
}

fn proxy_header(source: [u8; 4]) -> Vec<u8> {
    let mut header = wire::proxy::SIGNATURE.to_vec();
    header.extend([0x21, 0x11, 0, 12]);
    header.extend(source);
    header.extend([127, 0, 0, 1, 0x30, 0x39, 0x0f, 0xa0]);
    header
}

#[test]
fn a_balancer_speaks_for_others() {
    let server = TestServer::start_with(|config| {
        config.proxy_protocol_networks = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .unwrap();
    let mut stream = connect(&server);
    stream.write_all(&proxy_header([192, 0, 2, 7])).unwrap();
    assert_eq!(read_packet(&mut stream)[0], 10);
    // `far` may come from 192.0.2.% only, and root from localhost only.
    send_login(&mut stream, "root", CACHING_SHA2_PASSWORD);
    let mut answer = read_packet(&mut stream);
    if answer[..2] == [1, 4] {
        answer = read_packet(&mut stream);
    }
    let text = String::from_utf8_lossy(&answer).into_owned();
    assert!(text.contains("'root'@'192.0.2.7'"), "{text}");

    // Without a header there is no greeting.
    let mut silent = connect(&server);
    silent.write_all(b"PROXY TCP4 1.2.3.4 1.2.3.4 1 1\r\n").unwrap();
    assert_eq!(read_packet(&mut silent).first(), Some(&0xff));
}

#[test]
fn too_many_connections() {
    let server = TestServer::start();
    server.set(|settings| settings.max_connections = 2);
    let first = server.connect("native", "secret").unwrap();
    let second = server.connect("native", "secret").unwrap();
    // Only an administrator may be the third, and there is no fourth.
    assert_eq!(
        mysql_error(server.connect("native", "secret")),
        (1040, "Too many connections".to_owned())
    );
    crate::support::eventually("the refused one is gone", || server.handle.connections() == 2);
    let administrator = server.root();
    assert_eq!(
        mysql_error(server.connect("root", "")),
        (1040, "Too many connections".to_owned())
    );
    drop((first, second, administrator));
    crate::support::eventually("all are gone", || server.handle.connections() == 0);
    assert!(server.connect("native", "secret").is_ok());
}

#[test]
fn a_client_that_closes_its_half_is_gone() {
    let server = TestServer::start();
    let stream = connect(&server);
    stream.shutdown(Shutdown::Write).unwrap();
    crate::support::eventually("the connection is gone", || server.handle.connections() == 0);
}
