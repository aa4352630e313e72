//! Runs a query with its subqueries. Subqueries that return the same for all rows run before the query, which
//! uses their results as constants.

use std::sync::Arc;

use arrow::array::{ArrayRef, new_empty_array};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use datafusion_common::{Result, ScalarValue};
use datafusion_physical_expr::PhysicalExprRef;
use datafusion_physical_expr::expressions::Literal;
use executor::RowSink;
use planner::plan::{Apply, ApplyKind, QueryPlan, Rel};
use types::{Error, errno};

use crate::call::{Operation, call};
use crate::error::carry;
use crate::operators;
use crate::running::Running;
use crate::subquery_values::SubqueryValues;
use crate::translate::translate;

/// Runs a query. Its rows go to `sink` as they come.
pub async fn run_query(plan: &QueryPlan, running: &Running<'_>, sink: &mut dyn RowSink) -> Result<()> {
    let values = run_all(&plan.root, running).await?;
    let mut stream = running.start(translate(&plan.root, running, &values)?)?;
    while let Some(batch) = running.next_batch(&mut stream).await? {
        sink.batch(&to_output(batch, plan)?).map_err(carry)?;
    }
    Ok(())
}

/// Runs the subqueries of a plan.
async fn run_all(root: &Rel, running: &Running<'_>) -> Result<SubqueryValues> {
    let mut applies = Vec::new();
    that_run_once(root, &mut applies);
    let mut values = SubqueryValues::default();
    // From the inside out: a subquery may have subqueries.
    for apply in applies.into_iter().rev() {
        let columns = run_one(apply, &values, running).await?;
        values.insert(apply, columns);
    }
    Ok(values)
}

/// The subqueries that run before the query: those that take nothing of any row. The others are run by pipelines, with
/// all that is in them.
fn that_run_once<'r>(rel: &'r Rel, found: &mut Vec<&'r Apply>) {
    match rel {
        Rel::Apply(apply) if !apply.outer.is_empty() => that_run_once(&apply.input, found),
        _ => {
            if let Rel::Apply(apply) = rel {
                found.push(apply);
            }
            rel.inputs()
                .into_iter()
                .for_each(|input| that_run_once(input, found));
        }
    }
}

async fn run_one(
    apply: &Apply,
    inner: &SubqueryValues,
    running: &Running<'_>,
) -> Result<Vec<PhysicalExprRef>> {
    let is_scalar = matches!(apply.kind, ApplyKind::Scalar);
    let plan = translate(&apply.subquery, running, inner)?;
    let schema = plan.schema();
    let types = schema.fields().iter().map(|field| field.data_type());
    // A subquery is not run if there are no rows: it could raise warnings.
    if operators::is_empty(&translate(&apply.input, running, inner)?) {
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

/// The columns of the result, without hidden ones. Their types are those of the plan's operators: a DECIMAL
/// of the result may be text here.
fn to_output(batch: RecordBatch, plan: &QueryPlan) -> Result<RecordBatch> {
    let shown: Vec<usize> = (0..plan.columns.len()).collect();
    Ok(batch.project(&shown)?)
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
