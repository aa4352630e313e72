//! What a client is told of a result's column.

use catalog::model::SchemaState;
use functions::Expr;

use super::output::Item;
use super::scope::TableBinding;
use crate::plan::ResultColumn;

/// The definition of an output column; `expr` is what it is computed by.
pub fn result_column(item: &Item, expr: &Expr, table: Option<&TableBinding>) -> ResultColumn {
    let mut column = ResultColumn {
        database: String::new(),
        table: String::new(),
        original_table: String::new(),
        name: item.name.clone(),
        original_name: String::new(),
        ty: expr.ty(),
        nullable: expr.nullable(),
        primary_key: false,
        unique_key: false,
        multiple_key: false,
        auto_increment: false,
        no_default: false,
        on_update_now: false,
    };
    if let (Some(offset), Some(table)) = (item.column, table) {
        describe(&mut column, table, offset);
    }
    column
}

fn describe(column: &mut ResultColumn, table: &TableBinding, offset: usize) {
    let definition = &table.table.columns[offset];
    column.database.clone_from(&table.table.database);
    column.table.clone_from(&table.alias);
    column.original_table.clone_from(&table.table.name);
    column.original_name.clone_from(&definition.name);
    column.primary_key = table
        .table
        .primary_parts()
        .iter()
        .any(|part| part.column == offset);
    for index in &table.table.indexes {
        let leads = index.parts.first().is_some_and(|part| part.column == offset);
        if leads && !index.primary && index.state == SchemaState::Public {
            let alone = index.unique && index.parts.len() == 1;
            column.unique_key |= alone;
            column.multiple_key |= !alone;
        }
    }
    column.auto_increment = definition.auto_increment;
    column.on_update_now = definition.on_update_now;
    column.no_default = table.has_no_default(offset);
}
