//! Errors of several statements, in MySQL's words.

use schema::definition::TableName;
use types::{Error, errno};

pub const ER_NO_SUCH_USER: u16 = 1449;
pub const ER_VIEW_INVALID: u16 = 1356;

/// The error if the account has been dropped with whose privileges a view runs.
pub fn no_such_definer(user: &str, host: &str) -> Error {
    Error::new(
        ER_NO_SUCH_USER,
        format!("The user specified as a definer ('{user}'@'{host}') does not exist"),
    )
}

pub fn invalid_view(view: &TableName) -> Error {
    Error::new(
        ER_VIEW_INVALID,
        format!(
            "View '{}.{}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights \
             to use them",
            view.database, view.name
        ),
    )
}

pub fn unknown_database(name: &str) -> Error {
    Error::new(errno::ER_BAD_DB_ERROR, format!("Unknown database '{name}'"))
}

/// Error 1044. Root gets it for databases that cannot be changed.
pub fn database_access(account: &str, database: &str) -> Error {
    Error::new(
        errno::ER_DBACCESS_DENIED_ERROR,
        format!("Access denied for user {account} to database '{database}'"),
    )
}

pub fn no_such_table(name: &TableName) -> Error {
    Error::new(
        errno::ER_NO_SUCH_TABLE,
        format!("Table '{}.{}' doesn't exist", name.database, name.name),
    )
}

pub fn not_unique(alias: &str) -> Error {
    Error::new(
        errno::ER_NONUNIQ_TABLE,
        format!("Not unique table/alias: '{alias}'"),
    )
}

pub fn unknown_thread(id: u64) -> Error {
    Error::new(errno::ER_NO_SUCH_THREAD, format!("Unknown thread id: {id}"))
}

pub fn not_owner(id: u64) -> Error {
    Error::new(
        errno::ER_KILL_DENIED_ERROR,
        format!("You are not owner of thread {id}"),
    )
}

pub fn unknown_statement(id: u32, function: &str) -> Error {
    Error::new(
        errno::ER_UNKNOWN_STMT_HANDLER,
        format!("Unknown prepared statement handler ({id}) given to {function}"),
    )
}

pub fn unknown_variable(name: &str) -> Error {
    Error::new(
        errno::ER_UNKNOWN_SYSTEM_VARIABLE,
        format!("Unknown system variable '{name}'"),
    )
}
