//! Expressions, with MySQL's precedences.
//!
//! From the loosest: `OR ||`, `XOR`, `AND &&`, `NOT`, `IS TRUE`, comparisons and `IS NULL` (one level,
//! left-associative), then `BETWEEN IN LIKE REGEXP` (not associative), `|`, `&`, `<< >>`, `+ -`, `* / DIV %
//! MOD`, `^`, and the operands of [`super::primary`]. Source: the manual's 12.4.1 "Operator Precedence", and
//! tests of which combinations MySQL accepts.

use types::Result;

use super::{Parser, clauses, deprecated, interval, primary};
use crate::ast::{BinaryOp, Expr, Quantifier, QueryBody, TruthTest, UnaryOp};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// The level of `||` under PIPES_AS_CONCAT. It binds tighter than every arithmetic operator.
const CONCAT_LEVEL: u8 = 7;

/// A whole expression.
pub fn expression(parser: &mut Parser<'_>) -> Result<Expr> {
    if parser.operand.is_some() {
        return parser.nested(or_chain);
    }
    match primary::lone_literal(parser)? {
        Some(literal) => Ok(literal),
        None => parser.nested(or_chain),
    }
}

fn or_chain(parser: &mut Parser<'_>) -> Result<Expr> {
    let first = parser.apart(xor_chain)?;
    if !at_or(parser) {
        return Ok(first);
    }
    let mut list = operands(parser, first, or_list)?;
    while at_or(parser) {
        if parser.kind() == Kind::PipePipe {
            deprecated::replaced(parser, "|| as a synonym for OR", "OR");
        }
        parser.advance();
        parser.apart(|parser| {
            let next = xor_chain(parser)?;
            list.extend(operands(parser, next, or_list)?);
            Ok(())
        })?;
    }
    Ok(Expr::Or(list))
}

/// One operand of AND or OR, or those of the same operator in parentheses: `(a OR b) OR c` is one list, as in MySQL,
/// so that the chains of object-relational mappers do not become tall trees.
fn operands(
    parser: &mut Parser<'_>,
    operand: Expr,
    same: fn(Expr) -> Result<Vec<Expr>, Expr>,
) -> Result<Vec<Expr>> {
    match same(operand) {
        Ok(list) => Ok(list),
        Err(other) => {
            parser.grow()?;
            Ok(vec![other])
        }
    }
}

fn or_list(expr: Expr) -> Result<Vec<Expr>, Expr> {
    match expr {
        Expr::Or(list) => Ok(list),
        other => Err(other),
    }
}

fn and_list(expr: Expr) -> Result<Vec<Expr>, Expr> {
    match expr {
        Expr::And(list) => Ok(list),
        other => Err(other),
    }
}

fn at_or(parser: &Parser<'_>) -> bool {
    (parser.kind() == Kind::PipePipe && !parser.mode.pipes_as_concat) || parser.is(Kw::OR)
}

fn xor_chain(parser: &mut Parser<'_>) -> Result<Expr> {
    let mut left = and_chain(parser)?;
    while parser.eat(Kw::XOR) {
        let right = parser.apart(and_chain)?;
        left = parser.binary(BinaryOp::Xor, left, right)?;
    }
    Ok(left)
}

fn and_chain(parser: &mut Parser<'_>) -> Result<Expr> {
    let first = parser.apart(negation)?;
    if !at_and(parser) {
        return Ok(first);
    }
    let mut list = operands(parser, first, and_list)?;
    while at_and(parser) {
        if parser.kind() == Kind::AndAnd {
            deprecated::replaced(parser, "&&", "AND");
        }
        parser.advance();
        parser.apart(|parser| {
            let next = negation(parser)?;
            list.extend(operands(parser, next, and_list)?);
            Ok(())
        })?;
    }
    Ok(Expr::And(list))
}

fn at_and(parser: &Parser<'_>) -> bool {
    parser.kind() == Kind::AndAnd || parser.is(Kw::AND)
}

fn negation(parser: &mut Parser<'_>) -> Result<Expr> {
    if !parser.mode.high_not_precedence && parser.is(Kw::NOT) && parser.operand.is_none() {
        parser.advance();
        let operand = parser.nested(negation)?;
        return parser.unary(UnaryOp::Not, operand);
    }
    let operand = comparison(parser)?;
    if !parser.is(Kw::IS) {
        return Ok(operand);
    }
    // The comparison has taken IS NULL.
    parser.advance();
    let negated = parser.eat(Kw::NOT);
    let test = match parser.eat_any(&[Kw::TRUE, Kw::FALSE, Kw::UNKNOWN]) {
        Some(Kw::TRUE) => TruthTest::True,
        Some(Kw::FALSE) => TruthTest::False,
        Some(_) => TruthTest::Unknown,
        None => return parser.fail(),
    };
    is_test(parser, operand, test, negated)
}

fn is_test(parser: &mut Parser<'_>, operand: Expr, test: TruthTest, negated: bool) -> Result<Expr> {
    parser.grow()?;
    Ok(Expr::Is {
        operand: Box::new(operand),
        test,
        negated,
    })
}

