//! JSON_TABLE in FROM.

use std::sync::Arc;

use functions::json_table::{JsonTable, Level, ORDINALITY, OnCondition};
use syntax::ast::{JsonTableColumn, JsonTableCondition, TypeName};
use types::{Error, Result, SqlType, TypeKind};

use super::context::Context;
use super::from_place::{From, FromPlace, named_columns};
use super::relation::RelationColumn;
use super::scope::{Scope, ScopeNames};
use super::{Binder, column};
use crate::logical::{Column, Logical, TableFunction, columns_of};

pub(super) fn bind_json_table(
    binder: &Binder<'_>,
    written: &syntax::ast::JsonTable,
    place: FromPlace<'_>,
) -> Result<From> {
    let none = Scope::default();
    let left = place.left.unwrap_or(&none);
    let names = ScopeNames {
        scope: left,
        clause: "a table function argument",
        outer: place.outer,
        in_aggregate: false,
    };
    let context = Context::of(&names);
    let document = binder.hinted(&written.document, Some(SqlType::JSON), &context)?;
    let ty = document.ty();
    if !(ty.is_string() || matches!(ty.kind, TypeKind::Json | TypeKind::Null)) {
        return Err(Error::new(
            3146,
            "Invalid data type for JSON data in argument 1 to function json_table; a JSON string or JSON type is \
             required.",
        ));
    }
    let mut columns = Vec::new();
    let root = json_level(binder, &written.root, &mut columns)?;
    if let Some(wrong) = columns.iter().find(|column| column.name.ends_with(' ')) {
        return Err(Error::wrong_column_name(&wrong.name));
    }
    let types = columns.iter().map(|column| column.ty).collect();
    let table = JsonTable::new(&written.alias, root, types)?;
    let columns = named_columns(columns, &[])?;
    let lateral = columns_of(&document).iter().any(|id| left.owns(*id));
    let rel = Logical::TableFunction(TableFunction {
        table: Arc::new(table),
        document,
        alias: written.alias.clone(),
        columns: columns
            .iter()
            .map(|column| Column {
                id: column.id,
                ty: column.ty,
                nullable: column.nullable,
            })
            .collect(),
    });
    Ok(From::of_columns(rel, &written.alias, columns, lateral))
}

/// A level of the table, whose columns come after those of the levels before.
fn json_level(
    binder: &Binder<'_>,
    written: &syntax::ast::JsonTableLevel,
    columns: &mut Vec<RelationColumn>,
) -> Result<Level> {
    let mut level = Level::new(&written.path)?;
    for column in &written.columns {
        let position = columns.len();
        match column {
            JsonTableColumn::Ordinality(name) => {
                level.add_ordinality(position, name);
                columns.push(json_column(binder, name, ORDINALITY));
            }
            JsonTableColumn::Exists { name, ty, path } => {
                let ty = json_column_type(binder, name, ty)?;
                level.add_exists(position, name, ty, path)?;
                columns.push(json_column(binder, name, ty));
            }
            JsonTableColumn::Value {
                name,
                ty,
                path,
                on_empty,
                on_error,
            } => {
                let ty = json_column_type(binder, name, ty)?;
                let conditions = [on_empty, on_error].map(condition);
                level.add_value(position, name, ty, path, conditions)?;
                columns.push(json_column(binder, name, ty));
            }
            JsonTableColumn::Nested(nested) => level.add_nested(json_level(binder, nested, columns)?),
        }
    }
    Ok(level)
}

fn json_column(binder: &Binder<'_>, name: &str, ty: SqlType) -> RelationColumn {
    RelationColumn {
        name: name.to_owned(),
        id: binder.new_column(),
        ty,
        nullable: true,
        strength: None,
        origin: None,
        announced: None,
        is_merged: false,
        base: None,
    }
}

fn json_column_type(binder: &Binder<'_>, name: &str, ty: &syntax::ast::DataType) -> Result<SqlType> {
    // The members of a type stay in memory forever: only definitions may bring them.
    if matches!(ty.name, TypeName::Enum | TypeName::Set) {
        return Err(Error::not_supported(
            "ENUM and SET columns of JSON_TABLE()",
            "use VARCHAR",
        ));
    }
    let (ty, _) = column::column_type(binder, name, ty, binder.types.collation)?;
    Ok(ty)
}

fn condition(written: &syntax::ast::JsonTableCondition) -> OnCondition {
    match written {
        JsonTableCondition::Null => OnCondition::Null,
        JsonTableCondition::Error => OnCondition::Error,
        JsonTableCondition::Default(text) => OnCondition::Default(text.clone()),
    }
}
