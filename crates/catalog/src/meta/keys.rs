//! Names of what is stored under `m`. The bytes are codec's: strings and hashes, as TiDB lays them out.
//!
//! | key | field | value |
//! |---|---|---|
//! | `SchemaVersionKey` | | counter |
//! | `NextGlobalID` | | counter: the last id given |
//! | `DBs` | `DB:{id}` | [`super::record::DatabaseRecord`] |
//! | `DB:{id}` | `Table:{id}` | [`schema::model::Table`] |
//! | `AutoIncrement` | `Table:{id}` | counter: ids below it may have been given |
//! | `RowId` | `Table:{id}` | the same for hidden row ids |
//! | `Garbage` | id | [`crate::gc_queue::Garbage`] |
//! | `Jobs` | id | [`crate::ddl::job::Job`] |
//! | `JobProgress:{id}` | | [`crate::ddl::job::Progress`] |
//! | `JobHistory` | schema version modulo a number | [`crate::ddl::history::PastJob`] |
//! | `Nodes` | id | [`crate::nodes::NodeRecord`] |
//! | `LastNodeNumber` | | counter: the last number given to a node |
//! | `AccountsVersion` | | counter: changes with every change of accounts |
//! | `GlobalVariables` | name | [`super::record::GlobalRecord`] |
//! | `GlobalVariablesVersion` | | a timestamp: another whenever one of them has changed |
//! | `Mail:{node}` | sender, letter | [`crate::mail`]: what other nodes have to say to one |
//! | `MailVersion:{node}` | | a timestamp: another whenever a letter has come; there while the node is |
//! | `Accounts` | user, 0, host | [`crate::accounts::Account`] |

use codec::meta::{hash_key, hash_prefix, string_key};
use kv::KeyRange;

pub(crate) fn schema_version() -> Vec<u8> {
    string_key(b"SchemaVersionKey")
}

pub(crate) fn next_id() -> Vec<u8> {
    string_key(b"NextGlobalID")
}

pub(crate) fn databases() -> KeyRange {
    range(b"DBs")
}

pub(crate) fn database(id: i64) -> Vec<u8> {
    hash_key(b"DBs", format!("DB:{id}").as_bytes())
}

pub(crate) fn tables(database: i64) -> KeyRange {
    range(format!("DB:{database}").as_bytes())
}

pub(crate) fn table(database: i64, table: i64) -> Vec<u8> {
    hash_key(
        format!("DB:{database}").as_bytes(),
        format!("Table:{table}").as_bytes(),
    )
}

/// By table only, not by database, since RENAME TABLE moves tables between databases.
pub(crate) fn auto_increment(table: i64) -> Vec<u8> {
    hash_key(b"AutoIncrement", format!("Table:{table}").as_bytes())
}

pub(crate) fn row_id(table: i64) -> Vec<u8> {
    hash_key(b"RowId", format!("Table:{table}").as_bytes())
}

pub(crate) fn all_garbage() -> KeyRange {
    range(b"Garbage")
}

pub(crate) fn garbage(id: i64) -> Vec<u8> {
    hash_key(b"Garbage", id.to_string().as_bytes())
}

pub(crate) fn jobs() -> KeyRange {
    range(b"Jobs")
}

pub(crate) fn job(id: i64) -> Vec<u8> {
    hash_key(b"Jobs", id.to_string().as_bytes())
}

pub(crate) fn job_progress(id: i64) -> Vec<u8> {
    string_key(format!("JobProgress:{id}").as_bytes())
}

pub(crate) fn past_jobs() -> KeyRange {
    range(b"JobHistory")
}

pub(crate) fn past_job(slot: u64) -> Vec<u8> {
    hash_key(b"JobHistory", slot.to_string().as_bytes())
}

pub(crate) fn nodes() -> KeyRange {
    range(b"Nodes")
}

pub(crate) fn node(id: i64) -> Vec<u8> {
    hash_key(b"Nodes", id.to_string().as_bytes())
}

pub(crate) fn last_node_number() -> Vec<u8> {
    string_key(b"LastNodeNumber")
}

pub(crate) fn accounts_version() -> Vec<u8> {
    string_key(b"AccountsVersion")
}

pub(crate) fn accounts() -> KeyRange {
    range(b"Accounts")
}

pub(crate) fn account(user: &str, host: &str) -> Vec<u8> {
    hash_key(b"Accounts", format!("{user}\0{host}").as_bytes())
}

pub(crate) fn global_variables() -> KeyRange {
    range(b"GlobalVariables")
}

pub(crate) fn global_variable(name: &str) -> Vec<u8> {
    hash_key(b"GlobalVariables", name.as_bytes())
}

pub(crate) fn global_variables_version() -> Vec<u8> {
    string_key(b"GlobalVariablesVersion")
}

pub(crate) fn mail(node: i64) -> KeyRange {
    range(format!("Mail:{node}").as_bytes())
}

pub(crate) fn letter(to: i64, from: i64, letter: u64) -> Vec<u8> {
    hash_key(
        format!("Mail:{to}").as_bytes(),
        format!("{from}:{letter}").as_bytes(),
    )
}

pub(crate) fn mail_version(node: i64) -> Vec<u8> {
    string_key(format!("MailVersion:{node}").as_bytes())
}

fn range(key: &[u8]) -> KeyRange {
    KeyRange::prefix(hash_prefix(key))
}
