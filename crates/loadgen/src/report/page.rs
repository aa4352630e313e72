//! The page: charts and a table for each workload, and at the end the settings of all runs.

use std::fmt::Write;

use super::STYLE;
use super::axis::short;
use super::chart::{Across, BarChart, Line, LineChart, escape};
use super::compare::{Comparison, MedianRung, Peer};
use super::text::Ratios;
use crate::result::BenchResult;

const MIB: f64 = 1024.0 * 1024.0;

macro_rules! put {
    ($out:expr, $($arguments:tt)*) => { let _ = write!($out, $($arguments)*); };
}

pub(super) fn page(comparisons: &[Comparison<'_>], results: &[BenchResult]) -> String {
    let mut out = String::new();
    put!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>stemdb bench</title><style>{STYLE}</style></head><body><h1>stemdb bench</h1>\n"
    );
    for comparison in comparisons {
        workload(comparison, &mut out);
    }
    runs(results, &mut out);
    out.push_str("</body></html>\n");
    out
}

fn workload(comparison: &Comparison<'_>, out: &mut String) {
    put!(
        out,
        "<section><h2>{}</h2><p class=\"settings\">{}</p>\n",
        escape(comparison.workload),
        escape(&comparison.settings)
    );
    legend(comparison, out);
    out.push_str("<div class=\"charts\">\n");
    for chart in charts(comparison) {
        put!(out, "<figure>{chart}</figure>\n");
    }
    out.push_str("</div>\n");
    figures(comparison, out);
    operations(comparison, out);
    out.push_str("</section>\n");
}

fn legend(comparison: &Comparison<'_>, out: &mut String) {
    out.push_str("<ul class=\"legend\">");
    for (position, peer) in comparison.peers.iter().enumerate() {
        put!(
            out,
            "<li><svg class=\"key c{}\" viewBox=\"0 0 12 12\"><rect width=\"12\" height=\"12\" rx=\"2\"/></svg>{} <small>{}</small></li>",
            position % 6,
            escape(peer.label),
            escape(peer.version)
        );
    }
    out.push_str("</ul>\n");
}

fn charts(comparison: &Comparison<'_>) -> Vec<String> {
    let threads = comparison.threads();
    let mut charts = Vec::new();
    if threads.len() > 1 {
        charts.push(over_threads(
            comparison,
            "Throughput by threads",
            "operations/s",
            false,
            &[("", |rung| rung.throughput)],
        ));
        charts.push(over_threads(
            comparison,
            "Latency by threads: P50 dashed, P99",
            "ms",
            true,
            &[
                ("P50", |rung| rung.latency.p50_us / 1000.0),
                ("P99", |rung| rung.latency.p99_us / 1000.0),
            ],
        ));
    }
    charts.push(bars(comparison, &threads, "Throughput", "operations/s", |rung| {
        Some(rung.throughput)
    }));
    charts.push(bars(comparison, &threads, "P99", "ms", |rung| {
        Some(rung.latency.p99_us / 1000.0)
    }));
    let costs = |rung: &MedianRung<'_>| rung.cpu_us_per_operation;
    if comparison
        .peers
        .iter()
        .any(|peer| peer.rungs.iter().any(|rung| costs(rung).is_some()))
    {
        charts.push(bars(
            comparison,
            &threads,
            "Server CPU per operation",
            "µs",
            costs,
        ));
    }
    if let Some(threads) = comparison.common_threads() {
        let title = |what: &str| format!("{what} over time, {}", count_of_threads(threads));
        charts.push(over_time(
            comparison,
            threads,
            title("Throughput"),
            "operations/s",
            false,
            |interval| interval.operations as f64 / interval.seconds.max(1e-9),
        ));
        charts.push(over_time(
            comparison,
            threads,
            title("P99"),
            "ms",
            true,
            |interval| interval.latency.p99_us / 1000.0,
        ));
    }
    charts
}

/// A figure of a rung, with the name of its line.
type Figure = (&'static str, fn(&MedianRung<'_>) -> f64);

