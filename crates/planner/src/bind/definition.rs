//! The definition of a definition statement.

use schema::definition::{Ddl, TableName};
use types::{Collation, Result};

use super::alter_partitions::maintained;
use super::write::not_unique;
use super::{Binder, alter, collation, create_table, default_value, view_definition};
use syntax::ast::{DatabaseOptions, ObjectKind, Statement};

/// The definition that a statement is; `None` for any other statement.
pub(super) fn bind_definition(binder: &Binder<'_>, statement: &Statement) -> Result<Option<Ddl>> {
    Ok(Some(match statement {
        Statement::CreateDatabase {
            name,
            if_not_exists,
            options,
        } => Ddl::CreateDatabase {
            name: name.clone(),
            if_not_exists: *if_not_exists,
            collation: database_collation(binder, options)?,
        },
        Statement::AlterDatabase { name, options } => {
            let name = binder.database(name.as_deref())?;
            let written = database_collation(binder, options)?;
            // ENCRYPTION alone leaves it as it is.
            let current = binder
                .env
                .schema
                .database(&name)
                .map(|database| database.collation);
            Ddl::AlterDatabase {
                collation: written.or(current).unwrap_or(binder.env.collation_server),
                name,
            }
        }
        Statement::DropDatabase { name, if_exists } => Ddl::DropDatabase {
            name: name.clone(),
            if_exists: *if_exists,
        },
        Statement::CreateTable(create) => create_table::bind_create_table(binder, create, Vec::new())?,
        Statement::CreateView(create) => view_definition::bind_create_view(binder, create)?,
        Statement::DropObject {
            kind: ObjectKind::View,
            names,
            if_exists,
        } => Ddl::DropView {
            names: binder.table_names(names)?,
            if_exists: *if_exists,
        },
        Statement::CreateTableLike {
            name,
            source,
            if_not_exists,
            ..
        } => {
            let (name, source) = (binder.table_name(name)?, binder.table_name(source)?);
            if name == source {
                return Err(not_unique(&name.name));
            }
            check_defaults_again(binder, &name, &source)?;
            Ddl::CreateTableLike {
                name,
                source,
                if_not_exists: *if_not_exists,
            }
        }
        Statement::AlterTable { items, .. } if maintained(items).is_some() => return Ok(None),
        Statement::AlterTable { name, items, options } => {
            alter::bind_alter_table(binder, name, items, *options)?
        }
        Statement::DropTable { names, if_exists, .. } => Ddl::DropTable {
            names: binder.table_names(names)?,
            if_exists: *if_exists,
        },
        Statement::TruncateTable(name) => Ddl::TruncateTable {
            name: binder.table_name(name)?,
        },
        Statement::RenameTable(renames) => {
            let mut pairs = Vec::with_capacity(renames.len());
            for (from, to) in renames {
                pairs.push((binder.table_name(from)?, binder.table_name(to)?));
            }
            Ddl::RenameTable { renames: pairs }
        }
        _ => return Ok(None),
    }))
}

fn database_collation(binder: &Binder<'_>, options: &DatabaseOptions) -> Result<Option<Collation>> {
    collation::collation_of_clauses(binder, options.charset.as_deref(), options.collation.as_deref())
}

/// Checks the defaults of the source of CREATE TABLE ... LIKE.
///
/// # Errors
/// 1067 for one that `sql_mode` refuses.
fn check_defaults_again(binder: &Binder<'_>, name: &TableName, source: &TableName) -> Result<()> {
    let schema = &binder.env.schema;
    let is_there = schema.table(&name.database, &name.name).is_some();
    match schema.table(&source.database, &source.name) {
        Some(source) if !is_there && source.view.is_none() && !source.is_virtual() => {
            let mut columns = source.columns.iter();
            columns.try_for_each(|column| default_value::check_again(binder, column))
        }
        _ => Ok(()),
    }
}
