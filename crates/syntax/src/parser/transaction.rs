//! Transaction control.

use types::{Error, Result};

use super::Parser;
use crate::ast::{Completion, TransactionStatement};
use crate::lexer::keywords::Keyword as Kw;

/// Recognises a text that is just BEGIN, COMMIT or ROLLBACK, as most clients send them, without the parser.
pub fn parse_transaction_word(text: &str) -> Option<TransactionStatement> {
    match text {
        _ if text.eq_ignore_ascii_case("begin") => Some(TransactionStatement::Begin {
            read_only: None,
            consistent_snapshot: false,
            optimistic: None,
        }),
        _ if text.eq_ignore_ascii_case("commit") => Some(TransactionStatement::Commit(Completion::default())),
        _ if text.eq_ignore_ascii_case("rollback") => {
            Some(TransactionStatement::Rollback(Completion::default()))
        }
        _ => None,
    }
}

/// `BEGIN [WORK]`, and TiDB's `BEGIN OPTIMISTIC` and `BEGIN PESSIMISTIC`.
pub fn begin(parser: &mut Parser<'_>) -> Result<TransactionStatement> {
    parser.advance();
    let optimistic = match parser.eat_any(&[Kw::WORK, Kw::OPTIMISTIC, Kw::PESSIMISTIC]) {
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
pub fn start_transaction(parser: &mut Parser<'_>) -> Result<TransactionStatement> {
    parser.advance();
    if parser.is_any(&[Kw::REPLICA, Kw::SLAVE, Kw::GROUP_REPLICATION]) {
        return Err(Error::not_supported(
            "replication",
            "a TiKV cluster has replicas; stemdb import --follow reads a binary log",
        ));
    }
    parser.expect(Kw::TRANSACTION)?;
    let mut read_only = None;
    let mut consistent_snapshot = false;
    if !parser.at_statement_end() {
        loop {
            if parser.eat(Kw::WITH) {
                parser.expect(Kw::CONSISTENT)?;
                parser.expect(Kw::SNAPSHOT)?;
                consistent_snapshot = true;
            } else {
                parser.expect(Kw::READ)?;
                let only = match parser.eat_any(&[Kw::ONLY, Kw::WRITE]) {
                    Some(word) => word == Kw::ONLY,
                    None => return parser.fail(),
                };
                if read_only.is_some_and(|before| before != only) {
                    return parser.fail();
                }
                read_only = Some(only);
            }
            if !parser.eat_kind(crate::lexer::token::Kind::Comma) {
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
pub fn end_transaction(parser: &mut Parser<'_>) -> Result<TransactionStatement> {
    let is_commit = parser.is(Kw::COMMIT);
    parser.advance();
    parser.eat(Kw::WORK);
    if !is_commit && parser.eat(Kw::TO) {
        parser.eat(Kw::SAVEPOINT);
        let name = parser.any_name()?;
        return Ok(TransactionStatement::RollbackTo(name));
    }
    let mut completion = Completion::default();
    if parser.eat(Kw::AND) {
        completion.chain = Some(!parser.eat(Kw::NO));
        parser.expect(Kw::CHAIN)?;
    }
    if parser.are(&[Kw::NO, Kw::RELEASE]) {
        parser.advance();
        parser.advance();
        completion.release = Some(false);
    } else if completion.chain != Some(true) && parser.eat(Kw::RELEASE) {
        completion.release = Some(true);
    }
    Ok(if is_commit {
        TransactionStatement::Commit(completion)
    } else {
        TransactionStatement::Rollback(completion)
    })
}

/// `SAVEPOINT name`, `RELEASE SAVEPOINT name`.
pub fn savepoint(parser: &mut Parser<'_>) -> Result<TransactionStatement> {
    let release = parser.is(Kw::RELEASE);
    parser.advance();
    if release {
        parser.expect(Kw::SAVEPOINT)?;
        let name = parser.any_name()?;
        return Ok(TransactionStatement::ReleaseSavepoint(name));
    }
    let name = parser.any_name()?;
    Ok(TransactionStatement::Savepoint(name))
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
