//! Ids of one and of several allocators.

use std::collections::HashSet;
use std::sync::Arc;

use schema::definition::TableDefinition;
use schema::test_support::*;

use super::*;

fn table(definition: &TableDefinition) -> Arc<Table> {
    let mut table = schema::new_table(&name("t"), definition, 0).unwrap().0;
    table.id = 101;
    Arc::new(table)
}

fn ids_with(ty: SqlType, start: u64) -> (Arc<IdAllocator>, Arc<Table>) {
    let mut definition = by_id(vec![auto("id", ty)], vec![]);
    definition.auto_increment_start = start;
    let ids = IdAllocator::new(Store::memory());
    (Arc::new(ids), table(&definition))
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
    let (ids, table) = ids_with(int(), 100);
    assert_eq!(ids.next(&table).unwrap(), 100);
    assert_eq!(ids.allocate(&table, 1, 1, 1).unwrap(), 100);
    assert_eq!(ids.allocate(&table, 5000, 1, 1).unwrap(), 101);
    assert_eq!(ids.allocate(&table, 1, 1, 1).unwrap(), 5101);
    assert_eq!(ids.next(&table).unwrap(), 5102);
}

#[test]
fn explicit_values_move_the_counter_up_only() {
    let (ids, table) = ids_with(int(), 1);
    ids.raise_to(&table, 7).unwrap();
    assert_eq!(ids.allocate(&table, 1, 1, 1).unwrap(), 8);
    ids.raise_to(&table, 3).unwrap();
    assert_eq!(ids.allocate(&table, 1, 1, 1).unwrap(), 9);
    ids.raise_to(&table, 1_000_000).unwrap();
    assert_eq!(ids.allocate(&table, 1, 1, 1).unwrap(), 1_000_001);
}

/// What MySQL 8.0.33 gives for auto_increment_increment=10, auto_increment_offset=5, and then 30 by hand.
#[test]
fn increment_and_offset_are_mysqls() {
    let (ids, table) = ids_with(int(), 1);
    assert_eq!(ids.allocate(&table, 1, 10, 5).unwrap(), 5);
    assert_eq!(ids.next(&table).unwrap(), 15);
    assert_eq!(ids.allocate(&table, 2, 10, 5).unwrap(), 15);
    ids.raise_to(&table, 30).unwrap();
    assert_eq!(ids.next(&table).unwrap(), 35);
    assert_eq!(ids.allocate(&table, 1, 10, 5).unwrap(), 35);
    assert_eq!(ids.allocate(&table, 1, 1, 1).unwrap(), 45);
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
    let (ids, table) = ids_with(small(), 1);
    ids.raise_to(&table, 126).unwrap();
    assert_eq!(ids.allocate(&table, 1, 1, 1).unwrap(), 127);
    assert_eq!(ids.allocate(&table, 1, 1, 1).unwrap(), 127);
    assert_eq!(ids.next(&table).unwrap(), 127);

    let (ids, table) = ids_with(small(), 200);
    let error = ids.allocate(&table, 1, 1, 1).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (1467, "Failed to read auto-increment value from storage engine")
    );

    let (ids, table) = ids_with(SqlType::BIGINT, 1);
    ids.raise_to(&table, i64::MAX as u64 - 1).unwrap();
    assert_eq!(ids.allocate(&table, 1, 1, 1).unwrap(), i64::MAX as u64);
    assert_eq!(ids.allocate(&table, 1, 1, 1).unwrap(), i64::MAX as u64);
}

#[test]
fn the_largest_unsigned_value_is_never_given() {
    let ids = IdAllocator::new(Store::memory());
    let mut definition = heap(vec![auto("id", SqlType::BIGINT_UNSIGNED)], vec![primary(&[0])]);
    definition.handle = schema::model::Handle::Clustered { index: 0 };
    let table = table(&definition);
    ids.raise_to(&table, u64::MAX - 1).unwrap();
    assert_eq!(ids.allocate(&table, 1, 1, 1).unwrap_err().code, 1467);
    assert_eq!(ids.next(&table).unwrap(), u64::MAX);
}

#[test]
fn a_clean_shutdown_leaves_no_gap_and_a_crash_repeats_nothing() {
    let (ids, table) = ids_with(int(), 1);
    assert_eq!(ids.allocate(&table, 3, 1, 1).unwrap(), 1);
    assert_eq!(ids.allocate_row_ids(&table, 2).unwrap(), 1);
    ids.return_leased().unwrap();

    let after_close = IdAllocator::new(ids.store.clone());
    assert_eq!(after_close.next(&table).unwrap(), 4);
    assert_eq!(after_close.allocate(&table, 1, 1, 1).unwrap(), 4);
    assert_eq!(after_close.allocate_row_ids(&table, 1).unwrap(), 3);

    let after_crash = IdAllocator::new(ids.store.clone());
    assert!(after_crash.allocate(&table, 1, 1, 1).unwrap() > 4);
    assert!(after_crash.allocate_row_ids(&table, 1).unwrap() > 3);
}

#[test]
fn no_id_comes_twice_from_two_nodes_and_four_threads() {
    let (one, table) = ids_with(int(), 1);
    let two = Arc::new(IdAllocator::new(one.store.clone()));
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let (ids, table) = ([&one, &two][n % 2].clone(), table.clone());
            std::thread::spawn(move || {
                (0..2_000)
                    .map(|_| ids.allocate(&table, 1, 1, 1).unwrap())
                    .collect::<Vec<u64>>()
            })
        })
        .collect();
    let all: Vec<u64> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 8_000);
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
