//! Changes of partitions that copy rows. Each of them leaves the table either unchanged or completely
//! changed, and no other data.

use std::sync::Arc;

use kv::Reader;
use schema::definition::{AlterChange, AlterWay, Ddl, IndexColumn, PartitionChange};
use schema::expression::StoredExpression;
use schema::partition::{
    Bound, Method, Partition, PartitionBy, PartitionKey, PartitionOptions, Partitioning,
};
use types::{Collation, Result, SqlMode, SqlType, Value};

use crate::SchemaChanger;
use crate::test_support::*;

const ROWS: i64 = 1_300;

fn by(method: Method, text: &str) -> PartitionBy {
    PartitionBy {
        method,
        linear: false,
        key: PartitionKey::Expression(StoredExpression {
            text: text.to_owned(),
            sql_mode: SqlMode::default(),
            collation: Collation::DEFAULT,
        }),
    }
}

fn partition(name: &str, end: Option<&str>) -> Partition {
    let bound = |end: &str| match end {
        "max" => Bound::Maxvalue,
        number => Bound::Literal(number.to_owned()),
    };
    Partition {
        name: name.to_owned(),
        values: end.map(|end| vec![bound(end)]).into_iter().collect(),
        options: PartitionOptions::default(),
        id: 0,
        subpartitions: Vec::new(),
    }
}

fn partitioning(by: PartitionBy, partitions: Vec<Partition>) -> PartitionChange {
    PartitionChange::By(Box::new(Partitioning {
        by,
        sub: None,
        partitions,
        listed: true,
        count_given: false,
        subpartitions_listed: false,
    }))
}

fn hash() -> PartitionChange {
    let partitions = ["a", "b", "c"].map(|name| partition(name, None));
    partitioning(by(Method::Hash, "`id`"), partitions.to_vec())
}

fn ranges(ends: &[&str]) -> PartitionChange {
    let partitions = ends.iter().map(|end| partition(&format!("p{end}"), Some(end)));
    partitioning(by(Method::Range, "`id`"), partitions.collect())
}

fn change(db: &SchemaChanger, change: PartitionChange, interrupted: bool) -> Result<()> {
    let ctx = context();
    if interrupted {
        ctx.interrupt.raise();
    }
    let ddl = Ddl::AlterPartitions {
        name: name("t"),
        change,
        way: AlterWay::default(),
    };
    db.execute(&ddl, &ctx).map(drop)
}

fn filled() -> Arc<SchemaChanger> {
    let db = new_db();
    create(
        &db,
        "t",
        by_id(
            vec![not_null("id", int()), column("v", int())],
            vec![key("v", &[1])],
        ),
    )
    .unwrap();
    let t = table(&db, "t");
    (0..ROWS).for_each(|id| insert(&db, &t, &[Value::Int(id), Value::Int(-id)]));
    db
}

/// How many keys of rows and entries the store has for all tables.
fn stored_keys(db: &SchemaChanger) -> usize {
    let all = kv::KeyRange::prefix(b"t".to_vec());
    db.collect_garbage();
    db.cluster()
        .store()
        .latest()
        .scan_page(&all, usize::MAX, false)
        .unwrap()
        .len()
}

#[test]
fn rows_go_to_partitions_and_back() {
    let db = filled();
    let keys = stored_keys(&db);
    for change_to in [
        hash(),
        PartitionChange::AddCount(2),
        PartitionChange::Coalesce(4),
        ranges(&["100", "1000", "max"]),
        PartitionChange::Reorganize {
            names: vec!["p100".into(), "p1000".into()],
            into: vec![partition("x", Some("500")), partition("y", Some("1000"))],
        },
        PartitionChange::Remove,
    ] {
        change(&db, change_to, false).unwrap();
        assert_eq!(checked(&db, "t"), ROWS as u64);
        assert_eq!(stored_keys(&db), keys, "the old places are empty");
    }
}

#[test]
fn what_fails_leaves_the_table_as_it_was() {
    let db = filled();
    let (before, keys) = (show(&db, "t"), stored_keys(&db));
    assert_eq!(change(&db, hash(), true).unwrap_err().code, 1317);
    // The last page has a row that no partition takes.
    assert_eq!(change(&db, ranges(&["1299"]), false).unwrap_err().code, 1526);
    assert_eq!(change(&db, ranges(&["5", "4"]), false).unwrap_err().code, 1493);
    assert_eq!(
        change(&db, PartitionChange::Remove, false).unwrap_err().code,
        1505
    );
    assert_eq!((show(&db, "t"), stored_keys(&db)), (before, keys));
    assert_eq!(checked(&db, "t"), ROWS as u64);
}

