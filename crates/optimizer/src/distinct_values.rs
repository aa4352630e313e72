//! The selectivity of a join's condition. Of an equality: from the number of distinct values of its columns, by
//! statistics, or else by keys. Of another comparison: from the distribution of its columns' values.

use std::sync::Arc;

use functions::Expr;
use planner::logical::{ColumnId, Logical, columns_of};
use schema::model::{SchemaState, Table};
use schema::statistics::{Bound, ColumnStatistics, TableStatistics, sort_key};
use types::Value;

use crate::estimates::{Estimates, TableEstimate, known_value};
use crate::expr::{bare_column, replace_columns};

/// Rows per distinct value, in a column without statistics.
const ROWS_PER_VALUE: f64 = 10.0;
/// The share of pairs that satisfies a condition of which nothing is known.
const OTHER: f64 = 0.3;
/// How many rows of a table stand for all of them.
pub const SAMPLES: u32 = 8;
/// The number of values in a column that no table has.
const UNKNOWN_VALUES: f64 = 100.0;

#[derive(Debug)]
struct Known {
    first: ColumnId,
    table: Arc<Table>,
    rows: f64,
    statistics: Option<Arc<TableStatistics>>,
    /// By column offset, where statistics have it.
    distinct: Vec<Option<f64>>,
    /// Columns that an index begins with, in ascending order, with the number of their values together.
    together: Vec<(Vec<usize>, f64)>,
}

/// An equality of two columns: for each side the table, by its position in [`DistinctValues::tables`], and
/// the column's offset.
type ColumnPair = [(usize, usize); 2];

/// What a comparison asks of two expressions: the first is not greater than the second.
type Order<'e> = (&'e Expr, &'e Expr);

/// How many values the columns of a query's tables have, and which.
#[derive(Debug, Default)]
pub struct DistinctValues {
    tables: Vec<Known>,
}

impl DistinctValues {
    /// Takes in the tables of a part of the query.
    pub fn learn(&mut self, rel: &Logical, estimates: &dyn Estimates) {
        rel.walk(&mut |rel| {
            if let Logical::Get(get) = rel
                && !self.tables.iter().any(|known| known.first == get.first)
            {
                let estimate = TableEstimate::new(&get.table, estimates);
                let distinct = |offset| estimate.distinct(offset);
                let together = together(&get.table, &estimate);
                self.tables.push(Known {
                    first: get.first,
                    rows: (estimate.rows as f64).max(1.0),
                    statistics: estimate.statistics().cloned(),
                    distinct: (0..get.table.columns.len()).map(distinct).collect(),
                    table: Arc::clone(&get.table),
                    together,
                });
            }
        });
    }

    fn of(&self, expr: &Expr) -> f64 {
        match self.column(expr) {
            Some((table, offset)) => self.of_column(&self.tables[table], offset),
            None => UNKNOWN_VALUES,
        }
    }

    /// The table's position, and the column's offset.
    fn column(&self, expr: &Expr) -> Option<(usize, usize)> {
        self.place(column_below(expr)?)
    }

    fn place(&self, id: ColumnId) -> Option<(usize, usize)> {
        self.tables.iter().enumerate().find_map(|(position, known)| {
            let offset = id.0.checked_sub(known.first.0)?;
            (offset < known.table.columns.len()).then_some((position, offset))
        })
    }

    fn of_column(&self, known: &Known, offset: usize) -> f64 {
        if let Some(distinct) = known.distinct[offset] {
            return distinct;
        }
        let (table, rows) = (&known.table, known.rows);
        // A part of a key of n has the nth root of its values: together they are as many as the rows.
        let mut parts = usize::MAX;
        let primary = table.primary_parts();
        if primary.iter().any(|part| part.column == offset) {
            parts = primary.len();
        }
        for index in &table.indexes {
            let is_part = index.parts.iter().any(|part| part.column == offset);
            if index.unique && index.state == SchemaState::Public && is_part {
                parts = parts.min(index.parts.len());
            }
        }
        if parts == usize::MAX {
            return (rows / ROWS_PER_VALUE).max(1.0);
        }
        rows.powf(1.0 / parts as f64)
    }

    fn statistics_of(&self, id: ColumnId) -> Option<&ColumnStatistics> {
        let (table, offset) = self.place(id)?;
        let known = &self.tables[table];
        let column = known.table.columns.get(offset)?;
        known.statistics.as_ref()?.column(column.id, &column.ty)
    }

    /// The value that a share of a column's values is below, where that is known.
    pub fn value_at(&self, id: ColumnId, share: f64) -> Option<Value> {
        self.statistics_of(id)?.value_at(share)
    }

    /// The share of pairs that satisfies a condition.
    pub fn share(&self, condition: &Expr) -> f64 {
        self.share_of_all(std::iter::once(condition))
    }