fn comparison(parser: &mut Parser<'_>) -> Result<Expr> {
    let mut left = predicate(parser)?;
    loop {
        if parser.are(&[Kw::IS, Kw::NULL]) || parser.are(&[Kw::IS, Kw::NOT, Kw::NULL]) {
            parser.advance();
            let negated = parser.eat(Kw::NOT);
            parser.advance();
            left = is_test(parser, left, TruthTest::Null, negated)?;
            continue;
        }
        let op = match parser.kind() {
            Kind::Equal => BinaryOp::Equal,
            Kind::NullSafeEqual => BinaryOp::NullSafeEqual,
            Kind::NotEqual => BinaryOp::NotEqual,
            Kind::Less => BinaryOp::Less,
            Kind::LessOrEqual => BinaryOp::LessOrEqual,
            Kind::Greater => BinaryOp::Greater,
            Kind::GreaterOrEqual => BinaryOp::GreaterOrEqual,
            _ => return Ok(left),
        };
        parser.advance();
        if parser.is_any(&[Kw::ALL, Kw::ANY, Kw::SOME]) && parser.peek().kind == Kind::LeftParen {
            if op == BinaryOp::NullSafeEqual {
                return parser.fail();
            }
            left = quantified(parser, op, left)?;
            continue;
        }
        let right = parser.apart(predicate)?;
        left = parser.binary(op, left, right)?;
    }
}

/// The rest of `x > ALL (SELECT ...)`, after the operator.
fn quantified(parser: &mut Parser<'_>, op: BinaryOp, operand: Expr) -> Result<Expr> {
    let quantifier = match parser.eat(Kw::ALL) {
        true => Quantifier::All,
        false => {
            parser.advance();
            Quantifier::Any
        }
    };
    let query = parser.query_in_parentheses()?;
    parser.grow()?;
    Ok(Expr::Quantified {
        op,
        operand: Box::new(operand),
        quantifier,
        query,
    })
}

fn predicate(parser: &mut Parser<'_>) -> Result<Expr> {
    let operand = parser.arithmetic(0)?;
    if parser.are(&[Kw::MEMBER, Kw::OF]) || (parser.is(Kw::MEMBER) && parser.peek().kind == Kind::LeftParen) {
        return member_of(parser, operand);
    }
    if parser.are(&[Kw::SOUNDS, Kw::LIKE]) {
        parser.advance();
        parser.advance();
        let right = parser.apart(|parser| parser.arithmetic(0))?;
        parser.grow()?;
        let soundex = |arg| Expr::Function {
            name: "soundex".into(),
            args: vec![arg],
        };
        return parser.binary(BinaryOp::Equal, soundex(operand), soundex(right));
    }
    let negated =
        parser.is(Kw::NOT) && parser.peek_is_any(&[Kw::IN, Kw::BETWEEN, Kw::LIKE, Kw::REGEXP, Kw::RLIKE]);
    if negated {
        parser.advance();
    }
    if parser.eat(Kw::IN) {
        return in_list(parser, operand, negated);
    }
    if parser.eat(Kw::BETWEEN) {
        return between(parser, operand, negated);
    }
    if parser.eat(Kw::LIKE) {
        return like(parser, operand, negated);
    }
    if parser.eat_any(&[Kw::REGEXP, Kw::RLIKE]).is_some() {
        let pattern = parser.arithmetic(0)?;
        parser.grow()?;
        return Ok(Expr::Regexp {
            operand: Box::new(operand),
            pattern: Box::new(pattern),
            negated,
        });
    }
    Ok(operand)
}

/// `value MEMBER [OF] (document)`
fn member_of(parser: &mut Parser<'_>, operand: Expr) -> Result<Expr> {
    parser.advance();
    parser.eat(Kw::OF);
    parser.expect_kind(Kind::LeftParen)?;
    let document = parser.arithmetic(0)?;
    parser.expect_kind(Kind::RightParen)?;
    parser.grow()?;
    Ok(Expr::Function {
        name: "member of".into(),
        args: vec![operand, document],
    })
}

