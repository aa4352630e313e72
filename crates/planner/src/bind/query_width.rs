//! How many columns a query has, if that can be seen in its text.

use syntax::ast::{Query, QueryBody, SelectItem};

/// Whether a query, or one of its operands, has another number of columns, as far as that can be seen in its
/// text.
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
