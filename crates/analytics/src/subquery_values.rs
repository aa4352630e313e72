//! The results of a plan's subqueries.

use std::collections::HashMap;

use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExprRef;
use planner::plan::Apply;
use types::Error;

use crate::error::carry;

/// The columns that each Apply adds to its input's. The key is the operator's address.
#[derive(Debug, Default)]
pub struct SubqueryValues(HashMap<*const Apply, Vec<PhysicalExprRef>>);

impl SubqueryValues {
    pub fn insert(&mut self, apply: &Apply, columns: Vec<PhysicalExprRef>) {
        self.0.insert(std::ptr::from_ref(apply), columns);
    }

    pub fn of(&self, apply: &Apply) -> Result<Vec<PhysicalExprRef>> {
        let columns = self.0.get(&std::ptr::from_ref(apply));
        columns
            .cloned()
            .ok_or_else(|| carry(Error::internal("a subquery that has not run")))
    }
}
