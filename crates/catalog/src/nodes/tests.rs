//! Several catalogs on one store, as several processes have them. Time passes where a test says so: leases are long, and
//! the store's clock stands still.

mod changes;
mod leases;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kv::{EmbeddedOptions, Interrupt, ManualClock, Store, TxnOptions};
use schema::definition::Ddl;
use schema::model::Table;
use types::{Result, Value, errno};

use super::*;
use crate::metadata_lock::{TransactionLocks, Use};
use crate::test_support::*;

/// Longer than any test; and what it takes to be over it.
const LEASE: Duration = Duration::from_secs(3_600);
const LEASE_MS: u64 = 3_600_000;

/// A store, and nodes on it.
struct Cluster {
    clock: Arc<ManualClock>,
    store: Store,
}

impl Cluster {
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

    /// One that looks for news only when it is told to.
    fn still_node(&self) -> Arc<Catalog> {
        let options = NodeOptions {
            lease: LEASE,
            poll: Duration::from_millis(2),
            ..NodeOptions::default()
        };
        Catalog::join(self.store.clone(), options).unwrap()
    }

    fn node(&self) -> Arc<Catalog> {
        let node = self.still_node();
        node.start_background().unwrap();
        node
    }

    /// The leases of all but `living` run out.
    fn outlive(&self, living: &[&Arc<Catalog>]) {
        for _ in 0..2 {
            self.clock.advance_ms(LEASE_MS * 2 / 3);
            for node in living {
                *node.membership.as_ref().unwrap().renewed.lock() = Default::default();
                node.follow().unwrap();
            }
        }
    }
}

/// Tells threads to end, also when the test fails.
#[derive(Default)]
struct Stop(AtomicBool);

struct Stopping<'a>(&'a Stop);

impl Stop {
    fn is_asked(&self) -> bool {
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
fn beside<T>(node: &Catalog, body: impl FnOnce() -> T) -> T {
    let stop = Stop::default();
    thread::scope(|scope| {
        let stopping = stop.when_dropped();
        scope.spawn(|| {
            while !stop.is_asked() {
                node.follow().unwrap();
            }
        });
        let result = body();
        drop(stopping);
        result
    })
}

/// The ids of a table's rows, in order.
fn ids(catalog: &Catalog, of: &str) -> Vec<i64> {
    let id = |row: Vec<Value>| match row.into_iter().next() {
        Some(Value::Int(id)) => id,
        other => panic!("no id: {other:?}"),
    };
    rows(catalog, &table(catalog, of)).into_iter().map(id).collect()
}

/// A table `t` of `rows` rows, in a database `d`: id, a = id % 7 with an index, b = id.
fn make_table(catalog: &Catalog, rows: i64) {
    create_database(catalog, "d").unwrap();
    let columns = vec![not_null("id", int()), column("a", int()), column("b", int())];
    create(catalog, "t", by_id(columns, vec![key("a", &[1])])).unwrap();
    for id in 0..rows {
        put(catalog, id).unwrap();
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

fn put(catalog: &Catalog, id: i64) -> Result<kv::Timestamp> {
    write_row(catalog, "t", id, Some(&|table| row_of(table, id)))
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

/// A transaction that uses `t`, and so keeps its definition.
fn user_of(catalog: &Catalog) -> TransactionLocks {
    let mut locks = TransactionLocks::new(catalog.metadata_locks());
    locks.rely_on(catalog).unwrap();
    let ctx = context();
    locks
        .acquire(table(catalog, "t").id, Use::Write, &ctx.limit())
        .unwrap();
    locks
}

/// Whether somebody who waits for a moment gets into `t`.
fn is_open(catalog: &Catalog) -> bool {
    let ctx = crate::DdlContext {
        lock_wait: Duration::from_millis(1),
        ..context()
    };
    let mut locks = TransactionLocks::new(catalog.metadata_locks());
    locks
        .acquire(table(catalog, "t").id, Use::Read, &ctx.limit())
        .is_ok()
}

fn impatient() -> crate::DdlContext {
    crate::DdlContext {
        lock_wait: Duration::from_millis(50),
        ..context()
    }
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> u16 {
    result.unwrap_err().code
}
