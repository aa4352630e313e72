//! EXCHANGE PARTITION: a partition and a table exchange their rows. No row is copied.

use functions::{EvalContext, TimeZone};
use kv::{Interrupt, Reader, Snapshot};
use schema::definition::TableName;
use schema::layout::TableLayout;
use schema::model::{Column, Handle, Index, Schema, Table};
use types::{Error, Result, Warning};

use super::plan::{exchanged, put_leaf_at};
use crate::change::{Change, Outcome};
use crate::changer::SchemaChanger;
use crate::context::{Statement, changeable_table};

const PAGE_ROWS: usize = 512;

/// `validates`: checks that all rows of the table belong to the partition.
pub(crate) fn exchange_partition(
    changer: &SchemaChanger,
    (name, partition): (&TableName, &str),
    other: &TableName,
    validates: bool,
    statement: &Statement,
) -> Result<Vec<Warning>> {
    let tables = |schema: &Schema| {
        let first = changeable_table(schema, name, statement)?;
        let (leaf, _) = exchanged(&first, partition)?;
        let second = changeable_table(schema, other, statement)?;
        check(schema, (&first, leaf), &second)?;
        let mut ids = vec![first.id, second.id];
        ids.sort_unstable();
        Ok(ids)
    };
    let table = changeable_table(&changer.cluster().schema(), name, statement)?;
    if changer.cluster().is_shared() && table.handle == Handle::Hidden {
        return Err(Error::not_supported(
            "EXCHANGE PARTITION of tables without a primary key on a cluster",
            "INSERT ... SELECT and TRUNCATE PARTITION",
        ));
    }
    changer.change_tables(statement, &tables, &mut |change| {
        let mut first = Table::clone(&*change.table(&name.database, &name.name)?);
        let mut second = Table::clone(&*change.table(&other.database, &other.name)?);
        let (leaf, place) = exchanged(&first, partition)?;
        check(&change.schema, (&first, leaf), &second)?;
        if validates {
            let snapshot = changer.cluster().store().snapshot_now()?;
            validate(&snapshot, &first, leaf, &second, &statement.interrupt)?;
        }
        put_leaf_at(&mut first, leaf, second.physical_id());
        second = second.placed_at(place);
        for table in [&mut first, &mut second] {
            table.readable_from_ts = change.ts;
        }
        raise_counters(changer, change, &first, &second)?;
        change.put_table(first)?;
        change.put_table(second)?;
        Ok(Outcome::Done(()))
    })?;
    Ok(Vec::new())
}

/// Raises the next hidden id and AUTO_INCREMENT value of both tables above those of either table.
fn raise_counters(
    changer: &SchemaChanger,
    change: &mut Change<'_>,
    first: &Table,
    second: &Table,
) -> Result<()> {
    let ids = changer.cluster().ids();
    if first.id_column().is_some() {
        let next = ids.first_unleased(first)?.max(ids.first_unleased(second)?);
        for table in [first, second] {
            change.set_auto_increment(table.id, next)?;
        }
    }
    if first.handle == Handle::Hidden {
        change.raise_row_ids([first.id, second.id])?;
    }
    Ok(())
}

/// Checks whether the two can be exchanged: rows and entries of both must have the same format.
fn check(schema: &Schema, (table, leaf): (&Table, usize), other: &Table) -> Result<()> {
    if other.partitioning.is_some() {
        return Err(Error::new(
            1732,
            format!(
                "Table to exchange with partition is partitioned: '{}'",
                other.name
            ),
        ));
    }
    let is_parent = !schema.find_references_to(&other.database, &other.name).is_empty();
    if !other.foreign_keys.is_empty() || is_parent {
        return Err(Error::new(
            1740,
            format!(
                "Table to exchange with partition has foreign key references: '{}'",
                other.name
            ),
        ));
    }
    check_options(table, leaf, other)?;
    if table.columns.len() == other.columns.len() {
        let stored = |column: &Column| column.generated.as_ref().map(|generated| generated.stored);
        let mut pairs = table.columns.iter().zip(&other.columns);
        if pairs.any(|(column, other)| stored(column) != stored(other)) {
            return Err(Error::new(
                3106,
                "'Exchanging partitions for non-generated columns' is not supported for generated columns.",
            ));
        }
    }
    // Generated columns that have the default values of others are stored, and indexed, with these.
    let reads_defaults = |table: &Table| -> Result<bool> {
        let expressions = planner::expressions(table)?;
        let mut generated = expressions.iter().flat_map(|all| &all.generated);
        Ok(generated.any(|generated| !generated.defaults_of.is_empty()))
    };
    let with_defaults = reads_defaults(table)? || reads_defaults(other)?;
    let column = |column: &Column| {
        let default = with_defaults.then(|| column.default.clone());
        let generated = column
            .generated
            .as_ref()
            .map(|g| (g.expression.text.clone(), g.stored));
        let name = column.name.to_lowercase();
        (
            name,
            column.ty,
            column.nullable,
            column.auto_increment,
            generated,
            default,
        )
    };
    let index = |table: &Table, index: &Index| (index.name.to_lowercase(), index.unique, shape(table, index));
    let columns = |table: &Table| table.columns.iter().map(column).collect::<Vec<_>>();
    let indexes = |table: &Table| table.indexes.iter().map(|i| index(table, i)).collect::<Vec<_>>();
    if columns(table) != columns(other) || indexes(table) != indexes(other) || table.handle != other.handle {
        return Err(Error::new(1736, "Tables have different definitions"));
    }
    let ids = |table: &Table| {
        let columns = table.columns.iter().map(|c| (c.id, c.original_default.clone()));
        let indexes = table.indexes.iter().map(|i| (i.id, None));
        columns.chain(indexes).collect::<Vec<_>>()
    };
    if ids(table) != ids(other) {
        return Err(Error::not_supported(
            "EXCHANGE PARTITION of tables whose columns or indexes were added in another order",
            "create the table with CREATE TABLE ... LIKE and REMOVE PARTITIONING",
        ));
    }
    Ok(())
}

