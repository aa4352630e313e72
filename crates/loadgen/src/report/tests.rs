//! The page of some fixed results.

use super::compare::{comparisons, median};
use super::*;
use crate::result::{ClientInfo, Cost, FORMAT, Interval, Latency, Operation, Rung, ServerInfo, Settings};

fn rung(threads: usize, throughput: f64, p99_us: f64) -> Rung {
    let latency = Latency {
        mean_us: p99_us / 4.0,
        p50_us: p99_us / 5.0,
        p90_us: p99_us / 2.0,
        p95_us: p99_us / 1.5,
        p99_us,
        p999_us: p99_us * 2.0,
        max_us: p99_us * 5.0,
    };
    let operation = |name: &str| Operation {
        name: name.to_owned(),
        count: 1000,
        errors: 0,
        per_second: throughput,
        latency,
    };
    Rung {
        threads,
        elapsed_seconds: 10.0,
        throughput,
        statements_per_second: throughput,
        all: operation("all"),
        operations: vec![operation("read"), operation("write")],
        server: Some(Cost {
            cpu_us_per_operation: 1e6 / throughput,
            resident_bytes_max: 200 << 20,
            ..Cost::default()
        }),
        series: (-1..10)
            .map(|second| Interval {
                start_seconds: f64::from(second),
                seconds: 1.0,
                operations: throughput as u64,
                latency,
                ..Interval::default()
            })
            .collect(),
        ..Rung::default()
    }
}

fn result(label: &str, version: &str, rungs: Vec<Rung>) -> BenchResult {
    BenchResult {
        format: FORMAT,
        workload: "ycsb-a".to_owned(),
        label: label.to_owned(),
        started_at: 1_790_000_000,
        server: ServerInfo {
            version: version.to_owned(),
            ..ServerInfo::default()
        },
        client: ClientInfo::default(),
        settings: Settings {
            protocol: "prepared".to_owned(),
            r#loop: "closed".to_owned(),
            ..Settings::default()
        },
        rungs,
        failure: None,
    }
}

fn example() -> Vec<BenchResult> {
    let ours = |factor: f64| {
        let rungs = vec![rung(1, 900.0 * factor, 300.0), rung(8, 4000.0 * factor, 900.0)];
        result("StemDB", "8.0.33-StemDB", rungs)
    };
    let theirs = vec![rung(1, 500.0, 600.0), rung(8, 1600.0, 1800.0)];
    vec![
        ours(1.0),
        result("MariaDB <10>", "10.11-MariaDB", theirs),
        ours(1.5),
        ours(0.5),
    ]
}

#[test]
fn repeated_runs_are_one_line_with_medians() {
    let results = example();
    let comparisons = comparisons(&results, None).unwrap();
    assert_eq!(comparisons.len(), 1);
    let peers = &comparisons[0].peers;
    assert_eq!(peers.len(), 2);
    let rung = peers[0].rung(8).unwrap();
    assert_eq!((rung.runs.len(), rung.throughput), (3, 4000.0));
    assert_eq!(rung.typical().unwrap().throughput, 4000.0);
    // The warm-up is not shown.
    assert_eq!(rung.series().count(), 10);
    assert_eq!(comparisons[0].baseline, Some(1));
    assert_eq!(comparisons[0].common_threads(), Some(8));
}

#[test]
fn the_page_holds_everything_and_loads_nothing() {
    let page = html(&example(), None).unwrap();
    assert!(page.starts_with("<!doctype html>"));
    for text in [
        "<h2>ycsb-a</h2>",
        "Throughput by threads",
        "Latency by threads",
        "P99 over time, 8 threads",
        "Server CPU per operation",
        "against MariaDB &lt;10&gt;",
        // 4000 / 1600 and 900 / 1800.
        "<td class=\"ratio\">2.50</td>",
        "<td class=\"ratio\">0.50</td>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("<10>"));
    for outside in [
        "http://", "https://", "src=", "<link", "@import", "url(", "<script", "NaN", "inf",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert_eq!(page.matches("<figure>").count(), 7);
}

#[test]
fn a_single_result_has_no_ratios_and_an_empty_one_no_crash() {
    let one = [result("StemDB", "8.0.33-StemDB", vec![rung(4, 100.0, 10.0)])];
    let page = html(&one, None).unwrap();
    assert!(!page.contains("Throughput by threads") && !page.contains("against"));
    let empty = [result("StemDB", "8.0.33-StemDB", Vec::new())];
    assert!(html(&empty, None).unwrap().contains("<h2>ycsb-a</h2>"));
    let idle = [result("StemDB", "8.0.33-StemDB", vec![Rung::default()])];
    assert!(!html(&idle, None).unwrap().contains("NaN"));
}

#[test]
fn a_baseline_can_be_named() {
    let page = html(&example(), Some("StemDB")).unwrap();
    assert!(page.contains("against StemDB") && page.contains("<td class=\"ratio\">0.40</td>"));
    let error = html(&example(), Some("Oracle")).unwrap_err().to_string();
    assert_eq!(error, "no result has the label Oracle");
}

#[test]
fn other_settings_are_another_comparison() {
    let mut results = example();
    results[1].settings.protocol = "text".to_owned();
    let comparisons = comparisons(&results, None).unwrap();
    assert_eq!(comparisons.len(), 2);
    assert!(comparisons.iter().all(|comparison| comparison.baseline.is_none()));
}

#[test]
fn medians_and_ratios_as_text() {
    let results = example();
    let text = text::text(&comparisons(&results, None).unwrap());
    let ours: Vec<&str> = text.lines().filter(|line| line.starts_with("StemDB")).collect();
    assert_eq!(ours.len(), 2);
    assert!(
        ours[1].ends_with("throughput 2.50, CPU 0.40, P99 0.50 of MariaDB <10>"),
        "{text}"
    );
}

#[test]
fn medians() {
    assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
    assert_eq!(median(Vec::new()), None);
}

#[test]
fn files_that_are_no_results_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let (file, out) = (directory.path().join("a.json"), directory.path().join("r.html"));
    example()[0].write(&file).unwrap();
    let text = report(std::slice::from_ref(&file), &out, None).unwrap();
    assert!(
        text.starts_with("ycsb-a (prepared statements, closed loop)\nserver "),
        "{text}"
    );
    assert!(std::fs::read_to_string(&out).unwrap().contains("</html>"));
    let missing = directory.path().join("b.json");
    let error = report(&[file, missing], &out, None).unwrap_err().to_string();
    assert!(error.contains("b.json"), "{error}");
}
