//! Nodes that die, and nodes that stand still.

use std::sync::atomic::AtomicU32;

use schema::definition::Position;
use schema::model::SchemaState;

use super::*;
use crate::ddl::shared::tests_support as jobs;
use crate::meta::{Meta, keys};

#[test]
fn nodes_come_and_go() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.still_node(), cluster.still_node());
    let numbers = |node: &Catalog| {
        node.live_nodes()
            .unwrap()
            .iter()
            .map(|n| n.number)
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&one), [1, 2]);
    one.close().unwrap();
    assert_eq!(numbers(&two), [2]);
    let three = cluster.still_node();
    assert_eq!(numbers(&two), [2, 3], "numbers are not used again soon");
    assert!(three.node().unwrap().id > two.node().unwrap().id);
    drop(three);
    assert_eq!(numbers(&two), [2, 3], "it may only be slow");
    cluster.outlive(&[&two]);
    assert_eq!(numbers(&two), [2]);
}

#[test]
fn who_cannot_join_is_not_waited_for() {
    let cluster = Cluster::new();
    let one = cluster.still_node();
    create_database(&one, "d").unwrap();
    let database = one.schema().database("d").unwrap().id;
    let mut txn = cluster.store.begin(TxnOptions::default()).unwrap();
    txn.put(keys::table(database, 1), b"damaged".to_vec()).unwrap();
    txn.commit(kv::Durability::Sync).unwrap();
    assert!(Catalog::join(cluster.store.clone(), NodeOptions::default()).is_err());
    let nodes = read_nodes(&cluster.store.latest()).unwrap();
    assert_eq!(nodes.len(), 1, "{nodes:?}");
}

/// However late its commit comes: the definitions that it was made for may be others.
#[test]
fn a_node_that_does_not_renew_cannot_commit() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.node(), cluster.still_node());
    let follow = |node: &Catalog| node.follow().unwrap();
    beside(&two, || make_table(&one, 3));
    // In the middle of a transaction, the node stops.
    let mut locks = user_of(&two);
    let old = table(&two, "t");
    let mut txn = cluster.store.begin(TxnOptions::default()).unwrap();
    let encoder = schema::layout::RowEncoder::new(&old).unwrap();
    let handle = schema::layout::RowHandle::Int(77);
    let row = encoder
        .row_value(&row_of(&old, 77), functions::TimeZone::UTC)
        .unwrap();
    txn.put(schema::layout::row_key(&old, &handle), row).unwrap();
    // The other waits for it, and no longer than its lease.
    assert_eq!(
        code(alter_with(
            &one,
            "t",
            vec![add_index("u", &["b"], true)],
            &impatient()
        )),
        1205
    );
    cluster.outlive(&[&one]);
    alter(&one, "t", vec![add_index("u", &["b"], true)]).unwrap();
    alter(&one, "t", vec![drop_column("a")]).unwrap();

    let refused = txn.commit_within(kv::Durability::Os, locks.fence());
    assert!(
        matches!(refused, Err(kv::Error::CommitTooLate { .. })),
        "{refused:?}"
    );
    assert_eq!(checked(&one, "t"), 3);
    // It comes back under another lease, with what is defined now; its old transaction has no use any more.
    *two.membership.as_ref().unwrap().renewed.lock() = Default::default();
    follow(&two);
    assert_eq!(table(&two, "t").columns.len(), 2);
    assert_eq!(code(locks.rely_on(&two)), errno::ER_SCHEMA_OUT_OF_DATE);
    drop(locks);
    put(&two, 77).unwrap();
    assert_eq!(checked(&one, "t"), 4);
}

