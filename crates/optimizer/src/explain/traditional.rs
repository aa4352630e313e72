//! The rows that `EXPLAIN` alone gives: one for each table, in the order in which tables are read.

use types::{SqlType, Value};

use super::blocks::Blocks;
use super::names::Names;
use super::row::{Row, partition_names};
use super::text_type;
use crate::PlannedStatement;
use planner::plan::{InsertMode, InsertSource, Plan, Target};

/// Source: manual 8.8.2 "EXPLAIN Output Format".
pub fn columns() -> Vec<(String, SqlType)> {
    let names: [(&str, SqlType); 12] = [
        ("id", SqlType::BIGINT_UNSIGNED),
        ("select_type", text_type(19)),
        ("table", text_type(64)),
        ("partitions", text_type(16_383)),
        ("type", text_type(10)),
        ("possible_keys", text_type(4_096)),
        ("key", text_type(64)),
        ("key_len", text_type(4_096)),
        ("ref", text_type(1_024)),
        ("rows", SqlType::BIGINT_UNSIGNED),
        ("filtered", SqlType::DOUBLE),
        ("Extra", text_type(255)),
    ];
    names
        .into_iter()
        .map(|(name, ty)| (name.to_owned(), ty))
        .collect()
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
        row.extra.push("Using filesort");
    }
    row
}
