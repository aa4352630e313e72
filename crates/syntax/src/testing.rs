//! Helpers of this crate's tests.

use types::SqlMode;

use crate::ast::{Expr, NumberText, TruthTest, UnaryOp};

/// MySQL 8.0's default.
pub fn sql_mode() -> SqlMode {
    SqlMode::default()
}

/// An expression as text, with all its parentheses.
pub fn sql_of(expr: &Expr) -> String {
    let list = |list: &[Expr], separator: &str| list.iter().map(sql_of).collect::<Vec<_>>().join(separator);
    let not = |negated: &bool| if *negated { "not " } else { "" };
    match expr {
        Expr::Null => "null".into(),
        Expr::Bool(value) => value.to_string(),
        Expr::Number(NumberText::Integer(text) | NumberText::Decimal(text) | NumberText::Float(text)) => {
            text.clone()
        }
        Expr::Text(text) | Expr::Keyword(text) => format!("'{text}'"),
        Expr::Column(name) => name.column.clone(),
        Expr::Parameter(_) => "?".into(),
        Expr::Unary { op, operand } => match op {
            UnaryOp::Minus => format!("(-{})", sql_of(operand)),
            UnaryOp::BitNot => format!("(~{})", sql_of(operand)),
            UnaryOp::Not => format!("(not {})", sql_of(operand)),
        },
        Expr::Binary { op, left, right } => format!("({} {} {})", sql_of(left), op.function(), sql_of(right)),
        Expr::And(items) => format!("({})", list(items, " and ")),
        Expr::Or(items) => format!("({})", list(items, " or ")),
        Expr::Is {
            operand,
            test,
            negated,
        } => {
            let test = match test {
                TruthTest::Null => "null",
                TruthTest::True => "true",
                TruthTest::False => "false",
                TruthTest::Unknown => "unknown",
            };
            format!("({} is {}{test})", sql_of(operand), not(negated))
        }
        Expr::Between {
            operand,
            low,
            high,
            negated,
        } => {
            format!(
                "({} {}between {} and {})",
                sql_of(operand),
                not(negated),
                sql_of(low),
                sql_of(high)
            )
        }
        Expr::In {
            operand,
            list: items,
            negated,
        } => {
            format!("({} {}in ({}))", sql_of(operand), not(negated), list(items, ", "))
        }
        Expr::Like {
            operand,
            pattern,
            escape,
            negated,
        } => {
            let escape = escape
                .as_ref()
                .map(|e| format!(" escape {}", sql_of(e)))
                .unwrap_or_default();
            format!(
                "({} {}like {}{escape})",
                sql_of(operand),
                not(negated),
                sql_of(pattern)
            )
        }
        Expr::Collate { operand, collation } => format!("({} collate {collation})", sql_of(operand)),
        Expr::Binarize(operand) => format!("(binary {})", sql_of(operand)),
        Expr::Row(items) => format!("row({})", list(items, ", ")),
        Expr::Function { name, args } => format!("{name}({})", list(args, ", ")),
        other => format!("{other:?}"),
    }
}
