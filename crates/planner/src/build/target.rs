//! Which rows an UPDATE or DELETE touches.

use std::sync::Arc;

use functions::Expr;
use types::Result;

use super::constant::Gate;
use super::source::plain_order;
use crate::access::{self, Request, RowLimit};
use crate::bind::{Binder, BoundLimit, TableBinding, literal_count, unsigned};
use crate::plan::{SortKey, TableScan, Target};
use syntax::ast::IndexHint;

impl Binder<'_> {
    /// A scan of all the table's columns, for writing.
    pub fn target(
        &self,
        table: &TableBinding,
        filter: Option<&Expr>,
        mut order_by: Vec<SortKey>,
        limit: BoundLimit,
        hints: &[IndexHint],
    ) -> Result<Target> {
        let gate = Gate::of(filter);
        order_by.retain(|key| !access::is_constant(&key.expr));
        let columns: Vec<usize> = (0..table.table.columns.len()).collect();
        let row_limit = match &limit.count {
            None => RowLimit::All,
            Some(count) => literal_count(count).map_or(RowLimit::Some, RowLimit::AtMost),
        };
        let request = Request {
            table: &table.table,
            conjuncts: gate.conjuncts,
            columns: &columns,
            order: plain_order(&order_by, false),
            limit: row_limit,
            hints,
            rows: (self.env.row_estimate)(table.table.id),
        };
        let mut chosen = access::choose(&request)?;
        self.possible_keys
            .replace(std::mem::take(&mut chosen.possible_keys));
        if chosen.ordered {
            order_by.clear();
        }
        let limit = if gate.closed {
            Some(unsigned(0))
        } else if chosen.points {
            chosen.residual.extend(gate.constant);
            limit.count
        } else {
            self.rows_if(gate.constant, limit.count)?
        };
        Ok(Target {
            scan: TableScan {
                table: Arc::clone(&table.table),
                alias: table.alias.clone(),
                columns,
                access: chosen.access,
                filter: self.all(chosen.residual)?,
                as_of: None,
                locking: None,
            },
            order_by,
            limit,
        })
    }
}
