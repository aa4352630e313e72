//! Definition statements on one node while other nodes work.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use schema::definition::{AlterChange, Position};
use schema::model::SchemaState;

use super::super::beside_readers::{new_ids, refusal, row_lock, wait_for_readers_only};
use super::*;
use crate::shared::test_steps::{abandon, stop_writers};

#[test]
fn definitions_reach_the_others_before_they_are_acknowledged() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 3);
    assert_eq!(checked(&two, "t"), 3);
    alter(&two, "t", vec![add_column(column("c", int()), Position::Last)]).unwrap();
    assert_eq!(table(&one, "t").columns.len(), 4);
    alter(&one, "t", vec![drop_column("c"), add_index("u", &["b"], true)]).unwrap();
    assert_eq!(table(&two, "t").public_indexes().count(), 2);
    let renames = vec![(name("t"), name("s"))];
    two.execute(&Ddl::RenameTable { renames }, &context()).unwrap();
    assert_eq!(checked(&one, "s"), 3);
    assert!(one.cluster().schema().table("d", "t").is_none());
    let drop = Ddl::DropDatabase {
        name: "d".into(),
        if_exists: false,
    };
    one.execute(&drop, &context()).unwrap();
    assert!(two.cluster().schema().database("d").is_none());
    assert_eq!(one.history(100).unwrap().len(), 6);
    assert!(one.history(100).unwrap().iter().all(|job| job.state == "synced"));
}

/// Writers on two nodes, each with rows of its own and a list of those that must exist; definitions change on
/// the third node.
#[test]
fn no_row_is_lost_and_indexes_agree_while_definitions_change() {
    let shared = SharedStore::new();
    let nodes = [
        shared.running_node(),
        shared.running_node(),
        shared.running_node(),
    ];
    make_table(&nodes[0], 600);
    let stop = Stop::default();
    let expected = thread::scope(|scope| {
        let stopping = stop.when_dropped();
        let writers: Vec<_> = (0..4_i64)
            .map(|n| {
                let (db, stop) = (&nodes[1 + (n % 2) as usize], &stop);
                scope.spawn(move || write_until(db, stop, n))
            })
            .collect();
        for round in 0..3 {
            let unique = format!("u{round}");
            let changes = vec![add_index(&unique, &["b"], true)];
            alter(&nodes[0], "t", changes).unwrap();
            alter(&nodes[0], "t", vec![add_index("k", &["a", "b"], false)]).unwrap();
            let c = column("c", int());
            let changes = vec![add_column(c, Position::First), add_index("c", &["c"], false)];
            alter(&nodes[0], "t", changes).unwrap();
            alter(&nodes[0], "t", vec![drop_column("c")]).unwrap();
            alter(&nodes[0], "t", vec![drop_index("k"), drop_index("a")]).unwrap();
            alter(&nodes[0], "t", vec![add_index("a", &["a"], false)]).unwrap();
        }
        drop(stopping);
        let mut expected: BTreeMap<i64, bool> = (0..600).map(|id| (id, true)).collect();
        for writer in writers {
            expected.extend(writer.join().unwrap());
        }
        expected
    });
    let there: Vec<i64> = expected
        .into_iter()
        .filter(|(_, is)| *is)
        .map(|(id, _)| id)
        .collect();
    for node in &nodes {
        assert_eq!(checked(node, "t"), there.len() as u64);
        assert_eq!(table(node, "t").public_indexes().count(), 4);
        assert_eq!(ids(node, "t"), there);
    }
}

/// Puts and deletes rows whose ids leave `n` when divided by 4. Returns which of them are there in the end.
fn write_until(db: &SchemaChanger, stop: &Stop, n: i64) -> BTreeMap<i64, bool> {
    let mut known = BTreeMap::new();
    let mut seed = 12_345 + n;
    while !stop.is_set() {
        seed = (seed * 1_103_515_245 + 12_345) % (1 << 31);
        let id = (seed / 8) % 500 * 4 + n;
        let puts = seed % 3 > 0;
        let written = match puts {
            true => put(db, id),
            false => write_row(db, "t", id, None),
        };
        match written {
            Ok(_) => {
                known.insert(id, puts);
            }
            // Beside a backfill, which locks rows and entries in another order.
            Err(error) if error.code == errno::ER_LOCK_DEADLOCK => {}
            Err(error) => panic!("{error}"),
        }
    }
    known
}

