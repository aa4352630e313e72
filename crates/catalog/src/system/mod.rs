//! The databases that the server makes up: `information_schema`, `performance_schema`, `mysql` and `sys`.
//!
//! Their tables' definitions are data, in `tables.txt`; nothing of them is stored, and their ids are negative. What is in
//! their rows: [`crate::information_schema`].

use std::collections::HashMap;
use std::sync::Arc;

use schema::model::{Column, Database, Default, Table};
use types::{Collation, Error, Result, SqlType, TypeKind};

const TABLES: &str = include_str!("tables.txt");
const NAMES: [&str; 4] = ["mysql", "information_schema", "performance_schema", "sys"];
/// Ids of virtual tables go down from here.
const FIRST_TABLE_ID: i64 = -1000;

/// All of them, with their tables.
pub(crate) fn databases() -> Result<Vec<Database>> {
    let mut databases: Vec<Database> = (1..)
        .zip(NAMES)
        .map(|(number, name)| Database {
            id: -number,
            name: name.to_owned(),
            collation: if name == "information_schema" {
                Collation::Utf8mb3GeneralCi
            } else {
                Collation::Utf8mb40900AiCi
            },
            tables: HashMap::new(),
        })
        .collect();
    let mut table: Option<Table> = None;
    let mut number = 0;
    for line in TABLES.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            add(&mut databases, table.take())?;
            number += 1;
            table = Some(empty_table(name, number).ok_or_else(|| malformed(line))?);
            continue;
        }
        let current = table.as_mut().ok_or_else(|| malformed(line))?;
        let column = column(line, current.columns.len()).ok_or_else(|| malformed(line))?;
        current.max_column_id = column.id;
        current.columns.push(column);
    }
    add(&mut databases, table)?;
    Ok(databases)
}

fn malformed(line: &str) -> Error {
    Error::internal(format!("tables.txt: {line}"))
}

fn add(databases: &mut [Database], table: Option<Table>) -> Result<()> {
    let Some(table) = table else { return Ok(()) };
    let database = databases
        .iter_mut()
        .find(|d| d.name == table.database)
        .ok_or_else(|| malformed(&table.database))?;
    database.tables.insert(table.name.clone(), Arc::new(table));
    Ok(())
}

fn empty_table(name: &str, number: i64) -> Option<Table> {
    let (database, name) = name.split_once('.')?;
    Some(Table {
        collation: Collation::Utf8mb4GeneralCi,
        revision: 1,
        ..Table::of_columns(FIRST_TABLE_ID - number, database, name, Vec::new())
    })
}

/// `NAME type collation NULL|NOT [default]`.
fn column(line: &str, offset: usize) -> Option<Column> {
    let mut words = line.split(' ');
    let (name, ty, collation) = (words.next()?, words.next()?, words.next()?);
    let nullable = words.next()? == "NULL";
    let default = match words.next() {
        None => Default::None,
        Some("\"\"") => Default::Literal(String::new()),
        Some(text) => Default::Literal(text.to_owned()),
    };
    Some(Column {
        id: offset as i64 + 1,
        default,
        ..Column::plain(name, sql_type(ty, collation)?, nullable)
    })
}

fn sql_type(text: &str, collation: &str) -> Option<SqlType> {
    let (text, unsigned) = match text.strip_suffix("_unsigned") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (name, arguments) = match text.strip_suffix(')').and_then(|t| t.split_once('(')) {
        Some((name, arguments)) => (name, arguments),
        None => (text, ""),
    };
    let mut numbers = arguments.split(',').filter_map(|n| n.parse::<u32>().ok());
    let (first, second) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let collation = match collation {
        "bin" => Collation::Utf8mb3Bin,
        "ci" => Collation::Utf8mb3GeneralCi,
        "ai" => Collation::Utf8mb40900AiCi,
        "ascii" => Collation::Latin1SwedishCi,
        _ => Collation::Binary,
    };
    let integer = |kind, length| SqlType {
        kind,
        length,
        unsigned,
        ..SqlType::BIGINT
    };
    let string = |kind, length| SqlType {
        kind,
        ..SqlType::varchar(length, collation)
    };
    Some(match name {
        "tinyint" => integer(TypeKind::TinyInt, if first > 0 { first } else { 4 }),
        "smallint" => integer(TypeKind::SmallInt, if unsigned { 5 } else { 6 }),
        "int" => integer(TypeKind::Int, if unsigned { 10 } else { 11 }),
        "bigint" => integer(TypeKind::BigInt, 20),
        "decimal" => SqlType::decimal(first, second as u8),
        "datetime" => SqlType::datetime(first as u8),
        "timestamp" => SqlType::timestamp(first as u8),
        "time" => SqlType::time(first as u8),
        "varchar" => string(TypeKind::VarChar, first),
        "char" | "binary" => string(TypeKind::Char, first),
        "text" | "blob" => string(TypeKind::Text, 65_535),
        "mediumtext" | "mediumblob" => string(TypeKind::MediumText, 16_777_215),
        "longtext" => string(TypeKind::LongText, u32::MAX),
        "json" => SqlType::JSON,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_column() {
        let databases = databases().unwrap();
        let count: usize = databases
            .iter()
            .flat_map(|d| d.tables.values())
            .map(|t| t.columns.len())
            .sum();
        let lines = TABLES
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with(['#', '[']));
        assert_eq!(count, lines.count());
        assert!(databases.iter().all(Database::is_system));
        let ids: std::collections::BTreeSet<i64> = databases
            .iter()
            .flat_map(|d| d.tables.values())
            .map(|t| t.id)
            .collect();
        assert_eq!(ids.len(), databases.iter().map(|d| d.tables.len()).sum::<usize>());
    }

    #[test]
    fn types_are_as_written() {
        let databases = databases().unwrap();
        let tables = databases.iter().find(|d| d.name == "information_schema").unwrap();
        let table = &tables.tables["TABLES"];
        let type_of = |name: &str| table.columns[table.column_offset(name).unwrap()].ty.column_type();
        assert_eq!(type_of("TABLE_NAME"), "varchar(64)");
        assert_eq!(type_of("TABLE_ROWS"), "bigint unsigned");
        assert_eq!(type_of("CREATE_TIME"), "timestamp");
        assert_eq!(type_of("TABLE_COMMENT"), "text");
    }
}
