//! The line of a table in EXPLAIN FORMAT=TREE: how it is read.

use functions::Expr;
use planner::plan::{Access, Range, RangeBound, RangeBoundValue, RangeValue, TableScan};
use schema::model::{IndexPart, Table};

use super::expression::Scope;
use super::names::identifier;

/// Ranges that are shown.
const RANGES_MAX: usize = 3;

/// `scope`: what keys are made of.
pub fn access_text(scan: &TableScan, scope: &Scope<'_>) -> String {
    let alias = identifier(&scan.alias);
    let table = &scan.table;
    let backwards = |reverse: bool| if reverse { " (reverse)" } else { "" };
    match &scan.access {
        Access::Full { reverse } => format!("Table scan on {alias}{}", backwards(*reverse)),
        Access::PrimaryPoints { keys } => {
            points(&alias, "PRIMARY", &table.primary_parts(), keys, table, scope)
        }
        Access::UniquePoints { index, keys } => {
            let index = &table.indexes[*index];
            points(&alias, &index.name, &index.parts, keys, table, scope)
        }
        Access::PrimaryRanges { ranges, reverse } => {
            let text = ranges_text(&alias, "PRIMARY", &table.primary_parts(), ranges, table, scope);
            capital(&text) + backwards(*reverse)
        }
        Access::IndexRanges {
            index,
            ranges,
            reverse,
            covering,
        } => {
            let index = &table.indexes[*index];
            let text = ranges_text(&alias, &index.name, &index.parts, ranges, table, scope);
            let text = match covering {
                true => format!("Covering {text}"),
                false => capital(&text),
            };
            text + backwards(*reverse)
        }
        Access::GroupEnds { index, ranges, .. } => {
            let name = key_name(*index, table);
            let parts = index.map_or_else(
                || table.primary_parts(),
                |index| table.indexes[index].parts.clone(),
            );
            match ranges
                .iter()
                .any(|range| !range.prefix.is_empty() || range.lower.is_some() || range.upper.is_some())
            {
                false => format!("Covering index skip scan for grouping on {alias} using {name}"),
                true => {
                    let over = ranges_text(&alias, name, &parts, ranges, table, scope);
                    let over = over.split_once(" over ").map_or("", |(_, over)| over);
                    format!("Covering index skip scan for grouping on {alias} using {name} over {over}")
                }
            }
        }
        Access::Union { parts } => {
            format!(
                "Index merge on {alias} using {}",
                index_names(parts, table).join(", ")
            )
        }
    }
}

/// The names of the indexes that paths read.
pub fn index_names(parts: &[Access], table: &Table) -> Vec<String> {
    let name = |access: &Access| match access {
        Access::UniquePoints { index, .. } | Access::IndexRanges { index, .. } => {
            table.indexes.get(*index).map(|index| index.name.clone())
        }
        _ => None,
    };
    parts
        .iter()
        .map(|part| name(part).unwrap_or_else(|| "PRIMARY".to_owned()))
        .collect()
}

fn key_name(index: Option<usize>, table: &Table) -> &str {
    index.map_or("PRIMARY", |index| table.indexes[index].name.as_str())
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(text.len().min(1));
    first.to_uppercase() + rest
}

fn points(
    alias: &str,
    index: &str,
    parts: &[IndexPart],
    keys: &[Vec<Expr>],
    table: &Table,
    scope: &Scope<'_>,
) -> String {
    if let [key] = keys {
        let one = |(part, value): (&IndexPart, &Expr)| format!("{}={}", name(table, part), scope.expr(value));
        let values: Vec<String> = parts.iter().zip(key).map(one).collect();
        return format!(
            "Single-row index lookup on {alias} using {index} ({})",
            values.join(", ")
        );
    }
    let texts = keys.iter().map(|key| {
        let one =
            |(part, value): (&IndexPart, &Expr)| format!("{} = {}", name(table, part), scope.expr(value));
        let values: Vec<String> = parts.iter().zip(key).map(one).collect();
        format!("({})", values.join(" AND "))
    });
    format!(
        "Index range scan on {alias} using {index} over {}",
        alternatives(texts, keys.len())
    )
}

/// Without its first capital letter.
fn ranges_text(
    alias: &str,
    index: &str,
    parts: &[IndexPart],
    ranges: &[Range],
    table: &Table,
    scope: &Scope<'_>,
) -> String {
    let is_open = |range: &Range| range.lower.is_none() && range.upper.is_none();
    match ranges {
        [range] if is_open(range) && range.prefix.is_empty() => {
            format!("index scan on {alias} using {index}")
        }
        [range] if is_open(range) => {
            let one = |(part, value): (&IndexPart, &RangeValue)| {
                let value = match value {
                    RangeValue::IsNull => "NULL".to_owned(),
                    RangeValue::Equal(value) | RangeValue::NullSafe(value) | RangeValue::Words(value, _) => {
                        scope.expr(value)
                    }
                };
                format!("{}={value}", name(table, part))
            };
            let values: Vec<String> = parts.iter().zip(&range.prefix).map(one).collect();
            format!("index lookup on {alias} using {index} ({})", values.join(", "))
        }
        ranges => {
            let texts = ranges.iter().map(|range| range_text(range, parts, table, scope));
            let texts = alternatives(texts, ranges.len());
            format!("index range scan on {alias} using {index} over {texts}")
        }
    }
}

fn range_text(range: &Range, parts: &[IndexPart], table: &Table, scope: &Scope<'_>) -> String {
    let mut texts: Vec<String> = parts
        .iter()
        .zip(&range.prefix)
        .map(|(part, value)| match value {
            RangeValue::IsNull => format!("{} = NULL", name(table, part)),
            RangeValue::Equal(value) | RangeValue::NullSafe(value) | RangeValue::Words(value, _) => {
                format!("{} = {}", name(table, part), scope.expr(value))
            }
        })
        .collect();
    if let Some(part) = parts.get(range.prefix.len())
        && (range.lower.is_some() || range.upper.is_some())
    {
        let value = |bound: &RangeBound| match &bound.value {
            RangeBoundValue::Null => "NULL".to_owned(),
            RangeBoundValue::Value(expr) => scope.expr(expr),
        };
        let sign = |bound: &RangeBound| if bound.inclusive { "<=" } else { "<" };
        let mut text = String::new();
        if let Some(lower) = &range.lower {
            text += &format!("{} {} ", value(lower), sign(lower));
        }
        text += &name(table, part);
        if let Some(upper) = &range.upper {
            text += &format!(" {} {}", sign(upper), value(upper));
        }
        texts.push(text);
    }
    format!("({})", texts.join(" AND "))
}

fn alternatives(texts: impl Iterator<Item = String>, count: usize) -> String {
    let mut shown: Vec<String> = texts.take(RANGES_MAX).collect();
    if count > RANGES_MAX {
        shown.push(format!("({} more)", count - RANGES_MAX));
    }
    shown.join(" OR ")
}

fn name(table: &Table, part: &IndexPart) -> String {
    table
        .columns
        .get(part.column)
        .map_or_else(String::new, |column| identifier(&column.name))
}
