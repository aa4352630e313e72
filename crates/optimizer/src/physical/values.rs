//! Rows that come from no table.

use functions::Expr;
use planner::logical::{Column, ColumnId, TableFunction};
use planner::plan::{JsonTableScan, Rel};

use super::builder::{Built, output_column};
use crate::cost;

/// The row of a query without FROM.
pub fn one_row() -> Built {
    Built {
        rel: Rel::OneRow,
        layout: Vec::new(),
        ordered: true,
        rows: 1.0,
        cost: 0.0,
    }
}

/// Rows that are written out, with the columns that are wanted alone: a value that nothing reads must not warn.
pub fn written(columns: &[Column], rows: Vec<Vec<Expr>>, wanted: &[ColumnId]) -> Built {
    let kept: Vec<usize> = (0..columns.len())
        .filter(|&at| wanted.contains(&columns[at].id))
        .collect();
    let of_row = |row: Vec<Expr>| kept.iter().filter_map(|&at| row.get(at).cloned()).collect();
    Built {
        ordered: rows.len() <= 1,
        rows: rows.len() as f64,
        cost: 0.0,
        layout: kept.iter().map(|&at| columns[at].id).collect(),
        rel: Rel::Values {
            columns: kept.iter().map(|&at| output_column(&columns[at])).collect(),
            rows: rows.into_iter().map(of_row).collect(),
        },
    }
}

/// JSON_TABLE.
pub fn table_function(function: TableFunction) -> Built {
    Built {
        ordered: false,
        rows: cost::TABLE_FUNCTION_ROWS,
        cost: cost::TABLE_FUNCTION_ROWS * cost::NEXT_ROW,
        layout: function.columns.iter().map(|column| column.id).collect(),
        rel: Rel::JsonTable(JsonTableScan {
            table: function.table,
            document: function.document,
            alias: function.alias,
        }),
    }
}
