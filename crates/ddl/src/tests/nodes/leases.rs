//! Nodes that crash, and nodes that pause.

use std::sync::atomic::AtomicU32;

use cluster::message;
use cluster::meta::{Meta, keys, read_all};
use cluster::node::{NUMBER_MAX, NodeRecord};
use schema::definition::Position;
use schema::model::SchemaState;

use super::*;
use crate::shared::test_steps as jobs;

#[test]
fn nodes_join_and_leave() {
    let shared = SharedStore::new();
    let (one, two) = (shared.still_node(), shared.still_node());
    let numbers = |node: &SchemaChanger| {
        node.cluster()
            .live_nodes()
            .unwrap()
            .iter()
            .map(|n| n.number)
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&one), [1, 2]);
    one.cluster().close().unwrap();
    assert_eq!(numbers(&two), [2]);
    let three = shared.still_node();
    assert_eq!(
        numbers(&two),
        [2, 3],
        "a number is used again only after all others"
    );
    assert!(three.cluster().node().unwrap().id > two.cluster().node().unwrap().id);
    drop(three);
    assert_eq!(numbers(&two), [2, 3], "it may only be slow");
    shared.outlive(&[&two]);
    assert_eq!(numbers(&two), [2]);
}

#[test]
fn a_node_that_cannot_join_leaves_no_record() {
    let shared = SharedStore::new();
    let one = shared.still_node();
    create_database(&one, "d").unwrap();
    let database = one.cluster().schema().database("d").unwrap().id;
    let mut txn = shared.store.begin(TxnOptions::default()).unwrap();
    txn.put(keys::table(database, 1), b"damaged".to_vec()).unwrap();
    txn.commit(kv::Durability::Sync).unwrap();
    assert!(join(shared.store.clone(), NodeOptions::default()).is_err());
    let nodes = read_all::<NodeRecord>(&shared.store.latest(), &keys::nodes(), "node").unwrap();
    assert_eq!(nodes.len(), 1, "{nodes:?}");
}

