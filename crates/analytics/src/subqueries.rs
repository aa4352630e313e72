//! Subqueries that give the same for all rows. They run before the query, which takes their values as
//! constants.

use std::collections::HashMap;

use datafusion_common::{Result, ScalarValue};
use planner::plan::{Apply, ApplyKind, Rel};
use types::{Error, errno};

use crate::error::carry;
use crate::operators;
use crate::running::Running;

/// The values of subqueries.
#[derive(Debug, Default)]
pub struct Subqueries {
    /// The columns that each Apply adds to its input's. The key is the operator's address.
    values: HashMap<*const Apply, Vec<ScalarValue>>,
}

impl Subqueries {
    /// Runs the subqueries of a plan.
    ///
    /// # Errors
    /// 1242 for a second row where there must be one.
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
    pub fn values(&self, apply: &Apply) -> Result<&[ScalarValue]> {
        let values = self.values.get(&std::ptr::from_ref(apply));
        values
            .map(Vec::as_slice)
            .ok_or_else(|| carry(Error::internal("a subquery that has not run")))
    }
}

async fn value(apply: &Apply, inner: &Subqueries, running: &Running<'_>) -> Result<Vec<ScalarValue>> {
    let is_scalar = matches!(apply.kind, ApplyKind::Scalar);
    let plan = running.translate(&apply.subquery, inner)?;
    let types: Vec<_> = plan
        .schema()
        .fields()
        .iter()
        .map(|field| field.data_type().clone())
        .collect();
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
        return Ok(vec![ScalarValue::Int64(Some(i64::from(rows > 0)))]);
    }
    if rows > 1 {
        return Err(carry(Error::new(
            errno::ER_SUBQUERY_NO_1_ROW,
            "Subquery returns more than 1 row",
        )));
    }
    match first {
        Some(batch) => batch
            .columns()
            .iter()
            .map(|column| ScalarValue::try_from_array(column, 0))
            .collect(),
        None => types.iter().map(ScalarValue::try_from).collect(),
    }
}
