//! CREATE TABLE and CREATE TABLE ... LIKE.

use types::{Result, Warning, errno};

use super::definition_check::{check_table, check_table_name};
use super::{DdlContext, Statement, check_not_system, indexes, table_exists};
use crate::Catalog;
use crate::definition::{TableDefinition, TableName};
use crate::model::{Column, Default, Handle, Index, Schema, SchemaState, Table};
use crate::publish::Outcome;
use crate::sharded_id::SHARD_BITS_MAX;

impl Catalog {
    pub(super) fn create_table(
        &self,
        name: &TableName,
        definition: &TableDefinition,
        if_not_exists: bool,
        ctx: &Statement,
    ) -> Result<Vec<Warning>> {
        self.create(name, if_not_exists, ctx, |_| build(name, definition, ctx))
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
            let mut table = Table {
                name: name.name.clone(),
                database: name.database.clone(),
                created_us: ctx.now_us,
                auto_increment_start: 1,
                ..Table::clone(source)
            };
            retain_public(&mut table);
            Ok((table, Vec::new()))
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

/// A table from its definition, complete but for its id.
fn build(name: &TableName, definition: &TableDefinition, ctx: &DdlContext) -> Result<(Table, Vec<Warning>)> {
    let columns: Vec<Column> = (1..)
        .zip(&definition.columns)
        .map(|(id, column)| Column {
            id,
            state: SchemaState::Public,
            original_default: None,
            default: settled_default(column),
            ..column.clone()
        })
        .collect();
    let mut table = Table {
        id: 0,
        name: name.name.clone(),
        database: name.database.clone(),
        max_column_id: columns.len() as i64,
        columns,
        indexes: definition.indexes.clone(),
        handle: definition.handle,
        collation: definition.collation,
        comment: definition.comment.clone(),
        max_index_id: definition.indexes.len() as i64,
        auto_increment_start: definition.auto_increment_start.max(1),
        shard_row_id_bits: shard_bits(definition.shard_row_id_bits),
        pre_split_regions: 0,
        created_us: ctx.now_us,
        revision: 0,
        readable_from_ts: 0,
    };
    if matches!(table.handle, Handle::Integer { .. }) {
        // The rows' keys are the primary key; there is no index beside them.
        table.indexes.retain(|i| !i.primary);
    }
    indexes::settle(&mut table)?;
    for (id, index) in (1..).zip(&mut table.indexes) {
        index.id = id;
        index.state = SchemaState::Public;
    }
    table.pre_split_regions = pre_split_bits(&table, definition.pre_split_regions);
    let mut warnings = check_table(&table)?;
    if let Some(layout) = table.auto_random_layout() {
        let times = format!("Available implicit allocation times: {}", layout.last());
        warnings.push(Warning::note(errno::ER_UNKNOWN_ERROR, times));
    }
    Ok((table, warnings))
}

/// `SHARD_ROW_ID_BITS = n`, brought within its limit as TiDB does.
pub(super) fn shard_bits(written: u64) -> u8 {
    u8::try_from(written).unwrap_or(u8::MAX).min(SHARD_BITS_MAX)
}

/// `PRE_SPLIT_REGIONS = n`: as many as there are shards at most; none in a table whose ids are not spread.
fn pre_split_bits(table: &Table, written: u64) -> u8 {
    let shards = table
        .auto_random_layout()
        .map_or(table.shard_row_id_bits, |layout| layout.shard_bits);
    u8::try_from(written).unwrap_or(u8::MAX).min(shards)
}

/// `DEFAULT NULL` of a nullable column is what no clause means there.
pub(super) fn settled_default(column: &Column) -> Default {
    match &column.default {
        Default::Null if column.nullable => Default::None,
        other => other.clone(),
    }
}

/// Leaves out what a schema change has not finished.
fn retain_public(table: &mut Table) {
    table.indexes.retain(|i: &Index| i.state == SchemaState::Public);
    for column in &mut table.columns {
        column.original_default = None;
    }
    if let Some(primary) = table.indexes.iter().position(|i| i.primary) {
        table.handle = Handle::Clustered { index: primary };
    }
}
