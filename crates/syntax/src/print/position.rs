//! Positions and aliases in GROUP BY and ORDER BY of a view: its text has what they mean.
//!
//! MySQL prints the select item for a position, and after a set operation the name of the column. It prints an item for its
//! alias in ORDER BY if the view can be merged into the query that uses it.

use super::printer::Printer;
use crate::ast::{ColumnName, Expr, NumberText, QueryBody, Select, SelectItem};

/// Functions whose next call has another result: the position of an item with one stays.
const CHANGING: &[&str] = &["rand", "uuid", "uuid_short", "sleep", "random_bytes", "get_lock"];

/// A column that a query block shows.
enum Shown<'a> {
    Item(&'a Expr, &'a str),
    /// One of those of a `*`.
    Column(ColumnName, String),
}

impl Shown<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Item(_, name) => name,
            Self::Column(_, name) => name,
        }
    }
}

/// A key of ORDER BY. `body`: what it orders; `limited`: as many rows as a LIMIT says.
pub fn order_key(printer: &mut Printer<'_>, key: &Expr, body: &QueryBody, limited: bool) {
    let expands = printer.style.names.expands_positions();
    if !expands || !(expanded(printer, key, body) || unaliased(printer, key, body, limited)) {
        printer.expr(key);
    }
}

/// A key of GROUP BY.
pub fn group_key(printer: &mut Printer<'_>, key: &Expr, select: &Select) {
    if !printer.style.names.expands_positions() || !expanded_in_block(printer, key, select) {
        printer.expr(key);
    }
}

/// Prints what a position means; `false` if it is to stay.
fn expanded(printer: &mut Printer<'_>, key: &Expr, body: &QueryBody) -> bool {
    match body {
        QueryBody::Select(select) => expanded_in_block(printer, key, select),
        QueryBody::SetOperation { first, .. } => named(printer, key, first),
        QueryBody::Values(_) | QueryBody::Nested(_) => false,
    }
}

fn expanded_in_block(printer: &mut Printer<'_>, key: &Expr, select: &Select) -> bool {
    let Some(at) = position(key) else {
        return false;
    };
    let Some(mut shown) = shown(printer, select) else {
        return false;
    };
    match (at < shown.len()).then(|| shown.swap_remove(at)) {
        Some(Shown::Item(expr, _)) if has_one_value(expr) => printer.expr(expr),
        Some(Shown::Column(column, _)) => printer.column(&column),
        _ => return false,
    }
    true
}

/// Prints the item that an alias means; `false` if it is to stay.
fn unaliased(printer: &mut Printer<'_>, key: &Expr, body: &QueryBody, limited: bool) -> bool {
    let (QueryBody::Select(select), Expr::Column(name)) = (body, key) else {
        return false;
    };
    // A name that means a column has been resolved.
    let is_alias = name.table.is_none() && printer.style.names.column(name).table.is_none();
    if !is_alias || limited || !can_be_merged(select) {
        return false;
    }
    let named = select.items.iter().find_map(|item| match item {
        SelectItem::Expr {
            expr, name: alias, ..
        } if types::same_name(alias, &name.column) => Some(expr),
        _ => None,
    });
    match named.filter(|expr| has_one_value(expr)) {
        Some(expr) => printer.expr(expr),
        None => return false,
    }
    true
}

/// Whether each row of a block's tables makes a row.
fn can_be_merged(select: &Select) -> bool {
    let makes = |item: &SelectItem| match item {
        SelectItem::Expr { expr, .. } => expr.has_aggregate() || expr.has_window(),
        SelectItem::All | SelectItem::AllOf(_) => false,
    };
    !select.distinct
        && select.group_by.is_empty()
        && select.having.is_none()
        && select.windows.is_empty()
        && !select.items.iter().any(makes)
}

/// Prints the name of a column of a set operation, if only one has it.
fn named(printer: &mut Printer<'_>, key: &Expr, first: &QueryBody) -> bool {
    let (Some(at), QueryBody::Select(select), true) = (position(key), first.unwrapped(), printer.names_items)
    else {
        return false;
    };
    let Some(shown) = shown(printer, select) else {
        return false;
    };
    let Some(name) = shown.get(at).map(Shown::name) else {
        return false;
    };
    let same = shown.iter().filter(|other| types::same_name(other.name(), name));
    if same.count() > 1 {
        return false;
    }
    printer.name(name);
    true
}

/// What a block shows; `None` if the columns of a `*` are not known.
fn shown<'a>(printer: &Printer<'_>, select: &'a Select) -> Option<Vec<Shown<'a>>> {
    let mut all = Vec::with_capacity(select.items.len());
    for item in &select.items {
        match item {
            SelectItem::Expr { expr, name, .. } => all.push(Shown::Item(expr, name)),
            SelectItem::All | SelectItem::AllOf(_) => {
                let columns = printer.style.names.star(select, item)?.into_iter();
                all.extend(columns.map(|(column, name)| Shown::Column(column, name)));
            }
        }
    }
    Some(all)
}

/// The position that a key is, from 0 on.
fn position(key: &Expr) -> Option<usize> {
    match key {
        Expr::Number(NumberText::Integer(digits)) => digits.parse::<usize>().ok()?.checked_sub(1),
        _ => None,
    }
}

/// Whether an item can be written twice and be the same: it has no subquery, window or assignment, and is no literal,
/// which would be a position or nothing.
fn has_one_value(expr: &Expr) -> bool {
    !expr.is_literal() && is_plain(expr)
}

fn is_plain(expr: &Expr) -> bool {
    let is_own = match expr {
        Expr::Subquery(_)
        | Expr::Exists(_)
        | Expr::InSubquery { .. }
        | Expr::Quantified { .. }
        | Expr::Over { .. }
        | Expr::Assign { .. } => false,
        Expr::Function { name, .. } => !CHANGING
            .iter()
            .any(|changing| name.eq_ignore_ascii_case(changing)),
        _ => true,
    };
    let mut all = is_own;
    expr.children(&mut |child| all = all && is_plain(child));
    all
}
