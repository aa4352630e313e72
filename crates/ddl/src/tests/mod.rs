//! CREATE, DROP, RENAME, TRUNCATE: errors, notes and what is stored. ALTER TABLE: [`alter`].

mod alter;
mod beside_readers;
mod jobs;
mod nodes;
mod partitions;
mod sorted;

use std::thread;
use std::time::Duration;

use cluster::metadata_lock::Use;
use cluster::{Cluster, TransactionLocks};
use kv::{KeyRange, Reader};
use schema::definition::Ddl;
use schema::model::Table;
use schema::model::{Column, Handle};
use types::{Collation, Result, Warning};
use types::{SqlType, TypeKind, Value};

use crate::test_support::*;
use crate::{DdlContext, SchemaChanger};

fn fails<T: std::fmt::Debug>(result: Result<T>) -> (u16, String) {
    let error = result.unwrap_err();
    (error.code, error.message)
}

fn error(code: u16, message: &str) -> (u16, String) {
    (code, message.to_owned())
}

fn execute(db: &SchemaChanger, ddl: Ddl) -> Result<Vec<Warning>> {
    Ok(db.execute(&ddl, &context())?.warnings)
}

fn drop_tables(db: &SchemaChanger, names: &[&str], if_exists: bool) -> Result<Vec<Warning>> {
    let names = names.iter().map(|n| name(n)).collect();
    execute(db, Ddl::DropTable { names, if_exists })
}

fn rename(db: &SchemaChanger, renames: &[(&str, &str)]) -> Result<Vec<Warning>> {
    let renames = renames.iter().map(|(a, b)| (name(a), name(b))).collect();
    execute(db, Ddl::RenameTable { renames })
}

fn tables(db: &SchemaChanger, database: &str) -> Vec<String> {
    let schema = db.cluster().schema();
    let mut names: Vec<String> = schema
        .database(database)
        .unwrap()
        .tables
        .keys()
        .cloned()
        .collect();
    names.sort();
    names
}

fn simple() -> schema::definition::TableDefinition {
    by_id(vec![auto("id", int()), column("a", int())], vec![key("", &[1])])
}

#[test]
fn databases_come_and_go() {
    let db = new_db();
    let make = |if_not_exists| Ddl::CreateDatabase {
        name: "d".into(),
        if_not_exists,
        collation: None,
    };
    assert_eq!(
        fails(execute(&db, make(false))),
        error(1007, "Can't create database 'd'; database exists")
    );
    let version = db.cluster().schema_version();
    let notes = execute(&db, make(true)).unwrap();
    assert_eq!((notes[0].code, notes[0].level), (1007, types::WarningLevel::Note));
    assert_eq!(db.cluster().schema_version(), version, "nothing has changed");

    let collation = Collation::Utf8mb4Bin;
    execute(
        &db,
        Ddl::AlterDatabase {
            name: "d".into(),
            collation,
        },
    )
    .unwrap();
    assert_eq!(db.cluster().schema().database("d").unwrap().collation, collation);
    let missing = Ddl::AlterDatabase {
        name: "nodb".into(),
        collation,
    };
    assert_eq!(
        fails(execute(&db, missing)),
        error(3503, "Database 'nodb' doesn't exist")
    );

    create(&db, "t", simple()).unwrap();
    let drop = |name: &str, if_exists| Ddl::DropDatabase {
        name: name.into(),
        if_exists,
    };
    execute(&db, drop("d", false)).unwrap();
    assert!(db.cluster().schema().database("d").is_none());
    let message = "Can't drop database 'd'; database doesn't exist";
    assert_eq!(fails(execute(&db, drop("d", false))), error(1008, message));
    assert_eq!(execute(&db, drop("d", true)).unwrap()[0].message, message);
}

