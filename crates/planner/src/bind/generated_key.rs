//! `sql_generate_invisible_primary_key`: CREATE TABLE without a primary key gets one of an invisible column, which ALTER
//! TABLE does not change.
//!
//! Source: manual 13.1.20.11, "Generated Invisible Primary Keys", and MySQL 8.0.33's answers.

use schema::definition::{AlterChange, PartitionChange, Position};
use schema::model::{Column, Table};
use syntax::ast::{ColumnDefinition, CreateTable, IndexKind, Statement, TableElement};
use types::{Error, Result, SqlMode, TypeKind, Value};

use super::Binder;

const NAME: &str = "my_row_id";
const ER_COLUMN_EXISTS: u16 = 4108;
const ER_AUTO_INCREMENT_EXISTS: u16 = 4109;

/// The column, where there has to be one.
///
/// # Errors
/// 4108, 4109 if the table has a column of that name or another AUTO_INCREMENT column; 1235 for partitions.
pub(super) fn of(binder: &Binder<'_>, create: &CreateTable) -> Result<Option<ColumnDefinition>> {
    let columns = || {
        create.elements.iter().filter_map(|element| match element {
            TableElement::Column(column) => Some(column),
            _ => None,
        })
    };
    let has_key = create.elements.iter().any(|element| match element {
        TableElement::Index(index) => index.kind == IndexKind::Primary,
        TableElement::Column(column) => column.primary,
        _ => false,
    });
    if has_key || !is_on(binder) {
        return Ok(None);
    }
    if columns().any(|column| column.name.eq_ignore_ascii_case(NAME)) {
        return Err(failed(ER_COLUMN_EXISTS, format_args!("Column '{NAME}'")));
    }
    if columns().any(|column| column.auto_increment) {
        return Err(failed(
            ER_AUTO_INCREMENT_EXISTS,
            format_args!("Auto-increment column"),
        ));
    }
    if create.partitioning.is_some() {
        return Err(Error::not_supported(
            "generating invisible primary key for the partitioned tables",
            "define a primary key",
        ));
    }
    definition().map(Some)
}

/// Whether an ALTER TABLE leaves such a key as it is, or drops it with its column. It is recognized by its form, so
/// one that was written counts, too.
///
/// # Errors
/// 1235 for a primary key that is dropped without another one, where tables are to have one; 4110, 4111.
pub(super) fn check_alter(binder: &Binder<'_>, table: &Table, changes: &[AlterChange]) -> Result<()> {
    let parts = table.primary_parts();
    let Some(first) = parts.first().map(|part| &table.columns[part.column]) else {
        return Ok(());
    };
    let drops_column = |name: &str| {
        let drops = |change: &AlterChange| matches!(change, AlterChange::DropColumn { name: dropped } if types::same_name(dropped, name));
        changes.iter().any(drops)
    };
    let drops_key = changes
        .iter()
        .any(|change| matches!(change, AlterChange::DropPrimaryKey));
    let is_gone = drops_key
        || parts
            .iter()
            .all(|part| drops_column(&table.columns[part.column].name));
    let adds_key = |change: &AlterChange| matches!(change, AlterChange::AddIndex { primary: true, .. });
    if is_gone && is_on(binder) && !changes.iter().any(adds_key) {
        return Err(Error::not_supported(
            "dropping the primary key while sql_generate_invisible_primary_key is on",
            "add another primary key in the same statement",
        ));
    }
    if generated_key(table).is_none() {
        return Ok(());
    }
    if drops_key && !drops_column(&first.name) {
        return Err(Error::new(
            4111,
            "Please drop primary key column to be able to drop generated invisible primary key.",
        ));
    }
    changes.iter().try_for_each(|change| check_change(first, change))
}

/// Only whether it is visible, and its comment may change.
fn check_change(key: &Column, change: &AlterChange) -> Result<()> {
    let is_key = |name: &str| types::same_name(name, &key.name);
    let changes_it = match change {
        AlterChange::ModifyColumn {
            name,
            column,
            position,
        } if is_key(name) => {
            let stays = is_key(&column.name) && column.ty == key.ty && column.auto_increment;
            !stays || !matches!(position, None | Some(Position::First))
        }
        AlterChange::RenameColumn { from, .. } => is_key(from),
        AlterChange::SetDefault { column, .. } => is_key(column),
        AlterChange::Repartition(PartitionChange::By(_)) => {
            return Err(Error::not_supported(
                "partitioning a table with a generated invisible primary key",
                "define a primary key",
            ));
        }
        _ => false,
    };
    match changes_it {
        true => Err(not_allowed(key)),
        false => Ok(()),
    }
}

/// Error 4110.
pub(super) fn not_allowed(key: &Column) -> Error {
    let name = &key.name;
    Error::new(
        4110,
        format!("Altering generated invisible primary key column '{name}' is not allowed."),
    )
}

/// The column of a primary key that has the form of a generated one.
pub(super) fn generated_key(table: &Table) -> Option<&Column> {
    let [part] = table.primary_parts()[..] else {
        return None;
    };
    let column = table.columns.first().filter(|_| part.column == 0)?;
    let has_type = column.ty.kind == TypeKind::BigInt && column.ty.unsigned;
    let is_hidden = column.auto_increment && column.invisible;
    (has_type && is_hidden && column.name.eq_ignore_ascii_case(NAME)).then_some(column)
}

fn is_on(binder: &Binder<'_>) -> bool {
    let value = (binder.env.system_variable)(None, "sql_generate_invisible_primary_key");
    matches!(value, Ok(Value::Int(1) | Value::UInt(1)))
}

fn failed(code: u16, what: std::fmt::Arguments<'_>) -> Error {
    Error::new(
        code,
        format!("Failed to generate invisible primary key. {what} already exists."),
    )
}

fn definition() -> Result<ColumnDefinition> {
    let text =
        format!("CREATE TABLE t ({NAME} BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY INVISIBLE)");
    for parsed in syntax::parse(&text, &SqlMode::default())? {
        if let Statement::CreateTable(create) = parsed.statement {
            for element in create.elements {
                if let TableElement::Column(column) = element {
                    return Ok(column);
                }
            }
        }
    }
    Err(Error::internal("the generated primary key has no definition"))
}