fn over_threads(
    comparison: &Comparison<'_>,
    title: &str,
    unit: &'static str,
    logarithmic: bool,
    figures: &[Figure],
) -> String {
    let threads = comparison.threads();
    let mut lines = Vec::new();
    for (colour, peer) in comparison.peers.iter().enumerate() {
        for (position, (name, figure)) in figures.iter().enumerate() {
            let points = threads
                .iter()
                .enumerate()
                .filter_map(|(at, threads)| Some((at as f64, figure(peer.rung(*threads)?))))
                .collect();
            lines.push(Line {
                name: format!("{} {name}", peer.label).trim_end().to_owned(),
                colour,
                dashed: position + 1 < figures.len(),
                points,
            });
        }
    }
    LineChart {
        title: title.to_owned(),
        across: Across::Names(threads.iter().map(usize::to_string).collect()),
        across_label: "threads",
        unit,
        logarithmic,
        lines,
    }
    .svg()
}

fn over_time(
    comparison: &Comparison<'_>,
    threads: usize,
    title: String,
    unit: &'static str,
    logarithmic: bool,
    figure: fn(&crate::result::Interval) -> f64,
) -> String {
    let mut end = 1.0f64;
    let mut lines = Vec::new();
    for (colour, peer) in comparison.peers.iter().enumerate() {
        let Some(rung) = peer.rung(threads) else { continue };
        let points: Vec<(f64, f64)> = rung
            .series()
            .map(|interval| (interval.start_seconds + interval.seconds / 2.0, figure(interval)))
            .collect();
        end = rung
            .series()
            .map(|i| i.start_seconds + i.seconds)
            .fold(end, f64::max);
        lines.push(Line {
            name: peer.label.to_owned(),
            colour,
            dashed: false,
            points,
        });
    }
    LineChart {
        title,
        across: Across::Numbers(end),
        across_label: "seconds",
        unit,
        logarithmic,
        lines,
    }
    .svg()
}

fn bars(
    comparison: &Comparison<'_>,
    threads: &[usize],
    title: &str,
    unit: &'static str,
    figure: fn(&MedianRung<'_>) -> Option<f64>,
) -> String {
    let values = |peer: &Peer<'_>| {
        threads
            .iter()
            .map(|threads| peer.rung(*threads).and_then(figure))
            .collect()
    };
    BarChart {
        title: title.to_owned(),
        unit,
        groups: threads.iter().copied().map(count_of_threads).collect(),
        series: comparison
            .peers
            .iter()
            .map(|peer| (peer.label.to_owned(), values(peer)))
            .collect(),
    }
    .svg()
}

fn count_of_threads(threads: usize) -> String {
    if threads == 1 {
        "1 thread".to_owned()
    } else {
        format!("{threads} threads")
    }
}

/// The table of figures, with ratios against the baseline.
fn figures(comparison: &Comparison<'_>, out: &mut String) {
    let baseline = comparison
        .baseline
        .and_then(|position| comparison.peers.get(position));
    out.push_str(
        "<table><thead><tr><th>server</th><th>threads</th><th>runs</th><th>operations/s</th><th>mean ms</th>\
         <th>P50</th><th>P95</th><th>P99</th><th>P99.9</th><th>max</th><th>errors</th><th>server µs/op</th>\
         <th>server MiB</th>",
    );
    if baseline.is_some() {
        put!(
            out,
            "<th class=\"ratio\">throughput ×</th><th class=\"ratio\">CPU ×</th><th class=\"ratio\">P99 ×</th>"
        );
    }
    out.push_str("</tr></thead><tbody>\n");
    for threads in comparison.threads() {
        for peer in &comparison.peers {
            if let Some(rung) = peer.rung(threads) {
                let against = baseline.filter(|baseline| baseline.label != peer.label);
                let against = against.and_then(|baseline| baseline.rung(threads));
                figures_row(peer.label, rung, against, baseline.is_some(), out);
            }
        }
    }
    out.push_str("</tbody></table>\n");
    if let Some(baseline) = baseline {
        put!(
            out,
            "<p class=\"settings\">× : against {}. Figures are medians of the runs.</p>\n",
            escape(baseline.label)
        );
    }
}

