//! ALTER TABLE on tables with rows.

use schema::definition::{AlterChange, Position};
use schema::model::{Default, SchemaState};

use super::*;

fn with_rows(db: &SchemaChanger) -> std::sync::Arc<Table> {
    let columns = vec![auto("id", int()), column("a", int()), column("b", varchar(20))];
    create(db, "t", by_id(columns, vec![key("", &[1])])).unwrap();
    let made = table(db, "t");
    for (id, a, b) in [(1, 10, "x"), (2, 20, "y"), (3, 20, "z")] {
        insert(db, &made, &[Value::Int(id), Value::Int(a), text(b)]);
    }
    made
}

fn rename_column(from: &str, to: &str) -> AlterChange {
    AlterChange::RenameColumn {
        from: from.into(),
        to: to.into(),
    }
}

fn modify(name: &str, column: Column) -> AlterChange {
    AlterChange::ModifyColumn {
        name: name.into(),
        column,
        position: None,
    }
}

fn names(db: &SchemaChanger) -> Vec<String> {
    table(db, "t").columns.iter().map(|c| c.name.clone()).collect()
}

#[test]
fn columns_are_added_and_dropped_without_touching_rows() {
    let db = new_db();
    with_rows(&db);
    let changes = vec![
        add_column(with_default("c", int(), "7"), Position::First),
        add_column(column("d", varchar(5)), Position::After("a".into())),
        add_column(not_null("e", int()), Position::Last),
        add_column(not_null("f", varchar(3)), Position::After("e".into())),
    ];
    alter(&db, "t", changes).unwrap();
    assert_eq!(names(&db), ["c", "id", "a", "d", "b", "e", "f"]);
    let seven = Value::Int(7);
    let row = |id, a, b: &str| {
        vec![
            seven.clone(),
            Value::Int(id),
            Value::Int(a),
            Value::Null,
            text(b),
            Value::Int(0),
            text(""),
        ]
    };
    assert_eq!(
        rows(&db, &table(&db, "t")),
        [row(1, 10, "x"), row(2, 20, "y"), row(3, 20, "z")]
    );
    assert_eq!(checked(&db, "t"), 3);

    // Rows keep what they had when the default changes, and a new column of the old name starts again.
    let default = |text: &str| Some(Default::Literal(text.into()));
    alter(
        &db,
        "t",
        vec![AlterChange::SetDefault {
            column: "c".into(),
            default: default("9"),
        }],
    )
    .unwrap();
    alter(
        &db,
        "t",
        vec![
            drop_column("b"),
            drop_column("d"),
            drop_column("e"),
            drop_column("f"),
        ],
    )
    .unwrap();
    alter(
        &db,
        "t",
        vec![add_column(column("b", varchar(20)), Position::Last)],
    )
    .unwrap();
    let made = table(&db, "t");
    insert(
        &db,
        &made,
        &[Value::Int(9), Value::Int(4), Value::Int(1), text("new")],
    );
    let found = rows(&db, &made);
    assert_eq!(found[0], [seven, Value::Int(1), Value::Int(10), Value::Null]);
    assert_eq!(
        found[3],
        [Value::Int(9), Value::Int(4), Value::Int(1), text("new")]
    );
    assert_eq!(checked(&db, "t"), 4);
    alter(
        &db,
        "t",
        vec![AlterChange::SetDefault {
            column: "c".into(),
            default: None,
        }],
    )
    .unwrap();
    let shown = show(&db, "t");
    assert!(
        shown.contains("`c` int") && !shown.contains("`c` int DEFAULT"),
        "{shown}"
    );
}

#[test]
fn now_is_evaluated_once() {
    let db = new_db();
    with_rows(&db);
    let now = Column {
        default: Default::Now,
        ..not_null("at", SqlType::timestamp(3))
    };
    alter(&db, "t", vec![add_column(now, Position::Last)]).unwrap();
    let made = table(&db, "t");
    assert_eq!(
        made.columns[3].original_default.as_deref(),
        Some("2023-11-14 22:13:20.000")
    );
    assert_eq!(made.columns[3].default, Default::Now);
}

