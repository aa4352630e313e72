//! Accounts and what they have been granted: `mysql.user`, `mysql.db`, USER_PRIVILEGES, SCHEMA_PRIVILEGES.

use types::Value;

use super::{CATALOG, Context, Row, number, text};
use crate::accounts::Account;

/// What ALL PRIVILEGES on everything is in MySQL (its static privileges).
const GLOBAL: [&str; 31] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "RELOAD",
    "SHUTDOWN",
    "PROCESS",
    "FILE",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "SHOW DATABASES",
    "SUPER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "CREATE USER",
    "EVENT",
    "TRIGGER",
    "CREATE TABLESPACE",
    "CREATE ROLE",
    "DROP ROLE",
    "GRANT OPTION",
];
/// What ALL PRIVILEGES on a database is.
const DATABASE: [&str; 18] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EVENT",
    "TRIGGER",
];

fn accounts(ctx: &Context) -> Vec<std::sync::Arc<Account>> {
    if !ctx.surroundings.may_see_accounts() {
        return Vec::new();
    }
    ctx.catalog.accounts().iter().cloned().collect()
}

fn yes(flag: bool) -> Value {
    text(if flag { "YES" } else { "NO" })
}

pub(super) fn user_privileges(ctx: &Context) -> Vec<Row> {
    let mut rows = Vec::new();
    for account in accounts(ctx) {
        let granted: &[&str] = if account.privileges.everything {
            &GLOBAL[..30]
        } else {
            &["USAGE"]
        };
        rows.extend(granted.iter().map(|privilege| {
            vec![
                text(account.name()),
                text(CATALOG),
                text(*privilege),
                yes(account.privileges.grant_option),
            ]
        }));
    }
    rows
}

pub(super) fn schema_privileges(ctx: &Context) -> Vec<Row> {
    let mut rows = Vec::new();
    for account in accounts(ctx) {
        for database in &account.privileges.databases {
            rows.extend(DATABASE.iter().map(|privilege| {
                vec![
                    text(account.name()),
                    text(CATALOG),
                    text(database),
                    text(*privilege),
                    yes(false),
                ]
            }));
        }
    }
    rows
}

fn flag(flag: bool) -> Value {
    text(if flag { "Y" } else { "N" })
}

/// `mysql.user`. Authentication strings are shown to those who may see accounts, as in MySQL.
pub(super) fn mysql_user(ctx: &Context) -> Vec<Row> {
    accounts(ctx)
        .iter()
        .map(|account| {
            let all = account.privileges.everything;
            let mut row = vec![text(&account.host), text(&account.user)];
            // Select_priv to File_priv, Grant_priv, References_priv to Create_tablespace_priv.
            row.extend(std::iter::repeat_n(flag(all), 10));
            row.push(flag(account.privileges.grant_option));
            row.extend(std::iter::repeat_n(flag(all), 18));
            row.push(text(""));
            row.extend(std::iter::repeat_n(Value::Bytes(Vec::new()), 3));
            row.extend(std::iter::repeat_n(number(0), 4));
            row.extend([
                text(&account.plugin),
                text(&account.authentication),
                flag(false),
                ctx.timestamp(account.password_changed_us),
                Value::Null,
                flag(account.locked),
                flag(all),
                flag(all),
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
            ]);
            row
        })
        .collect()
}

/// `mysql.db`.
pub(super) fn mysql_db(ctx: &Context) -> Vec<Row> {
    let mut rows = Vec::new();
    for account in accounts(ctx) {
        for database in &account.privileges.databases {
            let mut row = vec![text(&account.host), text(database), text(&account.user)];
            row.extend(std::iter::repeat_n(flag(true), 6));
            row.push(flag(false));
            row.extend(std::iter::repeat_n(flag(true), 12));
            rows.push(row);
        }
    }
    rows
}
