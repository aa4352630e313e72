//! `sql_generate_invisible_primary_key`: CREATE TABLE without a primary key gets one of an invisible column.
//!
//! Source: manual 13.1.20.11, "Generated Invisible Primary Keys", and MySQL 8.0.33's answers.

use syntax::ast::{ColumnDefinition, CreateTable, IndexKind, Statement, TableElement};
use types::{Error, Result, SqlMode, Value};

use super::Binder;

const NAME: &str = "my_row_id";
const ER_COLUMN_EXISTS: u16 = 4108;
const ER_AUTO_INCREMENT_EXISTS: u16 = 4109;

/// The column, where there has to be one.
///
/// # Errors
/// 4108, 4109 where the table has a column of that name or another AUTO_INCREMENT column; 1235 for partitions.
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
            "name a primary key",
        ));
    }
    definition().map(Some)
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
