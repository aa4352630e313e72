//! The source's objects: databases, tables with columns and keys, views, and a list of what is not copied.

use std::collections::BTreeMap;

use crate::Result;
use crate::endpoint::{Client, literal, quoted};
use crate::error::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// `varchar`, in lower case.
    pub(crate) data_type: String,
    /// `int unsigned`.
    pub(crate) column_type: String,
    pub(crate) charset: Option<String>,
    pub(crate) is_generated: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) database: String,
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// Positions of the columns that identify a row: those of the primary key, or of a unique key without
    /// NULL. Empty if there is none.
    pub(crate) key: Vec<usize>,
    /// The table's definition, as the source shows it.
    pub(crate) create: String,
    /// The source's estimates.
    pub(crate) rows: u64,
    pub(crate) row_bytes: u64,
}

impl Table {
    /// `db`.`table`
    pub(crate) fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.database), quoted(&self.name))
    }

    /// db.table, for messages.
    pub(crate) fn shown(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    pub(crate) fn key_columns(&self) -> impl Iterator<Item = &Column> {
        self.key.iter().filter_map(|position| self.columns.get(*position))
    }

    /// The columns that are written; the others are generated.
    pub(crate) fn written(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.is_generated)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) database: String,
    pub(crate) name: String,
    pub(crate) create: String,
    pub(crate) columns: Vec<String>,
    /// That of the session that created it: literals of the view compare by it.
    pub(crate) collation: String,
}

#[derive(Debug, Default)]
pub(crate) struct Inventory {
    /// Names and definitions.
    pub(crate) databases: Vec<(String, String)>,
    pub(crate) tables: Vec<Table>,
    pub(crate) views: Vec<View>,
    /// What is never copied, one line each.
    pub(crate) left_out: Vec<String>,
}

impl Inventory {
    /// Reads it from the source. The caller holds locks that keep the definitions as they are.
    pub(crate) fn read(source: &mut Client, databases: &[String]) -> Result<Self> {
        let mut inventory = Self::default();
        for database in databases {
            inventory.read_database(source, database)?;
        }
        Ok(inventory)
    }

    fn read_database(&mut self, source: &mut Client, database: &str) -> Result<()> {
        let created = source.rows(&format!("SHOW CREATE DATABASE {}", quoted(database)))?;
        let created = created.first().map(|row| row.text(1)).unwrap_or_default();
        self.databases.push((database.to_owned(), created));
        let name = literal(database);
        let mut columns = columns(source, &name)?;
        let mut keys = keys(source, &name)?;
        let listed = source.rows(&format!(
            "SELECT TABLE_NAME, TABLE_TYPE, TABLE_ROWS, AVG_ROW_LENGTH FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = {name} ORDER BY TABLE_NAME"
        ))?;
        for row in listed {
            let (table, kind) = (row.text(0), row.text(1));
            let full = format!("{}.{}", quoted(database), quoted(&table));
            match kind.as_str() {
                "BASE TABLE" => {
                    let columns = columns.remove(&table).unwrap_or_default();
                    let key = keys.remove(&table).unwrap_or_default();
                    self.tables.push(Table {
                        database: database.to_owned(),
                        key: positions(&columns, &key),
                        columns,
                        create: shown_create(source, &format!("SHOW CREATE TABLE {full}"))?,
                        rows: row.number(2),
                        row_bytes: row.number(3),
                        name: table,
                    });
                }
                "VIEW" => {
                    let columns = columns.remove(&table).unwrap_or_default();
                    self.views.push(view(source, database, table, columns)?);
                }
                other => self.left_out.push(format!(
                    "{} {database}.{table}: no such kind of table here",
                    other.to_lowercase()
                )),
            }
        }
        self.programs(source, &name)
    }

