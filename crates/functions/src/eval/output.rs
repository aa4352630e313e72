//! Converts the values and arrays of an expression to its type.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::DataType;
use types::array::ColumnBuilder;
use types::{Result, SqlType, TypeKind, Value};

use crate::datum::Datum;

/// Appends a value of a type to a builder for that type.
pub(crate) fn append(out: &mut ColumnBuilder, datum: Datum<'_>, ty: &SqlType) -> Result<()> {
    match datum {
        Datum::Null => {
            out.append_null();
            Ok(())
        }
        Datum::Int(v) => out.append_i64(v),
        Datum::UInt(v) => out.append_u64(v),
        Datum::Double(v) => out.append_f64(v),
        Datum::Decimal(v) => out.append_decimal(&fit_decimal(v, ty)),
        Datum::String(v) => out.append_str(v),
        Datum::Bytes(v) => out.append_bytes(v),
        Datum::Json(v) => out.append_json(v.to_binary().as_bytes()),
    }
}

/// A decimal at its type's scale, within the range of the Arrow type. Sums and products may have a few more
/// digits than their type says, as in MySQL; only casts and assignments cut them.
pub(crate) fn fit_decimal(value: types::Decimal, ty: &SqlType) -> types::Decimal {
    if ty.kind != TypeKind::Decimal {
        return value;
    }
    let wide = matches!(ty.arrow_type(), DataType::Decimal256(..));
    match value.rescale(ty.decimals) {
        Some(fitted) if wide || fitted.unscaled.to_i128().is_some() => fitted,
        _ => {
            let precision = u8::try_from(ty.length).unwrap_or(u8::MAX);
            let max = types::Decimal::max_value(precision, ty.decimals);
            if value.is_negative() { max.neg() } else { max }
        }
    }
}

/// The value of an expression, in its type.
pub(crate) fn finish_value(value: Value, ty: &SqlType) -> Value {
    match value {
        Value::Decimal(d) if ty.kind == TypeKind::Decimal => Value::Decimal(fit_decimal(d, ty)),
        other => other,
    }
}

/// The array of an expression, in its type's Arrow type.
pub(crate) fn finish_array(array: ArrayRef, ty: &SqlType) -> Result<ArrayRef> {
    let wanted = ty.arrow_type();
    if *array.data_type() == wanted {
        return Ok(array);
    }
    if let (DataType::Boolean, DataType::Int64) = (array.data_type(), &wanted) {
        let source = array.as_boolean();
        let values = source.values().iter().map(i64::from).collect();
        return Ok(std::sync::Arc::new(Int64Array::new(
            values,
            source.nulls().cloned(),
        )));
    }
    let mut out = ColumnBuilder::new(ty, array.len());
    for i in 0..array.len() {
        append(&mut out, Datum::at(array.as_ref(), i)?, ty)?;
    }
    Ok(out.finish())
}
