//! CREATE, DROP, RENAME, TRUNCATE: errors, notes and what is stored. ALTER TABLE: [`alter_tests`].

mod alter_tests;
mod jobs;

use std::thread;
use std::time::Duration;

use kv::{KeyRange, Reader};
use schema::model::{Column, Handle};
use types::{SqlType, TypeKind, Value};

use super::*;
use crate::metadata_lock::{TransactionLocks, Use};
use crate::test_support::*;

fn fails<T: std::fmt::Debug>(result: Result<T>) -> (u16, String) {
    let error = result.unwrap_err();
    (error.code, error.message)
}

fn error(code: u16, message: &str) -> (u16, String) {
    (code, message.to_owned())
}

fn execute(catalog: &Catalog, ddl: Ddl) -> Result<Vec<Warning>> {
    catalog.execute(&ddl, &context())
}

fn drop_tables(catalog: &Catalog, names: &[&str], if_exists: bool) -> Result<Vec<Warning>> {
    let names = names.iter().map(|n| name(n)).collect();
    execute(catalog, Ddl::DropTable { names, if_exists })
}

fn rename(catalog: &Catalog, renames: &[(&str, &str)]) -> Result<Vec<Warning>> {
    let renames = renames.iter().map(|(a, b)| (name(a), name(b))).collect();
    execute(catalog, Ddl::RenameTable { renames })
}

fn tables(catalog: &Catalog, database: &str) -> Vec<String> {
    let schema = catalog.schema();
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
    let catalog = catalog();
    let make = |if_not_exists| Ddl::CreateDatabase {
        name: "d".into(),
        if_not_exists,
        collation: None,
    };
    assert_eq!(
        fails(execute(&catalog, make(false))),
        error(1007, "Can't create database 'd'; database exists")
    );
    let version = catalog.schema_version();
    let notes = execute(&catalog, make(true)).unwrap();
    assert_eq!((notes[0].code, notes[0].level), (1007, types::WarningLevel::Note));
    assert_eq!(catalog.schema_version(), version, "nothing has changed");

    let collation = Collation::Utf8mb4Bin;
    execute(
        &catalog,
        Ddl::AlterDatabase {
            name: "d".into(),
            collation,
        },
    )
    .unwrap();
    assert_eq!(catalog.schema().database("d").unwrap().collation, collation);
    let missing = Ddl::AlterDatabase {
        name: "nodb".into(),
        collation,
    };
    assert_eq!(
        fails(execute(&catalog, missing)),
        error(3503, "Database 'nodb' doesn't exist")
    );

    create(&catalog, "t", simple()).unwrap();
    let drop = |name: &str, if_exists| Ddl::DropDatabase {
        name: name.into(),
        if_exists,
    };
    execute(&catalog, drop("d", false)).unwrap();
    assert!(catalog.schema().database("d").is_none());
    let message = "Can't drop database 'd'; database doesn't exist";
    assert_eq!(fails(execute(&catalog, drop("d", false))), error(1008, message));
    assert_eq!(execute(&catalog, drop("d", true)).unwrap()[0].message, message);
}

#[test]
fn system_databases_are_left_alone() {
    let catalog = catalog();
    let drop = |name: &str| Ddl::DropDatabase {
        name: name.into(),
        if_exists: false,
    };
    let denied = error(
        1044,
        "Access denied for user 'root'@'localhost' to database 'information_schema'",
    );
    assert_eq!(fails(execute(&catalog, drop("information_schema"))), denied);
    assert_eq!(fails(create(&catalog, "INFORMATION_SCHEMA.x", simple())), denied);
    assert_eq!(
        fails(execute(&catalog, drop("mysql"))),
        error(3552, "Access to system schema 'mysql' is rejected.")
    );
    assert_eq!(fails(drop_tables(&catalog, &["mysql.user"], false)).0, 3552);
    assert_eq!(
        fails(rename(&catalog, &[("performance_schema.processlist", "d.x")])).0,
        1044
    );
    assert_eq!(
        fails(alter(&catalog, "information_schema.TABLES", vec![])).0,
        1044
    );
    assert!(catalog.schema().table("Information_Schema", "tables").is_some());
    assert!(
        catalog
            .schema()
            .table("performance_schema", "PROCESSLIST")
            .is_none()
    );
    let unknown = catalog
        .schema()
        .require_table("information_schema", "foo")
        .unwrap_err();
    assert_eq!(unknown.message, "Unknown table 'FOO' in information_schema");
}

