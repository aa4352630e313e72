//! The conformance suite: what every engine must do, whatever it is made of. No exceptions per engine.
//!
//! An engine brings a [`Subject`], and [`conformance!`](crate::conformance) makes one `#[test]` of each case, as
//! `tests/memory.rs` and `tests/rocksdb.rs` do; [`run_all`] runs them without a test harness. Each case gets a new,
//! empty subject.
//!
//! Cases are grouped by promise: [`snapshots`], [`own_writes`], [`locks`], [`deadlocks`], [`optimistic`], [`absent`],
//! [`guarded`], [`fences`], [`concurrency`], [`garbage`], [`ranges`], [`limits`], [`durability`], and [`model`], which
//! compares random histories with a map of versions.
//!
//! Cases panic where the contract is broken; this crate is a test although it is a library.

#![allow(clippy::unwrap_used, clippy::panic)]

pub mod absent;
pub mod concurrency;
pub mod deadlocks;
pub mod durability;
pub mod fences;
pub mod garbage;
pub mod guarded;
pub mod limits;
pub mod locks;
pub mod model;
pub mod optimistic;
pub mod own_writes;
pub mod ranges;
pub mod snapshots;
pub mod support;

use kv::{Limits, Store};

/// An engine to be tested, with data of its own.
pub trait Subject {
    /// Opens the store. Called again once every clone of the last one has been dropped, it opens the same data, if
    /// they are persistent.
    fn open(&self, limits: Limits) -> Store;

    /// Whether data outlive the store that was opened.
    fn is_persistent(&self) -> bool;
}

/// Makes a new, empty subject.
pub type Factory<'a> = &'a dyn Fn() -> Box<dyn Subject>;

/// Calls another macro with something for it and the path of every case.
#[macro_export]
macro_rules! for_each_case {
    ([$($callback:tt)*] $context:path) => {
        $($callback)*! {
            $context;
            snapshots::sees_exactly_what_was_committed_at_or_before;
            snapshots::every_past_moment_can_be_read;
            snapshots::future_moments_are_refused;
            snapshots::timestamps_increase;
            snapshots::latest_sees_each_commit_at_once;
            snapshots::what_latest_saw_the_next_snapshot_sees;
            snapshots::scans_go_both_ways;
            snapshots::scans_end_where_the_visitor_says;
            snapshots::batches_answer_in_order;
            snapshots::old_versions_show_in_scans_both_ways;
            snapshots::keys_with_zeros_do_not_mix;
            snapshots::a_scan_can_be_interrupted;
            snapshots::visitors_may_read_and_write;
            own_writes::are_seen_by_get_and_batch;
            own_writes::are_seen_by_scans_both_ways;
            own_writes::are_not_seen_by_others;
            own_writes::shine_through_current_reads;
            own_writes::a_view_keeps_its_moment;
            own_writes::savepoints_undo_and_nest;
            own_writes::read_committed_refreshes;
            own_writes::read_only_transactions_refuse_writes;
            own_writes::empty_commits_are_free;
            locks::exclusive_locks_exclude;
            locks::shared_locks_share;
            locks::a_sole_sharer_upgrades;
            locks::waiters_time_out;
            locks::waiters_are_woken_by_commit_and_rollback;
            locks::waiters_are_served_in_order;
            locks::an_upgrade_goes_before_those_who_wait;
            locks::a_waiter_that_leaves_lets_others_through;
            locks::nowait_fails_at_once;
            locks::skip_locked_skips;
            locks::an_interrupt_wakes_a_waiter;
            locks::an_interrupt_goes_before_a_lock_that_comes_behind_it;
            locks::locking_reads_see_the_newest_version;
            locks::missing_keys_can_be_locked;
            locks::locks_survive_savepoint_rollback;
            locks::locks_can_be_taken_again;
            locks::a_commit_waits_for_unlocked_keys;
            locks::a_shared_lock_is_no_licence_to_write;
            locks::one_key_is_locked_as_many_are;
            locks::no_lock_is_left_behind;
            deadlocks::of_two_find_one_victim;
            deadlocks::of_three_find_one_victim;
            deadlocks::of_two_upgrades_find_one_victim;
            deadlocks::many_in_a_row_always_make_progress;
            deadlocks::plain_waiting_is_none;
            optimistic::first_committer_wins;
            optimistic::blind_inserts_conflict;
            optimistic::deletions_conflict;
            optimistic::deletions_of_missing_keys_conflict;
            optimistic::reads_do_not_conflict;
            optimistic::refreshing_does_not_hide_a_conflict;
            absent::an_insert_over_a_row_fails_whole;
            absent::of_many_inserts_one_wins;
            absent::a_locked_key_is_waited_for;
            absent::locks_taken_later_do_not_hide_it;
            guarded::writes_are_part_of_the_transaction;
            guarded::a_conflict_shows_at_the_guard;
            guarded::entries_follow_their_rows;
            guarded::fresh_entries_come_back_as_they_went;
            guarded::broken_promises_fail_the_commit;
            fences::refuse_what_comes_behind_them;
            fences::refuse_optimistic_commits_too;
            fences::let_pass_what_comes_before_them;
            fences::hold_for_each_commit_of_many;
            concurrency::transfers_keep_the_sum;
            concurrency::no_update_is_lost;
            concurrency::one_of_many_inserts_wins;
            concurrency::commits_are_seen_whole;
            concurrency::snapshots_stand_still;
            concurrency::optimistic_counters_add_up;
            concurrency::each_commit_is_told_once;
            garbage::removes_what_nobody_sees;
            garbage::live_snapshots_hold_it_back;
            garbage::old_moments_are_refused_afterwards;
            garbage::deleted_keys_can_come_back;
            garbage::runs_beside_writers_and_readers;
            garbage::what_comes_and_goes_at_once_hides_nothing_older;
            garbage::transactions_hold_it_back;
            ranges::are_split_without_gaps;
            ranges::are_made_of_regions;
            ranges::can_be_destroyed;
            ranges::can_be_destroyed_to_the_end;
            limits::each_has_its_own_error;
            limits::largest_sizes_work;
            limits::a_large_transaction_commits_whole;
            durability::commits_survive_reopening;
            durability::rolled_back_writes_do_not;
            durability::timestamps_stay_above_after_reopening;
            durability::moments_of_before_reopening_are_right_or_refused;
            model::random_histories_agree_with_a_map_of_versions;
        }
    };
}

/// Makes a test of each case, for the subjects that the function named makes.
#[macro_export]
macro_rules! conformance {
    ($new_subject:path) => {
        $crate::for_each_case! { [$crate::conformance_tests] $new_subject }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($new_subject:path; $($group:ident::$case:ident;)*) => {
        $(
            #[test]
            fn $case() {
                $crate::$group::$case(&$new_subject);
            }
        )*
    };
}

/// Runs every case, naming each on standard output.
pub fn run_all(new_subject: Factory) {
    macro_rules! run {
        ($context:path; $($group:ident::$case:ident;)*) => {
            $(
                println!(concat!(stringify!($group), "::", stringify!($case)));
                $group::$case($context);
            )*
        };
    }
    for_each_case! { [run] new_subject }
}
