//! The hot path: one row by its complete primary key or a unique key.

use std::sync::Arc;

use functions::{EvalContext, Expr, eval_value};
use kv::Reader;
use planner::plan::{Access, QueryPlan, Rel, TableScan};
use schema::layout::{IndexLayout, KeyParts};
use schema::model::Table;
use types::{Result, Value};
use wire::row::RowEncoder;

use super::columns::RowColumns;

/// A query that gives one row or none: `SELECT columns FROM t WHERE key = ?`.
#[derive(Debug)]
pub struct PointSelect {
    table: Arc<Table>,
    key: Vec<Expr>,
    parts: KeyParts,
    /// By a unique index, and not by the primary key.
    lookup: Option<IndexLayout>,
    columns: RowColumns,
}

impl PointSelect {
    /// `None`: not such a query.
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
        if scan.filter.is_some() || scan.as_of.is_some() || scan.table.is_virtual() {
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

    /// Whether the store is read in one call, so that [`kv::Store::latest`] will do for a snapshot.
    pub fn reads_one_moment(&self) -> bool {
        self.lookup.is_none() || !self.columns.need_value()
    }

    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Looks the row up and appends its packet's payload to `out`; false if there is none. `encoder` is made of the
    /// plan's result columns.
    ///
    /// # Errors
    /// What the key's expressions fail with, and failures of the store. `out` may then hold part of a row.
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
            let mut handle = None;
            let found = reader.get_with(&key, &mut |value| handle = Some(lookup.handle(&key, value)))?;
            match (found, handle) {
                (true, Some(handle)) => key = codec::key::row_key(self.table.id, &handle?),
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

/// The input's columns that `exprs` are, if they are nothing else.
pub(super) fn column_positions(exprs: &[Expr]) -> Option<Vec<usize>> {
    let position = |expr: &Expr| match expr {
        Expr::Column { index, .. } => Some(*index),
        _ => None,
    };
    exprs.iter().map(position).collect()
}
