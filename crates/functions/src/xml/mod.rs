//! EXTRACTVALUE and UPDATEXML.
//!
//! - [`document`]: the nodes of a document, as MySQL's parser finds them. It checks less than XML requires.
//! - [`parse`]: XPath 1.0, as much of it as MySQL has.
//! - [`evaluate`]: the value of an expression over a document.
//!
//! Source: manual 12.11 "XML Functions"; `strings/xml.cc` and `sql/item_xmlfunc.cc` of MySQL.

mod document;
mod evaluate;
mod parse;

use std::borrow::Cow;

use types::{Error, Result, SqlType, TypeKind, Value, errno};

use self::document::Document;
use self::evaluate::{Evaluation, XPathValue};
use crate::Expr;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("extractvalue", 2, 2, resolve, extract_value).nullability(Nullability::Always),
    function("updatexml", 3, 3, resolve, update_xml).nullability(Nullability::Always),
];

/// A document, an XPath expression without columns, and what replaces a node.
fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    if binding.args.get(1).is_some_and(|path| !path.is_constant()) {
        return Err(Error::new(
            errno::ER_UNKNOWN_ERROR,
            "Only constant XPATH queries are supported",
        ));
    }
    // MySQL parses a path when it binds the call, so that a call without rows fails, too.
    if let Some(Expr::Literal { value, .. }) = binding.args.get(1)
        && let Value::String(path) = value
    {
        parse::parse(path)?;
    }
    let collation = binding.texts(0..binding.args.len())?;
    Ok(SqlType {
        kind: TypeKind::LongText,
        ..SqlType::varchar(67_108_864 * collation.charset().max_bytes_per_char(), collation)
    })
}

fn extract_value(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some((source, path)) = texts(args) else {
        return Ok(Value::Null);
    };
    Ok(match evaluated(call, &source, &path)? {
        Some((document, value)) => of_type(call, value.text(&document)),
        None => Value::Null,
    })
}

/// The document with one node replaced. It is unchanged if the path finds no node or several.
fn update_xml(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some((source, path)) = texts(args) else {
        return Ok(Value::Null);
    };
    let Some((document, XPathValue::Nodes(nodes))) = evaluated(call, &source, &path)? else {
        return Ok(Value::Null);
    };
    let [node] = nodes.as_slice() else {
        return Ok(of_type(call, document.source.to_owned()));
    };
    let replacement = String::from_utf8_lossy(args.get(2).map_or(&b""[..], |d| d.bytes()));
    let range = document.range(node.index);
    let before = document.source.get(..range.start).unwrap_or_default();
    let behind = document.source.get(range.end..).unwrap_or_default();
    Ok(of_type(call, format!("{before}{replacement}{behind}")))
}

/// The document and the path, which may be binary strings. `None` if one of them is NULL.
fn texts<'a>(args: &[Datum<'a>]) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    let text = |at: usize| match args.get(at)? {
        Datum::String(text) => Some(Cow::Borrowed(*text)),
        Datum::Bytes(bytes) => Some(String::from_utf8_lossy(bytes)),
        _ => None,
    };
    Some((text(0)?, text(1)?))
}

/// A text in the type of the call.
fn of_type(call: &Call<'_>, text: String) -> Value {
    if call.ty.is_binary() {
        Value::Bytes(text.into_bytes())
    } else {
        Value::String(text)
    }
}

/// The value of the path over the document. `None` and warning 1525 if the document is not well formed.
fn evaluated<'a>(call: &Call<'_>, source: &'a str, path: &str) -> Result<Option<(Document<'a>, XPathValue)>> {
    let path = parse::parse(path)?;
    let document = match Document::parse(source) {
        Ok(document) => document,
        Err(message) => {
            call.ctx.warn(
                errno::ER_XML_INVALID_VALUE,
                format!("Incorrect XML value: '{message}'"),
            )?;
            return Ok(None);
        }
    };
    let evaluation = Evaluation {
        document: &document,
        collation: call.ty.collation,
        ctx: call.ctx,
    };
    let value = evaluation.root(&path)?;
    Ok(Some((document, value)))
}
