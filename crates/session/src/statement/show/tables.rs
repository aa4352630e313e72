//! SHOW DATABASES, TABLES, TABLE STATUS, COLUMNS and INDEX.

use std::sync::Arc;

use schema::definition::TableName;
use schema::model::{Column, Database, Index, IndexPart, Table};
use syntax::ast::ShowFilter;
use system::{columns, keys};
use types::{Result, SqlType, TypeKind, Value};

use crate::compile;
use crate::errors;
use crate::listing::{Listing, int_type, text, text_of_kind, text_type, unsigned_int_type};
use crate::session::Session;
use crate::views;

fn database(session: &Session, name: &str) -> Result<Arc<Database>> {
    let schema = session.shared.engine.cluster.schema();
    let found = schema.database(name).cloned();
    let database = found.ok_or_else(|| errors::unknown_database(name))?;
    session.client.check_database(name)?;
    Ok(database)
}

pub fn databases(session: &Session, filter: &ShowFilter) -> Listing {
    let heading = match filter {
        ShowFilter::Like(pattern) => format!("Database ({pattern})"),
        _ => "Database".to_owned(),
    };
    let mut listing = Listing::new(&[(heading.as_str(), name_type())])
        .all_never_null()
        .of_catalogue();
    let schema = session.shared.engine.cluster.schema();
    for name in schema
        .databases
        .keys()
        .filter(|name| session.client.privileges.may_list(name))
    {
        listing.push(vec![text(name)]);
    }
    listing
}

pub fn tables(session: &Session, name: &str, full: bool, filter: &ShowFilter) -> Result<Listing> {
    let database = database(session, name)?;
    let name = &database.name;
    let heading = match filter {
        ShowFilter::Like(pattern) => format!("Tables_in_{name} ({pattern})"),
        _ => format!("Tables_in_{name}"),
    };
    let mut columns = vec![(heading.as_str(), name_type())];
    if full {
        columns.push(("Table_type", text_type(11)));
    }
    let mut listing = Listing::new(&columns).all_never_null().of_catalogue();
    for table in sorted(&database) {
        if !session.client.privileges.may_see(&database.name, &table.name) {
            continue;
        }
        let mut row = vec![text(&table.name)];
        if full {
            row.push(text(match (&table.view, database.name.as_str()) {
                (Some(_), _) => "VIEW",
                _ if system::is_view_of_sys(&table) => "VIEW",
                (None, "information_schema") => "SYSTEM VIEW",
                (None, _) => "BASE TABLE",
            }));
        }
        listing.push(row);
    }
    Ok(listing)
}

pub fn table_status(session: &Session, name: &str) -> Result<Listing> {
    let database = database(session, name)?;
    let number = SqlType::BIGINT_UNSIGNED;
    let mut listing = Listing::new(&[
        ("Name", name_type()),
        ("Engine", text_type(64)),
        ("Version", int_type(3)),
        ("Row_format", text_type(10)),
        ("Rows", number),
        ("Avg_row_length", number),
        ("Data_length", number),
        ("Max_data_length", number),
        ("Index_length", number),
        ("Data_free", number),
        ("Auto_increment", number),
        ("Create_time", SqlType::timestamp(0)),
        ("Update_time", SqlType::datetime(0)),
        ("Check_time", SqlType::datetime(0)),
        ("Collation", text_type(64)),
        ("Checksum", SqlType::BIGINT),
        ("Create_options", text_type(256)),
        ("Comment", text_type(6144)),
    ])
    .never_null(&["Name"])
    .of_catalogue();
    for table in sorted(&database) {
        if session.client.privileges.may_see(&database.name, &table.name) {
            listing.push(status_of(session, &table)?);
        }
    }
    Ok(listing)
}

fn status_of(session: &Session, table: &Table) -> Result<Vec<Value>> {
    if table.view.is_some() {
        return Ok(status_of_view(session, table));
    }
    let auto_increment = if table.columns.iter().any(|c| c.auto_increment) {
        Value::UInt(session.shared.engine.cluster.ids().next(table)?)
    } else {
        Value::Null
    };
    let rows = compile::row_estimate(session, table.id);
    let (data, index) = bytes_of(session, table);
    Ok(vec![
        text(&table.name),
        text("InnoDB"),
        Value::Int(10),
        text(table.options.row_format()),
        Value::UInt(rows),
        Value::UInt(data.checked_div(rows).unwrap_or(0)),
        Value::UInt(data),
        Value::UInt(0),
        Value::UInt(index),
        Value::UInt(0),
        auto_increment,
        created(session, table),
        Value::Null,
        Value::Null,
        text(table.collation.name()),
        Value::Null,
        text(table.listed_options()),
        text(&table.comment),
    ])
}

