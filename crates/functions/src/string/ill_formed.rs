//! Literals whose bytes are not valid text in their character set.
//!
//! MySQL treats them as text with wrong bytes, and warns with 1300. In StemDB text in memory is always valid
//! UTF-8, so such a literal is binary data that keeps its character set. It equals no text. A column stores
//! it by the rules for text ([`crate::assign`]).

use types::{Collation, Error, Result, SqlType, Value, errno};

use crate::Expr;
use crate::bind::arguments::literal_type;
use crate::expr::{Binding, Nullability};
use crate::registry::{self, Family, function};

const NAME: &str = "ill-formed text";

pub(crate) static FAMILY: Family = Family {
    functions: &[function(NAME, 1, 1, resolve, |_, args| {
        Ok(args.first().map_or(Value::Null, |bytes| bytes.to_value()))
    })
    .nullability(Nullability::Never)
    .infallible()],
    aliases: &[],
};

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    Ok(binding.ty(0))
}

/// A literal with such bytes.
pub fn ill_formed_text(bytes: &[u8], collation: Collation) -> Expr {
    let literal = Expr::literal(Value::Bytes(bytes.to_vec()), literal_type(bytes.len(), collation));
    match registry::find(NAME) {
        Some(function) => Expr::Call {
            function,
            args: vec![literal],
            ty: literal_type(bytes.len(), Collation::Binary),
        },
        None => literal,
    }
}

impl Expr {
    /// The bytes of a literal that [`ill_formed_text`] made, typed as text: what [`crate::assign::value`]
    /// expects. `None` for any other expression.
    pub fn as_ill_formed(&self) -> Option<&Self> {
        match self {
            Self::Call { function, args, .. } if function.0.name == NAME => args.first(),
            _ => None,
        }
    }
}

/// Fails with 1300 for such a literal in a JSON function. As binary data it would become base 64.
pub(crate) fn refuse_in_json(function: &str, args: &[Expr]) -> Result<()> {
    let is_json = function.starts_with("json") && function != "json_valid"
        || function.starts_with("->")
        || function == "member of";
    match args.iter().filter(|_| is_json).find_map(Expr::as_ill_formed) {
        Some(Expr::Literal {
            value: Value::Bytes(bytes),
            ty,
        }) => Err(Error::new(
            errno::ER_INVALID_CHARACTER_STRING,
            ty.collation.charset().invalid_message(bytes),
        )),
        _ => Ok(()),
    }
}