    /// The share of pairs that satisfies all of some conditions. Several columns of a table that are equal to
    /// those of another one are taken together: they are often a key of one of the two.
    pub fn share_of_all<'e>(&self, conditions: impl IntoIterator<Item = &'e Expr>) -> f64 {
        let mut share = 1.0;
        let mut pairs: Vec<ColumnPair> = Vec::new();
        let mut orders: Vec<(Order<'e>, Option<f64>)> = Vec::new();
        for condition in conditions {
            if let Some(pair) = self.pair(condition) {
                pairs.push(pair);
                continue;
            }
            let Expr::Call { function, args, .. } = condition else {
                share *= OTHER;
                continue;
            };
            let mut order = |small, large| orders.push(((small, large), self.share_of_order(small, large)));
            match (function.0.name, args.as_slice()) {
                ("=" | "<=>", [a, b]) => share /= self.of(a).max(self.of(b)).max(1.0),
                ("<" | "<=", [small, large]) | (">" | ">=", [large, small]) => order(small, large),
                ("between", [value, low, high]) => {
                    order(low, value);
                    order(value, high);
                }
                _ => share *= OTHER,
            }
        }
        pairs.sort_unstable_by_key(|[a, b]| (a.0, b.0));
        for group in pairs.chunk_by(|[a, b], [c, d]| (a.0, b.0) == (c.0, d.0)) {
            share /= self.values_of(group, 0).max(self.values_of(group, 1)).max(1.0);
        }
        share * self.share_of_orders(orders)
    }

    /// The two ends of a range of one column are taken together: rows that satisfy the one mostly do not satisfy the other
    /// where the range is short.
    fn share_of_orders(&self, mut orders: Vec<(Order<'_>, Option<f64>)>) -> f64 {
        let mut share = 1.0;
        while let Some(((small, large), first)) = orders.pop() {
            let same = |a: &Expr, b: &Expr| column_below(a).filter(|id| column_below(b) == Some(*id));
            let other = orders
                .iter()
                .enumerate()
                .find_map(|(at, ((other_small, other_large), other))| {
                    let column = same(large, other_small).or_else(|| same(small, other_large))?;
                    Some((at, self.place(column)?.0, first?, (*other)?))
                });
            share *= match other {
                Some((at, table, first, second)) => {
                    orders.swap_remove(at);
                    (first + second - 1.0).max(1.0 / self.tables[table].rows)
                }
                None => first.unwrap_or(OTHER),
            };
        }
        share
    }

    /// The share of pairs in which one value is not greater than another, of which one is a column of a table and the other
    /// depends on other tables only.
    fn share_of_order(&self, small: &Expr, large: &Expr) -> Option<f64> {
        let of_others = |column: ColumnId, expr: &Expr| {
            let table = self.place(column)?.0;
            let columns = columns_of(expr);
            let is_other = |id: &ColumnId| self.place(*id).is_some_and(|(other, _)| other != table);
            (!columns.is_empty() && columns.iter().all(is_other)).then_some(())
        };
        let mean_below = |column: &Expr, expr: &Expr| {
            let column = column_below(column)?;
            of_others(column, expr)?;
            let values = self.statistics_of(column)?;
            let expr = match expr {
                Expr::Cast { input, .. } if bare_column(input).is_some() => input,
                expr => expr,
            };
            let mut sum = 0.0;
            for sample in 0..SAMPLES {
                let at = (f64::from(sample) + 0.5) / f64::from(SAMPLES);
                let mut expr = expr.clone();
                replace_columns(&mut expr, &mut |id, column| {
                    Some(Expr::literal(self.value_at(id, at)?, column.ty()))
                });
                let key = sort_key(&known_value(&expr, &[])?, &values.ty)?;
                let upper = Bound { key, inclusive: true };
                sum += values.share_between(None, Some(&upper)) / (1.0 - values.nulls).max(f64::MIN_POSITIVE);
            }
            Some((sum / f64::from(SAMPLES)).min(1.0))
        };
        match mean_below(small, large) {
            Some(share) => Some(share),
            None => Some(1.0 - mean_below(large, small)?),
        }
    }

    /// The columns that a condition says are equal, of two tables, in the order of these.
    fn pair(&self, condition: &Expr) -> Option<ColumnPair> {
        let Expr::Call { function, args, .. } = condition else {
            return None;
        };
        let ("=" | "<=>", [a, b]) = (function.0.name, args.as_slice()) else {
            return None;
        };
        let (a, b) = (self.column(a)?, self.column(b)?);
        (a.0 != b.0).then(|| [a.min(b), a.max(b)])
    }

    /// How many values the columns of one side have together.
    fn values_of(&self, pairs: &[ColumnPair], side: usize) -> f64 {
        let Some(known) = pairs.first().and_then(|pair| self.tables.get(pair[side].0)) else {
            return UNKNOWN_VALUES;
        };
        let mut offsets: Vec<usize> = pairs.iter().map(|pair| pair[side].1).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let alone = |&offset: &usize| self.of_column(known, offset);
        if let [offset] = offsets.as_slice() {
            return alone(offset);
        }
        if let Some((_, values)) = known.together.iter().find(|(columns, _)| *columns == offsets) {
            return *values;
        }
        offsets.iter().map(alone).product::<f64>().min(known.rows)
    }
}

/// The beginnings of a table's indexes, with the number of their values.
fn together(table: &Table, estimate: &TableEstimate<'_>) -> Vec<(Vec<usize>, f64)> {
    let rows = (estimate.rows as f64).max(1.0);
    let mut found = Vec::new();
    let mut add = |index: Option<usize>, parts: Vec<usize>, is_unique: bool| {
        for count in 2..=parts.len() {
            let values = match estimate.rows_per_key(index, count) {
                Some(each) => rows / each,
                None if is_unique && count == parts.len() => rows,
                None => continue,
            };
            let mut columns = parts[..count].to_vec();
            columns.sort_unstable();
            found.push((columns, values));
        }
    };
    let primary = table.primary_parts();
    add(None, primary.iter().map(|part| part.column).collect(), true);
    for (position, index) in table.indexes.iter().enumerate() {
        if index.state == SchemaState::Public && index.parts.len() > 1 {
            let parts = index.parts.iter().map(|part| part.column).collect();
            add(Some(position), parts, index.unique);
        }
    }
    found
}

/// The column that an expression is, conversions aside.
fn column_below(expr: &Expr) -> Option<ColumnId> {
    match expr {
        Expr::Cast { input, .. } => column_below(input),
        other => bare_column(other.as_stored()),
    }
}
