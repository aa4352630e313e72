//! Comments of a definition that are too long. In strict mode they are an error, which the schema's limits report;
//! otherwise they are shortened, with a warning.

use syntax::ast::{IndexDefinition, IndexKind};
use types::{Error, Result, Warning};

use super::{Binder, functional_index};

const TABLE_CHARS_MAX: usize = 2048;
const CHARS_MAX: usize = 1024;

/// What has the comment, by its name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Commented<'a> {
    Table(&'a str),
    Column(&'a str),
    Index(&'a str),
    Partition(&'a str),
}

/// A comment as it is stored.
///
/// # Errors
/// 1793 for a partition in strict mode.
pub(super) fn limited(binder: &Binder<'_>, comment: &str, of: Commented<'_>) -> Result<String> {
    let (code, what, name, most) = match of {
        Commented::Table(name) => (1628, "table", name, TABLE_CHARS_MAX),
        Commented::Column(name) => (1629, "field", name, CHARS_MAX),
        Commented::Index(name) => (1688, "index", name, CHARS_MAX),
        Commented::Partition(name) => (1793, "table partition", name, CHARS_MAX),
    };
    let Some((end, _)) = comment.char_indices().nth(most) else {
        return Ok(comment.to_owned());
    };
    let message = format!("Comment for {what} '{name}' is too long (max = {most})");
    if !binder.env.sql_mode.strict {
        binder.warn(Warning::warning(code, message));
        return Ok(comment[..end].to_owned());
    }
    match of {
        Commented::Partition(_) => Err(Error::new(code, message)),
        _ => Ok(comment.to_owned()),
    }
}

/// The comment of an index as a statement writes it. Without a name it is named after its first column, or its kind.
///
/// # Errors
/// As [`limited`].
pub(super) fn of_index(binder: &Binder<'_>, index: &IndexDefinition) -> Result<String> {
    let first = match index.parts.first() {
        Some(part) if part.expression.is_some() => functional_index::DEFAULT_NAME,
        Some(part) => &part.column,
        None => "",
    };
    let name = match index.kind {
        IndexKind::Primary => "PRIMARY",
        _ => index.name.as_deref().unwrap_or(first),
    };
    limited(binder, &index.comment, Commented::Index(name))
}
