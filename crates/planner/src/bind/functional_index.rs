//! Indexes on expressions, and on words: each expression is a hidden generated column, which is not stored.

use functions::Expr;
use schema::definition::AlterChange;
use schema::expression::{Generated, StoredExpression};
use schema::model::{Column, Table};
use syntax::ast::{self, IndexDefinition, IndexKind};
use types::{Error, Result, SqlType, TypeKind, errno};

use super::stored::bind_index_expression;
use super::{Binder, stored};
use super::{full_text_index, multi_valued};

/// MySQL's name of an index on an expression that has no other.
pub(super) const DEFAULT_NAME: &str = "functional_index";
/// The longest VARCHAR, in bytes.
const VARCHAR_BYTES_MAX: u64 = 65_535;

/// Makes columns of an index's expressions. `table` has the columns that they refer to, and `is_taken` says
/// which names other indexes have.
///
/// # Errors
/// MySQL's for what an index on an expression cannot be.
pub(super) fn hidden_columns(
    binder: &Binder<'_>,
    table: &Table,
    index: &mut IndexDefinition,
    is_taken: &dyn Fn(&str) -> bool,
) -> Result<Vec<Column>> {
    if index.kind == IndexKind::FullText {
        return Ok(vec![full_text_index::hidden_column(binder, table, index)?]);
    }
    if index.parts.iter().all(|part| part.expression.is_none()) {
        return Ok(Vec::new());
    }
    if index.kind == IndexKind::Primary {
        return Err(Error::new(3756, "The primary key cannot be a functional index"));
    }
    let name = match &index.name {
        Some(name) => name.clone(),
        None => free_name(is_taken),
    };
    let mut columns = Vec::new();
    for (number, part) in index.parts.iter_mut().enumerate() {
        let Some(expression) = part.expression.take() else {
            continue;
        };
        if matches!(expression, ast::Expr::Column(_)) {
            return Err(Error::new(
                3762,
                "Functional index on a column is not supported. Consider using a regular index instead.",
            ));
        }
        if matches!(expression, ast::Expr::Null) {
            return Err(Error::new(
                3761,
                "The used storage engine cannot index the expression 'NULL'.",
            ));
        }
        let stored = stored::stored_expression(binder, &expression);
        let bound = bind_index_expression(table, &stored, &name)?;
        part.column = hidden_name(&name, number);
        columns.push(hidden_column(&part.column, &bound, stored)?);
    }
    if columns.iter().filter(|column| column.elements.is_some()).count() > 1 {
        return Err(multi_valued::several_in_index());
    }
    index.name = Some(name);
    Ok(columns)
}

/// The same for ALTER TABLE: the columns are added by `changes`.
pub(super) fn add_hidden_columns(
    binder: &Binder<'_>,
    base: &Table,
    index: &IndexDefinition,
    changes: &mut Vec<AlterChange>,
) -> Result<IndexDefinition> {
    let mut index = index.clone();
    let mut table = base.clone();
    table.columns = columns_after(base, changes);
    let mut new_names = Vec::new();
    for change in changes.iter() {
        match change {
            AlterChange::AddColumn { column, .. } => table.columns.push(column.clone()),
            AlterChange::AddIndex { name: Some(name), .. } => new_names.push(name.as_str()),
            _ => {}
        }
    }
    let is_dropped = |name: &str| {
        changes.iter().any(|change| {
            matches!(change, AlterChange::DropIndex { name: dropped } if types::same_name(dropped, name))
        })
    };
    let is_taken = |name: &str| {
        let mut indexes = table.indexes.iter().map(|index| index.name.as_str());
        indexes.any(|other| types::same_name(other, name) && !is_dropped(other))
            || new_names.iter().any(|other| types::same_name(other, name))
    };
    let columns = hidden_columns(binder, &table, &mut index, &is_taken)?;
    changes.extend(columns.into_iter().map(|column| AlterChange::AddColumn {
        column,
        position: schema::definition::Position::Last,
    }));
    Ok(index)
}

/// The columns of a table after changes, but for new ones.
fn columns_after(base: &Table, changes: &[AlterChange]) -> Vec<Column> {
    let mut columns = base.columns.clone();
    for (column, before) in columns.iter_mut().zip(&base.columns) {
        for change in changes {
            match change {
                AlterChange::RenameColumn { from, to } if types::same_name(from, &before.name) => {
                    column.name.clone_from(to);
                }
                AlterChange::ModifyColumn {
                    name, column: after, ..
                } if types::same_name(name, &before.name) => {
                    *column = Column {
                        id: before.id,
                        ..after.clone()
                    };
                }
                _ => {}
            }
        }
    }
    let is_dropped = |name: &str| {
        changes.iter().any(|change| {
            matches!(change, AlterChange::DropColumn { name: dropped } if types::same_name(dropped, name))
        })
    };
    let stays = base.columns.iter().map(|before| !is_dropped(&before.name));
    let columns = columns.into_iter().zip(stays);
    columns
        .filter(|(_, stays)| *stays)
        .map(|(column, _)| column)
        .collect()
}

fn free_name(is_taken: &dyn Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{DEFAULT_NAME}_{number}"));
    let mut names = std::iter::once(DEFAULT_NAME.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

fn hidden_name(index: &str, part: usize) -> String {
    let end = format!("!{part}!0");
    let start: String = format!("!hidden!{index}")
        .chars()
        .take(types::name::NAME_CHARS_MAX - end.len())
        .collect();
    start + &end
}

fn hidden_column(name: &str, bound: &Expr, expression: StoredExpression) -> Result<Column> {
    let elements = multi_valued::elements_of(bound);
    let ty = match elements {
        Some(_) => SqlType::JSON,
        None => column_type(bound.ty())?,
    };
    Ok(Column {
        generated: Some(Generated {
            expression,
            stored: false,
        }),
        hidden: true,
        elements,
        ..Column::plain(name, ty, true)
    })
}

/// The type of a column that holds the values of an expression.
fn column_type(ty: SqlType) -> Result<SqlType> {
    let is_long = u64::from(ty.length) * u64::from(ty.collation.charset().max_bytes_per_char());
    match ty.kind {
        TypeKind::Json => Err(Error::new(
            errno::ER_FUNCTIONAL_INDEX_ON_JSON_OR_GEOMETRY_FUNCTION,
            "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.",
        )),
        _ if ty.is_blob_or_text() || (ty.is_string() && is_long > VARCHAR_BYTES_MAX) => Err(Error::new(
            3757,
            "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider using CAST.",
        )),
        TypeKind::Null => Ok(SqlType::varchar(0, ty.collation)),
        _ if ty.is_string() => Ok(SqlType {
            kind: TypeKind::VarChar,
            ..SqlType::varchar(ty.length, ty.collation)
        }),
        TypeKind::Year => Ok(SqlType::YEAR),
        _ if ty.is_integer() => Ok(SqlType {
            unsigned: ty.unsigned,
            ..SqlType::BIGINT
        }),
        TypeKind::Float | TypeKind::Double => Ok(SqlType::DOUBLE),
        _ => Ok(ty),
    }
}
