//! Definitions in few words, for tests: without a parser, a planner or a store.

use types::{Collation, SqlType, TypeKind, Value};

use crate::definition::{AlterChange, IndexColumn, Position, TableDefinition, TableName};
use crate::model::{Column, Default, Handle, Index, IndexPart, SchemaState};

/// `database.table`, or a table of database `d`.
pub fn name(name: &str) -> TableName {
    let (database, name) = name.split_once('.').unwrap_or(("d", name));
    TableName {
        database: database.to_owned(),
        name: name.to_owned(),
    }
}

pub fn int() -> SqlType {
    SqlType {
        kind: TypeKind::Int,
        length: 11,
        ..SqlType::BIGINT
    }
}

pub fn varchar(length: u32) -> SqlType {
    SqlType::varchar(length, Collation::DEFAULT)
}

pub fn text_type() -> SqlType {
    SqlType {
        kind: TypeKind::Text,
        ..varchar(65_535)
    }
}

/// A nullable column.
pub fn column(name: &str, ty: SqlType) -> Column {
    Column::plain(name, ty, true)
}

pub fn not_null(name: &str, ty: SqlType) -> Column {
    Column {
        nullable: false,
        ..column(name, ty)
    }
}

pub fn with_default(name: &str, ty: SqlType, default: &str) -> Column {
    Column {
        default: Default::Literal(default.to_owned()),
        ..column(name, ty)
    }
}

pub fn auto(name: &str, ty: SqlType) -> Column {
    Column {
        auto_increment: true,
        ..not_null(name, ty)
    }
}

/// A plain index on whole columns.
pub fn key(name: &str, columns: &[usize]) -> Index {
    Index {
        id: 0,
        name: name.to_owned(),
        parts: columns.iter().map(|&column| IndexPart::whole(column)).collect(),
        unique: false,
        primary: false,
        comment: String::new(),
        state: SchemaState::Public,
        invisible: false,
        generated: false,
        using_btree: false,
        full_text: None,
    }
}

pub fn unique(name: &str, columns: &[usize]) -> Index {
    Index {
        unique: true,
        ..key(name, columns)
    }
}

pub fn primary(columns: &[usize]) -> Index {
    Index {
        primary: true,
        ..unique("PRIMARY", columns)
    }
}

pub fn prefix(mut index: Index, length: u32) -> Index {
    index.parts[0].prefix = Some(length);
    index
}

pub fn descending(mut index: Index, part: usize) -> Index {
    index.parts[part].descending = true;
    index
}

/// A definition without a primary key.
pub fn heap(columns: Vec<Column>, indexes: Vec<Index>) -> TableDefinition {
    TableDefinition {
        columns,
        indexes,
        handle: Handle::Hidden,
        collation: Collation::DEFAULT,
        comment: String::new(),
        auto_increment_start: 1,
        shard_row_id_bits: 0,
        pre_split_regions: 0,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        options: std::default::Default::default(),
        partitioning: None,
    }
}

/// A definition whose first column is an integer primary key.
pub fn by_id(columns: Vec<Column>, indexes: Vec<Index>) -> TableDefinition {
    TableDefinition {
        handle: Handle::Integer { column: 0 },
        ..heap(columns, indexes)
    }
}

pub fn add_index(name: &str, columns: &[&str], unique: bool) -> AlterChange {
    AlterChange::AddIndex {
        name: (!name.is_empty()).then(|| name.to_owned()),
        columns: columns
            .iter()
            .map(|c| IndexColumn {
                name: (*c).to_owned(),
                prefix: None,
                descending: false,
            })
            .collect(),
        unique,
        comment: String::new(),
        invisible: false,
        generated: false,
        primary: false,
        using_btree: false,
        full_text: None,
    }
}

pub fn add_column(column: Column, position: Position) -> AlterChange {
    AlterChange::AddColumn { column, position }
}

pub fn drop_column(name: &str) -> AlterChange {
    AlterChange::DropColumn {
        name: name.to_owned(),
    }
}

pub fn drop_index(name: &str) -> AlterChange {
    AlterChange::DropIndex {
        name: name.to_owned(),
    }
}

pub fn text(value: &str) -> Value {
    Value::String(value.to_owned())
}
