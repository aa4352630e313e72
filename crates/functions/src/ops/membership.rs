//! IN and BETWEEN, of values that [`crate::bind::compare`] has made comparable.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use types::{Collation, Result, Value};

use super::comparison_vector;
use crate::bind::compare::resolve_converted;
use crate::compare::compare;
use crate::datum::{Cell, Datum};
use crate::eval::row::evaluate;
use crate::expr::{Call, FunctionDef};
use crate::input::{ColumnarValue, Row};
use crate::registry::{Family, MANY, function, lazy};
use crate::truth::value_of;

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    lazy("in", 2, MANY, resolve_converted, is_in).vector(is_in_vector),
    function("between", 3, 3, resolve_converted, between)
        .takes_json()
        .sees_null()
        .infallible()
        .vector(between_vector),
];

/// Items after the first equal one are not evaluated.
fn is_in<'a>(call: &Call<'a>, row: &Row<'a>) -> Result<Cell<'a>> {
    let Some((needle, list)) = call.args.split_first() else {
        return Ok(Cell::NULL);
    };
    let ty = needle.ty();
    let needle = evaluate(needle, row, call.ctx)?;
    if needle.is_null() {
        return Ok(Cell::NULL);
    }
    let mut unknown = false;
    for item in list {
        let value = evaluate(item, row, call.ctx)?;
        match compare(&needle.datum(), &value.datum(), &ty, &item.ty()) {
            Some(Ordering::Equal) => return Ok(Value::Int(1).into()),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(value_of(if unknown { None } else { Some(false) }).into())
}

/// A column looked up in a set of constants.
fn is_in_vector(call: &Call<'_>, args: &[ColumnarValue], _rows: usize) -> Result<Option<ColumnarValue>> {
    let Some((ColumnarValue::Array(array), list)) = args.split_first() else {
        return Ok(None);
    };
    let mut constants = Vec::with_capacity(list.len());
    for item in list {
        let ColumnarValue::Scalar(value) = item else {
            return Ok(None);
        };
        constants.push(value);
    }
    let has_null = constants.iter().any(|v| v.is_null());
    let found = match array.data_type() {
        DataType::Int64 => {
            let Some(set) = integers::<i64>(&constants) else {
                return Ok(None);
            };
            let values = array.as_primitive::<Int64Type>().values();
            BooleanBuffer::collect_bool(values.len(), |i| contains(&set, &values[i]))
        }
        DataType::UInt64 => {
            let Some(set) = integers::<u64>(&constants) else {
                return Ok(None);
            };
            let values = array.as_primitive::<UInt64Type>().values();
            BooleanBuffer::collect_bool(values.len(), |i| contains(&set, &values[i]))
        }
        DataType::Utf8 => {
            let collation = call.arg_type(0).collation;
            let Some(mut texts) = Texts::new(&constants, collation) else {
                return Ok(None);
            };
            let values = array.as_string::<i32>();
            BooleanBuffer::collect_bool(values.len(), |i| texts.contain(values.value(i).as_bytes()))
        }
        _ => return Ok(None),
    };
    // If a value is not found and one of the constants is NULL, the result is unknown.
    let nulls = if has_null {
        NullBuffer::union(array.nulls(), Some(&NullBuffer::new(found.clone())))
    } else {
        array.nulls().cloned()
    };
    Ok(Some(ColumnarValue::Array(Arc::new(BooleanArray::new(
        found, nulls,
    )))))
}

/// Up to this many constants are searched one by one.
const FEW: usize = 8;

/// Whether a value is among constants in ascending order.
fn contains<T: Ord>(constants: &[T], value: &T) -> bool {
    if constants.len() <= FEW {
        constants.contains(value)
    } else {
        constants.binary_search(value).is_ok()
    }
}

/// The integers among the constants, in ascending order. Decimals with a fraction and values out of the
/// type's range match no integer.
fn integers<T: TryFrom<i128> + Ord>(constants: &[&Value]) -> Option<Vec<T>> {
    let mut set = Vec::with_capacity(constants.len());
    for value in constants {
        let whole = match value {
            Value::Null => None,
            Value::Int(v) => Some(i128::from(*v)),
            Value::UInt(v) => Some(i128::from(*v)),
            Value::Decimal(d) => d.floor().filter(|f| f == d).and_then(|f| f.to_i128()),
            _ => return None,
        };
        set.extend(whole.and_then(|whole| T::try_from(whole).ok()));
    }
    set.sort_unstable();
    Some(set)
}

/// Constants in which texts are looked up.
struct Texts {
    collation: Collation,
    /// Their sort keys, in ascending order.
    keys: Vec<Vec<u8>>,
    key: Vec<u8>,
    /// A cache of results for short texts, because a column often has few different ones.
    cache: [(u64, bool); CACHED_TEXTS],
}

const CACHED_TEXTS: usize = 64;

/// A value that is not the [`packed`] form of any text.
const NO_TEXT: u64 = u64::MAX;

impl Texts {
    /// `None` if not all constants are text.
    fn new(constants: &[&Value], collation: Collation) -> Option<Self> {
        let mut keys = Vec::with_capacity(constants.len());
        for value in constants {
            match value {
                Value::Null => {}
                Value::String(text) => {
                    let mut key = Vec::new();
                    collation.sort_key(text.as_bytes(), &mut key);
                    keys.push(key);
                }
                _ => return None,
            }
        }
        keys.sort_unstable();
        Some(Self {
            collation,
            keys,
            key: Vec::new(),
            cache: [(NO_TEXT, false); CACHED_TEXTS],
        })
    }

    fn contain(&mut self, text: &[u8]) -> bool {
        let Some(packed) = packed(text) else {
            return self.search(text);
        };
        // The upper bits of a product depend on all bits.
        let bucket = (packed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % CACHED_TEXTS;
        if self.cache[bucket].0 != packed {
            self.cache[bucket] = (packed, self.search(text));
        }
        self.cache[bucket].1
    }

    fn search(&mut self, text: &[u8]) -> bool {
        self.key.clear();
        self.collation.sort_key(text, &mut self.key);
        contains(&self.keys, &self.key)
    }
}

/// The bytes of a short text and its length.
fn packed(text: &[u8]) -> Option<u64> {
    let mut bytes = [0; 8];
    if text.len() >= bytes.len() {
        return None;
    }
    bytes[..text.len()].copy_from_slice(text);
    bytes[7] = text.len() as u8;
    Some(u64::from_le_bytes(bytes))
}

fn between(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [value, low, high] = args else {
        return Ok(Value::Null);
    };
    let ty = call.arg_type(0);
    let above = compare(value, low, &ty, &call.arg_type(1)).map(Ordering::is_ge);
    let below = compare(value, high, &ty, &call.arg_type(2)).map(Ordering::is_le);
    let both = match (above, below) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    };
    Ok(value_of(both))
}

/// Two comparisons at once.
fn between_vector(call: &Call<'_>, args: &[ColumnarValue], rows: usize) -> Result<Option<ColumnarValue>> {
    let [value, low, high] = args else {
        return Ok(None);
    };
    let above = comparison_vector::compare_as(">=", call, [value, low], [0, 1], rows)?;
    let below = comparison_vector::compare_as("<=", call, [value, high], [0, 2], rows)?;
    let (Some(above), Some(below)) = (above, below) else {
        return Ok(None);
    };
    let both = arrow::compute::and_kleene(&above, &below).map_err(crate::eval::truths::types_error)?;
    Ok(Some(ColumnarValue::Array(Arc::new(both))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_the_type() {
        let constants = [
            Value::Int(-1),
            Value::UInt(u64::MAX),
            Value::Null,
            Value::Decimal(types::Decimal::from_i128(20, 1)),
            Value::Decimal(types::Decimal::from_i128(25, 1)),
        ];
        let constants: Vec<&Value> = constants.iter().collect();
        assert_eq!(integers::<i64>(&constants), Some(vec![-1, 2]));
        assert_eq!(integers::<u64>(&constants), Some(vec![2, u64::MAX]));
        assert_eq!(integers::<i64>(&[&Value::Double(1.0)]), None);
    }

    #[test]
    fn texts_are_found_by_their_collation() {
        let constants: Vec<Value> = (0..20)
            .map(|i| Value::from(format!("Key {i}").as_str()))
            .collect();
        let constants: Vec<&Value> = constants.iter().collect();
        let mut texts = Texts::new(&constants, Collation::Utf8mb40900AiCi).unwrap();
        // Twice, so that the second round uses the cache.
        for _ in 0..2 {
            for i in 0..40 {
                assert_eq!(texts.contain(format!("KEY {i}").as_bytes()), i < 20);
                assert_eq!(texts.contain(format!("key {i}").as_bytes()), i < 20);
            }
            assert!(!texts.contain(b"") && !texts.contain(b"\0") && !texts.contain(b"key 1 and more"));
        }
    }
}
