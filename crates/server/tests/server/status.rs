//! The status port.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mysql::prelude::Queryable;

use crate::support::TestServer;

fn exchange(server: &TestServer, request: &str) -> String {
    let mut stream = TcpStream::connect(server.handle.status_address().unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// Status code and body.
pub fn get(server: &TestServer, path: &str) -> (u16, String) {
    let answer = exchange(server, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
    let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (code, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[test]
fn status_and_metrics() {
    let server = TestServer::start();
    let mut conn = server.root();
    conn.query_drop("ECHO 1").unwrap();
    let (code, body) = get(&server, "/status");
    assert_eq!(code, 200);
    let status: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status["connections"], 1);
    assert_eq!(status["state"], "serving");
    assert!(status["version"].as_str().unwrap().contains("StemDB"));
    let (code, metrics) = get(&server, "/metrics");
    assert_eq!(code, 200);
    for line in [
        "stemdb_connections 1",
        "stemdb_connections_total 1",
        "stemdb_commands_total{command=\"query\"} 1",
        "stemdb_command_seconds_count{command=\"query\"} 1",
    ] {
        assert!(
            metrics.lines().any(|l| l == line),
            "{line} is missing in\n{metrics}"
        );
    }
    let counted = server.figures.of_connections();
    assert!(counted.contains(&("Connections", 1)), "{counted:?}");
    assert!(
        counted
            .iter()
            .any(|(name, value)| *name == "Bytes_received" && *value > 0),
        "{counted:?}"
    );
}

#[test]
fn everything_else_is_turned_away() {
    let server = TestServer::start();
    assert_eq!(get(&server, "/nothing").0, 404);
    assert!(exchange(&server, "POST /status HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(exchange(&server, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
    let endless = format!("GET /status HTTP/1.1\r\nX: {}", "x".repeat(20_000));
    let answer = exchange(&server, &endless);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
        "{answer}"
    );
    assert_eq!(get(&server, "/status").0, 200);
}

/// The page's own requests, with a host name and a login.
fn post(server: &TestServer, path: &str, host: &str, token: &str, body: &str) -> (u16, serde_json::Value) {
    let length = body.len();
    let answer = exchange(
        server,
        &format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             X-StemDB-Login: {token}\r\nContent-Length: {length}\r\n\r\n{body}"
        ),
    );
    let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (code, serde_json::from_str(body).unwrap_or_default())
}

#[test]
fn the_page_and_its_logins() {
    let server = TestServer::start();
    let (code, page) = get(&server, "/");
    assert_eq!(code, 200);
    assert!(page.contains("/window.js"));
    let login = r#"{"user":"root","password":""}"#;
    let kill = r#"{"query":"kill","id":1}"#;

    // Another site that its name server says is this machine; a login that was never given.
    assert_eq!(post(&server, "/window/login", "evil.example", "", login).0, 403);
    assert_eq!(post(&server, "/window/query", "localhost", "", kill).0, 401);
    assert_eq!(post(&server, "/window/query", "localhost", "x", kill).0, 401);
    let wrong = post(
        &server,
        "/window/login",
        "localhost",
        "",
        r#"{"user":"root","password":"x"}"#,
    );
    assert_eq!(wrong.0, 401);
    assert!(wrong.1["error"].as_str().unwrap().contains("1045"), "{wrong:?}");
    let nobody = post(&server, "/window/login", "localhost", "", r#"{"user":"nobody"}"#);
    assert_eq!(nobody.0, 401);
    // What a form of another site could send.
    let form = exchange(
        &server,
        "POST /window/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
    );
    assert!(form.starts_with("HTTP/1.1 405"), "{form}");

    let (code, answer) = post(&server, "/window/login", "127.0.0.1:10080", "", login);
    assert_eq!(code, 200, "{answer}");
    let token = answer["token"].as_str().unwrap().to_owned();
    assert_eq!(
        post(&server, "/window/query", "[::1]:1", &token, r#"{"query":"no"}"#).0,
        422
    );
    assert_eq!(post(&server, "/window/query", "localhost", &token, "{").0, 400);
    assert_eq!(post(&server, "/window/logout", "localhost", &token, "{}").0, 200);
    assert_eq!(post(&server, "/window/query", "localhost", &token, kill).0, 401);
}
