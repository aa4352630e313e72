//! Foreign keys in definition statements.
//!
//! A key changes what statements on two tables must do. So a statement that adds a key, or makes one
//! effective, excludes other statements from both tables while it is published, and gives both a new
//! revision, so that older plans are made again. A plan that changes a table's children locks them, so
//! nothing more is needed when a key is dropped.

use schema::definition::TableName;
use schema::foreign_key::{
    KeyIndex, backticked, changing_action, check_child, check_names, check_parent, has_child_index,
    rename_child, unknown_parent,
};
use schema::model::{Column, ForeignKey, Reference, ReferenceAction, Schema, Table};
use types::{Error, Result, errno};

use crate::altered::Altered;
use crate::change::Change;
use crate::context::DdlContext;
use crate::modify::keeps_values;

const ER_CANNOT_ADD_FOREIGN: u16 = 1215;
const ER_DROP_INDEX_FK: u16 = 1553;
const ER_FK_COLUMN_CANNOT_DROP_CHILD: u16 = 1829;
const ER_FK_COLUMN_CANNOT_CHANGE: u16 = 1832;
const ER_FK_COLUMN_CANNOT_CHANGE_CHILD: u16 = 1833;
const ER_FK_CANNOT_DROP_PARENT: u16 = 3730;
const ER_CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN: u16 = 3823;

/// The existing tables that share a foreign key with a new table of this name: its parents, and children that
/// were created before it.
pub(crate) fn relatives<'k>(
    schema: &Schema,
    name: &TableName,
    parents: impl Iterator<Item = &'k TableName>,
) -> Vec<i64> {
    let parents = parents.filter_map(|parent| id_of(schema, parent));
    let children = children_of(schema, name).into_iter().map(|r| r.child.id);
    sorted(parents.chain(children))
}

fn id_of(schema: &Schema, name: &TableName) -> Option<i64> {
    let table = schema.table(&name.database, &name.name)?;
    (!table.is_virtual()).then_some(table.id)
}

/// In the order in which the children were created, as MySQL reports them.
fn children_of(schema: &Schema, name: &TableName) -> Vec<Reference> {
    let mut children = schema.find_references_to(&name.database, &name.name);
    children.sort_by_key(|reference| reference.child.id);
    children
}

