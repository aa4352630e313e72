//! The value of that row of each group which comes first, or has the least or greatest key.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BooleanArray, UInt64Array};
use arrow::datatypes::{DataType, UInt64Type};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{EmitTo, GroupsAccumulator};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::nulls::{
    filtered_null_mask, set_nulls_dyn,
};

/// Which row it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// That of the least position.
    First,
    /// That of the least key; of equal keys, of the least position.
    Least,
    Greatest,
}

/// Arguments and state are the same columns: the key unless the choice is [`Choice::First`], the value, the position.
/// A row whose key or position is NULL is none.
#[derive(Debug)]
pub struct Best {
    choice: Choice,
    value_type: DataType,
    rows: Vec<Option<Row>>,
    /// That the rows have allocated.
    bytes: usize,
}

#[derive(Debug)]
struct Row {
    key: Box<[u8]>,
    position: u64,
    value: ScalarValue,
}

impl Row {
    fn bytes(&self) -> usize {
        self.key.len() + self.value.size() - size_of::<ScalarValue>()
    }
}

impl Best {
    pub fn new(choice: Choice, value_type: &DataType) -> Self {
        Self {
            choice,
            value_type: value_type.clone(),
            rows: Vec::new(),
            bytes: 0,
        }
    }

    fn take(&mut self, emit: EmitTo) -> Vec<Option<Row>> {
        let rows = emit.take_needed(&mut self.rows);
        self.bytes -= rows.iter().flatten().map(Row::bytes).sum::<usize>();
        rows
    }

    fn values(&self, rows: &[Option<Row>]) -> Result<ArrayRef> {
        let null = ScalarValue::try_from(&self.value_type)?;
        if rows.is_empty() {
            return Ok(arrow::array::new_empty_array(&self.value_type));
        }
        let value = |row: &Option<Row>| row.as_ref().map_or_else(|| null.clone(), |row| row.value.clone());
        ScalarValue::iter_to_array(rows.iter().map(value))
    }
}

impl Choice {
    fn prefers(self, key: &[u8], position: u64, to: &Row) -> bool {
        let order = match self {
            Self::First => Ordering::Equal,
            Self::Least => key.cmp(&to.key),
            Self::Greatest => to.key.as_ref().cmp(key),
        };
        order.then(position.cmp(&to.position)).is_lt()
    }
}

impl GroupsAccumulator for Best {
    fn update_batch(
        &mut self,
        columns: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total_groups: usize,
    ) -> Result<()> {
        self.rows.resize_with(total_groups, || None);
        let (keys, columns) = match self.choice {
            Choice::First => (None, columns),
            _ => (Some(columns[0].as_binary::<i32>()), &columns[1..]),
        };
        let (values, positions) = (&columns[0], columns[1].as_primitive::<UInt64Type>());
        for (index, &group) in groups.iter().enumerate() {
            if positions.is_null(index)
                || keys.is_some_and(|keys| keys.is_null(index))
                || filter.is_some_and(|filter| filter.is_null(index) || !filter.value(index))
            {
                continue;
            }
            let key = keys.map_or(&[][..], |keys| keys.value(index));
            let position = positions.value(index);
            let best = &mut self.rows[group];
            if best
                .as_ref()
                .is_some_and(|best| !self.choice.prefers(key, position, best))
            {
                continue;
            }
            let row = Row {
                key: key.into(),
                position,
                value: ScalarValue::try_from_array(values, index)?,
            };
            self.bytes += row.bytes();
            self.bytes -= best.replace(row).map_or(0, |old| old.bytes());
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total_groups: usize) -> Result<()> {
        self.update_batch(states, groups, None, total_groups)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let rows = self.take(emit);
        self.values(&rows)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let rows = self.take(emit);
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(3);
        if self.choice != Choice::First {
            let keys = rows.iter().map(|row| row.as_ref().map(|row| row.key.as_ref()));
            columns.push(Arc::new(keys.collect::<BinaryArray>()));
        }
        columns.push(self.values(&rows)?);
        let positions = rows.iter().map(|row| row.as_ref().map(|row| row.position));
        columns.push(Arc::new(positions.collect::<UInt64Array>()));
        Ok(columns)
    }

    fn convert_to_state(&self, columns: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut columns = columns.to_vec();
        if let (Some(_), Some(positions)) = (filter, columns.last_mut()) {
            *positions = set_nulls_dyn(positions.as_ref(), filtered_null_mask(filter, positions.as_ref()))?;
        }
        Ok(columns)
    }

    fn size(&self) -> usize {
        self.rows.capacity() * size_of::<Option<Row>>() + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;

    use super::*;

    /// The answer for rows given as key, text and position, split over two accumulators.
    fn answer(choice: Choice, rows: &[(&str, &str, u64)]) -> ArrayRef {
        let mut parts: Vec<Best> = (0..2).map(|_| Best::new(choice, &DataType::Utf8)).collect();
        for (number, (key, text, position)) in rows.iter().enumerate() {
            let mut columns: Vec<ArrayRef> = vec![
                Arc::new(BinaryArray::from(vec![key.as_bytes()])),
                Arc::new(StringArray::from(vec![*text])),
                Arc::new(UInt64Array::from(vec![*position])),
            ];
            if choice == Choice::First {
                columns.remove(0);
            }
            let group = usize::from(*key >= "x");
            parts[number % 2]
                .update_batch(&columns, &[group], None, 2)
                .unwrap();
        }
        let state = parts[1].state(EmitTo::All).unwrap();
        assert_eq!(parts[1].bytes, 0);
        if !state[0].is_empty() {
            parts[0].merge_batch(&state, &[0, 1], 2).unwrap();
        }
        parts[0].evaluate(EmitTo::All).unwrap()
    }

    fn texts(texts: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(texts.to_vec()))
    }

    const ROWS: [(&str, &str, u64); 6] = [
        ("a", "A", 5),
        ("a", "a", 2),
        ("b", "B", 9),
        ("b", "b", 8),
        ("x", "X", 7),
        ("b", "bb", 8),
    ];

    #[test]
    fn the_first_of_equal_strings_wins_wherever_it_was_read() {
        let (least, greatest) = (texts(&[Some("a"), Some("X")]), texts(&[Some("b"), Some("X")]));
        assert_eq!(&answer(Choice::Least, &ROWS), &least);
        assert_eq!(&answer(Choice::Greatest, &ROWS), &greatest);
        assert_eq!(&answer(Choice::First, &ROWS), &least);
    }

    #[test]
    fn nothing_has_no_extreme() {
        assert!(answer(Choice::Least, &[]).is_empty());
        assert_eq!(&answer(Choice::First, &ROWS[4..5]), &texts(&[None, Some("X")]));
    }

    #[test]
    fn rows_without_a_key_are_none() {
        let mut best = Best::new(Choice::Least, &DataType::Utf8);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(BinaryArray::from(vec![None, Some(&b"k"[..]), None])),
            texts(&[None, Some("K"), None]),
            Arc::new(UInt64Array::from(vec![1, 2, 3])),
        ];
        best.update_batch(&columns, &[0, 1, 1], None, 2).unwrap();
        assert_eq!(
            &best.evaluate(EmitTo::First(2)).unwrap(),
            &texts(&[None, Some("K")])
        );
    }
}
