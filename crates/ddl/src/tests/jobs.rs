//! ADD INDEX with concurrent writers, and interrupted changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use kv::Interrupt;
use schema::model::SchemaState;

use super::*;
use crate::about::About;
use crate::alter_plan;
use crate::backfill::backfill;
use crate::changer::Jobs;
use crate::context::Statement;
use crate::job::Job;

pub(super) fn local(db: &SchemaChanger) -> &crate::local::LocalJobs {
    match &db.jobs {
        Jobs::Local(jobs) => jobs,
        Jobs::Shared(_) => panic!("a node"),
    }
}

fn pending(db: &SchemaChanger) -> usize {
    local(db).pending()
}

pub(super) fn filled(db: &SchemaChanger, rows: i64) -> Arc<Table> {
    let columns = vec![not_null("id", int()), column("a", int()), column("b", int())];
    create(db, "t", by_id(columns, vec![key("a", &[1])])).unwrap();
    let made = table(db, "t");
    for id in 0..rows {
        insert(db, &made, &[Value::Int(id), Value::Int(id % 7), Value::Int(id)]);
    }
    made
}

fn write(db: &SchemaChanger, id: i64, new: Option<[Value; 3]>) {
    match new {
        Some(row) => write_row(db, "t", id, Some(&|_| row.to_vec())),
        None => write_row(db, "t", id, None),
    }
    .unwrap();
}

