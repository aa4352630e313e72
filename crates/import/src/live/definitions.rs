//! Databases, tables and views on the target.

use crate::Result;
use crate::endpoint::{Client, literal, quoted};
use crate::error::Error;
use crate::inventory::{Inventory, Table, View};

/// No such account, as the definer of a view.
const NO_SUCH_USER: u16 = 1449;

/// Creates databases. Those that exist stay as they are.
pub(super) fn databases(target: &mut Client, inventory: &Inventory) -> Result<()> {
    for (name, create) in &inventory.databases {
        let create = adapted(create).replacen("CREATE DATABASE", "CREATE DATABASE IF NOT EXISTS", 1);
        // A definition with an option that the target does not know still has a name.
        if target.run(&create).is_err() {
            target.run(&format!("CREATE DATABASE IF NOT EXISTS {}", quoted(name)))?;
        }
    }
    Ok(())
}

/// The outcome of a table's definition.
pub(super) enum Outcome {
    Created,
    /// Created without some lines of the definition, which are listed.
    Partly(Vec<String>),
    /// Refused; the target's reason.
    Refused(String),
}

/// Creates a table. With `partly`, SPATIAL indexes are left out if the target has none.
pub(super) fn table(target: &mut Client, table: &Table, partly: bool) -> Result<Outcome> {
    let create = adapted(&table.create);
    target.run(&format!("USE {}", quoted(&table.database)))?;
    let Err(error) = target.run(&create) else {
        return Ok(Outcome::Created);
    };
    if error.is_lost() {
        return Err(error);
    }
    let (kept, left_out) = without_special_indexes(&create);
    if left_out.is_empty() {
        return Ok(Outcome::Refused(reason(&error)));
    }
    match partly {
        false => Ok(Outcome::Refused(format!(
            "{} (the table could be copied without: {})",
            reason(&error),
            left_out.join("; ")
        ))),
        true => match target.run(&kept) {
            Ok(()) => Ok(Outcome::Partly(left_out)),
            Err(error) if error.is_lost() => Err(error),
            Err(error) => Ok(Outcome::Refused(reason(&error))),
        },
    }
}

pub(super) fn drop_table(target: &mut Client, database: &str, name: &str) -> Result<()> {
    target.run(&format!(
        "DROP TABLE IF EXISTS {}.{}",
        quoted(database),
        quoted(name)
    ))
}

pub(super) fn exists(target: &mut Client, database: &str, name: &str) -> Result<bool> {
    let found = target.one(&format!(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        literal(database),
        literal(name)
    ))?;
    Ok(found.is_some_and(|count| count != "0"))
}

/// Creates or replaces views. Views of views are tried again until no more can be created. Returns one line
/// for each that is left or differs.
pub(super) fn views(target: &mut Client, views: &[View]) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    let mut left: Vec<&View> = views.iter().collect();
    loop {
        let mut refused = Vec::new();
        for view in &left {
            target.run(&format!("USE {}", quoted(&view.database)))?;
            target.run(&format!(
                "SET collation_connection = {}",
                literal(&view.collation)
            ))?;
            let create = view.create.replacen("CREATE ", "CREATE OR REPLACE ", 1);
            let mut done = target.run(&create);
            if done.as_ref().is_err_and(|error| error.code() == NO_SUCH_USER) {
                done = target.run(&without_definer(&create));
                if done.is_ok() {
                    notes.push(format!(
                        "view {}.{}: its definer has no account here; it is yours now",
                        view.database, view.name
                    ));
                }
            }
            match done {
                Ok(()) => {}
                Err(error) if error.is_lost() => return Err(error),
                Err(error) => refused.push((*view, reason(&error))),
            }
        }
        target.run("SET NAMES utf8mb4")?;
        if refused.is_empty() || refused.len() == left.len() {
            let lines = refused
                .iter()
                .map(|(view, reason)| format!("view {}.{}: {reason}", view.database, view.name));
            notes.extend(lines);
            return Ok(notes);
        }
        left = refused.into_iter().map(|(view, _)| view).collect();
    }
}

