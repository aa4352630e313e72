//! ADD INDEX beside writers, and changes that are interrupted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use kv::Interrupt;
use schema::model::SchemaState;

use super::*;
use crate::ddl::alter::with_new_indexes;
use crate::ddl::alter_plan;
use crate::ddl::job::Job;

fn filled(catalog: &Catalog, rows: i64) -> Arc<Table> {
    let columns = vec![not_null("id", int()), column("a", int()), column("b", int())];
    create(catalog, "t", by_id(columns, vec![key("a", &[1])])).unwrap();
    let made = table(catalog, "t");
    for id in 0..rows {
        insert(
            catalog,
            &made,
            &[Value::Int(id), Value::Int(id % 7), Value::Int(id)],
        );
    }
    made
}

fn write(catalog: &Catalog, id: i64, new: Option<[Value; 3]>) {
    match new {
        Some(row) => write_row(catalog, "t", id, Some(&|_| row.to_vec())),
        None => write_row(catalog, "t", id, None),
    }
    .unwrap();
}

#[test]
fn an_index_grows_beside_writers() {
    let catalog = catalog();
    filled(&catalog, 3_000);
    let (stop, next) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(3_000)));
    let writers: Vec<_> = (0..2)
        .map(|n| {
            let (catalog, stop, next) = (catalog.clone(), stop.clone(), next.clone());
            thread::spawn(move || {
                let mut seed = 12_345 + n;
                while !stop.load(Ordering::SeqCst) {
                    seed = (seed * 1_103_515_245 + 12_345) % (1 << 31);
                    let id = seed % 3_000;
                    match seed / 3_000 % 3 {
                        0 => write(&catalog, id, None),
                        1 => write(
                            &catalog,
                            id,
                            Some([Value::Int(id), Value::Int(seed % 9), Value::Int(id)]),
                        ),
                        _ => {
                            let id = next.fetch_add(1, Ordering::SeqCst);
                            write(&catalog, id, Some([Value::Int(id), Value::Null, Value::Int(id)]));
                        }
                    }
                }
            })
        })
        .collect();
    for round in 0..3 {
        let changes = vec![
            add_index(&format!("u{round}"), &["b"], true),
            add_index(&format!("k{round}"), &["a", "b"], false),
        ];
        alter(&catalog, "t", changes).unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(table(&catalog, "t").public_indexes().count(), 7);
    checked(&catalog, "t");
}

/// A row without an entry yet is deleted while another row has an entry of the same key: that one stays, and in the end
/// every row has its own.
#[test]
fn a_row_that_is_not_filled_in_yet_takes_nobody_elses_entry() {
    let catalog = catalog();
    filled(&catalog, 5);
    begin(&catalog, &[add_index("u", &["b"], true)], true);
    write(&catalog, 9, Some([Value::Int(9), Value::Null, Value::Int(4)]));
    write(&catalog, 4, None);
    let again = Catalog::open(catalog.store().clone()).unwrap();
    again.resume_jobs(&Interrupt::new());
    assert_eq!(table(&again, "t").public_indexes().count(), 2);
    assert_eq!(checked(&again, "t"), 5);
}

#[test]
fn a_killed_alter_is_undone() {
    let catalog = catalog();
    let before = filled(&catalog, 10);
    let ctx = context();
    ctx.interrupt.raise();
    let result = alter_with(&catalog, "t", vec![add_index("u", &["b"], true)], &ctx);
    assert_eq!(result.unwrap_err().code, 1317);
    assert_eq!(table(&catalog, "t").indexes, before.indexes);
    checked(&catalog, "t");
}

/// Stores the first step of an ALTER TABLE as [`Catalog::execute`] would, and stops there.
fn begin(catalog: &Catalog, changes: &[schema::definition::AlterChange], online: bool) -> Job {
    let base = table(catalog, "t");
    let altered = alter_plan::alter(&base, changes, &context()).unwrap();
    let state = online.then_some(SchemaState::WriteOnly);
    let between = if online {
        with_new_indexes(&base, &altered.table, &altered.new_indexes, state).unwrap()
    } else {
        Table {
            max_index_id: altered.table.max_index_id,
            ..Table::clone(&base)
        }
    };
    let ctx = context();
    let ddl = Ddl::AlterTable {
        name: name("t"),
        changes: changes.to_vec(),
        way: std::default::Default::default(),
    };
    let statement = Statement {
        ctx: &ctx,
        about: About::of(&ddl, ctx.now_us),
    };
    catalog
        .start_job(&base, between, &altered, &statement, state)
        .unwrap()
}

