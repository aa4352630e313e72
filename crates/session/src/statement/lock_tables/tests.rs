use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cluster::metadata_lock::MetadataLocks;
use kv::{Interrupt, Store};
use wire::framing::FrameEncoder;
use wire::{ClientInfo, PacketSink, capability};

use super::*;
use crate::catalog::Catalog;
use crate::shared::Shared;
use crate::variables::GlobalVariables;

const QUERY: u8 = 3;
const OK: u8 = 0;
const WRITE: bool = true;

/// The last packet of a reply.
#[derive(Default)]
struct Last(Vec<u8>);

impl PacketSink for Last {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.0 = payload.to_vec();
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

fn run(session: &mut Session, statement: &str) {
    let mut last = Last::default();
    let command = [&[QUERY], statement.as_bytes()].concat();
    session.handle(&command, &mut last).unwrap();
    assert_eq!(
        last.0.first(),
        Some(&OK),
        "{statement}: {}",
        String::from_utf8_lossy(&last.0)
    );
}

/// A server with the table `d.t`.
fn server() -> Arc<Shared> {
    let store = Store::memory();
    let catalog = Catalog::open(store.clone()).unwrap();
    let shared = Shared::new(store, catalog, GlobalVariables::new(&[]), PathBuf::new());
    let mut session = open(&shared, 100);
    run(&mut session, "CREATE DATABASE d");
    run(&mut session, "CREATE TABLE d.t (id INT PRIMARY KEY)");
    shared
}

fn open(shared: &Arc<Shared>, id: u64) -> Session {
    let client = ClientInfo {
        user: "root".to_owned(),
        host: "localhost".to_owned(),
        account: "root@localhost".to_owned(),
        capabilities: capability::PROTOCOL_41 | capability::TRANSACTIONS,
        collation: 255,
        ..ClientInfo::default()
    };
    Session::open(shared.clone(), id, client).unwrap()
}

fn id_of_t(shared: &Shared) -> i64 {
    shared.engine.cluster.schema().require_table("d", "t").unwrap().id
}

fn locks(shared: &Shared) -> &MetadataLocks {
    shared.engine.cluster.metadata_locks()
}

/// Whether some session keeps all others out of the present table, or its writers.
fn is_locked(shared: &Shared) -> bool {
    let interrupt = Interrupt::new();
    let at_once = WaitLimit {
        timeout: Duration::ZERO,
        interrupt: &interrupt,
    };
    locks(shared)
        .lock_for_session(&[(id_of_t(shared), WRITE)], &at_once)
        .is_err()
}

/// Starts a TRUNCATE of the table, which waits for a transaction. Returns when it does. The transaction ends a little
/// later, so that a request for the table's lock waits by then.
fn truncate_soon(shared: &Arc<Shared>) -> [JoinHandle<()>; 2] {
    let (mut writer, mut truncating) = (open(shared, 101), open(shared, 102));
    run(&mut writer, "BEGIN");
    run(&mut writer, "INSERT INTO d.t VALUES (1)");
    let truncates = thread::spawn(move || run(&mut truncating, "TRUNCATE d.t"));
    let is_waiting = || {
        let interrupt = Interrupt::new();
        let at_once = WaitLimit {
            timeout: Duration::ZERO,
            interrupt: &interrupt,
        };
        locks(shared)
            .lock_for_change(&[id_of_t(shared)], &at_once)
            .is_err()
    };
    while !is_waiting() {
        thread::sleep(Duration::from_millis(1));
    }
    let ends = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        run(&mut writer, "COMMIT");
    });
    [truncates, ends]
}

#[test]
fn a_table_that_is_replaced_during_the_wait_is_locked() {
    let shared = server();
    let (session, mut other) = (open(&shared, 1), open(&shared, 2));
    let mut ids = Vec::new();
    let locks = acquire_present(&session, Purpose::LockTables, || {
        let id = id_of_t(&shared);
        if ids.is_empty() {
            run(&mut other, "TRUNCATE d.t");
        }
        ids.push(id);
        Ok(vec![(id, WRITE)])
    })
    .unwrap();
    assert_eq!(ids.len(), 3);
    assert!(ids[0] != ids[1] && ids[1] == ids[2], "{ids:?}");
    assert!(is_locked(&shared));
    drop(locks);
    assert!(!is_locked(&shared));
}

#[test]
fn a_definition_under_locks_locks_what_replaces_the_table() {
    let shared = server();
    let mut session = open(&shared, 1);
    run(&mut session, "LOCK TABLES d.t WRITE");
    let before = id_of_t(&shared);
    let truncating = unlocked(&mut session, |_| Ok(truncate_soon(&shared))).unwrap();
    truncating.into_iter().for_each(|thread| thread.join().unwrap());
    assert_ne!(id_of_t(&shared), before);
    assert!(is_locked(&shared));
    run(&mut session, "INSERT INTO d.t VALUES (2)");
    run(&mut session, "UNLOCK TABLES");
    assert!(!is_locked(&shared));
}

#[test]
fn flush_tables_with_read_lock_locks_what_replaces_a_table() {
    let shared = server();
    let mut session = open(&shared, 1);
    let before = id_of_t(&shared);
    let truncating = truncate_soon(&shared);
    lock_all(&mut session).unwrap();
    truncating.into_iter().for_each(|thread| thread.join().unwrap());
    assert_ne!(id_of_t(&shared), before);
    assert!(is_locked(&shared));
    run(&mut session, "UNLOCK TABLES");
    assert!(!is_locked(&shared));
}

/// However often tables are replaced, the wait ends after `lock_wait_timeout`.
#[test]
fn all_waits_have_one_limit() {
    let shared = server();
    let mut session = open(&shared, 1);
    run(&mut session, "SET lock_wait_timeout = 1");
    let mut calls = 0;
    let locked = acquire_present(&session, Purpose::LockTables, || {
        calls += 1;
        assert!(calls < 1_000, "it does not end");
        thread::sleep(Duration::from_millis(10));
        Ok(vec![(1_000_000 + calls, WRITE)])
    });
    let Err(error) = locked else {
        panic!("tables that are not there any more are locked");
    };
    assert_eq!(error.code, 1205);
}

/// Tables that are created while FLUSH TABLES WITH READ LOCK waits for others do not delay it.
#[test]
fn flush_tables_with_read_lock_does_not_wait_for_new_tables() {
    let shared = server();
    let (mut session, mut writer, mut creator) = (open(&shared, 1), open(&shared, 2), open(&shared, 3));
    run(&mut session, "SET lock_wait_timeout = 60");
    run(&mut writer, "BEGIN");
    run(&mut writer, "INSERT INTO d.t VALUES (1)");
    let ends = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        run(&mut creator, "CREATE TABLE d.n (id INT PRIMARY KEY)");
        run(&mut creator, "BEGIN");
        run(&mut creator, "INSERT INTO d.n VALUES (1)");
        run(&mut writer, "COMMIT");
        creator
    });
    lock_all(&mut session).unwrap();
    run(&mut ends.join().unwrap(), "COMMIT");
    assert!(is_locked(&shared));
    run(&mut session, "UNLOCK TABLES");
    assert!(!is_locked(&shared));
}
