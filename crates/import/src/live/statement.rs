//! The kinds of statements in the binary log, by their first words; and which definitions may run twice.

use std::collections::HashSet;
use std::hash::Hash;

use syntax::ast::{AlterItem, IndexKind, ObjectName, PartitionAction, Statement};
use types::SqlMode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Begin,
    Commit,
    Rollback,
    /// SAVEPOINT, ROLLBACK TO: part of a transaction.
    Savepoint,
    /// CREATE, ALTER, DROP, RENAME or TRUNCATE of a database, table, index or view.
    Definition,
    /// A trigger, routine or event; an account or a privilege.
    LeftOut,
    /// Changes no data: ANALYZE, FLUSH, temporary tables.
    Ignored,
    /// Rows as a statement, which may have another effect here.
    Rows,
    Xa,
}

pub(super) fn kind(sql: &str) -> Kind {
    let words = words(sql);
    let word = |position: usize| words.get(position).map(String::as_str).unwrap_or_default();
    match word(0) {
        "BEGIN" | "START" => Kind::Begin,
        "COMMIT" => Kind::Commit,
        "ROLLBACK" if words.iter().any(|word| word == "TO") => Kind::Savepoint,
        "ROLLBACK" => Kind::Rollback,
        "SAVEPOINT" | "RELEASE" => Kind::Savepoint,
        "XA" => Kind::Xa,
        "TRUNCATE" | "RENAME" | "ALTER" | "DROP" | "CREATE" => definition(&words),
        "GRANT" | "REVOKE" | "SET" => Kind::LeftOut,
        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "LOAD" | "WITH" | "CALL" => Kind::Rows,
        _ => Kind::Ignored,
    }
}

/// By the first word that names a kind of object.
fn definition(words: &[String]) -> Kind {
    for word in words.iter().skip(1) {
        match word.as_str() {
            "TEMPORARY" => return Kind::Ignored,
            "TRIGGER" | "PROCEDURE" | "FUNCTION" | "EVENT" | "USER" | "ROLE" | "SERVER" | "INSTANCE"
            | "TABLESPACE" | "PACKAGE" => return Kind::LeftOut,
            "TABLE" | "INDEX" | "VIEW" | "DATABASE" | "SCHEMA" | "SEQUENCE" => return Kind::Definition,
            _ => {}
        }
    }
    Kind::Definition
}

/// The first words in upper case, without comments. Text between quotes is not a word.
fn words(sql: &str) -> Vec<String> {
    const ENOUGH: usize = 12;
    let mut words = Vec::new();
    let mut rest = sql;
    while words.len() < ENOUGH {
        rest = rest.trim_start_matches(|character: char| character.is_whitespace() || character == ';');
        if let Some(comment) = rest.strip_prefix("/*") {
            // The text of /*! ... */ runs; its version is not a word.
            let runs = comment.starts_with('!') || comment.starts_with("M!");
            rest = match runs {
                true => comment
                    .trim_start_matches(['M', '!'])
                    .trim_start_matches(|c: char| c.is_ascii_digit()),
                false => comment.split_once("*/").map_or("", |(_, rest)| rest),
            };
            continue;
        }
        if rest.starts_with("--") || rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            continue;
        }
        let Some(first) = rest.chars().next() else { break };
        if matches!(first, '`' | '\'' | '"') {
            let name = &rest[1..];
            rest = name.split_once(first).map_or("", |(_, rest)| rest);
            continue;
        }
        let end = rest.find(|character: char| !(character.is_alphanumeric() || character == '_'));
        match end {
            Some(0) => rest = &rest[first.len_utf8()..],
            end => {
                let end = end.unwrap_or(rest.len());
                words.push(rest[..end].to_uppercase());
                rest = &rest[end..];
            }
        }
    }
    words
}

