//! Optimizer hints. Source: manual 8.9.3 "Optimizer Hints".

use types::Result;

use super::Parser;
use crate::ast::{Expr, Hint, HintTable, Hints, IndexUse, JoinOrderKind, UnaryOp};
use crate::lexer::token::Kind;

/// Hints about indexes: the name, what it is about, and whether it forbids.
const INDEX_HINTS: &[(&str, IndexUse, bool)] = &[
    ("INDEX", IndexUse::All, false),
    ("NO_INDEX", IndexUse::All, true),
    ("JOIN_INDEX", IndexUse::Rows, false),
    ("NO_JOIN_INDEX", IndexUse::Rows, true),
    ("GROUP_INDEX", IndexUse::Group, false),
    ("NO_GROUP_INDEX", IndexUse::Group, true),
    ("ORDER_INDEX", IndexUse::Order, false),
    ("NO_ORDER_INDEX", IndexUse::Order, true),
    ("INDEX_MERGE", IndexUse::Way, false),
    ("NO_INDEX_MERGE", IndexUse::Way, true),
    ("MRR", IndexUse::Way, false),
    ("NO_MRR", IndexUse::Way, true),
    ("NO_ICP", IndexUse::Way, true),
    ("NO_RANGE_OPTIMIZATION", IndexUse::Way, true),
    ("SKIP_SCAN", IndexUse::Way, false),
    ("NO_SKIP_SCAN", IndexUse::Way, true),
];

/// Hints about ways to run a query.
const STRATEGIES: &[&str] = &[
    "BKA",
    "NO_BKA",
    "BNL",
    "NO_BNL",
    "HASH_JOIN",
    "NO_HASH_JOIN",
    "DERIVED_CONDITION_PUSHDOWN",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "MERGE",
    "NO_MERGE",
];

/// Hints about ways to run a subquery, and the ways that each may name.
const SUBQUERY_HINTS: &[(&str, &[&str])] = &[
    ("SEMIJOIN", SEMI_JOINS),
    ("NO_SEMIJOIN", SEMI_JOINS),
    ("SUBQUERY", &["INTOEXISTS", "MATERIALIZATION"]),
];
const SEMI_JOINS: &[&str] = &["DUPSWEEDOUT", "FIRSTMATCH", "LOOSESCAN", "MATERIALIZATION"];

