//! CHAR columns under `sql_mode` PAD_CHAR_TO_FULL_LENGTH: values are shown with the spaces that are not
//! stored.
//!
//! The planner wraps each such column that an expression reads, so that everything above the column sees the
//! padded text.

use types::{Result, SqlType, TypeKind, Value};

use super::length;
use crate::Expr;
use crate::datum::Datum;
use crate::expr::{Binding, Nullability};
use crate::registry::{self, Family, function};

const NAME: &str = "padded char";

pub(crate) static FAMILY: Family = Family {
    functions: &[function(NAME, 1, 1, resolve, |call, args| {
        Ok(args
            .first()
            .map_or(Value::Null, |text| pad(text.to_value(), &call.ty)))
    })
    .nullability(Nullability::AnyArgument)
    .infallible()],
    aliases: &[],
};

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    Ok(binding.ty(0))
}

/// A column under this mode: unchanged if it is not a CHAR. (BINARY is stored with all its bytes.)
pub fn padded_char(column: Expr) -> Expr {
    let ty = column.ty();
    match registry::find(NAME) {
        Some(function) if is_padded(&ty) => Expr::Call {
            function,
            args: vec![column],
            ty,
        },
        _ => column,
    }
}

/// A stored value as the mode shows it.
pub fn pad(value: Value, ty: &SqlType) -> Value {
    match value {
        Value::String(mut text) if is_padded(ty) => {
            let missing = (ty.length as usize).saturating_sub(length(&Datum::String(&text)));
            text.extend(std::iter::repeat_n(' ', missing));
            Value::String(text)
        }
        other => other,
    }
}

fn is_padded(ty: &SqlType) -> bool {
    ty.kind == TypeKind::Char && !ty.is_binary()
}

impl Expr {
    /// The column whose stored value is shown in another form: the CHAR that [`padded_char`] wrapped, the
    /// ENUM or SET whose text is read. Any other expression is returned as it is.
    pub fn as_stored(&self) -> &Self {
        match self {
            Self::Call { function, args, .. } if function.0.name == NAME => args.first().unwrap_or(self),
            Self::Cast {
                input,
                ty,
                implicit: true,
            } if ty.is_string() && input.ty().has_members() => input,
            other => other,
        }
    }
}
