//! Queries: query expressions, query blocks, tables.

use super::printer::Printer;
use super::{json_table, position, window};
use crate::ast::{
    DerivedTable, IndexHint, IndexHintKind, Join, JoinCondition, JoinKind, Limit, LockWait, LockingClause,
    NamedTable, Query, QueryBody, Select, SelectItem, SetOperator, TableRef, With,
};

pub fn query(printer: &mut Printer<'_>, query: &Query) {
    // Parentheses around all of it are not printed.
    if let (true, QueryBody::Nested(inner)) = (query.is_bare(), &query.body) {
        return printer.query(inner);
    }
    if let Some(with) = &query.with {
        with_clause(printer, with);
    }
    let body = query.body.unwrapped();
    query_body(printer, body);
    order_by(printer, query, body);
    if let Some(limit) = &query.limit {
        put_limit(printer, limit);
    }
    for clause in &query.locking {
        locking(printer, clause);
    }
}

pub fn parenthesised(printer: &mut Printer<'_>, query: &Query) {
    printer.put("(");
    printer.query(query);
    printer.put(")");
}

/// A query whose columns other parts of the statement may name.
fn table_query(printer: &mut Printer<'_>, query: &Query) {
    let names_items = std::mem::replace(&mut printer.names_items, true);
    printer.parenthesised(query);
    printer.names_items = names_items;
}

fn with_clause(printer: &mut Printer<'_>, with: &With) {
    printer.put(if with.recursive {
        "with recursive "
    } else {
        "with "
    });
    printer.separated(&with.tables, ", ", |printer, table| {
        printer.name(&table.name);
        column_list(printer, &table.columns);
        printer.put(" as ");
        table_query(printer, &table.query);
    });
    printer.put(" ");
}

/// ` (a,b)`, where the columns of a derived table or common table expression have names of their own.
fn column_list(printer: &mut Printer<'_>, columns: &[String]) {
    if columns.is_empty() {
        return;
    }
    printer.put(" (");
    printer.names(columns);
    printer.put(")");
}

fn query_body(printer: &mut Printer<'_>, body: &QueryBody) {
    match body {
        QueryBody::Select(select) => put_select(printer, select),
        QueryBody::Values(rows) => {
            printer.put("values ");
            printer.separated(rows, ",", |printer, row| {
                printer.put("row(");
                printer.separated(row, ",", |printer, value| match value {
                    Some(value) => printer.expr(value),
                    None => printer.put("default"),
                });
                printer.put(")");
            });
        }
        QueryBody::Nested(query) => match lone_block(query) {
            Some(block) => query_body(printer, block),
            None => printer.parenthesised(query),
        },
        QueryBody::SetOperation { first, rest } => {
            query_body(printer, first);
            for operand in rest {
                printer.put(match operand.operator {
                    SetOperator::Union => " union ",
                    SetOperator::Except => " except ",
                    SetOperator::Intersect => " intersect ",
                });
                if operand.all {
                    printer.put("all ");
                }
                query_body(printer, &operand.operand);
            }
        }
    }
}

/// The block that is all of a query in parentheses, which need not be printed then.
fn lone_block(query: &Query) -> Option<&QueryBody> {
    match &query.body {
        QueryBody::Nested(inner) if query.is_bare() => lone_block(inner),
        QueryBody::Select(_) | QueryBody::Values(_) if query.is_bare() => Some(&query.body),
        _ => None,
    }
}

fn put_select(printer: &mut Printer<'_>, select: &Select) {
    printer.put("select ");
    if select.distinct {
        printer.put("distinct ");
    }
    if select.counts_all_rows {
        printer.put("sql_calc_found_rows ");
    }
    printer.separated(&select.items, ",", |printer, item| {
        select_item(printer, select, item)
    });
    if !select.from.is_empty() {
        printer.put(" from ");
        put_tables(printer, &select.from);
    }
    if let Some(filter) = &select.filter {
        // MySQL's own text has the second space.
        printer.put(if select.from.is_empty() {
            " from DUAL  where "
        } else {
            " where "
        });
        printer.filter(filter);
    }
    if !select.group_by.is_empty() {
        printer.put(" group by ");
        printer.separated(&select.group_by, ",", |printer, item| {
            position::group_key(printer, &item.expr, select);
        });
        if select.rollup {
            printer.put(" with rollup");
        }
    }
    if let Some(having) = &select.having {
        printer.put(" having ");
        printer.filter(having);
    }
    window::windows(printer, &select.windows);
}

fn select_item(printer: &mut Printer<'_>, select: &Select, item: &SelectItem) {
    if let SelectItem::Expr { expr, name, aliased } = item {
        printer.expr(expr);
        return item_name(printer, name, *aliased);
    }
    match (printer.style.names.star(select, item), item) {
        (Some(columns), _) => printer.separated(&columns, ",", |printer, (column, name)| {
            printer.column(column);
            item_name(printer, name, false);
        }),
        (None, SelectItem::AllOf(table)) => {
            printer.object(table);
            printer.put(".*");
        }
        (None, _) => printer.put("*"),
    }
}

fn item_name(printer: &mut Printer<'_>, name: &str, is_alias: bool) {
    if printer.names_items || is_alias {
        printer.put(" AS ");
        printer.name(name);
    }
}

/// Tables between commas: joins without a condition.
fn put_tables(printer: &mut Printer<'_>, tables: &[TableRef]) {
    let [before @ .., last] = tables else { return };
    if before.is_empty() {
        return table_ref(printer, last);
    }
    printer.put("(");
    put_tables(printer, before);
    printer.put(" join ");
    table_ref(printer, last);
    printer.put(")");
}

