//! ALTER TABLE, CREATE INDEX, DROP INDEX.

use schema::definition::{self, AlterChange, AlterWay, Ddl, Position};
use schema::limits::check_key_part;
use schema::model::{Column, Table};
use schema::privilege::{Privilege, PrivilegeSet};
use schema::{sharded_id, temporary};
use types::{Collation, Error, Result, SqlType, TypeKind, errno};

use super::added_index::add_index;
use super::collation::of_clauses;
use super::column::wrong_usage_of_generated;
use super::comment::{self, Commented};
use super::create_table::{check_directories, inline_indexes, note_hash};
use super::engine::{Engine, engine_named, warn_of_engine};
use super::foreign_key::index_of;
use super::table_options::{OptionsOf, check_row_format, shown_options};
use super::{
    Binder, alter_partitions, collation, column, default_value, foreign_key, full_text_columns,
    functional_index, generated_key, stored,
};
use syntax::ast::{
    AlterAlgorithm, AlterItem, AlterLock, AlterOptions, CheckDefinition, ColumnDefinition, ColumnPosition,
    DatabaseOptions, DefaultClause, IndexKind, ObjectName, PartitionAction, TableOptions,
};

pub(super) fn bind_alter_table(
    binder: &Binder<'_>,
    name: &ObjectName,
    items: &[AlterItem],
    options: AlterOptions,
) -> Result<Ddl> {
    if let [AlterItem::Partition(action)] = items
        && !matches!(**action, PartitionAction::By(_) | PartitionAction::Remove)
    {
        return alter_partitions::bind_alter_partitions(binder, name, action, way(options));
    }
    let renames = items.iter().any(|item| matches!(item, AlterItem::RenameTable(_)));
    let privileges = match (options.is_index_statement, renames) {
        (true, _) => PrivilegeSet::of(&[Privilege::Index]),
        (false, true) => PrivilegeSet::of(&[Privilege::Alter, Privilege::Drop]),
        (false, false) => PrivilegeSet::of(&[Privilege::Alter]),
    };
    let table = binder.base_table(name, privileges)?;
    check_lock_alone(items, options, &table)?;
    let mut changes = Vec::with_capacity(items.len());
    // New columns take the collation that the statement gives the table, if it gives one.
    let collation = new_collation(binder, items)?.unwrap_or(table.collation);
    for item in items {
        alter_item(binder, item, items, (&table, collation), &mut changes)?;
    }
    check_changed_once(items, &table)?;
    convert_written(binder, items, &table, &mut changes)?;
    check_dates(binder, &table, &changes)?;
    let copies = options.algorithm == AlterAlgorithm::Copy;
    full_text_columns::follow(binder, &table, (items, copies), &mut changes)?;
    if options.validation == Some(true) {
        changes.push(AlterChange::Validate);
    }
    if copies {
        changes.push(AlterChange::Copy);
    }
    generated_key::check_alter(binder, &table, &changes)?;
    Ok(Ddl::AlterTable {
        name: binder.table_name(name)?,
        changes,
        way: way(options),
    })
}

/// # Errors
/// 1845 for a lock that others can share, if the statement changes nothing.
fn check_lock_alone(items: &[AlterItem], options: AlterOptions, table: &Table) -> Result<()> {
    let is_alone = items.is_empty() && options.validation.is_none();
    let is_shared = matches!(options.lock, AlterLock::None | AlterLock::Shared);
    let is_in_place = matches!(
        options.algorithm,
        AlterAlgorithm::Default | AlterAlgorithm::Inplace
    );
    match is_alone && is_shared && is_in_place && !temporary::is_id(table.id) {
        false => Ok(()),
        true => Err(Error::new(
            errno::ER_ALTER_OPERATION_NOT_SUPPORTED,
            "LOCK=NONE/SHARED is not supported for this operation. Try LOCK=EXCLUSIVE.",
        )),
    }
}

/// # Errors
/// 1054 if a column is changed twice: MySQL looks for it among those that it has not changed yet.
fn check_changed_once(items: &[AlterItem], table: &Table) -> Result<()> {
    let mut changed: Vec<&str> = Vec::new();
    for name in items.iter().filter_map(changed_column) {
        if changed.iter().any(|other| types::same_name(other, name)) {
            return Err(unknown_column(name, table));
        }
        changed.push(name);
    }
    Ok(())
}

