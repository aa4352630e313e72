//! The aggregates of [`functions::aggregate`] as DataFusion calls them.
//!
//! Not here: what an aggregate means, and its inner loops. DataFusion's own aggregate functions stay out:
//! they have other types and rules than MySQL's, and take two minutes to compile.

mod distinct;
mod merged;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
};
use functions::aggregate::MergeableFunction;

use merged::{AllRows, Groups};

/// A function for DataFusion's operators.
pub fn aggregate(function: MergeableFunction) -> AggregateUDF {
    let arguments = 1 + usize::from(function.takes_positions());
    AggregateUDF::from(Aggregate {
        function,
        signature: Signature::any(arguments, Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Aggregate {
    function: MergeableFunction,
    signature: Signature,
}

impl AggregateUDFImpl for Aggregate {
    fn name(&self) -> &str {
        match self.function {
            MergeableFunction::Count => "count",
            MergeableFunction::Sum(_) => "sum",
            // Not "min" and "max": DataFusion asks those for their results before the last row, to filter
            // scans by them.
            MergeableFunction::Min(_) => "least",
            MergeableFunction::Max(_) => "greatest",
            MergeableFunction::First(_) => "first",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.function.result_type().arrow_type())
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |part: &str, ty| Arc::new(Field::new(format!("{}[{part}]", args.name), ty, true));
        if args.is_distinct {
            let item = args.input_fields[0].data_type().clone();
            return Ok(vec![field("distinct", DataType::new_list(item, true))]);
        }
        let types = self.function.state_types().into_iter();
        Ok(types.map(|(part, ty)| field(part, ty)).collect())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match (args.is_distinct, self.function) {
            (false, function) => Ok(Box::new(AllRows::new(function))),
            (true, MergeableFunction::Count) => distinct::count(args.expr_fields[0].data_type()),
            (true, function) => distinct::sum(function, args.expr_fields[0].data_type()),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
            || (self.function == MergeableFunction::Count
                && distinct::has_grouped_count(args.expr_fields[0].data_type()))
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        if args.is_distinct {
            return distinct::grouped_count(args.expr_fields[0].data_type());
        }
        Ok(Box::new(Groups::new(self.function)))
    }

    fn default_value(&self, ty: &DataType) -> Result<ScalarValue> {
        match self.function {
            MergeableFunction::Count => Ok(ScalarValue::Int64(Some(0))),
            _ => ScalarValue::try_from(ty),
        }
    }

    /// Whether a group's result only grows (`true`) or shrinks, and the groups with the first results can be
    /// found early.
    fn is_descending(&self) -> Option<bool> {
        match self.function {
            function if function.takes_positions() => None,
            MergeableFunction::Min(_) => Some(false),
            MergeableFunction::Max(_) => Some(true),
            _ => None,
        }
    }
}
