//! WHERE and HAVING.

use functions::Expr;
use planner::logical::Logical;
use planner::plan::Rel;
use types::Result;

use super::builder::{Builder, Built, Want};
use super::scan;
use crate::expr::{ColumnList, positioned};

pub fn build(builder: &Builder<'_>, input: Logical, predicate: Expr, want: &Want) -> Result<Built> {
    match input {
        Logical::Get(get) => scan::build(builder, get, Some(predicate), want),
        Logical::Filter {
            input,
            predicate: below,
        } => {
            let both = functions::bind::call("and", vec![below, predicate], builder.env.types)?;
            build(builder, *input, both, want)
        }
        input => {
            let mut columns = ColumnList(want.columns.clone());
            columns.add_all(&predicate);
            let below = Want {
                columns: columns.0,
                ends_early: false,
                fetch: None,
                exact: false,
                groups: None,
                ..want.clone()
            };
            let built = builder.build(input, &below)?;
            Ok(Built {
                rel: Rel::Filter {
                    predicate: positioned(predicate, &built.layout)?,
                    input: Box::new(built.rel),
                },
                ..built
            })
        }
    }
}
