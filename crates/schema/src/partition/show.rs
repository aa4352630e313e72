//! Partitions in SHOW CREATE TABLE, exactly as MySQL 8.0 shows them, and in information_schema.

use types::quoted;

use super::{Bound, Method, Partition, PartitionBy, PartitionKey, PartitionOptions, Partitioning};
use crate::model::Table;
use crate::show_create::Style;

/// `/*!50100 PARTITION BY ... */`, with the line break before it.
pub fn clause(table: &Table, partitioning: &Partitioning, style: &Style) -> String {
    let by = &partitioning.by;
    // RANGE COLUMNS, LIST COLUMNS and TO_SECONDS came with MySQL 5.5.
    let is_newer = by.method.has_values() && by.columns().is_some();
    let version =
        match is_newer || calls_to_seconds(by) || partitioning.sub.as_ref().is_some_and(calls_to_seconds) {
            true => 50500,
            false => 50100,
        };
    let mut text = format!("\n/*!{version} PARTITION BY {}", describe(table, by, style));
    if let Some(sub) = &partitioning.sub {
        text.push_str(&format!("\nSUBPARTITION BY {}", describe(table, sub, style)));
        let count = partitioning.partitions.first().map_or(0, Partition::width);
        if !partitioning.subpartitions_listed && count > 1 {
            text.push_str(&format!("\nSUBPARTITIONS {count}"));
        }
    }
    match partitioning.listed {
        true => {
            let shown = partitioning.partitions.iter();
            let shown: Vec<String> = shown.map(|p| partition(p, partitioning, style)).collect();
            text.push_str(&format!("\n({})", shown.join(",\n ")));
        }
        false if partitioning.partitions.len() > 1 || partitioning.count_given => {
            text.push_str(&format!("\nPARTITIONS {}", partitioning.partitions.len()));
        }
        false => {}
    }
    text.push_str(" */");
    text
}

fn calls_to_seconds(by: &PartitionBy) -> bool {
    matches!(&by.key, PartitionKey::Expression(expression) if expression.text.contains("to_seconds("))
}

fn describe(table: &Table, by: &PartitionBy, style: &Style) -> String {
    let linear = if by.linear { "LINEAR " } else { "" };
    let method = by.method.name();
    match &by.key {
        PartitionKey::Expression(expression) => {
            format!(
                "{linear}{method} ({})",
                style.requoted_for(&expression.text, table)
            )
        }
        PartitionKey::Columns(columns) => {
            let names: Vec<String> = columns.iter().map(|name| style.partition_name(name)).collect();
            let columns = if by.method.has_values() { "  COLUMNS" } else { " " };
            format!("{linear}{method}{columns}({})", names.join(","))
        }
    }
}

fn partition(partition: &Partition, all: &Partitioning, style: &Style) -> String {
    let mut text = format!("PARTITION {}", style.partition_name(&partition.name));
    if let Some(values) = values(&all.by, partition) {
        let in_parentheses = match all.by.method {
            Method::Range if values == "MAXVALUE" && all.by.columns().is_none() => values,
            _ => format!("({values})"),
        };
        let operator = match all.by.method {
            Method::Range => "LESS THAN",
            _ => "IN",
        };
        text.push_str(&format!(" VALUES {operator} {in_parentheses}"));
    }
    if !all.subpartitions_listed || partition.subpartitions.is_empty() {
        text.push_str(&options(&partition.options, style));
        return text;
    }
    let subpartitions = partition.subpartitions.iter();
    let shown: Vec<String> = subpartitions
        .map(|sub| {
            let name = style.partition_name(&sub.name);
            format!("SUBPARTITION {name}{}", options(&sub.options, style))
        })
        .collect();
    text.push_str(&format!("\n ({})", shown.join(",\n  ")));
    text
}

/// The values of a partition, as PARTITION_DESCRIPTION of information_schema has them.
pub fn values(by: &PartitionBy, partition: &Partition) -> Option<String> {
    let bound = |bound: &Bound| match bound {
        Bound::Maxvalue => "MAXVALUE".to_owned(),
        Bound::Null => "NULL".to_owned(),
        Bound::Literal(text) => text.clone(),
    };
    let tuple = |tuple: &Vec<Bound>| tuple.iter().map(bound).collect::<Vec<_>>().join(",");
    let is_wide = by.method == Method::List && by.columns().is_some_and(|columns| columns.len() > 1);
    let shown = partition.values.iter().map(|values| match is_wide {
        true => format!("({})", tuple(values)),
        false => tuple(values),
    });
    let shown: Vec<String> = shown.collect();
    by.method.has_values().then(|| shown.join(","))
}

/// The columns or the expression, as PARTITION_EXPRESSION of information_schema has it.
pub fn expression(by: &PartitionBy) -> Option<String> {
    match &by.key {
        PartitionKey::Expression(expression) => Some(expression.text.clone()),
        PartitionKey::Columns(columns) if columns.is_empty() => None,
        PartitionKey::Columns(columns) => {
            let names: Vec<String> = columns.iter().map(|name| format!("`{name}`")).collect();
            Some(names.join(","))
        }
    }
}

fn options(options: &PartitionOptions, style: &Style) -> String {
    let mut text = String::new();
    if style.ansi {
        return text;
    }
    if let Some(tablespace) = &options.tablespace {
        text.push_str(&format!(" TABLESPACE = {}", style.identifier(tablespace)));
    }
    let numbers = [
        ("NODEGROUP", options.nodegroup),
        ("MAX_ROWS", options.max_rows),
        ("MIN_ROWS", options.min_rows),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            text.push_str(&format!(" {name} = {number}"));
        }
    }
    if !options.comment.is_empty() {
        text.push_str(&format!(" COMMENT = {}", with_backslashes(&options.comment)));
    }
    text.push_str(" ENGINE = InnoDB");
    text
}

/// A comment of a partition: its quotes have backslashes.
fn with_backslashes(comment: &str) -> String {
    let doubled = quoted(comment);
    let inside = doubled.get(1..doubled.len() - 1).unwrap_or_default();
    format!("'{}'", inside.replace("''", "\\'"))
}