/// `CREATE TABLE ... START TRANSACTION`, as CREATE TABLE ... SELECT is logged: its rows follow in the same
/// transaction. The definition without the last words.
pub(super) fn begins_transaction(sql: &str) -> Option<&str> {
    let trimmed = sql.trim_end();
    let cut = trimmed.len().checked_sub("START TRANSACTION".len())?;
    let (definition, end) = trimmed.split_at_checked(cut)?;
    end.eq_ignore_ascii_case("START TRANSACTION")
        .then_some(definition)
}

/// Whether a definition that has run fails when it runs once more, or leaves everything as it is. One that exchanges two
/// names or places, or that makes something to which the server gives a name, does neither.
/// `modes`: the `sql_mode` bits of the source's session.
pub(super) fn can_run_again(sql: &str, modes: u64) -> bool {
    // What cannot be read is refused by the target.
    let Ok(parsed) = syntax::parse_one(sql, as_read(modes)) else {
        return true;
    };
    match parsed.statement {
        Statement::RenameTable(renames) => {
            let name = |name: &syntax::ast::ObjectName| (name.database.clone(), name.name.clone());
            changes_names(renames.iter().map(|(from, to)| (name(from), name(to))))
        }
        Statement::AlterTable { items, .. } => {
            let columns = items.iter().filter_map(|item| match item {
                AlterItem::RenameColumn(from, to) => Some((from.to_lowercase(), to.to_lowercase())),
                AlterItem::ModifyColumn { name, definition, .. } => {
                    Some((name.to_lowercase(), definition.name.to_lowercase()))
                }
                _ => None,
            });
            let indexes = items.iter().filter_map(|item| match item {
                AlterItem::RenameIndex(from, to) => Some((from.to_lowercase(), to.to_lowercase())),
                _ => None,
            });
            items.iter().all(has_a_name) && changes_any(columns) && changes_any(indexes)
        }
        _ => true,
    }
}

/// The databases of what a definition makes, changes or drops; `None` if it is not read here.
/// `default`: the database of the source's session.
pub(super) fn databases(sql: &str, modes: u64, default: &str) -> Option<Vec<String>> {
    let sql = begins_transaction(sql).unwrap_or(sql);
    let of = |name: ObjectName| name.database.unwrap_or_else(|| default.to_owned());
    Some(match syntax::parse_one(sql, as_read(modes)).ok()?.statement {
        Statement::CreateDatabase { name, .. } | Statement::DropDatabase { name, .. } => vec![name],
        Statement::AlterDatabase { name, .. } => vec![name.unwrap_or_else(|| default.to_owned())],
        Statement::CreateTable(create) => vec![of(create.name)],
        Statement::CreateView(create) => vec![of(create.name)],
        Statement::CreateTableLike { name, .. } | Statement::TruncateTable(name) => vec![of(name)],
        Statement::AlterTable { name, items, .. } => {
            let others = items.into_iter().filter_map(other_table);
            std::iter::once(name).chain(others).map(of).collect()
        }
        Statement::DropTable { names, .. } | Statement::DropObject { names, .. } => {
            names.into_iter().map(of).collect()
        }
        Statement::RenameTable(renames) => renames
            .into_iter()
            .flat_map(|(from, to)| [of(from), of(to)])
            .collect(),
        _ => return None,
    })
}

/// The table that an item of ALTER TABLE names besides its own: RENAME TO, EXCHANGE PARTITION.
fn other_table(item: AlterItem) -> Option<ObjectName> {
    match item {
        AlterItem::RenameTable(to) => Some(to),
        AlterItem::Partition(action) => match *action {
            PartitionAction::Exchange { table, .. } => Some(table),
            _ => None,
        },
        _ => None,
    }
}

/// Whether there are other names after renames than before, if there are renames at all.
fn changes_any(renames: impl Iterator<Item = (String, String)>) -> bool {
    let renames: Vec<_> = renames.filter(|(from, to)| from != to).collect();
    renames.is_empty() || changes_names(renames.into_iter())
}

