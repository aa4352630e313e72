//! Set operations and common table expressions.

use planner::logical::{self, CommonTableId, Logical, Recursive, SetOperator};
use planner::plan::{OutputColumn, Rel};
use types::Result;

use super::builder::{Builder, Built, Want, output_column};
use crate::cost;
use crate::expr::{ColumnList, ids};

pub fn operation(builder: &Builder<'_>, operation: logical::SetOperation, want: &Want) -> Result<Built> {
    let mut columns = operation.columns;
    // Where rows are not compared, a column that is not wanted need not be made.
    if operation.all && operation.operator == SetOperator::Union {
        let mut wanted = ColumnList::default();
        want.all_columns().0.iter().for_each(|id| wanted.add(*id));
        let of = |id| {
            columns
                .iter()
                .find(|c: &&logical::SetColumn| c.column.id == id)
                .cloned()
        };
        columns = wanted.0.into_iter().filter_map(of).collect();
    }
    let left = builder.build_exact(
        *operation.left,
        Want::of(columns.iter().map(|c| c.left).collect()),
    )?;
    let right = builder.build_exact(
        *operation.right,
        Want::of(columns.iter().map(|c| c.right).collect()),
    )?;
    Ok(Built {
        rows: left.rows + right.rows,
        cost: left.cost + right.cost,
        layout: columns.iter().map(|c| c.column.id).collect(),
        ordered: false,
        rel: Rel::SetOperation {
            operator: operation.operator,
            all: operation.all,
            left: Box::new(left.rel),
            right: Box::new(right.rel),
        },
    })
}

pub fn with(
    builder: &Builder<'_>,
    id: CommonTableId,
    definition: Logical,
    body: Logical,
    want: &Want,
) -> Result<Built> {
    let columns = ids(&definition);
    let definition = builder.build_exact(definition, Want::of(columns))?;
    let body = builder.build(body, want)?;
    Ok(Built {
        rel: Rel::With {
            id,
            definition: Box::new(definition.rel),
            body: Box::new(body.rel),
        },
        cost: definition.cost + body.cost,
        ..body
    })
}

pub fn recursive(builder: &Builder<'_>, recursive: Recursive) -> Result<Built> {
    let columns = &recursive.columns;
    let seed = builder.build_exact(
        *recursive.seed,
        Want::of(columns.iter().map(|c| c.left).collect()),
    )?;
    let step = builder.build_exact(
        *recursive.step,
        Want::of(columns.iter().map(|c| c.right).collect()),
    )?;
    Ok(Built {
        rows: 10.0 * (seed.rows + step.rows),
        cost: 10.0 * (seed.cost + step.cost),
        layout: columns.iter().map(|c| c.column.id).collect(),
        ordered: false,
        rel: Rel::Recursive {
            seed: Box::new(seed.rel),
            step: Box::new(step.rel),
            distinct: recursive.distinct,
            columns: columns.iter().map(|c| output_column(&c.column)).collect(),
        },
    })
}

pub fn common_table(table: logical::CommonTable) -> Built {
    let columns: Vec<OutputColumn> = table.columns.iter().map(output_column).collect();
    Built {
        rel: Rel::CommonTable {
            id: table.id,
            columns,
            recursive: table.recursive,
        },
        layout: table.columns.iter().map(|column| column.id).collect(),
        ordered: false,
        rows: 1_000.0,
        cost: 1_000.0 * cost::OUTPUT,
    }
}