#[test]
fn system_databases_are_left_alone() {
    let db = new_db_with(system::databases().unwrap());
    let drop = |name: &str| Ddl::DropDatabase {
        name: name.into(),
        if_exists: false,
    };
    let denied = error(
        1044,
        "Access denied for user 'root'@'localhost' to database 'information_schema'",
    );
    assert_eq!(fails(execute(&db, drop("information_schema"))), denied);
    assert_eq!(fails(create(&db, "INFORMATION_SCHEMA.x", simple())), denied);
    assert_eq!(
        fails(execute(&db, drop("mysql"))),
        error(3552, "Access to system schema 'mysql' is rejected.")
    );
    assert_eq!(fails(drop_tables(&db, &["mysql.user"], false)).0, 3552);
    assert_eq!(
        fails(rename(&db, &[("performance_schema.processlist", "d.x")])).0,
        1044
    );
    assert_eq!(fails(alter(&db, "information_schema.TABLES", vec![])).0, 1044);
    assert!(
        db.cluster()
            .schema()
            .table("Information_Schema", "tables")
            .is_some()
    );
    assert!(
        db.cluster()
            .schema()
            .table("performance_schema", "PROCESSLIST")
            .is_none()
    );
    let unknown = db
        .cluster()
        .schema()
        .require_table("information_schema", "foo")
        .unwrap_err();
    assert_eq!(unknown.message, "Unknown table 'FOO' in information_schema");
}

#[test]
fn everything_is_there_after_a_restart() {
    let db = new_db();
    create(&db, "t", simple()).unwrap();
    create(&db, "u", heap(vec![column("x", varchar(10))], vec![])).unwrap();
    let again = open(db.cluster().store().clone());
    assert_eq!(again.cluster().schema_version(), db.cluster().schema_version());
    assert_eq!(*table(&again, "t"), *table(&db, "t"));
    assert_eq!(tables(&again, "d"), ["t", "u"]);
    create_database(&again, "e").unwrap();
    let ids: std::collections::BTreeSet<i64> = again
        .cluster()
        .schema()
        .databases
        .values()
        .flat_map(|d| d.tables.values().map(|t| t.id).chain([d.id]))
        .collect();
    assert_eq!(
        ids.len(),
        again
            .cluster()
            .schema()
            .databases
            .values()
            .map(|d| d.tables.len() + 1)
            .sum::<usize>()
    );
}

#[test]
fn damaged_metadata_are_an_error_that_says_so() {
    let db = new_db();
    create(&db, "t", simple()).unwrap();
    let made = table(&db, "t");
    let database = db.cluster().schema().database("d").unwrap().id;
    let key = cluster::meta::keys::table(database, made.id);
    let open_with = |value: Vec<u8>| {
        let mut txn = db.cluster().store().begin(kv::TxnOptions::default()).unwrap();
        txn.put(key.clone(), value).unwrap();
        txn.commit(kv::Durability::Os).unwrap();
        Cluster::open(db.cluster().store().clone(), Vec::new())
            .err()
            .unwrap()
            .message
    };
    assert!(open_with(b"{\"format\":1,\"value\":{\"id\":".to_vec()).contains("the stored table is damaged"));
    assert!(open_with(vec![0xff; 40]).contains("damaged"));
    let mut broken = Table::clone(&made);
    broken.indexes[0].parts[0].column = 17;
    let bytes = cluster::meta::record::encode(&broken).unwrap();
    assert!(open_with(bytes).contains("index a has parts that are no columns"));
    let mut broken = Table::clone(&made);
    broken.handle = Handle::Clustered { index: 0 };
    assert!(open_with(cluster::meta::record::encode(&broken).unwrap()).contains("no primary index"));
}

