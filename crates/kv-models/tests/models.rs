//! Runs the models. The numbers of runs are several times what it takes to find defects that were put in on
//! purpose.

use kv_models::models::{explore, group_commit, lock_table, row_cache, transactions};

#[test]
fn row_cache_loads_and_commits() {
    explore(2_000, row_cache::loads_and_commits);
}

#[test]
fn row_cache_pages_that_split_and_go() {
    explore(1_000, row_cache::pages_that_split_and_go);
}

#[test]
fn row_cache_an_entry_that_no_page_holds() {
    explore(2_000, row_cache::an_entry_that_no_page_holds);
}

#[test]
fn row_cache_a_range_that_is_dropped() {
    explore(2_000, row_cache::a_range_that_is_dropped);
}

#[test]
fn group_commit_with_a_thread() {
    explore(2_000, group_commit::with_a_thread);
}

#[test]
fn group_commit_without_a_thread() {
    explore(1_000, group_commit::without_a_thread);
}

#[test]
fn group_commit_with_faults() {
    explore(2_000, group_commit::with_faults);
}

#[test]
fn lock_table_one_key() {
    explore(2_000, lock_table::one_key);
}

#[test]
fn lock_table_a_circle() {
    explore(2_000, lock_table::a_circle);
}

#[test]
fn lock_table_upgrades() {
    explore(2_000, lock_table::upgrades);
}

#[test]
fn lock_table_an_interrupt() {
    explore(2_000, lock_table::an_interrupt);
}

#[test]
fn lock_table_a_turn_that_is_passed_on() {
    explore(2_000, lock_table::a_turn_that_is_passed_on);
}

#[test]
fn transactions_a_counter() {
    explore(1_000, transactions::a_counter);
}

#[test]
fn transactions_a_counter_without_a_thread() {
    explore(500, transactions::a_counter_without_a_thread);
}

#[test]
fn transactions_a_counter_whose_commits_fail() {
    explore(1_000, transactions::a_counter_whose_commits_fail);
}

#[test]
fn transactions_transfers() {
    explore(500, transactions::transfers);
}