/// What was committed before TRUNCATE TABLE is gone, and what was committed after it is there.
#[test]
fn truncation_has_one_moment_on_all_nodes() {
    let shared = SharedStore::new();
    let nodes = [
        shared.running_node(),
        shared.running_node(),
        shared.running_node(),
    ];
    make_table(&nodes[0], 10);
    let (stop, next) = (Stop::default(), AtomicU64::new(100));
    let written = thread::scope(|scope| {
        let stopping = stop.when_dropped();
        let writers: Vec<_> = (1..3)
            .map(|n| {
                let (db, stop, next) = (&nodes[n], &stop, &next);
                scope.spawn(move || {
                    let mut written = Vec::new();
                    while !stop.is_set() {
                        let id = next.fetch_add(1, Ordering::SeqCst) as i64;
                        written.push((id, put(db, id).unwrap()));
                    }
                    written
                })
            })
            .collect();
        for _ in 0..5 {
            let ddl = Ddl::TruncateTable { name: name("t") };
            nodes[0].execute(&ddl, &context()).unwrap();
        }
        drop(stopping);
        writers
            .into_iter()
            .flat_map(|w| w.join().unwrap())
            .collect::<Vec<_>>()
    });
    let last = table(&nodes[0], "t").readable_from_ts;
    let mut expected: Vec<i64> = written
        .iter()
        .filter(|(_, commit_ts)| *commit_ts > last)
        .map(|(id, _)| *id)
        .collect();
    expected.sort_unstable();
    for node in &nodes {
        assert_eq!(ids(node, "t"), expected);
        checked(node, "t");
    }
}

/// A definition statement waits for a transaction on another node. No other statement waits for it.
#[test]
fn a_transaction_elsewhere_is_waited_for() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 3);
    let before = table(&one, "t");
    let user = user_of(&two);
    let new_column = || add_column(column("c", int()), Position::Last);
    for changes in [
        vec![new_column()],
        vec![add_index("u", &["b"], true)],
        vec![new_column(), add_index("c", &["c"], false)],
    ] {
        assert_eq!(code(alter_with(&one, "t", changes, &impatient())), 1205);
        assert_eq!(table(&one, "t").columns, before.columns);
        assert_eq!(table(&one, "t").indexes, before.indexes);
        // Nobody finds it closed afterwards.
        wait_until("open again", || is_open(&one) && is_open(&two));
        // Other tables have their turn meanwhile.
        let columns = vec![not_null("id", int())];
        create(&one, "other", by_id(columns, vec![])).unwrap();
        let ddl = Ddl::DropTable {
            names: vec![name("other")],
            if_exists: false,
        };
        two.execute(&ddl, &context()).unwrap();
    }
    // Rows may have values of the column that was published with its index.
    assert_eq!(table(&one, "t").max_column_id, before.max_column_id + 1);
    drop(user);
    alter(&one, "t", vec![add_index("u", &["b"], true)]).unwrap();
    assert_eq!(checked(&two, "t"), 3);
}

#[test]
fn lock_tables_elsewhere_is_waited_for() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 3);
    let ctx = context();
    let id = table(&two, "t").id;
    for write in [false, true] {
        let locked = two.lock_tables(&[(id, write)], &ctx.limit()).unwrap();
        let change = vec![add_column(column("c", int()), Position::Last)];
        assert_eq!(code(alter_with(&one, "t", change, &impatient())), 1205);
        drop(locked);
        wait_until("open again", || is_open(&two));
    }
    alter(&one, "t", vec![drop_column("b")]).unwrap();
}

