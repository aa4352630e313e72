//! UPDATE and DELETE.

use schema::model::Table;
use types::{Error, Result, SqlType, errno};

use super::Binder;
use super::expr::Context;
use super::scope::{FIELD_LIST, ORDER_CLAUSE, Relation, Scope, ScopeNames, WHERE_CLAUSE, unknown_column};
use crate::errno::ER_NON_UPDATABLE_TABLE;
use crate::logical::{Get, LogicalAssignment, LogicalDelete, LogicalTarget, LogicalUpdate};
use crate::object_access::{LockMode, PrivilegeSet};
use crate::plan::SortKey;
use syntax::ast::{self, Delete, ObjectName, OrderItem, TableRef, Update};

impl Binder<'_> {
    pub fn update(&self, update: &Update) -> Result<LogicalUpdate> {
        let written = only_table(&update.tables).ok_or_else(|| {
            Error::not_supported("UPDATE of several tables", "update the tables one by one")
        })?;
        let target = self.written_table(written, "UPDATE")?;
        self.writes(&target, PrivilegeSet::UPDATE);
        let scope = Scope::of(self.relation(&target));
        let fields = names(&scope, FIELD_LIST);
        let table = &scope.relations[0];
        let mut assignments = Vec::with_capacity(update.assignments.len());
        for assignment in &update.assignments {
            let column = assigned_column(table, &assignment.column)?;
            let value = self.assigned(assignment.value.as_ref(), table, column, &Context::of(&fields))?;
            assignments.push(LogicalAssignment { column, value });
        }
        let rows = WrittenRows {
            filter: update.filter.as_ref(),
            order_by: &update.order_by,
            limit: update.limit.as_ref(),
        };
        Ok(LogicalUpdate {
            target: self.written_rows(target, &scope, rows)?,
            assignments,
            ignore: update.ignore,
        })
    }

    pub fn delete(&self, delete: &Delete) -> Result<LogicalDelete> {
        let written = only_table(&delete.tables)
            .filter(|_| delete.targets.len() <= 1)
            .ok_or_else(|| {
                Error::not_supported("DELETE from several tables", "delete from the tables one by one")
            })?;
        let target = self.written_table(written, "DELETE")?;
        self.writes(&target, PrivilegeSet::DELETE);
        if let Some(named) = delete.targets.first() {
            check_target(named, written, &target)?;
        }
        let scope = Scope::of(self.relation(&target));
        let rows = WrittenRows {
            filter: delete.filter.as_ref(),
            order_by: &delete.order_by,
            limit: delete.limit.as_ref(),
        };
        Ok(LogicalDelete {
            target: self.written_rows(target, &scope, rows)?,
            ignore: delete.ignore,
        })
    }

    fn written_table(&self, table: &TableRef, statement: &str) -> Result<Get> {
        let not_updatable = |alias: &str| {
            Error::new(
                ER_NON_UPDATABLE_TABLE,
                format!("The target table {alias} of the {statement} is not updatable"),
            )
        };
        let table = match table {
            TableRef::Table(table) => table,
            TableRef::Derived(derived) => {
                // Its own errors come first.
                self.query(&derived.query, None)?;
                return Err(not_updatable(&derived.alias));
            }
            TableRef::Join(_) | TableRef::Nested(_) => {
                return Err(Error::internal("a write to more than one table"));
            }
        };
        let alias = table.alias.as_ref().unwrap_or(&table.name.name);
        let get = self.get(table, alias)?;
        if get.as_of.is_some() {
            return Err(Error::not_supported(
                format!("{statement} ... AS OF TIMESTAMP"),
                "the past cannot be changed",
            ));
        }
        self.refuse_virtual(&get.table)?;
        Ok(get)
    }

    /// The statement finds rows of the table, and changes them.
    fn writes(&self, target: &Get, privilege: PrivilegeSet) {
        let privileges = PrivilegeSet::SELECT | privilege;
        self.accesses
            .add(&target.table, &target.alias, privileges, LockMode::Write);
    }

    fn written_rows(&self, target: Get, scope: &Scope, rows: WrittenRows<'_>) -> Result<LogicalTarget> {
        let filter = self.filter(rows.filter, &Context::of(&names(scope, WHERE_CLAUSE)))?;
        let in_order = names(scope, ORDER_CLAUSE);
        let mut keys = Vec::with_capacity(rows.order_by.len());
        for item in rows.order_by {
            // There is no select list that a number could mean.
            keys.push(SortKey {
                expr: self.scalar(&item.expr, &Context::of(&in_order))?,
                descending: item.descending,
            });
        }
        Ok(LogicalTarget {
            table: target,
            filter,
            order_by: keys,
            limit: self.limit(rows.limit)?.count,
        })
    }

    /// Fails with 1044 for a table whose rows the server makes.
    pub fn refuse_virtual(&self, table: &Table) -> Result<()> {
        match table.is_virtual() {
            true => Err((self.env.denied)(&table.database)),
            false => Ok(()),
        }
    }

    /// The value of an assignment; a parameter of unknown type has the column's.
    pub fn assigned(
        &self,
        value: Option<&ast::Expr>,
        table: &Relation,
        column: usize,
        context: &Context<'_>,
    ) -> Result<Option<functions::Expr>> {
        let Some(value) = value else {
            return Ok(None);
        };
        let ty: SqlType = table.stored(column).ty();
        let bound = self.hinted(value, Some(ty), context)?;
        let bound = if ty.is_numeric() {
            super::literal::as_number(value, bound)
        } else {
            bound
        };
        // Text that is not well formed is stored as text is, where expressions take it for bytes.
        let bound = bound.as_ill_formed().cloned().unwrap_or(bound);
        Ok(Some(bound))
    }
}

/// Fails with 1109 unless the target of `DELETE target FROM table` is that table: by its alias, where it has
/// one.
fn check_target(target: &ObjectName, written: &TableRef, table: &Get) -> Result<()> {
    let has_alias = matches!(written, TableRef::Table(table) if table.alias.is_some());
    let is_database = match &target.database {
        None => true,
        Some(database) => !has_alias && *database == table.table.database,
    };
    if is_database && target.name == table.alias {
        return Ok(());
    }
    Err(Error::new(
        errno::ER_UNKNOWN_TABLE,
        format!("Unknown table '{}' in MULTI DELETE", target.name),
    ))
}

/// The column on the left of `=`.
pub fn assigned_column(table: &Relation, name: &ast::ColumnName) -> Result<usize> {
    table.find(name).ok_or_else(|| unknown_column(name, FIELD_LIST))
}

/// The table or derived table that is all of what a statement writes to; `None` where there are several.
fn only_table(tables: &[TableRef]) -> Option<&TableRef> {
    match tables {
        [TableRef::Nested(tables)] => only_table(tables),
        [table @ (TableRef::Table(_) | TableRef::Derived(_))] => Some(table),
        _ => None,
    }
}

/// The clauses that say which rows are written.
struct WrittenRows<'a> {
    filter: Option<&'a ast::Expr>,
    order_by: &'a [OrderItem],
    limit: Option<&'a ast::Limit>,
}

fn names<'a>(scope: &'a Scope, clause: &'static str) -> ScopeNames<'a> {
    ScopeNames {
        scope,
        clause,
        outer: None,
    }
}
