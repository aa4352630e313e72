//! What a session reports to its client (SESSION_TRACK) after a commit has failed whose reply had been made
//! already.
//!
//! The store fails on demand. The reply to each commit waits, as while the commit is on its way to disk, and
//! the session goes on. The tests then do what `server` does: the client gets the error, and the session is
//! informed of it.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use kv::EmbeddedOptions;
use session::catalog::Catalog;
use session::variables::GlobalVariables;
use session::{Session, Shared};
use testkit::{Fault, Faults, faulty_memory_store};
use types::Result;
use wire::framing::FrameEncoder;
use wire::{ClientInfo, PacketSink, PendingReply, capability, status};

const QUERY: u8 = 3;
const OK: u8 = 0;

/// A pending reply whose outcome comes at once, but the session does not learn it.
#[derive(Default)]
struct Waiting(Mutex<Option<Result<()>>>);

impl PendingReply for Waiting {
    fn complete(self: Arc<Self>, outcome: Result<()>, if_detached: &mut dyn FnMut()) {
        if_detached();
        *self.0.lock().unwrap() = Some(outcome);
    }

    fn detach(&self) -> Option<Result<()>> {
        None
    }
}

/// Takes the packets of one reply.
#[derive(Default)]
struct Packets {
    payloads: Vec<Vec<u8>>,
    pending: Option<Arc<Waiting>>,
}

