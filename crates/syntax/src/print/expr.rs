//! Expressions.

use types::Charset;

use super::printer::Printer;
use super::{cast, condition, function, operators, window};
use crate::ast::{
    BinaryOp, CastType, ColumnName, Expr, Introducer, NumberText, OrderItem, Quantifier, TemporalKind,
    UnaryOp, VariableScope,
};

pub fn expr(printer: &mut Printer<'_>, expr: &Expr) {
    let is_filter = std::mem::take(&mut printer.is_filter);
    match expr {
        Expr::Null => printer.put("NULL"),
        Expr::Bool(true) => printer.put("true"),
        Expr::Bool(false) => printer.put("false"),
        Expr::Number(NumberText::Integer(text) | NumberText::Decimal(text) | NumberText::Float(text)) => {
            printer.put(text);
        }
        Expr::Text(text) => literal(printer, text),
        Expr::Keyword(word) => printer.put(word),
        Expr::Introduced {
            charset,
            bytes,
            quoted,
        } => introduced(printer, charset, bytes, *quoted),
        Expr::Bytes(bytes) => printer.bytes(bytes),
        Expr::Temporal { kind, text, .. } => temporal(printer, *kind, text),
        Expr::Parameter(_) => printer.put("?"),
        Expr::Column(name) => resolved_column(printer, name),
        Expr::SystemVariable { scope, name } => system_variable(printer, *scope, name),
        Expr::UserVariable(name) => user_variable(printer, name),
        Expr::Assign { name, value } => assignment(printer, name, value),
        Expr::Unary { op, operand } => unary(printer, *op, operand, is_filter),
        Expr::Binary { op, left, right } => operators::binary(printer, *op, left, right),
        Expr::And(list) => condition::conditions(printer, " and ", list, is_filter),
        Expr::Or(list) => condition::conditions(printer, " or ", list, is_filter),
        Expr::Is {
            operand,
            test,
            negated,
        } => condition::truth_test(printer, operand, *test, *negated),
        Expr::Between {
            operand,
            low,
            high,
            negated,
        } => operators::between(printer, operand, low, high, *negated),
        Expr::In {
            operand,
            list,
            negated,
        } => operators::in_list(printer, operand, list, *negated),
        Expr::Like {
            operand,
            pattern,
            escape,
            negated,
        } => negatable(printer, *negated, |printer| {
            like(printer, operand, pattern, escape.as_deref())
        }),
        Expr::Regexp {
            operand,
            pattern,
            negated,
        } => negatable(printer, *negated, |printer| regexp(printer, operand, pattern)),
        Expr::Case {
            operand,
            branches,
            otherwise,
        } => case(printer, operand.as_deref(), branches, otherwise.as_deref()),
        Expr::Cast { operand, ty } => cast::cast(printer, operand, ty),
        Expr::ConvertUsing { operand, charset } => cast::convert_using(printer, operand, charset),
        Expr::Collate { operand, collation } => operators::collate(printer, operand, collation),
        Expr::Binarize(operand) => cast::cast(printer, operand, &CastType::Binary(None)),
        Expr::Row(list) => row(printer, list),
        Expr::Function { name, args } => function::function(printer, name, args),
        Expr::Aggregate { name, distinct, args } => aggregate(printer, name, *distinct, args),
        Expr::GroupConcat {
            distinct,
            args,
            order_by,
            separator,
        } => group_concat(printer, *distinct, args, order_by, separator),
        Expr::Default(None) => printer.put("default"),
        Expr::Default(Some(column)) => {
            printer.put("default(");
            resolved_column(printer, column);
            printer.put(")");
        }
        Expr::Values(column) => {
            printer.put("values(");
            printer.column(column);
            printer.put(")");
        }
        Expr::Subquery(query) => operators::subquery(printer, query),
        Expr::Exists(query) => {
            printer.put("exists");
            operators::subquery(printer, query);
        }
        Expr::InSubquery {
            operand,
            query,
            negated,
        } => match negated {
            true => condition::not_in(printer, operand, query, is_filter),
            false => operators::in_subquery(printer, operand, query),
        },
        Expr::Quantified {
            op: BinaryOp::NotEqual,
            operand,
            quantifier: Quantifier::All,
            query,
        } => condition::not_in(printer, operand, query, is_filter),
        Expr::Quantified {
            op,
            operand,
            quantifier,
            query,
        } => operators::quantified(printer, *op, operand, *quantifier, query),
        Expr::Over { function, window } => window::over(printer, function, window),
    }
}

fn negatable(printer: &mut Printer<'_>, negated: bool, print: impl FnOnce(&mut Printer<'_>)) {
    match negated {
        true => printer.not(print),
        false => print(printer),
    }
}

/// A string literal of the statement.
fn literal(printer: &mut Printer<'_>, text: &str) {
    if printer.style.introducers {
        printer.put("_");
        printer.put(printer.style.charset);
    }
    printer.quoted(text);
}

fn introduced(printer: &mut Printer<'_>, charset: &Introducer, bytes: &[u8], quoted: bool) {
    let text = std::str::from_utf8(bytes).ok().filter(|_| quoted);
    if let (Introducer::Named(name), Some(text), true) = (charset, text, printer.style.introducers) {
        return introduced_text(printer, name, text);
    }
    match (charset, text) {
        (Introducer::National, Some(text)) => {
            if printer.style.introducers {
                printer.put("_utf8mb3");
            }
            printer.quoted(text);
        }
        (Introducer::National | Introducer::Client, _) => printer.bytes(bytes),
        (Introducer::Named(name), text) => {
            printer.put("_");
            printer.put(&name.to_ascii_lowercase());
            match text {
                Some(text) => printer.quoted(text),
                None => {
                    printer.put(" ");
                    printer.bytes(bytes);
                }
            }
        }
    }
}

