//! The table that `EXPLAIN` alone gives: one row, as there is one table.

use schema::model::{IndexPart, Table};
use types::{SqlType, Value};

use super::{key_length, text_type};
use crate::PlannedStatement;
use crate::access::rows_of_access;
use planner::plan::{
    Access, InsertSource, Plan, QueryPlan, Range, RangeBound, Rel, Route, TableScan, Target,
};

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

/// The columns of the row.
#[derive(Default)]
struct Row {
    table: Option<String>,
    how: Option<&'static str>,
    possible_keys: Option<String>,
    key: Option<String>,
    key_len: Option<u64>,
    reference: Option<String>,
    rows: Option<u64>,
    filtered: Option<f64>,
    extra: Vec<&'static str>,
}

pub fn row(explained: &PlannedStatement, rows: &dyn Fn(i64) -> u64) -> Vec<Value> {
    let mut row = Row::default();
    let select_type = match &explained.plan {
        Plan::Query(query) => {
            row.query(query, rows);
            "SIMPLE"
        }
        Plan::Insert(insert) => {
            row.table = Some(insert.table.name.clone());
            row.how = Some("ALL");
            if let InsertSource::Query(query) = &insert.source {
                row.query(query, rows);
            }
            if matches!(insert.mode, planner::plan::InsertMode::Replace) {
                "REPLACE"
            } else {
                "INSERT"
            }
        }
        Plan::Update(update) => {
            row.target(&update.target, rows);
            "UPDATE"
        }
        Plan::FoundWrite(write) => match write.is_update {
            true => "UPDATE",
            false => "DELETE",
        },
        Plan::Delete(delete) => {
            row.target(&delete.target, rows);
            "DELETE"
        }
    };
    if !explained.possible_keys.is_empty() {
        row.possible_keys = Some(explained.possible_keys.join(","));
    }
    row.values(select_type)
}

impl Row {
    fn values(self, select_type: &str) -> Vec<Value> {
        let text = |text: Option<String>| text.map_or(Value::Null, Value::String);
        let extra = (!self.extra.is_empty()).then(|| self.extra.join("; "));
        vec![
            Value::UInt(1),
            Value::String(select_type.to_owned()),
            text(self.table),
            Value::Null,
            text(self.how.map(str::to_owned)),
            text(self.possible_keys),
            text(self.key),
            text(self.key_len.map(|bytes| bytes.to_string())),
            text(self.reference),
            self.rows.map_or(Value::Null, Value::UInt),
            self.filtered.map_or(Value::Null, Value::Double),
            text(extra),
        ]
    }

    fn query(&mut self, query: &QueryPlan, rows: &dyn Fn(i64) -> u64) {
        let mut rel = &query.root;
        let (mut temporary, mut sorts, mut impossible) = (false, false, false);
        loop {
            rel = match rel {
                Rel::OneRow => {
                    self.extra.push("No tables used");
                    return;
                }
                Rel::Virtual(scan) => {
                    self.table = Some(scan.table.name.clone());
                    self.how = Some("ALL");
                    self.extra.push("Made by the server");
                    break;
                }
                Rel::Scan(scan) => {
                    if impossible {
                        self.extra.push("Impossible WHERE");
                        return;
                    }
                    self.scan(scan, rows);
                    break;
                }
                Rel::Limit { input, count, .. } => {
                    impossible |= count.as_ref().and_then(crate::limit::literal_count) == Some(0);
                    input
                }
                Rel::Sort { input, .. } => {
                    sorts = true;
                    input
                }
                Rel::Aggregate { input, keys, .. } => {
                    temporary |= !keys.is_empty();
                    input
                }
                Rel::Distinct { input } => {
                    temporary = true;
                    input
                }
                Rel::Filter { input, .. } | Rel::Project { input, .. } | Rel::Repeat { input, .. } => input,
                _ => break,
            };
        }
        if temporary {
            self.extra.push("Using temporary");
        }
        if sorts {
            self.extra.push("Using filesort");
        }
        if query.route == Route::Analytical {
            self.extra.push("Analytical executor");
        }
    }

    fn target(&mut self, target: &Target, rows: &dyn Fn(i64) -> u64) {
        self.scan(&target.scan, rows);
        if !target.order_by.is_empty() {
            self.extra.push("Using filesort");
        }
    }

    fn scan(&mut self, scan: &TableScan, rows: &dyn Fn(i64) -> u64) {
        let table = &scan.table;
        self.table = Some(scan.alias.clone());
        self.access(&scan.access, table);
        let read = rows_of_access(&scan.access, table, rows(table.id));
        self.rows = Some((read.round() as u64).max(1));
        self.filtered = Some(if scan.filter.is_some() { 10.0 } else { 100.0 });
        if scan.filter.is_some() {
            self.extra.push("Using where");
        }
        match scan.access {
            Access::IndexRanges {
                covering, reverse, ..
            } => {
                if covering {
                    self.extra.push("Using index");
                }
                self.backwards(reverse);
            }
            Access::Full { reverse } | Access::PrimaryRanges { reverse, .. } => self.backwards(reverse),
            _ => {}
        }
    }

    fn backwards(&mut self, reverse: bool) {
        if reverse {
            self.extra.push("Backward index scan");
        }
    }

    fn access(&mut self, access: &Access, table: &Table) {
        let primary = || table.primary_parts();
        match access {
            Access::Full { .. } => self.how = Some("ALL"),
            Access::PrimaryPoints { keys } => self.points("PRIMARY", &primary(), keys.len(), table),
            Access::UniquePoints { index, keys } => {
                let index = &table.indexes[*index];
                self.points(&index.name, &index.parts, keys.len(), table);
            }
            Access::PrimaryRanges { ranges, .. } => self.ranges("PRIMARY", &primary(), ranges, table),
            Access::IndexRanges { index, ranges, .. } => {
                let index = &table.indexes[*index];
                self.ranges(&index.name, &index.parts, ranges, table);
            }
        }
    }

    fn points(&mut self, key: &str, parts: &[IndexPart], keys: usize, table: &Table) {
        self.key = Some(key.to_owned());
        self.key_len = Some(key_length::of(parts, table));
        if keys == 1 {
            self.how = Some("const");
            self.reference = Some(vec!["const"; parts.len()].join(","));
        } else {
            self.how = Some("range");
        }
    }

    fn ranges(&mut self, key: &str, all_parts: &[IndexPart], ranges: &[Range], table: &Table) {
        self.key = Some(key.to_owned());
        let bounded = |bound: &Option<RangeBound>| usize::from(bound.is_some());
        let used = ranges
            .iter()
            .map(|range| range.prefix.len() + bounded(&range.lower).max(bounded(&range.upper)))
            .max()
            .unwrap_or(0);
        let parts = all_parts.get(..used).unwrap_or(all_parts);
        self.key_len = Some(key_length::of(parts, table));
        let is_reference =
            |range: &Range| range.lower.is_none() && range.upper.is_none() && !range.prefix.is_empty();
        match ranges {
            [only] if is_reference(only) => {
                self.how = Some("ref");
                self.reference = Some(vec!["const"; only.prefix.len()].join(","));
            }
            // The whole index, for its order.
            [_] if used == 0 => {
                self.how = Some("index");
                self.key_len = Some(key_length::of(all_parts, table));
            }
            _ => self.how = Some("range"),
        }
    }
}
