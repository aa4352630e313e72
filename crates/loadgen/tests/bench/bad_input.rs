//! Wrong input, and servers that misbehave.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use clap::Parser;
use loadgen::BenchCommand;
use loadgen::result::BenchResult;

use crate::fake_server::{FakeServer, Refusal};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: BenchCommand,
}

/// The one line that a command fails with.
fn failure(line: &str, more: &[&str]) -> String {
    let words = std::iter::once("bench")
        .chain(line.split(' '))
        .chain(more.iter().copied());
    let arguments = Arguments::try_parse_from(words).unwrap();
    let message = loadgen::bench(&arguments.command).unwrap_err().to_string();
    assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
    message
}

/// A port without a listener.
fn dead_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn dsn(port: u16) -> String {
    format!("--dsn=mysql://root@127.0.0.1:{port}/b")
}

fn json(directory: &Path) -> (PathBuf, String) {
    let path = directory.join("result.json");
    let argument = format!("--json={}", path.display());
    (path, argument)
}

/// A run that only the server can end: it lasts minutes longer than any test.
const LONG_RUN: &str = "run sysbench-update-non-index --threads=4 --warm-up=0 --seconds=900 --quiet";

#[test]
fn wrong_arguments_are_told_before_anything_is_connected_to() {
    let port = dsn(dead_port());
    let unknown = failure("run nonsense", &[&port]);
    assert!(
        unknown.starts_with("no workload nonsense; there are: orders-read, "),
        "{unknown}"
    );
    let option = failure("run ycsb-a -o tables=3", &[&port]);
    assert!(
        option.starts_with("ycsb-a has no option tables; it has: "),
        "{option}"
    );
    let value = failure("prepare sysbench-delete --tables=0", &[&port]);
    assert_eq!(value, "tables must be a whole number from 1 to 1000, not 0");
    let rate = failure("run ycsb-a --rate=0", &[&port]);
    assert_eq!(rate, "rate must be above zero, not 0");
    let seconds = failure("run ycsb-a --seconds=0", &[&port]);
    assert_eq!(seconds, "seconds must be a number of seconds, not 0");
    for words in [
        ["bench", "run", "ycsb-a", "--threads=none"],
        ["bench", "run", "ycsb-a", "-o=records"],
    ] {
        assert!(Arguments::try_parse_from(words).is_err(), "{words:?}");
    }
}

#[test]
fn a_wrong_address() {
    let message = failure("run ycsb-a --dsn=127.0.0.1:4000", &[]);
    assert!(message.starts_with("the server's address: "), "{message}");
    let port = dead_port();
    for command in ["prepare", "run", "check", "cleanup"] {
        let message = failure(&format!("{command} ycsb-a"), &[&dsn(port)]);
        assert!(
            message.starts_with(&format!("cannot connect to 127.0.0.1:{port}: ")),
            "{message}"
        );
    }
}

#[test]
fn what_listens_there_is_no_mysql_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let web = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let message = failure("run ycsb-a", &[&dsn(port)]);
    web.join().unwrap();
    assert!(
        message.starts_with("not a valid reply of a MySQL server: ")
            || message.starts_with("lost the connection"),
        "{message}"
    );
}

#[test]
fn a_table_that_is_not_there() {
    let server = FakeServer::start(
        u64::MAX / 4,
        Some(Refusal {
            start: "UPDATE",
            code: 1146,
            message: "Table 'b.sbtest1' doesn't exist",
        }),
    );
    let directory = tempfile::tempdir().unwrap();
    let (path, argument) = json(directory.path());
    let message = failure(LONG_RUN, &[&dsn(server.port), &argument]);
    assert_eq!(
        message,
        "the server reports: Table 'b.sbtest1' doesn't exist (error 1146)"
    );
    // A file is written even so, and says why there is no result.
    let result = BenchResult::read(&path).unwrap();
    assert_eq!((result.rungs.len(), result.failure), (0, Some(message)));
}

#[test]
fn a_server_that_dies_in_the_middle_leaves_what_was_measured() {
    const EXECUTIONS: u64 = 2_000;
    for more in ["--rate=1000000", "--interval=0.05"] {
        let server = FakeServer::start(EXECUTIONS, None);
        let directory = tempfile::tempdir().unwrap();
        let (path, argument) = json(directory.path());
        let message = failure(LONG_RUN, &[&dsn(server.port), &argument, more]);
        assert!(
            message.starts_with("the run ended early: cannot connect to 127.0.0.1:"),
            "{message}"
        );
        let result = BenchResult::read(&path).unwrap();
        assert_eq!(result.failure.as_deref(), Some(message.as_str()));
        let [rung] = result.rungs.as_slice() else {
            panic!("{result:?}")
        };
        // The last replies may have been on their way.
        assert!(
            (EXECUTIONS - 4..=EXECUTIONS).contains(&rung.all.count),
            "{}",
            rung.all.count
        );
        assert!(rung.throughput > 0.0 && rung.all.latency.p50_us > 0.0);
        // Every worker lost its connection.
        let lost: u64 = rung
            .errors
            .iter()
            .filter(|e| e.code == 2013)
            .map(|e| e.count)
            .sum();
        assert!((1..=4).contains(&lost), "{:?}", rung.errors);
        assert!(rung.failure.is_some());
    }
}

#[test]
fn a_server_that_refuses_everything_is_no_success() {
    let server = FakeServer::start(
        u64::MAX / 4,
        Some(Refusal {
            start: "INSERT",
            code: 1205,
            message: "Lock wait timeout exceeded; try restarting transaction",
        }),
    );
    let run = "run sysbench-insert --threads=2 --warm-up=0 --seconds=900 --operations=10 --quiet";
    let message = failure(run, &[&dsn(server.port)]);
    assert!(
        message.starts_with(
            "no operation succeeded; the first error was: the server reports: Lock wait timeout"
        ),
        "{message}"
    );
}

#[test]
fn a_report_of_no_results() {
    let message = failure("report /no/such/file.json", &[]);
    assert!(message.starts_with("/no/such/file.json: "), "{message}");
}
