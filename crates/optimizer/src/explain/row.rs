//! A row of the listing that `EXPLAIN` alone gives: how one table is read.

use std::borrow::Cow;

use functions::{EvalContext, Expr};
use planner::plan::{Access, Range, RangeBound, RangeBoundValue, RangeValue, TableScan};
use schema::model::{IndexPart, Table};
use types::Value;

use super::access_text::index_names;
use super::key_length;
use super::names::Names;

/// A row of the listing.
#[derive(Default)]
pub struct Row {
    /// `None`: of a union's result.
    pub id: Option<u64>,
    pub select_type: &'static str,
    pub table: Option<String>,
    pub partitions: Option<String>,
    pub how: Option<&'static str>,
    pub possible_keys: Option<String>,
    pub key: Option<String>,
    pub key_len: Option<u64>,
    /// The columns of the key that are used.
    pub key_parts: Vec<String>,
    pub reference: Option<String>,
    pub rows: Option<u64>,
    pub filtered: Option<f64>,
    pub extra: Vec<Cow<'static, str>>,
    /// The ends of its ranges differ from row to row of the tables before it: by which index they are.
    pub checked_index: Option<String>,
}

impl Row {
    pub fn values(self) -> Vec<Value> {
        let text = |text: Option<String>| text.map_or(Value::Null, Value::String);
        let number = |number: Option<u64>| number.map_or(Value::Null, Value::UInt);
        let extra = (!self.extra.is_empty()).then(|| self.extra.join("; "));
        vec![
            number(self.id),
            Value::String(self.select_type.to_owned()),
            text(self.table),
            text(self.partitions),
            text(self.how.map(str::to_owned)),
            text(self.possible_keys),
            text(self.key),
            text(self.key_len.map(|bytes| bytes.to_string())),
            text(self.reference),
            number(self.rows),
            self.filtered.map_or(Value::Null, Value::Double),
            text(extra),
        ]
    }

    pub fn has(&self, extra: &str) -> bool {
        self.extra.iter().any(|one| one == extra)
    }

    /// A table that is read for each row of others: `names` are their columns.
    pub fn lookup(&mut self, scan: &TableScan, names: &Names) {
        self.scan(scan, names);
        if self.how == Some("const") {
            self.how = Some("eq_ref");
        }
        self.checked_index = checked_index(scan);
        let remark = self
            .checked_index
            .as_ref()
            .map(|map| format!("Range checked for each record ({map})"));
        self.extra.extend(remark.map(Cow::Owned));
    }

    pub fn scan(&mut self, scan: &TableScan, names: &Names) {
        let table = &scan.table;
        self.table = Some(scan.alias.clone());
        self.partitions = partitions_of(scan);
        self.access(&scan.access, table, names);
        let expected = &scan.expected;
        self.rows = Some((expected.read.round() as u64).max(1));
        let share = 100.0 * expected.rows / expected.read.max(f64::MIN_POSITIVE);
        self.filtered = Some((share * 100.0).round() / 100.0);
        if scan.filter.is_some() {
            self.extra.push("Using where".into());
        }
        match scan.access {
            Access::IndexRanges {
                covering, reverse, ..
            } => {
                if covering {
                    self.extra.push("Using index".into());
                }
                self.backwards(reverse);
            }
            Access::Full { reverse } | Access::PrimaryRanges { reverse, .. } => self.backwards(reverse),
            Access::GroupEnds { .. } => self.extra.push("Using index for group-by".into()),
            _ => {}
        }
    }

    fn use_parts(&mut self, parts: &[IndexPart], table: &Table) {
        self.key_len = Some(key_length::of(parts, table));
        let name = |part: &IndexPart| Some(table.columns.get(part.column)?.name.clone());
        self.key_parts = parts.iter().filter_map(name).collect();
    }

    fn backwards(&mut self, reverse: bool) {
        if reverse {
            self.extra.push("Backward index scan".into());
        }
    }

    fn access(&mut self, access: &Access, table: &Table, names: &Names) {
        let primary = || table.primary_parts();
        match access {
            Access::Full { .. } => self.how = Some("ALL"),
            Access::PrimaryPoints { keys } => self.points("PRIMARY", &primary(), keys, table, names),
            Access::UniquePoints { index, keys } => {
                let index = &table.indexes[*index];
                self.points(&index.name, &index.parts, keys, table, names);
            }
            Access::PrimaryRanges { ranges, .. } => self.ranges("PRIMARY", &primary(), ranges, table, names),
            Access::IndexRanges { index, ranges, .. } => self.by_index(*index, ranges, table, names),
            Access::GroupEnds {
                index, ranges, parts, ..
            } => {
                let (name, all) = match index.map(|index| &table.indexes[index]) {
                    Some(index) => (index.name.as_str(), index.parts.clone()),
                    None => ("PRIMARY", primary()),
                };
                self.ranges(name, &all, ranges, table, names);
                self.use_parts(&all[..all.len().min(*parts)], table);
                self.how = Some("range");
            }
            Access::Union { parts } => match ranges_of_one(parts) {
                Some((index, ranges)) => self.by_index(index, &ranges, table, names),
                None => {
                    self.how = Some("index_merge");
                    self.key = Some(index_names(parts, table).join(","));
                }
            },
        }
    }

