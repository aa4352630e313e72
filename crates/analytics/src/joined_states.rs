//! Aggregates computed by `functions`: each part of the rows has an accumulator, whose states are joined.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr as DfExpr, Signature, Volatility,
};
use functions::EvalContext;
use functions::aggregate::AggregateCall;
use types::array::ColumnBuilder;

use crate::error::carry;

/// The call on `args`: those of the call itself, and where each row stands, an unsigned integer.
pub fn aggregate(call: &AggregateCall, args: Vec<DfExpr>, eval: &Arc<EvalContext>) -> DfExpr {
    let function = JoinedStates {
        id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        call: call.clone(),
        eval: eval.clone(),
        signature: Signature::any(args.len(), Volatility::Immutable),
    };
    AggregateUDF::from(function).call(args)
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

struct JoinedStates {
    /// Two aggregates are the same only if they are one.
    id: u64,
    call: AggregateCall,
    eval: Arc<EvalContext>,
    signature: Signature,
}

impl std::fmt::Debug for JoinedStates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinedStates").field("call", &self.call).finish()
    }
}

impl PartialEq for JoinedStates {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for JoinedStates {}

impl Hash for JoinedStates {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl AggregateUDFImpl for JoinedStates {
    fn name(&self) -> &str {
        self.call.function.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.call.ty.arrow_type())
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let name = format!("{}[state]", args.name);
        Ok(vec![Arc::new(Field::new(name, DataType::LargeBinary, true))])
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Joined {
            inner: functions::aggregate::Accumulator::new(&self.call).map_err(carry)?,
            call: self.call.clone(),
            eval: self.eval.clone(),
        }))
    }
}

struct Joined {
    inner: functions::aggregate::Accumulator,
    call: AggregateCall,
    eval: Arc<EvalContext>,
}

impl std::fmt::Debug for Joined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl Accumulator for Joined {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |array| array.len());
        self.inner.update(values, rows, None, &self.eval).map_err(carry)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for state in states[0].as_binary::<i64>().iter().flatten() {
            self.inner.merge(state, &self.eval).map_err(carry)?;
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::LargeBinary(Some(self.inner.state()))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.inner.evaluate(&self.eval).map_err(carry)?;
        let mut array = ColumnBuilder::new(&self.call.ty, 1);
        array.append(&value).map_err(carry)?;
        ScalarValue::try_from_array(&array.finish(), 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size_bytes()
    }
}
