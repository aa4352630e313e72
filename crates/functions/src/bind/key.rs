//! Constants as index keys: converts a constant of another type to a value of the column's type.

use types::{SqlType, Value};

use super::arguments::implicit_cast;
use super::compare::DATETIME_NUMBER;
use crate::{Expr, registry};

/// Which key is used for a constant between two values of the column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRounding {
    /// No key: NULL, so that an equality finds nothing.
    Exact,
    /// The next value below, for the upper bound of `<` and `<=`. Unless the key is exact, the comparison
    /// becomes `<=`.
    Down,
    /// The next value above, for the lower bound of `>` and `>=`. Unless the key is exact, the comparison
    /// becomes `>=`.
    Up,
}

/// The name of [`bytes_as_key`]'s function.
pub(crate) const KEY_TEXT: &str = "key text";

/// A constant of bytes that a comparison takes for text, as a key of the text column `name`: where the bytes are no text,
/// the key is NULL, with a warning, while the comparison itself fails. `None` for any other constant.
pub fn bytes_as_key(expr: &Expr, column: SqlType, name: &str) -> Option<Expr> {
    let Expr::Cast {
        input,
        ty,
        implicit: true,
    } = expr
    else {
        return None;
    };
    let is_text = |ty: &SqlType| ty.is_string() && !ty.is_binary();
    let from = input.ty();
    let takes_bytes = from.is_string() && from.is_binary() && is_text(ty) && is_text(&column);
    if !takes_bytes || ty.collation != column.collation {
        return None;
    }
    let name = Expr::literal(
        Value::from(name),
        super::literal_type(name.chars().count(), types::Collation::DEFAULT),
    );
    Some(Expr::Call {
        function: registry::find(KEY_TEXT)?,
        args: vec![(**input).clone(), name],
        ty: column,
    })
}

/// Converts the constant `expr`, which is compared with a column of type `column`, to a value of the column's
/// type.
///
/// `None` if there is no equivalent value for every constant (text compared with a number, for example), so
/// that the index cannot be used. At run time a NULL means that no row can match. The bounds that
/// [`KeyRounding::Down`] and [`KeyRounding::Up`] give are to be used inclusively, with the comparison itself
/// kept as a filter where it was `<` or `>`. An out of range constant becomes the nearest end of the column's
/// range on the side where rows can still match, else NULL.
pub fn key_cast(expr: Expr, column: SqlType, rounding: KeyRounding) -> Option<Expr> {
    // The index of an ENUM or SET holds the numbers of members.
    let column = match column.has_members() && expr.ty() != column {
        true => SqlType::BIGINT_UNSIGNED,
        false => column,
    };
    let from = expr.ty();
    // A number may be ordered between two dates.
    let place = matches!(&expr, Expr::Call { function, .. } if function.0.name == DATETIME_NUMBER);
    if from == column && !place {
        return Some(expr);
    }
    if from.kind == types::TypeKind::Null {
        return Some(implicit_cast(expr, column));
    }
    let compatible = if column.is_numeric() {
        // Several exact numbers may equal one double. They need a range, not a key.
        let inexact = from.is_float() && !column.is_float();
        from.is_numeric() && !(inexact && rounding == KeyRounding::Exact)
    } else if column.is_datetime() {
        from.is_datetime()
    } else if column.kind == types::TypeKind::Time {
        from.kind == types::TypeKind::Time
    } else {
        column.is_string()
            && from.is_string()
            && column.is_binary() == from.is_binary()
            && column.collation == from.collation
    };
    if !compatible {
        return None;
    }
    if column.is_string() {
        return Some(match expr {
            Expr::Literal { value, .. } => Expr::Literal { value, ty: column },
            expr => Expr::Cast {
                input: Box::new(expr),
                ty: SqlType {
                    length: u32::MAX,
                    ..column
                },
                implicit: true,
            },
        });
    }
    let name = match rounding {
        KeyRounding::Exact => "key exact",
        KeyRounding::Down => "key down",
        KeyRounding::Up => "key up",
    };
    let function = registry::find(name)?;
    if let (Expr::Literal { value, ty }, false) = (&expr, column.is_float())
        && value_is_native(value, ty, &column)
    {
        let Expr::Literal { value, .. } = expr else {
            return None;
        };
        return Some(Expr::Literal { value, ty: column });
    }
    Some(Expr::Call {
        function,
        args: vec![expr],
        ty: column,
    })
}

/// Whether a literal already has the column's representation and is in the range of its type.
fn value_is_native(value: &Value, ty: &SqlType, column: &SqlType) -> bool {
    if !(ty.is_integer() && column.is_integer()) {
        return false;
    }
    let (min, max) = crate::assign::integer_range(column);
    let inside = match value {
        Value::Int(v) => i128::from(*v) >= min && i128::from(*v) <= max,
        Value::UInt(v) => i128::from(*v) <= max,
        _ => false,
    };
    inside
        && matches!(
            (value, column.arrow_type()),
            (Value::Int(_), arrow::datatypes::DataType::Int64)
                | (Value::UInt(_), arrow::datatypes::DataType::UInt64)
        )
}
