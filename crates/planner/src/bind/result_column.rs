//! The definition of a result column, as the protocol sends it to the client.

use functions::Expr;
use schema::model::{Index, IndexPart, SchemaState, Table};

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
        part_key: false,
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
    let primary = table.table.primary_parts();
    let stands_in = stand_in(&table.table, &primary);
    let primary = stands_in.map_or(primary.as_slice(), |index| index.parts.as_slice());
    column.primary_key = primary.iter().any(|part| part.column == offset);
    column.part_key = column.primary_key;
    for index in table
        .table
        .indexes
        .iter()
        .filter(|index| index.state == SchemaState::Public)
    {
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
    column.no_default = table.has_no_default(offset);
}

/// Where there is no primary key, MySQL takes the first unique key whose columns are all NOT NULL for one.
fn stand_in<'t>(table: &'t Table, primary: &[IndexPart]) -> Option<&'t Index> {
    if !primary.is_empty() {
        return None;
    }
    table.indexes.iter().find(|index| {
        let whole = |part: &IndexPart| part.prefix.is_none() && !table.columns[part.column].nullable;
        index.unique && index.state == SchemaState::Public && index.parts.iter().all(whole)
    })
}
