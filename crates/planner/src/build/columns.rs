//! Which of a table's columns a query needs, and where in the scan's output they are.

use functions::Expr;

use super::Upper;
use crate::bind::{AGGREGATE_BASE, BoundSelect};

/// Column offsets in the order in which a scan gives them.
#[derive(Debug, Default)]
pub struct Columns {
    pub offsets: Vec<usize>,
}

impl Columns {
    /// What is needed above the scan; `sorts`: rows still have to be brought into order.
    ///
    /// Columns that are shown come first and in their order, so that a plain query needs no projection.
    pub fn of(select: &BoundSelect<'_>, upper: &Upper, sorts: bool) -> Self {
        let mut columns = Self::default();
        if select.grouped {
            select.keys.iter().for_each(|key| columns.add_all(key));
            for call in &upper.aggregates {
                call.args.iter().for_each(|arg| columns.add_all(arg));
            }
            return columns;
        }
        for item in &upper.items {
            if let Expr::Column { index, .. } = item {
                columns.add(*index);
            }
        }
        upper.items.iter().for_each(|item| columns.add_all(item));
        upper.having.iter().for_each(|having| columns.add_all(having));
        if sorts {
            upper.order_by.iter().for_each(|key| columns.add_all(&key.expr));
        }
        columns
    }

    fn add(&mut self, offset: usize) {
        if offset < AGGREGATE_BASE && !self.offsets.contains(&offset) {
            self.offsets.push(offset);
        }
    }

    pub fn add_all(&mut self, expr: &Expr) {
        expr.walk(&mut |e| {
            if let Expr::Column { index, .. } = e {
                self.add(*index);
            }
        });
    }

    /// Position in the scan's output of each of the table's columns that is there.
    pub fn map(&self, table_columns: usize) -> Vec<Option<usize>> {
        let mut map = vec![None; table_columns];
        for (position, &offset) in self.offsets.iter().enumerate() {
            if let Some(entry) = map.get_mut(offset) {
                *entry = Some(position);
            }
        }
        map
    }
}
