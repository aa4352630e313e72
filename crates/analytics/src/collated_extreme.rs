//! MIN and MAX of strings under a collation, and of JSON: by key, answering with the value. Of values with one key, the
//! first.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef, UInt64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr as DfExpr, Signature, Volatility,
};
use std::sync::Arc;

/// `MIN` or `MAX` of `value`, compared by `key` and then by `position`, an unsigned integer.
pub fn extreme(key: DfExpr, value: DfExpr, position: DfExpr, largest: bool) -> DfExpr {
    let function = CollatedExtreme {
        largest,
        signature: Signature::any(3, Volatility::Immutable),
    };
    AggregateUDF::from(function).call(vec![key, value, position])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CollatedExtreme {
    largest: bool,
    signature: Signature,
}

impl AggregateUDFImpl for CollatedExtreme {
    fn name(&self) -> &str {
        if self.largest {
            "collated_max"
        } else {
            "collated_min"
        }
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
            Arc::new(Field::new(
                format!("{}[position]", args.name),
                DataType::UInt64,
                true,
            )),
        ])
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Extreme {
            largest: self.largest,
            best: None,
        }))
    }
}

#[derive(Debug)]
struct Extreme {
    largest: bool,
    best: Option<Best>,
}

#[derive(Debug)]
struct Best {
    key: Vec<u8>,
    value: String,
    position: u64,
}

impl Extreme {
    fn is_better(&self, key: &[u8], position: u64) -> bool {
        let Some(best) = &self.best else { return true };
        let order = if self.largest {
            best.key.as_slice().cmp(key)
        } else {
            key.cmp(&best.key)
        };
        order.then(position.cmp(&best.position)).is_lt()
    }
}

impl Accumulator for Extreme {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (keys, texts) = (values[0].as_binary::<i32>(), values[1].as_string::<i32>());
        let positions = values[2].as_primitive::<UInt64Type>();
        for row in (0..keys.len()).filter(|&row| keys.is_valid(row)) {
            let (key, position) = (keys.value(row), positions.value(row));
            if self.is_better(key, position) {
                self.best = Some(Best {
                    key: key.to_vec(),
                    value: texts.value(row).to_owned(),
                    position,
                });
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let best = self.best.as_ref();
        Ok(vec![
            ScalarValue::Binary(best.map(|b| b.key.clone())),
            ScalarValue::Utf8(best.map(|b| b.value.clone())),
            ScalarValue::UInt64(best.map(|b| b.position)),
        ])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Utf8(self.best.as_ref().map(|b| b.value.clone())))
    }

    fn size(&self) -> usize {
        size_of_val(self)
            + self
                .best
                .as_ref()
                .map_or(0, |b| b.key.capacity() + b.value.capacity())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryArray, StringArray, UInt64Array};

    use super::*;

    /// The answer for rows given as key, text and position, split over two accumulators.
    fn answer(largest: bool, rows: &[(&str, &str, u64)]) -> ScalarValue {
        let mut parts: Vec<Extreme> = (0..2).map(|_| Extreme { largest, best: None }).collect();
        for (number, (key, text, position)) in rows.iter().enumerate() {
            let columns: Vec<ArrayRef> = vec![
                Arc::new(BinaryArray::from(vec![key.as_bytes()])),
                Arc::new(StringArray::from(vec![*text])),
                Arc::new(UInt64Array::from(vec![*position])),
            ];
            parts[number % 2].update_batch(&columns).unwrap();
        }
        let state: Vec<ArrayRef> = parts[1]
            .state()
            .unwrap()
            .iter()
            .map(|s| s.to_array().unwrap())
            .collect();
        parts[0].merge_batch(&state).unwrap();
        parts[0].evaluate().unwrap()
    }

    #[test]
    fn the_first_of_equal_strings_wins_wherever_it_was_read() {
        let rows = [("a", "A", 5), ("a", "a", 2), ("b", "B", 9), ("b", "b", 8)];
        assert_eq!(answer(false, &rows), ScalarValue::from("a"));
        assert_eq!(answer(true, &rows), ScalarValue::from("b"));
    }

    #[test]
    fn nothing_has_no_extreme() {
        assert_eq!(answer(false, &[]), ScalarValue::Utf8(None));
    }
}
