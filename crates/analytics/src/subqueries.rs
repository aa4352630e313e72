//! Subqueries that give the same for all rows. They run before the query, which takes their values as
//! constants.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, new_empty_array};
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_physical_expr::PhysicalExprRef;
use datafusion_physical_expr::expressions::Literal;
use planner::plan::{Apply, ApplyKind, Rel};
use types::{Error, errno};

use crate::call::{Operation, call};
use crate::error::carry;
use crate::operators;
use crate::running::Running;

/// The values of subqueries.
#[derive(Debug, Default)]
pub struct Subqueries {
    /// The columns that each Apply adds to its input's. The key is the operator's address.
    values: HashMap<*const Apply, Vec<PhysicalExprRef>>,
}

impl Subqueries {
    /// Runs the subqueries of a plan.
    pub async fn run(root: &Rel, running: &Running<'_>) -> Result<Self> {
        let mut applies = Vec::new();
        root.walk(&mut |rel| {
            if let Rel::Apply(apply) = rel {
                applies.push(apply);
            }
        });
        let mut subqueries = Self::default();
        // From the inside out: a subquery may have subqueries.
        for apply in applies.into_iter().rev() {
            let values = value(apply, &subqueries, running).await?;
            subqueries.values.insert(std::ptr::from_ref(apply), values);
        }
        Ok(subqueries)
    }

    /// The columns that the operator adds to its input's.
    pub fn values(&self, apply: &Apply) -> Result<Vec<PhysicalExprRef>> {
        let values = self.values.get(&std::ptr::from_ref(apply));
        values
            .cloned()
            .ok_or_else(|| carry(Error::internal("a subquery that has not run")))
    }
}

async fn value(apply: &Apply, inner: &Subqueries, running: &Running<'_>) -> Result<Vec<PhysicalExprRef>> {
    let is_scalar = matches!(apply.kind, ApplyKind::Scalar);
    let plan = running.translate(&apply.subquery, inner)?;
    let schema = plan.schema();
    let types = schema.fields().iter().map(|field| field.data_type());
    // It is not run for no rows: it could warn.
    if operators::is_empty(&running.translate(&apply.input, inner)?) {
        let nulls = types.map(|ty| ScalarValue::try_from(ty).map(literal));
        return if is_scalar {
            nulls.collect()
        } else {
            Ok(vec![literal(ScalarValue::Int64(None))])
        };
    }
    let enough = if is_scalar { 2 } else { 1 };
    let mut rows = 0;
    let mut first = None;
    let mut stream = running.start(operators::limit(plan, 0, Some(enough))?)?;
    while let Some(batch) = running.next_batch(&mut stream).await? {
        rows += batch.num_rows();
        if first.is_none() && batch.num_rows() > 0 {
            first = Some(batch);
        }
    }
    if !is_scalar {
        return Ok(vec![literal(ScalarValue::Int64(Some(i64::from(rows > 0))))]);
    }
    if rows > 1 {
        return Ok(types.map(|ty| call(SecondRow(ty.clone()), Vec::new())).collect());
    }
    let values: Vec<ScalarValue> = match first {
        Some(batch) => {
            let columns = batch.columns().iter();
            columns
                .map(|column| ScalarValue::try_from_array(column, 0))
                .collect::<Result<_>>()?
        }
        None => types.map(ScalarValue::try_from).collect::<Result<_>>()?,
    };
    Ok(values.into_iter().map(literal).collect())
}

fn literal(value: ScalarValue) -> PhysicalExprRef {
    Arc::new(Literal::new(value))
}

/// A column of a subquery that has more than one row. That is an error only if some row needs it.
#[derive(Debug)]
struct SecondRow(DataType);

impl Operation for SecondRow {
    fn data_type(&self) -> DataType {
        self.0.clone()
    }

    fn apply(&self, _: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
        if rows == 0 {
            return Ok(new_empty_array(&self.0));
        }
        Err(carry(Error::new(
            errno::ER_SUBQUERY_NO_1_ROW,
            "Subquery returns more than 1 row",
        )))
    }
}
