//! ALTER TABLE, and with it CREATE and DROP INDEX.

use schema::definition::{AlterChange, AlterWay, TableName};
use types::Result;

use crate::changer::{Jobs, SchemaChanger};
use crate::context::Statement;
use crate::executed::Executed;

pub(crate) fn alter_table(
    changer: &SchemaChanger,
    name: &TableName,
    changes: &[AlterChange],
    way: AlterWay,
    statement: &Statement,
) -> Result<Executed> {
    let altered = match &changer.jobs {
        Jobs::Local(jobs) => jobs.alter(name, changes, way, statement)?,
        Jobs::Shared(jobs) => jobs.alter(name, changes, way, statement)?,
    };
    if let Some(next) = altered.auto_random_base {
        changer.cluster().ids().raise_to(&altered.table, next - 1)?;
    }
    Ok(Executed {
        warnings: altered.warnings,
        rows: altered.rows,
    })
}