#[test]
fn everything_is_there_after_a_restart() {
    let catalog = catalog();
    create(&catalog, "t", simple()).unwrap();
    create(&catalog, "u", heap(vec![column("x", varchar(10))], vec![])).unwrap();
    let again = Catalog::open(catalog.store().clone()).unwrap();
    assert_eq!(again.schema_version(), catalog.schema_version());
    assert_eq!(*table(&again, "t"), *table(&catalog, "t"));
    assert_eq!(tables(&again, "d"), ["t", "u"]);
    create_database(&again, "e").unwrap();
    let ids: std::collections::BTreeSet<i64> = again
        .schema()
        .databases
        .values()
        .flat_map(|d| d.tables.values().map(|t| t.id).chain([d.id]))
        .collect();
    assert_eq!(
        ids.len(),
        again
            .schema()
            .databases
            .values()
            .map(|d| d.tables.len() + 1)
            .sum::<usize>()
    );
}

#[test]
fn damaged_metadata_are_an_error_that_says_so() {
    let catalog = catalog();
    create(&catalog, "t", simple()).unwrap();
    let made = table(&catalog, "t");
    let database = catalog.schema().database("d").unwrap().id;
    let key = crate::meta::keys::table(database, made.id);
    let open_with = |value: Vec<u8>| {
        let mut txn = catalog.store().begin(kv::TxnOptions::default()).unwrap();
        txn.put(key.clone(), value).unwrap();
        txn.commit(kv::Durability::Os).unwrap();
        Catalog::open(catalog.store().clone()).err().unwrap().message
    };
    assert!(open_with(b"{\"format\":1,\"value\":{\"id\":".to_vec()).contains("the stored table is damaged"));
    assert!(open_with(vec![0xff; 40]).contains("damaged"));
    let mut broken = Table::clone(&made);
    broken.indexes[0].parts[0].column = 17;
    let bytes = crate::meta::record::encode(&broken).unwrap();
    assert!(open_with(bytes).contains("index a has parts that are no columns"));
    let mut broken = Table::clone(&made);
    broken.handle = Handle::Clustered { index: 0 };
    assert!(open_with(crate::meta::record::encode(&broken).unwrap()).contains("no primary index"));
}

#[test]
fn tables_that_are_there_or_not() {
    let catalog = catalog();
    create(&catalog, "t", simple()).unwrap();
    assert_eq!(
        fails(create(&catalog, "t", simple())),
        error(1050, "Table 't' already exists")
    );
    assert_eq!(
        fails(create(&catalog, "nodb.t", simple())),
        error(1049, "Unknown database 'nodb'")
    );
    let again = Ddl::CreateTable {
        name: name("t"),
        definition: simple(),
        if_not_exists: true,
    };
    assert_eq!(
        execute(&catalog, again).unwrap()[0].message,
        "Table 't' already exists"
    );

    assert_eq!(
        fails(drop_tables(&catalog, &["zz", "t", "yy"], false)),
        error(1051, "Unknown table 'd.zz,d.yy'")
    );
    assert_eq!(tables(&catalog, "d"), ["t"], "all or none");
    assert_eq!(
        fails(drop_tables(&catalog, &["t", "t"], false)),
        error(1066, "Not unique table/alias: 't'")
    );
    let notes = drop_tables(&catalog, &["zz", "t", "yy"], true).unwrap();
    let messages: Vec<&str> = notes.iter().map(|n| n.message.as_str()).collect();
    assert_eq!(messages, ["Unknown table 'd.zz'", "Unknown table 'd.yy'"]);
    assert!(tables(&catalog, "d").is_empty());
    assert_eq!(
        fails(drop_tables(&catalog, &["nodb.zz"], false)),
        error(1051, "Unknown table 'nodb.zz'")
    );

    let missing = error(1146, "Table 'd.zz' doesn't exist");
    assert_eq!(
        fails(execute(&catalog, Ddl::TruncateTable { name: name("zz") })),
        missing
    );
    assert_eq!(fails(alter(&catalog, "zz", vec![])), missing);
    assert_eq!(
        fails(alter(&catalog, "nodb.zz", vec![])),
        error(1049, "Unknown database 'nodb'")
    );
    let like = |source: &str| Ddl::CreateTableLike {
        name: name("x"),
        source: name(source),
        if_not_exists: false,
    };
    assert_eq!(fails(execute(&catalog, like("zz"))), missing);
}

#[test]
fn like_copies_the_definition() {
    let catalog = catalog();
    create(&catalog, "t", simple()).unwrap();
    catalog.bump_auto_increment(&table(&catalog, "t"), 50).unwrap();
    let like = Ddl::CreateTableLike {
        name: name("u"),
        source: name("t"),
        if_not_exists: false,
    };
    execute(&catalog, like).unwrap();
    let copy = table(&catalog, "u");
    assert_ne!(copy.id, table(&catalog, "t").id);
    assert_eq!(show(&catalog, "u"), show(&catalog, "t").replace("`t`", "`u`"));
    assert_eq!(catalog.next_auto_increment(&copy).unwrap(), 1);
}

