//! Conditions that a multi-valued index serves: MEMBER OF, JSON_CONTAINS and JSON_OVERLAPS of the document
//! that the index is on. Manual 13.1.15 "Using multi-valued Indexes".
//!
//! ```text
//! KEY ((CAST(j->'$.a' AS UNSIGNED ARRAY))):   5 MEMBER OF (j->'$.a')          ->   one of the elements is 5
//!                                             JSON_CONTAINS(j->'$.a', '[5,6]') ->   one of the elements is 5
//!                                             JSON_OVERLAPS(j->'$.a', '[5,6]') ->   one of the elements is 5 or 6
//! ```
//!
//! The condition itself stays a filter: an element was converted to the index's type, and others that are not
//! equal may have become the same.

use functions::multi_valued::{self, ElementKey};
use functions::{EvalContext, Expr, full_text};
use schema::bound::ColumnExpression;
use schema::model::Table;
use types::json::{JsonBinary, JsonRef, JsonView};
use types::{Collation, SqlType, TypeKind, Value};

use super::fold::{self, is_constant};
use super::generated::is_same;

/// The column that has the arrays, and the values of which one must be an element.
pub fn keys(condition: &Expr, table: &Table) -> Option<(usize, Vec<Expr>)> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    let wanted: fn(&Expr, SqlType) -> Option<Vec<Expr>> = match function.name() {
        "member of" => member,
        "json_contains" => contained,
        "json_overlaps" => overlapping,
        _ => return None,
    };
    let [first, second] = args.as_slice() else {
        return None;
    };
    let (document, searched) = match function.name() {
        "member of" => (second, first),
        "json_overlaps" if is_constant(first) => (second, first),
        _ => (first, second),
    };
    if !is_constant(searched) || is_constant(document) {
        return None;
    }
    arrays(table).find_map(|(made, ty)| {
        let Expr::Call { args, .. } = &made.value else {
            return None;
        };
        args.first().filter(|operand| is_same(document, operand))?;
        Some((made.column, wanted(searched, ty)?))
    })
}

/// The arrays that the table has indexes of, and the types of their elements.
fn arrays(table: &Table) -> impl Iterator<Item = (&ColumnExpression, SqlType)> {
    let has_arrays = table.columns.iter().any(|column| column.elements.is_some());
    let bound = has_arrays.then(|| table.expressions().ok().flatten()).flatten();
    let generated = bound.into_iter().flat_map(|bound| &bound.generated);
    generated
        .filter(|made| !is_of_words(&made.value))
        .filter_map(|made| Some((made, table.columns.get(made.column)?.elements?)))
}

/// Whether the elements are the words of texts, as a FULLTEXT index has them. A text may be a document itself, but
/// its words are not its elements.
fn is_of_words(value: &Expr) -> bool {
    match value {
        Expr::Call { function, .. } => full_text::parser_of(function.name()).is_some(),
        _ => false,
    }
}

/// `value MEMBER OF (array)`
fn member(value: &Expr, ty: SqlType) -> Option<Vec<Expr>> {
    if let Some(literal) = fold::value(value) {
        let json = match literal {
            Value::Null => return Some(Vec::new()),
            Value::Json(json) => json,
            literal => multi_valued::of_literal(&literal, value).ok()?,
        };
        return alternatives(std::iter::once(json.root()), ty);
    }
    let from = value.ty();
    let key = match ty.kind {
        _ if ty.is_integer() && from.is_integer() && from.kind != TypeKind::Year => {
            functions::bind::key_cast(value.clone(), ty, functions::bind::KeyRounding::Exact)?
        }
        TypeKind::VarChar if from.is_string() && !from.is_binary() && !ty.is_binary() => Expr::Cast {
            input: Box::new(value.clone()),
            ty: SqlType::varchar(u32::MAX, Collation::Utf8mb40900Bin),
            implicit: true,
        },
        _ => return None,
    };
    Some(vec![key])
}

/// `JSON_CONTAINS(array, candidate)`: all of the candidate's values are elements, so one of them is.
fn contained(candidate: &Expr, ty: SqlType) -> Option<Vec<Expr>> {
    let json = document(candidate)?;
    let keys: Vec<ElementKey> = match json.root().view() {
        JsonView::Array(items) => items.iter().filter_map(|item| key(item, ty)).collect(),
        JsonView::Object(_) => return None,
        _ => vec![key(json.root(), ty)?],
    };
    let known = |key: &ElementKey| match key {
        ElementKey::Value(value) => Some(Expr::literal(value.clone(), ty)),
        ElementKey::Nothing | ElementKey::Several => None,
    };
    keys.iter().find_map(known).map(|key| vec![key])
}

/// `JSON_OVERLAPS(array, other)`
fn overlapping(other: &Expr, ty: SqlType) -> Option<Vec<Expr>> {
    let json = document(other)?;
    match json.root().view() {
        JsonView::Array(items) => alternatives(items.iter(), ty),
        JsonView::Object(_) => None,
        _ => alternatives(std::iter::once(json.root()), ty),
    }
}

/// Keys of rows that have one of some values; `None` if the index cannot tell.
fn alternatives<'j>(values: impl Iterator<Item = JsonRef<'j>>, ty: SqlType) -> Option<Vec<Expr>> {
    let mut keys: Vec<Expr> = Vec::new();
    for json in values {
        match key(json, ty)? {
            ElementKey::Value(value) => {
                let key = Expr::literal(value, ty);
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
            ElementKey::Nothing => {}
            ElementKey::Several => return None,
        }
    }
    Some(keys)
}

fn key(json: JsonRef<'_>, ty: SqlType) -> Option<ElementKey> {
    multi_valued::element_key(json, &ty, &EvalContext::default()).ok()
}

/// A constant document.
fn document(expr: &Expr) -> Option<JsonBinary> {
    match fold::value(expr)? {
        Value::Json(json) => Some(json),
        Value::String(text) => JsonBinary::parse(text.as_bytes()).ok(),
        _ => None,
    }
}
