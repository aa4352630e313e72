//! Names that may mean select items: in GROUP BY, HAVING and ORDER BY, each with rules of its own.
//!
//! Source: MySQL 8.0.33's answers, and the manual's 13.2.13 "SELECT Statement" ("resolution of unqualified
//! column or alias references").

use std::cell::RefCell;
use std::collections::BTreeSet;

use functions::Expr;
use types::{Error, Result, Warning, errno};

use super::Binder;
use super::context::{Aggregates, Context, PendingWindow, invalid_group_function};
use super::names::{
    FIELD_LIST, GROUP_STATEMENT, HAVING_CLAUSE, Names, ORDER_CLAUSE, Within, ambiguous_column,
    ambiguous_text, full_name, unknown_column,
};
use super::output::Item;
use super::relation::Relation;
use super::scope::ScopeNames;
use super::subqueries::Subqueries;
use crate::errno::ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE;
use crate::logical::{ColumnId, columns_of};
use syntax::ast::{ColumnName, SelectItem};

/// Finds the select item a name means; error 1052 if it may mean two different ones.
pub fn find_item(
    items: &[Item],
    name: &ColumnName,
    tables: &ScopeNames<'_>,
    clause: &str,
) -> Result<Option<usize>> {
    if name.table.is_some() {
        let Some(column) = tables.scope.find(name, clause)? else {
            return Ok(None);
        };
        return Ok(items.iter().position(|item| item.column == Some(column)));
    }
    let mut by_name: Option<usize> = None;
    let mut behind_alias: Option<usize> = None;
    let mut behind_alias_twice = false;
    let same = |a: usize, b: usize| items[a].expr == items[b].expr;
    for (position, item) in items.iter().enumerate() {
        let named = types::same_name(&item.name, &name.column);
        if item.column.is_none() {
            if named {
                by_name = Some(position);
                break;
            }
        } else if named {
            match by_name {
                Some(other) if !same(other, position) => {
                    return Err(ambiguous_column(&full_name(name), clause));
                }
                Some(_) => {}
                None => by_name = Some(position),
            }
        } else if is_column_called(item, name, tables) {
            match behind_alias {
                Some(other) if !same(other, position) => behind_alias_twice = true,
                Some(_) => {}
                None => behind_alias = Some(position),
            }
        }
    }
    if by_name.is_none() && behind_alias_twice {
        return Err(ambiguous_column(&full_name(name), clause));
    }
    Ok(by_name.or(behind_alias))
}

/// Whether a name means an item because the item is that column, although it has another alias. Then the name
/// must mean the same column among those of all tables, too.
fn is_behind_alias(item: &Item, name: &ColumnName) -> bool {
    name.table.is_none() && !types::same_name(&item.name, &name.column)
}

fn is_column_called(item: &Item, name: &ColumnName, tables: &ScopeNames<'_>) -> bool {
    item.column.is_some_and(|column| {
        let relation = tables.scope.relation(column);
        types::same_name(relation.name(column.position), &name.column)
    })
}

/// Names in the select list: columns. A subquery may also name the items before it by their aliases.
pub struct FieldsAndItems<'a> {
    pub fields: ScopeNames<'a>,
    /// Those that are bound.
    pub items: &'a RefCell<Vec<Item>>,
    pub written: &'a [SelectItem],
    pub aggregates: KnownAggregates<'a>,
    pub windows: &'a RefCell<Vec<PendingWindow>>,
}

impl FieldsAndItems<'_> {
    /// The item that an alias in a subquery means.
    ///
    /// # Errors
    /// 1247 for an aggregate and for an item further on, 3594 for a window function.
    fn item(&self, name: &ColumnName, within: Within) -> Result<Option<Expr>> {
        if name.table.is_some() {
            return Ok(None);
        }
        let items = self.items.borrow();
        let Some(found) = find_item(&items, name, &self.fields, FIELD_LIST)? else {
            let is_called = |item: &SelectItem| {
                matches!(item, SelectItem::Expr { name: alias, aliased: true, .. }
                    if types::same_name(alias, &name.column))
            };
            return match self.written.iter().any(is_called) {
                true => Err(illegal_reference(name, "forward reference in item list")),
                false => Ok(None),
            };
        };
        let expr = &items[found].expr;
        if within != Within::Having {
            self.aggregates.refuse(expr, name)?;
        }
        check_no_window(expr, name, self.windows)?;
        Ok(Some(expr.clone()))
    }
}

