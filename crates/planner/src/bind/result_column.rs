//! The definition of a result column, as the protocol sends it to the client.

use functions::Expr;
use schema::model::{Index, SchemaState};

use super::output::Item;
use super::relation::{RelationSource, has_no_default, stand_in};
use super::scope::{ColumnRef, Scope};
use crate::plan::ResultColumn;
use types::SqlType;

impl ResultColumn {
    /// A column that is not a column of a table.
    pub fn unnamed(name: &str, ty: SqlType, nullable: bool) -> Self {
        Self {
            database: String::new(),
            table: String::new(),
            original_table: String::new(),
            name: name.to_owned(),
            original_name: String::new(),
            ty,
            nullable,
            primary_key: false,
            unique_key: false,
            multiple_key: false,
            part_key: false,
            auto_increment: false,
            no_default: false,
            on_update_now: false,
            is_stored: false,
            is_of_merged: false,
            is_chosen_time: false,
            is_reference: false,
        }
    }

    /// A table's column among the rows of a query that are stored in a temporary table: it has the names of the
    /// table that it is of, and no keys. `None` for an expression.
    pub fn in_temporary_table(&self) -> Option<Self> {
        (!self.original_table.is_empty()).then(|| Self {
            database: self.database.clone(),
            original_table: self.original_table.clone(),
            no_default: self.no_default,
            ..Self::unnamed(&self.name, self.ty, self.nullable)
        })
    }
}

/// The definition of an output column, with what it has of the column of `scope` that it is.
pub fn result_column(item: &Item, scope: Option<&Scope>) -> ResultColumn {
    let mut column = ResultColumn::unnamed(&item.name, item.expr.ty(), item.expr.nullable());
    if let (Some(of), Some(scope)) = (item.column, scope) {
        describe(&mut column, scope, of);
    } else {
        column.is_chosen_time = column.ty.is_temporal() && chooses(&item.expr);
    }
    column
}

/// Whether the value of an expression is one of several: of its arguments or of rows.
fn chooses(expr: &Expr) -> bool {
    const CHOICES: &[&str] = &["if", "ifnull", "coalesce", "greatest", "least", "any_value"];
    match expr {
        // An aggregate or a subquery.
        Expr::Column { .. } | Expr::Case { .. } => true,
        Expr::Call { function, .. } => {
            let name = function.name();
            name == "aggregate result" || CHOICES.contains(&name)
        }
        _ => false,
    }
}

fn describe(column: &mut ResultColumn, scope: &Scope, of: ColumnRef) {
    let relation = scope.relation(of);
    let offset = of.position;
    column.table.clone_from(&relation.alias);
    let table = match &relation.source {
        RelationSource::Table { table, .. } => table,
        RelationSource::Query(columns) => {
            let of = &columns[offset];
            column.ty = of.announced.unwrap_or(column.ty);
            match &of.origin {
                // It is the column of a table.
                Some(origin) if !origin.original_table.is_empty() => {
                    *column = ResultColumn {
                        table: relation.alias.clone(),
                        name: column.name.clone(),
                        original_name: of.name.clone(),
                        ty: column.ty,
                        nullable: column.nullable,
                        is_of_merged: of.is_merged,
                        ..(**origin).clone()
                    };
                }
                // It is an expression.
                Some(_) if relation.view.is_none() => column.table.clear(),
                Some(_) => column.original_name.clone_from(&of.name),
                None => column.original_name.clone_from(&of.name),
            }
            if let Some(view) = relation.view.as_ref().filter(|view| view.is_merged) {
                column.original_table.clone_from(&view.definition.name);
            }
            column.is_reference = of.is_merged;
            column.is_chosen_time = of.origin.as_ref().is_some_and(|origin| origin.is_chosen_time);
            return;
        }
    };
    let definition = &table.columns[offset];
    if column.ty.is_integer() {
        column.ty = definition.ty;
    }
    column.database.clone_from(&table.database);
    column.original_table.clone_from(&table.name);
    column.original_name.clone_from(&definition.name);
    let primary = table.primary_parts();
    let stands_in = stand_in(table, &primary);
    let primary = stands_in.map_or(primary.as_slice(), |index| index.parts.as_slice());
    column.primary_key = primary.iter().any(|part| part.column == offset);
    column.part_key = column.primary_key;
    let public = |index: &&Index| index.state == SchemaState::Public;
    for index in table.indexes.iter().filter(public) {
        column.part_key |= index.parts.iter().any(|part| part.column == offset);
        let leads = index.parts.first().is_some_and(|part| part.column == offset);
        let is_primary = index.primary || stands_in.is_some_and(|other| other.id == index.id);
        if leads && !is_primary {
            let alone = index.unique && index.parts.len() == 1;
            column.unique_key |= alone;
            column.multiple_key |= !alone;
        }
    }
    column.auto_increment = definition.auto_increment;
    column.on_update_now = definition.on_update_now;
    column.no_default = has_no_default(table, offset);
}
