//! Computes the definition after an ALTER TABLE, without the store, locks or rows.
//!
//! As in MySQL, the changes of one statement are made together, not one after the other. Names refer to
//! columns and indexes as they were before the statement, except in new indexes and AFTER, where they refer
//! to those after the statement. So `RENAME COLUMN a TO b, RENAME COLUMN b TO a` swaps names, and `ADD INDEX
//! k (x), DROP INDEX k` replaces an index.

use schema::definition::{AlterChange, NewForeignKey};
use schema::foreign_key::{check_distinct, new_keys};
use schema::limits::{check_table, has_clustered_key};
use schema::model::{ForeignKey, Table};
use schema::sharded_id;
use types::Result;

use crate::alter_draft::Draft;
use crate::alter_expressions;
use crate::alter_messages as messages;
use crate::altered::Altered;
use crate::context::DdlContext;
use crate::conversion::conversion;
use crate::modify;
use crate::partition;
use crate::partition::columns::check_columns_stay;
use crate::rewrite::{Rewrite, rewrites};

/// Computes the result of an ALTER TABLE.
///
/// # Errors
/// MySQL's.
pub(crate) fn alter(base: &Table, changes: &[AlterChange], ctx: &DdlContext) -> Result<Altered> {
    check_columns_stay(base, changes)?;
    let mut draft = Draft::new(base, ctx);
    draft.renames = changes.iter().filter_map(removed_name).collect();
    let changes = &draft.drop_keys(changes)?;
    draft.drop_primary_key(changes)?;
    let refused = draft.drop_columns(changes);
    draft.change_columns(changes)?;
    draft.place_columns(changes)?;
    if draft.columns.is_empty() {
        return Err(messages::all_columns_dropped());
    }
    refused.map_or(Ok(()), Err)?;
    draft.drop_indexes(changes)?;
    draft.shrink_indexes();
    draft.lengthen_parts();
    draft.change_indexes(changes)?;
    // This comes before new indexes, which may have the same names, and then expressions with the same names.
    draft.drop_unused_expressions();
    draft.add_indexes(changes)?;
    draft.shorten_parts(changes);
    let mut altered = draft.finish()?;
    let replaces = |change: &AlterChange| match change {
        AlterChange::Repartition(change) => partition::columns::replaces_all(change),
        _ => false,
    };
    if changes.iter().any(replaces) {
        // The columns in it may be dropped.
        altered.table.partitioning = None;
    }
    alter_expressions::apply(base, changes, &mut altered, ctx)?;
    if changes.iter().any(|change| {
        matches!(
            change,
            AlterChange::Validate | AlterChange::Copy | AlterChange::OrderBy
        )
    }) {
        rewrites(&mut altered.rewrite, Rewrite::BY_COPY);
    }
    let orders = changes
        .iter()
        .any(|change| matches!(change, AlterChange::OrderBy));
    if orders && !has_clustered_key(&altered.table) {
        return Err(messages::no_order());
    }
    partition::plan::apply(base, changes, &mut altered)?;
    if altered.rewrite.is_some() {
        // The shadow table has all indexes from the start.
        altered.new_indexes.clear();
    }
    add_keys(base, changes, &mut altered)?;
    for change in changes {
        match change {
            AlterChange::Comment(comment) => altered.table.comment.clone_from(comment),
            AlterChange::DefaultCollation(collation) => altered.table.collation = *collation,
            AlterChange::AutoIncrement(next) if altered.table.auto_increment_column().is_some() => {
                altered.auto_increment = Some((*next).max(1));
            }
            AlterChange::AutoRandomBase(next) => {
                altered.auto_random_base = Some(modify::check_base(&altered.table, *next)?)
            }
            AlterChange::ShardRowIdBits(bits) => {
                altered.table.shard_row_id_bits = sharded_id::limited_shard_bits(*bits)
            }
            AlterChange::Options(options) => {
                for (name, value) in options {
                    altered.table.options.set(name, value);
                }
            }
            AlterChange::RenameTable { to } => altered.rename = Some(to.clone()),
            _ => {}
        }
    }
    match (check_table(&altered.table), check_table(base)) {
        // A table of an earlier version may break rules that came later.
        (Err(error), Err(before)) if (error.code, &error.message) == (before.code, &before.message) => {}
        (warnings, before) => {
            let mut warnings = warnings?;
            // Warnings about the definition before are not repeated.
            let before = before.unwrap_or_default();
            warnings.retain(|w| !before.contains(w));
            altered.warnings.append(&mut warnings);
        }
    }
    let is_old = |key: &&ForeignKey| altered.new_keys.iter().all(|new| new.name != key.name);
    let old_keys: Vec<ForeignKey> = altered
        .table
        .foreign_keys
        .iter()
        .filter(is_old)
        .cloned()
        .collect();
    check_distinct(&old_keys, &altered.new_keys)?;
    altered.warnings.extend(messages::notes(base, changes));
    altered.conversion = conversion(base, &mut altered, ctx);
    Ok(altered)
}

/// The name of a column that a change removes.
fn removed_name(change: &AlterChange) -> Option<String> {
    match change {
        AlterChange::RenameColumn { from: name, .. } | AlterChange::DropColumn { name } => Some(name.clone()),
        AlterChange::ModifyColumn { name, column, .. } if !types::same_name(&column.name, name) => {
            Some(name.clone())
        }
        _ => None,
    }
}

fn add_keys(base: &Table, changes: &[AlterChange], altered: &mut Altered) -> Result<()> {
    let definitions: Vec<NewForeignKey> = changes
        .iter()
        .filter_map(|change| match change {
            AlterChange::AddForeignKey(definition) => Some(definition.clone()),
            _ => None,
        })
        .collect();
    altered.new_keys = new_keys(&altered.table, &base.foreign_keys, &definitions)?;
    altered
        .table
        .foreign_keys
        .extend(altered.new_keys.iter().cloned());
    schema::sort_keys(&mut altered.table);
    Ok(())
}
