//! The aggregate functions that DataFusion is given, over the few types that our values have in Arrow.
//!
//! Ours because DataFusion's own come with all others that it has and with types that nothing here uses, two minutes of
//! compilation, and because the first value and the extremes by key are faster this way.

mod best;
mod count;
mod distinct;
mod sum;
mod ungrouped;

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::datatypes::{
    ArrowNativeTypeOp, ArrowNumericType, DataType, Decimal128Type, Decimal256Type, Field, FieldRef,
    Float64Type, Int64Type, UInt64Type,
};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op::PrimitiveGroupsAccumulator;
use datafusion_functions_aggregate_common::min_max::{MaxAccumulator, MinAccumulator};
use types::Error;

use crate::error::carry;
use best::{Best, Choice};
use count::{Count, Counts};
use sum::Sum;
use ungrouped::Ungrouped;

/// What is made of a group's rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Function {
    /// How many of the argument are not NULL.
    Count,
    /// In the given type, which has the argument's representation: DOUBLE, or DECIMAL in 128 or 256 bits.
    Sum(DataType),
    /// The least of numbers.
    Least,
    Greatest,
    /// Of (value, position): the value of the row with the least position.
    First,
    /// Of (key, value, position): the value of the least key, of equal ones that of the least position. NULL is no key.
    LeastByKey,
    GreatestByKey,
}

/// Whether [`Function::Least`] and [`Function::Greatest`] know the type.
pub fn is_number(ty: &DataType) -> bool {
    use DataType::{Decimal128, Decimal256, Float64, Int64, UInt64};
    matches!(ty, Int64 | UInt64 | Float64 | Decimal128(..) | Decimal256(..))
}

