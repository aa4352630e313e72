//! MIN, MAX and ANY_VALUE of many groups.
//!
//! If several values compare as equal (strings with the same weights), the result is that of the group's
//! first row. If rows are read in parallel, a column of positions says which row is first.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, UInt64Array};
use arrow::datatypes::{
    ArrowNativeTypeOp, ArrowNumericType, DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type,
    UInt64Type,
};
use types::array::ColumnBuilder;
use types::{Error, Result, SqlType, Value};

use super::groups::{NonNullGroups, RowGroups, combine, take_first};
use crate::compare::compare;
use crate::datum::Datum;
use crate::eval::output::append;

/// Which of a group's values is the result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Choice {
    /// That of the first row, NULL or not.
    First,
    Least,
    Greatest,
}

/// Whether positions do not matter for a type, because values that compare as equal are identical.
pub(super) fn ignores_positions(ty: &SqlType) -> bool {
    use DataType::{Decimal128, Decimal256, Float64, Int64, UInt64};
    matches!(
        ty.arrow_type(),
        Int64 | UInt64 | Float64 | Decimal128(..) | Decimal256(..)
    )
}

/// The chosen value of each group.
#[derive(Debug)]
pub(super) enum Extremes {
    Int(Numbers<Int64Type>),
    UInt(Numbers<UInt64Type>),
    Double(Numbers<Float64Type>),
    Decimal128(Numbers<Decimal128Type>),
    Decimal256(Numbers<Decimal256Type>),
    Rows(Rows),
}

/// The same expression for every type of [`Numbers`].
macro_rules! of_numbers {
    ($extremes:expr, $numbers:ident => $result:expr, $rows:ident => $other:expr) => {
        match $extremes {
            Extremes::Int($numbers) => $result,
            Extremes::UInt($numbers) => $result,
            Extremes::Double($numbers) => $result,
            Extremes::Decimal128($numbers) => $result,
            Extremes::Decimal256($numbers) => $result,
            Extremes::Rows($rows) => $other,
        }
    };
}

impl Extremes {
    pub fn new(ty: SqlType, choice: Choice) -> Self {
        let keep = match choice {
            Choice::First => return Self::Rows(Rows::new(ty, choice)),
            Choice::Least => Ordering::Less,
            Choice::Greatest => Ordering::Greater,
        };
        match ty.arrow_type() {
            DataType::Int64 => Self::Int(Numbers::new(ty, keep)),
            DataType::UInt64 => Self::UInt(Numbers::new(ty, keep)),
            DataType::Float64 => Self::Double(Numbers::new(ty, keep)),
            DataType::Decimal128(..) => Self::Decimal128(Numbers::new(ty, keep)),
            DataType::Decimal256(..) => Self::Decimal256(Numbers::new(ty, keep)),
            _ => Self::Rows(Rows::new(ty, choice)),
        }
    }

    pub fn resize(&mut self, groups: usize) {
        of_numbers!(self, numbers => {
            numbers.grow_values(groups);
            numbers.non_null.resize(groups);
        }, rows => rows.resize(groups));
    }

    pub fn len(&self) -> usize {
        of_numbers!(self, numbers => numbers.values.len(), rows => rows.rows.len())
    }

    /// `args`: the values, and the positions of the rows if they are not in order. A row without a position
    /// is skipped. The columns of a state can be passed as arguments, too.
    pub fn update(&mut self, args: &[ArrayRef], groups: RowGroups<'_>, group_count: usize) -> Result<()> {
        let Some(values) = args.first() else { return Ok(()) };
        of_numbers!(self, numbers => numbers.update(values, groups, group_count), rows => {
            rows.resize(group_count);
            rows.update(values, args.get(1), groups)
        })
    }

