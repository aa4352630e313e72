//! Definitions of the system databases and their tables. Their ids are negative, and they are not stored.

use std::collections::HashMap;
use std::sync::Arc;

use schema::model::{Column, Database, Default, SystemTraits, Table};
use schema::view::{Definer, View, ViewAlgorithm, ViewSecurity};
use types::{Charset, Collation, Error, Members, Result, SqlType, TypeKind};

use crate::table::traits_of_most;
use crate::tables::TABLES;

/// Tables without a file of their own: those that are always empty, and those whose rows the server makes
/// ([`crate::Server::measurements`]).
const PLAIN_TABLES: [&str; 2] = [
    include_str!("empty_tables.txt"),
    include_str!("performance_tables.txt"),
];
/// The tables of `sys`: views where a line that begins with `=` has a query.
const SYS_VIEWS: &str = include_str!("sys_views.txt");
const NAMES: [&str; 4] = ["mysql", "information_schema", "performance_schema", "sys"];
/// The ids of system tables are below this one.
const FIRST_TABLE_ID: i64 = -1000;

/// All system databases, with their tables.
///
/// # Errors
/// 1105 for a definition that cannot be read, which is a defect.
pub fn databases() -> Result<Vec<Arc<Database>>> {
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
    let with_rows = TABLES
        .iter()
        .map(|table| (table.name(), table.traits(), table.columns()));
    for (number, (name, traits, columns)) in (1..).zip(with_rows.chain(plain_tables())) {
        let mut table = table(name, columns, FIRST_TABLE_ID - number)?;
        table.system = traits;
        let database = databases
            .iter_mut()
            .find(|d| d.name == table.database)
            .ok_or_else(|| malformed(name))?;
        database.tables.insert(table.name.clone(), Arc::new(table));
    }
    Ok(databases.into_iter().map(Arc::new).collect())
}

/// The names, traits and columns' lines of [`PLAIN_TABLES`] and [`SYS_VIEWS`].
fn plain_tables() -> impl Iterator<Item = (&'static str, SystemTraits, &'static str)> {
    let texts = PLAIN_TABLES.into_iter().chain([SYS_VIEWS]);
    texts
        .flat_map(|text| text.split("\n[").skip(1))
        .filter_map(|text| text.split_once("]\n"))
        .map(|(head, columns)| match head.strip_suffix(" filled") {
            Some(name) => (name, SystemTraits::default(), columns),
            None => (head, traits_of_most(head), columns),
        })
}

fn malformed(text: &str) -> Error {
    Error::internal(format!("definition of a system table: {text}"))
}

fn table(name: &str, columns: &str, id: i64) -> Result<Table> {
    let query = columns.lines().find_map(|line| line.strip_prefix("= "));
    let lines = columns
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('='));
    let columns = lines
        .enumerate()
        .map(|(offset, line)| column(line, offset).ok_or_else(|| malformed(line)))
        .collect::<Result<Vec<_>>>()?;
    let (database, name) = name.split_once('.').ok_or_else(|| malformed(name))?;
    Ok(Table {
        collation: Collation::Utf8mb4GeneralCi,
        revision: 1,
        view: query.map(|query| Box::new(view(query))),
        max_column_id: columns.len() as i64,
        ..Table::of_columns(id, database, name, columns)
    })
}

/// A view of `sys`: it shows what the account that reads it may see.
fn view(query: &str) -> View {
    View {
        query: query.to_owned(),
        columns_are_named: true,
        algorithm: ViewAlgorithm::Undefined,
        definer: Definer {
            user: "mysql.sys".to_owned(),
            host: "localhost".to_owned(),
        },
        security: ViewSecurity::Invoker,
        check_option: None,
        is_updatable: false,
        charset_client: Charset::Utf8mb4,
        collation_connection: Collation::Utf8mb40900AiCi,
    }
}

/// `NAME type collation NULL|NOT [default] [on_update_now] [auto_increment]`.
fn column(line: &str, offset: usize) -> Option<Column> {
    let (name, rest) = line.split_once(' ')?;
    // Members may contain blanks.
    let is_list = rest.starts_with("enum(") || rest.starts_with("set(");
    let end = rest.find(if is_list { ") " } else { " " })? + usize::from(is_list);
    let (ty, rest) = rest.split_at_checked(end)?;
    let mut words = rest.trim_start().split(' ');
    let (collation, nullable) = (words.next()?, words.next()? == "NULL");
    let mut column = Column {
        id: offset as i64 + 1,
        ..Column::plain(name, sql_type(ty, collation)?, nullable)
    };
    for word in words {
        match word {
            "now" => column.default = Default::Now,
            "on_update_now" => column.on_update_now = true,
            "auto_increment" => column.auto_increment = true,
            "\"\"" => column.default = Default::Literal(String::new()),
            text => column.default = Default::Literal(text.to_owned()),
        }
    }
    Some(column)
}

/// The members of `'a','b'`.
fn members(list: &str) -> Members {
    let text = |member: &str| member.trim_matches('\'').to_owned();
    Members::new(list.split(',').map(text).collect())
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
        "ascii" => Collation::AsciiGeneralCi,
        "latin1" => Collation::Latin1SwedishCi,
        "mb4bin" => Collation::Utf8mb4Bin,
        _ => Collation::Binary,
    };
    match name {
        "enum" => return Some(SqlType::of_enum(members(arguments), collation)),
        "set" => return Some(SqlType::of_set(members(arguments), collation)),
        _ => {}
    }
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
        "decimal" => SqlType {
            unsigned,
            ..SqlType::decimal(first, second as u8)
        },
        "datetime" => SqlType::datetime(first as u8),
        "timestamp" => SqlType::timestamp(first as u8),
        "time" => SqlType::time(first as u8),
        "float" => SqlType::FLOAT,
        "double" if first > 0 => SqlType {
            length: first,
            decimals: second as u8,
            ..SqlType::DOUBLE
        },
        "double" => SqlType::DOUBLE,
        "varchar" | "varbinary" => string(TypeKind::VarChar, first),
        "char" | "binary" => string(TypeKind::Char, first),
        "text" | "blob" => string(TypeKind::Text, 65_535),
        "mediumtext" | "mediumblob" => string(TypeKind::MediumText, 16_777_215),
        "longtext" | "longblob" => string(TypeKind::LongText, u32::MAX),
        "json" => SqlType::JSON,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_columns_and_an_id_of_its_own() {
        let databases = databases().unwrap();
        assert!(databases.iter().all(|d| d.is_system()));
        let tables: Vec<&Arc<Table>> = databases.iter().flat_map(|d| d.tables.values()).collect();
        assert_eq!(tables.len(), 330);
        assert!(tables.iter().all(|table| !table.columns.is_empty()));
        let ids: std::collections::BTreeSet<i64> = tables.iter().map(|table| table.id).collect();
        assert_eq!(ids.len(), tables.len());
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
        assert_eq!(type_of("TABLE_TYPE"), "enum('BASE TABLE','VIEW','SYSTEM VIEW')");
    }
}
