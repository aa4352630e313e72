//! Derived tables, `FROM (SELECT ...) AS t`: the inner query's plan in the place of a table's scan.

use std::sync::Arc;

use catalog::model::{Column, Default, Handle, SchemaState, Table};
use types::{Collation, Error, Result, errno};

use super::Binder;
use super::scope::TableBinding;
use crate::ast::Select;
use crate::plan::ResultColumn;

impl Binder<'_> {
    pub(super) fn derived_table(&self, alias: &str, query: &Select) -> Result<TableBinding> {
        if query.locking.is_some() {
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
            columns.push(described(column, columns.len()));
        }
        Ok(TableBinding {
            alias: alias.to_owned(),
            table: Arc::new(shape(alias, columns)),
            as_of: None,
            rows: Some(Box::new(plan.root)),
        })
    }
}

/// What names and types the rows; nothing is stored under it.
fn shape(alias: &str, columns: Vec<Column>) -> Table {
    Table {
        id: -1,
        name: alias.to_owned(),
        database: String::new(),
        columns,
        indexes: Vec::new(),
        handle: Handle::Hidden,
        collation: Collation::DEFAULT,
        comment: String::new(),
        max_column_id: 0,
        max_index_id: 0,
        auto_increment_start: 1,
        shard_row_id_bits: 0,
        pre_split_regions: 0,
        created_us: 0,
        revision: 0,
        readable_from_ts: 0,
    }
}

fn described(column: &ResultColumn, position: usize) -> Column {
    Column {
        id: position as i64 + 1,
        name: column.name.clone(),
        ty: column.ty,
        nullable: column.nullable,
        explicit_collation: false,
        default: Default::None,
        on_update_now: false,
        auto_increment: false,
        auto_random: None,
        comment: String::new(),
        state: SchemaState::Public,
        original_default: None,
    }
}
