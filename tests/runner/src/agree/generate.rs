//! Random SELECTs over the table. A query with a LIMIT has a total order, so that it has exactly one
//! correct result.

use super::random::Random;
use super::table::{COLUMNS, literal};

/// Columns whose sums are exact.
const EXACT: &[&str] = &[
    "ti", "su", "mi", "i", "bi", "bu", "d1", "d2", "d3", "d4", "y", "id",
];
/// Columns whose products and sums stay within BIGINT.
const SMALL: &[&str] = &["ti", "su", "mi", "i", "y", "d1"];
const TEXTS: &[&str] = &["c", "v", "vb", "l", "tx"];
const DATES: &[&str] = &["dt", "dm", "ts"];

/// Every ORDER BY in these queries and in [`super::special`] is a total order.
pub fn is_ordered(query: &str) -> bool {
    query.contains("ORDER BY")
}

pub fn query(random: &mut Random) -> String {
    match random.below(10) {
        0..=2 => rows(random),
        3 => distinct(random),
        4 => totals(random),
        _ => groups(random),
    }
}

fn rows(random: &mut Random) -> String {
    let count = 1 + random.below(4);
    let shown: Vec<String> = (0..count).map(|_| expression(random)).collect();
    let mut query = format!("SELECT id, {} FROM t{}", shown.join(", "), filter(random));
    if random.one_in(4) {
        return query;
    }
    let keys: Vec<String> = (0..random.below(3)).map(|_| expression(random)).collect();
    let keys: Vec<String> = keys
        .into_iter()
        .map(|k| directed(k, random))
        .chain(["id".to_string()])
        .collect();
    query += &format!(" ORDER BY {}", keys.join(", "));
    if random.one_in(2) {
        query += &limit(random);
    }
    query
}

fn distinct(random: &mut Random) -> String {
    let count = 1 + random.below(3);
    let shown = distinct_expressions(random, count);
    let query = format!("SELECT DISTINCT {} FROM t{}", shown.join(", "), filter(random));
    if random.one_in(2) {
        return query;
    }
    let keys: Vec<String> = shown.into_iter().map(|k| directed(k, random)).collect();
    format!("{query} ORDER BY {}{}", keys.join(", "), limit(random))
}

fn totals(random: &mut Random) -> String {
    let count = 1 + random.below(5);
    let shown: Vec<String> = (0..count).map(|_| aggregate(random)).collect();
    format!("SELECT {} FROM t{}", shown.join(", "), filter(random))
}

fn groups(random: &mut Random) -> String {
    let count = 1 + random.below(3);
    let keys = distinct_expressions(random, count);
    let aggregates: Vec<String> = (0..random.below(4)).map(|_| aggregate(random)).collect();
    let shown: Vec<String> = keys.iter().cloned().chain(aggregates).collect();
    let mut query = format!(
        "SELECT {} FROM t{} GROUP BY {}",
        shown.join(", "),
        filter(random),
        keys.join(", ")
    );
    if random.one_in(3) {
        query += &format!(" HAVING {}", having(random));
    }
    if random.one_in(2) {
        return query;
    }
    let first = random
        .one_in(2)
        .then(|| directed(exact_aggregate(random), random));
    let keys = keys.into_iter().map(|k| directed(k, random));
    let order: Vec<String> = first.into_iter().chain(keys).collect();
    query += &format!(" ORDER BY {}", order.join(", "));
    if random.one_in(2) {
        query += &limit(random);
    }
    query
}

fn directed(key: String, random: &mut Random) -> String {
    key + random.pick(&["", " ASC", " DESC"])
}

fn limit(random: &mut Random) -> String {
    let count = random.below(200);
    if random.one_in(2) {
        format!(" LIMIT {count}")
    } else {
        format!(" LIMIT {count} OFFSET {}", random.below(300))
    }
}

fn distinct_expressions(random: &mut Random, count: usize) -> Vec<String> {
    let mut all: Vec<String> = (0..count).map(|_| expression(random)).collect();
    all.sort();
    all.dedup();
    all
}

fn column(random: &mut Random) -> &'static str {
    COLUMNS[random.below(COLUMNS.len())].name
}