/// The existing column that an item changes and keeps.
fn changed_column(item: &AlterItem) -> Option<&str> {
    match item {
        AlterItem::ModifyColumn { name, .. }
        | AlterItem::RenameColumn(name, _)
        | AlterItem::SetDefault(name, _)
        | AlterItem::SetColumnVisibility { column: name, .. } => Some(name),
        _ => None,
    }
}

fn unknown_column(name: &str, table: &Table) -> Error {
    Error::new(
        errno::ER_BAD_FIELD_ERROR,
        format!("Unknown column '{name}' in '{}'", table.name),
    )
}

/// Checks the defaults of columns that a statement leaves as they are, as if it created the table.
fn check_dates(binder: &Binder<'_>, table: &Table, changes: &[AlterChange]) -> Result<()> {
    let only_renames = |change: &AlterChange| matches!(change, AlterChange::RenameTable { .. });
    if changes.iter().all(only_renames) {
        return Ok(());
    }
    let is_left = |column: &&Column| {
        !changes.iter().any(|change| match change {
            AlterChange::ModifyColumn { name, .. }
            | AlterChange::DropColumn { name }
            | AlterChange::SetDefault { column: name, .. } => types::same_name(name, &column.name),
            _ => false,
        })
    };
    let mut left = table.columns.iter().filter(is_left);
    left.try_for_each(|column| default_value::check_again(binder, column))
}

/// The collation that a statement gives the table, if it gives one. Warnings about names are given here only.
///
/// # Errors
/// 1302 and 1253 for clauses that contradict each other.
fn new_collation(binder: &Binder<'_>, items: &[AlterItem]) -> Result<Option<Collation>> {
    let mut first: Option<Collation> = None;
    for item in items {
        let (charset, collation) = match item {
            AlterItem::Options(options) => (&options.charset, &options.collation),
            AlterItem::ConvertTo(options) => (&options.charset, &options.collation),
            _ => continue,
        };
        let named = collation::collation_of_clauses(binder, charset.as_deref(), collation.as_deref())?;
        match (first, named) {
            (Some(first), Some(named)) if first.charset() != named.charset() => {
                return Err(match charset {
                    Some(_) => collation::conflicting(first.charset(), named.charset()),
                    None => collation::mismatch(named, first.charset()),
                });
            }
            _ => first = first.or(named),
        }
    }
    Ok(first)
}

fn alter_item(
    binder: &Binder<'_>,
    item: &AlterItem,
    items: &[AlterItem],
    (table, collation): (&Table, Collation),
    changes: &mut Vec<AlterChange>,
) -> Result<()> {
    match item {
        AlterItem::AddColumn(definition, place) => {
            let change = AlterChange::AddColumn {
                column: column::bind_column(binder, definition, collation)?,
                position: position(place),
            };
            changes.push(change);
            add_parts_of_column(binder, definition, changes)?;
        }
        AlterItem::DropColumn(name) => changes.push(AlterChange::DropColumn { name: name.clone() }),
        AlterItem::ModifyColumn {
            name,
            definition,
            position: place,
        } => {
            let change = AlterChange::ModifyColumn {
                name: name.clone(),
                column: modified_column(binder, (name, definition), items, table, collation)?,
                position: place.as_ref().map(position),
            };
            changes.push(change);
            add_parts_of_column(binder, definition, changes)?;
        }
        AlterItem::AddIndex(index) => {
            note_hash(binder, index);
            let mut named = index.clone();
            named.comment = comment::of_index(binder, index)?;
            let index = functional_index::add_hidden_columns(binder, table, &named, changes)?;
            changes.push(add_index(&index, Some(table), false)?);
        }
        AlterItem::DropIndex(name) => changes.push(AlterChange::DropIndex { name: name.clone() }),
        AlterItem::AddForeignKey(definition) => {
            let key = foreign_key::bind_foreign_key(binder, definition, &table.database)?;
            changes.push(add_index(&index_of(definition), Some(table), true)?);
            changes.push(AlterChange::AddForeignKey(key));
        }
        AlterItem::DropForeignKey(name) => {
            changes.push(AlterChange::DropForeignKey { name: name.clone() });
        }
        AlterItem::DropConstraint(name) => changes.push(drop_constraint(table, name)),
        AlterItem::DropPrimaryKey => changes.push(AlterChange::DropPrimaryKey),
        AlterItem::RenameIndex(from, to) => changes.push(AlterChange::RenameIndex {
            from: from.clone(),
            to: to.clone(),
        }),
        AlterItem::RenameColumn(from, to) => changes.push(AlterChange::RenameColumn {
            from: from.clone(),
            to: to.clone(),
        }),
        AlterItem::RenameTable(to) => changes.push(AlterChange::RenameTable {
            to: binder.table_name(to)?,
        }),
        AlterItem::SetDefault(column, clause) => {
            changes.push(set_default(binder, column, clause.as_ref(), table)?);
        }
        AlterItem::SetColumnVisibility { column, invisible } => {
            changes.push(AlterChange::SetColumnVisibility {
                column: column.clone(),
                invisible: *invisible,
            });
        }
        AlterItem::SetIndexVisibility { index, invisible } => {
            changes.push(AlterChange::SetIndexVisibility {
                index: index.clone(),
                invisible: *invisible,
            });
        }
        AlterItem::AddCheck(check) => changes.push(add_check(binder, check, None)),
        AlterItem::DropCheck(name) => changes.push(AlterChange::DropCheck { name: name.clone() }),
        AlterItem::AlterCheck {
            name,
            enforced,
            of_any_kind,
        } => {
            if *of_any_kind && table.check_named(name).is_none() {
                return Err(no_constraint(name));
            }
            let (name, enforced) = (name.clone(), *enforced);
            changes.push(AlterChange::AlterCheck { name, enforced });
        }
        AlterItem::Options(options) => alter_options(binder, options, table, changes)?,
        AlterItem::Partition(action) => {
            let change = alter_partitions::repartition(binder, action)?;
            changes.push(AlterChange::Repartition(change));
        }
        AlterItem::MaintainPartitions(..) => return Err(alter_partitions::stands_alone()),
        AlterItem::Keys => changes.push(AlterChange::Keys),
        AlterItem::Force => changes.push(AlterChange::Rebuild),
        AlterItem::OrderBy => changes.push(AlterChange::OrderBy),
        AlterItem::ConvertTo(options) => convert_to(binder, options, table, changes)?,
    }
    Ok(())
}

