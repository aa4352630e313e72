//! How many columns a query has, where its text says it.

use syntax::ast::{Query, QueryBody, SelectItem};

/// Whether the text of a query, or of one that it is put together of, says that it has another number of
/// columns.
pub fn has_other_width(body: &QueryBody, columns: usize) -> bool {
    match body {
        QueryBody::SetOperation { first, rest } => {
            has_other_width(first, columns)
                || rest
                    .iter()
                    .any(|operand| has_other_width(&operand.operand, columns))
        }
        QueryBody::Nested(query) => has_other_width(&query.body, columns),
        single => of_body(single).is_some_and(|width| width != columns),
    }
}

pub fn width(query: &Query) -> Option<usize> {
    of_body(&query.body)
}

fn of_body(body: &QueryBody) -> Option<usize> {
    match body {
        QueryBody::Select(select) => {
            let plain = |item: &SelectItem| matches!(item, SelectItem::Expr { .. });
            select.items.iter().all(plain).then_some(select.items.len())
        }
        QueryBody::Values(rows) => rows.first().map(Vec::len),
        QueryBody::Nested(query) => of_body(&query.body),
        QueryBody::SetOperation { first, .. } => of_body(first),
    }
}
