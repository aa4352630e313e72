//! From the logical to the physical plan: how each operator runs, and positions in place of column ids.
//!
//! An operator is built by the file of its kind, which is called from here. It passes its requirements to its input
//! ([`builder::Want`]): columns, and an order and a number of rows if the input can provide them cheaply. It gets
//! back operators and the ids of their columns ([`builder::Built`]). [`Builder::build`] builds the input; what all
//! of them share is in [`builder`].
//!
//! - [`scan`], [`extreme`]: one table. [`values`]: none. [`join`], [`apply`], [`set`]: several inputs; of joins
//!   [`hash_join`] and [`lookup`] are the kinds, and [`lookup_rows`] says how many rows the latter finds. [`filter`],
//!   [`project`], [`sort`], [`aggregate`], [`window`]: one input. [`target`]: the rows of UPDATE and DELETE.
//! - [`route`]: which executor runs a query. [`pushed`]: what the stores compute, which is decided last.

mod aggregate;
mod apply;
pub mod builder;
mod extreme;
mod filter;
mod hash_join;
mod join;
pub mod join_keys;
mod left_columns;
pub mod lookup;
mod lookup_rows;
mod project;
pub mod pushed;
pub mod route;
mod scan;
mod set;
mod sort;
pub mod target;
mod values;
mod window;

use planner::logical::Logical;
use planner::plan::Rel;
use types::Result;

use crate::expr::positioned;
use builder::{Builder, Built, Want};

impl Builder<'_> {
    /// The plan of an operator and all below it.
    pub fn build(&self, rel: Logical, want: &Want) -> Result<Built> {
        types::stack::with_room(|| operator(self, rel, want))
    }

    /// The operator with these columns and no others, in their order.
    pub fn build_exact(&self, rel: Logical, mut want: Want) -> Result<Built> {
        want.exact = true;
        let types = rel.output();
        let built = self.build(rel, &want)?;
        if built.layout == want.columns {
            return Ok(built);
        }
        let mut exprs = Vec::with_capacity(want.columns.len());
        for id in &want.columns {
            let column = types.iter().find(|column| column.id == *id);
            let column =
                column.ok_or_else(|| types::Error::internal("no expression computes a result column"))?;
            exprs.push(positioned(column.expr(), &built.layout)?);
        }
        Ok(Built {
            rel: Rel::Project {
                input: Box::new(built.rel),
                exprs,
            },
            layout: want.columns,
            ..built
        })
    }
}

fn operator(builder: &Builder<'_>, rel: Logical, want: &Want) -> Result<Built> {
    match rel {
        Logical::OneRow => Ok(values::one_row()),
        Logical::Get(get) => scan::build(builder, get, None, want),
        Logical::Values { columns, rows } => Ok(values::written(&columns, rows, &want.all_columns().0)),
        Logical::TableFunction(function) => Ok(values::table_function(function)),
        Logical::Filter { input, predicate } => filter::build(builder, *input, predicate, want),
        Logical::Project { input, columns } => project::build(builder, *input, columns, want),
        Logical::Join(join) => join::build(builder, join, want),
        Logical::Apply(apply) => apply::build(builder, apply, want),
        Logical::Aggregate {
            input,
            keys,
            aggregates,
            rollup,
        } => aggregate::build(builder, *input, keys, aggregates, rollup, want),
        Logical::Window { input, window, calls } => window::build(builder, *input, window, calls, want),
        Logical::Sort { input, keys } => sort::build(builder, *input, keys, want),
        Logical::Limit {
            input,
            offset: None,
            count: None,
        } => builder.build(*input, want),
        Logical::Limit { input, offset, count } => sort::limit(builder, *input, offset, count, want),
        Logical::Distinct { input } => project::distinct(builder, *input, want),
        Logical::SetOperation(operation) => set::operation(builder, operation, want),
        Logical::With { id, definition, body } => set::with(builder, id, *definition, *body, want),
        Logical::Recursive(recursive) => set::recursive(builder, recursive),
        Logical::CommonTable(table) => Ok(set::common_table(table)),
    }
}
