//! Which conditions are decided on the bytes of rows.

mod support;

use executor::row_checks::RowChecks;
use planner::plan::Plan;
use support::Db;

#[test]
fn conditions_on_bytes() {
    let db = Db::with("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, d DATE, c VARCHAR(40))");
    let is_decided = |condition: &str| {
        let plan = db
            .conn()
            .plan(&format!("SELECT id FROM t WHERE {condition}"), &[])
            .unwrap();
        let Plan::Query(query) = plan else {
            panic!("{condition}");
        };
        let scan = query.root.scans()[0];
        !RowChecks::of_filter(scan, scan.filter.as_ref()).is_empty()
    };
    for condition in [
        "n < 3",
        "n IN (1, 5)",
        "n = 1 OR n = 7",
        "c = 'a'",
        "c IN ('a', 'b')",
        "c LIKE '%a%b%'",
        "LEFT(c, 2) = 'ab'",
        "SUBSTRING(c, 1, 2) IN ('ab', 'cd')",
        "n < 3 AND TRIM(c) = 'a'",
    ] {
        assert!(is_decided(condition), "{condition}");
    }
    // Without a part that is decided, or with one that may leave a warning.
    for condition in [
        "n + 1 < 3",
        "c LIKE 'a\\\\_%'",
        "n < 3 AND d + INTERVAL n DAY > '2020-01-01'",
    ] {
        assert!(!is_decided(condition), "{condition}");
    }
}
