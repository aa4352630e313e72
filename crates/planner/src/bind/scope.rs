//! What names mean where they stand: the columns of a table, of a SHOW's output, or nothing at all.

use std::sync::Arc;

use functions::Expr;
use functions::expr::Label;
use schema::model::{Default, INFORMATION_SCHEMA, SchemaState, Table};
use types::{Error, Result, SqlType, errno};

use super::Binder;
use super::block::no_joins;
use crate::plan::Rel;
use syntax::ast::{ColumnName, ObjectName, TableRef};

/// A table as a statement names it.
#[derive(Debug, Clone)]
pub struct TableBinding {
    pub table: Arc<Table>,
    pub alias: String,
    /// `AS OF TIMESTAMP`
    pub as_of: Option<Expr>,
    /// Of a derived table: what makes its rows. `table` then only names and types its columns.
    pub rows: Option<Box<Rel>>,
    /// Under PAD_CHAR_TO_FULL_LENGTH: its CHAR columns are stored without the spaces that statements see.
    pub pads: bool,
}

/// Resolves the names of one place in a statement.
pub trait Names {
    fn column(&self, name: &ColumnName) -> Result<Expr>;

    /// The column that `DEFAULT(column)` is about.
    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s TableBinding, usize)> {
        Err(unknown_column(name, FIELD_LIST))
    }

    /// `VALUES(column)`.
    fn values(&self, name: &ColumnName) -> Result<Expr>;
}

pub const FIELD_LIST: &str = "field list";
pub const WHERE_CLAUSE: &str = "where clause";
pub const HAVING_CLAUSE: &str = "having clause";
pub const ORDER_CLAUSE: &str = "order clause";
pub const GROUP_STATEMENT: &str = "group statement";

/// The columns of a statement's table, if it has one.
pub struct TableNames<'a> {
    pub table: Option<&'a TableBinding>,
    /// Where the names stand, as error 1054 says it.
    pub clause: &'static str,
}

/// The columns of a SHOW statement's output.
pub struct ListNames<'a> {
    pub columns: &'a [(String, SqlType)],
}

/// No columns at all.
pub struct NoNames;

impl TableBinding {
    /// Offset of a column a query may name.
    pub fn find(&self, name: &ColumnName) -> Option<usize> {
        if name.table.as_ref().is_some_and(|table| *table != self.alias) {
            return None;
        }
        if name.database.as_ref().is_some_and(|d| !self.is_in(d)) {
            return None;
        }
        let offset = self.table.column_offset(&name.column)?;
        (self.table.columns[offset].state == SchemaState::Public).then_some(offset)
    }

    fn is_in(&self, database: &str) -> bool {
        let own = &self.table.database;
        database == own || own == INFORMATION_SCHEMA && database.eq_ignore_ascii_case(own)
    }

    /// Whether `[database.]name.*` means this table.
    pub fn is_named(&self, name: &ObjectName) -> bool {
        name.name == self.alias && name.database.as_ref().is_none_or(|d| self.is_in(d))
    }

    /// The column at an offset as statements see it: an expression over all the table's columns.
    pub fn column(&self, offset: usize) -> Expr {
        self.shown(self.stored(offset))
    }

    /// A column of the table's as statements see it.
    pub fn shown(&self, stored: Expr) -> Expr {
        match self.pads {
            true => functions::padded_char(stored),
            false => stored,
        }
    }

    /// The column at an offset as it is stored.
    pub fn stored(&self, offset: usize) -> Expr {
        let column = &self.table.columns[offset];
        Expr::Column {
            index: offset,
            ty: column.ty,
            nullable: column.nullable,
            label: Label::column(&self.table.database, &self.alias, &column.name),
        }
    }

    /// `database.alias.column`, as error 1055 names it.
    pub fn qualified(&self, offset: usize) -> String {
        let column = &self.table.columns[offset].name;
        if self.rows.is_some() {
            return format!("{}.{column}", self.alias);
        }
        format!("{}.{}.{column}", self.table.database, self.alias)
    }

