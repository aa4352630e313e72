//! CHECKSUM TABLE: the same checksums as in MySQL, so that a copied table can be compared with its source.
//!
//! Source: manual 13.7.3.3, "CHECKSUM TABLE Statement". The checksum of a row is the CRC-32 of its image in
//! MySQL's memory ([`image`]). The checksum of a table is the sum over its rows.

mod image;

use std::fmt::Write;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use executor::RowSink;
use image::RowImage;
use planner::plan::QueryPlan;
use schema::definition::TableName;
use schema::model::{Column, Default, SchemaState, Table, wrong_object};
use schema::privilege::PrivilegeSet;
use types::array::ColumnView;
use types::{Error, Result, SqlType, TypeKind, Value, Warning, WarningLevel};

use super::inner_plan;
use super::maintenance::check_unique;
use crate::compile;
use crate::compiled::Compiled;
use crate::listing::{Listing, text, text_type};
use crate::session::Session;

/// For a table that cannot be read the checksum is NULL, and a warning tells the reason.
pub fn run(session: &mut Session, tables: &[TableName], quick: bool) -> Result<Listing> {
    for name in tables {
        session.check_table(name, PrivilegeSet::SELECT)?;
    }
    check_unique(tables)?;
    let mut listing = Listing::new(&[("Table", text_type(128)), ("Checksum", SqlType::BIGINT)]);
    for name in tables {
        let sum = match session.table(name) {
            // StemDB stores no checksum that QUICK could show.
            Ok(_) if quick => Value::Null,
            Ok(table) if table.view.is_some() => {
                let error = wrong_object(&name.database, &name.name, "BASE TABLE");
                session.diagnostics.add(as_warning(error));
                Value::Null
            }
            Ok(table) => Value::Int(i64::from(checksum(session, &table)?)),
            Err(error) => {
                session.diagnostics.add(as_warning(error));
                Value::Null
            }
        };
        listing.push(vec![text(format!("{}.{}", name.database, name.name)), sum]);
    }
    Ok(listing)
}

fn as_warning(error: Error) -> Warning {
    Warning {
        level: WarningLevel::Error,
        code: error.code,
        message: error.message,
    }
}

/// Reads all rows as a SELECT of the session would.
fn checksum(session: &mut Session, table: &Table) -> Result<u32> {
    let columns: Vec<&Column> = table
        .columns
        .iter()
        .filter(|column| column.state == SchemaState::Public && !column.hidden)
        .collect();
    let mut compiled = compile::compile_one(session, &select(table, &columns))?;
    // SELECT on some column is enough, which has been checked.
    if let Compiled::Plan(plan) = &mut compiled
        && let Some(plan) = Arc::get_mut(plan)
    {
        plan.accesses.iter_mut().for_each(|access| access.columns.clear());
    }
    let plan = inner_plan::lock_compiled(session, compiled)?;
    let query = inner_plan::query_of(&plan)?;
    let types: Vec<SqlType> = columns.iter().map(|column| column.ty).collect();
    let nullable: Vec<bool> = columns.iter().map(|column| column.nullable).collect();
    let mut sink = Sum {
        query,
        image: RowImage::new(&types, &nullable),
        defaults: defaults(&columns),
        sum: 0,
    };
    inner_plan::query(session, query, &mut sink)?;
    Ok(sink.sum)
}

/// Selects all columns, a TIMESTAMP in its stored form, and then the defaults that replace NULLs.
fn select(table: &Table, columns: &[&Column]) -> String {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let stored = |column: &Column, value: String| match column.ty.kind {
        TypeKind::Timestamp => format!("UNIX_TIMESTAMP({value})"),
        _ => value,
    };
    let values = columns.iter().map(|column| stored(column, quoted(&column.name)));
    let with_default = columns.iter().filter(|column| has_default(column));
    let defaults = with_default.map(|column| stored(column, format!("DEFAULT({})", quoted(&column.name))));
    let mut text = "SELECT ".to_owned();
    for (position, item) in values.chain(defaults).enumerate() {
        let comma = if position == 0 { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{comma}{item}");
    }
    // An explicit limit, so that sql_select_limit does not apply.
    format!(
        "{text} FROM {}.{} LIMIT {}",
        quoted(&table.database),
        quoted(&table.name),
        u64::MAX
    )
}

fn has_default(column: &Column) -> bool {
    column.nullable && matches!(column.default, Default::Literal(_))
}

/// For each column, the position of its default in the list.
fn defaults(columns: &[&Column]) -> Vec<Option<usize>> {
    let mut next = columns.len();
    let position = |column: &&Column| {
        has_default(column).then(|| {
            next += 1;
            next - 1
        })
    };
    columns.iter().map(position).collect()
}

struct Sum<'a> {
    query: &'a QueryPlan,
    image: RowImage,
    defaults: Vec<Option<usize>>,
    sum: u32,
}

impl RowSink for Sum<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().zip(&self.query.columns);
        let views: Vec<ColumnView<'_>> = columns
            .map(|(array, column)| ColumnView::new(array, &column.ty))
            .collect();
        for row in 0..batch.num_rows() {
            self.image.start();
            for (column, default) in self.defaults.iter().enumerate() {
                let value = views.get(column).map_or(Value::Null, |view| view.value(row));
                match default {
                    Some(at) if value.is_null() => {
                        let default = views.get(*at).map_or(Value::Null, |view| view.value(row));
                        self.image.put(column, true, &default)?;
                    }
                    _ => self.image.put(column, value.is_null(), &value)?,
                }
            }
            self.sum = self.sum.wrapping_add(self.image.checksum());
        }
        Ok(())
    }
}
