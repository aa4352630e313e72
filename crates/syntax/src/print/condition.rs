//! Expressions as conditions: a value that is not a truth value is compared with 0, and NOT is moved inward.

use super::operators;
use super::printer::Printer;
use super::subquery_test::{SubqueryTest, is_in_subquery, subquery_test};
use crate::ast::{BinaryOp, Expr, Quantifier, Query, QueryBody, TruthTest, UnaryOp};

/// Functions whose result is a truth value in MySQL.
const TRUTH_FUNCTIONS: &[&str] = &[
    "is_uuid",
    "is_ipv4",
    "is_ipv6",
    "is_ipv4_compat",
    "is_ipv4_mapped",
    "isnull",
    "json_contains",
    "json_contains_path",
    "json_overlaps",
    "json_schema_valid",
    "json_valid",
    "match against",
    "match in boolean mode",
    "match with query expansion",
    "member of",
    "regexp_like",
    "strcmp",
];

/// Whether MySQL stores the expression as a condition without adding a comparison.
fn is_truth(expr: &Expr) -> bool {
    match expr {
        Expr::Bool(_)
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Is { .. }
        | Expr::Between { .. }
        | Expr::In { .. }
        | Expr::Like { .. }
        | Expr::Regexp { .. }
        | Expr::Exists(_)
        | Expr::InSubquery { .. }
        | Expr::Quantified { .. }
        | Expr::Unary { op: UnaryOp::Not, .. } => true,
        Expr::Binary { op, .. } => op.is_comparison() || *op == BinaryOp::Xor,
        Expr::Function { name, .. } => TRUTH_FUNCTIONS
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known)),
        _ => false,
    }
}

/// The comparison that is true where `op` is false.
fn negated(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Equal => BinaryOp::NotEqual,
        BinaryOp::NotEqual => BinaryOp::Equal,
        BinaryOp::Less => BinaryOp::GreaterOrEqual,
        BinaryOp::GreaterOrEqual => BinaryOp::Less,
        BinaryOp::Greater => BinaryOp::LessOrEqual,
        BinaryOp::LessOrEqual => BinaryOp::Greater,
        _ => return None,
    })
}

/// A condition: an operand of AND, OR, XOR and IS TRUE, or the whole of WHERE, HAVING and ON.
pub fn condition(printer: &mut Printer<'_>, expr: &Expr) {
    if is_truth(expr) {
        return printer.expr(expr);
    }
    printer.is_filter = false;
    compared_with_zero(printer, "<>", expr);
}

fn compared_with_zero(printer: &mut Printer<'_>, operator: &str, expr: &Expr) {
    printer.put("(0 ");
    printer.put(operator);
    printer.put(" ");
    operators::put_operand(printer, expr);
    printer.put(")");
}

/// Operands of AND and OR.
pub fn conditions(printer: &mut Printer<'_>, operator: &str, list: &[Expr], is_filter: bool) {
    printer.put("(");
    printer.separated(list, operator, |printer, expr| {
        printer.is_filter = is_filter;
        printer.condition(expr);
    });
    printer.put(")");
}

/// `NOT expr`.
pub fn negation(printer: &mut Printer<'_>, expr: &Expr, is_filter: bool) {
    match expr {
        Expr::And(list) => negations(printer, " or ", list, is_filter),
        Expr::Or(list) => negations(printer, " and ", list, is_filter),
        Expr::Exists(query) if is_filter => {
            exists(printer, query);
            printer.put(" is false");
        }
        Expr::Exists(query) => {
            printer.put("(not ");
            exists(printer, query);
            printer.put(")");
        }
        Expr::InSubquery {
            operand,
            query,
            negated: false,
        }
        | Expr::Quantified {
            op: BinaryOp::Equal,
            operand,
            quantifier: Quantifier::Any,
            query,
        } => not_in(printer, operand, query, is_filter),
        Expr::InSubquery { operand, query, .. } => operators::in_subquery(printer, operand, query),
        // MySQL applies NOT to the first operand.
        Expr::Binary {
            op: BinaryOp::Xor,
            left,
            right,
        } => {
            printer.put("(");
            negation(printer, left, false);
            printer.put(" xor ");
            printer.condition(right);
            printer.put(")");
        }
        Expr::Binary { op, left, right } if negated(*op).is_some() => {
            operators::binary(printer, negated(*op).unwrap_or(*op), left, right);
        }
        Expr::Is {
            operand,
            test,
            negated,
        } => truth_test(printer, operand, *test, !negated),
        Expr::Between {
            operand,
            low,
            high,
            negated,
        } => operators::between(printer, operand, low, high, !negated),
        Expr::In {
            operand,
            list,
            negated,
        } => operators::in_list(printer, operand, list, !negated),
        Expr::Quantified {
            op,
            operand,
            quantifier,
            query,
        } if negated(*op).is_some() => {
            let quantifier = match quantifier {
                Quantifier::All => Quantifier::Any,
                Quantifier::Any => Quantifier::All,
            };
            operators::quantified(printer, negated(*op).unwrap_or(*op), operand, quantifier, query);
        }
        Expr::Unary {
            op: UnaryOp::Not,
            operand,
        } => {
            printer.is_filter = is_filter;
            printer.condition(operand);
        }
        _ if is_truth(expr) => printer.not(|printer| printer.expr(expr)),
        _ => compared_with_zero(printer, "=", expr),
    }
}

fn negations(printer: &mut Printer<'_>, operator: &str, list: &[Expr], is_filter: bool) {
    printer.put("(");
    printer.separated(list, operator, |printer, expr| negation(printer, expr, is_filter));
    printer.put(")");
}

fn exists(printer: &mut Printer<'_>, query: &Query) {
    printer.put("exists");
    operators::subquery(printer, query);
}

/// `operand NOT IN (query)`. MySQL compares with the row of a query without tables.
pub fn not_in(printer: &mut Printer<'_>, operand: &Expr, query: &Query, is_filter: bool) {
    let is_row = matches!(&query.body, QueryBody::Select(select) if select.from.is_empty());
    if is_row {
        return printer.not(|printer| operators::in_subquery(printer, operand, query));
    }
    if is_filter {
        operators::in_subquery(printer, operand, query);
        return printer.put(" is false");
    }
    operators::put_operand(printer, operand);
    printer.put(" not in ");
    operators::subquery(printer, query);
}

fn put_subquery_test(printer: &mut Printer<'_>, found: &SubqueryTest<'_>) {
    match found.tested {
        Expr::InSubquery { operand, query, .. } => operators::in_subquery(printer, operand, query),
        tested => printer.expr(tested),
    }
    printer.put(if found.negated { " is not " } else { " is " });
    printer.put(if found.is_true { "true" } else { "false" });
}

pub fn truth_test(printer: &mut Printer<'_>, operand: &Expr, test: TruthTest, negated: bool) {
    if let Some(found) = subquery_test(operand, test, negated) {
        return put_subquery_test(printer, &found);
    }
    printer.put("(");
    let name = match test {
        TruthTest::Null | TruthTest::Unknown => {
            match is_in_subquery(operand) {
                true => printer.expr(operand),
                false => operators::put_operand(printer, operand),
            }
            "null"
        }
        TruthTest::True => {
            printer.condition(operand);
            "true"
        }
        TruthTest::False => {
            printer.condition(operand);
            "false"
        }
    };
    printer.put(if negated { " is not " } else { " is " });
    printer.put(name);
    printer.put(")");
}