    /// Whether a column must be given a value by INSERT.
    pub fn has_no_default(&self, offset: usize) -> bool {
        let column = &self.table.columns[offset];
        match column.default {
            Default::None => !column.nullable && !column.makes_ids(),
            Default::Dropped => true,
            _ => false,
        }
    }
}

impl Names for TableNames<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        let found = self.table.and_then(|table| Some(table.column(table.find(name)?)));
        found.ok_or_else(|| unknown_column(name, self.clause))
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s TableBinding, usize)> {
        let found = self.table.and_then(|table| Some((table, table.find(name)?)));
        found.ok_or_else(|| unknown_column(name, self.clause))
    }

    /// Outside ON DUPLICATE KEY UPDATE it is NULL.
    fn values(&self, name: &ColumnName) -> Result<Expr> {
        let column = self.column(name)?;
        Ok(functions::bind::implicit_cast(Expr::null(), column.ty()))
    }
}

impl Names for ListNames<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        let found = self
            .columns
            .iter()
            .position(|(c, _)| c.eq_ignore_ascii_case(&name.column));
        match found {
            Some(index) if name.table.is_none() => Ok(Expr::column(index, self.columns[index].1, true)),
            _ => Err(unknown_column(name, WHERE_CLAUSE)),
        }
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        Err(unknown_column(name, WHERE_CLAUSE))
    }
}

impl Names for NoNames {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        Err(unknown_column(name, FIELD_LIST))
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        Err(unknown_column(name, FIELD_LIST))
    }
}

impl Binder<'_> {
    /// Finds the table of FROM, UPDATE or DELETE.
    pub fn table_ref(&self, table: &TableRef) -> Result<TableBinding> {
        let table = match table {
            TableRef::Table(table) => table,
            TableRef::Derived(table) => return self.derived_table(table),
            TableRef::Join(_) | TableRef::Nested(_) => return Err(no_joins()),
        };
        let found = self.table(&table.name)?;
        let as_of = match &table.as_of {
            None => None,
            Some(expr) => Some(self.as_of(expr)?),
        };
        if as_of.is_some() && found.is_virtual() {
            return Err(Error::not_supported(
                "AS OF TIMESTAMP on tables of the server",
                "leave it out",
            ));
        }
        Ok(TableBinding {
            // A table of information_schema is called as the statement writes it, not as it is.
            alias: table.alias.as_ref().unwrap_or(&table.name.name).clone(),
            pads: self.env.sql_mode.pad_char_to_full_length && !found.is_virtual(),
            table: found,
            as_of,
            rows: None,
        })
    }

    fn as_of(&self, expr: &syntax::ast::Expr) -> Result<Expr> {
        let bound = self.scalar(expr, &super::expr::Context::of(&NoNames))?;
        Ok(functions::bind::implicit_cast(bound, SqlType::datetime(6)))
    }

    /// Fails with 1044, 1046, 1049, 1109 or 1146.
    pub fn table(&self, name: &ObjectName) -> Result<Arc<Table>> {
        let database = self.database(name.database.as_deref())?;
        (self.env.check_database)(&database)?;
        self.env.schema.require_table(&database, &name.name).cloned()
    }
}

/// Error 1054.
pub fn unknown_column(name: &ColumnName, clause: &str) -> Error {
    Error::new(
        errno::ER_BAD_FIELD_ERROR,
        format!("Unknown column '{}' in '{clause}'", full_name(name)),
    )
}

/// Error 1052.
pub fn ambiguous_column(name: &str, clause: &str) -> Error {
    Error::new(errno::ER_NON_UNIQ_ERROR, ambiguous_text(name, clause))
}

pub fn ambiguous_text(name: &str, clause: &str) -> String {
    format!("Column '{name}' in {clause} is ambiguous")
}

pub fn full_name(name: &ColumnName) -> String {
    [
        name.database.as_deref(),
        name.table.as_deref(),
        Some(&name.column),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(".")
}