/// About how many bytes the rows and the indexes take.
fn bytes_of(session: &Session, table: &Table) -> (u64, u64) {
    if table.is_virtual() {
        return (0, 0);
    }
    let statistics = &session.shared.catalog.statistics;
    statistics.bytes(table.id, &session.process.interrupt)
}

fn created(session: &Session, table: &Table) -> Value {
    let whole_seconds = table.created_us / 1_000_000 * 1_000_000;
    Value::UInt(session.settings.time_zone.from_unix_us(whole_seconds).pack())
}

/// A view has only a name, a time, and a comment about its state.
fn status_of_view(session: &Session, view: &Table) -> Vec<Value> {
    let problem = views::broken(session, view);
    let comment = problem.map_or_else(|| "VIEW".to_owned(), |error| error.message);
    let mut row = vec![text(&view.name)];
    row.resize(11, Value::Null);
    row.push(created(session, view));
    row.resize(17, Value::Null);
    row.push(text(comment));
    row
}

pub fn columns(session: &Session, name: &TableName, full: bool) -> Result<Listing> {
    let schema = session.shared.engine.cluster.schema();
    let is_temporary = session.temporary.find(&name.database, &name.name).is_some();
    // As in MySQL, the error for a table that does not exist is not hidden.
    if !is_temporary && schema.database(&name.database).is_some() {
        schema.require_table(&name.database, &name.name)?;
    }
    let mut table = session.table(name)?;
    if table.view.is_some() {
        // Neither the view's definer nor the account needs a privilege on what the view reads.
        let columns = compile::view_columns(session, &table)?;
        table = Arc::new(Table {
            columns,
            ..Table::clone(&table)
        });
    }
    let mut listed = vec![
        ("Field", text_type(64)),
        ("Type", text_of_kind(TypeKind::MediumText)),
    ];
    if full {
        listed.push(("Collation", text_type(64)));
    }
    listed.extend([
        ("Null", text_type(3)),
        ("Key", text_type(3)),
        ("Default", text_of_kind(TypeKind::Text)),
        ("Extra", text_type(256)),
    ]);
    if full {
        listed.extend([("Privileges", text_type(154)), ("Comment", text_type(6144))]);
    }
    let mut listing = Listing::new(&listed)
        .never_null(&["Type", "Null", "Key", "Comment"])
        .of_catalogue();
    for offset in table.public_columns() {
        let column = &table.columns[offset];
        let privileges = &session.client.privileges;
        if !is_temporary && !privileges.may_see_column(&table.database, &table.name, &column.name) {
            continue;
        }
        let mut row = vec![text(&column.name), text(column.ty.column_type())];
        if full {
            let collated = column.ty.is_text();
            row.push(if collated {
                text(column.ty.collation.name())
            } else {
                Value::Null
            });
        }
        row.extend([
            text(if column.nullable { "YES" } else { "NO" }),
            text(columns::column_key(&table, offset)),
            columns::default(column, &session.settings.time_zone).map_or(Value::Null, Value::String),
            extra(&table, column),
        ]);
        if full {
            let listed = match is_temporary {
                true => "select,insert,update,references".to_owned(),
                false => privileges.listed_of_column(&table.database, &table.name, &column.name),
            };
            row.extend([text(listed), text(&column.comment)]);
        }
        listing.push(row);
    }
    Ok(listing)
}