#[test]
fn dropped_and_truncated_partitions_take_their_rows_along() {
    let db = filled();
    change(&db, ranges(&["100", "1000", "max"]), false).unwrap();
    change(&db, PartitionChange::Truncate(Some(vec!["p1000".into()])), false).unwrap();
    assert_eq!(checked(&db, "t"), 400);
    change(&db, PartitionChange::Drop(vec!["p100".into()]), false).unwrap();
    assert_eq!(checked(&db, "t"), 300);
    assert_eq!(stored_keys(&db), 600);
    change(&db, PartitionChange::Truncate(None), false).unwrap();
    assert_eq!((checked(&db, "t"), stored_keys(&db)), (0, 0));
}

fn new_primary_key(columns: &[&str]) -> AlterChange {
    AlterChange::AddIndex {
        name: None,
        columns: columns.iter().map(|name| index_column(name)).collect(),
        unique: true,
        comment: String::new(),
        invisible: false,
        generated: false,
        primary: true,
        using_btree: false,
        full_text: None,
    }
}

fn index_column(name: &str) -> IndexColumn {
    IndexColumn {
        name: name.to_owned(),
        prefix: None,
        descending: false,
    }
}

/// Changes of columns and keys, of a table with partitions and together with those.
#[test]
fn rows_of_partitions_are_rewritten() {
    let db = filled();
    let keys = stored_keys(&db);
    let modify = |name: &str, ty| AlterChange::ModifyColumn {
        name: name.to_owned(),
        column: not_null(name, ty),
        position: None,
    };
    for changes in [
        vec![AlterChange::Repartition(hash())],
        vec![modify("v", varchar(20))],
        vec![modify("id", SqlType::BIGINT)],
        vec![AlterChange::DropPrimaryKey],
        vec![modify("v", SqlType::BIGINT)],
        // Rows without a key move between partitions.
        vec![AlterChange::Repartition(PartitionChange::AddCount(2))],
        vec![modify("id", int())],
        vec![new_primary_key(&["id", "v"])],
        vec![
            AlterChange::DropPrimaryKey,
            new_primary_key(&["v", "id"]),
            AlterChange::Repartition(ranges(&["100", "1000", "max"])),
        ],
        vec![
            AlterChange::DropPrimaryKey,
            new_primary_key(&["id"]),
            AlterChange::Repartition(PartitionChange::Remove),
        ],
    ] {
        alter(&db, "t", changes).unwrap();
        assert_eq!(checked(&db, "t"), ROWS as u64);
        assert_eq!(stored_keys(&db), keys, "the old places are empty");
    }
    assert!(table(&db, "t").partitioning.is_none());
}

/// The mapping from old to new keys of rows is removed, too. Otherwise the next change would use it.
#[test]
fn a_primary_key_that_cannot_be_leaves_nothing() {
    let db = filled();
    let columns = vec![not_null("id", int()), not_null("k", int())];
    create(&db, "u", by_id(columns, vec![])).unwrap();
    let made = table(&db, "u");
    // The duplicate is in the last page.
    (0..ROWS).for_each(|id| insert(&db, &made, &[Value::Int(id), Value::Int(id.min(ROWS - 2))]));
    let keys = stored_keys(&db);
    let changes = vec![AlterChange::DropPrimaryKey, new_primary_key(&["k"])];
    assert_eq!(alter(&db, "u", changes.clone()).unwrap_err().code, 1062);
    assert_eq!((checked(&db, "u"), stored_keys(&db)), (ROWS as u64, keys));
    super::execute(&db, Ddl::TruncateTable { name: name("u") }).unwrap();
    (0..ROWS).for_each(|id| insert(&db, &table(&db, "u"), &[Value::Int(id), Value::Int(-id)]));
    alter(&db, "u", changes).unwrap();
    assert_eq!((checked(&db, "u"), stored_keys(&db)), (ROWS as u64, keys));
}