    /// Triggers, routines and events.
    fn programs(&mut self, source: &mut Client, database: &str) -> Result<()> {
        let kinds = [
            (
                "SELECT 'trigger', TRIGGER_SCHEMA, TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA",
                "write in the application what it does; rows that it wrote on the source are copied",
            ),
            (
                "SELECT LOWER(ROUTINE_TYPE), ROUTINE_SCHEMA, ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA",
                "move it into the application",
            ),
            (
                "SELECT 'event', EVENT_SCHEMA, EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA",
                "run its statement from the operating system's scheduler",
            ),
        ];
        for (select, instead) in kinds {
            for row in source.rows(&format!("{select} = {database} ORDER BY 3"))? {
                let line = format!("{} {}.{}: {instead}", row.text(0), row.text(1), row.text(2));
                self.left_out.push(line);
            }
        }
        Ok(())
    }
}

fn view(source: &mut Client, database: &str, name: String, columns: Vec<Column>) -> Result<View> {
    // The definition does not name the database that the session is in.
    source.run(&format!("USE {}", quoted(database)))?;
    let full = format!("{}.{}", quoted(database), quoted(&name));
    let rows = source.rows(&format!("SHOW CREATE VIEW {full}"))?;
    let row = rows.first();
    Ok(View {
        database: database.to_owned(),
        name,
        columns: columns.into_iter().map(|column| column.name).collect(),
        create: row.map(|row| row.text(1)).unwrap_or_default(),
        collation: row.map(|row| row.text(3)).unwrap_or_default(),
    })
}

fn shown_create(source: &mut Client, show: &str) -> Result<String> {
    let rows = source.rows(show)?;
    match rows.first().and_then(|row| row.get(1)) {
        Some(create) => Ok(create),
        None => Err(Error::Source(format!("the source shows no definition: {show}"))),
    }
}

/// The columns of one table, and its key as in [`Table`]. No columns if there is no such table.
pub(crate) fn columns_and_key(
    client: &mut Client,
    database: &str,
    table: &str,
) -> Result<(Vec<Column>, Vec<usize>)> {
    let condition = format!("{} AND TABLE_NAME = {}", literal(database), literal(table));
    let columns = columns(client, &condition)?.remove(table).unwrap_or_default();
    let key = keys(client, &condition)?.remove(table).unwrap_or_default();
    Ok((columns.clone(), positions(&columns, &key)))
}

/// Where the columns of a key are.
fn positions(columns: &[Column], key: &[String]) -> Vec<usize> {
    let positions = key
        .iter()
        .map(|name| columns.iter().position(|column| column.name == *name));
    positions.collect::<Option<Vec<usize>>>().unwrap_or_default()
}

fn columns(source: &mut Client, database: &str) -> Result<BTreeMap<String, Vec<Column>>> {
    let rows = source.rows(&format!(
        "SELECT TABLE_NAME, COLUMN_NAME, LOWER(DATA_TYPE), COLUMN_TYPE, CHARACTER_SET_NAME, \
         GENERATION_EXPRESSION FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {database} \
         ORDER BY TABLE_NAME, ORDINAL_POSITION"
    ))?;
    let mut columns: BTreeMap<String, Vec<Column>> = BTreeMap::new();
    for row in rows {
        columns.entry(row.text(0)).or_default().push(Column {
            name: row.text(1),
            data_type: row.text(2),
            column_type: row.text(3),
            charset: row.get(4),
            is_generated: !row.text(5).is_empty(),
        });
    }
    Ok(columns)
}

/// The columns that identify a row, by table.
fn keys(source: &mut Client, database: &str) -> Result<BTreeMap<String, Vec<String>>> {
    let rows = source.rows(&format!(
        "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, NULLABLE, SUB_PART FROM information_schema.STATISTICS \
         WHERE TABLE_SCHEMA = {database} AND NON_UNIQUE = 0 ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"
    ))?;
    let mut indexes: BTreeMap<(String, String), Vec<Option<String>>> = BTreeMap::new();
    for row in rows {
        // A part that may be NULL, a prefix and an expression identify no row.
        let is_exact = row.text(3) != "YES" && row.get(4).is_none();
        let part = row.get(2).filter(|_| is_exact);
        indexes.entry((row.text(0), row.text(1))).or_default().push(part);
    }
    let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ((table, index), parts) in indexes {
        if let Some(parts) = parts.into_iter().collect::<Option<Vec<String>>>()
            && (index == "PRIMARY" || !keys.contains_key(&table))
        {
            keys.insert(table, parts);
        }
    }
    Ok(keys)
}
