//! The columns of a result, and the packets of their definitions.

use planner::plan::ResultColumn;
use types::{Collation, TypeKind};
use wire::column_definition::ColumnDefinition;
use wire::column_type::flag;
use wire::framing::FrameEncoder;

/// The packets of a result's column definitions.
pub struct ColumnPackets {
    /// The collation of results for which they are encoded: that of the first session that runs the plan.
    /// Nearly all sessions have the same.
    pub results: Option<Collation>,
    pub packets: FrameEncoder,
}

/// A result's columns.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    pub all: &'a [ResultColumn],
    pub packets: Option<&'a ColumnPackets>,
}

impl<'a> From<&'a [ResultColumn]> for Columns<'a> {
    fn from(all: &'a [ResultColumn]) -> Self {
        Self { all, packets: None }
    }
}

/// `results`: the collation of the session's results.
pub fn definition(column: &ResultColumn, results: Option<Collation>) -> ColumnDefinition<'_> {
    let mut definition = if column.original_name.is_empty() && !column.is_stored {
        ColumnDefinition::of_expression(&column.name, &column.ty, column.nullable, results)
    } else {
        ColumnDefinition::of_type(&column.name, &column.ty, column.nullable, results)
    };
    if let Some(results) = results.filter(|_| !column.is_stored) {
        if column.is_chosen_time {
            definition.announce_as_text(results);
        } else if column.is_reference && (column.ty.is_temporal() || column.ty.kind == TypeKind::Json) {
            definition.announce_reference(results);
        }
    }
    definition.schema = &column.database;
    definition.table = &column.table;
    definition.original_table = &column.original_table;
    definition.original_name = &column.original_name;
    let mut set = |on: bool, bit: u16| definition.flags |= if on { bit } else { 0 };
    set(column.primary_key, flag::PRI_KEY);
    set(column.unique_key, flag::UNIQUE_KEY);
    set(column.multiple_key, flag::MULTIPLE_KEY);
    set(column.part_key, flag::PART_KEY);
    set(column.auto_increment, flag::AUTO_INCREMENT);
    set(column.no_default, flag::NO_DEFAULT_VALUE);
    set(column.on_update_now, flag::ON_UPDATE_NOW);
    set(
        column.on_update_now && column.ty.kind == TypeKind::Timestamp,
        flag::TIMESTAMP,
    );
    definition
}
