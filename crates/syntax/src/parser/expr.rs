//! Expressions, with MySQL's precedences.
//!
//! From the loosest: `OR ||`, `XOR`, `AND &&`, `NOT`, `IS TRUE`, comparisons and `IS NULL` (one level, from
//! the left), then `BETWEEN IN LIKE REGEXP` (which do not chain), `|`, `&`, `<< >>`, `+ -`, `* / DIV % MOD`,
//! `^`, and what [`super::primary`] reads. Source: the manual's 12.4.1 "Operator Precedence", and which of
//! these MySQL lets stand beside each other.

use types::Result;

use super::Parser;
use crate::ast::{BinaryOp, Expr, Quantifier, QueryBody, TruthTest, UnaryOp};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// Level of `||` under PIPES_AS_CONCAT, above every arithmetic operator.
const CONCAT_LEVEL: u8 = 7;

impl Parser<'_> {
    /// A whole expression.
    pub fn expression(&mut self) -> Result<Expr> {
        if self.operand.is_some() {
            return self.nested(Self::or_chain);
        }
        match self.lone_literal()? {
            Some(literal) => Ok(literal),
            None => self.nested(Self::or_chain),
        }
    }

    fn or_chain(&mut self) -> Result<Expr> {
        let first = self.apart(Self::xor_chain)?;
        if !self.at_or() {
            return Ok(first);
        }
        let mut list = vec![first];
        while self.at_or() {
            self.advance();
            list.push(self.apart(Self::xor_chain)?);
        }
        self.grow()?;
        Ok(Expr::Or(list))
    }

    fn at_or(&self) -> bool {
        (self.kind() == Kind::PipePipe && !self.mode.pipes_as_concat) || self.is(Kw::OR)
    }

    fn xor_chain(&mut self) -> Result<Expr> {
        let mut left = self.and_chain()?;
        while self.eat(Kw::XOR) {
            let right = self.apart(Self::and_chain)?;
            left = self.binary(BinaryOp::Xor, left, right)?;
        }
        Ok(left)
    }

    fn and_chain(&mut self) -> Result<Expr> {
        let first = self.apart(Self::negation)?;
        if !self.at_and() {
            return Ok(first);
        }
        let mut list = vec![first];
        while self.at_and() {
            self.advance();
            list.push(self.apart(Self::negation)?);
        }
        self.grow()?;
        Ok(Expr::And(list))
    }

    fn at_and(&self) -> bool {
        self.kind() == Kind::AndAnd || self.is(Kw::AND)
    }

    fn negation(&mut self) -> Result<Expr> {
        if !self.mode.high_not_precedence && self.is(Kw::NOT) && self.operand.is_none() {
            self.advance();
            let operand = self.nested(Self::negation)?;
            return self.unary(UnaryOp::Not, operand);
        }
        let operand = self.comparison()?;
        if !self.is(Kw::IS) {
            return Ok(operand);
        }
        // IS NULL has been taken by the comparison.
        self.advance();
        let negated = self.eat(Kw::NOT);
        let test = match self.eat_any(&[Kw::TRUE, Kw::FALSE, Kw::UNKNOWN]) {
            Some(Kw::TRUE) => TruthTest::True,
            Some(Kw::FALSE) => TruthTest::False,
            Some(_) => TruthTest::Unknown,
            None => return self.fail(),
        };
        self.is_test(operand, test, negated)
    }

    fn is_test(&mut self, operand: Expr, test: TruthTest, negated: bool) -> Result<Expr> {
        self.grow()?;
        Ok(Expr::Is {
            operand: Box::new(operand),
            test,
            negated,
        })
    }

    fn comparison(&mut self) -> Result<Expr> {
        let mut left = self.predicate()?;
        loop {
            if self.are(&[Kw::IS, Kw::NULL]) || self.are(&[Kw::IS, Kw::NOT, Kw::NULL]) {
                self.advance();
                let negated = self.eat(Kw::NOT);
                self.advance();
                left = self.is_test(left, TruthTest::Null, negated)?;
                continue;
            }
            let op = match self.kind() {
                Kind::Equal => BinaryOp::Equal,
                Kind::NullSafeEqual => BinaryOp::NullSafeEqual,
                Kind::NotEqual => BinaryOp::NotEqual,
                Kind::Less => BinaryOp::Less,
                Kind::LessOrEqual => BinaryOp::LessOrEqual,
                Kind::Greater => BinaryOp::Greater,
                Kind::GreaterOrEqual => BinaryOp::GreaterOrEqual,
                _ => return Ok(left),
            };
            self.advance();
            if self.is_any(&[Kw::ALL, Kw::ANY, Kw::SOME]) && self.peek().kind == Kind::LeftParen {
                if op == BinaryOp::NullSafeEqual {
                    return self.fail();
                }
                left = self.quantified(op, left)?;
                continue;
            }
            let right = self.apart(Self::predicate)?;
            left = self.binary(op, left, right)?;
        }
    }

    /// `x > ALL (SELECT ...)`, the cursor after the operator.
    fn quantified(&mut self, op: BinaryOp, operand: Expr) -> Result<Expr> {
        let quantifier = match self.eat(Kw::ALL) {
            true => Quantifier::All,
            false => {
                self.advance();
                Quantifier::Any
            }
        };
        let query = self.query_in_parentheses()?;
        self.grow()?;
        Ok(Expr::Quantified {
            op,
            operand: Box::new(operand),
            quantifier,
            query,
        })
    }

    fn predicate(&mut self) -> Result<Expr> {
        let operand = self.arithmetic(0)?;
        if self.are(&[Kw::MEMBER, Kw::OF]) || (self.is(Kw::MEMBER) && self.peek().kind == Kind::LeftParen) {
            return self.member_of(operand);
        }
        if self.are(&[Kw::SOUNDS, Kw::LIKE]) {
            self.advance();
            self.advance();
            let right = self.apart(|parser| parser.arithmetic(0))?;
            self.grow()?;
            let soundex = |arg| Expr::Function {
                name: "soundex".into(),
                args: vec![arg],
            };
            return self.binary(BinaryOp::Equal, soundex(operand), soundex(right));
        }
        let negated =
            self.is(Kw::NOT) && self.peek_is_any(&[Kw::IN, Kw::BETWEEN, Kw::LIKE, Kw::REGEXP, Kw::RLIKE]);
        if negated {
            self.advance();
        }
        if self.eat(Kw::IN) {
            return self.in_list(operand, negated);
        }
        if self.eat(Kw::BETWEEN) {
            return self.between(operand, negated);
        }
        if self.eat(Kw::LIKE) {
            return self.like(operand, negated);
        }
        if self.eat_any(&[Kw::REGEXP, Kw::RLIKE]).is_some() {
            let pattern = self.arithmetic(0)?;
            self.grow()?;
            return Ok(Expr::Regexp {
                operand: Box::new(operand),
                pattern: Box::new(pattern),
                negated,
            });
        }
        Ok(operand)
    }

    /// `value MEMBER [OF] (document)`
    fn member_of(&mut self, operand: Expr) -> Result<Expr> {
        self.advance();
        self.eat(Kw::OF);
        self.expect_kind(Kind::LeftParen)?;
        let document = self.arithmetic(0)?;
        self.expect_kind(Kind::RightParen)?;
        self.grow()?;
        Ok(Expr::Function {
            name: "member of".into(),
            args: vec![operand, document],
        })
    }

    fn in_list(&mut self, operand: Expr, negated: bool) -> Result<Expr> {
        self.expect_kind(Kind::LeftParen)?;
        if self.at_query() {
            let query = Box::new(self.nested(Self::query)?);
            self.expect_kind(Kind::RightParen)?;
            self.grow()?;
            return Ok(Expr::InSubquery {
                operand: Box::new(operand),
                query,
                negated,
            });
        }
        let mut list = self.comma_separated(Self::expression)?;
        // `IN ((SELECT 1) UNION (SELECT 2))`
        if self.is_any(&[Kw::UNION, Kw::EXCEPT, Kw::INTERSECT])
            && let [Expr::Subquery(_)] = list.as_slice()
            && let Some(Expr::Subquery(query)) = list.pop()
        {
            let query = Box::new(self.query_behind(QueryBody::Nested(query))?);
            self.expect_kind(Kind::RightParen)?;
            self.grow()?;
            return Ok(Expr::InSubquery {
                operand: Box::new(operand),
                query,
                negated,
            });
        }
        self.expect_kind(Kind::RightParen)?;
        self.grow()?;
        // `IN ((SELECT 1))`: parentheses around a query change nothing.
        if let [Expr::Subquery(_)] = list.as_slice()
            && let Some(Expr::Subquery(query)) = list.pop()
        {
            return Ok(Expr::InSubquery {
                operand: Box::new(operand),
                query,
                negated,
            });
        }
        Ok(Expr::In {
            operand: Box::new(operand),
            list,
            negated,
        })
    }

    fn between(&mut self, operand: Expr, negated: bool) -> Result<Expr> {
        let low = self.arithmetic(0)?;
        self.expect(Kw::AND)?;
        let high = self.nested(Self::predicate)?;
        self.grow()?;
        Ok(Expr::Between {
            operand: Box::new(operand),
            low: Box::new(low),
            high: Box::new(high),
            negated,
        })
    }

    fn like(&mut self, operand: Expr, negated: bool) -> Result<Expr> {
        let pattern = self.arithmetic(CONCAT_LEVEL - 1)?;
        let escape = if self.eat(Kw::ESCAPE) {
            Some(Box::new(self.arithmetic(CONCAT_LEVEL - 1)?))
        } else {
            None
        };
        self.grow()?;
        Ok(Expr::Like {
            operand: Box::new(operand),
            pattern: Box::new(pattern),
            escape,
            negated,
        })
    }

    /// Operators above `level`, by precedence climbing.
    pub fn arithmetic(&mut self, level: u8) -> Result<Expr> {
        let mut left = self.simple()?;
        while let Some((op, op_level)) = self.arithmetic_operator() {
            if op_level <= level {
                break;
            }
            self.advance();
            if matches!(op, Some(BinaryOp::Plus | BinaryOp::Minus)) && self.at_interval() {
                left = self.date_plus_interval(op == Some(BinaryOp::Minus), left)?;
                continue;
            }
            let right = self.apart(|parser| parser.arithmetic(op_level))?;
            left = match op {
                Some(op) => self.binary(op, left, right)?,
                None => {
                    self.grow()?;
                    Expr::Function {
                        name: "concat".into(),
                        args: vec![left, right],
                    }
                }
            };
        }
        Ok(left)
    }

    /// The operator at the cursor and its level; `None` as operator is `||` that concatenates.
    fn arithmetic_operator(&self) -> Option<(Option<BinaryOp>, u8)> {
        let (op, level) = match self.kind() {
            Kind::Pipe => (BinaryOp::BitOr, 1),
            Kind::Ampersand => (BinaryOp::BitAnd, 2),
            Kind::ShiftLeft => (BinaryOp::ShiftLeft, 3),
            Kind::ShiftRight => (BinaryOp::ShiftRight, 3),
            Kind::Plus => (BinaryOp::Plus, 4),
            Kind::Minus => (BinaryOp::Minus, 4),
            Kind::Star => (BinaryOp::Multiply, 5),
            Kind::Slash => (BinaryOp::Divide, 5),
            Kind::Percent => (BinaryOp::Modulo, 5),
            Kind::Word if self.is(Kw::DIV) => (BinaryOp::IntegerDivide, 5),
            Kind::Word if self.is(Kw::MOD) => (BinaryOp::Modulo, 5),
            Kind::Caret => (BinaryOp::BitXor, 6),
            Kind::PipePipe if self.mode.pipes_as_concat => return Some((None, CONCAT_LEVEL)),
            _ => return None,
        };
        Some((Some(op), level))
    }

    /// `date + INTERVAL 1 DAY`, the cursor at INTERVAL.
    fn date_plus_interval(&mut self, subtract: bool, date: Expr) -> Result<Expr> {
        let (amount, unit) = self.interval()?;
        self.grow()?;
        Ok(Expr::Function {
            name: if subtract { "date_sub" } else { "date_add" }.into(),
            args: vec![date, amount, unit],
        })
    }

    pub fn binary(&mut self, op: BinaryOp, left: Expr, right: Expr) -> Result<Expr> {
        self.grow()?;
        Ok(Expr::Binary {
            op,
            left: Box::new(left),
            right: Box::new(right),
        })
    }

    pub fn unary(&mut self, op: UnaryOp, operand: Expr) -> Result<Expr> {
        self.grow()?;
        Ok(Expr::Unary {
            op,
            operand: Box::new(operand),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::parse_expression;
    use crate::testing::{sql_mode, sql_of};

    /// The expression with all its parentheses.
    fn shape(text: &str) -> String {
        match parse_expression(text, sql_mode()) {
            Ok(expr) => sql_of(&expr),
            Err(e) => format!("{} {}", e.code, e.message),
        }
    }

    #[test]
    fn precedence_is_mysqls() {
        for (text, expected) in [
            ("a or b xor c and d", "(a or (b xor (c and d)))"),
            ("a || b && c", "(a or (b and c))"),
            ("not a = b and c", "((not (a = b)) and c)"),
            ("a = b like c", "(a = (b like c))"),
            ("a = b = c", "((a = b) = c)"),
            ("a is null = b", "((a is null) = b)"),
            ("a = b is null", "((a = b) is null)"),
            ("a = b is true", "((a = b) is true)"),
            ("1 ^ 2 & 3 | 4", "(((1 ^ 2) & 3) | 4)"),
            ("-a ^ b * c", "(((-a) ^ b) * c)"),
            ("a - b - c + d", "(((a - b) - c) + d)"),
            ("a << 1 + 2", "(a << (1 + 2))"),
            ("a div b mod c", "((a div b) % c)"),
            ("!a = b", "((not a) = b)"),
            ("- a collate utf8mb4_bin", "(-(a collate utf8mb4_bin))"),
            ("a between 1 and 2 and b", "((a between 1 and 2) and b)"),
            (
                "a not between 1 and 2 or not b in (1, 2)",
                "((a not between 1 and 2) or (not (b in (1, 2))))",
            ),
            ("a + interval 1 day * 2", "(date_add(a, 1, 'day') * 2)"),
            ("interval 1 day + a", "date_add(a, 1, 'day')"),
            ("interval(1, 2)", "interval(1, 2)"),
            ("a - interval(1, 2) * b", "(a - (interval(1, 2) * b))"),
            ("interval(1, 2) is true", "(interval(1, 2) is true)"),
            ("a + interval (1) day", "date_add(a, 1, 'day')"),
            ("a like 'x' escape '!' and b", "((a like 'x' escape '!') and b)"),
            ("binary a = b", "((binary a) = b)"),
            ("(1, 2) = (a, b)", "(row(1, 2) = row(a, b))"),
            ("((a) + b) * ((c))", "((a + b) * c)"),
            ("(((a) not in (1)) - b)", "((a not in (1)) - b)"),
            ("(((a), 1)) = ((b, (1)))", "(row(a, 1) = row(b, 1))"),
            (
                "((-(a)) - b) collate utf8mb4_bin",
                "(((-a) - b) collate utf8mb4_bin)",
            ),
        ] {
            assert_eq!(shape(text), expected, "{text}");
        }
    }

    #[test]
    fn what_mysql_does_not_read() {
        for text in [
            "a is true = b",
            "a like b like c",
            "a = not b",
            "a :: int",
            "[1]",
            "a := 1",
            "",
            "1 +",
            "(1",
            "f(,)",
            "a is distinct from b",
        ] {
            assert!(shape(text).starts_with("1064 "), "{text}: {}", shape(text));
        }
    }

    #[test]
    fn modes_change_operators() {
        let mut mode = sql_mode();
        mode.pipes_as_concat = true;
        mode.high_not_precedence = true;
        let shape = |text| sql_of(&parse_expression(text, mode).unwrap());
        assert_eq!(shape("a || b ^ c"), "(concat(a, b) ^ c)");
        assert_eq!(shape("a like b || c"), "(a like concat(b, c))");
        assert_eq!(shape("not a = b"), "((not a) = b)");
    }

    #[test]
    fn nesting_is_bounded_and_chains_are_not() {
        let many = |piece: &str, count: usize| piece.repeat(count);
        for text in [
            format!("{}1{}", many("(", 100_000), many(")", 100_000)),
            many("- ", 1 << 19),
            format!("{}1", many("not ", 100_000)),
            format!("{}1", many("! ", 100_000)),
            format!("{}1", many("binary ", 100_000)),
            format!("{}1", many("a between 1 and ", 100_000)),
            many("f(", 100_000),
            many("case when ", 100_000),
            format!("1{}", many("+1", 100_000)),
            format!("1{}", many(" = 1", 100_000)),
            format!("1{}", many(" xor 1", 100_000)),
            format!("a{}", many(" collate utf8mb4_bin", 100_000)),
            format!("a{}", many(" is null", 100_000)),
            format!("{}select 1{}", many("(", 30_000), many(") limit 1", 30_000)),
            format!(
                "{}select 1{}",
                many("(", 30_000),
                many(") union select 1", 30_000)
            ),
            format!(
                "1 in {}select 1{}",
                many("(", 30_000),
                many(") order by 1", 30_000)
            ),
        ] {
            assert!(
                shape(&text).starts_with("1064 Expressions are nested"),
                "{}",
                &text[..60]
            );
        }
        for text in [
            format!("a = 0{}", many(" and a = 1", 10_000)),
            format!("a = 0{}", many(" or a = 1", 10_000)),
            format!("a in (0{})", many(", 1", 10_000)),
            format!("{}1{}", many("(", 30_000), many(")", 30_000)),
            format!("{}1{}", many("(", 200), many("+1)", 200)),
            format!("{}select 1{}", many("(", 30_000), many(")", 30_000)),
            format!("1{}", many("+1", 200)),
            format!("1{}", many("+a*b", 200)),
        ] {
            assert!(parse_expression(&text, sql_mode()).is_ok(), "{}", &text[..40]);
        }
    }
}
