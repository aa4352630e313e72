//! `variables_info`.

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, moment, text};
use crate::variables::Definition;
use crate::variables::definitions::{Effect, Kind, all};
use crate::variables::values::Change;
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
        let change = view.shared.variables.last_change(definition);
        let source = match (is_default, definition.effect) {
            _ if change.as_ref().is_some_and(|change| change.is_persisted) => "PERSISTED",
            _ if change.is_some() => "DYNAMIC",
            (true, _) => "COMPILED",
            (false, Effect::Fixed) => "COMMAND_LINE",
            (false, _) => "DYNAMIC",
        };
        let at = |change: &Change| moment(change.at_us, &view.settings.time_zone);
        let (least, most) = match definition.kind {
            Kind::Int(least, most) | Kind::Blocks(least, most, _) => (least, most),
            _ => (0, 0),
        };
        vec![
            text(definition.name),
            text(source),
            text(""),
            text(least.to_string()),
            text(most.to_string()),
            change.as_ref().map_or(Value::Null, at),
            change.as_ref().map_or(Value::Null, |change| text(&change.user)),
            change.as_ref().map_or(Value::Null, |change| text(&change.host)),
        ]
    };
    all().iter().map(row).collect()
}