/// Two versions that are in use differ by one state, and an index is not read before all nodes maintain it.
#[test]
fn a_new_index_goes_through_all_states() {
    let shared = SharedStore::new();
    let (one, two) = (shared.still_node(), shared.still_node());
    beside(&two, || make_table(&one, 30));
    let states = Arc::new(Mutex::new(Vec::new()));
    let stop = Stop::default();
    thread::scope(|scope| {
        let stopping = stop.when_dropped();
        scope.spawn(|| {
            while !stop.is_set() {
                // Between two checks this node uses the definitions that it has, however far the other is.
                let table = table(&two, "t");
                let index = table.indexes.iter().find(|i| i.name == "u");
                states.lock().push(index.map(|i| i.state));
                two.cluster().follow().unwrap();
            }
        });
        alter(&one, "t", vec![add_index("u", &["b"], true)]).unwrap();
        drop(stopping);
    });
    let mut states = std::mem::take(&mut *states.lock());
    states.dedup();
    use SchemaState::{DeleteOnly, Public, WriteOnly};
    let all = [None, Some(DeleteOnly), Some(WriteOnly), Some(Public)];
    assert_eq!(states, all[..states.len()], "one by one, and none is left out");
    assert!(states.len() >= 3);
    two.cluster().follow().unwrap();
    assert_eq!(checked(&two, "t"), 30);
}

#[test]
fn two_statements_about_one_table_take_turns() {
    let shared = SharedStore::new();
    let nodes = [shared.running_node(), shared.running_node()];
    make_table(&nodes[0], 500);
    thread::scope(|scope| {
        for (n, node) in nodes.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..4 {
                    let index = format!("k{n}{round}");
                    alter(node, "t", vec![add_index(&index, &["a", "b"], false)]).unwrap();
                    let c = column(&format!("c{n}{round}"), int());
                    alter(node, "t", vec![add_column(c, Position::Last)]).unwrap();
                }
            });
        }
    });
    for node in &nodes {
        let table = table(node, "t");
        assert_eq!((table.columns.len(), table.public_indexes().count()), (11, 9));
        checked(node, "t");
    }
    assert_eq!(nodes[0].history(100).unwrap().len(), 18);
}

#[test]
fn a_duplicate_undoes_a_unique_index_everywhere() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 1_000);
    let before = table(&one, "t");
    assert_eq!(code(alter(&one, "t", vec![add_index("u", &["a"], true)])), 1062);
    for node in [&one, &two] {
        // The statement does not wait until the other node uses the last version: that only opens the table.
        node.cluster().follow().unwrap();
        assert_eq!(table(node, "t").indexes, before.indexes);
        assert_eq!(checked(node, "t"), 1_000);
    }
    assert!(one.history(0).unwrap().is_empty());
}

#[test]
fn a_statement_is_cancelled_from_any_node() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 100);
    let before = table(&one, "t");
    let user = user_of(&two);
    thread::scope(|scope| {
        let alter = scope.spawn(|| alter(&one, "t", vec![add_index("u", &["b"], true)]));
        wait_until("a job", || !two.history(0).unwrap().is_empty());
        let job = two.history(0).unwrap().remove(0);
        assert_eq!(
            (job.kind.as_str(), job.table.as_str(), job.state),
            ("add index", "t", "running")
        );
        two.cancel(job.id).unwrap();
        assert_eq!(code(alter.join().unwrap()), 8214);
        assert_eq!(code(two.cancel(1_000_000)), 8224);
    });
    drop(user);
    wait_until("undone", || two.history(0).unwrap().is_empty());
    assert_eq!(table(&one, "t").indexes, before.indexes);
    alter(&two, "t", vec![add_index("u", &["b"], true)]).unwrap();
}

#[test]
fn a_killed_statement_leaves_nothing() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 100);
    let _user = user_of(&two);
    let ctx = context();
    thread::scope(|scope| {
        let alter = scope.spawn(|| {
            let change = vec![AlterChange::Comment("x".into())];
            alter_with(&one, "t", change, &ctx)
        });
        wait_until("a job", || !two.history(0).unwrap().is_empty());
        ctx.interrupt.raise();
        assert_eq!(code(alter.join().unwrap()), 1317);
    });
    wait_until("undone", || two.history(0).unwrap().is_empty());
    wait_until("open again", || is_open(&one) && is_open(&two));
    assert_eq!(table(&one, "t").comment, "");
}