#[test]
fn an_online_change_goes_on_after_a_crash() {
    let catalog = catalog();
    filled(&catalog, 2_000);
    let changes = [
        add_index("u", &["b"], true),
        add_column(column("c", int()), schema::definition::Position::First),
    ];
    begin(&catalog, &changes, true);
    // Writers know the index already; readers do not.
    write(
        &catalog,
        5,
        Some([Value::Int(5), Value::Int(1), Value::Int(7_005)]),
    );
    write(&catalog, 6, None);
    let between = table(&catalog, "t");
    assert_eq!(
        between
            .indexes
            .iter()
            .filter(|i| i.state == SchemaState::WriteOnly)
            .count(),
        1
    );

    let again = Catalog::open(catalog.store().clone()).unwrap();
    assert_eq!(again.pending_jobs.lock().len(), 1);
    again.resume_jobs(&Interrupt::new());
    let made = table(&again, "t");
    assert_eq!(made.columns[0].name, "c");
    assert!(
        made.indexes
            .iter()
            .any(|i| i.name == "u" && i.state == SchemaState::Public)
    );
    assert_eq!(checked(&again, "t"), 1_999);
    assert!(
        Catalog::open(again.store().clone())
            .unwrap()
            .pending_jobs
            .lock()
            .is_empty()
    );
}

#[test]
fn a_resumed_change_that_fails_is_undone() {
    let catalog = catalog();
    let before = filled(&catalog, 1_000);
    begin(&catalog, &[add_index("u", &["a"], true)], true);
    let again = Catalog::open(catalog.store().clone()).unwrap();
    again.resume_jobs(&Interrupt::new());
    assert_eq!(table(&again, "t").indexes, before.indexes);
    assert_eq!(checked(&again, "t"), 1_000);
    assert!(again.pending_jobs.lock().is_empty());
}

#[test]
fn a_change_that_had_the_table_to_itself_is_undone_after_a_crash() {
    let catalog = catalog();
    let before = filled(&catalog, 10);
    let changes = [
        add_column(column("c", int()), schema::definition::Position::Last),
        add_index("u", &["c", "id"], true),
    ];
    let job = begin(&catalog, &changes, false);
    let made = job.change.as_ref().unwrap();
    catalog.backfill(&made.target, &job, &Interrupt::new()).unwrap();
    let entries = KeyRange::prefix(codec::key::index_prefix(before.id, made.new_indexes[0]));
    let left = |catalog: &Catalog| {
        catalog
            .store()
            .latest()
            .scan_page(&entries, 100, false)
            .unwrap()
            .len()
    };
    assert_eq!(left(&catalog), 10);

    let again = Catalog::open(catalog.store().clone()).unwrap();
    again.resume_jobs(&Interrupt::new());
    assert_eq!(table(&again, "t").columns.len(), 3);
    assert_eq!(table(&again, "t").indexes, before.indexes);
    again.run_gc_queue().unwrap();
    assert_eq!(left(&again), 0);
}

#[test]
fn the_background_thread_does_it_by_itself() {
    let catalog = catalog();
    filled(&catalog, 100);
    begin(&catalog, &[add_index("u", &["b"], true)], true);
    let again = Catalog::open(catalog.store().clone()).unwrap();
    again.start_background().unwrap();
    let done = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        again.pending_jobs.lock().is_empty() && table(&again, "t").public_indexes().count() == 2
    });
    assert!(done);
    again.close().unwrap();
    assert_eq!(checked(&again, "t"), 100);
}

/// Nobody can change the table while an interrupted change is waiting to be resumed.
#[test]
fn an_interrupted_change_keeps_its_table() {
    let catalog = catalog();
    filled(&catalog, 10);
    begin(&catalog, &[add_index("u", &["b"], true)], true);
    let again = Catalog::open(catalog.store().clone()).unwrap();
    let impatient = DdlContext {
        lock_wait: Duration::from_millis(30),
        ..context()
    };
    let result = alter_with(&again, "t", vec![drop_index("a")], &impatient);
    assert_eq!(result.unwrap_err().code, 1205);
    again.resume_jobs(&Interrupt::new());
    alter(&again, "t", vec![drop_index("a")]).unwrap();
}
