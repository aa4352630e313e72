//! Our expressions as DataFusion's: a whole tree becomes one call over the columns that it reads.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion_common::{Result, ScalarValue};
use datafusion_physical_expr::PhysicalExprRef;
use datafusion_physical_expr::expressions::Literal;
use functions::{EvalContext, Expr};

use crate::call::{Operation, call};
use crate::columns::schema_of;
use crate::error::carry;

/// The value of an expression whose columns are `inputs`.
pub fn value(expr: &Expr, inputs: &[PhysicalExprRef], eval: &Arc<EvalContext>) -> Result<PhysicalExprRef> {
    match expr {
        Expr::Column { index, .. } => input(inputs, *index),
        _ => computed(expr, inputs, eval, Output::Value),
    }
}

/// The truth of a condition. NULL counts as false.
pub fn predicate(
    condition: &Expr,
    inputs: &[PhysicalExprRef],
    eval: &Arc<EvalContext>,
) -> Result<PhysicalExprRef> {
    let condition = functions::arranged(functions::hoist(condition, eval), eval);
    computed(&condition, inputs, eval, Output::Truth)
}

fn input(inputs: &[PhysicalExprRef], index: usize) -> Result<PhysicalExprRef> {
    inputs.get(index).cloned().ok_or_else(|| {
        carry(types::Error::internal(format_args!(
            "column {index} of {}",
            inputs.len()
        )))
    })
}

fn computed(
    expr: &Expr,
    inputs: &[PhysicalExprRef],
    eval: &Arc<EvalContext>,
    output: Output,
) -> Result<PhysicalExprRef> {
    let mut columns = Vec::new();
    expr.walk(&mut |e| {
        if let Expr::Column { index, ty, .. } = e
            && !columns.iter().any(|(i, _)| i == index)
        {
            columns.push((*index, *ty));
        }
    });
    let mut local = expr.clone();
    // Each index is in the list, which was just made from the same expression.
    local.map_columns(&|index| columns.iter().position(|(i, _)| *i == index).unwrap_or(0));
    let computed = Computed {
        schema: schema_of(columns.iter().map(|(_, ty)| *ty)),
        expr: local,
        eval: eval.clone(),
        output,
        volatile: !functions::is_deterministic(expr),
    };
    // An expression that warns must be evaluated for each row.
    if columns.is_empty()
        && !computed.volatile
        && functions::is_silent(expr, eval)
        && let Ok(constant) = computed.apply(Vec::new(), 1)
    {
        return Ok(Arc::new(Literal::new(ScalarValue::try_from_array(&constant, 0)?)));
    }
    let arguments = columns.iter().map(|(index, _)| input(inputs, *index));
    Ok(call(computed, arguments.collect::<Result<_>>()?))
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Output {
    Value,
    Truth,
}

struct Computed {
    /// The schema of the arguments.
    schema: SchemaRef,
    /// The expression; its columns are the arguments.
    expr: Expr,
    eval: Arc<EvalContext>,
    output: Output,
    volatile: bool,
}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.output {
            Output::Value => "value",
            Output::Truth => "truth",
        })
    }
}

impl Operation for Computed {
    fn data_type(&self) -> DataType {
        match self.output {
            Output::Value => self.expr.ty().arrow_type(),
            Output::Truth => DataType::Boolean,
        }
    }

    fn is_volatile(&self) -> bool {
        self.volatile
    }

    fn apply(&self, arguments: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
        let rows = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arguments, &rows)?;
        match self.output {
            Output::Truth => {
                let truth = functions::eval_predicate(&self.expr, &batch, &self.eval).map_err(carry)?;
                Ok(Arc::new(without_nulls(truth)))
            }
            Output::Value => functions::eval_array(&self.expr, &batch, &self.eval).map_err(carry),
        }
    }
}

/// NULL counts as false. It is replaced here, so that no operator has to.
fn without_nulls(truth: BooleanArray) -> BooleanArray {
    if truth.null_count() == 0 {
        truth
    } else {
        truth.iter().map(|v| Some(v.unwrap_or(false))).collect()
    }
}
