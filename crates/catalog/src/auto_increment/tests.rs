//! Tests.

use std::collections::HashSet;
use std::sync::Arc;

use super::*;
use crate::test_support::*;

fn catalog_with(ty: SqlType, start: u64) -> (Arc<Catalog>, Arc<Table>) {
    let catalog = catalog();
    let mut definition = by_id(vec![auto("id", ty)], vec![]);
    definition.auto_increment_start = start;
    create(&catalog, "t", definition).unwrap();
    let table = table(&catalog, "t");
    (catalog, table)
}

fn small() -> SqlType {
    SqlType {
        kind: TypeKind::TinyInt,
        length: 4,
        ..SqlType::BIGINT
    }
}

#[test]
fn ids_come_in_sequence_from_the_start() {
    let (catalog, table) = catalog_with(int(), 100);
    assert_eq!(catalog.next_auto_increment(&table).unwrap(), 100);
    assert_eq!(catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap(), 100);
    assert_eq!(catalog.allocate_auto_increment(&table, 5000, 1, 1).unwrap(), 101);
    assert_eq!(catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap(), 5101);
    assert_eq!(catalog.next_auto_increment(&table).unwrap(), 5102);
}

#[test]
fn explicit_values_move_the_counter_up_only() {
    let (catalog, table) = catalog_with(int(), 1);
    catalog.bump_auto_increment(&table, 7).unwrap();
    assert_eq!(catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap(), 8);
    catalog.bump_auto_increment(&table, 3).unwrap();
    assert_eq!(catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap(), 9);
    catalog.bump_auto_increment(&table, 1_000_000).unwrap();
    assert_eq!(
        catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap(),
        1_000_001
    );
}

/// What MySQL 8.0.33 gives for auto_increment_increment=10, auto_increment_offset=5, and then 30 by hand.
#[test]
fn increment_and_offset_are_mysqls() {
    let (catalog, table) = catalog_with(int(), 1);
    assert_eq!(catalog.allocate_auto_increment(&table, 1, 10, 5).unwrap(), 5);
    assert_eq!(catalog.next_auto_increment(&table).unwrap(), 15);
    assert_eq!(catalog.allocate_auto_increment(&table, 2, 10, 5).unwrap(), 15);
    catalog.bump_auto_increment(&table, 30).unwrap();
    assert_eq!(catalog.next_auto_increment(&table).unwrap(), 35);
    assert_eq!(catalog.allocate_auto_increment(&table, 1, 10, 5).unwrap(), 35);
    assert_eq!(catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap(), 45);
    // An offset above the increment is ignored.
    assert_eq!(align(1, 5, 7 % 5), 2);
    assert_eq!(
        (
            align(3, 2, 0),
            align(4, 2, 0),
            align(1, 10, 5),
            align(5, 10, 5),
            align(6, 10, 5)
        ),
        (4, 4, 5, 5, 15)
    );
}

#[test]
fn the_last_value_comes_again_and_beyond_it_is_an_error() {
    let (catalog, table) = catalog_with(small(), 1);
    catalog.bump_auto_increment(&table, 126).unwrap();
    assert_eq!(catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap(), 127);
    assert_eq!(catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap(), 127);
    assert_eq!(catalog.next_auto_increment(&table).unwrap(), 127);

    let (catalog, table) = catalog_with(small(), 200);
    let error = catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (1467, "Failed to read auto-increment value from storage engine")
    );

    let (catalog, table) = catalog_with(SqlType::BIGINT, 1);
    catalog.bump_auto_increment(&table, i64::MAX as u64 - 1).unwrap();
    assert_eq!(
        catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap(),
        i64::MAX as u64
    );
    assert_eq!(
        catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap(),
        i64::MAX as u64
    );
}

#[test]
fn the_largest_unsigned_value_is_never_given() {
    let catalog = catalog();
    let mut definition = heap(vec![auto("id", SqlType::BIGINT_UNSIGNED)], vec![primary(&[0])]);
    definition.handle = schema::model::Handle::Clustered { index: 0 };
    create(&catalog, "t", definition).unwrap();
    let table = table(&catalog, "t");
    catalog.bump_auto_increment(&table, u64::MAX - 1).unwrap();
    assert_eq!(
        catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap_err().code,
        1467
    );
    assert_eq!(catalog.next_auto_increment(&table).unwrap(), u64::MAX);
}

#[test]
fn a_clean_shutdown_leaves_no_gap_and_a_crash_repeats_nothing() {
    let (catalog, table) = catalog_with(int(), 1);
    assert_eq!(catalog.allocate_auto_increment(&table, 3, 1, 1).unwrap(), 1);
    assert_eq!(catalog.allocate_row_ids(table.id, 2).unwrap(), 1);
    catalog.close().unwrap();

    let after_close = Catalog::open(catalog.store().clone()).unwrap();
    assert_eq!(after_close.next_auto_increment(&table).unwrap(), 4);
    assert_eq!(after_close.allocate_auto_increment(&table, 1, 1, 1).unwrap(), 4);
    assert_eq!(after_close.allocate_row_ids(table.id, 1).unwrap(), 3);

    let after_crash = Catalog::open(catalog.store().clone()).unwrap();
    assert!(after_crash.allocate_auto_increment(&table, 1, 1, 1).unwrap() > 4);
    assert!(after_crash.allocate_row_ids(table.id, 1).unwrap() > 3);
}

#[test]
fn no_id_comes_twice_from_two_nodes_and_four_threads() {
    let (one, table) = catalog_with(int(), 1);
    let two = Catalog::open(one.store().clone()).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let (catalog, table) = ([&one, &two][n % 2].clone(), table.clone());
            std::thread::spawn(move || {
                (0..2_000)
                    .map(|_| catalog.allocate_auto_increment(&table, 1, 1, 1).unwrap())
                    .collect::<Vec<u64>>()
            })
        })
        .collect();
    let ids: Vec<u64> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 8_000);
}

#[test]
fn largest_values_of_types() {
    let of = |kind, unsigned| {
        largest_id(&SqlType {
            kind,
            unsigned,
            ..SqlType::BIGINT
        })
    };
    assert_eq!(
        (of(TypeKind::TinyInt, false), of(TypeKind::TinyInt, true)),
        (127, 255)
    );
    assert_eq!(of(TypeKind::MediumInt, false), 8_388_607);
    assert_eq!(of(TypeKind::Int, true), 4_294_967_295);
    assert_eq!(
        (of(TypeKind::BigInt, false), of(TypeKind::BigInt, true)),
        (i64::MAX as u64, u64::MAX)
    );
}
