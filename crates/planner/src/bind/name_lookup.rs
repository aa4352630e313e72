//! Names that may mean select items: in GROUP BY, HAVING and ORDER BY, each with rules of its own.
//!
//! Source: MySQL 8.0.33's answers, and the manual's 13.2.13 "SELECT Statement" ("resolution of unqualified
//! column or alias references").

use functions::Expr;
use types::{Result, Warning, errno};

use super::Binder;
use super::output::Item;
use super::scope::{
    GROUP_STATEMENT, HAVING_CLAUSE, Names, ORDER_CLAUSE, Relation, ScopeNames, ambiguous_column,
    ambiguous_text, full_name,
};
use syntax::ast::ColumnName;

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
        let named = item.name.eq_ignore_ascii_case(&name.column);
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

fn is_column_called(item: &Item, name: &ColumnName, tables: &ScopeNames<'_>) -> bool {
    item.column.is_some_and(|column| {
        let relation = tables.scope.relation(column);
        relation.name(column.position).eq_ignore_ascii_case(&name.column)
    })
}

/// Names in expressions of ORDER BY and GROUP BY: columns, else select items.
pub struct ColumnsThenItems<'a> {
    pub items: &'a [Item],
    pub tables: ScopeNames<'a>,
}

impl Names for ColumnsThenItems<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        match self.tables.column(name) {
            Ok(column) => Ok(column),
            Err(ambiguous) if ambiguous.code == errno::ER_NON_UNIQ_ERROR => Err(ambiguous),
            Err(unknown) => match find_item(self.items, name, &self.tables, self.tables.clause)? {
                Some(item) => Ok(self.items[item].expr.clone()),
                None => Err(unknown),
            },
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
}

impl Names for ItemsAndKeys<'_, '_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        let item = find_item(self.items, name, &self.tables, HAVING_CLAUSE)?.map(|i| &self.items[i].expr);
        let column = match self.tables.scope.find(name, HAVING_CLAUSE) {
            Ok(column) => column.map(|column| self.tables.scope.column(column)),
            Err(_) => None,
        };
        let key = column
            .as_ref()
            .and_then(|column| self.keys.iter().find(|key| *key == column));
        match (item, key) {
            (Some(item), Some(key)) if item != key => {
                self.binder.warn(Warning::warning(
                    errno::ER_NON_UNIQ_ERROR,
                    ambiguous_text(&full_name(name), HAVING_CLAUSE),
                ));
                Ok(key.clone())
            }
            (Some(found), _) | (None, Some(found)) => Ok(found.clone()),
            (None, None) => self.tables.around(name),
        }
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        self.tables.values(name)
    }
}

impl Binder<'_> {
    /// A lone name in ORDER BY: a select item, else a column.
    pub fn order_name(&self, name: &ColumnName, items: &[Item], tables: &ScopeNames<'_>) -> Result<Expr> {
        match find_item(items, name, tables, ORDER_CLAUSE)? {
            Some(item) => Ok(items[item].expr.clone()),
            None => tables.column(name),
        }
    }

    /// A lone name in GROUP BY: the column of the table where that is not the select item of the same name.
    pub fn group_name(&self, name: &ColumnName, items: &[Item], tables: &ScopeNames<'_>) -> Result<Expr> {
        let item = find_item(items, name, tables, GROUP_STATEMENT)?.map(|i| &items[i].expr);
        let column = tables.column(name);
        match (item, column) {
            (Some(item), Ok(column)) if *item != column => {
                self.warn(Warning::warning(
                    errno::ER_NON_UNIQ_ERROR,
                    ambiguous_text(&full_name(name), GROUP_STATEMENT),
                ));
                Ok(column)
            }
            (Some(item), _) => Ok(item.clone()),
            (None, column) => column,
        }
    }
}
