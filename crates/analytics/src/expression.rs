//! Our expressions as DataFusion functions.
//!
//! A whole expression tree becomes one function of the columns it reads. DataFusion sees which columns those are, and
//! nothing that it could coerce or simplify by rules that are not MySQL's.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr as DfExpr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, ident,
};
use functions::{EvalContext, Expr};

use crate::error::carry;
use crate::translate::{column_name, schema_of};

/// The value of an expression over input columns `c0, c1, ...`.
pub fn value(expr: &Expr, eval: &Arc<EvalContext>) -> DfExpr {
    match expr {
        Expr::Column { index, .. } => ident(column_name(*index)),
        _ => wrap(expr, eval, Output::Value),
    }
}

/// The truth of a condition: false where it is NULL.
pub fn predicate(condition: &Expr, eval: &Arc<EvalContext>) -> DfExpr {
    wrap(&functions::hoist(condition, eval), eval, Output::Truth)
}

fn wrap(expr: &Expr, eval: &Arc<EvalContext>, output: Output) -> DfExpr {
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
    // What warns for each row must not be made one value for all.
    let silent = !columns.is_empty() || functions::is_silent(expr, eval);
    let volatility = if silent && functions::is_deterministic(expr) {
        Volatility::Immutable
    } else {
        Volatility::Volatile
    };
    let arguments = columns
        .iter()
        .map(|(index, _)| ident(column_name(*index)))
        .collect();
    let function = Wrapped {
        id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        schema: schema_of(columns.iter().map(|(_, ty)| *ty)),
        expr: local,
        eval: eval.clone(),
        output,
        signature: Signature::variadic_any(volatility),
        nullary: Signature::nullary(volatility),
    };
    ScalarUDF::from(function).call(arguments)
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Output {
    Value,
    Truth,
}

struct Wrapped {
    /// Two wrapped expressions are the same only if they are one.
    id: u64,
    schema: arrow::datatypes::SchemaRef,
    expr: Expr,
    eval: Arc<EvalContext>,
    output: Output,
    signature: Signature,
    nullary: Signature,
}

impl std::fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.expr.fmt(f)
    }
}

impl PartialEq for Wrapped {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Wrapped {}

impl Hash for Wrapped {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl ScalarUDFImpl for Wrapped {
    fn name(&self) -> &str {
        "stemdb"
    }

    fn schema_name(&self, _: &[DfExpr]) -> Result<String> {
        Ok(format!("e{}", self.id))
    }

    fn signature(&self) -> &Signature {
        if self.schema.fields().is_empty() {
            &self.nullary
        } else {
            &self.signature
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.output {
            Output::Value => self.expr.ty().arrow_type(),
            Output::Truth => DataType::Boolean,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = args
            .args
            .iter()
            .map(|a| a.to_array(args.number_rows))
            .collect::<Result<Vec<_>>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(args.number_rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &rows)?;
        let array: ArrayRef = match self.output {
            Output::Truth => Arc::new(truth(
                functions::eval_predicate(&self.expr, &batch, &self.eval).map_err(carry)?,
            )),
            Output::Value => functions::eval_array(&self.expr, &batch, &self.eval).map_err(carry)?,
        };
        if columns_are_constant(&args) && array.len() == 1 {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?));
        }
        Ok(ColumnarValue::Array(array))
    }
}

fn columns_are_constant(args: &ScalarFunctionArgs) -> bool {
    args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)))
}

/// NULL counts as false, here rather than in each operator.
fn truth(array: BooleanArray) -> BooleanArray {
    if array.null_count() == 0 {
        array
    } else {
        array.iter().map(|v| Some(v.unwrap_or(false))).collect()
    }
}