    /// Adds the value of one row, NULL or not. The row comes after all others.
    #[inline]
    pub fn add(&mut self, group: usize, value: Datum<'_>) -> Result<()> {
        match (self, value) {
            (Self::Rows(rows), value) => {
                rows.offer(group, 0, value);
                Ok(())
            }
            (_, Datum::Null) => Ok(()),
            (Self::Int(numbers), Datum::Int(v)) => numbers.add(group, v),
            (Self::UInt(numbers), Datum::UInt(v)) => numbers.add(group, v),
            (Self::Double(numbers), Datum::Double(v)) => numbers.add(group, v),
            (Self::Decimal128(numbers), Datum::Decimal(v)) => {
                let v = v.rescale(numbers.ty.decimals).and_then(|v| v.unscaled.to_i128());
                numbers.add(group, v.ok_or_else(not_of_the_type)?)
            }
            (Self::Decimal256(numbers), Datum::Decimal(v)) => {
                let v = v.rescale(numbers.ty.decimals).ok_or_else(not_of_the_type)?;
                numbers.add(group, v.unscaled)
            }
            _ => Err(not_of_the_type()),
        }
    }

    /// A group's result; NULL if it has none.
    pub fn get(&self, group: usize) -> Result<Value> {
        of_numbers!(self, numbers => numbers.get(group), rows => {
            let row = rows.rows.get(group).and_then(Option::as_ref);
            Ok(row.map_or(Value::Null, |row| row.value.clone()))
        })
    }

    /// Removes the first groups, and returns their results.
    pub fn take(&mut self, groups: usize) -> Result<ArrayRef> {
        of_numbers!(self, numbers => Ok(numbers.take(groups)), rows => {
            let taken = rows.take(groups);
            values_of(&taken, &rows.ty)
        })
    }

    /// Removes the first groups, and returns their states, which can be arguments of [`Extremes::update`].
    pub fn take_state(&mut self, groups: usize) -> Result<Vec<ArrayRef>> {
        of_numbers!(self, numbers => Ok(vec![numbers.take(groups)]), rows => {
            let taken = rows.take(groups);
            let positions = taken.iter().map(|row| row.as_ref().map(|row| row.position));
            let positions: UInt64Array = positions.collect();
            Ok(vec![values_of(&taken, &rows.ty)?, Arc::new(positions)])
        })
    }

    pub fn size_bytes(&self) -> usize {
        of_numbers!(self, numbers => {
            numbers.values.capacity() * size_of_val(&numbers.start()) + numbers.non_null.size_bytes()
        }, rows => rows.rows.capacity() * size_of::<Option<Row>>() + rows.text_bytes)
    }
}

#[cold]
fn not_of_the_type() -> Error {
    Error::internal("MIN or MAX was given a value that is not of its type")
}

/// The least or greatest number of each group.
#[derive(Debug)]
pub(super) struct Numbers<T: ArrowNumericType> {
    ty: SqlType,
    /// How a number must compare with the current one to replace it.
    keep: Ordering,
    values: Vec<T::Native>,
    non_null: NonNullGroups,
}

impl<T: ArrowNumericType> Numbers<T> {
    fn new(ty: SqlType, keep: Ordering) -> Self {
        Self {
            ty,
            keep,
            values: Vec::new(),
            non_null: NonNullGroups::default(),
        }
    }

    /// The initial value of a group, which any number replaces or equals. For doubles it is a NaN, which does
    /// not compare with any number.
    fn start(&self) -> T::Native {
        match self.keep {
            Ordering::Less => T::Native::MAX_TOTAL_ORDER,
            _ => T::Native::MIN_TOTAL_ORDER,
        }
    }

    fn grow_values(&mut self, groups: usize) {
        if groups > self.values.len() {
            self.values.resize(groups, self.start());
        }
    }

    fn update(&mut self, values: &ArrayRef, groups: RowGroups<'_>, group_count: usize) -> Result<()> {
        let values = values.as_primitive_opt::<T>().ok_or_else(not_of_the_type)?;
        self.grow_values(group_count);
        self.non_null.update(values, groups, group_count);
        // Two loops, so that the direction is not checked for each row.
        let done = match self.keep {
            Ordering::Less => combine(&mut self.values, values, groups, |best, v| {
                Some(if v.partial_cmp(&best).is_none_or(Ordering::is_lt) {
                    v
                } else {
                    best
                })
            }),
            _ => combine(&mut self.values, values, groups, |best, v| {
                Some(if v.partial_cmp(&best).is_none_or(Ordering::is_gt) {
                    v
                } else {
                    best
                })
            }),
        };
        done.ok_or_else(not_of_the_type)
    }

