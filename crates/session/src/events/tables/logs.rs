//! The logs that are tables of `mysql`.

use super::table::{Emptied, MeasuredTable};

pub const SLOW: MeasuredTable = MeasuredTable {
    name: "mysql.slow_log",
    rows: |view| view.shared.events.slow_log.rows.all(),
    emptied: Emptied::By(|view| view.shared.events.slow_log.rows.clear()),
};

pub const GENERAL: MeasuredTable = MeasuredTable {
    name: "mysql.general_log",
    rows: |view| view.shared.events.general_log.rows.all(),
    emptied: Emptied::By(|view| view.shared.events.general_log.rows.clear()),
};