/// Whether other names are there after renames than before.
fn changes_names<N: Clone + Eq + Hash>(renames: impl Iterator<Item = (N, N)>) -> bool {
    let (mut gone, mut new) = (HashSet::new(), HashSet::new());
    for (from, to) in renames {
        if !new.remove(&from) {
            gone.insert(from);
        }
        if !gone.remove(&to) {
            new.insert(to);
        }
    }
    !(gone.is_empty() && new.is_empty())
}

/// Whether what an item makes or moves has a name by which it is found when it is made once more.
fn has_a_name(item: &AlterItem) -> bool {
    match item {
        AlterItem::AddIndex(index) => index.name.is_some() || index.kind == IndexKind::Primary,
        AlterItem::ModifyColumn { definition, .. } => {
            !definition.unique && definition.checks.iter().all(|check| check.name.is_some())
        }
        AlterItem::AddCheck(check) => check.name.is_some(),
        AlterItem::AddForeignKey(key) => key.name.is_some(),
        AlterItem::Partition(action) => !matches!(
            **action,
            PartitionAction::Exchange { .. } | PartitionAction::AddCount(_) | PartitionAction::Coalesce(_)
        ),
        _ => true,
    }
}

const REAL_AS_FLOAT: u64 = 1;
const PIPES_AS_CONCAT: u64 = 1 << 1;
const ANSI_QUOTES: u64 = 1 << 2;
const IGNORE_SPACE: u64 = 1 << 3;
const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;

/// The same modes for our parser.
fn as_read(bits: u64) -> SqlMode {
    SqlMode {
        real_as_float: bits & REAL_AS_FLOAT != 0,
        pipes_as_concat: bits & PIPES_AS_CONCAT != 0,
        ansi_quotes: bits & ANSI_QUOTES != 0,
        ignore_space: bits & IGNORE_SPACE != 0,
        no_backslash_escapes: bits & NO_BACKSLASH_ESCAPES != 0,
        ..SqlMode::default()
    }
}

