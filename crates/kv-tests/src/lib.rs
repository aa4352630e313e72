//! The conformance suite of the key-value contract. Every engine must pass all of it, without exceptions.
//!
//! An engine implements [`Subject`], and [`conformance!`](crate::conformance) makes one `#[test]` of each
//! case, as `tests/memory.rs` and `tests/rocksdb.rs` do. [`run_all`] runs the cases without a test harness.
//! Each case gets a new, empty subject.
//!
//! Not here: tests of one engine's internals. They are in that engine's crate, except those that only the
//! two embedded engines share (`tests/dependent_commits.rs`, `tests/committing_thread.rs`).
//!
//! Where to go next: the cases are grouped by the promise they check: [`snapshots`], [`own_writes`],
//! [`locks`], [`deadlocks`], [`optimistic`], [`absent`], [`guarded`], [`fences`], [`concurrency`],
//! [`garbage`], [`ranges`], [`limits`], [`loads`], [`durability`], and [`model`], which compares random
//! histories with a map of versions.
//!
//! Cases panic if the contract is broken: this crate is a test, although it is a library.

#![allow(clippy::unwrap_used, clippy::panic)]

pub mod absent;
pub mod concurrency;
pub mod deadlocks;
pub mod durability;
pub mod fences;
pub mod garbage;
pub mod guarded;
pub mod limits;
pub mod loads;
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
    /// Opens the store. If it is called again after all clones of the last store were dropped, it opens the
    /// same data, provided that they are persistent.
    fn open(&self, limits: Limits) -> Store;

    /// Whether data outlive the store.
    fn is_persistent(&self) -> bool;
}

/// Creates a new, empty subject.
pub type Factory<'a> = &'a dyn Fn() -> Box<dyn Subject>;

/// Calls another macro with a context and the path of every case.
#[macro_export]
macro_rules! for_each_case {
    ([$($callback:tt)*] $context:path) => {
        $($callback)*! {
            $context;
            snapshots::sees_exactly_what_was_committed_at_or_before;
            snapshots::every_past_timestamp_can_be_read;
            snapshots::future_timestamps_are_refused;
            snapshots::timestamps_increase;
            snapshots::latest_sees_each_commit_at_once;
            snapshots::a_snapshot_sees_what_an_earlier_latest_read_saw;
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
            own_writes::show_in_current_reads;
            own_writes::a_view_keeps_its_snapshot;
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
            locks::an_upgrade_goes_before_waiters;
            locks::a_waiter_that_gives_up_blocks_no_other;
            locks::nowait_fails_at_once;
            locks::skip_locked_skips;
            locks::an_interrupt_wakes_a_waiter;
            locks::an_interrupt_beats_a_later_grant;
            locks::locking_reads_see_the_newest_version;
            locks::missing_keys_can_be_locked;
            locks::locks_survive_savepoint_rollback;
            locks::locks_can_be_taken_again;
            locks::a_commit_waits_for_unlocked_keys;
            locks::a_shared_lock_does_not_allow_writes;
            locks::one_key_is_locked_as_many_are;
            locks::no_lock_is_left_behind;
            deadlocks::of_two_find_one_victim;
            deadlocks::of_three_find_one_victim;
            deadlocks::of_two_upgrades_find_one_victim;
            deadlocks::repeated_deadlocks_still_make_progress;
            deadlocks::plain_waiting_is_no_deadlock;
            optimistic::first_committer_wins;
            optimistic::blind_inserts_conflict;
            optimistic::deletions_conflict;
            optimistic::deletions_of_missing_keys_conflict;
            optimistic::reads_do_not_conflict;
            optimistic::refreshing_does_not_hide_a_conflict;
            optimistic::a_snapshot_stays_once_there_are_writes;
            optimistic::locks_do_not_hide_a_conflict;
            optimistic::locked_keys_can_be_written;
            optimistic::locking_reads_see_the_snapshot;
            absent::an_insert_over_a_row_fails_whole;
            absent::of_many_inserts_one_wins;
            absent::a_locked_key_is_waited_for;
            absent::locks_taken_later_do_not_hide_it;
            guarded::writes_are_part_of_the_transaction;
            guarded::a_conflict_shows_at_the_guard;
            guarded::entries_follow_their_rows;
            guarded::fresh_entries_can_come_back;
            guarded::broken_promises_fail_the_commit;
            fences::refuse_later_commits;
            fences::refuse_optimistic_commits_too;
            fences::allow_earlier_commits;
            fences::hold_for_each_commit_of_many;
            concurrency::transfers_keep_the_sum;
            concurrency::no_update_is_lost;
            concurrency::one_of_many_inserts_wins;
            concurrency::commits_are_seen_whole;
            concurrency::snapshots_do_not_change;
            concurrency::optimistic_counters_add_up;
            concurrency::each_callback_runs_once;
            garbage::removes_unseen_versions;
            garbage::live_snapshots_hold_it_back;
            garbage::old_timestamps_are_refused_afterwards;
            garbage::deleted_keys_can_come_back;
            garbage::runs_beside_writers_and_readers;
            garbage::short_lived_keys_do_not_reveal_older_versions;
            garbage::transactions_hold_it_back;
            ranges::are_split_without_gaps;
            ranges::are_made_of_regions;
            ranges::can_be_destroyed;
            ranges::can_be_destroyed_to_the_end;
            limits::each_has_its_own_error;
            limits::largest_sizes_work;
            limits::a_large_transaction_commits_whole;
            loads::are_whole_after_their_end;
            loads::replace_what_was_there;
            loads::remove_keys;
            loads::that_do_not_end_can_be_destroyed;
            loads::refuse_what_is_out_of_order;
            durability::commits_survive_reopening;
            durability::rolled_back_writes_do_not;
            durability::timestamps_stay_above_after_reopening;
            durability::timestamps_before_reopening_are_right_or_refused;
            model::random_histories_agree_with_a_map_of_versions;
        }
    };
}

/// Makes a test of each case. The argument is a function that creates subjects.
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

/// Runs every case, and prints its name.
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
