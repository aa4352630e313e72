//! MIN and MAX of strings under a collation: by sort key, answering with the string.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr as DfExpr, Signature, Volatility,
};
use std::sync::Arc;

/// `MIN` or `MAX` of `value`, compared by `key`.
pub fn extreme(key: DfExpr, value: DfExpr, largest: bool) -> DfExpr {
    let function = CollatedExtreme { largest, signature: Signature::any(2, Volatility::Immutable) };
    AggregateUDF::from(function).call(vec![key, value])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CollatedExtreme {
    largest: bool,
    signature: Signature,
}

impl AggregateUDFImpl for CollatedExtreme {
    fn name(&self) -> &str {
        if self.largest { "collated_max" } else { "collated_min" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        Ok(args[1].clone())
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let value = args.return_field.data_type().clone();
        Ok(vec![
            Arc::new(Field::new(format!("{}[key]", args.name), DataType::Binary, true)),
            Arc::new(Field::new(format!("{}[value]", args.name), value, true)),
        ])
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Extreme { largest: self.largest, best: None }))
    }
}

#[derive(Debug)]
struct Extreme {
    largest: bool,
    best: Option<(Vec<u8>, String)>,
}

impl Accumulator for Extreme {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (keys, texts) = (values[0].as_binary::<i32>(), values[1].as_string::<i32>());
        for row in (0..keys.len()).filter(|&row| keys.is_valid(row)) {
            let key = keys.value(row);
            let better = match &self.best {
                None => true,
                Some((best, _)) if self.largest => key > best.as_slice(),
                Some((best, _)) => key < best.as_slice(),
            };
            if better {
                self.best = Some((key.to_vec(), texts.value(row).to_owned()));
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (key, value) = self.best.clone().unzip();
        Ok(vec![ScalarValue::Binary(key), ScalarValue::Utf8(value)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Utf8(self.best.as_ref().map(|(_, value)| value.clone())))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.best.as_ref().map_or(0, |(k, v)| k.capacity() + v.capacity())
    }
}
