//! A table as CREATE TABLE defines it: ids for its columns and indexes, names for indexes without one,
//! MySQL's limits.

use types::{Result, SqlType, TypeKind, Warning, errno};

use crate::bound::BoundCell;
use crate::check_constraints::generated_check_name;
use crate::default_value::implicit;
use crate::definition::{TableDefinition, TableName};
use crate::limits::check_table;
use crate::model::{Column, Default, Handle, Index, SchemaState, SystemTraits, Table};
use crate::{foreign_key, indexes, sharded_id};

/// The table that `definition` describes, complete except for its own id (0). `created_us`: microseconds
/// since 1970.
///
/// # Errors
/// MySQL's for a name, a key or a row that is too long, and those of [`check_table`].
pub fn new_table(
    name: &TableName,
    definition: &TableDefinition,
    created_us: i64,
) -> Result<(Table, Vec<Warning>)> {
    let columns: Vec<Column> = (1..)
        .zip(&definition.columns)
        .map(|(id, column)| Column {
            id,
            state: SchemaState::Public,
            original_default: None,
            default: column.effective_default(),
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
        max_index_id: 0,
        auto_increment_start: definition.auto_increment_start.max(1),
        shard_row_id_bits: sharded_id::limited_shard_bits(definition.shard_row_id_bits),
        pre_split_regions: 0,
        created_us,
        revision: 0,
        readable_from_ts: 0,
        view: None,
        system: SystemTraits::default(),
        checks: definition.checks.clone(),
        bound: BoundCell::default(),
        foreign_keys: Vec::new(),
        shadow: None,
        options: definition.options.clone(),
        temporary: None,
        physical: None,
        partitioning: definition.partitioning.clone(),
    };
    if let Handle::Integer { column } = table.handle
        && let Some(at) = table.indexes.iter().position(|i| i.primary)
    {
        // The rows' keys are the primary key; it has no index of its own.
        let primary = table.indexes.remove(at);
        table.set_integer_key(column, &primary);
    }
    table.sort_checks();
    let keys = foreign_key::new_keys(&table, &[], &definition.foreign_keys)?;
    table.foreign_keys.clone_from(&keys);
    sort_keys(&mut table);
    indexes::normalize(&mut table)?;
    for (id, index) in (1..).zip(&mut table.indexes) {
        index.id = id;
        index.state = SchemaState::Public;
    }
    table.max_index_id = table.indexes.len() as i64;
    table.pre_split_regions = pre_split_bits(&table, definition.pre_split_regions);
    let mut warnings = check_table(&table)?;
    foreign_key::check_distinct(&[], &keys)?;
    if let Some(layout) = table.auto_random_layout() {
        let times = format!("Available implicit allocation times: {}", layout.last());
        warnings.push(Warning::note(errno::ER_UNKNOWN_ERROR, times));
    }
    Ok((table, warnings))
}

/// Gives a column of a table whose rows the server makes what a stored table can have: such columns are described with
/// empty defaults, and with texts of any length.
fn make_stored(column: &mut Column) {
    if column.ty.kind == TypeKind::VarChar && column.ty.max_bytes() > u64::from(u16::MAX) {
        column.ty = SqlType {
            kind: TypeKind::LongText,
            length: u32::MAX,
            ..column.ty
        };
    }
    if column.default == Default::Literal(String::new()) {
        column.default = match column.nullable {
            true => Default::None,
            false => Default::Literal(implicit(&column.ty)),
        };
    }
}

/// CREATE TABLE ... LIKE: a copy of the definition, whose ids start from 1. Indexes that are still being
/// built are left out.
pub fn table_like(name: &TableName, source: &Table, created_us: i64) -> Table {
    let mut table = Table {
        name: name.name.clone(),
        database: name.database.clone(),
        created_us,
        auto_increment_start: 1,
        temporary: None,
        physical: None,
        ..Table::clone(source)
    };
    if let Some(partitioning) = &mut table.partitioning {
        partitioning.clear_ids();
    }
    // MySQL's manual, 13.1.20.3: foreign keys are not copied.
    table.foreign_keys.clear();
    table.shadow = None;
    table.indexes.retain(|i: &Index| i.state == SchemaState::Public);
    // Those of indexes that are left out are behind the others.
    table.columns.retain(|column| column.state == SchemaState::Public);
    for column in &mut table.columns {
        column.original_default = None;
        if source.is_virtual() {
            make_stored(column);
        }
    }
    for (number, check) in (1..).zip(&mut table.checks) {
        check.name = generated_check_name(&name.name, number);
    }
    if let Some(primary) = table.indexes.iter().position(|i| i.primary) {
        table.handle = Handle::Clustered { index: primary };
    }
    table
}

/// Foreign keys are listed by name, without regard to case.
pub fn sort_keys(table: &mut Table) {
    table
        .foreign_keys
        .sort_by_cached_key(|key| key.name.to_lowercase());
}

/// `PRE_SPLIT_REGIONS = n`: at most as many as there are shards; 0 in a table whose ids are not sharded.
fn pre_split_bits(table: &Table, written: u64) -> u8 {
    let shards = table
        .auto_random_layout()
        .map_or(table.shard_row_id_bits, |layout| layout.shard_bits);
    u8::try_from(written).unwrap_or(u8::MAX).min(shards)
}
