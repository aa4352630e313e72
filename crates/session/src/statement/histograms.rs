//! ANALYZE TABLE ... UPDATE HISTOGRAM and DROP HISTOGRAM.
//!
//! An error for one column is a row of the listing, and the histograms of the other columns are made. As in
//! MySQL, rows are in the order of the columns' names.

use cluster::metadata_lock::Use;
use schema::definition::TableName;
use schema::limits;
use schema::model::{SchemaState, Table};
use schema::privilege::PrivilegeSet;
use schema::statistics::data_type;
use schema::statistics::given::{self, Problem};
use syntax::ast::HistogramChange;
use system::{Wanted, keys};
use types::Result;

use super::lock_tables;
use super::maintenance::{maintenance_listing, maintenance_row};
use crate::instance_lock;
use crate::listing::Listing;
use crate::session::Session;

pub fn run(
    session: &Session,
    tables: &[TableName],
    columns: &[String],
    change: &HistogramChange,
) -> Result<Listing> {
    limits::check_distinct_columns(columns.iter().map(String::as_str))?;
    // As in MySQL, this is for administrators, too.
    if session.shared.engine.check_writable(false).is_err() {
        return Ok(of_no_table("The server is in read-only mode."));
    }
    let [name] = tables else {
        return Ok(of_no_table(
            "Only one table can be specified while modifying histogram statistics.",
        ));
    };
    let mut listing = maintenance_listing();
    super::maintenance::check_database(session, name)?;
    if session.temporary.find(&name.database, &name.name).is_some() {
        let problem = "Cannot create histogram statistics for a temporary table.";
        listing.push(maintenance_row(name, "histogram", ("Error", problem)));
        return Ok(listing);
    }
    session.check_table(name, PrivilegeSet::SELECT | PrivilegeSet::INSERT)?;
    let mut push =
        |kind: &str, message: &str| listing.push(maintenance_row(name, "histogram", (kind, message)));
    let table = match session.table(name) {
        Ok(table) => table,
        Err(error) => {
            push("Error", &error.message);
            return Ok(listing);
        }
    };
    if *change != HistogramChange::Drop && table.view.is_some() {
        push("Error", "Cannot create histogram statistics for a view.");
        return Ok(listing);
    }
    if matches!(change, HistogramChange::Set(_)) && columns.len() > 1 {
        push(
            "Error",
            "Only one column can be specified while modifying histogram statistics with JSON data.",
        );
        return Ok(listing);
    }
    lock_tables::check_name(session, name, Use::Read)?;
    // No statement may have used this definition yet.
    planner::expressions(&table)?;
    // One of an index that is being built is not.
    let is_there = |at: &usize| table.columns[*at].state == SchemaState::Public;
    let mut named: Vec<(&str, Option<usize>)> = columns
        .iter()
        .map(|column| match table.column_offset(column).filter(is_there) {
            Some(offset) => (table.columns[offset].name.as_str(), Some(offset)),
            None => (column.as_str(), None),
        })
        .collect();
    named.sort_by_key(|(name, _)| name.to_lowercase());
    let _entered = match instance_lock::enter(session) {
        Ok(entered) => entered,
        Err(error) => {
            push("Error", &error.message);
            return Ok(listing);
        }
    };
    match change {
        HistogramChange::Make { buckets } => update(session, &table, &named, *buckets, &mut push)?,
        HistogramChange::Set(json) => set(session, &table, &named, json, &mut push)?,
        HistogramChange::Drop => drop_all(session, &table, &named, &mut push)?,
    }
    Ok(listing)
}

/// The result of a statement that fails whatever its table is.
fn of_no_table(problem: &str) -> Listing {
    let nothing = TableName {
        database: String::new(),
        name: String::new(),
    };
    let mut row = maintenance_row(&nothing, "histogram", ("Error", problem));
    row[0] = crate::listing::text("");
    let mut listing = maintenance_listing();
    listing.push(row);
    listing
}

fn update(
    session: &Session,
    table: &Table,
    named: &[(&str, Option<usize>)],
    buckets: u32,
    push: &mut dyn FnMut(&str, &str),
) -> Result<()> {
    let wanted: Vec<Wanted> = named
        .iter()
        .filter(|named| problem(table, named).is_none())
        .filter_map(|(_, column)| {
            Some(Wanted {
                column: (*column)?,
                buckets,
            })
        })
        .collect();
    if !wanted.is_empty() {
        let catalog = &session.shared.catalog;
        catalog
            .statistics
            .update_histograms(&catalog.cluster, table, &wanted, &session.process.interrupt)?;
    }
    for named in named {
        match problem(table, named) {
            Some(problem) => push("Error", &problem),
            None => push("status", &created(named.0)),
        }
    }
    Ok(())
}

/// USING DATA.
fn set(
    session: &Session,
    table: &Table,
    named: &[(&str, Option<usize>)],
    json: &str,
    push: &mut dyn FnMut(&str, &str),
) -> Result<()> {
    let [named @ (name, offset)] = named else {
        return Ok(());
    };
    let (None, Some(offset)) = (problem(table, named), offset) else {
        problem(table, named)
            .iter()
            .for_each(|problem| push("Error", problem));
        return Ok(());
    };
    match given::parse(json, &table.columns[*offset].ty) {
        Ok(histogram) => {
            let catalog = &session.shared.catalog;
            let interrupt = &session.process.interrupt;
            catalog
                .statistics
                .set_histogram(&catalog.cluster, table, *offset, &histogram, interrupt)?;
            push("status", &created(name));
        }
        Err(Problem::Text(problem)) => push("Error", problem),
        Err(Problem::Histogram(problem)) => {
            let (database, table) = (&table.database, &table.name);
            push(
                "Error",
                &format!(
                    "Unable to build histogram statistics for column '{name}' in table '{database}'.'{table}'"
                ),
            );
            push("Error", &problem);
        }
    }
    Ok(())
}

fn created(column: &str) -> String {
    format!("Histogram statistics created for column '{column}'.")
}

/// Why a column cannot have a histogram.
fn problem(table: &Table, (name, offset): &(&str, Option<usize>)) -> Option<String> {
    match offset {
        None => Some(format!("The column '{name}' does not exist.")),
        Some(offset) if data_type(&table.columns[*offset].ty).is_none() => {
            Some(format!("The column '{name}' has an unsupported data type."))
        }
        Some(offset) if is_unique(table, *offset) => Some(format!(
            "The column '{name}' is covered by a single-part unique index."
        )),
        Some(_) => None,
    }
}

fn drop_all(
    session: &Session,
    table: &Table,
    named: &[(&str, Option<usize>)],
    push: &mut dyn FnMut(&str, &str),
) -> Result<()> {
    let id = |offset: &Option<usize>| offset.map_or(0, |offset| table.columns[offset].id);
    let ids: Vec<i64> = named.iter().map(|(_, offset)| id(offset)).collect();
    let catalog = &session.shared.catalog;
    let found = catalog
        .statistics
        .drop_histograms(&catalog.cluster, table, &ids)?;
    for ((name, _), found) in named.iter().zip(found) {
        if found {
            push(
                "status",
                &format!("Histogram statistics removed for column '{name}'."),
            );
        } else {
            push(
                "Error",
                &format!("No histogram statistics found for column '{name}'."),
            );
        }
    }
    Ok(())
}

/// Whether there is a unique index on the column alone.
fn is_unique(table: &Table, column: usize) -> bool {
    keys::all_indexes(table).iter().any(|index| {
        index.unique
            && matches!(index.parts.as_slice(), [part] if part.column == column && part.prefix.is_none())
    })
}