    fn by_index(&mut self, index: usize, ranges: &[Range], table: &Table, names: &Names) {
        let index = &table.indexes[index];
        self.ranges(&index.name, &index.parts, ranges, table, names);
        if index.full_text.is_some() {
            self.how = Some("fulltext");
        }
    }

    fn points(&mut self, key: &str, parts: &[IndexPart], keys: &[Vec<Expr>], table: &Table, names: &Names) {
        self.key = Some(key.to_owned());
        self.use_parts(parts, table);
        if let [only] = keys {
            let constant = only.iter().all(|value| names.of(value) == "const");
            self.how = Some(if constant { "const" } else { "eq_ref" });
            self.reference = Some(
                only.iter()
                    .map(|value| names.of(value))
                    .collect::<Vec<_>>()
                    .join(","),
            );
        } else {
            self.how = Some("range");
        }
    }

    fn ranges(&mut self, key: &str, all_parts: &[IndexPart], ranges: &[Range], table: &Table, names: &Names) {
        self.key = Some(key.to_owned());
        let bounded = |bound: &Option<RangeBound>| usize::from(bound.is_some());
        let used = ranges
            .iter()
            .map(|range| range.prefix.len() + bounded(&range.lower).max(bounded(&range.upper)))
            .max()
            .unwrap_or(0);
        self.use_parts(all_parts.get(..used).unwrap_or(all_parts), table);
        let is_reference =
            |range: &Range| range.lower.is_none() && range.upper.is_none() && !range.prefix.is_empty();
        match ranges {
            [only] if is_reference(only) => {
                self.how = Some("ref");
                let name = |value: &RangeValue| match value {
                    RangeValue::Equal(value) | RangeValue::NullSafe(value) => names.of(value),
                    RangeValue::IsNull | RangeValue::Words(..) => "const".to_owned(),
                };
                self.reference = Some(only.prefix.iter().map(name).collect::<Vec<_>>().join(","));
            }
            // The whole index, for its order.
            [_] if used == 0 => {
                self.how = Some("index");
                self.use_parts(all_parts, table);
            }
            _ => self.how = Some("range"),
        }
    }
}

/// The index whose ranges end where a row of other tables says, as MySQL names it: by a bit for its place among the
/// table's keys.
fn checked_index(scan: &TableScan) -> Option<String> {
    let (index, ranges) = match &scan.access {
        Access::PrimaryRanges { ranges, .. } => (None, ranges),
        Access::IndexRanges { index, ranges, .. } => (Some(*index), ranges),
        _ => return None,
    };
    let names_column = |bound: &Option<RangeBound>| match bound.as_ref().map(|bound| &bound.value) {
        Some(RangeBoundValue::Value(expr)) => !expr.is_constant(),
        _ => false,
    };
    if !ranges
        .iter()
        .any(|range| names_column(&range.lower) || names_column(&range.upper))
    {
        return None;
    }
    let has_own_key =
        scan.table.indexes.iter().any(|index| index.primary) || scan.table.primary_parts().is_empty();
    let place = index.map_or(0, |index| index + usize::from(!has_own_key));
    Some(format!(
        "index map: {:#X}",
        1_u64.checked_shl(place as u32).unwrap_or(0)
    ))
}

/// The ranges of a union that reads one multi-valued index.
fn ranges_of_one(parts: &[Access]) -> Option<(usize, Vec<Range>)> {
    let (mut only, mut all) = (None, Vec::with_capacity(parts.len()));
    for part in parts {
        let Access::IndexRanges { index, ranges, .. } = part else {
            return None;
        };
        if *only.get_or_insert(*index) != *index {
            return None;
        }
        all.extend(ranges.iter().cloned());
    }
    Some((only?, all))
}

/// The partitions that a scan reads, as far as the plan shows: a parameter has no value yet.
pub fn partitions_of(scan: &TableScan) -> Option<String> {
    let partitions = scan.partitions.as_ref()?;
    let leaves = partitions.leaves(&scan.table, &[], &EvalContext::default());
    match leaves {
        Ok(leaves) => partition_names(&scan.table, Some(&leaves)),
        Err(_) => partition_names(&scan.table, partitions.named.as_deref()),
    }
}

/// The names of a table's partitions at some positions, or of all.
pub fn partition_names(table: &Table, leaves: Option<&[usize]>) -> Option<String> {
    let all = table.partitioning.as_ref()?.leaves().enumerate();
    let chosen = all.filter(|(at, _)| leaves.is_none_or(|leaves| leaves.contains(at)));
    let names: Vec<String> = chosen.map(|(_, leaf)| leaf.name()).collect();
    (!names.is_empty()).then(|| names.join(","))
}
