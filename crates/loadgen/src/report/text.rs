//! Medians and ratios as text: what `stemdb bench report` prints beside the page.

use std::fmt::Write;

use super::compare::{Comparison, MedianRung};

macro_rules! put {
    ($out:expr, $($arguments:tt)*) => { let _ = write!($out, $($arguments)*); };
}

pub(super) fn text(comparisons: &[Comparison<'_>]) -> String {
    let mut out = String::new();
    for comparison in comparisons {
        put!(out, "{} ({})\n", comparison.workload, comparison.settings);
        put!(
            out,
            "{:<20} {:>7} {:>4} {:>13} {:>9} {:>9} {:>12} {:>8}   {}\n",
            "server",
            "threads",
            "runs",
            "operations/s",
            "P50 ms",
            "P99 ms",
            "server us/op",
            "errors",
            "ratios"
        );
        let baseline = comparison
            .baseline
            .and_then(|position| comparison.peers.get(position));
        for threads in comparison.threads() {
            for peer in &comparison.peers {
                let Some(rung) = peer.rung(threads) else { continue };
                let against = baseline.filter(|baseline| baseline.label != peer.label);
                let against = against.and_then(|baseline| Some((baseline.label, baseline.rung(threads)?)));
                line(peer.label, rung, against, &mut out);
            }
        }
        out.push('\n');
    }
    out.trim_end().to_owned()
}

fn line(label: &str, rung: &MedianRung<'_>, against: Option<(&str, &MedianRung<'_>)>, out: &mut String) {
    let cpu = rung
        .cpu_us_per_operation
        .map_or_else(|| "-".to_owned(), |us| format!("{us:.1}"));
    put!(
        out,
        "{label:<20} {:>7} {:>4} {:>13.1} {:>9.3} {:>9.3} {cpu:>12} {:>8}",
        rung.threads,
        rung.runs.len(),
        rung.throughput,
        rung.latency.p50_us / 1000.0,
        rung.latency.p99_us / 1000.0,
        rung.errors
    );
    if let Some((baseline, theirs)) = against {
        let ratios = Ratios::of(rung, theirs);
        let shown = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"));
        put!(
            out,
            "   throughput {}, CPU {}, P99 {} of {baseline}",
            shown(ratios.throughput),
            shown(ratios.cpu),
            shown(ratios.p99)
        );
    }
    out.push('\n');
}

/// One peer's figures as multiples of another's.
pub(super) struct Ratios {
    pub(super) throughput: Option<f64>,
    pub(super) cpu: Option<f64>,
    pub(super) p99: Option<f64>,
}

impl Ratios {
    pub(super) fn of(ours: &MedianRung<'_>, theirs: &MedianRung<'_>) -> Self {
        let ratio = |ours: f64, theirs: f64| (theirs > 0.0).then(|| ours / theirs);
        Self {
            throughput: ratio(ours.throughput, theirs.throughput),
            cpu: match (ours.cpu_us_per_operation, theirs.cpu_us_per_operation) {
                (Some(ours), Some(theirs)) => ratio(ours, theirs),
                _ => None,
            },
            p99: ratio(ours.latency.p99_us, theirs.latency.p99_us),
        }
    }
}