fn in_list(parser: &mut Parser<'_>, operand: Expr, negated: bool) -> Result<Expr> {
    parser.expect_kind(Kind::LeftParen)?;
    if clauses::at_query(parser) {
        let query = Box::new(parser.nested(Parser::query)?);
        parser.expect_kind(Kind::RightParen)?;
        parser.grow()?;
        return Ok(Expr::InSubquery {
            operand: Box::new(operand),
            query,
            negated,
        });
    }
    let mut list = parser.comma_separated(Parser::expression)?;
    // `IN ((SELECT 1) UNION (SELECT 2))`
    if parser.is_any(&[Kw::UNION, Kw::EXCEPT, Kw::INTERSECT])
        && let [Expr::Subquery(_)] = list.as_slice()
        && let Some(Expr::Subquery(query)) = list.pop()
    {
        let query = Box::new(parser.query_behind(QueryBody::Nested(query))?);
        parser.expect_kind(Kind::RightParen)?;
        parser.grow()?;
        return Ok(Expr::InSubquery {
            operand: Box::new(operand),
            query,
            negated,
        });
    }
    parser.expect_kind(Kind::RightParen)?;
    parser.grow()?;
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

fn between(parser: &mut Parser<'_>, operand: Expr, negated: bool) -> Result<Expr> {
    let low = parser.arithmetic(0)?;
    parser.expect(Kw::AND)?;
    let high = parser.nested(predicate)?;
    parser.grow()?;
    Ok(Expr::Between {
        operand: Box::new(operand),
        low: Box::new(low),
        high: Box::new(high),
        negated,
    })
}

fn like(parser: &mut Parser<'_>, operand: Expr, negated: bool) -> Result<Expr> {
    let pattern = parser.arithmetic(CONCAT_LEVEL - 1)?;
    let escape = if parser.eat(Kw::ESCAPE) {
        Some(Box::new(parser.arithmetic(CONCAT_LEVEL - 1)?))
    } else {
        None
    };
    parser.grow()?;
    Ok(Expr::Like {
        operand: Box::new(operand),
        pattern: Box::new(pattern),
        escape,
        negated,
    })
}

/// Operators that bind tighter than `level`, by precedence climbing.
pub fn arithmetic(parser: &mut Parser<'_>, level: u8) -> Result<Expr> {
    let mut left = primary::simple(parser)?;
    while let Some((op, op_level)) = arithmetic_operator(parser) {
        if op_level <= level {
            break;
        }
        parser.advance();
        if matches!(op, Some(BinaryOp::Plus | BinaryOp::Minus))
            && let Some((amount, unit)) = interval::interval_before_expression(parser)?
        {
            parser.grow()?;
            left = Expr::Function {
                name: if op == Some(BinaryOp::Minus) {
                    "date_sub"
                } else {
                    "date_add"
                }
                .into(),
                args: vec![left, amount, unit],
            };
            continue;
        }
        let right = parser.apart(|parser| parser.arithmetic(op_level))?;
        left = match op {
            Some(op) => parser.binary(op, left, right)?,
            None => {
                parser.grow()?;
                Expr::Function {
                    name: "concat".into(),
                    args: vec![left, right],
                }
            }
        };
    }
    Ok(left)
}

/// The operator at the cursor and its level. An operator `None` is `||` as concatenation.
fn arithmetic_operator(parser: &Parser<'_>) -> Option<(Option<BinaryOp>, u8)> {
    let (op, level) = match parser.kind() {
        Kind::Pipe => (BinaryOp::BitOr, 1),
        Kind::Ampersand => (BinaryOp::BitAnd, 2),
        Kind::ShiftLeft => (BinaryOp::ShiftLeft, 3),
        Kind::ShiftRight => (BinaryOp::ShiftRight, 3),
        Kind::Plus => (BinaryOp::Plus, 4),
        Kind::Minus => (BinaryOp::Minus, 4),
        Kind::Star => (BinaryOp::Multiply, 5),
        Kind::Slash => (BinaryOp::Divide, 5),
        Kind::Percent => (BinaryOp::Modulo, 5),
        Kind::Word if parser.is(Kw::DIV) => (BinaryOp::IntegerDivide, 5),
        Kind::Word if parser.is(Kw::MOD) => (BinaryOp::Modulo, 5),
        Kind::Caret => (BinaryOp::BitXor, 6),
        Kind::PipePipe if parser.mode.pipes_as_concat => return Some((None, CONCAT_LEVEL)),
        _ => return None,
    };
    Some((Some(op), level))
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
            (
                "((a or b) or c) or (d or (e and f))",
                "(a or b or c or d or (e and f))",
            ),
            ("a and (b and (c or d)) and (e)", "(a and b and (c or d) and e)"),
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
    fn deep_expressions_are_read() {
        // What is read is dropped on the stack of a connection's thread.
        let thread = std::thread::Builder::new().stack_size(16 << 20);
        let deep = thread.spawn(|| {
            let many = |piece: &str, count: usize| piece.repeat(count);
            for text in [
                format!("1{}", many("+a*b", 1900)),
                format!("{}1{}", many("(1+", 1900), many(")", 1900)),
                format!("{}1{}", many("abs(", 1900), many(")", 1900)),
                format!("1{}", many(" = 1", 1900)),
                format!("1{}", many(" xor 1", 1900)),
                format!("{}1{}", many("if(a, ", 1900), many(", 2)", 1900)),
                format!("{}1", many("not ", 1900)),
            ] {
                assert!(parse_expression(&text, sql_mode()).is_ok(), "{}", &text[..40]);
            }
        });
        deep.unwrap().join().unwrap();
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
            format!("{}a = 0{}", many("(", 10_000), many(" or a = 1)", 10_000)),
            format!("{}a = 0{}", many("(", 10_000), many(") and a = 1", 10_000)),
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