/// Without the store there is no lease, and without a lease nothing is served.
#[test]
fn a_lease_that_was_lost_serves_nothing_until_the_node_has_joined_again() {
    let cluster = Cluster::new();
    let two = cluster.still_node();
    let node = two.node().unwrap();
    assert!(two.lease().unwrap().is_some());
    node.lose();
    assert_eq!(code(two.lease().map(|_| ())), errno::ER_SCHEMA_OUT_OF_DATE);
    two.follow().unwrap();
    let again = two.node().unwrap();
    assert_eq!((again.id, again.term), (node.id, node.term + 1));
    assert!(two.lease().unwrap().is_some());
    // By its own clock, too.
    let short = NodeOptions {
        lease: Duration::from_secs(1),
        ..NodeOptions::default()
    };
    let hasty = Catalog::join(cluster.store.clone(), short).unwrap();
    wait_until("its time is over", || hasty.lease().is_err());
}

/// Ids of connections are made of the number, and connections may outlive the lease.
#[test]
fn a_node_that_joins_again_has_its_number_unless_another_has() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.still_node(), cluster.still_node());
    let number = |node: &Catalog| node.node().unwrap().number;
    let told = Arc::new(AtomicU32::new(0));
    two.answer_other_nodes(Arc::new(Told(Arc::clone(&told))));
    cluster.outlive(&[&one]);
    let join_again = |node: &Catalog| {
        node.node().unwrap().lose();
        node.follow().unwrap();
    };
    assert_eq!(one.live_nodes().unwrap().len(), 1);
    let three = cluster.still_node();
    join_again(&two);
    assert_eq!([number(&one), number(&two), number(&three)], [1, 2, 3]);
    assert_eq!(told.load(Ordering::SeqCst), 0);
    // All other numbers have been given, and this node was away all the time.
    cluster.outlive(&[&one, &three]);
    let mut txn = cluster.store.begin(TxnOptions::default()).unwrap();
    let last = crate::nodes::NUMBER_MAX;
    Meta::new(&mut txn)
        .put_counter(keys::last_node_number(), last.into())
        .unwrap();
    txn.commit(kv::Durability::Os).unwrap();
    let four = cluster.still_node();
    assert_eq!(number(&four), 2);
    join_again(&two);
    assert_eq!(number(&two), 4);
    assert_eq!(told.load(Ordering::SeqCst), 4);
}

struct Told(Arc<AtomicU32>);

impl crate::mail::Neighbour for Told {
    fn answer(&self, _: &crate::mail::Question) -> crate::mail::Reply {
        crate::mail::Reply::Unknown
    }

    fn renumbered(&self, number: u32) {
        self.0.store(number, Ordering::SeqCst);
    }
}

/// A session that sits on its LOCK TABLES ... WRITE does not keep its node out.
#[test]
fn tables_that_were_locked_under_a_lost_lease_are_unlocked() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.node(), cluster.still_node());
    beside(&two, || make_table(&one, 3));
    let id = table(&two, "t").id;
    let ctx = context();
    let locks = two.metadata_locks();
    let held = locks.lock_for_session(&[(id, true)], &ctx.limit()).unwrap();
    cluster.outlive(&[&one]);
    let job = jobs::freeze(&one, "t");
    let rejoin = |node: &Catalog| {
        node.node().unwrap().lose();
        node.follow()
    };
    rejoin(&two).unwrap();
    assert!(!is_open(&two), "frozen, and by nobody else");
    jobs::abandon(&one, job);
    drop(held);
    assert!(!is_open(&two), "what was taken away is not given back");
}