#[test]
fn tables_that_are_there_or_not() {
    let db = new_db();
    create(&db, "t", simple()).unwrap();
    assert_eq!(
        fails(create(&db, "t", simple())),
        error(1050, "Table 't' already exists")
    );
    assert_eq!(
        fails(create(&db, "nodb.t", simple())),
        error(1049, "Unknown database 'nodb'")
    );
    let again = Ddl::CreateTable {
        name: name("t"),
        definition: simple(),
        if_not_exists: true,
    };
    assert_eq!(
        execute(&db, again).unwrap()[0].message,
        "Table 't' already exists"
    );

    assert_eq!(
        fails(drop_tables(&db, &["zz", "t", "yy"], false)),
        error(1051, "Unknown table 'd.zz,d.yy'")
    );
    assert_eq!(tables(&db, "d"), ["t"], "all or none");
    assert_eq!(
        fails(drop_tables(&db, &["t", "t"], false)),
        error(1066, "Not unique table/alias: 't'")
    );
    let notes = drop_tables(&db, &["zz", "t", "yy"], true).unwrap();
    let messages: Vec<&str> = notes.iter().map(|n| n.message.as_str()).collect();
    assert_eq!(messages, ["Unknown table 'd.zz'", "Unknown table 'd.yy'"]);
    assert!(tables(&db, "d").is_empty());
    assert_eq!(
        fails(drop_tables(&db, &["nodb.zz"], false)),
        error(1051, "Unknown table 'nodb.zz'")
    );

    let missing = error(1146, "Table 'd.zz' doesn't exist");
    assert_eq!(
        fails(execute(&db, Ddl::TruncateTable { name: name("zz") })),
        missing
    );
    assert_eq!(fails(alter(&db, "zz", vec![])), missing);
    assert_eq!(
        fails(alter(&db, "nodb.zz", vec![])),
        error(1049, "Unknown database 'nodb'")
    );
    let like = |source: &str| Ddl::CreateTableLike {
        name: name("x"),
        source: name(source),
        if_not_exists: false,
    };
    assert_eq!(fails(execute(&db, like("zz"))), missing);
}

#[test]
fn like_copies_the_definition() {
    let db = new_db();
    create(&db, "t", simple()).unwrap();
    db.cluster().ids().raise_to(&table(&db, "t"), 50).unwrap();
    let like = Ddl::CreateTableLike {
        name: name("u"),
        source: name("t"),
        if_not_exists: false,
    };
    execute(&db, like).unwrap();
    let copy = table(&db, "u");
    assert_ne!(copy.id, table(&db, "t").id);
    assert_eq!(show(&db, "u"), show(&db, "t").replace("`t`", "`u`"));
    assert_eq!(db.cluster().ids().next(&copy).unwrap(), 1);
}

#[test]
fn renames_are_made_from_left_to_right() {
    let db = new_db();
    create_database(&db, "e").unwrap();
    create(&db, "a", simple()).unwrap();
    create(&db, "b", heap(vec![column("b", int())], vec![])).unwrap();
    let ids = |db: &SchemaChanger| (table(db, "a").id, table(db, "b").id);
    let (a, b) = ids(&db);
    insert(&db, &table(&db, "a"), &[Value::Int(1), Value::Int(2)]);
    rename(&db, &[("a", "c"), ("b", "a"), ("c", "b")]).unwrap();
    assert_eq!(ids(&db), (b, a));
    rename(&db, &[("a", "x"), ("x", "a"), ("b", "e.b")]).unwrap();
    assert_eq!(table(&db, "e.b").id, a);
    let again = open(db.cluster().store().clone());
    assert_eq!(
        (tables(&again, "d"), tables(&again, "e")),
        (vec!["a".to_owned()], vec!["b".to_owned()])
    );
    assert_eq!(checked(&again, "e.b"), 1);

    rename(&db, &[("e.b", "b")]).unwrap();
    assert_eq!(
        fails(rename(&db, &[("a", "a")])),
        error(1050, "Table 'a' already exists")
    );
    assert_eq!(
        fails(rename(&db, &[("a", "b")])),
        error(1050, "Table 'b' already exists")
    );
    assert_eq!(
        fails(rename(&db, &[("zz", "b")])),
        error(1050, "Table 'b' already exists")
    );
    assert_eq!(
        fails(rename(&db, &[("a", "c"), ("b", "c")])),
        error(1050, "Table 'c' already exists")
    );
    assert_eq!(
        fails(rename(&db, &[("a", "x"), ("a", "y")])),
        error(1146, "Table 'd.a' doesn't exist")
    );
    assert_eq!(
        fails(rename(&db, &[("zz", "y")])),
        error(1146, "Table 'd.zz' doesn't exist")
    );
    assert_eq!(
        fails(rename(&db, &[("a", "nodb.b")])),
        error(1049, "Unknown database 'nodb'")
    );
    assert_eq!(
        fails(rename(&db, &[("nodb.a", "y")])),
        error(1049, "Unknown database 'nodb'")
    );
    assert_eq!(
        fails(rename(&db, &[("a", "bad ")])),
        error(1103, "Incorrect table name 'bad '")
    );
    assert_eq!(tables(&db, "d"), ["a", "b"], "a failed rename changes nothing");
}

