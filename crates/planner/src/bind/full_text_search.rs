//! What MATCH says of the rows of a query: WHERE asks only whether a row is found, and the most relevant rows come first.

use syntax::ast::{self, BinaryOp, ColumnName, OrderItem};

use super::Binder;
use super::block::Block;
use super::full_text::{found_only, is_match};

/// A condition whose MATCH by itself, or as one of conditions that must all hold, is only whether a row is found;
/// `None` if it has none such.
pub(super) fn without_relevance(binder: &Binder<'_>, condition: &ast::Expr) -> Option<ast::Expr> {
    // The text of a view names what was written, by its address.
    if binder.resolution.is_some() {
        return None;
    }
    match condition {
        ast::Expr::And(conditions) => {
            let changed: Vec<Option<ast::Expr>> = conditions
                .iter()
                .map(|condition| without_relevance(binder, condition))
                .collect();
            changed.iter().any(Option::is_some).then(|| {
                let all = changed.into_iter().zip(conditions);
                ast::Expr::And(
                    all.map(|(changed, old)| changed.unwrap_or_else(|| old.clone()))
                        .collect(),
                )
            })
        }
        ast::Expr::Function { name, args } => {
            let name = found_only(name)?;
            Some(ast::Expr::Function {
                name: name.to_owned(),
                args: args.clone(),
            })
        }
        _ => None,
    }
}

/// The order of rows that a block without ORDER BY finds with MATCH in one table: the most relevant first.
pub(super) fn implied_order(binder: &Binder<'_>, block: &Block<'_>) -> Vec<OrderItem> {
    let is_plain = binder.resolution.is_none()
        && block.order_by.is_empty()
        && block.group_by.is_empty()
        && block.having.is_none()
        && block.windows.is_empty()
        && !block.distinct;
    let ([ast::TableRef::Table(named)], Some(filter), true) =
        (block.from.as_slice(), &block.filter, is_plain)
    else {
        return Vec::new();
    };
    let is_computed = |item: &ast::SelectItem| match item {
        ast::SelectItem::Expr { expr, .. } => expr.has_aggregate() || expr.has_window(),
        _ => false,
    };
    let conditions = match filter {
        ast::Expr::And(conditions) => conditions.as_slice(),
        condition => std::slice::from_ref(condition),
    };
    let found = conditions.iter().find_map(searched);
    let (Some(found), false) = (found, block.items.iter().any(is_computed)) else {
        return Vec::new();
    };
    let database = named.name.database.as_deref().or(binder.env.database);
    let table = database.and_then(|database| binder.env.schema.table(database, &named.name.name));
    let Some(table) = table.filter(|table| table.view.is_none()) else {
        return Vec::new();
    };
    let alias = named.alias.as_ref().unwrap_or(&named.name.name);
    let key = table.primary_parts().into_iter().filter_map(|part| {
        Some(OrderItem {
            expr: ast::Expr::Column(ColumnName {
                database: None,
                table: Some(alias.clone()),
                column: table.columns.get(part.column)?.name.clone(),
            }),
            descending: false,
        })
    });
    let relevance = OrderItem {
        expr: found.clone(),
        descending: true,
    };
    std::iter::once(relevance).chain(key).collect()
}

/// MATCH, if a condition is that rows are relevant.
fn searched(condition: &ast::Expr) -> Option<&ast::Expr> {
    match condition {
        ast::Expr::Function { name, .. } if is_match(name) => Some(condition),
        ast::Expr::Binary { op, left, right } => match op {
            BinaryOp::Greater | BinaryOp::GreaterOrEqual if matches!(**right, ast::Expr::Number(_)) => {
                searched(left)
            }
            BinaryOp::Less | BinaryOp::LessOrEqual if matches!(**left, ast::Expr::Number(_)) => {
                searched(right)
            }
            _ => None,
        },
        _ => None,
    }
}
