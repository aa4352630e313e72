//! SHOW of the server and the session: variables, status, processes, warnings, engines, character sets,
//! grants.

use accounts::ShownHash;
use schema::definition::TableName;
use schema::privilege::{Privilege, PrivilegeSet};
use types::{Charset, Collation, Error, Result, SqlType, Value, WarningLevel, errno};

use super::definitions;
use crate::client::check_roles;
use crate::listing::{Listing, int_type, text, text_type, unsigned_int_type};
use crate::session::Session;
use crate::variables::lookup;

pub fn variables(session: &Session, global: bool) -> Listing {
    let mut listing = variable_listing();
    for (name, value) in session.view().all_variables(global) {
        listing.push(vec![text(name), text(value.as_deref().unwrap_or(""))]);
    }
    listing
}

/// The columns of SHOW VARIABLES and SHOW STATUS.
fn variable_listing() -> Listing {
    Listing::new(&[("Variable_name", text_type(64)), ("Value", text_type(1024))])
        .never_null(&["Variable_name"])
        .of_catalogue()
}

pub fn status(session: &Session, global: bool) -> Listing {
    let mut listing = variable_listing();
    for (name, value) in session.view().status(global) {
        listing.push(vec![text(name), text(value)]);
    }
    listing
}

/// What MySQL answers where it finds no topic.
pub fn help() -> Listing {
    Listing::new(&[("name", text_type(64)), ("is_it_category", text_type(1))]).all_never_null()
}

pub fn process_list(session: &Session, full: bool) -> Listing {
    let mut listing = Listing::new(&[
        ("Id", SqlType::BIGINT_UNSIGNED),
        ("User", text_type(32)),
        ("Host", text_type(255)),
        ("db", text_type(64)),
        ("Command", text_type(16)),
        ("Time", int_type(7)),
        ("State", text_type(30)),
        ("Info", text_type(if full { 65_535 } else { 100 })),
    ])
    .never_null(&["Id", "User", "Host", "Command", "Time"]);
    for process in session.shared.processes.all() {
        let activity = process.activity();
        if !session.client.may_see_connections_of(&activity.user) {
            continue;
        }
        let info = activity.statement.as_deref().map(|s| {
            if full {
                s.to_owned()
            } else {
                s.chars().take(100).collect::<String>()
            }
        });
        listing.push(vec![
            Value::UInt(process.id),
            text(activity.user),
            text(activity.host),
            activity.database.as_deref().map_or(Value::Null, Value::from),
            text(activity.command),
            Value::Int(i64::try_from(activity.since.elapsed().as_secs()).unwrap_or(i64::MAX)),
            text(process.state()),
            info.map_or(Value::Null, Value::String),
        ]);
    }
    listing
}

pub fn warnings(session: &Session, errors_only: bool, offset: u64, count: Option<u64>) -> Listing {
    let mut listing = Listing::new(&[
        ("Level", text_type(7)),
        ("Code", unsigned_int_type(5)),
        ("Message", text_type(512)),
    ])
    .all_never_null();
    let shown = session.diagnostics.warnings.iter();
    let shown = shown.filter(|w| !errors_only || w.level == WarningLevel::Error);
    let count = count.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    for warning in shown
        .skip(usize::try_from(offset).unwrap_or(usize::MAX))
        .take(count)
    {
        let message = wire::charset::error_message(&warning.message, None);
        listing.push(vec![
            text(warning.level.name()),
            Value::UInt(u64::from(warning.code)),
            text(String::from_utf8_lossy(&message)),
        ]);
    }
    listing
}

pub fn count_warnings(session: &Session, errors_only: bool) -> Listing {
    let (name, count) = if errors_only {
        ("@@session.error_count", session.diagnostics.error_count())
    } else {
        ("@@session.warning_count", session.diagnostics.count)
    };
    let mut listing = Listing::new(&[(name, SqlType::BIGINT_UNSIGNED)]);
    listing.push(vec![Value::UInt(count)]);
    listing
}

/// The table with the privileges of other accounts.
fn user_table() -> TableName {
    TableName {
        database: "mysql".to_owned(),
        name: "user".to_owned(),
    }
}

/// `using`: roles whose privileges are listed as well. The session's own account shows its active roles.
pub fn grants(
    session: &Session,
    user: Option<&(String, String)>,
    using: &[(String, String)],
) -> Result<Listing> {
    let (name, host) = session.client.named_or_own(user);
    if !session.client.is_of_own_user(&name) {
        // To see the grants of others, an account needs SELECT on the `mysql` database.
        session.client.check_table(&user_table(), PrivilegeSet::SELECT)?;
    }
    let accounts = session.shared.catalog.accounts.current();
    let account = accounts.get(&name, &host).ok_or_else(|| {
        Error::new(
            1141,
            format!("There is no such grant defined for user '{name}' on host '{host}'"),
        )
    })?;
    let heading = format!("Grants for {name}@{host}");
    let mut listing = Listing::new(&[(heading.as_str(), text_type(1024))]).all_never_null();
    check_roles(account, using)?;
    let roles = match user {
        None => &session.client.roles,
        Some(_) => using,
    };
    let (privileges, administered) = (
        accounts.privileges_with(account, roles),
        accounts.administered_with(account, roles),
    );
    let style = definitions::style(session);
    for grant in account.grants(&privileges, &administered, user.is_none()) {
        listing.push(vec![text(style.requoted(&grant))]);
    }
    Ok(listing)
}

