//! Operators and their operands.

use super::printer::Printer;
use super::subquery_test::is_subquery_test;
use crate::ast::{BinaryOp, Expr, Quantifier, Query, UnaryOp};

/// A query that is an operand.
pub fn subquery(printer: &mut Printer<'_>, query: &Query) {
    let names_items = std::mem::replace(&mut printer.names_items, false);
    printer.parenthesised(query);
    printer.names_items = names_items;
}

pub fn binary(printer: &mut Printer<'_>, op: BinaryOp, left: &Expr, right: &Expr) {
    match op {
        BinaryOp::JsonExtract => printer.call("json_extract", &[left, right]),
        BinaryOp::JsonUnquote => {
            printer.put("json_unquote(");
            printer.call("json_extract", &[left, right]);
            printer.put(")");
        }
        BinaryOp::Xor => {
            printer.put("(");
            printer.condition(left);
            printer.put(" xor ");
            printer.condition(right);
            printer.put(")");
        }
        _ => {
            let name = match op {
                BinaryOp::IntegerDivide => "DIV",
                _ => op.function(),
            };
            infix(printer, name, left, right);
        }
    }
}

/// `(left operator right)`
pub fn infix(printer: &mut Printer<'_>, operator: &str, left: &Expr, right: &Expr) {
    printer.put("(");
    put_operand(printer, left);
    printer.put(" ");
    printer.put(operator);
    printer.put(" ");
    put_operand(printer, right);
    printer.put(")");
}

/// An operand. Expressions that are printed without parentheses get them here.
pub fn put_operand(printer: &mut Printer<'_>, expr: &Expr) {
    if is_open(expr) {
        printer.put("(");
        printer.expr(expr);
        return printer.put(")");
    }
    printer.expr(expr);
}

fn is_open(expr: &Expr) -> bool {
    match expr {
        Expr::InSubquery { .. } | Expr::Quantified { .. } | Expr::Over { .. } => true,
        Expr::Is { operand, test, .. } => is_subquery_test(operand, *test),
        Expr::Function { name, .. } => name == "member of",
        Expr::Unary {
            op: UnaryOp::Not,
            operand,
        } => !matches!(**operand, Expr::Over { .. } | Expr::Function { .. }) && is_open(operand),
        _ => false,
    }
}

pub fn between(printer: &mut Printer<'_>, operand: &Expr, low: &Expr, high: &Expr, negated: bool) {
    printer.put("(");
    put_operand(printer, operand);
    printer.put(if negated { " not between " } else { " between " });
    put_operand(printer, low);
    printer.put(" and ");
    put_operand(printer, high);
    printer.put(")");
}

pub fn in_list(printer: &mut Printer<'_>, operand: &Expr, list: &[Expr], negated: bool) {
    if let ([only], false) = (list, matches!(operand, Expr::Row(_))) {
        let op = match negated {
            true => BinaryOp::NotEqual,
            false => BinaryOp::Equal,
        };
        return binary(printer, op, operand, only);
    }
    printer.put("(");
    put_operand(printer, operand);
    printer.put(if negated { " not in (" } else { " in (" });
    printer.exprs(list);
    printer.put("))");
}

pub fn in_subquery(printer: &mut Printer<'_>, operand: &Expr, query: &Query) {
    put_operand(printer, operand);
    printer.put(" in ");
    subquery(printer, query);
}

pub fn collate(printer: &mut Printer<'_>, operand: &Expr, collation: &str) {
    printer.put("(");
    put_operand(printer, operand);
    printer.put(" collate ");
    printer.put(collation);
    printer.put(")");
}

pub fn quantified(
    printer: &mut Printer<'_>,
    op: BinaryOp,
    operand: &Expr,
    quantifier: Quantifier,
    query: &Query,
) {
    match (op, quantifier) {
        (BinaryOp::Equal, Quantifier::Any) => in_subquery(printer, operand, query),
        _ => {
            put_operand(printer, operand);
            printer.put(" ");
            printer.put(op.function());
            printer.put(match quantifier {
                Quantifier::All => " all ",
                Quantifier::Any => " any ",
            });
            subquery(printer, query);
        }
    }
}
