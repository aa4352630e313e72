//! Nothing of a temporary table reaches the store: its keys are the same before and after, and a session that
//! begins again has no table. Whatever engine there is below, this holds for it, since the contract's
//! transactions keep the rows away from it (`kv::private`).

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use kv::{EmbeddedOptions, KeyRange, Reader, Store};
use session::catalog::Catalog;
use session::variables::GlobalVariables;
use session::{Session, Shared};
use testkit::{Fault, Faults, faulty_memory_store};
use wire::framing::FrameEncoder;
use wire::{ClientInfo, PacketSink, capability};

const QUERY: u8 = 3;
const RESET_CONNECTION: u8 = 31;

/// Takes the packets of one reply.
#[derive(Default)]
struct Packets(Vec<Vec<u8>>);

impl PacketSink for Packets {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.0.push(payload.to_vec());
        Ok(())
    }

    fn append(&mut self, fill: &mut dyn FnMut(&mut FrameEncoder) -> bool) -> io::Result<()> {
        fill(&mut FrameEncoder::new());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Client {
    session: Session,
    store: Store,
    faults: Arc<Faults>,
}

impl Client {
    fn new() -> Self {
        let faults = Faults::new();
        let store = faulty_memory_store(&faults, EmbeddedOptions::default());
        let catalog = Catalog::open(store.clone()).unwrap();
        let shared = Shared::new(store.clone(), catalog, GlobalVariables::new(&[]), PathBuf::new());
        let client = ClientInfo {
            user: "root".to_owned(),
            host: "localhost".to_owned(),
            account: "root@localhost".to_owned(),
            capabilities: capability::PROTOCOL_41 | capability::DEPRECATE_EOF | capability::TRANSACTIONS,
            collation: 255,
            ..ClientInfo::default()
        };
        let session = Session::open(shared, 1, client).unwrap();
        let mut client = Self {
            session,
            store,
            faults,
        };
        client.run("CREATE DATABASE d").unwrap();
        client.run("USE d").unwrap();
        client
    }

    /// The error's number, if the statement fails.
    fn run(&mut self, statement: &str) -> Result<(), u16> {
        self.command(&[&[QUERY], statement.as_bytes()].concat())
    }

    fn command(&mut self, command: &[u8]) -> Result<(), u16> {
        let mut packets = Packets::default();
        self.session.handle(command, &mut packets).unwrap();
        match packets.0.last().unwrap().as_slice() {
            [0xff, low, high, ..] => Err(u16::from_le_bytes([*low, *high])),
            _ => Ok(()),
        }
    }

    fn stored(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let all = KeyRange::all();
        self.store.latest().scan_page(&all, usize::MAX, false).unwrap()
    }
}

const STATEMENTS: [&str; 14] = [
    "CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(20), UNIQUE (b), KEY (a))",
    "INSERT INTO t (a, b) VALUES (1, 'one'), (2, 'two')",
    "UPDATE t SET a = a + 1, b = CONCAT(b, '!')",
    "DELETE FROM t WHERE a = 2",
    "BEGIN",
    "INSERT INTO t (a, b) VALUES (3, 'three')",
    "CREATE TEMPORARY TABLE u SELECT * FROM t",
    "COMMIT",
    "ALTER TABLE u ADD x INT DEFAULT 5, ADD KEY (x)",
    "CREATE TEMPORARY TABLE h (a INT)",
    "INSERT INTO h SELECT id FROM u",
    "TRUNCATE h",
    "INSERT INTO h VALUES (1), (2)",
    "SELECT * FROM t JOIN u USING (id), h FOR UPDATE",
];

#[test]
fn nothing_of_them_is_stored() {
    let mut client = Client::new();
    let before = client.stored();
    // Not even an attempt to commit anything.
    client
        .faults
        .next_commit(Fault::Refused(kv::Error::DiskFull("test".to_owned())));
    for statement in STATEMENTS {
        assert_eq!(client.run(statement), Ok(()), "{statement}");
    }
    assert!(client.stored() == before);
    assert_eq!(
        client.run("CREATE TABLE p (a INT)"),
        Err(1021),
        "the fault was waiting"
    );
    client.run("CREATE TABLE p (a INT)").unwrap();
    client.run("INSERT INTO p SELECT a FROM h").unwrap();
    assert_eq!(client.run("INSERT INTO h SELECT a FROM p"), Ok(()));
}

#[test]
fn a_failed_commit_undoes_their_rows_too() {
    let mut client = Client::new();
    for statement in [
        "CREATE TABLE p (a INT PRIMARY KEY)",
        "CREATE TEMPORARY TABLE t (a INT PRIMARY KEY)",
        "BEGIN",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO p VALUES (1)",
    ] {
        client.run(statement).unwrap();
    }
    client
        .faults
        .next_commit(Fault::Refused(kv::Error::DiskFull("test".to_owned())));
    assert_eq!(client.run("COMMIT"), Err(1021));
    assert_eq!(client.run("INSERT INTO t VALUES (1)"), Ok(()), "it was not there");
    assert_eq!(client.run("INSERT INTO p VALUES (1)"), Ok(()));
}

#[test]
fn they_end_with_the_session() {
    let mut client = Client::new();
    client.run("CREATE TEMPORARY TABLE t (a INT)").unwrap();
    client.run("SELECT * FROM t").unwrap();
    client.command(&[RESET_CONNECTION]).unwrap();
    assert_eq!(client.run("SELECT * FROM d.t"), Err(1146));
}

#[test]
fn they_have_a_limit() {
    let mut client = Client::new();
    client
        .run("CREATE TEMPORARY TABLE t (a INT PRIMARY KEY, b LONGTEXT)")
        .unwrap();
    client.run("SET stemdb_memory_limit = 4194304").unwrap();
    client
        .run("INSERT INTO t VALUES (1, REPEAT('x', 1000000))")
        .unwrap();
    client
        .run("INSERT INTO t VALUES (2, REPEAT('x', 1000000))")
        .unwrap();
    let filled = (3..10).map(|n| client.run(&format!("INSERT INTO t VALUES ({n}, REPEAT('x', 1000000))")));
    assert!(filled.into_iter().any(|result| result == Err(1114)));
    assert_eq!(client.run("TRUNCATE t"), Ok(()));
    assert_eq!(
        client.run("INSERT INTO t VALUES (1, REPEAT('x', 1000000))"),
        Ok(())
    );
}
