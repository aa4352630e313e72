//! Comparisons of rows whose columns are bound.

use functions::Expr;
use syntax::ast::BinaryOp;
use types::{Error, Result, errno};

use super::Binder;

/// Rows whose columns are bound.
pub(super) fn compare_rows(binder: &Binder<'_>, op: BinaryOp, left: &[Expr], right: &[Expr]) -> Result<Expr> {
    if left.len() != right.len() {
        return Err(operand_columns(left.len()));
    }
    let pair =
        |op: BinaryOp, at: usize| binder.call(op.function(), vec![left[at].clone(), right[at].clone()]);
    let each = |op: BinaryOp, count: usize| (0..count).map(|at| pair(op, at)).collect::<Result<Vec<_>>>();
    match op {
        BinaryOp::Equal | BinaryOp::NullSafeEqual => all_of(binder, each(op, left.len())?, "and"),
        BinaryOp::NotEqual => all_of(binder, each(op, left.len())?, "or"),
        _ => {
            let mut alternatives = Vec::with_capacity(left.len());
            for last in 0..left.len() {
                let mut all = each(BinaryOp::Equal, last)?;
                let operator = if last + 1 == left.len() { op } else { strict(op) };
                all.push(pair(operator, last)?);
                alternatives.push(all_of(binder, all, "and")?);
            }
            all_of(binder, alternatives, "or")
        }
    }
}

pub(super) fn all_of(binder: &Binder<'_>, mut list: Vec<Expr>, operator: &str) -> Result<Expr> {
    if list.len() == 1 {
        return Ok(list.swap_remove(0));
    }
    binder.call(operator, list)
}

/// The comparison of all columns but the last.
pub(super) fn strict(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::LessOrEqual => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::Greater,
        other => other,
    }
}

/// Error 1241.
pub fn operand_columns(columns: usize) -> Error {
    Error::new(
        errno::ER_OPERAND_COLUMNS,
        format!("Operand should contain {columns} column(s)"),
    )
}