impl PacketSink for Packets {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.payloads.push(payload.to_vec());
        Ok(())
    }

    fn defer_reply(&mut self) -> Option<Arc<dyn PendingReply>> {
        let pending = self.pending.insert(Arc::default());
        Some(pending.clone())
    }

    fn append(&mut self, fill: &mut dyn FnMut(&mut FrameEncoder) -> bool) -> io::Result<()> {
        fill(&mut FrameEncoder::new());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a client gets for a statement.
#[derive(Debug, PartialEq)]
enum Reply {
    /// What the OK packet reports of the session: kinds and bytes.
    Ok(Vec<(u8, String)>),
    Error(u16),
}

struct Client {
    session: Session,
    faults: Arc<Faults>,
}

impl Client {
    fn new() -> Self {
        let faults = Faults::new();
        let store = faulty_memory_store(&faults, EmbeddedOptions::default());
        let catalog = Catalog::open(store.clone()).unwrap();
        let shared = Shared::new(store, catalog, GlobalVariables::new(&[]), PathBuf::new());
        let client = ClientInfo {
            user: "root".to_owned(),
            host: "localhost".to_owned(),
            account: "root@localhost".to_owned(),
            capabilities: capability::PROTOCOL_41
                | capability::SESSION_TRACK
                | capability::DEPRECATE_EOF
                | capability::TRANSACTIONS,
            collation: 255,
            ..ClientInfo::default()
        };
        let session = Session::open(shared, 1, client).unwrap();
        let mut client = Self { session, faults };
        for statement in [
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (id INT PRIMARY KEY)",
            "SET session_track_transaction_info = 'CHARACTERISTICS', session_track_system_variables = 'autocommit'",
        ] {
            assert!(matches!(client.run(statement), Reply::Ok(_)), "{statement}");
        }
        client
    }

    /// Runs a statement. Where its reply waits for a commit that fails, the client gets the error alone.
    fn run(&mut self, statement: &str) -> Reply {
        let mut packets = Packets::default();
        let command = [&[QUERY], statement.as_bytes()].concat();
        self.session.handle(&command, &mut packets).unwrap();
        let outcome = packets
            .pending
            .and_then(|pending| pending.0.lock().unwrap().take());
        if let Some(Err(error)) = outcome {
            self.session.pending_reply_failed(&error);
            return Reply::Error(error.code);
        }
        reply(packets.payloads.last().unwrap())
    }

    fn fail_next_commit(&self) {
        self.faults
            .next_commit(Fault::Refused(kv::Error::DiskFull("test".to_owned())));
    }
}

fn reply(packet: &[u8]) -> Reply {
    if packet[0] == 0xff {
        return Reply::Error(u16::from_le_bytes([packet[1], packet[2]]));
    }
    assert_eq!(packet[0], OK, "{packet:02x?}");
    // Affected rows, insert id, status, warnings, info: all short here.
    let flags = u16::from_le_bytes([packet[3], packet[4]]);
    let mut rest = packet.get(7..).unwrap();
    if let [length, after @ ..] = rest {
        rest = &after[usize::from(*length)..];
    }
    assert_eq!(flags & status::SESSION_STATE_CHANGED != 0, !rest.is_empty());
    let mut changes = Vec::new();
    let mut entries = rest.get(1..).unwrap_or_default();
    while let [kind, length, after @ ..] = entries {
        let (entry, next) = after.split_at(usize::from(*length));
        // Strings, each after its length.
        let text: String = match kind {
            0 => {
                let name = usize::from(entry[0]);
                let value = String::from_utf8_lossy(&entry[name + 2..]);
                format!("{}={value}", String::from_utf8_lossy(&entry[1..=name]))
            }
            _ => String::from_utf8_lossy(&entry[1..]).into_owned(),
        };
        changes.push((*kind, text));
        entries = next;
    }
    Reply::Ok(changes)
}

const VARIABLE: u8 = 0;
const CHARACTERISTICS: u8 = 4;
const STATE: u8 = 5;

fn reported(entries: &[(u8, &str)]) -> Reply {
    Reply::Ok(
        entries
            .iter()
            .map(|(kind, text)| (*kind, (*text).to_owned()))
            .collect(),
    )
}

fn nothing_open() -> Reply {
    reported(&[(STATE, "________"), (CHARACTERISTICS, "")])
}

#[test]
fn the_end_of_a_transaction_whose_commit_failed_is_reported_with_the_next_reply() {
    let mut client = Client::new();
    let begun = [(STATE, "T_______"), (CHARACTERISTICS, "START TRANSACTION;")];
    assert_eq!(client.run("BEGIN"), reported(&begun));
    assert_eq!(
        client.run("INSERT INTO t VALUES (1)"),
        reported(&[(STATE, "T___W___")])
    );
    client.fail_next_commit();
    assert!(matches!(client.run("COMMIT"), Reply::Error(_)));
    assert_eq!(client.run("DO 1"), nothing_open());
    assert_eq!(client.run("DO 1"), reported(&[]));
    // A commit that succeeds reports with its own reply.
    assert_eq!(client.run("BEGIN"), reported(&begun));
    assert_eq!(
        client.run("INSERT INTO t VALUES (1)"),
        reported(&[(STATE, "T___W___")])
    );
    assert_eq!(client.run("COMMIT"), nothing_open());
    assert_eq!(client.run("DO 1"), reported(&[]));
}

#[test]
fn the_next_reply_after_a_failed_commit_may_begin_a_transaction() {
    let mut client = Client::new();
    client.fail_next_commit();
    assert!(matches!(client.run("INSERT INTO t VALUES (1)"), Reply::Error(_)));
    assert_eq!(
        client.run("START TRANSACTION READ ONLY"),
        reported(&[
            (STATE, "T_______"),
            (CHARACTERISTICS, "START TRANSACTION READ ONLY;")
        ])
    );
    assert_eq!(client.run("ROLLBACK"), nothing_open());
}

/// The variable has its value, and the error's packet cannot report it.
#[test]
fn a_variable_is_reported_with_the_next_reply_where_its_own_is_an_error() {
    let mut client = Client::new();
    assert_eq!(
        client.run("SET autocommit = 0"),
        reported(&[(VARIABLE, "autocommit=OFF")])
    );
    assert_eq!(
        client.run("INSERT INTO t VALUES (1)"),
        reported(&[(STATE, "I___W___")])
    );
    client.fail_next_commit();
    assert!(matches!(client.run("SET autocommit = 1"), Reply::Error(_)));
    assert_eq!(
        client.run("DO 1"),
        reported(&[(VARIABLE, "autocommit=ON"), (STATE, "________")])
    );
}

#[test]
fn the_error_is_what_show_warnings_shows() {
    let mut client = Client::new();
    client.fail_next_commit();
    let Reply::Error(code) = client.run("INSERT INTO t VALUES (1)") else {
        panic!("the commit has not failed");
    };
    let mut packets = Packets::default();
    let command = [&[QUERY], &b"SHOW WARNINGS"[..]].concat();
    client.session.handle(&command, &mut packets).unwrap();
    let code = code.to_string();
    let shows = |packet: &Vec<u8>| packet.windows(code.len()).any(|w| w == code.as_bytes());
    assert!(packets.payloads.iter().any(shows), "{:02x?}", packets.payloads);
    // Nothing of it is there, and the end of the transaction has been reported with those rows.
    assert_eq!(client.run("INSERT INTO t VALUES (1)"), reported(&[]));
}