/// A literal with an introducer, as a definition stores it: the client's bytes, read in the introducer's
/// character set. If they are not valid in it, they are stored as bytes.
fn introduced_text(printer: &mut Printer<'_>, name: &str, text: &str) {
    let client = Charset::from_name(printer.style.charset).unwrap_or(Charset::Utf8mb4);
    let sent = client.encode(text);
    let charset = match Charset::from_name(name) {
        // Bytes that are text are easier to read.
        Some(Charset::Binary) => Some(Charset::Utf8mb4),
        charset => charset,
    };
    printer.put("_");
    printer.put(&name.to_ascii_lowercase());
    match charset.and_then(|charset| charset.decode(&sent)) {
        Some(text) => printer.quoted(&text),
        None => {
            printer.put(" ");
            printer.bytes(&sent);
        }
    }
}

fn temporal(printer: &mut Printer<'_>, kind: TemporalKind, text: &str) {
    printer.put(match kind {
        TemporalKind::Date => "DATE",
        TemporalKind::Time => "TIME",
        TemporalKind::Timestamp => "TIMESTAMP",
    });
    printer.quoted(text);
}

/// A column by the name that the style gives it.
fn resolved_column(printer: &mut Printer<'_>, name: &ColumnName) {
    let name = printer.style.names.column(name);
    printer.column(&name);
}

fn system_variable(printer: &mut Printer<'_>, scope: Option<VariableScope>, name: &str) {
    printer.put(match scope {
        Some(VariableScope::Global) => "@@global.",
        Some(VariableScope::Session) => "@@session.",
        Some(VariableScope::Persist) => "@@persist.",
        Some(VariableScope::PersistOnly) => "@@persist_only.",
        Some(VariableScope::NextTransaction) | None => "@@",
    });
    printer.name(name);
}

fn user_variable(printer: &mut Printer<'_>, name: &str) {
    printer.put("@");
    printer.name(name);
}

fn assignment(printer: &mut Printer<'_>, name: &str, value: &Expr) {
    printer.put("(");
    user_variable(printer, name);
    printer.put(":=");
    printer.expr(value);
    printer.put(")");
}

fn row(printer: &mut Printer<'_>, list: &[Expr]) {
    printer.put("(");
    printer.exprs(list);
    printer.put(")");
}

fn regexp(printer: &mut Printer<'_>, operand: &Expr, pattern: &Expr) {
    printer.put("regexp_like(");
    printer.expr(operand);
    printer.put(",");
    printer.expr(pattern);
    printer.put(")");
}

fn unary(printer: &mut Printer<'_>, op: UnaryOp, operand: &Expr, is_filter: bool) {
    match op {
        UnaryOp::Not => condition::negation(printer, operand, is_filter),
        UnaryOp::Minus | UnaryOp::BitNot => {
            printer.put(if op == UnaryOp::Minus { "-(" } else { "~(" });
            printer.expr(operand);
            printer.put(")");
        }
    }
}

fn like(printer: &mut Printer<'_>, operand: &Expr, pattern: &Expr, escape: Option<&Expr>) {
    printer.put("(");
    operators::put_operand(printer, operand);
    printer.put(" like ");
    operators::put_operand(printer, pattern);
    if let Some(escape) = escape {
        printer.put(" escape ");
        operators::put_operand(printer, escape);
    }
    printer.put(")");
}

fn case(
    printer: &mut Printer<'_>,
    operand: Option<&Expr>,
    branches: &[(Expr, Expr)],
    otherwise: Option<&Expr>,
) {
    printer.put("(case ");
    if let Some(operand) = operand {
        printer.expr(operand);
        printer.put(" ");
    }
    for (when, then) in branches {
        printer.put("when ");
        printer.expr(when);
        printer.put(" then ");
        printer.expr(then);
        printer.put(" ");
    }
    if let Some(otherwise) = otherwise {
        printer.put("else ");
        printer.expr(otherwise);
        printer.put(" ");
    }
    printer.put("end)");
}

fn aggregate(printer: &mut Printer<'_>, name: &str, distinct: bool, args: &[Expr]) {
    printer.put(match name {
        "stddev" | "stddev_pop" => "std",
        "var_pop" => "variance",
        other => other,
    });
    printer.put(if distinct { "(distinct " } else { "(" });
    match (name, args) {
        ("count", []) => printer.put("0"),
        _ => printer.exprs(args),
    }
    printer.put(")");
}

fn group_concat(
    printer: &mut Printer<'_>,
    distinct: bool,
    args: &[Expr],
    order_by: &[OrderItem],
    separator: &str,
) {
    printer.put(if distinct {
        "group_concat(distinct "
    } else {
        "group_concat("
    });
    printer.exprs(args);
    if !order_by.is_empty() {
        printer.put(" order by ");
        printer.separated(order_by, ",", |printer, item| {
            printer.expr(&item.expr);
            printer.put(if item.descending { " DESC" } else { " ASC" });
        });
    }
    printer.put(" separator ");
    printer.quoted(separator);
    printer.put(")");
}
