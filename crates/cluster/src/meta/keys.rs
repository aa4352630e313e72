//! Names of what is stored under `m`. The bytes are codec's: strings and hashes, as TiDB lays them out.
//!
//! | key | field | value |
//! |---|---|---|
//! | `SchemaVersionKey` | | counter |
//! | `NextGlobalID` | | counter: the last id given |
//! | `DBs` | `DB:{id}` | [`super::record::DatabaseRecord`] |
//! | `DB:{id}` | `Table:{id}` | [`schema::model::Table`] |
//! | `AutoIncrement` | `Table:{id}` | counter: ids below it may be in use |
//! | `RowId` | `Table:{id}` | the same for hidden row ids |
//! | `Statistics` | `Table:{id}` | [`schema::statistics::TableStatistics`] |
//! | `StatisticsVersion` | | a timestamp, which changes with each change of statistics |
//! | `Garbage` | id | key ranges to destroy (`ddl`) |
//! | `Jobs` | id | a schema change that runs (`ddl`) |
//! | `JobProgress:{id}` | | how far it has come (`ddl`) |
//! | `Fills` | table id | empty: a bulk load is filling the table ([`crate::fills`]) |
//! | `JobHistory` | schema version modulo a number | a definition statement that is done (`ddl`) |
//! | `Nodes` | id | [`crate::node::NodeRecord`] |
//! | `LastNodeNumber` | | counter: the last number given to a node |
//! | `AccountsVersion` | | counter: changes with every change of accounts |
//! | `GlobalVariables` | name | [`super::record::SettingRecord`] |
//! | `GlobalVariablesVersion` | | a timestamp, which changes with each change of a variable |
//! | `PersistedVariables` | name | [`super::record::PersistedRecord`] |
//! | `Mail:{node}` | sender, number | a message to a node ([`crate::message`]) |
//! | `MailVersion:{node}` | | a timestamp, which changes with each message; it exists as long as the node |
//! | `Prepared` | xid: format, length of the global part, global part, branch part | a prepared XA branch ([`crate::prepared`]) |
//! | `PreparedPart:{xid}` | number | a part of its writes and locks ([`kv::prepared`]) |
//! | `XaBranches` | xid, as above | a branch of a shared store ([`crate::prepared`]) |
//! | `XaBranchKeys:{xid}` | number | a part of what ends it ([`kv::detached`]) |
//! | `XaOutcomes` | xid, start timestamp | its primary: written when it is committed, until its record is removed |
//! | `XaBranchesVersion` | | a timestamp, which changes with each new branch |
//! | `UserLocks` | name | locked, and never written: who has GET_LOCK() ([`crate::named_lock`]) |
//! | `UserLockOwners` | name | counter: the number of the connection that has it, or had it last |
//! | `Accounts` | user, 0, host | an account (`accounts`) |

use codec::meta::{hash_key, hash_prefix, string_key};
use kv::{KeyRange, Timestamp};

pub fn schema_version() -> Vec<u8> {
    string_key(b"SchemaVersionKey")
}

pub fn next_id() -> Vec<u8> {
    string_key(b"NextGlobalID")
}

pub fn databases() -> KeyRange {
    range(b"DBs")
}

pub fn database(id: i64) -> Vec<u8> {
    hash_key(b"DBs", format!("DB:{id}").as_bytes())
}

pub fn tables(database: i64) -> KeyRange {
    range(format!("DB:{database}").as_bytes())
}

pub fn table(database: i64, table: i64) -> Vec<u8> {
    hash_key(
        format!("DB:{database}").as_bytes(),
        format!("Table:{table}").as_bytes(),
    )
}

/// By table only, not by database, since RENAME TABLE moves tables between databases.
pub fn auto_increment(table: i64) -> Vec<u8> {
    hash_key(b"AutoIncrement", format!("Table:{table}").as_bytes())
}

pub fn row_id(table: i64) -> Vec<u8> {
    hash_key(b"RowId", format!("Table:{table}").as_bytes())
}

/// By table only, as the counters are.
pub fn table_statistics(table: i64) -> Vec<u8> {
    hash_key(b"Statistics", format!("Table:{table}").as_bytes())
}

