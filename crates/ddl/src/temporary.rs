//! Definitions of temporary tables: what a statement makes of one, without a store. `session` keeps them.

use schema::definition::{AlterAlgorithm, AlterChange, AlterWay, TableDefinition, TableName};
use schema::limits::check_table_name;
use schema::model::{Schema, Table};
use schema::{new_table, table_like};
use types::{Error, Result, Warning, errno};

use crate::alter_plan;
use crate::context::{DdlContext, check_not_system, check_primary_key, unknown_database};

const ER_CANNOT_ADD_FOREIGN: u16 = 1215;

/// What ALTER TABLE makes of a temporary table.
pub struct AlteredTemporary {
    /// With its new name. Columns that were there before have the same ids.
    pub table: Table,
    /// `AUTO_INCREMENT = n`.
    pub auto_increment: Option<u64>,
    pub warnings: Vec<Warning>,
}

/// Whether a temporary table may have a name. As in MySQL, the database `mysql` may have temporary tables.
///
/// # Errors
/// 1044, 1049; those of a name.
pub fn check_temporary_name(schema: &Schema, name: &TableName, ctx: &DdlContext) -> Result<()> {
    if name.database != "mysql" {
        check_not_system(schema, &name.database, ctx)?;
    }
    if schema.database(&name.database).is_none() {
        return Err(unknown_database(&name.database));
    }
    check_table_name(&name.name)
}

/// # Errors
/// 1215 for foreign keys; those of CREATE TABLE.
pub fn new_temporary(
    name: &TableName,
    definition: &TableDefinition,
    ctx: &DdlContext,
) -> Result<(Table, Vec<Warning>)> {
    if !definition.foreign_keys.is_empty() {
        return Err(no_foreign_keys());
    }
    let (table, warnings) = new_table(name, definition, ctx.now_us)?;
    check_primary_key(&table, ctx)?;
    Ok((table, warnings))
}

/// CREATE TEMPORARY TABLE ... LIKE.
///
/// # Errors
/// 1796 for a FULLTEXT index; 3750
pub fn temporary_like(name: &TableName, source: &Table, ctx: &DdlContext) -> Result<Table> {
    if source.indexes.iter().any(|index| index.full_text.is_some()) {
        return Err(Error::new(
            1796,
            "Cannot create FULLTEXT index on temporary InnoDB table",
        ));
    }
    let table = table_like(name, source, ctx.now_us);
    check_primary_key(&table, ctx)?;
    Ok(table)
}

/// # Errors
/// 1215 for foreign keys, 1845 for `ALGORITHM`; those of ALTER TABLE.
pub fn alter_temporary(
    base: &Table,
    changes: &[AlterChange],
    way: AlterWay,
    ctx: &DdlContext,
) -> Result<AlteredTemporary> {
    check_way(way)?;
    let altered = alter_plan::alter(base, changes, ctx)?;
    if !altered.new_keys.is_empty() {
        return Err(no_foreign_keys());
    }
    check_primary_key(&altered.table, ctx)?;
    let mut table = altered.table;
    if let Some(to) = altered.rename {
        table.database.clone_from(&to.database);
        table.rename(&to.name);
    }
    Ok(AlteredTemporary {
        table,
        auto_increment: altered.auto_increment,
        warnings: altered.warnings,
    })
}

/// Fails for an ALGORITHM that would not copy rows, because the rows of a temporary table are always copied.
fn check_way(way: AlterWay) -> Result<()> {
    let refused = match way.algorithm {
        AlterAlgorithm::Instant => "INSTANT",
        AlterAlgorithm::Inplace => "INPLACE",
        AlterAlgorithm::Copy | AlterAlgorithm::Default => return Ok(()),
    };
    Err(Error::new(
        errno::ER_ALTER_OPERATION_NOT_SUPPORTED,
        format!("ALGORITHM={refused} is not supported for this operation. Try ALGORITHM=COPY."),
    ))
}

fn no_foreign_keys() -> Error {
    Error::new(ER_CANNOT_ADD_FOREIGN, "Cannot add foreign key constraint")
}