/// The indexes and checks that are written within a column's definition.
fn add_parts_of_column(
    binder: &Binder<'_>,
    definition: &ColumnDefinition,
    changes: &mut Vec<AlterChange>,
) -> Result<()> {
    add_inline_indexes(definition, changes)?;
    add_column_checks(binder, definition, changes);
    Ok(())
}

fn drop_constraint(table: &Table, name: &str) -> AlterChange {
    let is_check = table.check_named(name).is_some();
    let name = name.to_owned();
    match is_check {
        true => AlterChange::DropCheck { name },
        false => AlterChange::DropConstraint { name },
    }
}

/// CONVERT TO CHARACTER SET: a change of all columns of text, and of the table's own collation. Without a
/// character set (DEFAULT), it is the database's.
fn convert_to(
    binder: &Binder<'_>,
    options: &DatabaseOptions,
    table: &Table,
    changes: &mut Vec<AlterChange>,
) -> Result<()> {
    let collation = converted_to(binder, options, table)?;
    let is_changed = |name: &str| {
        changes.iter().any(|change| match change {
            AlterChange::ModifyColumn { name: other, .. } | AlterChange::DropColumn { name: other } => {
                types::same_name(other, name)
            }
            _ => false,
        })
    };
    let columns = table
        .columns
        .iter()
        .filter(|column| !column.hidden && !is_changed(&column.name));
    let converted = columns.filter_map(|column| {
        let ty = converted_type(&column.ty, collation)?;
        Some(AlterChange::ModifyColumn {
            name: column.name.clone(),
            column: Column { ty, ..column.clone() },
            position: None,
        })
    });
    let converted: Vec<AlterChange> = converted.collect();
    changes.extend(converted);
    changes.push(AlterChange::DefaultCollation(collation));
    Ok(())
}

/// The collation of CONVERT TO.
///
/// # Errors
/// 1253 if it is not of the database's character set, and DEFAULT is converted to.
fn converted_to(binder: &Binder<'_>, options: &DatabaseOptions, table: &Table) -> Result<Collation> {
    // [`new_collation`] has given the warnings.
    let written = collation::of_clauses(options.charset.as_deref(), options.collation.as_deref())?;
    if options.charset.is_some()
        && let Some(collation) = written
    {
        return Ok(collation);
    }
    let of_database = binder.env.schema.require_database(&table.database)?.collation;
    match written {
        None => Ok(of_database),
        Some(collation) if collation.charset() == of_database.charset() => Ok(collation),
        Some(collation) => Err(collation::mismatch(collation, of_database.charset())),
    }
}