#[test]
fn ids_follow_what_another_node_sets() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    create_database(&one, "d").unwrap();
    create(&one, "t", by_id(vec![auto("id", int())], vec![])).unwrap();
    let next = |node: &SchemaChanger| node.cluster().ids().allocate(&table(node, "t"), 1, 1, 1).unwrap();
    assert!(next(&one) == 1 && next(&two) > 1_000);
    alter(&one, "t", vec![AlterChange::AutoIncrement(50_000)]).unwrap();
    let (first, second) = (next(&two), next(&one));
    assert!(first >= 50_000 && second >= 50_000 && first != second);
    // Given by hand on one node: what the other leases afterwards is beyond it.
    one.cluster().ids().raise_to(&table(&one, "t"), 900_000).unwrap();
    let beyond = |node: &SchemaChanger| (0..2_000).map(|_| next(node)).max().unwrap();
    assert!(beyond(&two) > 900_000);
    let ddl = Ddl::TruncateTable { name: name("t") };
    one.execute(&ddl, &context()).unwrap();
    assert!(next(&two) < 50_000);
}

/// While a definition statement waits for a transaction on another node, statements about other tables do not
/// wait.
#[test]
fn a_long_transaction_delays_one_table_only() {
    let shared = SharedStore::new();
    let (one, two, three) = (
        shared.running_node(),
        shared.running_node(),
        shared.running_node(),
    );
    make_table(&one, 30);
    let user = user_of(&two);
    let ctx = context();
    thread::scope(|scope| {
        let alter = scope.spawn(|| alter_with(&one, "t", vec![add_index("u", &["b"], true)], &ctx));
        wait_until("a job", || !three.history(0).unwrap().is_empty());
        for n in 0..3 {
            let other = format!("other{n}");
            create(&three, &other, by_id(vec![not_null("id", int())], vec![])).unwrap();
        }
        assert!(!alter.is_finished());
        drop(user);
        alter.join().unwrap().unwrap();
    });
    assert_eq!(checked(&two, "t"), 30);
}

/// Rows get ids in their order: no node writes the table meanwhile, and all read it.
#[test]
fn a_table_whose_rows_get_ids_is_read_on_all_nodes() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 1_000);
    let lock = row_lock(&one, 700);
    thread::scope(|scope| {
        let altering = scope.spawn(|| alter(&one, "t", new_ids()));
        for node in [&one, &two] {
            wait_for_readers_only(node);
            assert_eq!(refusal(node, &[Use::Read, Use::Write]), Some(1213));
        }
        assert!(!altering.is_finished());
        drop(lock);
        altering.join().unwrap().unwrap();
    });
    for node in [&one, &two] {
        assert_eq!(refusal(node, &[Use::Read, Use::Write]), None);
        assert_eq!(checked(node, "t"), 1_000);
        assert_eq!(table(node, "t").columns.len(), 4);
    }
}

/// A transaction that has read the table, and goes on, keeps it from its last step. Then writers must not come back before
/// the change is undone: it has copied rows that they would change.
#[test]
fn a_reader_elsewhere_is_waited_for_while_writers_stay_out() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 10);
    let lock = row_lock(&one, 7);
    let ctx = context();
    thread::scope(|scope| {
        let altering = scope.spawn(|| alter_with(&one, "t", new_ids(), &ctx));
        wait_for_readers_only(&two);
        let mut reader = TransactionLocks::new(two.cluster().metadata_locks().clone());
        reader.rely_on(two.cluster().lease()).unwrap();
        reader
            .acquire(table(&two, "t").id, Use::Read, &ctx.limit())
            .unwrap();
        drop(lock);
        let done = || two.history(0).unwrap().first().map(|job| job.rows) == Some(10);
        wait_until("all rows are copied", done);
        let further = reader.acquire(table(&two, "t").id, Use::Write, &ctx.limit());
        assert_eq!(further.unwrap_err().code, 1213);
        assert_eq!(refusal(&one, &[Use::Write]), Some(1205));
        drop(reader);
        altering.join().unwrap().unwrap();
    });
    assert_eq!(checked(&two, "t"), 10);
}

#[test]
fn a_crash_of_the_node_that_stops_writers_lets_them_back() {
    let shared = SharedStore::new();
    let (one, two) = (shared.running_node(), shared.running_node());
    make_table(&one, 10);
    let job = stop_writers(&one, "t");
    assert_eq!(refusal(&two, &[Use::Write]), Some(1205));
    assert_eq!(refusal(&two, &[Use::Read]), None);
    abandon(&one, job);
    drop(one);
    shared.outlive(&[&two]);
    wait_until("open again", || refusal(&two, &[Use::Read, Use::Write]).is_none());
}