#[test]
fn truncate_empties_and_starts_again() {
    let db = new_db();
    let mut definition = simple();
    definition.auto_increment_start = 100;
    create(&db, "t", definition).unwrap();
    let before = table(&db, "t");
    assert_eq!(db.cluster().ids().allocate(&before, 1, 1, 1).unwrap(), 100);
    insert(&db, &before, &[Value::Int(100), Value::Int(5)]);
    let snapshot_ts = db.cluster().store().current_ts().unwrap();
    execute(&db, Ddl::TruncateTable { name: name("t") }).unwrap();
    let after = table(&db, "t");
    assert_ne!(before.id, after.id);
    assert_eq!(rows(&db, &after).len(), 0);
    assert_eq!(db.cluster().ids().allocate(&after, 1, 1, 1).unwrap(), 1);
    assert_eq!(after.check_readable_at(snapshot_ts).unwrap_err().code, 1412);
    assert!(
        after
            .check_readable_at(db.cluster().store().current_ts().unwrap())
            .is_ok()
    );
}

#[test]
fn dropped_data_are_destroyed_when_no_snapshot_can_read_them() {
    let db = new_db();
    create(&db, "t", simple()).unwrap();
    let dropped = table(&db, "t");
    insert(&db, &dropped, &[Value::Int(1), Value::Int(5)]);
    let snapshot = db.cluster().store().snapshot_now().unwrap();
    drop_tables(&db, &["t"], false).unwrap();
    let everything = KeyRange::prefix(codec::key::table_prefix(dropped.id));
    let left = || {
        db.cluster()
            .store()
            .latest()
            .scan_page(&everything, 10, false)
            .unwrap()
            .len()
    };
    assert_eq!(
        crate::garbage::collect(db.cluster()).unwrap(),
        0,
        "a snapshot may still read it"
    );
    assert_eq!(left(), 2);

    // A crash does not lose the queue.
    let again = open(db.cluster().store().clone());
    assert_eq!(crate::garbage::collect(again.cluster()).unwrap(), 0);
    drop(snapshot);
    assert_eq!(crate::garbage::collect(again.cluster()).unwrap(), 1);
    assert_eq!(
        (left(), crate::garbage::collect(again.cluster()).unwrap()),
        (0, 0)
    );
}