/// CONVERT TO also concerns the columns that the statement adds or changes, whatever collation they have been given.
fn convert_written(
    binder: &Binder<'_>,
    items: &[AlterItem],
    table: &Table,
    changes: &mut [AlterChange],
) -> Result<()> {
    let converts = items.iter().find_map(|item| match item {
        AlterItem::ConvertTo(options) => Some(options),
        _ => None,
    });
    let Some(options) = converts else {
        return Ok(());
    };
    let collation = converted_to(binder, options, table)?;
    for change in changes {
        let (AlterChange::AddColumn { column, .. } | AlterChange::ModifyColumn { column, .. }) = change
        else {
            continue;
        };
        let of_column = match is_written_binary(items, &column.name) {
            true => collation.charset().bytewise_collation(),
            false => collation,
        };
        if !column.hidden
            && let Some(ty) = converted_type(&column.ty, of_column)
        {
            column.ty = ty;
        }
    }
    Ok(())
}

/// Whether the statement's definition of a column says BINARY: then it has the bytewise collation of any character
/// set.
fn is_written_binary(items: &[AlterItem], column: &str) -> bool {
    let is_it =
        |definition: &ColumnDefinition| types::same_name(&definition.name, column) && definition.ty.binary;
    items.iter().any(|item| match item {
        AlterItem::AddColumn(definition, _) | AlterItem::ModifyColumn { definition, .. } => is_it(definition),
        _ => false,
    })
}

/// A column of the primary key stays NOT NULL whether the new definition says so or not, unless the statement drops
/// the key. It must say neither NULL nor DEFAULT NULL.
fn modified_column(
    binder: &Binder<'_>,
    (name, definition): (&str, &ColumnDefinition),
    items: &[AlterItem],
    table: &Table,
    collation: Collation,
) -> Result<schema::model::Column> {
    let offset = table.column_offset(name);
    let is_part = |offset| table.primary_parts().iter().any(|part| part.column == offset);
    let stays_in_key = !items.iter().any(drops_primary_key) && offset.is_some_and(is_part);
    let is_added = |item: &AlterItem| match item {
        AlterItem::AddIndex(index) if index.kind == IndexKind::Primary => {
            let mut parts = index.parts.iter();
            parts.any(|part| types::same_name(&part.column, &definition.name))
        }
        _ => false,
    };
    let written = column::written_column(binder, definition, collation)?;
    if column::says_null(definition) && (stays_in_key || items.iter().any(is_added)) {
        let part = offset.and_then(|at| {
            let mut parts = table.primary_parts().into_iter();
            parts.find(|part| part.column == at)
        });
        if let Some(part) = part.filter(|_| stays_in_key) {
            check_key_part(&written, &part)?;
        }
        return Err(column::primary_with_null());
    }
    let mut column = column::with_default(binder, definition, written)?;
    column.nullable &= !stays_in_key;
    Ok(column)
}

fn drops_primary_key(item: &AlterItem) -> bool {
    match item {
        AlterItem::DropPrimaryKey => true,
        AlterItem::DropIndex(name) => name.eq_ignore_ascii_case("PRIMARY"),
        _ => false,
    }
}

fn set_default(
    binder: &Binder<'_>,
    column: &str,
    clause: Option<&DefaultClause>,
    table: &Table,
) -> Result<AlterChange> {
    let offset = table
        .column_offset(column)
        .ok_or_else(|| unknown_column(column, table))?;
    let definition = &table.columns[offset];
    if offset == 0
        && let Some(key) = generated_key::generated_key(table)
    {
        return Err(generated_key::not_allowed(key));
    }
    if clause.is_some() && definition.generated.is_some() {
        return Err(wrong_usage_of_generated("DEFAULT"));
    }
    if clause.is_some() && definition.auto_increment {
        return Err(Error::new(
            errno::ER_INVALID_DEFAULT,
            format!("Invalid default value for '{column}'"),
        ));
    }
    if clause.is_some() && definition.auto_random.is_some() {
        return Err(sharded_id::invalid("auto_random is incompatible with default"));
    }
    let default = clause
        .map(|clause| {
            default_value::bind_default(
                binder,
                &definition.name,
                definition.ty,
                clause,
                definition.nullable,
            )
        })
        .transpose()?;
    Ok(AlterChange::SetDefault {
        column: column.to_owned(),
        default,
    })
}

fn add_check(binder: &Binder<'_>, check: &CheckDefinition, column: Option<&str>) -> AlterChange {
    AlterChange::AddCheck {
        name: check.name.clone(),
        expression: stored::stored_expression(binder, &check.condition),
        enforced: check.enforced,
        column: column.map(str::to_owned),
    }
}

