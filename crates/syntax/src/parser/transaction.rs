//! Transaction control.

use types::{Error, Result};

use super::Parser;
use crate::ast::TransactionStatement;
use crate::lexer::keywords::Keyword as Kw;

/// A text that is one of BEGIN, COMMIT and ROLLBACK and nothing else, as most transactions send them. It
/// needs no parser.
pub fn parse_transaction_word(text: &str) -> Option<TransactionStatement> {
    let (chain, release) = (false, false);
    match text {
        _ if text.eq_ignore_ascii_case("begin") => Some(TransactionStatement::Begin {
            read_only: None,
            consistent_snapshot: false,
            optimistic: None,
        }),
        _ if text.eq_ignore_ascii_case("commit") => Some(TransactionStatement::Commit { chain, release }),
        _ if text.eq_ignore_ascii_case("rollback") => Some(TransactionStatement::Rollback { chain, release }),
        _ => None,
    }
}

impl Parser<'_> {
    /// `BEGIN [WORK]`, and TiDB's `BEGIN OPTIMISTIC` and `BEGIN PESSIMISTIC`.
    pub fn begin(&mut self) -> Result<TransactionStatement> {
        self.advance();
        let optimistic = match self.eat_any(&[Kw::WORK, Kw::OPTIMISTIC, Kw::PESSIMISTIC]) {
            Some(Kw::OPTIMISTIC) => Some(true),
            Some(Kw::PESSIMISTIC) => Some(false),
            _ => None,
        };
        Ok(TransactionStatement::Begin {
            read_only: None,
            consistent_snapshot: false,
            optimistic,
        })
    }

    /// `START TRANSACTION [characteristic, ...]`
    pub fn start_transaction(&mut self) -> Result<TransactionStatement> {
        self.advance();
        if self.is_any(&[Kw::REPLICA, Kw::SLAVE, Kw::GROUP_REPLICATION]) {
            return Err(Error::not_supported(
                "replication",
                "a TiKV cluster has replicas; stemdb import --follow reads a binary log",
            ));
        }
        self.expect(Kw::TRANSACTION)?;
        let mut read_only = None;
        let mut consistent_snapshot = false;
        if !self.at_statement_end() {
            loop {
                if self.eat(Kw::WITH) {
                    self.expect(Kw::CONSISTENT)?;
                    self.expect(Kw::SNAPSHOT)?;
                    consistent_snapshot = true;
                } else {
                    self.expect(Kw::READ)?;
                    let only = match self.eat_any(&[Kw::ONLY, Kw::WRITE]) {
                        Some(word) => word == Kw::ONLY,
                        None => return self.fail(),
                    };
                    if read_only.is_some_and(|before| before != only) {
                        return self.fail();
                    }
                    read_only = Some(only);
                }
                if !self.eat_kind(crate::lexer::token::Kind::Comma) {
                    break;
                }
            }
        }
        Ok(TransactionStatement::Begin {
            read_only,
            consistent_snapshot,
            optimistic: None,
        })
    }

    /// COMMIT and ROLLBACK [TO SAVEPOINT].
    pub fn end_transaction(&mut self) -> Result<TransactionStatement> {
        let is_commit = self.is(Kw::COMMIT);
        self.advance();
        self.eat(Kw::WORK);
        if !is_commit && self.eat(Kw::TO) {
            self.eat(Kw::SAVEPOINT);
            let name = self.name()?;
            return Ok(TransactionStatement::RollbackTo(name));
        }
        let mut chain = false;
        let mut release = false;
        if self.eat(Kw::AND) {
            chain = !self.eat(Kw::NO);
            self.expect(Kw::CHAIN)?;
        }
        if self.are(&[Kw::NO, Kw::RELEASE]) {
            self.advance();
            self.advance();
        } else if !chain && self.eat(Kw::RELEASE) {
            release = true;
        }
        Ok(if is_commit {
            TransactionStatement::Commit { chain, release }
        } else {
            TransactionStatement::Rollback { chain, release }
        })
    }

    /// `SAVEPOINT name`, `RELEASE SAVEPOINT name`.
    pub fn savepoint(&mut self) -> Result<TransactionStatement> {
        let release = self.is(Kw::RELEASE);
        self.advance();
        if release {
            self.expect(Kw::SAVEPOINT)?;
            let name = self.name()?;
            return Ok(TransactionStatement::ReleaseSavepoint(name));
        }
        let name = self.name()?;
        Ok(TransactionStatement::Savepoint(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Statement;
    use crate::parse_one;

    #[test]
    fn lone_words_are_what_the_parser_makes_of_them() {
        for word in ["BEGIN", "commit", "Rollback"] {
            let parsed = parse_one(word, crate::testing::sql_mode()).unwrap();
            let Statement::Transaction(parsed) = parsed.statement else {
                panic!("{word} controls no transaction");
            };
            assert_eq!(parse_transaction_word(word), Some(parsed));
        }
        for other in ["BEGIN WORK", "commit ", "", "ROLLBACK TO s"] {
            assert!(parse_transaction_word(other).is_none());
        }
    }
}
