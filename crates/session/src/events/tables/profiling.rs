//! `information_schema.PROFILING`: the stages of the session's last statements, and what SHOW PROFILE shows of them.

use std::time::Duration;

use types::{Decimal, Value};

use super::table::{Emptied, MeasuredTable, Row, text};
use crate::profiles::{Profile, Stage};

pub const PROFILING: MeasuredTable = MeasuredTable {
    name: "information_schema.PROFILING",
    rows: |view| {
        let profiles = view.profiles.last(view.settings.profiling_history);
        profiles.iter().flat_map(|profile| rows(profile)).collect()
    },
    emptied: Emptied::Never,
};

/// Where a statement's stages begin to be counted, as in MySQL.
const FIRST: u64 = 2;

/// A row for each stage of a statement.
pub fn rows(profile: &Profile) -> Vec<Row> {
    let row = |(seq, stage): (u64, &Stage)| {
        let mut row = vec![Value::UInt(profile.id), Value::UInt(seq)];
        row.extend(measured(stage));
        row
    };
    (FIRST..).zip(&profile.stages).map(row).collect()
}

/// The columns from `STATE` on.
fn measured(stage: &Stage) -> [Value; 16] {
    let used = &stage.used;
    [
        text(stage.state),
        seconds(stage.took),
        seconds(used.user),
        seconds(used.system),
        Value::UInt(used.switches.voluntary),
        Value::UInt(used.switches.involuntary),
        Value::UInt(used.blocks_read),
        Value::UInt(used.blocks_written),
        // Linux counts no messages and no swaps, so MySQL has 0 there, too.
        Value::UInt(0),
        Value::UInt(0),
        Value::UInt(used.major_faults),
        Value::UInt(used.minor_faults),
        Value::UInt(0),
        // Places in MySQL's source code.
        Value::Null,
        Value::Null,
        Value::Null,
    ]
}

/// DECIMAL(9, 6).
fn seconds(time: Duration) -> Value {
    const MOST_US: u128 = 999_999_999;
    let us = time.as_micros().min(MOST_US);
    Value::Decimal(Decimal::from_i128(i128::try_from(us).unwrap_or(0), 6))
}