    #[inline]
    fn add(&mut self, group: usize, value: T::Native) -> Result<()> {
        if let Some(best) = self.values.get_mut(group)
            && value.partial_cmp(best).is_none_or(|order| order == self.keep)
        {
            *best = value;
        }
        self.non_null.set(group);
        Ok(())
    }

    fn get(&self, group: usize) -> Result<Value> {
        match self.values.get(group).filter(|_| self.non_null.get(group)) {
            None => Ok(Value::Null),
            Some(value) => {
                let one = PrimitiveArray::<T>::from_value(*value, 1).with_data_type(self.ty.arrow_type());
                Ok(Datum::at(&one, 0)?.to_value())
            }
        }
    }

    fn take(&mut self, groups: usize) -> ArrayRef {
        let nulls = self.non_null.take(groups);
        let values = PrimitiveArray::<T>::new(take_first(&mut self.values, groups).into(), nulls);
        Arc::new(values.with_data_type(self.ty.arrow_type()))
    }
}

/// The chosen row of each group, for types whose values are compared one by one.
#[derive(Debug)]
pub(super) struct Rows {
    ty: SqlType,
    choice: Choice,
    rows: Vec<Option<Row>>,
    text_bytes: usize,
}

#[derive(Debug)]
struct Row {
    position: u64,
    value: Value,
}

impl Row {
    fn text_bytes(&self) -> usize {
        self.value.as_bytes().map_or(0, <[u8]>::len)
    }
}

impl Rows {
    fn new(ty: SqlType, choice: Choice) -> Self {
        Self {
            ty,
            choice,
            rows: Vec::new(),
            text_bytes: 0,
        }
    }

    fn resize(&mut self, groups: usize) {
        if groups > self.rows.len() {
            self.rows.resize_with(groups, || None);
        }
    }

    fn update(
        &mut self,
        values: &ArrayRef,
        positions: Option<&ArrayRef>,
        groups: RowGroups<'_>,
    ) -> Result<()> {
        let ignores_nulls = self.choice != Choice::First;
        if ignores_nulls && values.logical_null_count() == values.len() {
            return Ok(());
        }
        let positions = positions.map(|positions| positions.as_primitive::<UInt64Type>());
        for (row, group) in groups.rows() {
            let position = match positions {
                None => 0,
                Some(positions) if positions.is_null(row) => continue,
                Some(positions) => positions.value(row),
            };
            // Most rows of a group are not its first, and their values are not read.
            let has_earlier = |best: &Row| best.position <= position;
            let best = self.rows.get(group).and_then(Option::as_ref);
            if self.choice == Choice::First && best.is_some_and(has_earlier) {
                continue;
            }
            self.offer(group, position, Datum::at(values.as_ref(), row)?);
        }
        Ok(())
    }

    fn offer(&mut self, group: usize, position: u64, value: Datum<'_>) {
        let Some(best) = self.rows.get_mut(group) else {
            return;
        };
        if !self.choice.prefers(&value, position, best.as_ref(), &self.ty) {
            return;
        }
        let row = Row {
            position,
            value: value.to_value(),
        };
        self.text_bytes += row.text_bytes();
        self.text_bytes -= best.replace(row).map_or(0, |old| old.text_bytes());
    }

    fn take(&mut self, groups: usize) -> Vec<Option<Row>> {
        let taken = take_first(&mut self.rows, groups);
        self.text_bytes -= taken.iter().flatten().map(Row::text_bytes).sum::<usize>();
        taken
    }
}

