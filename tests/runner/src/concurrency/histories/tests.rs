//! The checker finds anomalies in histories that have them.

use std::time::{Duration, Instant};

use super::checker::check;
use super::history::{History, List, Moment, Read};

const X: List = (0, 1);
const Y: List = (0, 2);

/// Moments between which nothing overlaps unless `at` is the same.
fn moment(name: &str, at: u64, reads: &[(List, &[u64])], appends: &[(List, u64)]) -> Moment {
    let start = Instant::now();
    let read = |(list, values): &(List, &[u64])| Read {
        list: *list,
        values: values.to_vec(),
    };
    // Far apart, so that calls of `now` in between do not matter.
    Moment {
        name: name.to_owned(),
        reads: reads.iter().map(read).collect(),
        appends: appends.to_vec(),
        asked: start + Duration::from_secs(at * 10_000),
        answered: start + Duration::from_secs(at * 10_000 + 5_000),
    }
}

fn verdict(moments: Vec<Moment>) -> String {
    let history = History {
        moments,
        aborted: [99].into(),
    };
    check(&history).err().unwrap_or_default()
}

#[test]
fn histories_without_anomalies_pass() {
    let moments = vec![
        moment("a", 1, &[], &[(X, 1), (Y, 2)]),
        moment("b", 2, &[(X, &[1])], &[(X, 3)]),
        moment("r", 2, &[(X, &[1]), (Y, &[2])], &[]),
        moment("last", 3, &[(X, &[1, 3]), (Y, &[2])], &[]),
    ];
    assert_eq!(verdict(moments), "");
}

#[test]
fn a_part_of_a_transaction_is_found() {
    let moments = vec![
        moment("a", 1, &[], &[(X, 1), (Y, 2)]),
        moment("r", 1, &[(X, &[1]), (Y, &[])], &[]),
        moment("last", 2, &[(X, &[1]), (Y, &[2])], &[]),
    ];
    assert_eq!(
        verdict(moments),
        "1 anomalies: a cycle: a -wr (0, 1)-> r -rw (0, 2)->"
    );
}

#[test]
fn writes_in_different_orders_are_found() {
    let moments = vec![
        moment("a", 1, &[], &[(X, 1), (Y, 2)]),
        moment("b", 1, &[], &[(X, 3), (Y, 4)]),
        moment("last", 2, &[(X, &[1, 3]), (Y, &[4, 2])], &[]),
    ];
    let verdict = verdict(moments);
    assert!(verdict.contains("a -ww (0, 1)-> b -ww (0, 2)->"), "{verdict}");
}

#[test]
fn a_lost_update_is_found() {
    let moments = vec![
        moment("a", 1, &[(X, &[])], &[(X, 1)]),
        moment("b", 1, &[(X, &[])], &[(X, 2)]),
        moment("last", 2, &[(X, &[1, 2])], &[]),
    ];
    let verdict = verdict(moments);
    assert!(verdict.contains("a -ww (0, 1)-> b -rw (0, 1)->"), "{verdict}");
}

#[test]
fn a_stale_read_is_found() {
    let moments = vec![
        moment("a", 1, &[], &[(X, 1)]),
        moment("r", 2, &[(X, &[])], &[]),
        moment("last", 3, &[(X, &[1])], &[]),
    ];
    let verdict = verdict(moments);
    assert!(
        verdict.contains("a -answered (0, 0)-> r -rw (0, 1)->"),
        "{verdict}"
    );
}

#[test]
fn aborted_intermediate_lost_and_diverging_elements_are_found() {
    let cases: [(&str, &[u64], &[u64]); 4] = [
        ("99 in (0, 1) was rolled back", &[], &[1, 2, 99]),
        ("had not finished", &[1], &[1, 2]),
        ("is lost", &[], &[1]),
        ("others", &[2], &[1, 2]),
    ];
    for (expected, early, late) in cases {
        let moments = vec![
            moment("a", 1, &[], &[(X, 1), (X, 2)]),
            moment("r", 1, &[(X, early)], &[]),
            moment("last", 2, &[(X, late)], &[]),
        ];
        let verdict = verdict(moments);
        assert!(verdict.contains(expected), "{verdict}");
    }
}
