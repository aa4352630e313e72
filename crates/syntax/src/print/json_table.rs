//! JSON_TABLE.

use super::Printer;
use crate::ast::{JsonTable, JsonTableColumn, JsonTableCondition, JsonTableLevel};

impl Printer<'_> {
    pub fn json_table(&mut self, table: &JsonTable) {
        self.put("json_table(");
        self.expr(&table.document);
        self.put(", ");
        self.json_table_level(&table.root);
        self.put(") ");
        self.name(&table.alias);
    }

    fn json_table_level(&mut self, level: &JsonTableLevel) {
        self.quoted(&level.path);
        self.put(" columns (");
        self.separated(&level.columns, ", ", Self::json_table_column);
        self.put(")");
    }

    fn json_table_column(&mut self, column: &JsonTableColumn) {
        match column {
            JsonTableColumn::Ordinality(name) => {
                self.name(name);
                self.put(" for ordinality");
            }
            JsonTableColumn::Exists { name, ty, path } => {
                self.name(name);
                self.put(" ");
                self.data_type(ty);
                self.put(" exists path ");
                self.quoted(path);
            }
            JsonTableColumn::Value {
                name,
                ty,
                path,
                on_empty,
                on_error,
            } => {
                self.name(name);
                self.put(" ");
                self.data_type(ty);
                self.put(" path ");
                self.quoted(path);
                self.json_table_condition(on_empty, " on empty");
                self.json_table_condition(on_error, " on error");
            }
            JsonTableColumn::Nested(level) => {
                self.put("nested path ");
                self.json_table_level(level);
            }
        }
    }

    fn json_table_condition(&mut self, condition: &JsonTableCondition, place: &str) {
        match condition {
            // The default without a clause.
            JsonTableCondition::Null => return,
            JsonTableCondition::Error => self.put(" error"),
            JsonTableCondition::Default(text) => {
                self.put(" default ");
                self.quoted(text);
            }
        }
        self.put(place);
    }
}