impl Function {
    pub fn aggregate(&self) -> Arc<AggregateUDF> {
        let arguments = match self {
            Self::Count | Self::Sum(_) | Self::Least | Self::Greatest => 1,
            Self::First => 2,
            Self::LeastByKey | Self::GreatestByKey => 3,
        };
        Arc::new(AggregateUDF::from(Aggregate {
            function: self.clone(),
            signature: Signature::any(arguments, Volatility::Immutable),
        }))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Aggregate {
    function: Function,
    signature: Signature,
}

impl AggregateUDFImpl for Aggregate {
    fn name(&self) -> &str {
        match self.function {
            Function::Count => "count",
            Function::Sum(_) => "sum",
            Function::Least => "least",
            Function::Greatest => "greatest",
            Function::First => "first",
            Function::LeastByKey => "least_by_key",
            Function::GreatestByKey => "greatest_by_key",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(match &self.function {
            Function::Count => DataType::Int64,
            Function::Sum(ty) => ty.clone(),
            Function::Least | Function::Greatest | Function::First => arguments[0].clone(),
            Function::LeastByKey | Function::GreatestByKey => arguments[1].clone(),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |part: &str, ty| Arc::new(Field::new(format!("{}[{part}]", args.name), ty, true));
        let result = args.return_type().clone();
        if args.is_distinct {
            let item = match self.function {
                Function::Count => args.input_fields[0].data_type().clone(),
                _ => result,
            };
            return Ok(vec![field("distinct", DataType::new_list(item, true))]);
        }
        let position = || field("position", DataType::UInt64);
        Ok(match self.function {
            Function::Count | Function::Sum(_) | Function::Least | Function::Greatest => {
                vec![field("result", result)]
            }
            Function::First => vec![field("value", result), position()],
            Function::LeastByKey | Function::GreatestByKey => {
                vec![field("key", DataType::Binary), field("value", result), position()]
            }
        })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let ty = args.return_type();
        Ok(match self.function {
            Function::Count if args.is_distinct => distinct::count(args.expr_fields[0].data_type())?,
            Function::Sum(_) if args.is_distinct => distinct::sum(ty)?,
            Function::Count => Box::new(Count::default()),
            Function::Sum(_) => match ty {
                DataType::Float64 => Box::new(Sum::<Float64Type>::new(ty)),
                DataType::Decimal128(..) => Box::new(Sum::<Decimal128Type>::new(ty)),
                DataType::Decimal256(..) => Box::new(Sum::<Decimal256Type>::new(ty)),
                other => return Err(unknown(self.name(), other)),
            },
            Function::Least => Box::new(MinAccumulator::try_new(ty)?),
            Function::Greatest => Box::new(MaxAccumulator::try_new(ty)?),
            Function::First => Box::new(Ungrouped(Best::new(Choice::First, ty))),
            Function::LeastByKey => Box::new(Ungrouped(Best::new(Choice::Least, ty))),
            Function::GreatestByKey => Box::new(Ungrouped(Best::new(Choice::Greatest, ty))),
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        match self.function {
            Function::Count if args.is_distinct => {
                distinct::has_grouped_count(args.expr_fields[0].data_type())
            }
            _ => !args.is_distinct,
        }
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let ty = args.return_type();
        Ok(match self.function {
            Function::Count if args.is_distinct => distinct::grouped_count(args.expr_fields[0].data_type())?,
            Function::Count => Box::new(Counts::default()),
            Function::Sum(_) => match ty {
                DataType::Float64 => sums::<Float64Type>(ty),
                DataType::Decimal128(..) => sums::<Decimal128Type>(ty),
                DataType::Decimal256(..) => sums::<Decimal256Type>(ty),
                other => return Err(unknown(self.name(), other)),
            },
            Function::Least | Function::Greatest => {
                let keep = match self.function {
                    Function::Least => Ordering::Less,
                    _ => Ordering::Greater,
                };
                match ty {
                    DataType::Int64 => extremes::<Int64Type>(ty, keep),
                    DataType::UInt64 => extremes::<UInt64Type>(ty, keep),
                    DataType::Float64 => extremes::<Float64Type>(ty, keep),
                    DataType::Decimal128(..) => extremes::<Decimal128Type>(ty, keep),
                    DataType::Decimal256(..) => extremes::<Decimal256Type>(ty, keep),
                    other => return Err(unknown(self.name(), other)),
                }
            }
            Function::First => Box::new(Best::new(Choice::First, ty)),
            Function::LeastByKey => Box::new(Best::new(Choice::Least, ty)),
            Function::GreatestByKey => Box::new(Best::new(Choice::Greatest, ty)),
        })
    }

    fn default_value(&self, ty: &DataType) -> Result<ScalarValue> {
        match self.function {
            Function::Count => Ok(ScalarValue::Int64(Some(0))),
            _ => ScalarValue::try_from(ty),
        }
    }

    fn is_descending(&self) -> Option<bool> {
        match self.function {
            Function::Least => Some(false),
            Function::Greatest => Some(true),
            _ => None,
        }
    }
}

fn sums<T: ArrowNumericType + Send>(ty: &DataType) -> Box<dyn GroupsAccumulator> {
    let add = |sum: &mut T::Native, value: T::Native| *sum = sum.add_wrapping(value);
    Box::new(PrimitiveGroupsAccumulator::<T, _>::new(ty, add))
}

/// `keep`: how a value compares with the one so far if it is to replace it.
fn extremes<T: ArrowNumericType + Send>(ty: &DataType, keep: Ordering) -> Box<dyn GroupsAccumulator> {
    let start = match keep {
        Ordering::Less => T::Native::MAX_TOTAL_ORDER,
        _ => T::Native::MIN_TOTAL_ORDER,
    };
    // What it starts with is no number among doubles.
    let choose = move |best: &mut T::Native, value: T::Native| {
        if value.partial_cmp(best).is_none_or(|order| order == keep) {
            *best = value;
        }
    };
    Box::new(PrimitiveGroupsAccumulator::<T, _>::new(ty, choose).with_starting_value(start))
}

fn unknown(function: &str, ty: &DataType) -> datafusion_common::DataFusionError {
    carry(Error::internal(format_args!("{function} of {ty}")))
}