fn sorted(ids: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut ids: Vec<i64> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn name_of(table: &Table) -> TableName {
    TableName {
        database: table.database.clone(),
        name: table.name.clone(),
    }
}

/// Checks the keys of a table before it is stored, and those of children that were created before it.
///
/// # Errors
/// 1826, 1824, 3734, 3780, 1822.
pub(crate) fn check_new(schema: &Schema, table: &Table, ctx: &DdlContext) -> Result<()> {
    if !table.foreign_keys.is_empty() {
        check_names(schema, table)?;
    }
    for key in &table.foreign_keys {
        check_constraints(table, key)?;
        check_bases(table, key)?;
        check_key(schema, table, key, ctx)?;
    }
    check_waiting(schema, table, ctx)
}

/// # Errors
/// 3823 if an action of the key changes a column that a CHECK constraint reads.
fn check_constraints(table: &Table, key: &ForeignKey) -> Result<()> {
    if changing_action(key).is_none() {
        return Ok(());
    }
    for check in &table.checks {
        let read = planner::columns_of_check(table, check, None)?;
        if let Some(column) = key.columns.iter().find(|column| read.contains(column)) {
            return Err(Error::new(
                ER_CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN,
                format!(
                    "Column '{}' cannot be used in a check constraint '{}': needed in a foreign key constraint '{}' \
                     referential action.",
                    table.columns[*column].name, check.name, key.name
                ),
            ));
        }
    }
    Ok(())
}

/// # Errors
/// As in MySQL, 1215 if an action of the key changes or removes rows by a column from which a STORED column
/// is computed.
fn check_bases(table: &Table, key: &ForeignKey) -> Result<()> {
    let acts =
        |action: ReferenceAction| matches!(action, ReferenceAction::Cascade | ReferenceAction::SetNull);
    if !acts(key.on_delete) && !acts(key.on_update) {
        return Ok(());
    }
    let Some(expressions) = planner::expressions(table)? else {
        return Ok(());
    };
    let computed = expressions.generated_from(&key.columns);
    match computed.iter().any(|&at| !table.columns[at].is_virtual()) {
        true => Err(Error::new(
            ER_CANNOT_ADD_FOREIGN,
            "Cannot add foreign key constraint",
        )),
        false => Ok(()),
    }
}

/// Checks the keys of existing children that refer to a table with a new name.
fn check_waiting(schema: &Schema, table: &Table, ctx: &DdlContext) -> Result<()> {
    for reference in children_of(schema, &name_of(table)) {
        if let Some(key) = reference.key().filter(|_| reference.child.id != table.id) {
            let checked = check_parent(&reference.child, key, table, true);
            checked.map_err(|error| match ctx.foreign_key_checks {
                true => Error::new(ER_CANNOT_ADD_FOREIGN, "Cannot add foreign key constraint"),
                false => error,
            })?;
        }
    }
    Ok(())
}

/// Checks the keys of children that refer to the new name of an altered table already.
///
/// # Errors
/// 3734, 3780, 1822.
pub(crate) fn check_renamed(schema: &Schema, altered: &Table, to: &TableName) -> Result<()> {
    let mut parent = altered.clone();
    parent.database.clone_from(&to.database);
    parent.rename(&to.name);
    for reference in children_of(schema, to) {
        if let Some(key) = reference.key().filter(|_| reference.child.id != altered.id) {
            check_parent(&reference.child, key, &parent, true)?;
        }
    }
    Ok(())
}

fn check_key(schema: &Schema, table: &Table, key: &ForeignKey, ctx: &DdlContext) -> Result<()> {
    if key.parent == name_of(table) {
        return check_parent(table, key, table, true);
    }
    let parent = schema.table(&key.parent.database, &key.parent.name);
    match parent.filter(|parent| parent.view.is_none()) {
        Some(parent) => check_parent(table, key, parent, true),
        None if ctx.foreign_key_checks => Err(unknown_parent(key)),
        None => Ok(()),
    }
}

/// Gives a new revision to the tables that share keys with a new table.
pub(crate) fn touch_relatives(change: &mut Change<'_>, ids: &[i64]) -> Result<()> {
    for &id in ids {
        if let Some(table) = change.schema.table_by_id(id) {
            let table = Table::clone(table);
            change.put_table(table)?;
        }
    }
    Ok(())
}

/// Gives a new revision to the parents of some keys of a table, because their plans must obey the keys from
/// now on, or no longer.
pub(crate) fn touch_parents(change: &mut Change<'_>, child: &Table, keys: &[String]) -> Result<()> {
    let keys = child.foreign_keys.iter().filter(|key| keys.contains(&key.name));
    let parents = keys.filter_map(|key| id_of(&change.schema, &key.parent));
    let mut parents = sorted(parents);
    parents.retain(|id| *id != child.id);
    touch_relatives(change, &parents)
}

/// Checks whether tables can be dropped together.
///
/// # Errors
/// 3730 if a table that stays refers to one of them.
pub(crate) fn check_drop(schema: &Schema, dropped: &[i64], ctx: &DdlContext) -> Result<()> {
    if !ctx.foreign_key_checks {
        return Ok(());
    }
    let tables = dropped.iter().filter_map(|&id| schema.table_by_id(id));
    for table in tables {
        let children = children_of(schema, &name_of(table));
        let staying = children.iter().find(|r| !dropped.contains(&r.child.id));
        if let Some((reference, key)) = staying.and_then(|r| Some((r, r.key()?))) {
            return Err(Error::new(
                ER_FK_CANNOT_DROP_PARENT,
                format!(
                    "Cannot drop table '{}' referenced by a foreign key constraint '{}' on table '{}'.",
                    table.name, key.name, reference.child.name
                ),
            ));
        }
    }
    Ok(())
}

/// # Errors
/// 1701 if another table refers to it.
pub(crate) fn check_truncate(schema: &Schema, table: &Table, ctx: &DdlContext) -> Result<()> {
    let children = children_of(schema, &name_of(table));
    let other = children.iter().find(|reference| reference.child.id != table.id);
    match other.and_then(|r| Some((r, r.key()?))) {
        Some((reference, key)) if ctx.foreign_key_checks => Err(Error::new(
            errno::ER_TRUNCATE_ILLEGAL_FK,
            format!(
                "Cannot truncate a table referenced in a foreign key constraint ({}.{}, CONSTRAINT {})",
                backticked(&reference.child.database),
                backticked(&reference.child.name),
                backticked(&key.name)
            ),
        )),
        _ => Ok(()),
    }
}

/// The tables that a rename changes besides the renamed ones: their children, and children that already refer
/// to the new name.
pub(crate) fn relatives_of_renamed<'a>(
    schema: &Schema,
    renames: impl Iterator<Item = (&'a Table, &'a TableName)>,
) -> Vec<i64> {
    let mut ids = Vec::new();
    for (table, to) in renames {
        for name in [&name_of(table), to] {
            ids.extend(children_of(schema, name).into_iter().map(|r| r.child.id));
        }
    }
    ids
}

