//! Expressions as MySQL's EXPLAIN writes them. Conversions that the statement does not have are not shown.

use functions::Expr;
use functions::aggregate::AggregateCall;
use planner::plan::SortKey;

use crate::print::{ITEMS_MAX, literal};

/// The names of the columns that an expression is over.
pub struct Scope<'a> {
    pub columns: &'a [String],
    /// Of the rows around a subquery, by slot.
    pub outer: &'a dyn Fn(usize) -> String,
}

impl Scope<'_> {
    pub fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Column { index, .. } => self
                .columns
                .get(*index)
                .cloned()
                .unwrap_or_else(|| "?".to_owned()),
            Expr::Outer { slot, .. } => (self.outer)(*slot),
            Expr::Param { .. } => "?".to_owned(),
            Expr::Literal { value, ty } => literal(value, ty),
            Expr::Cast {
                input,
                implicit: true,
                ..
            } => self.expr(input),
            Expr::Cast { input, ty, .. } => format!("cast({} as {})", self.expr(input), ty.column_type()),
            Expr::Call { function, args, .. } => self.call(function.0.name, args),
            Expr::Case {
                branches, otherwise, ..
            } => {
                let mut text = "(case".to_owned();
                for (when, then) in branches {
                    text += &format!(" when {} then {}", self.expr(when), self.expr(then));
                }
                if let Some(otherwise) = otherwise {
                    text += &format!(" else {}", self.expr(otherwise));
                }
                text + " end)"
            }
        }
    }

    fn call(&self, name: &str, args: &[Expr]) -> String {
        let is_operator = !name.starts_with(|c: char| c.is_ascii_alphabetic())
            || matches!(name, "xor" | "div" | "mod" | "like" | "regexp");
        match args {
            [only] if name == "not" => format!("(not({}))", self.expr(only)),
            [only] if name == "unary -" => format!("-({})", self.expr(only)),
            [only] if name.starts_with("is ") => format!("({} {name})", self.expr(only)),
            // They only bring a value into a form that is compared or sent.
            [only, ..]
                if name.starts_with("key ")
                    || matches!(
                        name,
                        "aggregate result" | "bigint constant" | "char padding" | "datetime list item"
                    ) =>
            {
                self.expr(only)
            }
            [value, low, high] if name == "between" => format!(
                "({} between {} and {})",
                self.expr(value),
                self.expr(low),
                self.expr(high)
            ),
            [value, items @ ..] if name == "in" => {
                format!("({} in ({}))", self.expr(value), self.list(items, ","))
            }
            [value, pattern, ..] if name == "like" => {
                format!("({} like {})", self.expr(value), self.expr(pattern))
            }
            [_, _, ..] if name == "and" || name == "or" => format!("({})", self.joined(name, args)),
            [_, _, ..] if is_operator => format!("({})", self.list(args, &format!(" {name} "))),
            _ => format!("{name}({})", self.list(args, ",")),
        }
    }

    /// `a and b and c`, however they are nested.
    fn joined(&self, name: &str, args: &[Expr]) -> String {
        let one = |arg: &Expr| match arg {
            Expr::Call { function, args, .. } if function.0.name == name => self.joined(name, args),
            other => self.expr(other),
        };
        args.iter()
            .map(one)
            .collect::<Vec<_>>()
            .join(&format!(" {name} "))
    }

    pub fn list(&self, exprs: &[Expr], separator: &str) -> String {
        let mut texts: Vec<String> = exprs.iter().take(ITEMS_MAX).map(|expr| self.expr(expr)).collect();
        if exprs.len() > ITEMS_MAX {
            texts.push(format!("... {} more", exprs.len() - ITEMS_MAX));
        }
        texts.join(separator)
    }

    pub fn sort_keys(&self, keys: &[SortKey]) -> String {
        let one = |key: &SortKey| {
            let direction = if key.descending { " DESC" } else { "" };
            format!("{}{direction}", self.expr(&key.expr))
        };
        keys.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    pub fn aggregate(&self, call: &AggregateCall) -> String {
        let name = call.function.name();
        let distinct = if call.distinct { "distinct " } else { "" };
        let args = if call.args.is_empty() {
            "0".to_owned()
        } else {
            self.list(&call.args, ",")
        };
        format!("{name}({distinct}{args})")
    }
}
