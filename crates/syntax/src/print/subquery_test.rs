//! Which truth tests of IN and EXISTS with a subquery are one test.

use crate::ast::{Expr, TruthTest, UnaryOp};

/// A test that IN or EXISTS with a subquery is of one truth value.
pub struct SubqueryTest<'e> {
    pub tested: &'e Expr,
    pub is_true: bool,
    pub negated: bool,
}

/// IN and EXISTS with a subquery, and whether NOT stands before it.
fn match_in_subquery(expr: &Expr) -> Option<(&Expr, bool)> {
    match expr {
        Expr::InSubquery { negated, .. } => Some((expr, *negated)),
        Expr::Exists(_) => Some((expr, false)),
        Expr::Unary {
            op: UnaryOp::Not,
            operand,
        } => match_in_subquery(operand).map(|(found, negated)| (found, !negated)),
        _ => None,
    }
}

/// IS TRUE or IS FALSE of IN or EXISTS with a subquery. The result is never NULL, so a test of that is the same test or
/// its opposite.
pub fn subquery_test(operand: &Expr, test: TruthTest, negated: bool) -> Option<SubqueryTest<'_>> {
    let is_true = match test {
        TruthTest::True => true,
        TruthTest::False => false,
        TruthTest::Null | TruthTest::Unknown => return None,
    };
    if let Some((tested, is_not)) = match_in_subquery(operand) {
        return Some(SubqueryTest {
            tested,
            is_true: is_true != is_not,
            negated,
        });
    }
    let inner = of_subquery(operand)?;
    Some(SubqueryTest {
        negated: inner.negated != (is_true == negated),
        ..inner
    })
}

/// The same of an expression that may be such a test, or NOT of one.
fn of_subquery(expr: &Expr) -> Option<SubqueryTest<'_>> {
    match expr {
        Expr::Is {
            operand,
            test,
            negated,
        } => subquery_test(operand, *test, *negated),
        Expr::Unary {
            op: UnaryOp::Not,
            operand,
        } => of_subquery(operand).map(|inner| SubqueryTest {
            negated: !inner.negated,
            ..inner
        }),
        _ => None,
    }
}

/// Whether it is IS TRUE or IS FALSE of IN or EXISTS with a subquery, which is printed without parentheses.
pub fn is_subquery_test(operand: &Expr, test: TruthTest) -> bool {
    subquery_test(operand, test, false).is_some()
}

/// Whether it is IN with a subquery, be it below NOT.
pub fn is_in_subquery(expr: &Expr) -> bool {
    matches!(match_in_subquery(expr), Some((Expr::InSubquery { .. }, _)))
}