#[test]
fn existing_rows_cannot_get_every_new_column() {
    let db = new_db();
    with_rows(&db);
    let date = || add_column(not_null("d", SqlType::DATE), Position::Last);
    assert_eq!(
        fails(alter(&db, "t", vec![date()])),
        error(1292, "Incorrect date value: '0000-00-00' for column 'd' at row 1")
    );
    let lenient = DdlContext {
        sql_mode: types::SqlMode {
            no_zero_date: false,
            ..types::SqlMode::default()
        },
        ..context()
    };
    alter_with(&db, "t", vec![date()], &lenient).unwrap();

    create(&db, "u", heap(vec![column("a", int())], vec![])).unwrap();
    let id = || {
        vec![
            add_column(auto("id", int()), Position::First),
            add_index("", &["id"], true),
        ]
    };
    alter(&db, "u", id()).unwrap();
    create(&db, "v", heap(vec![column("a", int())], vec![])).unwrap();
    insert(&db, &table(&db, "v"), &[Value::Int(1)]);
    alter(&db, "v", id()).unwrap();
    assert_eq!(checked(&db, "v"), 1);
}

#[test]
fn names_mean_what_they_meant_before() {
    let db = new_db();
    with_rows(&db);
    alter(&db, "t", vec![rename_column("a", "b"), rename_column("b", "a")]).unwrap();
    assert_eq!(names(&db), ["id", "b", "a"]);
    assert!(show(&db, "t").contains("KEY `a` (`b`)"));
    // An index is replaced whatever the order says; a column too.
    alter(
        &db,
        "t",
        vec![add_index("a", &["id", "b"], false), drop_index("a")],
    )
    .unwrap();
    assert!(show(&db, "t").contains("KEY `a` (`id`,`b`)"));
    alter(
        &db,
        "t",
        vec![add_column(column("a", int()), Position::First), drop_column("a")],
    )
    .unwrap();
    assert_eq!(names(&db), ["a", "id", "b"]);
    let first = AlterChange::ModifyColumn {
        name: "b".into(),
        column: column("bb", int()),
        position: Some(Position::First),
    };
    alter(&db, "t", vec![first]).unwrap();
    assert_eq!(names(&db), ["bb", "a", "id"]);
    assert_eq!(
        rows(&db, &table(&db, "t"))[2],
        [Value::Int(20), Value::Null, Value::Int(3)]
    );
    assert_eq!(checked(&db, "t"), 3);
}

#[test]
fn indexes_are_built_from_the_rows_there_are() {
    let db = new_db();
    with_rows(&db);
    let before = db.cluster().store().current_ts().unwrap();
    alter(
        &db,
        "t",
        vec![
            add_index("", &["a"], false),
            add_index("u", &["a", "b"], true),
            drop_index("a"),
        ],
    )
    .unwrap();
    let made = table(&db, "t");
    assert!(made.indexes.iter().all(|i| i.state == SchemaState::Public));
    assert_eq!(
        made.indexes.iter().map(|i| i.name.as_str()).collect::<Vec<_>>(),
        ["u", "a"]
    );
    let report = crate::check::check_table(db.cluster().store(), &made, &kv::Interrupt::new()).unwrap();
    assert_eq!((report.rows, report.entries), (3, 6));
    // An older snapshot would not find the rows in the new index.
    assert_eq!(made.check_readable_at(before).unwrap_err().code, 1412);
    assert!(
        made.check_readable_at(db.cluster().store().current_ts().unwrap())
            .is_ok()
    );
}