fn table_ref(printer: &mut Printer<'_>, table: &TableRef) {
    match table {
        TableRef::Table(table) => named_table(printer, table),
        TableRef::Derived(derived) => derived_table(printer, derived),
        TableRef::Json(table) => json_table::json_table(printer, table),
        TableRef::Join(join) => put_join(printer, join),
        TableRef::Nested(tables) => put_tables(printer, tables),
    }
}

fn named_table(printer: &mut Printer<'_>, table: &NamedTable) {
    let name = printer.style.names.table(&table.name);
    printer.object(&name);
    if !table.partitions.is_empty() {
        printer.put(" PARTITION (");
        printer.names(&table.partitions);
        printer.put(")");
    }
    if let Some(alias) = &table.alias {
        printer.put(" ");
        printer.name(alias);
    }
    for hint in &table.hints {
        // MySQL keeps one hint for each index.
        for index in &hint.indexes {
            index_hint(printer, hint, Some(index));
        }
        if hint.indexes.is_empty() {
            index_hint(printer, hint, None);
        }
    }
}

fn index_hint(printer: &mut Printer<'_>, hint: &IndexHint, index: Option<&str>) {
    printer.put(match hint.kind {
        IndexHintKind::Use => " USE INDEX (",
        IndexHintKind::Ignore => " IGNORE INDEX (",
        IndexHintKind::Force => " FORCE INDEX (",
    });
    match index {
        Some(primary) if primary.eq_ignore_ascii_case("PRIMARY") => printer.put("PRIMARY"),
        Some(name) => printer.name(name),
        None => {}
    }
    printer.put(")");
}

fn derived_table(printer: &mut Printer<'_>, derived: &DerivedTable) {
    if derived.lateral {
        printer.put("lateral ");
    }
    table_query(printer, &derived.query);
    printer.put(" ");
    printer.name(&derived.alias);
    column_list(printer, &derived.columns);
}

/// MySQL turns RIGHT JOIN around.
fn put_join(printer: &mut Printer<'_>, join: &Join) {
    let (left, right, name) = match join.kind {
        JoinKind::Inner => (&join.left, &join.right, " join "),
        JoinKind::Straight => (&join.left, &join.right, " straight_join "),
        JoinKind::Left => (&join.left, &join.right, " left join "),
        JoinKind::Right if is_turned(printer, join) => (&join.right, &join.left, " left join "),
        JoinKind::Right => (&join.left, &join.right, " right join "),
    };
    printer.put("(");
    if !matches!(join.condition, JoinCondition::Natural) || printer.style.names.joined(join).is_some() {
        table_ref(printer, left);
        printer.put(name);
        table_ref(printer, right);
        join_condition(printer, join);
    } else {
        table_ref(printer, left);
        printer.put(" natural");
        printer.put(name);
        table_ref(printer, right);
    }
    printer.put(")");
}

/// Whether a RIGHT JOIN can be printed as a LEFT JOIN: the order of columns that USING and NATURAL give to
/// a `*` depends on the side, so these stay as they are unless their columns are known.
fn is_turned(printer: &Printer<'_>, join: &Join) -> bool {
    match join.condition {
        JoinCondition::None | JoinCondition::On(_) => true,
        JoinCondition::Using(_) | JoinCondition::Natural => printer.style.names.joined(join).is_some(),
    }
}

fn join_condition(printer: &mut Printer<'_>, join: &Join) {
    match &join.condition {
        JoinCondition::None => {}
        JoinCondition::On(condition) => {
            printer.put(" on(");
            printer.filter(condition);
            printer.put(")");
        }
        JoinCondition::Using(_) | JoinCondition::Natural => {
            let Some(pairs) = printer.style.names.joined(join) else {
                if let JoinCondition::Using(columns) = &join.condition {
                    printer.put(" using (");
                    printer.names(columns);
                    printer.put(")");
                }
                return;
            };
            if pairs.is_empty() {
                return;
            }
            printer.put(" on((");
            printer.separated(&pairs, " and ", |printer, (left, right)| {
                let is_only = pairs.len() == 1;
                printer.put(if is_only { "" } else { "(" });
                printer.column(left);
                printer.put(" = ");
                printer.column(right);
                printer.put(if is_only { "" } else { ")" });
            });
            printer.put("))");
        }
    }
}

fn order_by(printer: &mut Printer<'_>, query: &Query, body: &QueryBody) {
    if query.order_by.is_empty() {
        return;
    }
    printer.put(" order by ");
    printer.separated(&query.order_by, ",", |printer, item| {
        position::order_key(printer, &item.expr, body, query.limit.is_some());
        if item.descending {
            printer.put(" desc");
        }
    });
}

fn put_limit(printer: &mut Printer<'_>, limit: &Limit) {
    printer.put(" limit ");
    if let Some(offset) = &limit.offset {
        printer.expr(offset);
        printer.put(",");
    }
    printer.expr(&limit.count);
}

fn locking(printer: &mut Printer<'_>, clause: &LockingClause) {
    printer.put(if clause.exclusive {
        " for update"
    } else {
        " for share"
    });
    if !clause.of.is_empty() {
        printer.put(" of ");
        printer.separated(&clause.of, ",", Printer::object);
    }
    printer.put(match clause.wait {
        LockWait::Wait => "",
        LockWait::NoWait => " nowait",
        LockWait::SkipLocked => " skip locked",
    });
}