/// At any later time, since the definitions that the commit relies on may have changed.
#[test]
fn a_node_that_does_not_renew_cannot_commit() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.still_node());
    let follow = |node: &SchemaChanger| node.cluster().follow().unwrap();
    beside(&two, || make_table(&one, 3));
    // The node pauses within a transaction.
    let mut locks = user_of(&two);
    let old = table(&two, "t");
    let mut txn = shared.store.begin(TxnOptions::default()).unwrap();
    let encoder = schema::layout::RowEncoder::new(&old).unwrap();
    let handle = schema::layout::RowHandle::Int(77);
    let row = encoder
        .row_value(&row_of(&old, 77), functions::TimeZone::UTC)
        .unwrap();
    txn.put(schema::layout::row_key(&old, &handle), row).unwrap();
    // The other node waits for it, but not longer than its lease.
    assert_eq!(
        code(alter_with(
            &one,
            "t",
            vec![add_index("u", &["b"], true)],
            &impatient()
        )),
        1205
    );
    shared.outlive(&[&one]);
    alter(&one, "t", vec![add_index("u", &["b"], true)]).unwrap();
    alter(&one, "t", vec![drop_column("a")]).unwrap();

    let refused = txn.commit_within(kv::Durability::Os, locks.fence());
    assert!(
        matches!(refused, Err(kv::Error::CommitTooLate { .. })),
        "{refused:?}"
    );
    assert_eq!(checked(&one, "t"), 3);
    // It joins again with the current definitions and another lease. Its old transaction cannot be committed.
    two.cluster().make_lease_due();
    follow(&two);
    assert_eq!(table(&two, "t").columns.len(), 2);
    assert_eq!(
        code(locks.rely_on(two.cluster().lease())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
    drop(locks);
    put(&two, 77).unwrap();
    assert_eq!(checked(&one, "t"), 4);
}

/// Without a lease no statement begins.
#[test]
fn a_lease_that_was_lost_serves_nothing_until_the_node_has_joined_again() {
    let shared = SharedStore::new();
    let two = shared.still_node();
    let node = two.cluster().node().unwrap();
    assert!(two.cluster().has_lease());
    node.lose();
    assert!(!two.cluster().has_lease());
    two.cluster().follow().unwrap();
    let again = two.cluster().node().unwrap();
    assert_eq!((again.id, again.term), (node.id, node.term + 1));
    assert!(two.cluster().has_lease());
    // A lease also ends by the clock of the node.
    let short = NodeOptions {
        lease: Duration::from_secs(1),
        ..NodeOptions::default()
    };
    let hasty = join(shared.store.clone(), short).unwrap();
    wait_until("its time is over", || !hasty.cluster().has_lease());
}

/// Ids of connections contain the number, and connections may outlive the lease.
#[test]
fn a_node_that_joins_again_has_its_number_unless_another_has() {
    let shared = SharedStore::new();
    let (one, two) = (shared.still_node(), shared.still_node());
    let number = |node: &SchemaChanger| node.cluster().node().unwrap().number;
    let number_seen = Arc::new(AtomicU32::new(0));
    two.cluster()
        .answer_requests(Arc::new(LastNumber(Arc::clone(&number_seen))));
    shared.outlive(&[&one]);
    let join_again = |node: &SchemaChanger| {
        node.cluster().node().unwrap().lose();
        node.cluster().follow().unwrap();
    };
    assert_eq!(one.cluster().live_nodes().unwrap().len(), 1);
    let three = shared.still_node();
    join_again(&two);
    assert_eq!([number(&one), number(&two), number(&three)], [1, 2, 3]);
    assert_eq!(number_seen.load(Ordering::SeqCst), 0);
    // All other numbers have been used while this node had no lease.
    shared.outlive(&[&one, &three]);
    let mut txn = shared.store.begin(TxnOptions::default()).unwrap();
    let last = NUMBER_MAX;
    Meta::new(&mut txn)
        .put_counter(keys::last_node_number(), last.into())
        .unwrap();
    txn.commit(kv::Durability::Os).unwrap();
    let four = shared.still_node();
    assert_eq!(number(&four), 2);
    join_again(&two);
    assert_eq!(number(&two), 4);
    assert_eq!(number_seen.load(Ordering::SeqCst), 4);
}

struct LastNumber(Arc<AtomicU32>);

impl message::Responder for LastNumber {
    fn answer(&self, _: &message::Request) -> message::Reply {
        message::Reply::Unknown
    }

    fn renumbered(&self, number: u32) {
        self.0.store(number, Ordering::SeqCst);
    }
}

/// A session that holds LOCK TABLES ... WRITE does not prevent its node from joining again.
#[test]
fn tables_that_were_locked_under_a_lost_lease_are_unlocked() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.still_node());
    beside(&two, || make_table(&one, 3));
    let id = table(&two, "t").id;
    let ctx = context();
    let held = two.lock_tables(&[(id, true)], &ctx.limit()).unwrap();
    assert!(!is_open(&one));
    shared.outlive(&[&one]);
    wait_until("the other node has unlocked it", || is_open(&one));
    let job = jobs::freeze(&one, "t");
    let rejoin = |node: &SchemaChanger| {
        node.cluster().node().unwrap().lose();
        node.cluster().follow()
    };
    rejoin(&two).unwrap();
    assert!(!is_open(&two), "frozen, and not locked by the session");
    jobs::abandon(&one, job);
    drop(held);
    assert!(!is_open(&two), "the lost lock does not open the table");
}

/// Nobody else has noticed that the lease was lost.
#[test]
fn a_node_that_joins_again_unlocks_what_its_sessions_have_locked() {
    let shared = SharedStore::new();
    let one = shared.running_node();
    make_table(&one, 3);
    let ctx = context();
    let held = one
        .lock_tables(&[(table(&one, "t").id, true)], &ctx.limit())
        .unwrap();
    assert!(!is_open(&one));
    one.cluster().node().unwrap().lose();
    wait_until("unlocked", || is_open(&one));
    drop(held);
    put(&one, 7).unwrap();
}