#[test]
fn indexes_on_new_columns_and_on_the_rest_of_old_ones() {
    let db = new_db();
    with_rows(&db);
    alter(&db, "t", vec![add_index("ab", &["a", "b"], true)]).unwrap();
    let changes = vec![
        add_column(with_default("c", int(), "5"), Position::First),
        add_index("", &["c", "id"], true),
    ];
    alter(&db, "t", changes).unwrap();
    assert_eq!(checked(&db, "t"), 3);
    // Every row has the same default.
    let changes = vec![
        add_column(with_default("e", int(), "5"), Position::Last),
        add_index("", &["e"], true),
    ];
    assert_eq!(
        fails(alter(&db, "t", changes)),
        error(1062, "Duplicate entry '5' for key 't.e'")
    );
    assert_eq!(names(&db), ["c", "id", "a", "b"]);

    // Without `b`, `ab` is an index on `a`, which has duplicates.
    assert_eq!(
        fails(alter(&db, "t", vec![drop_column("b")])),
        error(1062, "Duplicate entry '20' for key 't.ab'")
    );
    assert_eq!(checked(&db, "t"), 3);
    alter(&db, "t", vec![drop_column("a")]).unwrap();
    assert!(show(&db, "t").contains("UNIQUE KEY `ab` (`b`)"));
    assert!(!show(&db, "t").contains("KEY `a`"));
    assert_eq!(checked(&db, "t"), 3);
}

