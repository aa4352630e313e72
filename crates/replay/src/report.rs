//! The report of a replay: text, and a page that loads nothing, in the style of `stemdb bench report`.

use std::fmt::Write;

use loadgen::report::{Across, BarChart, Line, LineChart, STYLE, escape};

use crate::tally::{Group, KindTally, Replayed, printable};

/// How many errors and differences are printed. The page has all of them.
const SHOWN: usize = 20;
const SHOWN_DIGEST: usize = 160;

macro_rules! put {
    ($out:expr, $($arguments:tt)*) => { let _ = write!($out, $($arguments)*); };
}

fn figures(kind: &KindTally) -> [f64; 4] {
    let quantile = |quantile| kind.latency.value_at_quantile(quantile) as f64 / 1000.0;
    [
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        kind.latency.max() as f64 / 1000.0,
    ]
}

fn headline(replayed: &Replayed) -> String {
    let seconds = replayed.elapsed.as_secs_f64();
    let statements = replayed.tally.statements();
    format!(
        "{statements} statements on {} connections in {seconds:.1} s: {:.0} statements/s",
        replayed.tally.connections,
        statements as f64 / seconds.max(1e-3)
    )
}

/// Statements that were not replayed, or were late: one line each.
fn notes(replayed: &Replayed) -> Vec<String> {
    let mut notes = Vec::new();
    let skipped = replayed.skipped;
    if skipped.unreadable > 0 {
        notes.push(format!(
            "{} statements were skipped: they hold bytes that are not UTF-8, or zero bytes",
            skipped.unreadable
        ));
    }
    if skipped.is_cut_off {
        notes.push("the log is cut off within its last statement, which was left out".to_owned());
    }
    if skipped.lines > 0 {
        notes.push(format!("{} lines belong to no entry of the log", skipped.lines));
    }
    if replayed.tally.latest_us > 1_000_000 {
        notes.push(format!(
            "the latest statement was sent {:.1} s after its time: the server or this machine is too slow for this speed",
            replayed.tally.latest_us as f64 / 1e6
        ));
    }
    if replayed.other.is_some() {
        notes.push(format!(
            "{} results were compared, {} differ",
            replayed.tally.compared,
            replayed
                .tally
                .differences
                .values()
                .map(|group| group.count)
                .sum::<u64>()
        ));
    }
    notes
}

pub(crate) fn text(replayed: &Replayed) -> String {
    let mut out = format!("{}\n", headline(replayed));
    for note in notes(replayed) {
        put!(out, "{note}\n");
    }
    put!(
        out,
        "\n{:<12} {:>10} {:>8} {:>10} {:>10} {:>10} {:>10}\n",
        "statement",
        "count",
        "errors",
        "P50 ms",
        "P95 ms",
        "P99 ms",
        "max ms"
    );
    for (name, kind) in &replayed.tally.kinds {
        let [p50, p95, p99, max] = figures(kind);
        put!(
            out,
            "{name:<12} {:>10} {:>8} {p50:>10.3} {p95:>10.3} {p99:>10.3} {max:>10.3}\n",
            kind.latency.len(),
            kind.errors
        );
    }
    let errors: Vec<_> = replayed
        .tally
        .errors
        .iter()
        .map(|((_, digest), group)| (digest, group))
        .collect();
    groups("Errors", errors, &mut out);
    groups(
        "Other results",
        replayed.tally.differences.iter().collect(),
        &mut out,
    );
    out
}

fn groups(title: &str, groups: Vec<(&String, &Group)>, out: &mut String) {
    if groups.is_empty() {
        return;
    }
    put!(out, "\n{title}:\n");
    let all = groups.len();
    for (digest, group) in frequent(groups).into_iter().take(SHOWN) {
        let digest: String = digest.chars().take(SHOWN_DIGEST).collect();
        put!(
            out,
            "  {} times, first on line {}: {}\n    {}\n",
            group.count,
            group.line,
            printable(&digest),
            printable(&group.example)
        );
    }
    if all > SHOWN {
        put!(out, "  and {} more kinds; --html FILE has all\n", all - SHOWN);
    }
}

fn frequent<'a>(mut groups: Vec<(&'a String, &'a Group)>) -> Vec<(&'a String, &'a Group)> {
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
    groups
}

pub(crate) fn html(replayed: &Replayed) -> String {
    let mut out = String::new();
    put!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>stemdb replay</title><style>{STYLE}</style></head><body><h1>stemdb replay</h1>\n\
         <section><h2>{}</h2><p class=\"settings\">{}, on {}{}</p>\n",
        escape(&headline(replayed)),
        escape(&replayed.log),
        escape(&replayed.server),
        match &replayed.other {
            Some(other) => format!(", compared with {}", escape(other)),
            None => String::new(),
        }
    );
    for note in notes(replayed) {
        put!(out, "<p>{}</p>\n", escape(&note));
    }
    put!(
        out,
        "<div class=\"charts\">\n<figure>{}</figure>\n<figure>{}</figure>\n</div>\n",
        over_time(replayed),
        p99(replayed)
    );
    out.push_str(
        "<table><thead><tr><th>statement</th><th>count</th><th>errors</th><th>P50 ms</th><th>P95</th><th>P99</th>\
         <th>max</th></tr></thead><tbody>\n",
    );
    for (name, kind) in &replayed.tally.kinds {
        put!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td>",
            escape(name),
            kind.latency.len(),
            kind.errors
        );
        for figure in figures(kind) {
            put!(out, "<td>{figure:.3}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
    let errors = replayed
        .tally
        .errors
        .iter()
        .map(|((_, digest), group)| (digest, group))
        .collect();
    table("Errors", errors, &mut out);
    table(
        "Other results",
        replayed.tally.differences.iter().collect(),
        &mut out,
    );
    out.push_str("</section></body></html>\n");
    out
}

fn table(title: &str, groups: Vec<(&String, &Group)>, out: &mut String) {
    if groups.is_empty() {
        return;
    }
    put!(
        out,
        "<h3>{title}</h3><table><thead><tr><th>times</th><th>first line</th><th>statement</th><th>what happened</th>\
         </tr></thead><tbody>\n"
    );
    for (digest, group) in frequent(groups) {
        put!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            group.count,
            group.line,
            escape(digest),
            escape(&group.example)
        );
    }
    out.push_str("</tbody></table>\n");
}

fn over_time(replayed: &Replayed) -> String {
    let seconds = &replayed.tally.seconds;
    let end = seconds.keys().last().map_or(1, |second| second + 1);
    LineChart {
        title: "Statements over time".to_owned(),
        across: Across::Numbers(end as f64),
        across_label: "seconds",
        unit: "statements/s",
        logarithmic: false,
        lines: vec![Line {
            name: replayed.server.clone(),
            colour: 0,
            dashed: false,
            points: (0..end)
                .map(|second| {
                    (
                        second as f64 + 0.5,
                        seconds.get(&second).copied().unwrap_or(0) as f64,
                    )
                })
                .collect(),
        }],
    }
    .svg()
}

fn p99(replayed: &Replayed) -> String {
    let kinds = &replayed.tally.kinds;
    BarChart {
        title: "P99 by statement".to_owned(),
        unit: "ms",
        groups: kinds.keys().cloned().collect(),
        series: vec![(
            replayed.server.clone(),
            kinds.values().map(|kind| Some(figures(kind)[2])).collect(),
        )],
    }
    .svg()
}