fn add_column_checks(binder: &Binder<'_>, definition: &ColumnDefinition, changes: &mut Vec<AlterChange>) {
    let checks = definition.checks.iter();
    changes.extend(checks.map(|check| add_check(binder, check, Some(&definition.name))));
}

fn alter_options(
    binder: &Binder<'_>,
    options: &TableOptions,
    table: &Table,
    changes: &mut Vec<AlterChange>,
) -> Result<()> {
    // A table keeps its engine where the new one is unknown.
    if engine_named(binder, options.engine.as_deref())? == Engine::Other {
        warn_of_engine(binder, &table.name);
    }
    check_directories(binder, options, true)?;
    changes.extend(options.auto_increment.map(AlterChange::AutoIncrement));
    changes.extend(options.auto_random_base.map(AlterChange::AutoRandomBase));
    changes.extend(options.shard_row_id_bits.map(AlterChange::ShardRowIdBits));
    if options.pre_split_regions.is_some() {
        return Err(Error::not_supported(
            "ALTER TABLE ... PRE_SPLIT_REGIONS",
            "use SPLIT TABLE",
        ));
    }
    changes.push(AlterChange::Rebuild);
    let of = OptionsOf {
        table: &table.name,
        temporary: table.is_temporary(),
        partitioned: table.partitioning.is_some(),
    };
    check_row_format(binder, options, (&table.name, false))?;
    let shown = shown_options(binder, options, of)?;
    if !shown.is_empty() {
        changes.push(AlterChange::Options(shown));
    }
    if let Some(comment) = &options.comment {
        let comment = comment::limited(binder, comment, Commented::Table(&table.name))?;
        changes.push(AlterChange::Comment(comment));
    }
    let collation = of_clauses(options.charset.as_deref(), options.collation.as_deref())?;
    changes.extend(collation.map(AlterChange::DefaultCollation));
    Ok(())
}

/// The type of a column after CONVERT TO; `None` if it is no text. A TEXT that may need more bytes in the new
/// character set gets the next longer type (manual 13.1.9).
fn converted_type(ty: &SqlType, collation: Collation) -> Option<SqlType> {
    let is_text = ty.is_string() && !ty.is_binary() && ty.kind != TypeKind::Json;
    if !is_text && !ty.has_members() {
        return None;
    }
    let bytes = |collation: Collation| collation.charset().max_bytes_per_char();
    let grows = bytes(collation) > bytes(ty.collation);
    let kind = match ty.kind {
        TypeKind::TinyText if grows => TypeKind::Text,
        TypeKind::Text if grows => TypeKind::MediumText,
        TypeKind::MediumText if grows => TypeKind::LongText,
        kind => kind,
    };
    let length = match kind {
        TypeKind::Text if grows => 0xFFFF,
        TypeKind::MediumText if grows => 0xFF_FFFF,
        TypeKind::LongText if grows => u32::MAX,
        _ => ty.length,
    };
    Some(SqlType {
        kind,
        length,
        collation,
        ..*ty
    })
}

fn position(place: &ColumnPosition) -> Position {
    match place {
        ColumnPosition::Last => Position::Last,
        ColumnPosition::First => Position::First,
        ColumnPosition::After(name) => Position::After(name.clone()),
    }
}

fn add_inline_indexes(definition: &ColumnDefinition, changes: &mut Vec<AlterChange>) -> Result<()> {
    for index in inline_indexes(definition) {
        changes.push(add_index(&index, None, false)?);
    }
    Ok(())
}

/// Error 3940.
fn no_constraint(name: &str) -> Error {
    Error::new(3940, format!("Constraint '{name}' does not exist."))
}

fn way(options: AlterOptions) -> AlterWay {
    AlterWay {
        algorithm: match options.algorithm {
            AlterAlgorithm::Default => definition::AlterAlgorithm::Default,
            AlterAlgorithm::Instant => definition::AlterAlgorithm::Instant,
            AlterAlgorithm::Inplace => definition::AlterAlgorithm::Inplace,
            AlterAlgorithm::Copy => definition::AlterAlgorithm::Copy,
        },
        lock: match options.lock {
            AlterLock::Default => definition::AlterLock::Default,
            AlterLock::None => definition::AlterLock::None,
            AlterLock::Shared => definition::AlterLock::Shared,
            AlterLock::Exclusive => definition::AlterLock::Exclusive,
        },
    }
}
