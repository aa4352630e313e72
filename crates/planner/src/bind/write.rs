//! UPDATE and DELETE.

use types::{Error, Result, SqlType, errno};

use super::Binder;
use super::block::only_table;
use super::expr::Context;
use super::scope::{FIELD_LIST, ORDER_CLAUSE, TableBinding, TableNames, unknown_column};
use crate::errno::ER_NON_UPDATABLE_TABLE;
use crate::object_access::{LockMode, PrivilegeSet};
use crate::plan::{Assignment, DeletePlan, ExecutionCache, SortKey, Target, UpdatePlan};
use syntax::ast::{self, Delete, ObjectName, OrderItem, TableRef, Update};

impl Binder<'_> {
    pub fn update(&self, update: &Update) -> Result<UpdatePlan> {
        let written = only_table(&update.tables).ok_or_else(|| {
            Error::not_supported("UPDATE of several tables", "update the tables one by one")
        })?;
        let table = self.written_table(written, "UPDATE")?;
        self.writes(&table, PrivilegeSet::UPDATE);
        let fields = TableNames {
            table: Some(&table),
            clause: FIELD_LIST,
        };
        let mut assignments = Vec::with_capacity(update.assignments.len());
        for assignment in &update.assignments {
            let column = assigned_column(&table, &assignment.column)?;
            let value = self.assigned(assignment.value.as_ref(), &table, column, &Context::of(&fields))?;
            assignments.push(Assignment { column, value });
        }
        let target = self.written_rows(
            &table,
            written,
            update.filter.as_ref(),
            &update.order_by,
            update.limit.as_ref(),
        )?;
        Ok(UpdatePlan {
            target,
            assignments,
            ignore: update.ignore,
            execution_cache: ExecutionCache::default(),
        })
    }

    pub fn delete(&self, delete: &Delete) -> Result<DeletePlan> {
        let written = only_table(&delete.tables)
            .filter(|_| delete.targets.len() <= 1)
            .ok_or_else(|| {
                Error::not_supported("DELETE from several tables", "delete from the tables one by one")
            })?;
        let table = self.written_table(written, "DELETE")?;
        self.writes(&table, PrivilegeSet::DELETE);
        if let Some(target) = delete.targets.first() {
            check_target(target, written, &table)?;
        }
        let target = self.written_rows(
            &table,
            written,
            delete.filter.as_ref(),
            &delete.order_by,
            delete.limit.as_ref(),
        )?;
        Ok(DeletePlan {
            target,
            ignore: delete.ignore,
            execution_cache: ExecutionCache::default(),
        })
    }

    fn written_table(&self, table: &TableRef, statement: &str) -> Result<TableBinding> {
        let table = self.table_ref(table)?;
        if table.as_of.is_some() {
            return Err(Error::not_supported(
                format!("{statement} ... AS OF TIMESTAMP"),
                "the past cannot be changed",
            ));
        }
        if table.rows.is_some() {
            return Err(Error::new(
                ER_NON_UPDATABLE_TABLE,
                format!(
                    "The target table {} of the {statement} is not updatable",
                    table.alias
                ),
            ));
        }
        self.refuse_virtual(&table)?;
        Ok(table)
    }

    /// The statement finds rows of the table, and changes them.
    fn writes(&self, table: &TableBinding, privilege: PrivilegeSet) {
        let privileges = PrivilegeSet::SELECT | privilege;
        self.accesses
            .add(&table.table, &table.alias, privileges, LockMode::Write);
    }

    fn written_rows(
        &self,
        table: &TableBinding,
        written: &TableRef,
        filter: Option<&ast::Expr>,
        order_by: &[OrderItem],
        limit: Option<&ast::Limit>,
    ) -> Result<Target> {
        let filter = self.filter(filter, Some(table))?;
        let names = TableNames {
            table: Some(table),
            clause: ORDER_CLAUSE,
        };
        let mut keys = Vec::with_capacity(order_by.len());
        for item in order_by {
            // There is no select list that a number could mean.
            keys.push(SortKey {
                expr: self.scalar(&item.expr, &Context::of(&names))?,
                descending: item.descending,
            });
        }
        let limit = self.limit(limit)?;
        let hints = match written {
            TableRef::Table(table) => table.hints.as_slice(),
            _ => &[],
        };
        self.target(table, filter.as_ref(), keys, limit, hints)
    }

    /// Fails with 1044 for a table whose rows the server makes.
    pub fn refuse_virtual(&self, table: &TableBinding) -> Result<()> {
        match table.table.is_virtual() {
            true => Err((self.env.denied)(&table.table.database)),
            false => Ok(()),
        }
    }

    /// The value of an assignment; a parameter of unknown type has the column's.
    pub fn assigned(
        &self,
        value: Option<&ast::Expr>,
        table: &TableBinding,
        column: usize,
        context: &Context<'_>,
    ) -> Result<Option<functions::Expr>> {
        let Some(value) = value else {
            return Ok(None);
        };
        let ty: SqlType = table.table.columns[column].ty;
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
fn check_target(target: &ObjectName, written: &TableRef, table: &TableBinding) -> Result<()> {
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
pub fn assigned_column(table: &TableBinding, name: &ast::ColumnName) -> Result<usize> {
    table.find(name).ok_or_else(|| unknown_column(name, FIELD_LIST))
}
