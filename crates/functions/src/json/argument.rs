//! Arguments and results of JSON functions: documents, and paths into them.

use types::json::{Json, JsonBinary, JsonRef};
use types::{Error, Result, SqlType, Value, errno};

use super::convert::parse_argument;
use super::path::{self, Path};
use crate::datum::Datum;
use crate::expr::{Binding, Call, Expr};

/// A document: the argument itself, or parsed from its text.
pub(super) enum Document<'a> {
    Ref(JsonRef<'a>),
    Own(JsonBinary),
}

impl Document<'_> {
    pub fn root(&self) -> JsonRef<'_> {
        match self {
            Self::Ref(json) => *json,
            Self::Own(json) => json.root(),
        }
    }

    pub fn to_tree(&self) -> Json {
        self.root().to_tree()
    }
}

/// The document in argument `index`. Errors 3141, 3144 and 3146.
pub(super) fn document<'a>(call: &Call<'_>, args: &[Datum<'a>], index: usize) -> Result<Document<'a>> {
    let name = match call.def.name {
        "->" | "->>" => "json_extract",
        // MySQL takes the length of what JSON_EXTRACT finds.
        "json_length" if args.len() > 1 => "json_extract",
        name => name,
    };
    let is_member = |expr: &Expr| expr.as_stored().ty().has_members();
    match args.get(index) {
        Some(Datum::Bytes(_)) => Err(of_binary()),
        Some(Datum::String(text)) if !call.args.get(index).is_some_and(is_member) => {
            parse_argument(text.as_bytes(), index + 1, name).map(Document::Own)
        }
        Some(Datum::Json(json)) => Ok(Document::Ref(*json)),
        _ => Err(Error::new(
            errno::ER_INVALID_TYPE_FOR_JSON,
            format!(
                "Invalid data type for JSON data in argument {} to function {name}; a JSON string or JSON type is required.",
                index + 1
            ),
        )),
    }
}

/// Whether an argument is NULL, so that the result is. The first `documents` arguments are read from the left until one is
/// NULL: a text before it that is no document is an error.
pub(super) fn has_null(call: &Call<'_>, args: &[Datum<'_>], documents: usize) -> Result<bool> {
    let Some(first) = args.iter().position(Datum::is_null) else {
        return Ok(false);
    };
    for index in 0..first.min(documents) {
        document(call, args, index)?;
    }
    Ok(true)
}

/// Error 3144.
pub(crate) fn of_binary() -> Error {
    Error::new(
        errno::ER_INVALID_JSON_CHARSET,
        "Cannot create a JSON value from a string with CHARACTER SET 'binary'.",
    )
}

/// The path in argument `index`.
pub(super) fn path_at(args: &[Datum<'_>], index: usize) -> Result<Path> {
    match args.get(index) {
        Some(Datum::Bytes(_)) => Err(of_binary()),
        Some(Datum::String(text)) => path::parse(text),
        Some(other) => path::parse(&other.to_value().display_text(&SqlType::BIGINT)),
        None => path::parse(""),
    }
}

/// A path that names one value. Error 3149.
pub(super) fn single_path_at(args: &[Datum<'_>], index: usize) -> Result<Path> {
    let path = path_at(args, index)?;
    if path.is_multiple() {
        return Err(Error::new(
            errno::ER_INVALID_JSON_PATH_WILDCARD,
            "In this situation, path expressions may not contain the * and ** tokens or an array range.",
        ));
    }
    Ok(path)
}

/// The result is a document.
pub(super) fn resolve_json(_: &mut Binding<'_>) -> Result<SqlType> {
    Ok(SqlType::JSON)
}

/// A document that a function has made.
pub(super) fn made(json: Json) -> Result<Value> {
    JsonBinary::new(&json).map(Value::Json)
}