/// Stores renamed tables, and the keys that refer to them, with the new names. The caller has removed the
/// renamed tables from the schema.
pub(crate) fn rename(
    change: &mut Change<'_>,
    mut moved: Vec<(Table, TableName)>,
    ctx: &DdlContext,
) -> Result<()> {
    let names: Vec<(TableName, TableName)> = moved
        .iter()
        .map(|(table, to)| (name_of(table), to.clone()))
        .collect();
    let renamed = |parent: &TableName| names.iter().find(|(from, _)| from == parent).map(|(_, to)| to);
    for (table, to) in &mut moved {
        let from = name_of(table);
        // Names may be swapped, so each is replaced once.
        let keys = table.foreign_keys.iter();
        let parents: Vec<TableName> = keys
            .map(|key| renamed(&key.parent).unwrap_or(&key.parent).clone())
            .collect();
        rename_child(table, &from, to)?;
        for (key, parent) in table.foreign_keys.iter_mut().zip(parents) {
            key.parent = parent;
        }
        schema::sort_keys(table);
    }
    // Also children that already referred to a new name: their revision changes.
    let both = names.iter().flat_map(|(from, to)| [from, to]);
    let children: Vec<i64> = both
        .flat_map(|name| children_of(&change.schema, name))
        .map(|reference| reference.child.id)
        .collect();
    let mut ids = sorted(children.into_iter());
    ids.retain(|id| moved.iter().all(|(table, _)| table.id != *id));
    for id in ids {
        let Some(child) = change.schema.table_by_id(id) else {
            continue;
        };
        let mut child = Table::clone(child);
        for key in &mut child.foreign_keys {
            if let Some(new) = renamed(&key.parent) {
                key.parent = new.clone();
            }
        }
        change.put_table(child)?;
    }
    for (table, to) in moved {
        let mut table = Table {
            database: to.database,
            ..table
        };
        table.rename(&to.name);
        change.database(&table.database)?.check_constraint_names(&table)?;
        if !table.foreign_keys.is_empty() {
            check_names(&change.schema, &table)?;
        }
        check_waiting(&change.schema, &table, ctx)?;
        change.put_table(table)?;
    }
    Ok(())
}

/// The tables from which an ALTER TABLE excludes other statements. Its own table is the first.
pub(crate) fn altered_with(schema: &Schema, base: &Table, altered: &Altered) -> Vec<i64> {
    let parents = altered
        .new_keys
        .iter()
        .filter_map(|key| id_of(schema, &key.parent));
    let mut ids: Vec<i64> = parents.collect();
    let changes_columns = base
        .columns
        .iter()
        .any(|column| !altered.table.columns.contains(column));
    if changes_columns || !altered.dropped_indexes.is_empty() || altered.rename.is_some() {
        ids.extend(
            children_of(schema, &name_of(base))
                .into_iter()
                .map(|r| r.child.id),
        );
    }
    ids.extend(
        altered
            .rename
            .iter()
            .flat_map(|to| children_of(schema, to))
            .map(|r| r.child.id),
    );
    let mut ids = sorted(ids.into_iter().filter(|id| *id != base.id));
    ids.insert(0, base.id);
    ids
}