/// The aggregates that the items of a block may contain: its own, and those of the queries around.
#[derive(Clone, Copy)]
pub struct KnownAggregates<'a> {
    pub own: &'a Aggregates,
    /// The subqueries of the items, in which they may stand.
    pub subqueries: &'a Subqueries,
    pub outer: Option<&'a Context<'a>>,
}

impl KnownAggregates<'_> {
    /// Error 1247 if an alias means an item with an aggregate.
    fn refuse(&self, item: &Expr, alias: &ColumnName) -> Result<()> {
        match self.are_in(item) {
            true => Err(illegal_reference(alias, "reference to group function")),
            false => Ok(()),
        }
    }

    /// Whether an item has an aggregate: itself, or in a subquery.
    fn are_in(&self, item: &Expr) -> bool {
        let mut columns = columns_of(item);
        let in_subqueries = columns
            .iter()
            .flat_map(|id| self.subqueries.outer_columns_of(*id));
        let in_subqueries: Vec<ColumnId> = in_subqueries.collect();
        columns.extend(in_subqueries);
        names_one_of(self.own, &columns) || names_outer_aggregate(&columns, self.outer)
    }
}

/// Whether columns are results of aggregates of a query around.
pub fn names_outer_aggregate(columns: &BTreeSet<ColumnId>, mut outer: Option<&Context<'_>>) -> bool {
    while let Some(context) = outer {
        if context.aggregates.is_some_and(|all| names_one_of(all, columns)) {
            return true;
        }
        outer = context.outer;
    }
    false
}

fn names_one_of(aggregates: &Aggregates, columns: &BTreeSet<ColumnId>) -> bool {
    aggregates.borrow().iter().any(|(id, _)| columns.contains(id))
}

impl Names for FieldsAndItems<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        self.fields.column(name)
    }

    fn named_within(&self, name: &ColumnName, within: Within) -> Result<Expr> {
        if let Some(column) = self.fields.scope.find(name, FIELD_LIST)? {
            return Ok(self.fields.scope.column(column));
        }
        match self.item(name, within)? {
            Some(item) => Ok(item),
            None => self.fields.around_from(name, within),
        }
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        self.fields.defaulted(name)
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        self.fields.values(name)
    }
}

/// Error 3594.
fn check_no_window(item: &Expr, alias: &ColumnName, windows: &RefCell<Vec<PendingWindow>>) -> Result<()> {
    let columns = columns_of(item);
    if !windows.borrow().iter().any(|window| columns.contains(&window.id)) {
        return Ok(());
    }
    Err(Error::new(
        ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE,
        format!(
            "You cannot use the alias '{}' of an expression containing a window function in this context.'",
            alias.column
        ),
    ))
}

/// Error 1247.
fn illegal_reference(name: &ColumnName, why: &str) -> Error {
    Error::new(
        errno::ER_ILLEGAL_REFERENCE,
        format!("Reference '{}' not supported ({why})", name.column),
    )
}

/// Names in expressions of ORDER BY and GROUP BY: columns, else select items.
pub struct ColumnsThenItems<'a> {
    pub items: &'a [Item],
    pub tables: ScopeNames<'a>,
    pub aggregates: KnownAggregates<'a>,
    /// In GROUP BY: a subquery may not name items with these.
    pub windows: Option<&'a RefCell<Vec<PendingWindow>>>,
    /// The items that were named: a query with groups or DISTINCT can be ordered by anything made of them.
    pub named: RefCell<BTreeSet<usize>>,
}

impl ColumnsThenItems<'_> {
    /// What a name means, given what it means as a column.
    fn column_or_item(&self, name: &ColumnName, column: Result<Expr>) -> Result<Expr> {
        match column {
            Ok(column) => Ok(column),
            Err(ambiguous) if ambiguous.code == errno::ER_NON_UNIQ_ERROR => Err(ambiguous),
            Err(unknown) => match find_item(self.items, name, &self.tables, self.tables.clause)? {
                Some(item) => {
                    self.named.borrow_mut().insert(item);
                    Ok(self.items[item].expr.clone())
                }
                None => Err(unknown),
            },
        }
    }
}

