//! What operators above a scan know of its rows, so that the scan drops rows before it decodes them (sideways
//! information passing).
//!
//! - A hash join reads its right side before the first row of its left side. A left row whose key is not
//!   among the right side's keys has no partner: [`keys`], collected by [`collect`].
//! - A sort with a limit drops rows that sort after as many others: [`bound`].
//!
//! A grouping by leading parts of the primary key also says how the scan should partition its rows: the rows
//! of a group in one partition.
//!
//! [`observed`] passes an operator's rows to code that learns from them. [`scan_of`] finds the scan of a
//! column. A scan checks what is known whenever it begins to read. If nothing is known yet, it reads all
//! rows, so results do not depend on what runs first.

mod bound;
mod collect;
mod keys;
mod observed;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use functions::Expr;
use functions::eval::is_fallible;
use planner::plan::{Join, JoinKind, Rel, SortKey, TableScan};
use schema::layout::IntegerColumn;

pub use bound::{Bound, KeepBound, LIMIT_MAX};
pub use collect::{CollectKeys, KeyColumn};
pub use keys::{Following, PendingKeys};
pub use observed::Observed;

/// A condition on a scan's rows that is learned while the query runs.
#[derive(Debug, Clone)]
pub struct ScanFilter {
    pub column: IntegerColumn,
    pub condition: Condition,
}

#[derive(Debug, Clone)]
pub enum Condition {
    /// The value is among a join's keys.
    Keys(Arc<PendingKeys>),
    /// The value may be among the first of a sort.
    Bound(Arc<Bound>),
}

/// What the operators above a scan want from it.
#[derive(Debug, Default)]
pub struct ScanWishes {
    pub filters: Vec<ScanFilter>,
    /// Rows whose first parts of the primary key are equal, this number of them, should be in one partition.
    /// 0: no matter.
    pub grouped_parts: usize,
}

/// The wishes for scans that have not been translated yet. A scan is identified by its address in the plan.
#[derive(Debug, Default)]
pub struct ScanFilters(RefCell<HashMap<*const TableScan, ScanWishes>>);

impl ScanFilters {
    pub fn take(&self, scan: &TableScan) -> ScanWishes {
        self.0
            .borrow_mut()
            .remove(&std::ptr::from_ref(scan))
            .unwrap_or_default()
    }

    fn add(&self, scan: &TableScan, column: IntegerColumn, condition: Condition) {
        let filter = ScanFilter { column, condition };
        self.0.borrow_mut().entry(scan).or_default().filters.push(filter);
    }

    /// If a grouping's keys have leading parts of the primary key, requests whole groups in each partition
    /// from the scan below it.
    pub fn group(&self, input: &Rel, keys: &[Expr]) {
        let columns: Vec<(&TableScan, usize)> =
            keys.iter().filter_map(|key| scanned(input, bare(key)?)).collect();
        let Some(&(scan, _)) = columns.first() else { return };
        let is_key = |column: usize| {
            let scanned = columns.iter().filter_map(|(_, number)| scan.columns.get(*number));
            scanned.into_iter().any(|key| *key == column)
        };
        let parts = scan.table.primary_parts();
        let grouped = parts.iter().take_while(|part| is_key(part.column)).count();
        self.0.borrow_mut().entry(scan).or_default().grouped_parts = grouped;
    }

    /// Makes a filter from a sort's limit, for the scan that the first column of its order comes from.
    /// `input`: the sort's input. The result maintains the bound.
    pub fn of_limit(&self, input: &Rel, keys: &[SortKey], limit: usize) -> Option<KeepBound> {
        let first = keys.first()?;
        if limit == 0 || limit > LIMIT_MAX || keys.iter().any(|key| is_fallible(&key.expr)) {
            return None;
        }
        let column = bare(&first.expr)?;
        let (scan, scanned) = scan_of(input, column)?;
        let number = IntegerColumn::ordered(&scan.table, *scan.columns.get(scanned)?)?;
        let bound = Arc::new(Bound::new(first.descending));
        self.add(scan, number, Condition::Bound(Arc::clone(&bound)));
        Some(KeepBound { bound, column, limit })
    }

    /// Makes filters from a join's keys, for the scans of its left side. Returns each with the number of its
    /// key.
    pub fn make(&self, join: &Join) -> Vec<(usize, Arc<PendingKeys>)> {
        if !matches!(join.kind, JoinKind::Inner | JoinKind::Semi) {
            return Vec::new();
        }
        let fails = join.residual.as_ref().is_some_and(is_fallible)
            || join.keys.iter().any(|key| is_fallible(&key.left));
        if fails {
            return Vec::new();
        }
        let mut made = Vec::new();
        for (number, key) in join.keys.iter().enumerate() {
            if key.null_safe || key.left.ty().arrow_type() != key.right.ty().arrow_type() {
                continue;
            }
            let Some((scan, column)) = bare(&key.left).and_then(|column| scan_of(&join.left, column)) else {
                continue;
            };
            let column = scan.columns.get(column);
            let Some(column) = column.and_then(|&offset| IntegerColumn::new(&scan.table, offset)) else {
                continue;
            };
            let keys = Arc::new(PendingKeys::default());
            made.push((number, Arc::clone(&keys)));
            self.add(scan, column, Condition::Keys(keys));
        }
        made
    }
}

/// The scan whose rows an operator passes on one by one, and the number that a column of the operator has
/// there.
fn scanned(rel: &Rel, column: usize) -> Option<(&TableScan, usize)> {
    match rel {
        Rel::Scan(scan) => Some((scan, column)),
        Rel::Measured { input, .. } | Rel::Filter { input, .. } => scanned(input, column),
        Rel::Project { input, exprs } => scanned(input, bare(exprs.get(column)?)?),
        _ => None,
    }
}

/// The scan that an operator's column comes from unchanged, and the column's number there. It is found only
/// if dropping rows of the scan drops nothing but the output rows that they would become. An expression that
/// may raise an error or a warning prevents this: a client could notice for which rows it was computed.
fn scan_of(rel: &Rel, column: usize) -> Option<(&TableScan, usize)> {
    match rel {
        Rel::Scan(scan) if !scan.filter.as_ref().is_some_and(is_fallible) => Some((scan, column)),
        Rel::Measured { input, .. } => scan_of(input, column),
        Rel::Filter { input, predicate } if !is_fallible(predicate) => scan_of(input, column),
        Rel::Project { input, exprs } if !exprs.iter().any(is_fallible) => {
            scan_of(input, bare(exprs.get(column)?)?)
        }
        Rel::Join(join) => {
            let mut keys = join.keys.iter().flat_map(|key| [&key.left, &key.right]);
            if keys.any(is_fallible) || join.residual.as_ref().is_some_and(is_fallible) {
                return None;
            }
            match column.checked_sub(join.left.output_types().len()) {
                None => scan_of(&join.left, column),
                Some(column) if join.kind == JoinKind::Inner => scan_of(&join.right, column),
                Some(_) => None,
            }
        }
        _ => None,
    }
}

fn bare(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column { index, .. } => Some(*index),
        _ => None,
    }
}