#[test]
fn a_duplicate_leaves_nothing_behind() {
    let db = new_db();
    let before = with_rows(&db);
    assert_eq!(
        fails(alter(&db, "t", vec![add_index("u", &["a"], true)])),
        error(1062, "Duplicate entry '20' for key 't.u'")
    );
    let after = table(&db, "t");
    assert_eq!(after.indexes, before.indexes);
    assert_eq!(checked(&db, "t"), 3);
    // The id is not used again, so that what the failure left cannot show up in a later index.
    alter(&db, "t", vec![add_index("u", &["b"], true)]).unwrap();
    assert!(
        table(&db, "t")
            .indexes
            .iter()
            .any(|i| i.name == "u" && i.id == before.max_index_id + 2)
    );
    assert_eq!(checked(&db, "t"), 3);
    let gone = KeyRange::prefix(codec::key::index_prefix(before.id, before.max_index_id + 1));
    assert!(
        db.cluster()
            .store()
            .latest()
            .scan_page(&gone, 1, false)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_duplicate_is_written_as_in_the_first_row() {
    let db = new_db();
    let made = with_rows(&db);
    insert(&db, &made, &[Value::Int(4), Value::Int(1), text("X")]);
    let add = || alter(&db, "t", vec![add_index("u", &["b"], true)]);
    assert_eq!(fails(add()), error(1062, "Duplicate entry 'x' for key 't.u'"));
    // Far apart, in different pages, too.
    execute(&db, Ddl::TruncateTable { name: name("t") }).unwrap();
    let made = table(&db, "t");
    for id in 0..1_500 {
        let b = if id == 1_499 {
            "B3".to_owned()
        } else {
            format!("b{id}")
        };
        insert(&db, &made, &[Value::Int(id), Value::Null, text(&b)]);
    }
    assert_eq!(fails(add()), error(1062, "Duplicate entry 'b3' for key 't.u'"));
    checked(&db, "t");
}

#[test]
fn nulls_do_not_collide() {
    let db = new_db();
    create(
        &db,
        "t",
        heap(vec![column("a", int()), column("b", int())], vec![]),
    )
    .unwrap();
    let made = table(&db, "t");
    for _ in 0..3 {
        insert(&db, &made, &[Value::Null, Value::Int(1)]);
    }
    alter(&db, "t", vec![add_index("", &["a", "b"], true)]).unwrap();
    assert_eq!(checked(&db, "t"), 3);
}

#[test]
fn what_cannot_be_altered() {
    let db = new_db();
    with_rows(&db);
    let fails = |change| fails(alter(&db, "t", vec![change]));
    let unknown = |name: &str| error(1054, &format!("Unknown column '{name}' in 't'"));
    let cannot_drop = error(1091, "Can't DROP 'x'; check that column/key exists");
    assert_eq!(fails(drop_column("x")), cannot_drop);
    assert_eq!(fails(drop_index("x")), cannot_drop);
    assert_eq!(fails(rename_column("x", "y")), unknown("x"));
    assert_eq!(fails(modify("x", column("x", int()))), unknown("x"));
    assert_eq!(
        fails(AlterChange::SetDefault {
            column: "x".into(),
            default: None
        }),
        unknown("x")
    );
    assert_eq!(
        fails(add_column(column("n", int()), Position::After("x".into()))),
        unknown("x")
    );
    assert_eq!(
        fails(add_column(column("A", int()), Position::Last)),
        error(1060, "Duplicate column name 'A'")
    );
    assert_eq!(
        fails(rename_column("b", "a")),
        error(1060, "Duplicate column name 'a'")
    );
    assert_eq!(
        fails(add_index("a", &["b"], false)),
        error(1061, "Duplicate key name 'a'")
    );
    assert_eq!(
        fails(add_index("", &["x"], false)),
        error(1072, "Key column 'x' doesn't exist in table")
    );
    let rename = |from: &str, to: &str| AlterChange::RenameIndex {
        from: from.into(),
        to: to.into(),
    };
    assert_eq!(
        fails(rename("x", "y")),
        error(1176, "Key 'x' doesn't exist in table 't'")
    );
    assert_eq!(
        fails(rename("a", "PRIMARY")),
        error(1280, "Incorrect index name 'PRIMARY'")
    );
    // The AUTO_INCREMENT column needs a key.
    assert_eq!(fails(drop_index("PRIMARY")).0, 1075);
    assert_eq!(
        fails(AlterChange::RenameTable { to: name("nodb.t") }),
        error(1049, "Unknown database 'nodb'")
    );
    create(&db, "u", heap(vec![column("a", int())], vec![])).unwrap();
    assert_eq!(
        fails(AlterChange::RenameTable { to: name("u") }),
        error(1050, "Table 'u' already exists")
    );
    assert_eq!(
        super::fails(alter(&db, "u", vec![drop_column("a")])),
        error(
            1090,
            "You can't delete all columns with ALTER TABLE; use DROP TABLE instead"
        )
    );
    alter(
        &db,
        "u",
        vec![drop_column("a"), add_column(column("z", int()), Position::Last)],
    )
    .unwrap();
}

#[test]
fn columns_change_where_no_value_does() {
    let db = new_db();
    with_rows(&db);
    let changes = vec![
        modify(
            "a",
            Column {
                comment: "wide".into(),
                ..with_default("aa", SqlType::BIGINT, "3")
            },
        ),
        modify("b", not_null("b", varchar(100))),
    ];
    alter(&db, "t", changes).unwrap();
    assert_eq!(
        show(&db, "t"),
        "CREATE TABLE `t` (
  `id` int NOT NULL AUTO_INCREMENT,
  `aa` bigint DEFAULT '3' COMMENT 'wide',
  `b` varchar(100) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `a` (`aa`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
    );
    assert_eq!(checked(&db, "t"), 3);
    // Another collation of the same characters is free as long as no index sorts by it.
    let physical = table(&db, "t").physical_id();
    let binary = || modify("b", column("b", SqlType::varchar(100, Collation::Utf8mb4Bin)));
    alter(&db, "t", vec![binary()]).unwrap();
    alter(&db, "t", vec![add_index("b", &["b"], false)]).unwrap();
    assert_eq!(table(&db, "t").physical_id(), physical);
    alter(&db, "t", vec![modify("b", column("b", varchar(100)))]).unwrap();
    assert_ne!(table(&db, "t").physical_id(), physical);
    assert_eq!(checked(&db, "t"), 3);
}

#[test]
fn rows_are_rewritten_for_another_type() {
    let db = new_db();
    with_rows(&db);
    let before = db.cluster().store().current_ts().unwrap();
    let physical = table(&db, "t").physical_id();
    let too_narrow = modify("b", column("b", varchar(0)));
    assert_eq!(fails(alter(&db, "t", vec![too_narrow])).0, 1265);
    assert_eq!(table(&db, "t").physical_id(), physical);
    assert!(table(&db, "t").shadow.is_none());
    let change = vec![
        modify("a", column("a", varchar(20))),
        modify("id", not_null("id", varchar(20))),
    ];
    alter(&db, "t", change).unwrap();
    let made = table(&db, "t");
    assert_ne!(made.physical_id(), physical);
    assert_eq!(made.check_readable_at(before).unwrap_err().code, 1412);
    assert_eq!(checked(&db, "t"), 3);
    insert(&db, &made, &[text("x"), text("y"), text("z")]);
    assert_eq!(checked(&db, "t"), 4);
    alter(&db, "t", vec![AlterChange::DropPrimaryKey]).unwrap();
    assert_eq!(checked(&db, "t"), 4);
    db.collect_garbage();
}

#[test]
fn not_null_needs_rows_without_null() {
    let db = new_db();
    let made = with_rows(&db);
    insert(&db, &made, &[Value::Int(4), Value::Null, text("n")]);
    let strict = || vec![modify("a", not_null("a", int()))];
    assert_eq!(
        fails(alter(&db, "t", strict())),
        error(1138, "Invalid use of NULL value")
    );
    execute(&db, Ddl::TruncateTable { name: name("t") }).unwrap();
    alter(&db, "t", strict()).unwrap();
    assert!(!table(&db, "t").columns[1].nullable);
}

#[test]
fn auto_increment_is_not_set_below_what_is_there() {
    let db = new_db();
    let made = with_rows(&db);
    db.cluster().ids().raise_to(&made, 3).unwrap();
    let set = |n| alter(&db, "t", vec![AlterChange::AutoIncrement(n)]).unwrap();
    let next = || db.cluster().ids().next(&table(&db, "t")).unwrap();
    set(50);
    assert_eq!(next(), 50);
    set(2);
    assert_eq!(next(), 4);
    assert_eq!(db.cluster().ids().allocate(&made, 1, 1, 1).unwrap(), 4);

    // Below where CREATE TABLE said, too.
    let mut definition = simple();
    definition.auto_increment_start = 100;
    create(&db, "w", definition).unwrap();
    alter(&db, "w", vec![AlterChange::AutoIncrement(50)]).unwrap();
    assert_eq!(db.cluster().ids().next(&table(&db, "w")).unwrap(), 50);

    // By an index, by a clustered key, and where the column becomes one that counts.
    create(&db, "u", heap(vec![auto("a", int())], vec![key("", &[0])])).unwrap();
    insert(&db, &table(&db, "u"), &[Value::Int(8)]);
    alter(&db, "u", vec![AlterChange::AutoIncrement(1)]).unwrap();
    assert_eq!(db.cluster().ids().next(&table(&db, "u")).unwrap(), 9);
    let mut clustered = heap(vec![not_null("a", SqlType::BIGINT_UNSIGNED)], vec![primary(&[0])]);
    clustered.handle = Handle::Clustered { index: 0 };
    create(&db, "v", clustered).unwrap();
    let largest = Value::UInt(i64::MAX as u64 + 5);
    insert(&db, &table(&db, "v"), &[largest]);
    alter(&db, "v", vec![modify("a", auto("a", SqlType::BIGINT_UNSIGNED))]).unwrap();
    assert_eq!(
        db.cluster().ids().next(&table(&db, "v")).unwrap(),
        i64::MAX as u64 + 6
    );
}

#[test]
fn options_and_a_new_name() {
    let db = new_db();
    create_database(&db, "e").unwrap();
    with_rows(&db);
    let changes = vec![
        AlterChange::Comment("c".into()),
        AlterChange::DefaultCollation(Collation::Utf8mb4Bin),
        AlterChange::RenameTable { to: name("e.u") },
        AlterChange::RenameIndex {
            from: "a".into(),
            to: "k".into(),
        },
        add_index("u", &["b"], true),
    ];
    alter(&db, "t", changes).unwrap();
    assert!(db.cluster().schema().table("d", "t").is_none());
    let shown = show(&db, "e.u");
    assert!(shown.contains("KEY `k` (`a`)") && shown.contains("UNIQUE KEY `u` (`b`)"));
    assert!(shown.ends_with("DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='c'"));
    assert!(shown.contains("`b` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci DEFAULT NULL"));
    assert_eq!(checked(&db, "e.u"), 3);
}
