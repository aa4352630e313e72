//! Queries: query expressions, query blocks, tables.

use super::Printer;
use crate::ast::{
    DerivedTable, IndexHint, IndexHintKind, Join, JoinCondition, JoinKind, Limit, LockWait, LockingClause,
    NamedTable, OrderItem, Query, QueryBody, Select, SelectItem, SetOperator, TableRef, With,
};

impl Printer<'_> {
    pub fn query(&mut self, query: &Query) {
        if let Some(with) = &query.with {
            self.with(with);
        }
        self.query_body(&query.body);
        self.order_by(&query.order_by);
        if let Some(limit) = &query.limit {
            self.limit(limit);
        }
        for clause in &query.locking {
            self.locking(clause);
        }
    }

    pub fn parenthesised(&mut self, query: &Query) {
        self.put("(");
        self.query(query);
        self.put(")");
    }

    /// A query whose columns other parts of the statement may name.
    fn table_query(&mut self, query: &Query) {
        let names_items = std::mem::replace(&mut self.names_items, true);
        self.parenthesised(query);
        self.names_items = names_items;
    }

    fn with(&mut self, with: &With) {
        self.put(if with.recursive {
            "with recursive "
        } else {
            "with "
        });
        self.separated(&with.tables, ", ", |printer, table| {
            printer.name(&table.name);
            printer.column_list(&table.columns);
            printer.put(" as ");
            printer.table_query(&table.query);
        });
        self.put(" ");
    }

    /// ` (a,b)`, where the columns of a derived table or common table expression have names of their own.
    fn column_list(&mut self, columns: &[String]) {
        if columns.is_empty() {
            return;
        }
        self.put(" (");
        self.names(columns);
        self.put(")");
    }

    fn query_body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => {
                self.put("values ");
                self.separated(rows, ",", |printer, row| {
                    printer.put("row(");
                    printer.separated(row, ",", |printer, value| match value {
                        Some(value) => printer.expr(value),
                        None => printer.put("default"),
                    });
                    printer.put(")");
                });
            }
            QueryBody::Nested(query) => self.parenthesised(query),
            QueryBody::SetOperation { first, rest } => {
                self.query_body(first);
                for operand in rest {
                    self.put(match operand.operator {
                        SetOperator::Union => " union ",
                        SetOperator::Except => " except ",
                        SetOperator::Intersect => " intersect ",
                    });
                    if operand.all {
                        self.put("all ");
                    }
                    self.query_body(&operand.operand);
                }
            }
        }
    }

    fn select(&mut self, select: &Select) {
        self.put("select ");
        if select.distinct {
            self.put("distinct ");
        }
        if select.counts_all_rows {
            self.put("sql_calc_found_rows ");
        }
        self.separated(&select.items, ",", |printer, item| {
            printer.select_item(select, item)
        });
        if !select.from.is_empty() {
            self.put(" from ");
            self.tables(&select.from);
        }
        if let Some(filter) = &select.filter {
            self.put(" where ");
            self.condition(filter);
        }
        if !select.group_by.is_empty() {
            self.put(" group by ");
            self.separated(&select.group_by, ",", |printer, item| printer.expr(&item.expr));
            if select.rollup {
                self.put(" with rollup");
            }
        }
        if let Some(having) = &select.having {
            self.put(" having ");
            self.condition(having);
        }
        self.windows(&select.windows);
    }

    fn select_item(&mut self, select: &Select, item: &SelectItem) {
        if let SelectItem::Expr { expr, name, aliased } = item {
            self.expr(expr);
            return self.item_name(name, *aliased);
        }
        match (self.style.names.star(select, item), item) {
            (Some(columns), _) => self.separated(&columns, ",", |printer, (column, name)| {
                printer.column(column);
                printer.item_name(name, false);
            }),
            (None, SelectItem::AllOf(table)) => {
                self.object(table);
                self.put(".*");
            }
            (None, _) => self.put("*"),
        }
    }

    fn item_name(&mut self, name: &str, is_alias: bool) {
        if self.names_items || is_alias {
            self.put(" AS ");
            self.name(name);
        }
    }

    /// Tables between commas: joins without a condition.
    fn tables(&mut self, tables: &[TableRef]) {
        let [before @ .., last] = tables else { return };
        if before.is_empty() {
            return self.table_ref(last);
        }
        self.put("(");
        self.tables(before);
        self.put(" join ");
        self.table_ref(last);
        self.put(")");
    }

    fn table_ref(&mut self, table: &TableRef) {
        match table {
            TableRef::Table(table) => self.named_table(table),
            TableRef::Derived(derived) => self.derived_table(derived),
            TableRef::Json(table) => self.json_table(table),
            TableRef::Join(join) => self.join(join),
            TableRef::Nested(tables) => self.tables(tables),
        }
    }

    fn named_table(&mut self, table: &NamedTable) {
        let name = self.style.names.table(&table.name);
        self.object(&name);
        if !table.partitions.is_empty() {
            self.put(" PARTITION (");
            self.names(&table.partitions);
            self.put(")");
        }
        if let Some(alias) = &table.alias {
            self.put(" ");
            self.name(alias);
        }
        for hint in &table.hints {
            self.index_hint(hint);
        }
    }

    fn index_hint(&mut self, hint: &IndexHint) {
        self.put(match hint.kind {
            IndexHintKind::Use => " USE INDEX (",
            IndexHintKind::Ignore => " IGNORE INDEX (",
            IndexHintKind::Force => " FORCE INDEX (",
        });
        self.names(&hint.indexes);
        self.put(")");
    }

    fn derived_table(&mut self, derived: &DerivedTable) {
        if derived.lateral {
            self.put("lateral ");
        }
        self.table_query(&derived.query);
        self.put(" ");
        self.name(&derived.alias);
        self.column_list(&derived.columns);
    }

    /// MySQL turns RIGHT JOIN around.
    fn join(&mut self, join: &Join) {
        let (left, right, name) = match join.kind {
            JoinKind::Inner => (&join.left, &join.right, " join "),
            JoinKind::Straight => (&join.left, &join.right, " straight_join "),
            JoinKind::Left => (&join.left, &join.right, " left join "),
            JoinKind::Right if self.is_turned(join) => (&join.right, &join.left, " left join "),
            JoinKind::Right => (&join.left, &join.right, " right join "),
        };
        self.put("(");
        if !matches!(join.condition, JoinCondition::Natural) || self.style.names.joined(join).is_some() {
            self.table_ref(left);
            self.put(name);
            self.table_ref(right);
            self.join_condition(join);
        } else {
            self.table_ref(left);
            self.put(" natural");
            self.put(name);
            self.table_ref(right);
        }
        self.put(")");
    }

    /// Whether a RIGHT JOIN can be printed as a LEFT JOIN: the order of columns that USING and NATURAL give to
    /// a `*` depends on the side, so these stay as they are unless their columns are known.
    fn is_turned(&self, join: &Join) -> bool {
        match join.condition {
            JoinCondition::None | JoinCondition::On(_) => true,
            JoinCondition::Using(_) | JoinCondition::Natural => self.style.names.joined(join).is_some(),
        }
    }

    fn join_condition(&mut self, join: &Join) {
        match &join.condition {
            JoinCondition::None => {}
            JoinCondition::On(condition) => {
                self.put(" on(");
                self.condition(condition);
                self.put(")");
            }
            JoinCondition::Using(_) | JoinCondition::Natural => {
                let Some(pairs) = self.style.names.joined(join) else {
                    if let JoinCondition::Using(columns) = &join.condition {
                        self.put(" using (");
                        self.names(columns);
                        self.put(")");
                    }
                    return;
                };
                if pairs.is_empty() {
                    return;
                }
                self.put(" on((");
                self.separated(&pairs, " and ", |printer, (left, right)| {
                    let is_only = pairs.len() == 1;
                    printer.put(if is_only { "" } else { "(" });
                    printer.column(left);
                    printer.put(" = ");
                    printer.column(right);
                    printer.put(if is_only { "" } else { ")" });
                });
                self.put("))");
            }
        }
    }

    fn order_by(&mut self, items: &[OrderItem]) {
        if items.is_empty() {
            return;
        }
        self.put(" order by ");
        self.order_items(items);
    }

    pub fn order_items(&mut self, items: &[OrderItem]) {
        self.separated(items, ",", |printer, item| {
            printer.expr(&item.expr);
            if item.descending {
                printer.put(" desc");
            }
        });
    }

    fn limit(&mut self, limit: &Limit) {
        self.put(" limit ");
        if let Some(offset) = &limit.offset {
            self.expr(offset);
            self.put(",");
        }
        self.expr(&limit.count);
    }

    fn locking(&mut self, clause: &LockingClause) {
        self.put(if clause.exclusive {
            " for update"
        } else {
            " for share"
        });
        if !clause.of.is_empty() {
            self.put(" of ");
            self.separated(&clause.of, ",", Self::object);
        }
        self.put(match clause.wait {
            LockWait::Wait => "",
            LockWait::NoWait => " nowait",
            LockWait::SkipLocked => " skip locked",
        });
    }
}