impl Names for ColumnsThenItems<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        self.column_or_item(name, self.tables.column(name))
    }

    fn named_within(&self, name: &ColumnName, within: Within) -> Result<Expr> {
        let meant = self.column_or_item(name, self.tables.named_within(name, within))?;
        if within != Within::Having || self.windows.is_some() {
            self.aggregates.refuse(&meant, name)?;
        }
        if let Some(windows) = self.windows {
            check_no_window(&meant, name, windows)?;
        }
        Ok(meant)
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        self.tables.defaulted(name)
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        self.tables.values(name)
    }
}

/// Names in the arguments of aggregates in HAVING and ORDER BY: columns, else select items.
pub struct ArgumentNames<'a> {
    pub items: &'a [Item],
    pub tables: ScopeNames<'a>,
    pub aggregates: KnownAggregates<'a>,
    pub windows: Option<&'a RefCell<Vec<PendingWindow>>>,
    /// Takes the subqueries of the items that are named: an argument needs them for each row.
    pub below: Option<&'a Subqueries>,
}

impl ArgumentNames<'_> {
    /// The item that a name means, which is computed for each row then.
    ///
    /// # Errors
    /// 1111 for an item with an aggregate, 3594 for one with a window function.
    fn item(&self, name: &ColumnName) -> Result<Option<Expr>> {
        let Some(found) = find_item(self.items, name, &self.tables, self.tables.clause)? else {
            return Ok(None);
        };
        let item = &self.items[found].expr;
        if let Some(windows) = self.windows {
            check_no_window(item, name, windows)?;
        }
        if self.aggregates.are_in(item) {
            return Err(invalid_group_function());
        }
        if let Some(below) = self.below {
            self.aggregates.subqueries.move_to(below, &columns_of(item));
        }
        Ok(Some(item.clone()))
    }
}

impl Names for ArgumentNames<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        if let Some(column) = self.tables.scope.find(name, self.tables.clause)? {
            return Ok(self.tables.scope.column(column));
        }
        match self.item(name)? {
            Some(item) => Ok(item),
            None => self.tables.around(name),
        }
    }

    /// An aggregate of a subquery is not one of this query because it names a select item.
    fn named_within(&self, name: &ColumnName, within: Within) -> Result<Expr> {
        if let Some(column) = self.tables.scope.find(name, self.tables.clause)? {
            return Ok(self.tables.scope.column(column));
        }
        let is_item = || find_item(self.items, name, &self.tables, self.tables.clause);
        if within == Within::Argument && is_item()?.is_some() {
            return Err(unknown_column(name, self.tables.clause));
        }
        match self.item(name)? {
            Some(item) => Ok(item),
            None => self.tables.around_from(name, within),
        }
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        self.tables.defaulted(name)
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        self.tables.values(name)
    }
}

/// Names in HAVING: select items and columns of GROUP BY, nothing else.
pub struct ItemsAndKeys<'a, 'b> {
    pub binder: &'a Binder<'b>,
    pub items: &'a [Item],
    pub tables: ScopeNames<'a>,
    pub keys: &'a [Expr],
    /// The query has groups.
    pub grouped: bool,
    pub aggregates: KnownAggregates<'a>,
    pub windows: &'a RefCell<Vec<PendingWindow>>,
}

impl ItemsAndKeys<'_, '_> {
    /// The key that a name means which columns of several tables have. `ambiguous`: the error if they are several keys.
    fn lone_key(&self, name: &ColumnName, ambiguous: Error) -> Result<Option<Expr>> {
        let scope = self.tables.scope;
        let is_named = |key: &&Expr| {
            let column = match key {
                Expr::Column { index, .. } => scope.of_id(ColumnId(*index)),
                _ => None,
            };
            column.is_some_and(|column| {
                types::same_name(scope.relation(column).name(column.position), &name.column)
            })
        };
        let mut named = self.keys.iter().filter(is_named);
        match (named.next(), named.next()) {
            (key, None) => Ok(key.cloned()),
            (_, Some(_)) => Err(ambiguous),
        }
    }

