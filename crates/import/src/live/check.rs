//! Whether rows are the same on both sides. Each server counts its rows and sums a hash of each, so that the
//! rows themselves need not travel; only where the sums differ are keys compared.

use std::collections::BTreeMap;

use crate::Result;
use crate::endpoint::{Client, TextRow, quoted};
use crate::inventory::{Column, Table};

/// How many of a chunk's keys whose rows differ are shown.
const SHOWN_KEYS: usize = 10;

/// The rows of a chunk: their number, and the sum of their hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) rows: u64,
    hashes: String,
}

pub(super) fn summary(client: &mut Client, table: &Table, condition: &str) -> Result<Summary> {
    // A sum does not depend on the order, and equal rows do not cancel each other out.
    let rows = client.rows(&format!(
        "SELECT COUNT(*), SUM({}) FROM {} WHERE {condition}",
        row_hash(table),
        table.quoted()
    ))?;
    let row = rows.first();
    Ok(Summary {
        rows: row.map_or(0, |row| row.number(0)),
        hashes: row.map(|row| row.text(1)).unwrap_or_default(),
    })
}

/// The rows that differ, by their keys: one line each, up to a limit, and a line for those beyond it.
pub(super) fn differences(
    source: &mut Client,
    target: &mut Client,
    table: &Table,
    condition: &str,
) -> Result<Vec<String>> {
    if table.key.is_empty() {
        let (ours, theirs) = (
            summary(target, table, condition)?,
            summary(source, table, condition)?,
        );
        return Ok(vec![format!(
            "{}: {} rows on the source, {} on the target; the table has no key to name them by",
            table.shown(),
            theirs.rows,
            ours.rows
        )]);
    }
    let keys: Vec<String> = table.key_columns().map(shown_key).collect();
    let select = format!(
        "SELECT {}, {} FROM {} WHERE {condition}",
        row_hash(table),
        keys.join(", "),
        table.quoted()
    );
    let mut rows: BTreeMap<Vec<String>, (Option<String>, Option<String>)> = BTreeMap::new();
    let key = |row: &TextRow| (1..=keys.len()).map(|at| row.text(at)).collect::<Vec<_>>();
    for row in source.rows(&select)? {
        rows.entry(key(&row)).or_default().0 = row.get(0);
    }
    for row in target.rows(&select)? {
        rows.entry(key(&row)).or_default().1 = row.get(0);
    }
    let names: Vec<&str> = table.key_columns().map(|column| column.name.as_str()).collect();
    let different: Vec<_> = rows.iter().filter(|(_, (theirs, ours))| theirs != ours).collect();
    let mut lines: Vec<String> = different
        .iter()
        .take(SHOWN_KEYS)
        .map(|(key, sides)| {
            let parts = names
                .iter()
                .zip(key.iter())
                .map(|(name, value)| format!("{name} = {value}"));
            let what = match sides {
                (Some(_), None) => "is missing on the target",
                (None, _) => "is on the target only",
                _ => "has other values",
            };
            format!(
                "{}: {} {what}",
                table.shown(),
                parts.collect::<Vec<_>>().join(", ")
            )
        })
        .collect();
    if different.len() > SHOWN_KEYS {
        lines.push(format!(
            "{}: {} more rows differ",
            table.shown(),
            different.len() - SHOWN_KEYS
        ));
    }
    Ok(lines)
}

/// 60 bits of a hash of all columns. MySQL 9.6 and later have no MD5() without a component.
fn row_hash(table: &Table) -> String {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| format!("IFNULL({}, '~')", hashed(column)))
        .collect();
    format!(
        "CAST(CONV(LEFT(SHA2(CONCAT_WS('#', {}), 256), 15), 16, 10) AS UNSIGNED)",
        columns.join(", ")
    )
}

/// A column as a text that is the same on all servers, in ASCII.
fn hashed(column: &Column) -> String {
    let name = quoted(&column.name);
    match column.data_type.as_str() {
        "char" | "varchar" | "binary" | "varbinary" => format!("HEX({name})"),
        kind if kind.ends_with("text") || kind.ends_with("blob") => format!("SHA2({name}, 256)"),
        // Read from its text again: a DECIMAL in a document becomes a double there, as it does in the copy.
        "json" => format!("SHA2(CAST(CAST(CAST({name} AS CHAR) AS JSON) AS CHAR), 256)"),
        // The index and not the name: there can be two empty names.
        "enum" | "set" | "bit" => format!("CAST({name} AS UNSIGNED)"),
        "float" | "double" => hashed_double(&name),
        _ => name,
    }
}

/// All bits of a number as integers, because servers print a number in different ways: how far it is scaled to be
/// below 2^32, then its bits in two parts. The scale changes between powers of two, where logarithms need not be exact.
fn hashed_double(name: &str) -> String {
    const SHIFT: &str = "1073741824e0";
    let number = format!("({name} * 1e0)");
    let scale = format!("FLOOR((LOG2(ABS({number})) + 3e-1) / 32)");
    // Two steps, because the whole factor of the smallest numbers is no double.
    let half = format!("POW(2e0, -16 * {scale})");
    let high = format!("({number} * {half} * {half} * {SHIFT})");
    let low = format!("({high} - ROUND({high})) * {SHIFT}");
    format!(
        "IF({number} = 0, 0, CONCAT({scale}, '/', CAST(ROUND({high}) AS SIGNED), '/', CAST({low} AS SIGNED)))"
    )
}

fn shown_key(column: &Column) -> String {
    let name = quoted(&column.name);
    match column.data_type.as_str() {
        kind if kind.ends_with("binary") || kind.ends_with("blob") => format!("HEX({name})"),
        "bit" => format!("CAST({name} AS UNSIGNED)"),
        _ => name,
    }
}
