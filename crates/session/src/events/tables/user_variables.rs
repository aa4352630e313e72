//! `user_variables_by_thread`.

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, text};
use crate::view::SessionView;

pub const USER_VARIABLES: MeasuredTable = MeasuredTable {
    name: "performance_schema.user_variables_by_thread",
    rows: user_variables,
    emptied: Emptied::Never,
};

/// The variables of the session. Those of other sessions are not visible.
fn user_variables(view: SessionView<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (name, variable) in view.user_variables.shared().iter() {
        let shown = match &variable.value {
            Value::Null => Value::Null,
            Value::Bytes(bytes) => Value::Bytes(bytes.clone()),
            value => {
                let ty = functions::bind::type_of_value(value, types::Collation::DEFAULT);
                value.to_text(&ty).map_or(Value::Null, Value::Bytes)
            }
        };
        rows.push(vec![Value::UInt(view.process.id), text(name), shown]);
    }
    rows.sort_by(|a, b| a[1].as_str().cmp(&b[1].as_str()));
    rows
}