pub fn create_user(session: &Session, user: &(String, String)) -> Result<Listing> {
    let (name, host) = session.client.named_account(user);
    let may_read = session.client.check_on_database("mysql", Privilege::Select);
    if !session.client.is_own(&name, &host) {
        may_read.clone()?;
    }
    let accounts = session.shared.catalog.accounts.current();
    let account = accounts.get(&name, &host).ok_or_else(|| {
        Error::new(
            errno::ER_CANNOT_USER,
            format!("Operation SHOW CREATE USER failed for '{name}'@'{host}'"),
        )
    })?;
    let heading = format!("CREATE USER for {}@{}", account.user, account.host);
    let mut listing = Listing::new(&[(heading.as_str(), text_type(256))]).all_never_null();
    let hex = lookup("print_identified_with_as_hex").and_then(|d| session.view().variable_text(d));
    let hash = match may_read {
        Err(_) => ShownHash::Secret,
        Ok(()) if hex.as_deref() == Some("ON") => ShownHash::Hex,
        Ok(()) => ShownHash::Text,
    };
    let statement = account.create_statement(hash);
    listing.push(vec![text(definitions::style(session).requoted(&statement))]);
    Ok(listing)
}

/// `store`: the actual engine.
pub fn engines(store: &str) -> Listing {
    let mut listing = Listing::new(&[
        ("Engine", text_type(64)),
        ("Support", text_type(8)),
        ("Comment", text_type(80)),
        ("Transactions", text_type(3)),
        ("XA", text_type(3)),
        ("Savepoints", text_type(3)),
    ])
    .never_null(&["Engine", "Support", "Comment"])
    .of_catalogue();
    let comment = format!("StemDB's transactional store ({store}), under the name applications ask for");
    listing.push(vec![
        text("InnoDB"),
        text("DEFAULT"),
        text(comment),
        text("YES"),
        text("YES"),
        text("YES"),
    ]);
    listing
}

pub fn collations() -> Listing {
    let mut listing = Listing::new(&[
        ("Collation", text_type(64)),
        ("Charset", text_type(64)),
        ("Id", SqlType::BIGINT_UNSIGNED),
        ("Default", text_type(3)),
        ("Compiled", text_type(3)),
        ("Sortlen", unsigned_int_type(10)),
        ("Pad_attribute", text_type(9)),
    ])
    .all_never_null()
    .of_catalogue();
    let mut all = Collation::ALL;
    all.sort_by_key(|c| c.name());
    for collation in all {
        let charset = collation.charset();
        listing.push(vec![
            text(collation.name()),
            text(charset.name()),
            Value::UInt(u64::from(collation.id())),
            text(if charset.default_collation() == collation {
                "Yes"
            } else {
                ""
            }),
            text("Yes"),
            Value::UInt(collation.sort_length()),
            text(if collation.pads_space() {
                "PAD SPACE"
            } else {
                "NO PAD"
            }),
        ]);
    }
    listing
}

pub fn charsets() -> Listing {
    let mut listing = Listing::new(&[
        ("Charset", text_type(64)),
        ("Description", text_type(2048)),
        ("Default collation", text_type(64)),
        ("Maxlen", unsigned_int_type(10)),
    ])
    .all_never_null()
    .of_catalogue();
    let mut all = Charset::ALL;
    all.sort_by_key(|c| c.name());
    for charset in all {
        listing.push(vec![
            text(charset.name()),
            text(charset.description()),
            text(charset.default_collation().name()),
            Value::UInt(u64::from(charset.max_bytes_per_char())),
        ]);
    }
    listing
}

/// Some columns of `information_schema.PLUGINS`, under names of their own.
pub fn plugins() -> Listing {
    let mut listing = Listing::new(&[
        ("Name", text_type(64)),
        ("Status", text_type(10)),
        ("Type", text_type(80)),
        ("Library", text_type(64)),
        ("License", text_type(80)),
    ])
    .never_null(&["Name", "Status", "Type"])
    .of_catalogue();
    for row in system::plugins::plugins() {
        listing.push(
            [0, 2, 3, 5, 9]
                .iter()
                .map(|&at: &usize| row[at].clone())
                .collect(),
        );
    }
    listing
}

/// Fails with 1227 for an account that may not see the state of replication, and with 1381 for a statement
/// that needs a binary log.
pub fn check_list(session: &Session, words: &str) -> Result<()> {
    const ER_NO_BINARY_LOGGING: u16 = 1381;
    let words = words.to_ascii_uppercase();
    match words.as_str() {
        "MASTER STATUS" | "BINARY LOG STATUS" | "SLAVE STATUS" | "REPLICA STATUS" | "MASTER LOGS"
        | "BINARY LOGS" => {
            let privileges = [Privilege::Super, Privilege::ReplicationClient];
            session
                .client
                .check_any("SUPER, REPLICATION CLIENT", &privileges, &[])?;
            match words.ends_with("LOGS") {
                true => Err(Error::new(
                    ER_NO_BINARY_LOGGING,
                    "You are not using binary logging",
                )),
                false => Ok(()),
            }
        }
        "SLAVE HOSTS" | "REPLICAS" | "BINLOG EVENTS" | "RELAYLOG EVENTS" => {
            session
                .client
                .check_any("REPLICATION SLAVE", &[Privilege::ReplicationSlave], &[])
        }
        _ => Ok(()),
    }
}
