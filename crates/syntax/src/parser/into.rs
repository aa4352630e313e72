//! INTO of a query.

use types::{Error, Result};

use super::{Parser, file, names};
use crate::ast::SelectInto;
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// An optional INTO.
pub fn select_into(parser: &mut Parser<'_>) -> Result<Option<Box<SelectInto>>> {
    if !parser.eat(Kw::INTO) {
        return Ok(None);
    }
    if parser.is_any(&[Kw::OUTFILE, Kw::DUMPFILE]) {
        return Ok(Some(Box::new(SelectInto::File(file::target_file(parser)?))));
    }
    let variables = parser.comma_separated(|parser| match parser.kind() {
        Kind::At => names::assigned_variable_name(parser),
        Kind::Word | Kind::QuotedWord => Err(Error::new(
            1327,
            format!("Undeclared variable: {}", parser.name()?),
        )),
        _ => parser.fail(),
    })?;
    Ok(Some(Box::new(SelectInto::Variables(variables))))
}