/// Checks the options that MySQL compares, though they mean nothing here. MAX_ROWS, MIN_ROWS and TABLESPACE are those
/// of the partition, the others those of its table.
///
/// # Errors
/// 1731
fn check_options(table: &Table, leaf: usize, other: &Table) -> Result<()> {
    let partitioning = table.partitioning.as_deref();
    let leaf = partitioning.and_then(|partitioning| partitioning.leaves().nth(leaf));
    let options = leaf.map(|leaf| match leaf.subpartition {
        Some(sub) => &sub.options,
        None => &leaf.partition.options,
    });
    let of_partition = |number: Option<u64>| number.map(|number| number.to_string());
    let max_rows = of_partition(options.and_then(|options| options.max_rows));
    let min_rows = of_partition(options.and_then(|options| options.min_rows));
    let tablespace = options.and_then(|options| options.tablespace.as_deref());
    let differs = |name: &str| table.options.get(name) != other.options.get(name);
    let attributes = [
        (other.options.get("MAX_ROWS") != max_rows.as_deref(), "MAX_ROWS"),
        (other.options.get("MIN_ROWS") != min_rows.as_deref(), "MIN_ROWS"),
        (other.options.get("TABLESPACE") != tablespace, "TABLESPACE"),
        (differs("AVG_ROW_LENGTH"), "AVG_ROW_LENGTH"),
        (
            table.options.row_format() != other.options.row_format() || differs("KEY_BLOCK_SIZE"),
            "ROW_FORMAT",
        ),
        (differs("STATS_PERSISTENT") || differs("CHECKSUM"), "TABLE OPTION"),
        (
            table.collation.charset() != other.collation.charset(),
            "CHARACTER SET",
        ),
    ];
    match attributes.iter().find(|(differs, _)| *differs) {
        Some((_, name)) => Err(Error::new(
            1731,
            format!("Non matching attribute '{name}' between partition and table"),
        )),
        None => Ok(()),
    }
}

/// The column, prefix, direction and direction of entries of each part. In indexes of older versions the last
/// two may differ.
fn shape(table: &Table, index: &Index) -> Vec<(String, Option<u32>, bool, bool)> {
    let part = |part: &schema::model::IndexPart| {
        let name = table.columns.get(part.column).map(|c| c.name.to_lowercase());
        (
            name.unwrap_or_default(),
            part.prefix,
            part.descending,
            part.stored_descending,
        )
    };
    index.parts.iter().map(part).collect()
}

/// Checks that all rows of `other` belong to a leaf of `table`.
fn validate(
    snapshot: &Snapshot,
    table: &Table,
    leaf: usize,
    other: &Table,
    interrupt: &Interrupt,
) -> Result<()> {
    planner::expressions(table)?;
    planner::expressions(other)?;
    let Some(function) = table.partition_function()? else {
        return Ok(());
    };
    let columns: Vec<usize> = function.columns().collect();
    let layout = TableLayout::in_place(other, &columns)?;
    let context = EvalContext::default();
    for range in other.row_ranges() {
        let mut range = kv::KeyRange::from(range);
        loop {
            interrupt.check()?;
            let page = snapshot.scan_page(&range, PAGE_ROWS, false)?;
            let Some((last, _)) = page.last() else {
                break;
            };
            range.start.clone_from(last);
            range.start.push(0);
            for (key, value) in &page {
                let row = layout.decode_row_values(key, value, TimeZone::UTC)?;
                if function.locate(&row, &context).ok() != Some(leaf) {
                    return Err(Error::new(1737, "Found a row that does not match the partition"));
                }
            }
        }
    }
    Ok(())
}
