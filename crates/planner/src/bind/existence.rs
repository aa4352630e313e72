//! `SELECT EXISTS (SELECT ...)`: whether a query has a row, which needs no more than a LIMIT and a count.

use functions::{Expr, bind};
use types::{Result, SqlType, Value};

use super::block::Block;
use super::output::Item;
use super::{Binder, BoundLimit, result_column, unsigned};
use crate::plan::{QueryPlan, Rel};
use syntax::ast::Query;

impl Binder<'_> {
    /// The plan of `SELECT EXISTS (inner)`; its column is called `name`.
    pub fn existence(&self, name: &str, inner: &Query) -> Result<QueryPlan> {
        let mut bound = self.bind_select(Block::of(inner)?)?;
        self.check_grouping(&bound)?;
        bound.order_by.clear();
        bound.counts_all_rows = false;
        if bound.limit.count.is_none() {
            bound.limit = BoundLimit {
                count: Some(unsigned(1)),
                ..BoundLimit::default()
            };
        }
        let plan = self.plan_query(bound, false)?;
        let rows = bind::aggregate("count", Vec::new(), false, &self.types)?;
        let counted = Expr::column(0, rows.ty, rows.nullable());
        let any = self.call(">", vec![counted, Expr::literal(Value::Int(0), SqlType::BIGINT)])?;
        let item = Item {
            expr: any.clone(),
            name: name.to_owned(),
            column: None,
        };
        Ok(QueryPlan {
            columns: vec![result_column(&item, &any, None)],
            root: Rel::Project {
                input: Box::new(Rel::Aggregate {
                    input: Box::new(plan.root),
                    keys: Vec::new(),
                    aggregates: vec![rows],
                }),
                exprs: vec![any],
            },
            ..plan
        })
    }
}
