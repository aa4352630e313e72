//! Comments of a definition that are too long. In strict mode they are an error, which the schema's limits report;
//! otherwise they are shortened, with a warning.

use syntax::ast::{IndexDefinition, IndexKind};
use types::{Error, Result, Warning};

use super::Binder;

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

/// The comment of an index, which is named after its first column if it has no name.
///
/// # Errors
/// As [`limited`].
pub(super) fn of_index(binder: &Binder<'_>, index: &IndexDefinition) -> Result<String> {
    let first = index.parts.first().map_or("", |part| &part.column);
    let name = match index.kind {
        IndexKind::Primary => "PRIMARY",
        _ => index.name.as_deref().unwrap_or(first),
    };
    limited(binder, &index.comment, Commented::Index(name))
}