#[test]
fn renames_are_made_from_left_to_right() {
    let catalog = catalog();
    create_database(&catalog, "e").unwrap();
    create(&catalog, "a", simple()).unwrap();
    create(&catalog, "b", heap(vec![column("b", int())], vec![])).unwrap();
    let ids = |catalog: &Catalog| (table(catalog, "a").id, table(catalog, "b").id);
    let (a, b) = ids(&catalog);
    insert(&catalog, &table(&catalog, "a"), &[Value::Int(1), Value::Int(2)]);
    rename(&catalog, &[("a", "c"), ("b", "a"), ("c", "b")]).unwrap();
    assert_eq!(ids(&catalog), (b, a));
    rename(&catalog, &[("a", "x"), ("x", "a"), ("b", "e.b")]).unwrap();
    assert_eq!(table(&catalog, "e.b").id, a);
    let again = Catalog::open(catalog.store().clone()).unwrap();
    assert_eq!(
        (tables(&again, "d"), tables(&again, "e")),
        (vec!["a".to_owned()], vec!["b".to_owned()])
    );
    assert_eq!(checked(&again, "e.b"), 1);

    rename(&catalog, &[("e.b", "b")]).unwrap();
    assert_eq!(
        fails(rename(&catalog, &[("a", "a")])),
        error(1050, "Table 'a' already exists")
    );
    assert_eq!(
        fails(rename(&catalog, &[("a", "b")])),
        error(1050, "Table 'b' already exists")
    );
    assert_eq!(
        fails(rename(&catalog, &[("zz", "b")])),
        error(1050, "Table 'b' already exists")
    );
    assert_eq!(
        fails(rename(&catalog, &[("a", "c"), ("b", "c")])),
        error(1050, "Table 'c' already exists")
    );
    assert_eq!(
        fails(rename(&catalog, &[("a", "x"), ("a", "y")])),
        error(1146, "Table 'd.a' doesn't exist")
    );
    assert_eq!(
        fails(rename(&catalog, &[("zz", "y")])),
        error(1146, "Table 'd.zz' doesn't exist")
    );
    assert_eq!(
        fails(rename(&catalog, &[("a", "nodb.b")])),
        error(1049, "Unknown database 'nodb'")
    );
    assert_eq!(
        fails(rename(&catalog, &[("nodb.a", "y")])),
        error(1049, "Unknown database 'nodb'")
    );
    assert_eq!(
        fails(rename(&catalog, &[("a", "bad ")])),
        error(1103, "Incorrect table name 'bad '")
    );
    assert_eq!(
        tables(&catalog, "d"),
        ["a", "b"],
        "a failed rename changes nothing"
    );
}

#[test]
fn truncate_empties_and_starts_again() {
    let catalog = catalog();
    let mut definition = simple();
    definition.auto_increment_start = 100;
    create(&catalog, "t", definition).unwrap();
    let before = table(&catalog, "t");
    assert_eq!(catalog.allocate_auto_increment(&before, 1, 1, 1).unwrap(), 100);
    insert(&catalog, &before, &[Value::Int(100), Value::Int(5)]);
    let snapshot_ts = catalog.store().current_ts().unwrap();
    execute(&catalog, Ddl::TruncateTable { name: name("t") }).unwrap();
    let after = table(&catalog, "t");
    assert_ne!(before.id, after.id);
    assert_eq!(rows(&catalog, &after).len(), 0);
    assert_eq!(catalog.allocate_auto_increment(&after, 1, 1, 1).unwrap(), 1);
    assert_eq!(after.check_readable_at(snapshot_ts).unwrap_err().code, 1412);
    assert!(
        after
            .check_readable_at(catalog.store().current_ts().unwrap())
            .is_ok()
    );
}

#[test]
fn dropped_data_are_destroyed_once_nobody_can_read_them() {
    let catalog = catalog();
    create(&catalog, "t", simple()).unwrap();
    let dropped = table(&catalog, "t");
    insert(&catalog, &dropped, &[Value::Int(1), Value::Int(5)]);
    let snapshot = catalog.store().snapshot_now().unwrap();
    drop_tables(&catalog, &["t"], false).unwrap();
    let everything = KeyRange::prefix(codec::key::table_prefix(dropped.id));
    let left = || {
        catalog
            .store()
            .latest()
            .scan_page(&everything, 10, false)
            .unwrap()
            .len()
    };
    assert_eq!(catalog.run_gc_queue().unwrap(), 0, "a snapshot may still read it");
    assert_eq!(left(), 2);

    // A crash does not lose the queue.
    let again = Catalog::open(catalog.store().clone()).unwrap();
    assert_eq!(again.run_gc_queue().unwrap(), 0);
    drop(snapshot);
    assert_eq!(again.run_gc_queue().unwrap(), 1);
    assert_eq!((left(), again.run_gc_queue().unwrap()), (0, 0));
}

