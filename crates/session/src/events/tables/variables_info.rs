//! `variables_info`.

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, text};
use crate::variables::Definition;
use crate::variables::definitions::{Effect, Kind, all};
use crate::view::SessionView;

pub const VARIABLES_INFO: MeasuredTable = MeasuredTable {
    name: "performance_schema.variables_info",
    rows: variables_info,
    emptied: Emptied::Never,
};

fn variables_info(view: SessionView<'_>) -> Vec<Row> {
    let row = |definition: &Definition| {
        let value = view.shared.variables.get(definition);
        let is_default = value.as_deref().is_none_or(|value| value == definition.default);
        let source = match (is_default, definition.effect) {
            (true, _) => "COMPILED",
            (false, Effect::Fixed) => "COMMAND_LINE",
            (false, _) => "DYNAMIC",
        };
        let (least, most) = match definition.kind {
            Kind::Int(least, most) => (least, most),
            _ => (0, 0),
        };
        vec![
            text(definition.name),
            text(source),
            text(""),
            text(least.to_string()),
            text(most.to_string()),
            Value::Null,
            Value::Null,
            Value::Null,
        ]
    };
    all().iter().map(row).collect()
}