impl Choice {
    /// Whether a row's value replaces the current one.
    fn prefers(self, value: &Datum<'_>, position: u64, best: Option<&Row>, ty: &SqlType) -> bool {
        if self != Self::First && value.is_null() {
            return false;
        }
        let Some(best) = best else { return true };
        let order = match self {
            Self::First => Some(Ordering::Equal),
            Self::Least => compare(value, &Datum::of(&best.value), ty, ty),
            Self::Greatest => compare(&Datum::of(&best.value), value, ty, ty),
        };
        order.is_some_and(|order| order.then(position.cmp(&best.position)).is_lt())
    }
}

fn values_of(rows: &[Option<Row>], ty: &SqlType) -> Result<ArrayRef> {
    let mut values = ColumnBuilder::new(ty, rows.len());
    for row in rows {
        let value = row.as_ref().map_or(Datum::Null, |row| Datum::of(&row.value));
        append(&mut values, value, ty)?;
    }
    Ok(values.finish())
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, StringArray};
    use types::Collation;

    use super::*;

    const TEXT: SqlType = SqlType::varchar(10, Collation::Utf8mb40900AiCi);

    /// The result for rows given as text and position, which are divided between two states that are merged.
    /// "x" is group 1.
    fn answer(choice: Choice, rows: &[(&str, u64)]) -> ArrayRef {
        let mut parts = [Extremes::new(TEXT, choice), Extremes::new(TEXT, choice)];
        for (number, (text, position)) in rows.iter().enumerate() {
            let values: ArrayRef = Arc::new(StringArray::from(vec![*text]));
            let positions: ArrayRef = Arc::new(UInt64Array::from(vec![*position]));
            let group = usize::from(text.eq_ignore_ascii_case("x"));
            parts[number % 2]
                .update(&[values, positions], RowGroups::Each(&[group]), 2)
                .unwrap();
        }
        let [first, second] = &mut parts;
        let state = second.take_state(second.len()).unwrap();
        assert_eq!(second.size_bytes(), second.len() * size_of::<Option<Row>>());
        if !state[0].is_empty() {
            first.update(&state, RowGroups::Each(&[0, 1]), 2).unwrap();
        }
        first.take(first.len()).unwrap()
    }

    fn texts(texts: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(texts.to_vec()))
    }

    const ROWS: [(&str, u64); 6] = [("A", 5), ("a", 2), ("B", 9), ("b", 8), ("X", 7), ("á", 3)];

    #[test]
    fn the_first_of_equal_strings_wins_in_whatever_order_they_are_read() {
        assert_eq!(&answer(Choice::Least, &ROWS), &texts(&[Some("a"), Some("X")]));
        assert_eq!(&answer(Choice::Greatest, &ROWS), &texts(&[Some("b"), Some("X")]));
        assert_eq!(&answer(Choice::First, &ROWS), &texts(&[Some("a"), Some("X")]));
    }

    #[test]
    fn a_group_without_rows_is_null() {
        assert!(answer(Choice::Least, &[]).is_empty());
        assert_eq!(&answer(Choice::First, &ROWS[4..5]), &texts(&[None, Some("X")]));
    }

    #[test]
    fn the_greatest_of_doubles() {
        let mut greatest = Extremes::new(SqlType::DOUBLE, Choice::Greatest);
        let values: ArrayRef = Arc::new(Float64Array::from(vec![Some(-2.0), None, Some(-1.0), None]));
        greatest
            .update(&[values], RowGroups::Each(&[0, 0, 0, 1]), 2)
            .unwrap();
        greatest.add(0, Datum::Double(-3.0)).unwrap();
        assert_eq!(greatest.get(0).unwrap(), Value::Double(-1.0));
        assert_eq!(greatest.get(1).unwrap(), Value::Null);
        let first: ArrayRef = Arc::new(Float64Array::from(vec![-1.0]));
        assert_eq!(&greatest.take(1).unwrap(), &first);
        assert_eq!((greatest.len(), greatest.get(0).unwrap()), (1, Value::Null));
    }
}