pub fn statistics_version() -> Vec<u8> {
    string_key(b"StatisticsVersion")
}

pub fn garbage_queue() -> KeyRange {
    range(b"Garbage")
}

pub fn garbage(id: i64) -> Vec<u8> {
    hash_key(b"Garbage", id.to_string().as_bytes())
}

pub fn jobs() -> KeyRange {
    range(b"Jobs")
}

pub fn job(id: i64) -> Vec<u8> {
    hash_key(b"Jobs", id.to_string().as_bytes())
}

pub fn job_progress(id: i64) -> Vec<u8> {
    string_key(format!("JobProgress:{id}").as_bytes())
}

pub fn fills() -> KeyRange {
    range(b"Fills")
}

pub fn fill(table: i64) -> Vec<u8> {
    hash_key(b"Fills", table.to_string().as_bytes())
}

pub fn past_jobs() -> KeyRange {
    range(b"JobHistory")
}

pub fn past_job(position: u64) -> Vec<u8> {
    hash_key(b"JobHistory", position.to_string().as_bytes())
}

pub fn nodes() -> KeyRange {
    range(b"Nodes")
}

pub fn node(id: i64) -> Vec<u8> {
    hash_key(b"Nodes", id.to_string().as_bytes())
}

pub fn last_node_number() -> Vec<u8> {
    string_key(b"LastNodeNumber")
}

pub fn accounts_version() -> Vec<u8> {
    string_key(b"AccountsVersion")
}

pub fn accounts() -> KeyRange {
    range(b"Accounts")
}

pub fn account(user: &str, host: &str) -> Vec<u8> {
    hash_key(b"Accounts", format!("{user}\0{host}").as_bytes())
}

pub fn user_lock(name: &str) -> Vec<u8> {
    hash_key(b"UserLocks", name.as_bytes())
}

pub fn user_lock_owner(name: &str) -> Vec<u8> {
    hash_key(b"UserLockOwners", name.as_bytes())
}

pub fn prepared_branches() -> KeyRange {
    range(b"Prepared")
}

pub fn prepared_branch(xid: &[u8]) -> Vec<u8> {
    hash_key(b"Prepared", xid)
}

pub fn prepared_part(xid: &[u8], number: u32) -> Vec<u8> {
    hash_key(&[b"PreparedPart:", xid].concat(), &number.to_be_bytes())
}

pub fn xa_branches() -> KeyRange {
    range(b"XaBranches")
}

pub fn xa_branch(xid: &[u8]) -> Vec<u8> {
    hash_key(b"XaBranches", xid)
}

pub fn xa_branch_part(xid: &[u8], number: u32) -> Vec<u8> {
    hash_key(&[b"XaBranchKeys:", xid].concat(), &number.to_be_bytes())
}

pub fn xa_outcome(xid: &[u8], start_ts: Timestamp) -> Vec<u8> {
    hash_key(b"XaOutcomes", &[xid, &start_ts.to_be_bytes()].concat())
}

pub fn xa_branches_version() -> Vec<u8> {
    string_key(b"XaBranchesVersion")
}

pub fn global_variables() -> KeyRange {
    range(b"GlobalVariables")
}

pub fn global_variable(name: &str) -> Vec<u8> {
    hash_key(b"GlobalVariables", name.as_bytes())
}

pub fn persisted_variables() -> KeyRange {
    range(b"PersistedVariables")
}

pub fn persisted_variable(name: &str) -> Vec<u8> {
    hash_key(b"PersistedVariables", name.as_bytes())
}

pub fn global_variables_version() -> Vec<u8> {
    string_key(b"GlobalVariablesVersion")
}

pub fn messages(node: i64) -> KeyRange {
    range(format!("Mail:{node}").as_bytes())
}

pub fn message(to: i64, from: i64, number: u64) -> Vec<u8> {
    hash_key(
        format!("Mail:{to}").as_bytes(),
        format!("{from}:{number}").as_bytes(),
    )
}

pub fn message_version(node: i64) -> Vec<u8> {
    string_key(format!("MailVersion:{node}").as_bytes())
}

fn range(key: &[u8]) -> KeyRange {
    KeyRange::prefix(hash_prefix(key))
}
