//! The rows that `EXPLAIN` alone gives: one for each table, in the order in which tables are read.

use types::{SqlType, TypeKind, Value};

use super::blocks::Blocks;
use super::names::Names;
use super::row::{Row, partition_names};
use super::text_type;
use crate::PlannedStatement;
use planner::plan::{InsertMode, InsertSource, Plan, ResultColumn, Target};

/// The most characters that the names of all partitions take in MySQL.
const PARTITION_NAMES: u32 = 6_316_032;

/// Source: manual 8.8.2 "EXPLAIN Output Format".
pub fn columns() -> Vec<ResultColumn> {
    let number = |length| SqlType {
        length,
        ..SqlType::BIGINT_UNSIGNED
    };
    let partitions = SqlType {
        kind: TypeKind::MediumText,
        ..text_type(PARTITION_NAMES)
    };
    let percent = SqlType {
        length: 4,
        decimals: 2,
        ..SqlType::DOUBLE
    };
    let columns: [(&str, SqlType, bool); 12] = [
        ("id", number(4), false),
        ("select_type", text_type(19), false),
        ("table", text_type(64), true),
        ("partitions", partitions, true),
        ("type", text_type(10), true),
        ("possible_keys", text_type(4_096), true),
        ("key", text_type(64), true),
        ("key_len", text_type(4_096), true),
        ("ref", text_type(1_024), true),
        ("rows", number(11), true),
        ("filtered", percent, true),
        ("Extra", text_type(255), false),
    ];
    let column = |(name, ty, nullable): &(&str, SqlType, bool)| ResultColumn::unnamed(name, *ty, *nullable);
    columns.iter().map(column).collect()
}

/// The rows of an EXPLAIN.
pub fn rows(explained: &PlannedStatement) -> Vec<Vec<Value>> {
    let mut blocks = Blocks::new(&explained.possible_keys);
    match &explained.plan {
        Plan::Query(query) => blocks.query(query),
        Plan::Insert(insert) => {
            blocks.write(Row {
                select_type: if matches!(insert.mode, InsertMode::Replace) {
                    "REPLACE"
                } else {
                    "INSERT"
                },
                table: Some(insert.table.name.clone()),
                partitions: partition_names(&insert.table, insert.partitions.as_deref()),
                how: Some("ALL"),
                ..Row::default()
            });
            if let InsertSource::Query(query) = &insert.source {
                blocks.query(query);
            }
            for root in insert.row_queries() {
                blocks.subqueries(root);
            }
        }
        Plan::FoundWrite(write) => {
            blocks.found_write(if write.is_update { "UPDATE" } else { "DELETE" }, &write.root);
        }
        Plan::Update(update) => blocks.write(target("UPDATE", &update.target)),
        Plan::Delete(delete) => blocks.write(target("DELETE", &delete.target)),
    }
    blocks.into_rows().into_iter().map(Row::values).collect()
}

fn target(select_type: &'static str, target: &Target) -> Row {
    let mut row = Row {
        select_type,
        ..Row::default()
    };
    row.scan(&target.scan, &Names::default());
    if !target.order_by.is_empty() {
        row.extra.push("Using filesort".into());
    }
    row
}
