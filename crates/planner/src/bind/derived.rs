//! Derived tables, `FROM (SELECT ...) AS t`: the inner query's plan in the place of a table's scan.

use std::sync::Arc;

use schema::model::{Column, Table};
use types::{Error, Result, errno};

use super::Binder;
use super::block::query_of_derived;
use super::scope::TableBinding;
use syntax::ast::DerivedTable;

impl Binder<'_> {
    pub(super) fn derived_table(&self, table: &DerivedTable) -> Result<TableBinding> {
        let alias = &table.alias;
        let query = query_of_derived(table)?;
        if !query.locking.is_empty() {
            return Err(Error::not_supported(
                "locking reads inside FROM",
                "lock the rows with a query of its own",
            ));
        }
        let plan = self.inner_query(query)?;
        let mut columns: Vec<Column> = Vec::with_capacity(plan.columns.len());
        for column in &plan.columns {
            if columns.iter().any(|c| c.name.eq_ignore_ascii_case(&column.name)) {
                return Err(Error::new(
                    errno::ER_DUP_FIELDNAME,
                    format!("Duplicate column name '{}'", column.name),
                ));
            }
            columns.push(Column {
                id: columns.len() as i64 + 1,
                ..Column::plain(&column.name, column.ty, column.nullable)
            });
        }
        Ok(TableBinding {
            alias: alias.clone(),
            // It names and types the rows; nothing is stored under it.
            table: Arc::new(Table::of_columns(-1, "", alias, columns)),
            as_of: None,
            rows: Some(Box::new(plan.root)),
            pads: false,
        })
    }
}