#[test]
fn limits_and_bad_definitions() {
    let db = new_db();
    let two = || vec![column("a", int()), column("b", varchar(20))];
    let of = |columns, indexes| fails(create(&db, "t", heap(columns, indexes)));
    let long = |ty| column("a", ty);
    assert_eq!(
        of(vec![], vec![]),
        error(4028, "A table must have at least one visible column.")
    );
    assert_eq!(
        of(vec![column("a", int()), column("A", int())], vec![]),
        error(1060, "Duplicate column name 'A'")
    );
    assert_eq!(
        of(vec![column("a ", int())], vec![]),
        error(1166, "Incorrect column name 'a '")
    );
    assert_eq!(
        of(two(), vec![key("a", &[0]), key("A", &[1])]),
        error(1061, "Duplicate key name 'A'")
    );
    assert_eq!(
        of(two(), vec![key("", &[0]), key("a", &[1])]),
        error(1061, "Duplicate key name 'a'")
    );
    assert_eq!(
        of(two(), vec![key("k", &[0, 0])]),
        error(1060, "Duplicate column name 'a'")
    );
    assert_eq!(
        of(two(), vec![primary(&[0]), primary(&[1])]),
        error(1068, "Multiple primary key defined")
    );
    assert_eq!(
        of(two(), vec![key("PRIMARY", &[0])]),
        error(1280, "Incorrect index name 'PRIMARY'")
    );
    assert_eq!(
        of(two(), vec![key("k ", &[0])]),
        error(1280, "Incorrect index name 'k '")
    );
    let auto_error =
        "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    assert_eq!(of(vec![auto("a", int())], vec![]), error(1075, auto_error));
    assert_eq!(
        of(
            vec![auto("a", int()), auto("b", int())],
            vec![key("", &[0]), key("", &[1])]
        ),
        error(1075, auto_error)
    );
    assert_eq!(
        of(vec![long(text_type())], vec![key("", &[0])]),
        error(
            1170,
            "BLOB/TEXT column 'a' used in key specification without a key length"
        )
    );
    assert_eq!(of(vec![long(SqlType::JSON)], vec![key("", &[0])]).0, 3152);
    assert_eq!(of(two(), vec![prefix(key("", &[0]), 3)]).0, 1089);
    assert_eq!(of(two(), vec![prefix(key("", &[1]), 21)]).0, 1089);
    assert_eq!(
        of(two(), vec![prefix(key("", &[1]), 0)]),
        error(1391, "Key part 'b' length cannot be 0")
    );
    let too_long = error(1071, "Specified key was too long; max key length is 3072 bytes");
    assert_eq!(of(vec![long(varchar(769))], vec![key("", &[0])]), too_long);
    assert_eq!(
        of(
            vec![long(varchar(500)), column("b", varchar(500))],
            vec![key("", &[0, 1])]
        ),
        too_long
    );
    assert_eq!(
        of(vec![long(text_type())], vec![prefix(key("", &[0]), 769)]),
        too_long
    );
    assert_eq!(
        of(vec![long(varchar(16_383)), column("b", int())], vec![]).0,
        1118
    );
    let binary = |length| SqlType::varchar(length, Collation::Binary);
    assert_eq!(of(vec![long(binary(65_533))], vec![]).0, 1118);
    assert_eq!(
        of(
            vec![Column {
                comment: "c".repeat(1025),
                ..long(int())
            }],
            vec![]
        ),
        error(1629, "Comment for field 'a' is too long (max = 1024)")
    );
    let many = (0..65).map(|n| key(&format!("k{n}"), &[0])).collect();
    assert_eq!(
        of(two(), many),
        error(1069, "Too many keys specified; max 64 keys allowed")
    );
    let wide: Vec<Column> = (0..17).map(|n| column(&format!("c{n}"), int())).collect();
    let all: Vec<usize> = (0..17).collect();
    assert_eq!(
        of(wide, vec![key("k", &all)]),
        error(1070, "Too many key parts specified; max 16 parts allowed")
    );
    let name = "a".repeat(65);
    let expected = format!("Identifier name '{name}' is too long");
    assert_eq!(fails(create(&db, &name, simple())), error(1059, &expected));
    assert_eq!(
        fails(create_database(&db, "bad ")),
        error(1102, "Incorrect database name 'bad '")
    );
    assert_eq!(
        fails(create_database(&db, "")),
        error(1102, "Incorrect database name ''")
    );
    assert!(tables(&db, "d").is_empty());
}