/// After a pause of the machine, its clock may say that the lease lasts. The store's timestamps show that it
/// is over.
#[test]
fn a_read_after_the_end_of_the_lease_is_refused() {
    let shared = SharedStore::new();
    let one = shared.still_node();
    let mut locks = TransactionLocks::new(one.cluster().metadata_locks().clone());
    locks.rely_on(one.cluster().lease()).unwrap();
    let within = shared.store.snapshot_now().unwrap().ts();
    locks.check_read_at(within).unwrap();
    locks.check_read_at(kv::LATEST).unwrap();
    shared.clock.advance_ms(LEASE_MS * 2);
    locks.rely_on(one.cluster().lease()).unwrap();
    let behind = shared.store.snapshot_now().unwrap().ts();
    assert_eq!(code(locks.check_read_at(behind)), errno::ER_SCHEMA_OUT_OF_DATE);
    locks.check_read_at(within).unwrap();
    // A read without a timestamp is checked by the state of the node after the read.
    one.cluster().node().unwrap().lose();
    assert_eq!(
        code(locks.check_read_at(kv::LATEST)),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
}

/// A transaction that has read `t`.
fn reader_of(db: &SchemaChanger) -> TransactionLocks {
    let mut locks = TransactionLocks::new(db.cluster().metadata_locks().clone());
    locks.rely_on(db.cluster().lease()).unwrap();
    let id = table(db, "t").id;
    locks.acquire(id, Use::Read, &context().limit()).unwrap();
    locks
}

#[test]
fn a_statement_waits_for_the_next_lease_unless_it_has_written() {
    let shared = SharedStore::new();
    let one = shared.running_node();
    make_table(&one, 3);
    let mut idle = TransactionLocks::new(one.cluster().metadata_locks().clone());
    let (mut reads, mut writes) = (reader_of(&one), reader_of(&one));
    let before = one.cluster().node().unwrap();
    before.lose();
    let ctx = context();
    assert_eq!(
        code(writes.regain(one.cluster().lease(), true, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
    for locks in [&mut idle, &mut reads] {
        locks.regain(one.cluster().lease(), false, &ctx.limit()).unwrap();
        assert_eq!(locks.lease().unwrap().term, before.term + 1);
        locks.rely_on(one.cluster().lease()).unwrap();
    }
    let ts = shared.store.snapshot_now().unwrap().ts();
    reads.check_read_at(ts).unwrap();
    assert_eq!(
        code(writes.rely_on(one.cluster().lease())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
}

/// The lease lasts by the node's clock, but the timestamp of the read is after its end.
#[test]
fn a_read_after_the_end_of_the_lease_waits_for_the_next() {
    let shared = SharedStore::new();
    let one = shared.running_node();
    make_table(&one, 3);
    let (reads, ctx) = (reader_of(&one), context());
    let before = one.cluster().node().unwrap();
    shared.clock.advance_ms(LEASE_MS * 2);
    let ts = shared.store.snapshot_now().unwrap().ts();
    assert_eq!(code(reads.check_read_at(ts)), errno::ER_SCHEMA_OUT_OF_DATE);
    reads
        .wait_to_cover(one.cluster().lease(), ts, false, &ctx.limit())
        .unwrap();
    assert_eq!(one.cluster().node().unwrap().term, before.term + 1);
    assert_eq!(
        code(reads.wait_to_cover(one.cluster().lease(), ts, true, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
}

#[test]
fn a_transaction_cannot_continue_with_a_table_that_has_changed() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.still_node());
    beside(&two, || make_table(&one, 3));
    let ctx = context();
    let mut reads = reader_of(&two);
    let term = reads.lease().unwrap().term;
    shared.outlive(&[&one]);
    let join_again = || {
        two.cluster().node().unwrap().lose();
        two.cluster().follow().unwrap();
    };
    // After two leases, any table may have changed.
    join_again();
    reads.regain(two.cluster().lease(), false, &ctx.limit()).unwrap();
    assert_eq!(reads.lease().unwrap().term, term + 1);
    join_again();
    join_again();
    assert_eq!(
        code(reads.regain(two.cluster().lease(), false, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
    drop(reads);
    let mut reads = reader_of(&two);
    shared.outlive(&[&one]);
    alter(&one, "t", vec![drop_column("a")]).unwrap();
    join_again();
    assert_eq!(
        code(reads.regain(two.cluster().lease(), false, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
    drop(reads);
    // The table is frozen, because a node may be changing it.
    let mut reads = reader_of(&two);
    shared.outlive(&[&one]);
    let job = jobs::freeze(&one, "t");
    join_again();
    assert_eq!(
        code(reads.regain(two.cluster().lease(), false, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
    jobs::abandon(&one, job);
}

#[test]
fn the_wait_for_a_lease_has_an_end() {
    let shared = SharedStore::new();
    let one = shared.still_node();
    one.cluster().node().unwrap().lose();
    let mut locks = TransactionLocks::new(one.cluster().metadata_locks().clone());
    let ctx = impatient();
    assert_eq!(
        code(locks.regain(one.cluster().lease(), false, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
    let ctx = context();
    ctx.interrupt.raise();
    assert_eq!(
        code(locks.regain(one.cluster().lease(), false, &ctx.limit())),
        errno::ER_QUERY_INTERRUPTED
    );
}

/// A renewal after the end of the lease is refused, whatever the clock of the node says.
#[test]
fn a_late_renewal_is_refused() {
    let shared = SharedStore::new();
    let one = shared.still_node();
    let before = one.cluster().node().unwrap();
    shared.clock.advance_ms(LEASE_MS * 2);
    one.cluster().make_lease_due();
    one.cluster().follow().unwrap();
    assert_eq!(one.cluster().node().unwrap().term, before.term + 1);
}

#[test]
fn a_table_that_a_crashed_node_has_frozen_is_opened() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 3);
    let job = jobs::freeze(&one, "t");
    assert!(!is_open(&one) && !is_open(&two));
    // It is closed on a node that joins now, too.
    let three = shared.running_node();
    assert!(!is_open(&three));
    jobs::abandon(&one, job);
    drop(one);
    assert!(!is_open(&two), "its lease lasts");
    shared.outlive(&[&two, &three]);
    wait_until("given back", || is_open(&two) && is_open(&three));
    put(&three, 8).unwrap();
    assert_eq!(checked(&two, "t"), 4);
}

#[test]
fn an_index_that_a_crashed_node_was_building_is_finished_by_another() {
    for state in [SchemaState::DeleteOnly, SchemaState::WriteOnly] {
        let shared = SharedStore::new();
        let (one, two) = (shared.running_node(), shared.running_node());
        make_table(&one, 2_000);
        let job = jobs::begin_index(&one, "t", add_index("u", &["b"], true), state);
        jobs::abandon(&one, job);
        put(&two, 5_000).unwrap();
        write_row(&two, "t", 7, None).unwrap();
        drop(one);
        assert_eq!(two.history(0).unwrap().len(), 1);
        shared.outlive(&[&two]);
        wait_until("finished", || two.history(0).unwrap().is_empty());
        two.cluster().follow().unwrap();
        assert_eq!(table(&two, "t").public_indexes().count(), 2);
        assert_eq!(checked(&two, "t"), 2_000);
        assert_eq!(two.history(1).unwrap()[0].kind, "add index");
    }
}

/// The old owner may only have been slow. The next page of its backfill, and its last step, fail because
/// another node owns the job.
#[test]
fn a_node_that_lost_a_job_does_no_more_of_it() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.still_node());
    beside(&two, || {
        make_table(&one, 50);
        let job = jobs::begin_index(&one, "t", add_index("u", &["b"], true), SchemaState::WriteOnly);
        let taken = jobs::take_over(&two, &job);
        assert_eq!(taken.owner, two.cluster().node().unwrap().id);
        let between = table(&one, "t");
        let filled = crate::backfill::backfill(
            one.cluster(),
            &between,
            &job,
            crate::local::unseen(&Interrupt::new()),
        );
        assert_eq!(code(filled), errno::ER_SCHEMA_OUT_OF_DATE);
        assert_eq!(code(jobs::finish(&one, job)), errno::ER_SCHEMA_OUT_OF_DATE);
        two.resume_jobs(&Interrupt::new());
    });
    wait_until("seen", || table(&one, "t").public_indexes().count() == 2);
    assert_eq!(checked(&one, "t"), 50);
}

/// The commit may still arrive, with rows in the table's old definition.
#[test]
fn a_commit_with_an_unknown_outcome_keeps_its_table_until_it_cannot_arrive() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 3);
    two.cluster().keep_undetermined(user_of(&two));
    let change = || vec![add_column(column("c", int()), Position::Last)];
    assert_eq!(code(alter_with(&one, "t", change(), &impatient())), 1205);
    shared.outlive(&[&one, &two]);
    alter(&one, "t", change()).unwrap();
}
