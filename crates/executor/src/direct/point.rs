//! One row by its complete primary key or by a unique key: the hottest path of a query.

use std::sync::Arc;

use functions::{EvalContext, Expr, eval_value};
use kv::Reader;
use planner::plan::{Access, QueryPlan, Rel, TableScan};
use schema::layout::{IndexLayout, KeyParts};
use schema::model::Table;
use types::{Result, Value};
use wire::row::RowEncoder;

use super::columns::RowColumns;

/// A query that returns one row or none: `SELECT columns FROM t WHERE key = ?`.
#[derive(Debug)]
pub struct PointSelect {
    table: Arc<Table>,
    key: Vec<Expr>,
    parts: KeyParts,
    /// Set if the key is that of a unique index, not the primary key.
    lookup: Option<IndexLayout>,
    columns: RowColumns,
}

impl PointSelect {
    /// `None` if the plan is another kind of query.
    pub fn compile(plan: &QueryPlan) -> Option<Self> {
        if plan.locking.is_some() {
            return None;
        }
        let (scan, positions) = match &plan.root {
            Rel::Scan(scan) => (scan, (0..scan.columns.len()).collect()),
            Rel::Project { input, exprs } => match &**input {
                Rel::Scan(scan) => (scan, column_positions(exprs)?),
                _ => return None,
            },
            _ => return None,
        };
        Self::of_scan(scan, &positions)
    }

    fn of_scan(scan: &TableScan, positions: &[usize]) -> Option<Self> {
        if scan.filter.is_some()
            || scan.as_of.is_some()
            || scan.table.is_virtual()
            || scan.partitions.is_some()
        {
            return None;
        }
        let table = &scan.table;
        let (keys, parts, lookup) = match &scan.access {
            Access::PrimaryPoints { keys } => (keys, KeyParts::primary(table).ok()?, None),
            Access::UniquePoints { index, keys } => {
                let lookup = IndexLayout::new(table, *index, &[]).ok()?;
                (keys, KeyParts::index(table, *index).ok()?, Some(lookup))
            }
            _ => return None,
        };
        let [key] = keys.as_slice() else {
            return None;
        };
        let offsets = positions.iter().map(|&at| scan.columns.get(at).copied());
        let offsets = offsets.collect::<Option<Vec<usize>>>()?;
        Some(Self {
            columns: RowColumns::new(table, &offsets)?,
            table: Arc::clone(table),
            key: key.clone(),
            parts,
            lookup,
        })
    }

    /// Whether the store is read in one call, so that [`kv::Store::latest`] serves as a snapshot.
    pub fn reads_one_moment(&self) -> bool {
        self.lookup.is_none() || !self.columns.need_value()
    }

    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Looks the row up and appends the payload of its packet to `out`; `false` if there is no row. `encoder`
    /// belongs to the plan's result columns.
    ///
    /// # Errors
    /// Those of the key's expressions and of the store. `out` may then hold part of a row.
    pub fn run(
        &self,
        reader: &dyn Reader,
        eval: &EvalContext,
        encoder: &RowEncoder,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let values = self.key.iter().map(|e| eval_value(e, eval));
        let values = values.collect::<Result<Vec<Value>>>()?;
        let Some(mut key) = self.parts.point(&values, eval.time_zone)? else {
            return Ok(false);
        };
        let mut room = Vec::new();
        if let Some(lookup) = &self.lookup {
            let mut row_key = None;
            let found = reader.get_with(&key, &mut |value| row_key = Some(lookup.row_key(&key, value)))?;
            match (found, row_key) {
                (true, Some(row_key)) => key = row_key?,
                _ => return Ok(false),
            }
            if !self.columns.need_value() {
                let row = self.columns.open(&key, None, eval.time_zone, &mut room)?;
                return self.columns.write(&row, encoder, out).map(|()| true);
            }
        }
        let mut result = Ok(());
        let found = reader.get_with(&key, &mut |value| {
            let row = self.columns.open(&key, Some(value), eval.time_zone, &mut room);
            result = row.and_then(|row| self.columns.write(&row, encoder, out));
        })?;
        result?;
        if !found && self.lookup.is_some() {
            return Err(types::Error::internal(
                "an index entry has no row; ADMIN CHECK TABLE says more",
            ));
        }
        Ok(found)
    }
}

/// The positions in the input of the columns that `exprs` are, if every one is a column.
pub(super) fn column_positions(exprs: &[Expr]) -> Option<Vec<usize>> {
    let position = |expr: &Expr| match expr {
        Expr::Column { index, .. } => Some(*index),
        _ => None,
    };
    exprs.iter().map(position).collect()
}
