//! JSON_TABLE.

use super::data_type;
use super::printer::Printer;
use crate::ast::{JsonTable, JsonTableColumn, JsonTableCondition, JsonTableLevel};

pub fn json_table(printer: &mut Printer<'_>, table: &JsonTable) {
    printer.put("json_table(");
    printer.expr(&table.document);
    printer.put(", ");
    json_table_level(printer, &table.root);
    printer.put(") ");
    printer.name(&table.alias);
}

fn json_table_level(printer: &mut Printer<'_>, level: &JsonTableLevel) {
    printer.quoted(&level.path);
    printer.put(" columns (");
    printer.separated(&level.columns, ", ", json_table_column);
    printer.put(")");
}

fn json_table_column(printer: &mut Printer<'_>, column: &JsonTableColumn) {
    match column {
        JsonTableColumn::Ordinality(name) => {
            printer.name(name);
            printer.put(" for ordinality");
        }
        JsonTableColumn::Exists { name, ty, path } => {
            printer.name(name);
            printer.put(" ");
            data_type::data_type(printer, ty);
            printer.put(" exists path ");
            printer.quoted(path);
        }
        JsonTableColumn::Value {
            name,
            ty,
            path,
            on_empty,
            on_error,
        } => {
            printer.name(name);
            printer.put(" ");
            data_type::data_type(printer, ty);
            printer.put(" path ");
            printer.quoted(path);
            json_table_condition(printer, on_empty, " on empty");
            json_table_condition(printer, on_error, " on error");
        }
        JsonTableColumn::Nested(level) => {
            printer.put("nested path ");
            json_table_level(printer, level);
        }
    }
}

fn json_table_condition(printer: &mut Printer<'_>, condition: &JsonTableCondition, place: &str) {
    match condition {
        // The default, which is not printed.
        JsonTableCondition::Null => return,
        JsonTableCondition::Error => printer.put(" error"),
        JsonTableCondition::Default(text) => {
            printer.put(" default ");
            printer.quoted(text);
        }
    }
    printer.put(place);
}