/// Checks the definition after an ALTER TABLE: its own keys, and those that refer to it.
pub(crate) fn check_altered(
    schema: &Schema,
    base: &Table,
    altered: &Altered,
    ctx: &DdlContext,
) -> Result<()> {
    let after = &altered.table;
    if !altered.new_keys.is_empty() {
        check_names(schema, after)?;
    }
    let is_known = |name: &str| base.checks.iter().any(|check| check.name == name);
    let has_new_check = after.checks.iter().any(|check| !is_known(&check.name));
    for key in &after.foreign_keys {
        let is_new = altered.new_keys.iter().any(|new| new.name == key.name);
        check_child(after, key)?;
        if is_new || after.columns.len() > base.columns.len() {
            check_bases(after, key)?;
        }
        if is_new || has_new_check {
            check_constraints(after, key)?;
        }
        if is_new {
            check_key(schema, after, key, ctx)?;
        } else if key.parent != name_of(base)
            && has_changed(base, after, &key.columns)
            && let Some(parent) = schema.table(&key.parent.database, &key.parent.name)
        {
            check_parent(after, key, parent, ctx.foreign_key_checks)?;
        }
        if !has_child_index(after, key) {
            return Err(index_needed(base, altered));
        }
    }
    for reference in children_of(schema, &name_of(base)) {
        let is_own = reference.child.id == base.id;
        let Some(key) = reference.key() else { continue };
        let Some(before) = base.offsets_of(&key.parent_columns) else {
            continue;
        };
        let mut offsets = Vec::with_capacity(before.len());
        for &at in &before {
            let column = &base.columns[at];
            match after.columns.iter().position(|c| c.id == column.id) {
                Some(offset) => offsets.push(offset),
                None if is_own && !after.foreign_keys.iter().any(|k| k.name == key.name) => {}
                None => return Err(column_needed(&column.name, &reference.child, key)),
            }
        }
        if offsets.len() < before.len() {
            continue;
        }
        if !is_own && has_changed(base, after, &offsets) {
            let names = offsets.iter().map(|&at| after.columns[at].name.clone());
            let renamed = ForeignKey {
                parent_columns: names.collect(),
                ..key.clone()
            };
            check_parent(&reference.child, &renamed, after, ctx.foreign_key_checks)
                .map_err(|error| with_index(error, base, altered))?;
        }
        let stays = !is_own || after.foreign_keys.iter().any(|k| k.name == key.name);
        if stays && KeyIndex::of(after, &offsets).is_none() {
            return Err(index_needed(base, altered));
        }
    }
    match ctx.foreign_key_checks {
        true => check_types_stay(schema, base, altered),
        false => Ok(()),
    }
}

/// A column of a key keeps its type if stored values would have to change: they might lose the rows that they refer to.
///
/// # Errors
/// 1833 for a column that a child refers to, 1832 for a column of the child.
fn check_types_stay(schema: &Schema, base: &Table, altered: &Altered) -> Result<()> {
    let after = &altered.table;
    let changed = |old: &&Column| {
        let new = after.columns.iter().find(|new| new.id == old.id);
        new.is_some_and(|new| !keeps_values(old, new))
    };
    let changed_of = |columns: &[usize]| columns.iter().map(|&at| &base.columns[at]).find(changed);
    let stays = |key: &ForeignKey| after.foreign_keys.iter().any(|other| other.name == key.name);
    for reference in children_of(schema, &name_of(base)) {
        let Some(key) = reference
            .key()
            .filter(|key| reference.child.id != base.id || stays(key))
        else {
            continue;
        };
        let columns = base.offsets_of(&key.parent_columns).unwrap_or_default();
        if let Some(column) = changed_of(&columns) {
            return Err(Error::new(
                ER_FK_COLUMN_CANNOT_CHANGE_CHILD,
                format!(
                    "Cannot change column '{}': used in a foreign key constraint '{}' of table '{}.{}'",
                    column.name, key.name, reference.child.database, reference.child.name
                ),
            ));
        }
    }
    // A copied NULL may become another value.
    let copies = altered.rewrite.is_some_and(|rewrite| rewrite.copies);
    let loses_null = |old: &&Column| {
        let new = after.columns.iter().find(|new| new.id == old.id);
        copies && new.is_some_and(|new| old.nullable && !new.nullable)
    };
    for key in base.foreign_keys.iter().filter(|key| stays(key)) {
        let mut columns = key.columns.iter().map(|&at| &base.columns[at]);
        if let Some(column) = columns.find(|column| changed(column) || loses_null(column)) {
            return Err(Error::new(
                ER_FK_COLUMN_CANNOT_CHANGE,
                format!(
                    "Cannot change column '{}': used in a foreign key constraint '{}'",
                    column.name, key.name
                ),
            ));
        }
    }
    Ok(())
}