#[test]
fn limits_are_not_lower_than_mysqls() {
    let db = new_db();
    let binary = |length| SqlType::varchar(length, Collation::Binary);
    create(&db, "a", heap(vec![column("a", varchar(16_383))], vec![])).unwrap();
    create(&db, "b", heap(vec![not_null("a", binary(65_532))], vec![])).unwrap();
    create(
        &db,
        "c",
        heap(vec![column("a", varchar(768))], vec![key("", &[0])]),
    )
    .unwrap();
    create(
        &db,
        "e",
        heap(vec![column("a", text_type())], vec![prefix(key("", &[0]), 768)]),
    )
    .unwrap();
    create(&db, &"x".repeat(64), simple()).unwrap();
    let kinds = [TypeKind::MediumText, TypeKind::LongText, TypeKind::Text];
    let blobs = kinds.map(|kind| SqlType { kind, ..text_type() });
    let columns = blobs
        .iter()
        .enumerate()
        .map(|(n, ty)| column(&format!("c{n}"), *ty))
        .collect();
    create(&db, "f", heap(columns, vec![])).unwrap();
}

#[test]
fn the_same_index_twice_is_a_warning() {
    let db = new_db();
    let indexes = vec![key("zz", &[0]), key("aa", &[0]), unique("yy", &[0])];
    let warnings = create(&db, "t", heap(vec![column("a", int())], indexes)).unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(
        (warnings[0].code, warnings[0].message.as_str()),
        (
            1831,
            "Duplicate index 'aa' defined on the table 'd.t'. This is deprecated and will be disallowed in a future \
             release."
        )
    );
}

#[test]
fn a_table_in_use_is_not_dropped_until_its_transaction_ends() {
    let db = new_db();
    create(&db, "t", simple()).unwrap();
    let id = table(&db, "t").id;
    let ctx = context();
    let mut transaction = TransactionLocks::new(db.cluster().metadata_locks().clone());
    transaction.acquire(id, Use::Read, &ctx.limit()).unwrap();
    let impatient = DdlContext {
        lock_wait: Duration::from_millis(50),
        ..context()
    };
    let drop = Ddl::DropTable {
        names: vec![name("t")],
        if_exists: false,
    };
    assert_eq!(db.execute(&drop, &impatient).unwrap_err().code, 1205);
    let waiting = {
        let db = db.clone();
        thread::spawn(move || drop_tables(&db, &["t"], false))
    };
    thread::sleep(Duration::from_millis(50));
    assert!(db.cluster().schema().table("d", "t").is_some());
    transaction.release_all();
    waiting.join().unwrap().unwrap();
    assert!(db.cluster().schema().table("d", "t").is_none());
}

/// Two nodes on one store: the one that has missed a change reports it, reads it, and continues.
#[test]
fn a_node_that_missed_a_change_reads_it() {
    let one = new_db();
    let two = open(one.cluster().store().clone());
    create(&one, "t", simple()).unwrap();
    assert!(two.cluster().schema().table("d", "t").is_none());
    assert_eq!(fails(create(&two, "u", simple())).0, 8028);
    assert!(two.cluster().schema().table("d", "t").is_some());
    create(&two, "u", simple()).unwrap();
}

/// Many sessions create, rename and drop at once: the store agrees with memory in the end.
#[test]
fn changes_at_once() {
    let db = new_db();
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let db = db.clone();
            thread::spawn(move || {
                for round in 0..10 {
                    let (a, b) = (format!("a{n}_{round}"), format!("b{n}_{round}"));
                    create(&db, &a, simple()).unwrap();
                    rename(&db, &[(&a, &b)]).unwrap();
                    if round % 2 == 0 {
                        drop_tables(&db, &[&b], false).unwrap();
                    }
                    let _ = create(&db, "shared", simple());
                    let _ = drop_tables(&db, &["shared"], true);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let again = open(db.cluster().store().clone());
    assert_eq!(tables(&again, "d"), tables(&db, "d"));
    assert_eq!(again.cluster().schema_version(), db.cluster().schema_version());
    assert_eq!(
        tables(&again, "d").iter().filter(|t| t.starts_with('b')).count(),
        20
    );
}