/// The server's words of an error, without our own around them.
pub(crate) fn reason(error: &Error) -> String {
    match error {
        Error::Server { error, .. } => match &**error {
            mysql::Error::MySqlError(error) => format!("{} (error {})", error.message, error.code),
            other => other.to_string(),
        },
        other => other.to_string(),
    }
}

/// MariaDB's definitions in MySQL's words.
pub(crate) fn adapted(create: &str) -> String {
    let mut out = create.replace("utf8mb4_uca1400_ai_ci", "utf8mb4_0900_ai_ci");
    for option in [
        " PAGE_CHECKSUM=1",
        " PAGE_CHECKSUM=0",
        " TRANSACTIONAL=1",
        " TRANSACTIONAL=0",
    ] {
        out = out.replace(option, "");
    }
    out
}

/// The definition without SPATIAL indexes, and these. SHOW CREATE TABLE has one line for each.
fn without_special_indexes(create: &str) -> (String, Vec<String>) {
    let is_spatial = |line: &&str| line.trim_start().starts_with("SPATIAL KEY");
    let (left_out, kept): (Vec<&str>, Vec<&str>) = create.lines().partition(is_spatial);
    let mut kept = kept.join("\n");
    // The line before the closing parenthesis ends without a comma.
    if let Some(end) = kept.rfind(",\n)") {
        kept.replace_range(end..=end, "");
    }
    let left_out = left_out
        .iter()
        .map(|line| line.trim().trim_end_matches(',').to_owned());
    (kept, left_out.collect())
}

/// `CREATE ... DEFINER=`x`@`y` SQL SECURITY ...` without the account.
pub(crate) fn without_definer(create: &str) -> String {
    let Some(start) = create.find(" DEFINER=") else {
        return create.to_owned();
    };
    let account = &create[start + " DEFINER=".len()..];
    let mut in_quotes = false;
    let end = account.find(|character| {
        in_quotes ^= character == '`';
        character == ' ' && !in_quotes
    });
    match end {
        Some(end) => format!("{}{}", &create[..start], &account[end..]),
        None => create.to_owned(),
    }
}

/// Whether two definitions are the same except the next AUTO_INCREMENT value.
pub(super) fn same(one: &str, other: &str) -> bool {
    let counterless = |text: &str| {
        let words: Vec<String> = text
            .split(' ')
            .filter(|word| !word.starts_with("AUTO_INCREMENT="))
            .map(str::to_owned)
            .collect();
        words.join(" ")
    };
    counterless(one) == counterless(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_indexes_are_cut_out() {
        let create = "CREATE TABLE `t` (\n  `a` int,\n  `b` text,\n  KEY `a` (`a`),\n  SPATIAL KEY `b` (`b`)\n) ENGINE=InnoDB";
        let (kept, left_out) = without_special_indexes(create);
        assert_eq!(
            kept,
            "CREATE TABLE `t` (\n  `a` int,\n  `b` text,\n  KEY `a` (`a`)\n) ENGINE=InnoDB"
        );
        assert_eq!(left_out, ["SPATIAL KEY `b` (`b`)"]);
    }

    #[test]
    fn a_definer_is_cut_out() {
        let create = "CREATE ALGORITHM=UNDEFINED DEFINER=`a b`@`%` SQL SECURITY DEFINER VIEW `v` AS select 1";
        assert_eq!(
            without_definer(create),
            "CREATE ALGORITHM=UNDEFINED SQL SECURITY DEFINER VIEW `v` AS select 1"
        );
    }

    #[test]
    fn the_next_id_is_no_difference() {
        assert!(same(
            "x ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT",
            "x ENGINE=InnoDB AUTO_INCREMENT=9 DEFAULT"
        ));
        assert!(same(
            "x ENGINE=InnoDB DEFAULT",
            "x ENGINE=InnoDB AUTO_INCREMENT=9 DEFAULT"
        ));
        assert!(!same("x int", "x bigint"));
    }
}