/// If an index of the parent is missing, this statement drops it.
fn with_index(error: Error, base: &Table, altered: &Altered) -> Error {
    match error.code {
        1822 => index_needed(base, altered),
        _ => error,
    }
}

/// Whether the columns at these offsets of `after` had other types in `base`.
fn has_changed(base: &Table, after: &Table, offsets: &[usize]) -> bool {
    offsets.iter().any(|&at| {
        let Some(new) = after.columns.get(at) else {
            return false;
        };
        let old = base.columns.iter().find(|old| old.id == new.id);
        old.is_none_or(|old| old.ty != new.ty)
    })
}

fn index_needed(base: &Table, altered: &Altered) -> Error {
    let dropped = base
        .indexes
        .iter()
        .find(|index| altered.dropped_indexes.contains(&index.id));
    let name = dropped.map_or("PRIMARY", |index| index.name.as_str());
    Error::new(
        ER_DROP_INDEX_FK,
        format!("Cannot drop index '{name}': needed in a foreign key constraint"),
    )
}

fn column_needed(column: &str, child: &Table, key: &ForeignKey) -> Error {
    Error::new(
        ER_FK_COLUMN_CANNOT_DROP_CHILD,
        format!(
            "Cannot drop column '{column}': needed in a foreign key constraint '{}' of table '{}'",
            key.name, child.name
        ),
    )
}

/// Stores the changes of an ALTER TABLE in other tables: children refer to new names of the table and of its
/// columns, and the parents of new keys get a new revision. The caller stores `table`, whose keys that refer
/// to itself are changed here, too.
pub(crate) fn put_relatives(change: &mut Change<'_>, before: &Table, table: &mut Table) -> Result<()> {
    let (from, to) = (name_of(before), name_of(table));
    if from != to {
        rename_child(table, &from, &to)?;
        schema::sort_keys(table);
        check_names(&change.schema, table)?;
    }
    let renamed: Vec<(&str, String)> = before
        .columns
        .iter()
        .filter_map(|old| {
            let new = table.columns.iter().find(|new| new.id == old.id)?;
            (new.name != old.name).then(|| (old.name.as_str(), new.name.clone()))
        })
        .collect();
    let rename = |key: &mut ForeignKey| {
        key.parent = to.clone();
        for column in &mut key.parent_columns {
            let new = renamed.iter().find(|(old, _)| types::same_name(old, column));
            if let Some((_, new)) = new {
                column.clone_from(new);
            }
        }
    };
    let own_before: Vec<String> = before.foreign_keys.iter().map(|key| key.name.clone()).collect();
    for key in table.foreign_keys.iter_mut() {
        if key.parent == to && own_before.contains(&key.name) {
            rename(key);
        }
    }
    let mut ids: Vec<i64> = Vec::new();
    if from != to || !renamed.is_empty() {
        let children = children_of(&change.schema, &from);
        ids = sorted(children.iter().map(|r| r.child.id));
    }
    ids.retain(|id| *id != table.id);
    for id in &ids {
        if let Some(child) = change.schema.table_by_id(*id) {
            let mut child = Table::clone(child);
            let keys = child.foreign_keys.iter_mut();
            keys.filter(|key| key.parent == from).for_each(rename);
            change.put_table(child)?;
        }
    }
    let new_parents = table
        .foreign_keys
        .iter()
        .filter(|key| !own_before.contains(&key.name));
    let parents = new_parents.filter_map(|key| id_of(&change.schema, &key.parent));
    let waiting = children_of(&change.schema, &to).into_iter().map(|r| r.child.id);
    let mut touched: Vec<i64> = sorted(parents.chain(waiting.filter(|_| from != to)));
    touched.retain(|id| *id != table.id && !ids.contains(id));
    touch_relatives(change, &touched)
}
