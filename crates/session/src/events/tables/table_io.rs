//! `table_io_waits_summary_by_table` and `table_io_waits_summary_by_index_usage`: the tables that statements can use,
//! as MySQL shows those that are open.

use std::collections::HashSet;
use std::sync::Arc;

use functions::{RowPlace, RowUses};
use schema::model::Table;
use types::Value;

use super::table::{Emptied, MeasuredTable, Row, optional, text};
use crate::view::SessionView;

pub const BY_TABLE: MeasuredTable = MeasuredTable {
    name: "performance_schema.table_io_waits_summary_by_table",
    rows: by_table,
    emptied: Emptied::By(|view| view.shared.events.table_io.reset()),
};

pub const BY_INDEX: MeasuredTable = MeasuredTable {
    name: "performance_schema.table_io_waits_summary_by_index_usage",
    rows: by_index,
    emptied: Emptied::By(|view| view.shared.events.table_io.reset()),
};

fn by_table(view: SessionView<'_>) -> Vec<Row> {
    let row = |table: &Arc<Table>| {
        let mut sum = RowUses::default();
        for (_, uses) in places(view, table) {
            sum.add(uses);
        }
        let mut row = vec![text("TABLE"), text(&table.database), text(&table.name)];
        row.extend(counts(sum));
        row
    };
    tables(view).iter().map(row).collect()
}

fn by_index(view: SessionView<'_>) -> Vec<Row> {
    let rows = |table: &Arc<Table>| {
        let row = |(index, uses): (Option<String>, RowUses)| {
            let mut row = vec![
                text("TABLE"),
                text(&table.database),
                text(&table.name),
                optional(index),
            ];
            row.extend(counts(uses));
            row
        };
        places(view, table).into_iter().map(row).collect::<Vec<_>>()
    };
    tables(view).iter().flat_map(rows).collect()
}

fn tables(view: SessionView<'_>) -> Vec<Arc<Table>> {
    let shared = view.shared;
    if !shared.events.is_on() {
        return Vec::new();
    }
    let schema = shared.engine.cluster.schema();
    let stored = schema.tables().filter(|table| table.view.is_none());
    let mut tables: Vec<Arc<Table>> = stored.cloned().collect();
    tables.sort_by(|a, b| (&a.database, &a.name).cmp(&(&b.database, &b.name)));
    let ids: HashSet<i64> = tables.iter().map(|table| table.id).collect();
    shared.events.table_io.keep(|id| ids.contains(&id));
    tables
}

/// The table's indexes by name, and after them what was done without an index.
fn places(view: SessionView<'_>, table: &Table) -> Vec<(Option<String>, RowUses)> {
    let at = |index| {
        let place = RowPlace {
            table: table.id,
            index,
        };
        view.shared.events.table_io.at(place)
    };
    let indexes = system::keys::all_indexes(table).into_iter();
    let indexes = indexes.map(|index| (Some(index.name), at(Some(index.id))));
    indexes.chain([(None, at(None))]).collect()
}

/// The counts of all, of reads, of writes, of fetches, inserts, updates and deletes, each with four times that are not
/// measured.
fn counts(uses: RowUses) -> impl Iterator<Item = Value> {
    let writes = uses.inserted + uses.updated + uses.deleted;
    [
        uses.read + writes,
        uses.read,
        writes,
        uses.read,
        uses.inserted,
        uses.updated,
        uses.deleted,
    ]
    .into_iter()
    .flat_map(|count| [count, 0, 0, 0, 0].map(Value::UInt))
}
