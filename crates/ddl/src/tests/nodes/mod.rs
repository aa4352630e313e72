//! Several nodes on one store, as several processes would be. Time passes only where a test says so: leases
//! are long, and the store's clock is set by hand.

mod changes;
mod leases;
mod locks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cluster::metadata_lock::Use;
use cluster::node::NodeOptions;
use cluster::{Cluster, TransactionLocks};
use kv::{EmbeddedOptions, Interrupt, ManualClock, Store, TxnOptions};
use schema::definition::Ddl;
use schema::model::Table;
use types::{Result, Value, errno};

use super::*;

fn join(store: Store, options: NodeOptions) -> Result<Arc<SchemaChanger>> {
    SchemaChanger::open(Cluster::join(store, Vec::new(), options)?)
}

/// Longer than any test.
const LEASE: Duration = Duration::from_secs(3_600);
const LEASE_MS: u64 = 3_600_000;

/// A store that nodes share.
struct SharedStore {
    clock: Arc<ManualClock>,
    store: Store,
}

impl SharedStore {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000));
        let options = EmbeddedOptions {
            background: false,
            gc_age: 10 * LEASE,
            clock: clock.clone(),
            ..EmbeddedOptions::default()
        };
        let store = Store::new(Arc::new(kv::memory::engine_with(options)));
        Self { clock, store }
    }

    /// A node without background threads.
    fn still_node(&self) -> Arc<SchemaChanger> {
        let options = NodeOptions {
            lease: LEASE,
            poll: Duration::from_millis(2),
            ..NodeOptions::default()
        };
        join(self.store.clone(), options).unwrap()
    }

    fn running_node(&self) -> Arc<SchemaChanger> {
        let node = self.still_node();
        node.cluster().start().unwrap();
        node.start().unwrap();
        node
    }

    /// The leases of all nodes except `living` run out.
    fn outlive(&self, living: &[&Arc<SchemaChanger>]) {
        for _ in 0..2 {
            self.clock.advance_ms(LEASE_MS * 2 / 3);
            for node in living {
                node.cluster().make_lease_due();
                node.cluster().follow().unwrap();
            }
        }
    }
}

/// Ends threads, also when the test fails.
#[derive(Default)]
struct Stop(AtomicBool);

struct Stopping<'a>(&'a Stop);

impl Stop {
    fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn when_dropped(&self) -> Stopping<'_> {
        Stopping(self)
    }
}

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
    }
}

/// Runs `body` while a node follows.
fn beside<T>(node: &SchemaChanger, body: impl FnOnce() -> T) -> T {
    let stop = Stop::default();
    thread::scope(|scope| {
        let stopping = stop.when_dropped();
        scope.spawn(|| {
            while !stop.is_set() {
                node.cluster().follow().unwrap();
            }
        });
        let result = body();
        drop(stopping);
        result
    })
}

/// The ids of a table's rows, in order.
fn ids(db: &SchemaChanger, of: &str) -> Vec<i64> {
    let id = |row: Vec<Value>| match row.into_iter().next() {
        Some(Value::Int(id)) => id,
        other => panic!("no id: {other:?}"),
    };
    rows(db, &table(db, of)).into_iter().map(id).collect()
}

/// A table `t` of `rows` rows, in a database `d`: id, a = id % 7 with an index, b = id.
fn make_table(db: &SchemaChanger, rows: i64) {
    create_database(db, "d").unwrap();
    let columns = vec![not_null("id", int()), column("a", int()), column("b", int())];
    create(db, "t", by_id(columns, vec![key("a", &[1])])).unwrap();
    for id in 0..rows {
        put(db, id).unwrap();
    }
}

/// A row, whatever columns its table has.
fn row_of(table: &Table, id: i64) -> Vec<Value> {
    let value = |name: &str| match name {
        "a" => Value::Int(id % 7),
        _ => Value::Int(id),
    };
    table.columns.iter().map(|c| value(&c.name)).collect()
}

fn put(db: &SchemaChanger, id: i64) -> Result<kv::Timestamp> {
    write_row(db, "t", id, Some(&|table| row_of(table, id)))
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "never happened: {what}"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

/// A transaction that uses `t`, so that its definition cannot change.
fn user_of(db: &SchemaChanger) -> TransactionLocks {
    let mut locks = TransactionLocks::new(db.cluster().metadata_locks().clone());
    locks.rely_on(db.cluster().lease()).unwrap();
    let ctx = context();
    locks
        .acquire(table(db, "t").id, Use::Write, &ctx.limit())
        .unwrap();
    locks
}

/// Whether a transaction can use `t` now.
fn is_open(db: &SchemaChanger) -> bool {
    let ctx = DdlContext {
        lock_wait: Duration::from_millis(1),
        ..context()
    };
    let mut locks = TransactionLocks::new(db.cluster().metadata_locks().clone());
    locks.acquire(table(db, "t").id, Use::Read, &ctx.limit()).is_ok()
}

fn impatient() -> DdlContext {
    DdlContext {
        lock_wait: Duration::from_millis(50),
        ..context()
    }
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> u16 {
    result.unwrap_err().code
}