#[test]
fn limits_and_bad_definitions() {
    let catalog = catalog();
    let two = || vec![column("a", int()), column("b", varchar(20))];
    let of = |columns, indexes| fails(create(&catalog, "t", heap(columns, indexes)));
    let long = |ty| column("a", ty);
    assert_eq!(
        of(vec![], vec![]),
        error(1113, "A table must have at least 1 column")
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
    assert_eq!(fails(create(&catalog, &name, simple())), error(1059, &expected));
    assert_eq!(
        fails(create_database(&catalog, "bad ")),
        error(1102, "Incorrect database name 'bad '")
    );
    assert_eq!(
        fails(create_database(&catalog, "")),
        error(1102, "Incorrect database name ''")
    );
    assert!(tables(&catalog, "d").is_empty());
}

#[test]
fn limits_are_not_lower_than_mysqls() {
    let catalog = catalog();
    let binary = |length| SqlType::varchar(length, Collation::Binary);
    create(&catalog, "a", heap(vec![column("a", varchar(16_383))], vec![])).unwrap();
    create(&catalog, "b", heap(vec![not_null("a", binary(65_532))], vec![])).unwrap();
    create(
        &catalog,
        "c",
        heap(vec![column("a", varchar(768))], vec![key("", &[0])]),
    )
    .unwrap();
    create(
        &catalog,
        "e",
        heap(vec![column("a", text_type())], vec![prefix(key("", &[0]), 768)]),
    )
    .unwrap();
    create(&catalog, &"x".repeat(64), simple()).unwrap();
    let kinds = [TypeKind::MediumText, TypeKind::LongText, TypeKind::Text];
    let blobs = kinds.map(|kind| SqlType { kind, ..text_type() });
    let columns = blobs
        .iter()
        .enumerate()
        .map(|(n, ty)| column(&format!("c{n}"), *ty))
        .collect();
    create(&catalog, "f", heap(columns, vec![])).unwrap();
}

#[test]
fn the_same_index_twice_is_a_warning() {
    let catalog = catalog();
    let indexes = vec![key("zz", &[0]), key("aa", &[0]), unique("yy", &[0])];
    let warnings = create(&catalog, "t", heap(vec![column("a", int())], indexes)).unwrap();
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
    let catalog = catalog();
    create(&catalog, "t", simple()).unwrap();
    let id = table(&catalog, "t").id;
    let ctx = context();
    let mut transaction = TransactionLocks::new(catalog.metadata_locks());
    transaction.acquire(id, Use::Read, &ctx.limit()).unwrap();
    let impatient = DdlContext {
        lock_wait: Duration::from_millis(50),
        ..context()
    };
    let drop = Ddl::DropTable {
        names: vec![name("t")],
        if_exists: false,
    };
    assert_eq!(catalog.execute(&drop, &impatient).unwrap_err().code, 1205);
    let waiting = {
        let catalog = catalog.clone();
        thread::spawn(move || drop_tables(&catalog, &["t"], false))
    };
    thread::sleep(Duration::from_millis(50));
    assert!(catalog.schema().table("d", "t").is_some());
    transaction.release_all();
    waiting.join().unwrap().unwrap();
    assert!(catalog.schema().table("d", "t").is_none());
}

/// Two nodes on one store: the one that has missed a change says so, reads it, and goes on.
#[test]
fn a_node_that_missed_a_change_reads_it() {
    let one = catalog();
    let two = Catalog::open(one.store().clone()).unwrap();
    create(&one, "t", simple()).unwrap();
    assert!(two.schema().table("d", "t").is_none());
    assert_eq!(fails(create(&two, "u", simple())).0, 8028);
    assert!(two.schema().table("d", "t").is_some());
    create(&two, "u", simple()).unwrap();
}

/// Many sessions create, rename and drop at once: the store agrees with memory in the end.
#[test]
fn changes_at_once() {
    let catalog = catalog();
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let catalog = catalog.clone();
            thread::spawn(move || {
                for round in 0..10 {
                    let (a, b) = (format!("a{n}_{round}"), format!("b{n}_{round}"));
                    create(&catalog, &a, simple()).unwrap();
                    rename(&catalog, &[(&a, &b)]).unwrap();
                    if round % 2 == 0 {
                        drop_tables(&catalog, &[&b], false).unwrap();
                    }
                    let _ = create(&catalog, "shared", simple());
                    let _ = drop_tables(&catalog, &["shared"], true);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let again = Catalog::open(catalog.store().clone()).unwrap();
    assert_eq!(tables(&again, "d"), tables(&catalog, "d"));
    assert_eq!(again.schema_version(), catalog.schema_version());
    assert_eq!(
        tables(&again, "d").iter().filter(|t| t.starts_with('b')).count(),
        20
    );
}
