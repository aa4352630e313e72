//! CREATE TABLE and CREATE TABLE ... LIKE.

use schema::definition::{TableDefinition, TableName};
use schema::limits::check_table_name;
use schema::model::{Schema, Table};
use schema::{new_table, table_like};
use types::{Result, Warning, errno};

use super::{Statement, check_not_system, table_exists};
use crate::Catalog;
use crate::publish::Outcome;

impl Catalog {
    pub(super) fn create_table(
        &self,
        name: &TableName,
        definition: &TableDefinition,
        if_not_exists: bool,
        ctx: &Statement,
    ) -> Result<Vec<Warning>> {
        self.create(name, if_not_exists, ctx, |_| {
            new_table(name, definition, ctx.now_us)
        })
    }

    /// A copy of the definition; ids start from 1.
    pub(super) fn create_table_like(
        &self,
        name: &TableName,
        source: &TableName,
        if_not_exists: bool,
        ctx: &Statement,
    ) -> Result<Vec<Warning>> {
        self.create(name, if_not_exists, ctx, |schema| {
            let source = schema.require_table(&source.database, &source.name)?;
            Ok((table_like(name, source, ctx.now_us), Vec::new()))
        })
    }

    fn create(
        &self,
        name: &TableName,
        if_not_exists: bool,
        ctx: &Statement,
        build: impl FnOnce(&Schema) -> Result<(Table, Vec<Warning>)>,
    ) -> Result<Vec<Warning>> {
        let (mut warnings, is_new) = self.publish_for(ctx, |change| {
            check_not_system(&change.schema, &name.database, ctx)?;
            check_table_name(&name.name)?;
            let exists = change.database(&name.database)?.table(&name.name).is_some();
            if exists && if_not_exists {
                let message = format!("Table '{}' already exists", name.name);
                let note = Warning::note(errno::ER_TABLE_EXISTS_ERROR, message);
                return Ok(Outcome::Nothing((vec![note], false)));
            }
            let (mut table, warnings) = build(&change.schema)?;
            if exists {
                return Err(table_exists(&name.name));
            }
            table.id = change.meta.next_id()?;
            table.readable_from_ts = change.ts;
            change.put_table(table)?;
            Ok(Outcome::Done((warnings, true)))
        })?;
        if is_new {
            warnings.extend(self.pre_split(name, ctx));
        }
        Ok(warnings)
    }
}
