//! `CAST(document AS type ARRAY)`, the expression of a multi-valued index. No other expression can have it.

use functions::Expr;
use functions::multi_valued::FUNCTION;
use syntax::ast::{self, CastType};
use types::{Collation, Error, Result, SqlType, Value, errno};

use super::Binder;

/// The error for an array anywhere else.
pub(super) fn not_here() -> Error {
    refused(
        "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in general expressions",
    )
}

fn refused(what: &str) -> Error {
    Error::new(
        errno::ER_NOT_SUPPORTED_YET,
        format!("This version of MySQL doesn't yet support '{what}'"),
    )
}

/// An index has one part of which a row has several values.
pub(super) fn several_in_index() -> Error {
    refused("more than one multi-valued key part per index")
}

/// The document and the type of the elements.
pub(super) fn parts_of(expr: &ast::Expr) -> Option<(&ast::Expr, &CastType)> {
    match expr {
        ast::Expr::Cast {
            operand,
            ty: CastType::Array(element),
        } => Some((&**operand, &**element)),
        _ => None,
    }
}

/// The type of the elements that a bound expression makes an array of.
pub(super) fn elements_of(expr: &Expr) -> Option<SqlType> {
    match expr {
        Expr::Call { function, args, .. } if function.name() == FUNCTION => args.get(1).map(Expr::ty),
        _ => None,
    }
}

/// The array of a bound document's elements. `index`: its name, for errors.
pub(super) fn array(binder: &Binder<'_>, document: Expr, element: &CastType, index: &str) -> Result<Expr> {
    let ty = element_type(binder, element)?;
    let name = binder.keyword(index);
    binder.call(FUNCTION, vec![document, Expr::literal(Value::Null, ty), name])
}

fn element_type(binder: &Binder<'_>, element: &CastType) -> Result<SqlType> {
    let name = match element {
        CastType::Char {
            charset: None,
            binary: false,
            length: Some(length),
        } => return Ok(SqlType::varchar(*length, Collation::Utf8mb40900Bin)),
        CastType::Char {
            charset: None,
            binary: false,
            length: None,
        }
        | CastType::Binary(None) => return Err(refused("CAST-ing data to array of char/binary BLOBs")),
        CastType::Char { .. } | CastType::NChar(_) => {
            return Err(refused("specifying charset for multi-valued index"));
        }
        CastType::Json => "JSON",
        CastType::Float => "FLOAT",
        CastType::Double => "DOUBLE",
        CastType::Year => "YEAR",
        element => return binder.cast_type(element),
    };
    Err(refused(&format!("CAST-ing data to array of {name}")))
}