/// The modes of a session that decide how a statement is read, as a value of `sql_mode`.
pub(super) fn sql_mode(bits: u64) -> String {
    const MODES: [(u64, &str); 5] = [
        (REAL_AS_FLOAT, "REAL_AS_FLOAT"),
        (PIPES_AS_CONCAT, "PIPES_AS_CONCAT"),
        (ANSI_QUOTES, "ANSI_QUOTES"),
        (IGNORE_SPACE, "IGNORE_SPACE"),
        (NO_BACKSLASH_ESCAPES, "NO_BACKSLASH_ESCAPES"),
    ];
    let mut modes = vec!["NO_AUTO_VALUE_ON_ZERO", "ALLOW_INVALID_DATES"];
    modes.extend(
        MODES
            .iter()
            .filter(|(bit, _)| bits & bit != 0)
            .map(|(_, name)| *name),
    );
    modes.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_that_do_something_else_when_they_run_again() {
        for sql in [
            "RENAME TABLE a TO tmp, b TO a, tmp TO b",
            "RENAME TABLE d.a TO d.x, d.b TO d.a, d.c TO d.b, d.x TO d.c",
            "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a",
            "ALTER TABLE t CHANGE a b INT, CHANGE b A INT",
            "ALTER TABLE t RENAME INDEX a TO b, RENAME INDEX b TO a",
            "ALTER TABLE t RENAME COLUMN a TO b, RENAME INDEX a TO b, RENAME INDEX b TO a",
            "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u",
            "ALTER TABLE t COALESCE PARTITION 1",
            "ALTER TABLE t ADD PARTITION PARTITIONS 2",
            "ALTER TABLE t ADD INDEX (a)",
            "ALTER TABLE t MODIFY a INT UNIQUE",
            "ALTER TABLE t CHANGE a a INT CHECK (a > 0)",
            "ALTER TABLE t ADD c INT, ADD UNIQUE (c)",
            "ALTER TABLE t ADD CHECK (a > 1)",
            "ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES u (a)",
        ] {
            assert!(!can_run_again(sql, 0), "{sql}");
        }
        for sql in [
            "RENAME TABLE a TO old, new TO a",
            "RENAME TABLE a TO b, b TO c",
            "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO c",
            "ALTER TABLE t MODIFY a BIGINT, CHANGE a a INT",
            "ALTER TABLE t RENAME INDEX a TO b, MODIFY a BIGINT",
            "ALTER TABLE t ADD PRIMARY KEY (a), ADD INDEX x (a), ADD CONSTRAINT y CHECK (a > 1)",
            "ALTER TABLE t ADD PARTITION (PARTITION p VALUES LESS THAN (7))",
            "CREATE TABLE t (a INT, INDEX (a))",
            "TRUNCATE TABLE t",
            "DROP TABLE IF EXISTS `t` /* generated by server */",
            "CREATE SOMETHING ELSE",
        ] {
            assert!(can_run_again(sql, 0), "{sql}");
        }
        let swap = "RENAME TABLE \"a\" TO tmp, \"b\" TO \"a\", tmp TO \"b\"";
        assert!(!can_run_again(swap, ANSI_QUOTES));
    }

    #[test]
    fn databases_of_definitions() {
        let found = |sql: &str| databases(sql, 0, "own").map(|names| names.join(" "));
        for (sql, expected) in [
            ("CREATE TABLE other.t (a INT)", "other"),
            ("CREATE TABLE t (a INT) /* shop.t */", "own"),
            ("CREATE TABLE `t` (\n  `a` int\n) START TRANSACTION", "own"),
            ("CREATE DATABASE other", "other"),
            (
                "DROP TABLE IF EXISTS `x`.`t`,`u` /* generated by server */",
                "x own",
            ),
            ("RENAME TABLE t TO other.t", "own other"),
            ("ALTER TABLE t ADD a INT, RENAME TO other.t", "own other"),
            (
                "ALTER TABLE other.p EXCHANGE PARTITION p0 WITH TABLE shop.t",
                "other shop",
            ),
            ("CREATE INDEX i ON other.t (a)", "other"),
            ("CREATE VIEW other.v AS SELECT 1", "other"),
            ("DROP VIEW v", "own"),
        ] {
            assert_eq!(found(sql).as_deref(), Some(expected), "{sql}");
        }
        assert_eq!(found("CREATE SOMETHING ELSE"), None);
        assert_eq!(found("INSERT INTO t VALUES (1)"), None);
    }

    #[test]
    fn kinds() {
        for (sql, expected) in [
            ("BEGIN", Kind::Begin),
            ("ROLLBACK", Kind::Rollback),
            ("ROLLBACK TO `x`", Kind::Savepoint),
            ("create table `trigger` (a int)", Kind::Definition),
            (
                "CREATE DEFINER=`root`@`%` TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET @a = 1",
                Kind::LeftOut,
            ),
            ("/* hello */ ALTER TABLE t ADD b INT", Kind::Definition),
            (
                "CREATE ALGORITHM=UNDEFINED DEFINER=`event`@`%` VIEW v AS SELECT 1",
                Kind::Definition,
            ),
            (
                "DROP TEMPORARY TABLE IF EXISTS `t` /* generated by server */",
                Kind::Ignored,
            ),
            ("DROP TABLE `t` /* generated by server */", Kind::Definition),
            ("INSERT INTO t VALUES (1)", Kind::Rows),
            ("CREATE USER 'a'@'%'", Kind::LeftOut),
            ("XA START 'x'", Kind::Xa),
            ("", Kind::Ignored),
        ] {
            assert_eq!(kind(sql), expected, "{sql}");
        }
        assert_eq!(
            begins_transaction("CREATE TABLE `t` (\n  `a` int\n) START TRANSACTION"),
            Some("CREATE TABLE `t` (\n  `a` int\n) ")
        );
    }
}
