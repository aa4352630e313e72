//! A definition statement in the history.

use cluster::meta::record::Record;
use schema::definition::{AlterChange, Ddl, TableName};
use serde::{Deserialize, Serialize};

/// How many statements the history keeps.
pub(crate) const HISTORY: u64 = 128;

/// A definition statement that runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The kind, by TiDB's name.
    pub kind: String,
    pub database: String,
    /// The table, or the first of several. Empty if the statement concerns a database.
    pub table: String,
    /// When the statement began, in microseconds since 1970.
    pub created_us: i64,
}

/// A finished statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PastJob {
    pub id: i64,
    pub about: About,
    pub database_id: i64,
    pub table_id: i64,
    pub rows: u64,
    /// Microseconds since 1970.
    pub ended_us: i64,
}

impl Record for PastJob {}

impl About {
    pub(crate) fn of(ddl: &Ddl, created_us: i64) -> Self {
        let about = |kind: &str, database: &str, table: &str| Self {
            kind: kind.to_owned(),
            database: database.to_owned(),
            table: table.to_owned(),
            created_us,
        };
        let of_table = |kind: &str, name: &TableName| about(kind, &name.database, &name.name);
        let of_first = |kind: &str, names: Option<&TableName>| match names {
            Some(name) => of_table(kind, name),
            None => about(kind, "", ""),
        };
        match ddl {
            Ddl::CreateDatabase { name, .. } => about("create schema", name, ""),
            Ddl::AlterDatabase { name, .. } => about("modify schema charset and collate", name, ""),
            Ddl::DropDatabase { name, .. } => about("drop schema", name, ""),
            Ddl::CreateTable { name, .. } | Ddl::CreateTableLike { name, .. } => {
                of_table("create table", name)
            }
            Ddl::DropTable { names, .. } => of_first("drop table", names.first()),
            Ddl::TruncateTable { name } => of_table("truncate table", name),
            Ddl::RenameTable { renames } => {
                let kind = if renames.len() > 1 {
                    "rename tables"
                } else {
                    "rename table"
                };
                of_first(kind, renames.first().map(|(from, _)| from))
            }
            Ddl::AlterTable { name, changes, .. } => of_table(kind_of(changes), name),
            Ddl::AlterPartitions { name, .. } => of_table("alter table partition", name),
            Ddl::ExchangePartition { name, .. } => of_table("exchange partition", name),
            Ddl::CreateView { name, .. } => of_table("create view", name),
            Ddl::DropView { names, .. } => of_first("drop view", names.first()),
        }
    }
}

fn kind_of(changes: &[AlterChange]) -> &'static str {
    let mut parts = changes
        .iter()
        .filter(|change| !matches!(change, AlterChange::Copy));
    let (Some(change), None) = (parts.next(), parts.next()) else {
        return "alter table multi-schema change";
    };
    match change {
        AlterChange::AddColumn { .. } => "add column",
        AlterChange::DropColumn { .. } => "drop column",
        AlterChange::AddIndex { primary: true, .. } => "add primary key",
        AlterChange::DropPrimaryKey => "drop primary key",
        AlterChange::Keys
        | AlterChange::Options(_)
        | AlterChange::Rebuild
        | AlterChange::OrderBy
        | AlterChange::Validate
        | AlterChange::Copy => "alter table",
        AlterChange::AddIndex { .. } => "add index",
        AlterChange::DropIndex { .. } | AlterChange::DropConstraint { .. } => "drop index",
        AlterChange::AddForeignKey(_) => "add foreign key",
        AlterChange::DropForeignKey { .. } => "drop foreign key",
        AlterChange::RenameIndex { .. } => "rename index",
        AlterChange::ModifyColumn { .. } | AlterChange::RenameColumn { .. } => "modify column",
        AlterChange::RenameTable { .. } => "rename table",
        AlterChange::SetDefault { .. } => "set default value",
        AlterChange::Repartition(_) => "alter table partition",
        AlterChange::AutoIncrement(_) => "rebase auto_increment ID",
        AlterChange::AutoRandomBase(_) => "rebase auto_random ID",
        AlterChange::ShardRowIdBits(_) => "shard row ID",
        AlterChange::Comment(_) => "modify table comment",
        AlterChange::SetColumnVisibility { .. } => "alter column visibility",
        AlterChange::SetIndexVisibility { .. } => "alter index visibility",
        AlterChange::AddCheck { .. } => "add check constraint",
        AlterChange::DropCheck { .. } => "drop check constraint",
        AlterChange::AlterCheck { .. } => "alter check constraint",
        AlterChange::DefaultCollation(_) => "modify table charset and collate",
    }
}