#[test]
fn an_index_grows_beside_writers() {
    let db = new_db();
    filled(&db, 3_000);
    let (stop, next) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(3_000)));
    let writers: Vec<_> = (0..2)
        .map(|n| {
            let (db, stop, next) = (db.clone(), stop.clone(), next.clone());
            thread::spawn(move || {
                let mut seed = 12_345 + n;
                while !stop.load(Ordering::SeqCst) {
                    seed = (seed * 1_103_515_245 + 12_345) % (1 << 31);
                    let id = seed % 3_000;
                    match seed / 3_000 % 3 {
                        0 => write(&db, id, None),
                        1 => write(
                            &db,
                            id,
                            Some([Value::Int(id), Value::Int(seed % 9), Value::Int(id)]),
                        ),
                        _ => {
                            let id = next.fetch_add(1, Ordering::SeqCst);
                            write(&db, id, Some([Value::Int(id), Value::Null, Value::Int(id)]));
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
        alter(&db, "t", changes).unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(table(&db, "t").public_indexes().count(), 7);
    checked(&db, "t");
}

/// A row without an entry is deleted while another row has an entry with the same key. This entry stays, and
/// in the end every row has its own.
#[test]
fn a_deleted_row_without_an_entry_leaves_the_entry_of_another_row() {
    let db = new_db();
    filled(&db, 5);
    begin(&db, &[add_index("u", &["b"], true)], true);
    write(&db, 9, Some([Value::Int(9), Value::Null, Value::Int(4)]));
    write(&db, 4, None);
    let again = open(db.cluster().store().clone());
    again.resume_jobs(&Interrupt::new());
    assert_eq!(table(&again, "t").public_indexes().count(), 2);
    assert_eq!(checked(&again, "t"), 5);
}

#[test]
fn a_killed_alter_is_undone() {
    let db = new_db();
    let before = filled(&db, 10);
    let ctx = context();
    ctx.interrupt.raise();
    let result = alter_with(&db, "t", vec![add_index("u", &["b"], true)], &ctx);
    assert_eq!(result.unwrap_err().code, 1317);
    assert_eq!(table(&db, "t").indexes, before.indexes);
    checked(&db, "t");
}

/// Runs the first step of an ALTER TABLE as [`SchemaChanger::execute`] does, and stops.
pub(super) fn begin(db: &SchemaChanger, changes: &[schema::definition::AlterChange], online: bool) -> Job {
    let base = table(db, "t");
    let altered = alter_plan::alter(&base, changes, &context()).unwrap();
    let state = online.then_some(SchemaState::WriteOnly);
    let between = if online {
        Table::clone(&base)
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
    local(db)
        .start(&base, between, &altered, &statement, state)
        .unwrap()
}

#[test]
fn an_online_change_goes_on_after_a_crash() {
    let db = new_db();
    filled(&db, 2_000);
    let changes = [
        add_index("u", &["b"], true),
        add_column(column("c", int()), schema::definition::Position::First),
    ];
    begin(&db, &changes, true);
    // Writers know the index already; readers do not.
    write(&db, 5, Some([Value::Int(5), Value::Int(1), Value::Int(7_005)]));
    write(&db, 6, None);
    let between = table(&db, "t");
    assert_eq!(
        between
            .indexes
            .iter()
            .filter(|i| i.state == SchemaState::WriteOnly)
            .count(),
        1
    );

    let again = open(db.cluster().store().clone());
    assert_eq!(pending(&again), 1);
    again.resume_jobs(&Interrupt::new());
    let made = table(&again, "t");
    assert_eq!(made.columns[0].name, "c");
    assert!(
        made.indexes
            .iter()
            .any(|i| i.name == "u" && i.state == SchemaState::Public)
    );
    assert_eq!(checked(&again, "t"), 1_999);
    assert!(pending(&open(again.cluster().store().clone())) == 0);
}

#[test]
fn a_resumed_change_that_fails_is_undone() {
    let db = new_db();
    let before = filled(&db, 1_000);
    begin(&db, &[add_index("u", &["a"], true)], true);
    let again = open(db.cluster().store().clone());
    again.resume_jobs(&Interrupt::new());
    assert_eq!(table(&again, "t").indexes, before.indexes);
    assert_eq!(checked(&again, "t"), 1_000);
    assert!(pending(&again) == 0);
}

#[test]
fn a_change_that_had_the_table_to_itself_is_undone_after_a_crash() {
    let db = new_db();
    let before = filled(&db, 10);
    let changes = [
        add_column(column("c", int()), schema::definition::Position::Last),
        add_index("u", &["c", "id"], true),
    ];
    let job = begin(&db, &changes, false);
    let made = job.change.as_ref().unwrap();
    backfill(
        db.cluster(),
        &made.target,
        &job,
        crate::local::unseen(&Interrupt::new()),
    )
    .unwrap();
    let entries = KeyRange::prefix(codec::key::index_prefix(before.id, made.new_indexes[0]));
    let left = |db: &SchemaChanger| {
        db.cluster()
            .store()
            .latest()
            .scan_page(&entries, 100, false)
            .unwrap()
            .len()
    };
    assert_eq!(left(&db), 10);

    let again = open(db.cluster().store().clone());
    again.resume_jobs(&Interrupt::new());
    assert_eq!(table(&again, "t").columns.len(), 3);
    assert_eq!(table(&again, "t").indexes, before.indexes);
    again.collect_garbage();
    assert_eq!(left(&again), 0);
}

#[test]
fn the_background_thread_does_it_by_itself() {
    let db = new_db();
    filled(&db, 100);
    begin(&db, &[add_index("u", &["b"], true)], true);
    let again = open(db.cluster().store().clone());
    again.start().unwrap();
    let done = (0..6000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        pending(&again) == 0 && table(&again, "t").public_indexes().count() == 2
    });
    assert!(done);
    again.stop();
    assert_eq!(checked(&again, "t"), 100);
}

/// Nobody can change the table while an interrupted change is waiting to be resumed.
#[test]
fn an_interrupted_change_keeps_its_table() {
    let db = new_db();
    filled(&db, 10);
    begin(&db, &[add_index("u", &["b"], true)], true);
    let again = open(db.cluster().store().clone());
    let impatient = DdlContext {
        lock_wait: Duration::from_millis(30),
        ..context()
    };
    let result = alter_with(&again, "t", vec![drop_index("a")], &impatient);
    assert_eq!(result.unwrap_err().code, 1205);
    again.resume_jobs(&Interrupt::new());
    alter(&again, "t", vec![drop_index("a")]).unwrap();
}