/// Mostly columns.
fn expression(random: &mut Random) -> String {
    let small = random.pick(SMALL);
    let other = random.pick(SMALL);
    let text = random.pick(TEXTS);
    let date = random.pick(DATES);
    match random.below(24) {
        0 => format!("{small} + {other}"),
        1 => format!("{small} - {}", random.below(10)),
        2 => format!("{small} * {other}"),
        3 => format!("{small} / {other}"),
        4 => format!("{small} DIV {}", random.below(5)),
        5 => format!("{small} % {}", 1 + random.below(7)),
        6 => format!("COALESCE({text}, '{}')", random.below(3)),
        7 => format!("IF({}, {small}, {other})", condition(random)),
        8 => format!(
            "CASE WHEN {} THEN {text} WHEN {} THEN 'x' END",
            condition(random),
            condition(random)
        ),
        9 => format!("CONCAT({text}, '-', {small})"),
        10 => format!("UPPER({text})"),
        11 => format!("LENGTH({text})"),
        12 => format!("YEAR({date})"),
        13 => format!("CAST({date} AS DATE)"),
        14 => format!("{small} IS NULL"),
        15 => format!("NULLIF({small}, {other})"),
        _ => column(random).to_string(),
    }
}

fn aggregate(random: &mut Random) -> String {
    match random.below(8) {
        0 => format!("SUM({})", random.pick(&["f", "db", "f + db", "db / 2"])),
        1 => format!(
            "AVG({}{})",
            maybe_distinct(random),
            random.pick(&["f", "db", "f * 2"])
        ),
        2 => format!("AVG({}{})", maybe_distinct(random), random.pick(EXACT)),
        _ => exact_aggregate(random),
    }
}

/// An aggregate whose value does not depend on the order of rows.
fn exact_aggregate(random: &mut Random) -> String {
    match random.below(7) {
        0 => "COUNT(*)".to_string(),
        1 => format!("COUNT({})", column(random)),
        2 => format!("COUNT(DISTINCT {})", column(random)),
        3 => format!("COUNT(DISTINCT {}, {})", column(random), column(random)),
        4 => format!("SUM({}{})", maybe_distinct(random), random.pick(EXACT)),
        5 => format!("MIN({})", column(random)),
        _ => format!("MAX({})", column(random)),
    }
}

fn maybe_distinct(random: &mut Random) -> &'static str {
    if random.one_in(4) { "DISTINCT " } else { "" }
}

fn having(random: &mut Random) -> String {
    match random.below(4) {
        0 => format!("COUNT(*) > {}", random.below(200)),
        1 => format!("SUM(i) {} {}", random.pick(&["<", ">="]), random.below(100)),
        2 => format!("MIN({}) IS NOT NULL", column(random)),
        _ => format!("COUNT(DISTINCT {}) <> {}", column(random), random.below(6)),
    }
}

fn filter(random: &mut Random) -> String {
    match random.below(4) {
        0 => String::new(),
        1 => format!(" WHERE {} AND {}", condition(random), condition(random)),
        2 => format!(" WHERE {} OR {}", condition(random), condition(random)),
        _ => format!(" WHERE {}", condition(random)),
    }
}

fn condition(random: &mut Random) -> String {
    let name = column(random);
    // The corpus tests comparisons of JSON with other types.
    let name = if name == "j" { "v" } else { name };
    let value = literal(name, random);
    match random.below(8) {
        0 => format!("{name} IS NULL"),
        1 => format!("{name} IS NOT NULL"),
        2 => format!("{name} IN ({value}, {})", literal(name, random)),
        3 => format!("{name} BETWEEN {value} AND {}", literal(name, random)),
        4 => format!(
            "{} LIKE '{}'",
            random.pick(TEXTS),
            random.pick(&["a%", "%b", "_", "%", "A_", ""])
        ),
        5 => format!("{name} <=> {value}"),
        6 => format!("NOT {name} = {value}"),
        _ => format!(
            "{name} {} {value}",
            random.pick(&["=", "<>", "<", "<=", ">", ">="])
        ),
    }
}
