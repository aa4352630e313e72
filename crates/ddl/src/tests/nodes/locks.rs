//! LOCK TABLES among nodes.

use std::sync::atomic::AtomicUsize;

use cluster::wait::WaitLimit;

use super::*;
use crate::HeldTables;
use crate::job::Job;

const READ: bool = false;
const WRITE: bool = true;

fn lock(node: &Arc<SchemaChanger>, write: bool, ctx: &DdlContext) -> Result<HeldTables> {
    node.lock_tables(&[(table(node, "t").id, write)], &ctx.limit())
}

/// Whether a transaction can write `t` now.
fn can_write(db: &SchemaChanger) -> bool {
    let interrupt = Interrupt::new();
    let limit = WaitLimit {
        timeout: Duration::from_millis(1),
        interrupt: &interrupt,
    };
    let mut locks = TransactionLocks::new(db.cluster().metadata_locks().clone());
    locks.acquire(table(db, "t").id, Use::Write, &limit).is_ok()
}

fn jobs_in(shared: &SharedStore) -> usize {
    Job::read_all(&shared.store.latest()).unwrap().len()
}

#[test]
fn a_write_lock_keeps_all_others_out_on_all_nodes_and_a_read_lock_writers() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 3);
    wait_until("the table is there", || is_open(&two));
    let held = lock(&one, WRITE, &context()).unwrap();
    assert!(!is_open(&one) && !is_open(&two));
    assert_eq!(code(lock(&two, READ, &impatient()).map(drop)), 1205);
    drop(held);
    wait_until("open again", || is_open(&two));
    let held = lock(&one, READ, &context()).unwrap();
    assert!(is_open(&one) && is_open(&two) && !can_write(&one) && !can_write(&two));
    let second = lock(&two, READ, &context()).unwrap();
    assert_eq!(code(lock(&two, WRITE, &impatient()).map(drop)), 1205);
    drop(held);
    assert!(!can_write(&one) && !can_write(&two));
    drop(second);
    wait_until("writers go on", || can_write(&one) && can_write(&two));
    assert_eq!(jobs_in(&shared), 0);
}

#[test]
fn a_table_under_a_read_lock_is_beside_one_under_a_write_lock() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 3);
    create(&one, "u", by_id(vec![not_null("id", int())], Vec::new())).unwrap();
    let (t, u) = (table(&one, "t").id, table(&one, "u").id);
    let ctx = context();
    let held = one.lock_tables(&[(u, WRITE), (t, READ)], &ctx.limit()).unwrap();
    assert!(is_open(&two) && !can_write(&two));
    assert_eq!(
        code(two.lock_tables(&[(u, READ)], &impatient().limit()).map(drop)),
        1205
    );
    drop(two.lock_tables(&[(t, READ)], &ctx.limit()).unwrap());
    drop(held);
    drop(two.lock_tables(&[(u, WRITE), (t, WRITE)], &ctx.limit()).unwrap());
}

#[test]
fn it_waits_for_transactions_of_other_nodes_and_leaves_nothing_when_that_takes_too_long() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 3);
    wait_until("the table is there", || is_open(&two));
    for write in [READ, WRITE] {
        let user = user_of(&two);
        assert_eq!(code(lock(&one, write, &impatient()).map(drop)), 1205);
        assert_eq!(jobs_in(&shared), 0);
        wait_until("open again", || can_write(&one) && can_write(&two));
        let killed = context();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| code(lock(&one, write, &killed).map(drop)));
            wait_until("it waits", || jobs_in(&shared) == 1);
            killed.interrupt.raise();
            assert_eq!(waiter.join().unwrap(), 1317);
        });
        assert_eq!(jobs_in(&shared), 0);
        thread::scope(|scope| {
            let waiter = scope.spawn(|| lock(&one, write, &context()).map(drop));
            wait_until("it waits", || jobs_in(&shared) == 1);
            drop(user);
            waiter.join().unwrap().unwrap();
        });
    }
}

/// At any time, one session of all nodes has a write lock, or some have read locks.
#[test]
fn sessions_of_two_nodes_take_turns() {
    let shared = SharedStore::new();
    let nodes = [shared.running_node(), shared.running_node()];
    make_table(&nodes[0], 3);
    wait_until("the table is there", || is_open(&nodes[1]));
    let (readers, writers) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for at in 0..4 {
            let (node, readers, writers) = (&nodes[at % 2], &readers, &writers);
            scope.spawn(move || {
                for round in 0..5 {
                    let write = (at + round) % 3 == 0;
                    let held = lock(node, write, &context()).unwrap();
                    let count = if write { writers } else { readers };
                    count.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(5));
                    let (reading, writing) = (readers.load(Ordering::SeqCst), writers.load(Ordering::SeqCst));
                    assert!(
                        writing == 0 || writing == 1 && reading == 0,
                        "{reading}, {writing}"
                    );
                    count.fetch_sub(1, Ordering::SeqCst);
                    drop(held);
                    put(node, 100 + at as i64).unwrap();
                }
            });
        }
    });
    assert_eq!((jobs_in(&shared), checked(&nodes[0], "t")), (0, 7));
}

#[test]
fn a_lock_is_no_definition_statement() {
    let shared = SharedStore::new();
    let one = shared.running_node();
    make_table(&one, 3);
    let held = lock(&one, WRITE, &context()).unwrap();
    assert_eq!(one.history(0).unwrap(), []);
    let id = Job::read_all(&shared.store.latest()).unwrap()[0].id;
    assert_eq!(code(one.cancel(id)), 8224);
    assert!(!is_open(&one));
    drop(held);
    assert!(is_open(&one));
}
