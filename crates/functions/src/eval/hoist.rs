//! Computes the constants of a condition once per statement, as MySQL does: they cost nothing per row, and
//! warn once.
//!
//! Not here: constants that can be computed when a statement is planned ([`mod@super::fold`]); the constants
//! of a SELECT list, which MySQL computes, with warnings, for each row.

use std::borrow::Cow;

use types::stack::with_room;

use super::row;
use crate::eval::properties::is_leaf;
use crate::input::Row;
use crate::{EvalContext, Expr};

/// The condition with its constants computed. A constant that fails is left unchanged: it may never be
/// evaluated.
pub fn hoist<'e>(condition: &'e Expr, ctx: &EvalContext) -> Cow<'e, Expr> {
    let mut any = false;
    condition.walk(&mut |e| any = any || (!is_leaf(e) && e.is_constant()));
    if !any {
        return Cow::Borrowed(condition);
    }
    let mut hoisted = condition.clone();
    compute(&mut hoisted, true, ctx);
    Cow::Owned(hoisted)
}

/// `once`: MySQL converts a literal at this place once. In arithmetic and as an argument of a function, it
/// converts the literal for each row.
fn compute(expr: &mut Expr, once: bool, ctx: &EvalContext) {
    if is_leaf(expr) {
        return;
    }
    if expr.is_constant() {
        // The constant keeps all digits of a quotient, more than its type shows.
        if (once || !is_converted_literal(expr))
            && let Ok(cell) = row::evaluate(expr, &Row::None, ctx)
        {
            let (value, ty) = (cell.into_value(), expr.ty());
            *expr = Expr::Literal { value, ty };
        }
        return;
    }
    with_room(|| compute_parts(expr, ctx));
}

fn compute_parts(expr: &mut Expr, ctx: &EvalContext) {
    match expr {
        Expr::Call { function, args, .. } => {
            let once = is_condition(function.0.name);
            args.iter_mut().for_each(|arg| compute(arg, once, ctx));
            if function.0.name == "in"
                && let Some((_, list)) = args.split_first_mut()
                && list.iter().all(Expr::is_constant)
            {
                // MySQL computes all of them first, so one can fail even if an item before it is equal.
                list.sort_by_key(is_leaf);
            }
        }
        Expr::Cast { input, .. } => compute(input, false, ctx),
        Expr::Case {
            branches, otherwise, ..
        } => {
            for (condition, value) in branches {
                compute(condition, true, ctx);
                compute(value, false, ctx);
            }
            if let Some(otherwise) = otherwise {
                compute(otherwise, false, ctx);
            }
        }
        Expr::Column { .. } | Expr::Param { .. } | Expr::Literal { .. } | Expr::Outer { .. } => {}
    }
}

fn is_converted_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Cast { input, implicit: true, .. } if is_leaf(input))
}

/// Comparisons and logical operators.
fn is_condition(name: &str) -> bool {
    matches!(
        name,
        "=" | "<>"
            | "<"
            | "<="
            | ">"
            | ">="
            | "<=>"
            | "in"
            | "between"
            | "like"
            | "and"
            | "or"
            | "xor"
            | "not"
    )
}

#[cfg(test)]
mod tests {
    use types::{SqlType, Value};

    use super::*;
    use crate::bind::env::TypeEnv;

    fn column() -> Expr {
        Expr::column(0, SqlType::BIGINT, true)
    }

    fn text(text: &str) -> Expr {
        Expr::Literal {
            value: Value::from(text),
            ty: SqlType::varchar(4, types::Collation::Utf8mb40900AiCi),
        }
    }

    fn call(name: &str, args: Vec<Expr>) -> Expr {
        crate::bind::call(name, args, &TypeEnv::default()).unwrap()
    }

    /// How many warnings a hoisted condition leaves over `rows` rows.
    fn warnings(condition: &Expr, rows: usize) -> u64 {
        let ctx = EvalContext::default();
        let hoisted = hoist(condition, &ctx);
        for row in 0..rows {
            crate::eval_row(&hoisted, &[Value::Int(row as i64)], &ctx).unwrap();
        }
        ctx.warnings.count()
    }

    #[test]
    fn a_compared_literal_warns_once_and_an_added_one_for_each_row() {
        assert_eq!(warnings(&call("=", vec![column(), text("1x")]), 5), 1);
        let sum = call("+", vec![column(), text("1x")]);
        assert_eq!(warnings(&call("=", vec![sum, column()]), 5), 5);
    }

    #[test]
    fn what_has_no_constants_is_not_copied() {
        let condition = call("=", vec![column(), column()]);
        assert!(matches!(
            hoist(&condition, &EvalContext::default()),
            Cow::Borrowed(_)
        ));
    }
}