/// `extended`: also the columns that entries have after those of the index.
pub fn index(session: &Session, name: &TableName, extended: bool) -> Result<Listing> {
    let table = session.table(name)?;
    let mut listing = Listing::new(&[
        ("Table", text_type(64)),
        ("Non_unique", int_type(1)),
        ("Key_name", text_type(64)),
        ("Seq_in_index", unsigned_int_type(10)),
        ("Column_name", text_type(64)),
        ("Collation", text_type(1)),
        ("Cardinality", SqlType::BIGINT),
        ("Sub_part", SqlType::BIGINT),
        ("Packed", text_type(1)),
        ("Null", text_type(3)),
        ("Index_type", text_type(11)),
        ("Comment", text_type(8)),
        ("Index_comment", text_type(2048)),
        ("Visible", text_type(3)),
        ("Expression", text_of_kind(TypeKind::LongText)),
    ])
    .never_null(&[
        "Table",
        "Non_unique",
        "Seq_in_index",
        "Null",
        "Index_type",
        "Comment",
        "Index_comment",
        "Visible",
    ])
    .of_catalogue();
    let statistics = &session.shared.catalog.statistics;
    let rows = i64::try_from(compile::row_estimate(session, table.id)).unwrap_or(i64::MAX);
    let guess = rows / ROWS_PER_VALUE as i64;
    for index in keys::all_indexes(&table) {
        let cardinality = |parts| {
            if table.is_temporary() {
                return Value::Int(rows);
            }
            if table.is_virtual() {
                return Value::Null;
            }
            let known = statistics.cardinality(&table, &index, parts, &session.process.interrupt);
            Value::Int(known.unwrap_or(guess))
        };
        index_rows(&table, &index, &cardinality, &mut listing);
        if extended && !table.is_temporary() && !table.is_virtual() {
            further_columns(&table, &index, &mut listing);
        }
    }
    Ok(listing)
}

/// For a temporary table, MySQL shows the text NULL if there is nothing else.
fn extra(table: &Table, column: &Column) -> Value {
    let extra = columns::extra(column);
    match extra.is_empty() && table.is_temporary() {
        true => text("NULL"),
        false => text(extra),
    }
}

/// The assumed number of rows with equal values in a non-unique index without statistics.
const ROWS_PER_VALUE: u64 = 10;

/// Names of databases and tables: case-sensitive.
fn name_type() -> SqlType {
    SqlType::varchar(64, types::Collation::Utf8mb4Bin)
}

fn sorted(database: &Database) -> Vec<Arc<Table>> {
    let mut tables: Vec<_> = database.tables.values().cloned().collect();
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    tables
}

fn index_rows(table: &Table, index: &Index, cardinality: &dyn Fn(usize) -> Value, listing: &mut Listing) {
    for position in 0..index.parts.len() {
        index_row(table, index, position, cardinality(position + 1), listing);
    }
}

/// What follows the columns of an index in its entries: for the primary key all other stored columns, else those of the
/// primary key.
fn further_columns(table: &Table, index: &Index, listing: &mut Listing) {
    let is_primary = |index: &Index| index.name.eq_ignore_ascii_case("PRIMARY");
    let further: Vec<usize> = if is_primary(index) {
        let stored = |at: &usize| !table.columns[*at].is_virtual();
        (0..table.columns.len()).filter(stored).collect()
    } else {
        let primary = keys::all_indexes(table).into_iter().find(is_primary);
        let parts = primary.into_iter().flat_map(|primary| primary.parts);
        parts.map(|part| part.column).collect()
    };
    let is_further = |column: &usize| index.parts.iter().all(|part| part.column != *column);
    let mut entry = index.clone();
    for column in further.into_iter().filter(is_further) {
        entry.parts.push(IndexPart {
            column,
            prefix: None,
            descending: false,
            stored_descending: false,
        });
        index_row(table, &entry, entry.parts.len() - 1, Value::Null, listing);
    }
}

fn index_row(table: &Table, index: &Index, position: usize, cardinality: Value, listing: &mut Listing) {
    if let Some(part) = index.parts.get(position) {
        let column = &table.columns[part.column];
        listing.push(vec![
            text(&table.name),
            Value::Int(i64::from(!index.unique)),
            text(&index.name),
            Value::UInt(position as u64 + 1),
            if column.hidden {
                Value::Null
            } else {
                text(&column.name)
            },
            keys::sort_order(table, index, part).map_or(Value::Null, text),
            cardinality,
            part.prefix.map_or(Value::Null, |n| Value::Int(i64::from(n))),
            Value::Null,
            text(if column.nullable { "YES" } else { "" }),
            text(keys::index_type(table, index)),
            text(""),
            text(&index.comment),
            text(if index.invisible { "NO" } else { "YES" }),
            columns::index_expression(column).map_or(Value::Null, |expression| text(&expression)),
        ]);
    }
}
