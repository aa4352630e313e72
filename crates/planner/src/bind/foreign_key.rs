//! FOREIGN KEY in definitions, and the keys that a write has to obey.

use std::sync::Arc;

use schema::definition::NewForeignKey;
use schema::model::{ReferenceAction, Table};
use syntax::ast::{self, ForeignKeyDefinition, IndexDefinition, IndexKind};
use types::{Error, Result, errno};

use super::Binder;
use super::table_expressions::expressions;
use crate::foreign_key::{ForeignKeyPlan, RowChanges};
use crate::object_access::LockMode;

/// The foreign keys that a write has to obey, if there are any. The tables that they lead to are locked.
pub(super) fn keys_for(
    binder: &Binder<'_>,
    table: &Arc<Table>,
    changes: &RowChanges,
) -> Result<Option<Arc<ForeignKeyPlan>>> {
    if !binder.env.foreign_key_checks || table.is_virtual() || table.is_temporary() {
        return Ok(None);
    }
    let Some(plan) = ForeignKeyPlan::of(&binder.env.schema, table, changes) else {
        return Ok(None);
    };
    for (table, is_changed) in plan.led_to() {
        expressions(&table)?;
        let lock = match is_changed {
            true => LockMode::Write,
            false => LockMode::Read,
        };
        binder.accesses.add_implied(&table, lock);
    }
    Ok(Some(Arc::new(plan)))
}

/// `child`: the database of the table that the key belongs to.
pub(super) fn bind_foreign_key(
    binder: &Binder<'_>,
    definition: &ForeignKeyDefinition,
    child: &str,
) -> Result<NewForeignKey> {
    if definition.columns.len() != definition.parent_columns.len() {
        let name = definition.name.as_deref().unwrap_or("foreign key without name");
        return Err(Error::new(
            errno::ER_WRONG_FK_DEF,
            format!(
                "Incorrect foreign key definition for '{name}': Key reference and table reference don't match"
            ),
        ));
    }
    let parent = match &definition.parent.database {
        Some(_) => binder.table_name(&definition.parent)?,
        None => schema::definition::TableName {
            database: child.to_owned(),
            name: definition.parent.name.clone(),
        },
    };
    let table = binder.env.schema.table(&parent.database, &parent.name);
    // As the parent spells its columns.
    let spelled = |name: &String| {
        let of_table = table.and_then(|table| Some(table.columns[table.column_offset(name)?].name.clone()));
        of_table.unwrap_or_else(|| name.clone())
    };
    let parent_columns = definition.parent_columns.iter().map(spelled).collect();
    Ok(NewForeignKey {
        name: definition.name.clone(),
        columns: definition.columns.clone(),
        parent,
        parent_columns,
        on_delete: action(definition.on_delete),
        on_update: action(definition.on_update),
    })
}

/// The index that a key needs: it has the name of the constraint, if that has one.
pub fn index_of(definition: &ForeignKeyDefinition) -> IndexDefinition {
    let part = |column: &String| ast::IndexPart {
        column: column.clone(),
        expression: None,
        prefix: None,
        descending: false,
        ordered: false,
    };
    IndexDefinition {
        kind: IndexKind::Plain,
        name: definition.name.clone().or_else(|| definition.index.clone()),
        parts: definition.columns.iter().map(part).collect(),
        comment: String::new(),
        using: None,
        invisible: false,
        parser: None,
        words_of: Vec::new(),
    }
}

fn action(action: ast::ReferenceAction) -> ReferenceAction {
    match action {
        ast::ReferenceAction::NoAction => ReferenceAction::NoAction,
        ast::ReferenceAction::Restrict => ReferenceAction::Restrict,
        ast::ReferenceAction::Cascade => ReferenceAction::Cascade,
        ast::ReferenceAction::SetNull => ReferenceAction::SetNull,
        ast::ReferenceAction::SetDefault => ReferenceAction::SetDefault,
    }
}