impl Parser<'_> {
    /// The hints between the last token taken and the current one, if there is a comment of hints.
    pub fn hints(&mut self) -> Option<Box<Hints>> {
        let gap = self.source(self.previous_end(), self.start());
        let comment = gap.trim_start();
        if !comment.starts_with("/*+") {
            return None;
        }
        let start = self.previous_end() + (gap.len() - comment.len()) + "/*+".len();
        let mut inner = Parser::new(self.lexer.text(), start, self.mode);
        let mut hints = Hints::default();
        loop {
            let at = inner.start();
            match inner.hint() {
                Ok(hint) => hints.list.push(hint),
                Err(_) => {
                    let error = inner.error_at(inner.start()).message;
                    let near = error
                        .split_once("right syntax to use ")
                        .map_or("", |(_, near)| near);
                    // Of a comment without hints MySQL quotes the end alone.
                    let near =
                        match inner.start() == at && hints.list.is_empty() && inner.kind() == Kind::Star {
                            true => "near '*/' at line 1",
                            false => near,
                        };
                    hints.error = Some(format!("Optimizer hint syntax error {near}"));
                    break;
                }
            }
            inner.eat_kind(Kind::Comma);
            if inner.kind() == Kind::Star && inner.peek().kind == Kind::Slash {
                break;
            }
        }
        self.set_vars.append(&mut inner.set_vars);
        Some(Box::new(hints))
    }

    fn hint(&mut self) -> Result<Hint> {
        let name = self.word().to_ascii_uppercase();
        if !matches!(self.kind(), Kind::Word) || self.peek().kind != Kind::LeftParen {
            return self.fail();
        }
        if let Some((name, use_of, negated)) = INDEX_HINTS.iter().find(|(known, ..)| *known == name) {
            self.open_hint();
            let block = self.hint_block()?;
            let mut table = HintTable {
                name: self.hint_name()?,
                block: self.hint_block()?,
            };
            table.block = table.block.or(block);
            let mut indexes = Vec::new();
            if self.kind() != Kind::RightParen {
                indexes = self.comma_separated(Self::hint_name)?;
            }
            self.expect_kind(Kind::RightParen)?;
            return Ok(Hint::Index {
                name,
                use_of: *use_of,
                negated: *negated,
                table,
                indexes,
            });
        }
        if let Some(name) = STRATEGIES.iter().find(|known| **known == name) {
            self.open_hint();
            let block = self.hint_block()?;
            let tables = self.hint_tables()?;
            return Ok(Hint::Strategy { name, block, tables });
        }
        if let Some((name, ways)) = SUBQUERY_HINTS.iter().find(|(known, _)| *known == name) {
            return self.subquery_hint(name, ways);
        }
        let kind = match name.as_str() {
            "MAX_EXECUTION_TIME" => {
                self.open_hint();
                let limit = self.unsigned()?;
                self.expect_kind(Kind::RightParen)?;
                return Ok(Hint::MaxExecutionTime(limit));
            }
            "SET_VAR" => return self.set_var(),
            "QB_NAME" | "RESOURCE_GROUP" => {
                self.open_hint();
                let block = self.hint_name()?;
                self.expect_kind(Kind::RightParen)?;
                return Ok(match name.as_str() {
                    "QB_NAME" => Hint::QueryBlockName(block),
                    _ => Hint::ResourceGroup(block),
                });
            }
            "JOIN_FIXED_ORDER" => {
                self.open_hint();
                let block = self.hint_block()?;
                self.expect_kind(Kind::RightParen)?;
                return Ok(Hint::JoinFixedOrder { block });
            }
            "JOIN_ORDER" => JoinOrderKind::Order,
            "JOIN_PREFIX" => JoinOrderKind::Prefix,
            "JOIN_SUFFIX" => JoinOrderKind::Suffix,
            _ => return self.fail(),
        };
        self.open_hint();
        let block = self.hint_block()?;
        let tables = self.hint_tables()?;
        Ok(Hint::JoinOrder { kind, block, tables })
    }

    fn subquery_hint(&mut self, name: &'static str, ways: &[&'static str]) -> Result<Hint> {
        self.open_hint();
        let block = self.hint_block()?;
        let way = |parser: &mut Self| {
            let found = ways.iter().find(|way| way.eq_ignore_ascii_case(parser.word()));
            match found {
                Some(way) => {
                    parser.advance();
                    Ok(*way)
                }
                None => parser.fail(),
            }
        };
        let strategies = match name {
            "SUBQUERY" => vec![way(self)?],
            _ if self.kind() == Kind::RightParen => Vec::new(),
            _ => self.comma_separated(way)?,
        };
        self.expect_kind(Kind::RightParen)?;
        Ok(Hint::Subquery {
            name,
            block,
            strategies,
        })
    }

    /// Takes the name and its parenthesis.
    fn open_hint(&mut self) {
        self.advance();
        self.advance();
    }

    /// `@block`, where it is there.
    fn hint_block(&mut self) -> Result<Option<String>> {
        match self.eat_kind(Kind::At) {
            true => self.hint_name().map(Some),
            false => Ok(None),
        }
    }

    /// A name, reserved or not.
    fn hint_name(&mut self) -> Result<String> {
        match self.kind() {
            Kind::Word => {
                let name = self.word().to_owned();
                self.advance();
                Ok(name)
            }
            _ => self.name(),
        }
    }

    /// Tables between commas and the closing parenthesis.
    fn hint_tables(&mut self) -> Result<Vec<HintTable>> {
        let mut tables = Vec::new();
        if self.kind() != Kind::RightParen {
            tables = self.comma_separated(|parser| {
                Ok(HintTable {
                    name: parser.hint_name()?,
                    block: parser.hint_block()?,
                })
            })?;
        }
        self.expect_kind(Kind::RightParen)?;
        Ok(tables)
    }

    /// `SET_VAR(name = value)`
    fn set_var(&mut self) -> Result<Hint> {
        self.open_hint();
        let name = self.hint_name()?.to_ascii_lowercase();
        self.expect_kind(Kind::Equal)?;
        let is_negative = self.eat_kind(Kind::Minus);
        let value = match self.kind() {
            // As MySQL's grammar has it.
            Kind::Text if self.word().len() == 2 => return self.fail(),
            Kind::Integer | Kind::Decimal | Kind::Float | Kind::Text => self.primary()?,
            _ => Expr::Text(self.hint_name()?),
        };
        self.expect_kind(Kind::RightParen)?;
        let value = match is_negative {
            true => Expr::Unary {
                op: UnaryOp::Minus,
                operand: Box::new(value),
            },
            false => value,
        };
        self.set_vars.push((name, value));
        Ok(Hint::SetVar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{QueryBody, Statement};
    use crate::parse_one;
    use crate::testing::sql_mode;

    fn hints(text: &str) -> Hints {
        let parsed = parse_one(&format!("select {text} 1"), sql_mode()).unwrap();
        let Statement::Query(query) = parsed.statement else {
            panic!("{text}")
        };
        let QueryBody::Select(select) = query.body else {
            panic!("{text}")
        };
        select.hints.map_or_else(Hints::default, |hints| *hints)
    }

    #[test]
    fn hints_are_read_from_their_comment_alone() {
        assert_eq!(hints("/* BKA(t) */"), Hints::default());
        assert_eq!(
            hints(" /*+ MAX_EXECUTION_TIME(1000) */ ").list,
            [Hint::MaxExecutionTime(1000)]
        );
        assert_eq!(hints("/*+ NO_ICP(t) max_execution_time ( 5 )*/").list.len(), 2);
        let Hint::Index { table, indexes, .. } = &hints("/*+ INDEX(@`a b` t i, PRIMARY) */").list[0] else {
            panic!()
        };
        assert_eq!((table.name.as_str(), table.block.as_deref()), ("t", Some("a b")));
        assert_eq!(indexes, &["i", "PRIMARY"]);
    }

    #[test]
    fn what_is_no_hint_ends_the_list() {
        let read = hints("/*+ BKA(t) NO_SUCH_HINT() MERGE(d) */");
        assert_eq!(read.list.len(), 1);
        assert_eq!(
            read.error.as_deref(),
            Some("Optimizer hint syntax error near 'NO_SUCH_HINT() MERGE(d) */ 1' at line 1")
        );
        assert_eq!(
            hints("/*+ */").error.as_deref(),
            Some("Optimizer hint syntax error near '*/' at line 1")
        );
        assert_eq!(
            hints("/*+ MAX_EXECUTION_TIME(x) */").error.as_deref(),
            Some("Optimizer hint syntax error near 'x) */ 1' at line 1")
        );
    }
}
