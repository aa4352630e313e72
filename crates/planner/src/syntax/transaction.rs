//! Transaction control.

use types::{Error, Result};

use super::parser::Parser;
use crate::command::Command;

/// What most transactions begin and end with, and nothing else in the text: told without the parser.
pub fn parse_transaction_word(text: &str) -> Option<Command> {
    let (chain, release) = (false, false);
    match text {
        _ if text.eq_ignore_ascii_case("begin") => Some(Command::Begin {
            read_only: None,
            consistent_snapshot: false,
            optimistic: None,
        }),
        _ if text.eq_ignore_ascii_case("commit") => Some(Command::Commit { chain, release }),
        _ if text.eq_ignore_ascii_case("rollback") => Some(Command::Rollback { chain, release }),
        _ => None,
    }
}

impl Parser<'_> {
    /// `BEGIN [WORK]`, and TiDB's `BEGIN OPTIMISTIC` and `BEGIN PESSIMISTIC`.
    pub fn begin(&mut self) -> Result<Command> {
        self.advance();
        let optimistic = match self.eat_any(&["WORK", "OPTIMISTIC", "PESSIMISTIC"]) {
            Some("OPTIMISTIC") => Some(true),
            Some("PESSIMISTIC") => Some(false),
            _ => None,
        };
        Ok(Command::Begin {
            read_only: None,
            consistent_snapshot: false,
            optimistic,
        })
    }

    /// `START TRANSACTION [characteristic, ...]`
    pub fn start_transaction(&mut self) -> Result<Command> {
        self.advance();
        if self.is_any(&["REPLICA", "SLAVE", "GROUP_REPLICATION"]) {
            return Err(Error::not_supported("replication", ""));
        }
        self.expect("TRANSACTION")?;
        let mut read_only = None;
        let mut consistent_snapshot = false;
        if !self.at_statement_end() {
            loop {
                if self.eat("WITH") {
                    self.expect("CONSISTENT")?;
                    self.expect("SNAPSHOT")?;
                    consistent_snapshot = true;
                } else {
                    self.expect("READ")?;
                    let only = match self.eat_any(&["ONLY", "WRITE"]) {
                        Some(word) => word == "ONLY",
                        None => return self.fail(),
                    };
                    if read_only.is_some_and(|before| before != only) {
                        return self.fail();
                    }
                    read_only = Some(only);
                }
                if !self.eat_kind(super::token::Kind::Comma) {
                    break;
                }
            }
        }
        Ok(Command::Begin {
            read_only,
            consistent_snapshot,
            optimistic: None,
        })
    }

    /// COMMIT and ROLLBACK [TO SAVEPOINT].
    pub fn end_transaction(&mut self) -> Result<Command> {
        let is_commit = self.is("COMMIT");
        self.advance();
        self.eat("WORK");
        if !is_commit && self.eat("TO") {
            self.eat("SAVEPOINT");
            let name = self.name()?;
            return Ok(Command::RollbackTo { name });
        }
        let mut chain = false;
        let mut release = false;
        if self.eat("AND") {
            chain = !self.eat("NO");
            self.expect("CHAIN")?;
        }
        if self.are(&["NO", "RELEASE"]) {
            self.advance();
            self.advance();
        } else if !chain && self.eat("RELEASE") {
            release = true;
        }
        Ok(if is_commit {
            Command::Commit { chain, release }
        } else {
            Command::Rollback { chain, release }
        })
    }

    /// `SAVEPOINT name`, `RELEASE SAVEPOINT name`.
    pub fn savepoint(&mut self) -> Result<Command> {
        let release = self.is("RELEASE");
        self.advance();
        if release {
            self.expect("SAVEPOINT")?;
            let name = self.name()?;
            return Ok(Command::ReleaseSavepoint { name });
        }
        let name = self.name()?;
        Ok(Command::Savepoint { name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::ast::Statement;
    use crate::syntax::parse_one;

    #[test]
    fn lone_words_are_what_the_parser_makes_of_them() {
        for word in ["BEGIN", "commit", "Rollback"] {
            let parsed = parse_one(word, crate::testing::sql_mode()).unwrap();
            let Statement::Command(command) = parsed.statement else {
                panic!("{word} is no command");
            };
            let told = parse_transaction_word(word).unwrap();
            assert_eq!(format!("{told:?}"), format!("{command:?}"));
        }
        for other in ["BEGIN WORK", "commit ", "", "ROLLBACK TO s"] {
            assert!(parse_transaction_word(other).is_none());
        }
    }
}