    /// `within`: the place of the name in a subquery, if it stands in one.
    fn item_or_key(&self, name: &ColumnName, within: Option<Within>) -> Result<Expr> {
        let item = find_item(self.items, name, &self.tables, HAVING_CLAUSE)?.map(|i| &self.items[i].expr);
        let column = match self.tables.scope.find(name, HAVING_CLAUSE) {
            Ok(column) => column.map(|column| self.tables.scope.column(column)),
            Err(ambiguous) => self.lone_key(name, ambiguous)?,
        };
        let key = column
            .as_ref()
            .and_then(|column| self.keys.iter().find(|key| *key == column));
        if let Some(item) = item {
            if key.is_none_or(|key| key == item) {
                check_no_window(item, name, self.windows)?;
            }
            if within == Some(Within::Elsewhere) {
                self.aggregates.refuse(item, name)?;
            }
        }
        match (item, key) {
            (Some(item), Some(key)) if item != key => {
                self.binder.warn_of_text(Warning::warning(
                    errno::ER_NON_UNIQ_ERROR,
                    ambiguous_text(&full_name(name), HAVING_CLAUSE),
                ));
                Ok(key.clone())
            }
            (Some(found), _) | (None, Some(found)) => Ok(found.clone()),
            (None, None) => match within {
                None => self.tables.around(name),
                Some(within) => self.tables.around_from(name, within),
            },
        }
    }
}

impl Names for ItemsAndKeys<'_, '_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        self.item_or_key(name, None)
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        let item = find_item(self.items, name, &self.tables, HAVING_CLAUSE)?;
        match item.and_then(|item| self.items[item].column) {
            Some(column) => Ok((self.tables.scope.relation(column), column.position)),
            None => self.tables.defaulted(name),
        }
    }

    /// A subquery in HAVING names the tables' columns first: where there are groups, those that are keys.
    fn named_within(&self, name: &ColumnName, within: Within) -> Result<Expr> {
        let column = self.tables.scope.find(name, HAVING_CLAUSE)?;
        let column = column.map(|column| self.tables.scope.column(column));
        let Some(column) = column.filter(|column| !self.grouped || self.keys.contains(column)) else {
            return self.item_or_key(name, Some(within));
        };
        Ok(column)
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        self.tables.values(name)
    }
}

/// A lone name in ORDER BY: a select item, else a column.
pub(super) fn order_name(name: &ColumnName, items: &[Item], tables: &ScopeNames<'_>) -> Result<Expr> {
    match find_item(items, name, tables, ORDER_CLAUSE)? {
        Some(item) => {
            if is_behind_alias(&items[item], name) {
                tables.column(name)?;
            }
            Ok(items[item].expr.clone())
        }
        None => tables.column(name),
    }
}

/// A lone name in GROUP BY: the column of the table where that is not the select item of the same name, but the
/// item where USING or NATURAL made one column of two tables'.
pub(super) fn group_name(
    binder: &Binder<'_>,
    name: &ColumnName,
    items: &[Item],
    tables: &ScopeNames<'_>,
) -> Result<Expr> {
    let found = find_item(items, name, tables, GROUP_STATEMENT)?.map(|i| &items[i]);
    let item = found.map(|item| &item.expr);
    // A column of a query around comes after the select items.
    let column = tables.scope.find(name, tables.clause);
    let is_joined_by = matches!(column, Ok(Some(column)) if tables.scope.is_joined_by(column));
    let is_by_name = found.is_some_and(|item| !is_behind_alias(item, name));
    let column = column.map(|column| column.map(|column| tables.scope.column(column)));
    match (item, column) {
        (Some(item), Ok(_)) if is_joined_by && is_by_name => Ok(item.clone()),
        (Some(_), Err(ambiguous)) if !is_by_name => Err(ambiguous),
        (Some(item), Ok(Some(column))) if *item != column => {
            binder.warn_of_text(Warning::warning(
                errno::ER_NON_UNIQ_ERROR,
                ambiguous_text(&full_name(name), GROUP_STATEMENT),
            ));
            Ok(column)
        }
        (Some(item), _) => Ok(item.clone()),
        (None, Ok(Some(column))) => Ok(column),
        (None, Ok(None)) => tables.around(name),
        (None, Err(ambiguous)) => Err(ambiguous),
    }
}
