//! The kinds of statements in a dump, as far as an import distinguishes them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// INSERT, REPLACE: any connection can run it, in any order.
    Rows,
    /// LOAD DATA, of a file in the dump's directory.
    File,
    /// SET, USE: what follows needs it, on every connection.
    Session,
    /// It makes sense only if one connection runs everything; this import has several connections, and its
    /// own transactions.
    Skipped,
    /// SET @@GLOBAL.GTID_PURGED: which transactions of the source are in the dump. It is about a binary log
    /// that the target may not have.
    Gtids,
    /// Anything else: it runs alone, after everything before it.
    Definition,
    /// It begins like no statement.
    NoStatement,
}

pub(super) fn kind(sql: &[u8]) -> Kind {
    let (first, second) = first_words(sql);
    match (first.as_str(), second.as_str()) {
        ("INSERT" | "REPLACE", _) => Kind::Rows,
        ("LOAD", "DATA") => Kind::File,
        ("SET", "@@GLOBAL") if is_gtid_purged(sql) => Kind::Gtids,
        ("SET", "@@GLOBAL") => Kind::Definition,
        ("SET" | "USE", _) => Kind::Session,
        ("LOCK", _) | ("UNLOCK", _) | ("BEGIN", _) | ("COMMIT", _) | ("START", "TRANSACTION") => {
            Kind::Skipped
        }
        ("", _) => Kind::NoStatement,
        _ => Kind::Definition,
    }
}

fn is_gtid_purged(sql: &[u8]) -> bool {
    let head: Vec<u8> = sql.iter().take(100).map(u8::to_ascii_uppercase).collect();
    head.windows(12).any(|word| word == b".GTID_PURGED")
}

/// The first words, in upper case, without the marks of conditional comments before them.
fn first_words(sql: &[u8]) -> (String, String) {
    let mut words = Vec::new();
    let mut rest = sql;
    while words.len() < 2 {
        rest = rest.trim_ascii_start();
        if let Some(comment) = rest.strip_prefix(b"/*!") {
            let version = comment.iter().take_while(|byte| byte.is_ascii_digit()).count();
            rest = comment.get(version..).unwrap_or_default();
            continue;
        }
        if let Some(behind) = rest.strip_prefix(b"(").or_else(|| rest.strip_prefix(b"*/")) {
            rest = behind;
            continue;
        }
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'@'))
            .count();
        let word = rest.get(..length).unwrap_or_default();
        words.push(String::from_utf8_lossy(word).to_ascii_uppercase());
        rest = rest.get(length..).unwrap_or_default();
    }
    let mut words = words.into_iter();
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        for (sql, expected) in [
            ("INSERT INTO t VALUES (1)", Kind::Rows),
            ("replace into t values (1)", Kind::Rows),
            ("/*!40101 SET NAMES utf8mb4 */", Kind::Session),
            ("USE `shop`", Kind::Session),
            ("/*!40000 ALTER TABLE `t` DISABLE KEYS */", Kind::Definition),
            ("LOCK TABLES `t` WRITE", Kind::Skipped),
            ("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ ''", Kind::Gtids),
            ("SET @@GLOBAL.max_connections = 5", Kind::Definition),
            ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", Kind::File),
            (
                "/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`b`*/ /*!50003 TRIGGER t */",
                Kind::Definition,
            ),
            ("\u{1}\u{2}", Kind::NoStatement),
        ] {
            assert_eq!(kind(sql.as_bytes()), expected, "{sql}");
        }
    }
}