/// A machine that stood still believes that its lease lasts; the store's timestamps tell.
#[test]
fn what_is_read_behind_the_lease_is_refused() {
    let cluster = Cluster::new();
    let one = cluster.still_node();
    let mut locks = TransactionLocks::new(one.metadata_locks());
    locks.rely_on(&one).unwrap();
    let within = cluster.store.snapshot_now().unwrap().ts();
    locks.check_read_at(within).unwrap();
    locks.check_read_at(kv::LATEST).unwrap();
    cluster.clock.advance_ms(LEASE_MS * 2);
    locks.rely_on(&one).unwrap();
    let behind = cluster.store.snapshot_now().unwrap().ts();
    assert_eq!(code(locks.check_read_at(behind)), errno::ER_SCHEMA_OUT_OF_DATE);
    locks.check_read_at(within).unwrap();
    // What has no timestamp goes by what the node knows once it was read.
    one.node().unwrap().lose();
    assert_eq!(
        code(locks.check_read_at(kv::LATEST)),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
}

/// A transaction that has read `t`.
fn reader_of(catalog: &Catalog) -> TransactionLocks {
    let mut locks = TransactionLocks::new(catalog.metadata_locks());
    locks.rely_on(catalog).unwrap();
    let id = table(catalog, "t").id;
    locks.acquire(id, Use::Read, &context().limit()).unwrap();
    locks
}

#[test]
fn a_statement_waits_for_the_next_lease_unless_it_has_written() {
    let cluster = Cluster::new();
    let one = cluster.node();
    make_table(&one, 3);
    let mut idle = TransactionLocks::new(one.metadata_locks());
    let (mut reads, mut writes) = (reader_of(&one), reader_of(&one));
    let before = one.node().unwrap();
    before.lose();
    let ctx = context();
    assert_eq!(
        code(writes.regain(&one, true, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
    for locks in [&mut idle, &mut reads] {
        locks.regain(&one, false, &ctx.limit()).unwrap();
        assert_eq!(locks.lease().unwrap().term, before.term + 1);
        locks.rely_on(&one).unwrap();
    }
    let ts = cluster.store.snapshot_now().unwrap().ts();
    reads.check_read_at(ts).unwrap();
    assert_eq!(code(writes.rely_on(&one)), errno::ER_SCHEMA_OUT_OF_DATE);
}

/// The node believes that its lease lasts; what it reads is behind it.
#[test]
fn a_moment_behind_the_lease_has_it_renewed() {
    let cluster = Cluster::new();
    let one = cluster.node();
    make_table(&one, 3);
    let (reads, ctx) = (reader_of(&one), context());
    let before = one.node().unwrap();
    cluster.clock.advance_ms(LEASE_MS * 2);
    let ts = cluster.store.snapshot_now().unwrap().ts();
    assert_eq!(code(reads.check_read_at(ts)), errno::ER_SCHEMA_OUT_OF_DATE);
    reads.wait_to_cover(&one, ts, false, &ctx.limit()).unwrap();
    assert_eq!(one.node().unwrap().term, before.term + 1);
    assert_eq!(
        code(reads.wait_to_cover(&one, ts, true, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
}

#[test]
fn who_uses_a_table_that_has_moved_cannot_go_on() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.node(), cluster.still_node());
    beside(&two, || make_table(&one, 3));
    let ctx = context();
    let mut reads = reader_of(&two);
    let term = reads.lease().unwrap().term;
    cluster.outlive(&[&one]);
    let join_again = || {
        two.node().unwrap().lose();
        two.follow().unwrap();
    };
    // Of two leases, each may have changed it.
    join_again();
    reads.regain(&two, false, &ctx.limit()).unwrap();
    assert_eq!(reads.lease().unwrap().term, term + 1);
    join_again();
    join_again();
    assert_eq!(
        code(reads.regain(&two, false, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
    drop(reads);
    let mut reads = reader_of(&two);
    cluster.outlive(&[&one]);
    alter(&one, "t", vec![drop_column("a")]).unwrap();
    join_again();
    assert_eq!(
        code(reads.regain(&two, false, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
    drop(reads);
    // Frozen only, by a node that may be changing it.
    let mut reads = reader_of(&two);
    cluster.outlive(&[&one]);
    let job = jobs::freeze(&one, "t");
    join_again();
    assert_eq!(
        code(reads.regain(&two, false, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
    jobs::abandon(&one, job);
}

#[test]
fn the_wait_for_a_lease_has_an_end() {
    let cluster = Cluster::new();
    let one = cluster.still_node();
    one.node().unwrap().lose();
    let mut locks = TransactionLocks::new(one.metadata_locks());
    let ctx = impatient();
    assert_eq!(
        code(locks.regain(&one, false, &ctx.limit())),
        errno::ER_SCHEMA_OUT_OF_DATE
    );
    let ctx = context();
    ctx.interrupt.raise();
    assert_eq!(
        code(locks.regain(&one, false, &ctx.limit())),
        errno::ER_QUERY_INTERRUPTED
    );
}

/// A renewal that comes late is none, whatever the node believes.
#[test]
fn a_late_renewal_is_refused() {
    let cluster = Cluster::new();
    let one = cluster.still_node();
    let before = one.node().unwrap();
    cluster.clock.advance_ms(LEASE_MS * 2);
    let membership = one.membership.as_ref().unwrap();
    assert!(!one.renew(membership, one.schema_version()).unwrap());
    *membership.renewed.lock() = Default::default();
    one.follow().unwrap();
    assert_eq!(one.node().unwrap().term, before.term + 1);
}

#[test]
fn a_table_that_a_dead_node_has_frozen_is_given_back() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.node(), cluster.node());
    make_table(&one, 3);
    let job = jobs::freeze(&one, "t");
    assert!(!is_open(&one) && !is_open(&two));
    // Who joins now finds it closed, too.
    let three = cluster.node();
    assert!(!is_open(&three));
    jobs::abandon(&one, job);
    drop(one);
    assert!(!is_open(&two), "its lease lasts");
    cluster.outlive(&[&two, &three]);
    wait_until("given back", || is_open(&two) && is_open(&three));
    put(&three, 8).unwrap();
    assert_eq!(checked(&two, "t"), 4);
}

#[test]
fn an_index_that_a_dead_node_was_building_is_finished_by_another() {
    for state in [SchemaState::DeleteOnly, SchemaState::WriteOnly] {
        let cluster = Cluster::new();
        let (one, two) = (cluster.node(), cluster.node());
        make_table(&one, 2_000);
        let job = jobs::begin_index(&one, "t", add_index("u", &["b"], true), state);
        jobs::abandon(&one, job);
        put(&two, 5_000).unwrap();
        write_row(&two, "t", 7, None).unwrap();
        drop(one);
        assert_eq!(two.ddl_jobs(0).unwrap().len(), 1);
        cluster.outlive(&[&two]);
        wait_until("finished", || two.ddl_jobs(0).unwrap().is_empty());
        two.follow().unwrap();
        assert_eq!(table(&two, "t").public_indexes().count(), 2);
        assert_eq!(checked(&two, "t"), 2_000);
        assert_eq!(two.ddl_jobs(1).unwrap()[0].kind, "add index");
    }
}

/// The old owner may only have been slow: a page of its backfill, or its last step, finds that the job is another's.
#[test]
fn who_lost_a_job_does_no_more_of_it() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.node(), cluster.still_node());
    beside(&two, || {
        make_table(&one, 50);
        let job = jobs::begin_index(&one, "t", add_index("u", &["b"], true), SchemaState::WriteOnly);
        let taken = jobs::take_over(&two, &job);
        assert_eq!(taken.owner, two.node().unwrap().id);
        let between = table(&one, "t");
        let filled = one.backfill(&between, &job, &Interrupt::new());
        assert_eq!(code(filled), errno::ER_SCHEMA_OUT_OF_DATE);
        assert_eq!(code(jobs::finish(&one, job)), errno::ER_SCHEMA_OUT_OF_DATE);
        two.resume_jobs(&Interrupt::new());
    });
    wait_until("seen", || table(&one, "t").public_indexes().count() == 2);
    assert_eq!(checked(&one, "t"), 50);
}

/// Its commit may still arrive, with what the table was when it was made.
#[test]
fn an_unknown_outcome_keeps_its_table_until_it_cannot_arrive() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.node(), cluster.node());
    make_table(&one, 3);
    two.keep_unsettled(user_of(&two));
    let change = || vec![add_column(column("c", int()), Position::Last)];
    assert_eq!(code(alter_with(&one, "t", change(), &impatient())), 1205);
    cluster.outlive(&[&one, &two]);
    alter(&one, "t", change()).unwrap();
}