fn figures_row(
    label: &str,
    rung: &MedianRung<'_>,
    against: Option<&MedianRung<'_>>,
    with_ratios: bool,
    out: &mut String,
) {
    put!(
        out,
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.0}</td>",
        escape(label),
        rung.threads,
        rung.runs.len(),
        rung.throughput
    );
    let latency = &rung.latency;
    for us in [
        latency.mean_us,
        latency.p50_us,
        latency.p95_us,
        latency.p99_us,
        latency.p999_us,
        latency.max_us,
    ] {
        put!(out, "<td>{:.3}</td>", us / 1000.0);
    }
    put!(out, "<td>{}</td>", rung.errors);
    put!(out, "<td>{}</td>", optional(rung.cpu_us_per_operation, 1));
    put!(
        out,
        "<td>{}</td>",
        optional(rung.resident_bytes.map(|bytes| bytes / MIB), 0)
    );
    if with_ratios {
        let ratios = against.map(|theirs| Ratios::of(rung, theirs));
        let ratio = |of: fn(&Ratios) -> Option<f64>| ratios.as_ref().and_then(of);
        for value in [ratio(|r| r.throughput), ratio(|r| r.cpu), ratio(|r| r.p99)] {
            put!(out, "<td class=\"ratio\">{}</td>", optional(value, 2));
        }
    }
    out.push_str("</tr>\n");
}

fn optional(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
}

/// Latencies per operation, if there is more than one operation.
fn operations(comparison: &Comparison<'_>, out: &mut String) {
    let Some(threads) = comparison.common_threads() else {
        return;
    };
    let rungs = || {
        comparison
            .peers
            .iter()
            .filter_map(|peer| Some((peer, peer.rung(threads)?)))
    };
    if rungs().all(|(_, rung)| rung.operations().len() < 2) {
        return;
    }
    put!(
        out,
        "<details><summary>By operation, {}</summary><table><thead><tr><th>server</th>\
         <th>operation</th><th>operations/s</th><th>mean ms</th><th>P50</th><th>P95</th><th>P99</th><th>max</th>\
         <th>errors</th></tr></thead><tbody>\n",
        count_of_threads(threads)
    );
    for (peer, rung) in rungs() {
        for operation in rung.operations() {
            let latency = &operation.latency;
            put!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{:.1}</td>",
                escape(peer.label),
                escape(&operation.name),
                operation.per_second
            );
            for us in [
                latency.mean_us,
                latency.p50_us,
                latency.p95_us,
                latency.p99_us,
                latency.max_us,
            ] {
                put!(out, "<td>{:.3}</td>", us / 1000.0);
            }
            put!(out, "<td>{}</td></tr>\n", operation.errors);
        }
    }
    out.push_str("</tbody></table></details>\n");
}

/// The settings of all runs, so that they can be repeated.
fn runs(results: &[BenchResult], out: &mut String) {
    out.push_str(
        "<section><h2>Runs</h2><table><thead><tr><th>workload</th><th>server</th><th>version</th><th>address</th>\
         <th>threads</th><th>seconds</th><th>seed</th><th>own figures, errors</th></tr></thead><tbody>\n",
    );
    for result in results {
        let threads: Vec<String> = result.rungs.iter().map(|rung| rung.threads.to_string()).collect();
        let mut notes: Vec<String> = Vec::new();
        for rung in &result.rungs {
            notes.extend(
                rung.figures
                    .iter()
                    .map(|f| format!("{} {}", f.name, short(f.value))),
            );
            notes.extend(
                rung.errors
                    .iter()
                    .map(|e| format!("error {} × {}: {}", e.code, e.count, e.message)),
            );
        }
        notes.extend(result.failure.clone());
        put!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{} {}</td><td>{}</td><td>{}</td><td>{} + {}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&result.workload),
            escape(&result.label),
            escape(&result.server.version),
            escape(&result.server.comment),
            escape(&result.settings.dsn),
            threads.join(", "),
            result.settings.warm_up_seconds,
            result.settings.seconds,
            result.settings.seed,
            escape(&notes.join("; "))
        );
    }
    out.push_str("</tbody></table></section>\n");
}
