//! Comparisons of rows, as comparisons of their columns.

use functions::Expr;
use types::Result;

use super::Binder;
use super::expr::{Context, operand_columns};
use syntax::ast::{self, BinaryOp};

impl Binder<'_> {
    /// `(a, b) = (c, d)` and the other comparisons.
    pub fn row_comparison(
        &self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        context: &Context<'_>,
    ) -> Result<Expr> {
        let (left, right) = (columns(left), columns(right));
        if left.len() != right.len() {
            return Err(operand_columns(left.len()));
        }
        self.compare_columns(op, left, right, context)
    }

    fn compare_columns(
        &self,
        op: BinaryOp,
        left: &[ast::Expr],
        right: &[ast::Expr],
        context: &Context<'_>,
    ) -> Result<Expr> {
        match op {
            BinaryOp::Equal | BinaryOp::NullSafeEqual => {
                self.all_of(self.each(op, left, right, context)?, "and")
            }
            BinaryOp::NotEqual => self.all_of(self.each(op, left, right, context)?, "or"),
            _ => self.lexicographic(op, left, right, context),
        }
    }

    fn each(
        &self,
        op: BinaryOp,
        left: &[ast::Expr],
        right: &[ast::Expr],
        context: &Context<'_>,
    ) -> Result<Vec<Expr>> {
        let pairs = left.iter().zip(right);
        pairs.map(|(l, r)| self.compare(op, l, r, context)).collect()
    }

    fn compare(
        &self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        context: &Context<'_>,
    ) -> Result<Expr> {
        if matches!(left, ast::Expr::Row(_)) || matches!(right, ast::Expr::Row(_)) {
            return self.row_comparison(op, left, right, context);
        }
        self.call(op.function(), self.comparands(&[left, right], context)?)
    }

    fn all_of(&self, mut list: Vec<Expr>, operator: &str) -> Result<Expr> {
        if list.len() == 1 {
            return Ok(list.swap_remove(0));
        }
        self.call(operator, list)
    }

    /// `(a, b) < (c, d)` is `a < c OR (a = c AND b < d)`; the last column has the operator itself.
    fn lexicographic(
        &self,
        op: BinaryOp,
        left: &[ast::Expr],
        right: &[ast::Expr],
        context: &Context<'_>,
    ) -> Result<Expr> {
        let strict = match op {
            BinaryOp::LessOrEqual => BinaryOp::Less,
            BinaryOp::GreaterOrEqual => BinaryOp::Greater,
            other => other,
        };
        let mut alternatives = Vec::with_capacity(left.len());
        for last in 0..left.len() {
            let mut all = self.each(BinaryOp::Equal, &left[..last], &right[..last], context)?;
            let operator = if last + 1 == left.len() { op } else { strict };
            all.push(self.compare(operator, &left[last], &right[last], context)?);
            alternatives.push(self.all_of(all, "and")?);
        }
        self.all_of(alternatives, "or")
    }

    /// `(a, b) IN ((1, 2), (3, 4))`
    pub fn row_in_list(
        &self,
        operand: &[ast::Expr],
        list: &[ast::Expr],
        negated: bool,
        context: &Context<'_>,
    ) -> Result<Expr> {
        let mut alternatives = Vec::with_capacity(list.len());
        for item in list {
            let item = columns(item);
            if item.len() != operand.len() {
                return Err(operand_columns(operand.len()));
            }
            alternatives.push(self.compare_columns(BinaryOp::Equal, operand, item, context)?);
        }
        let any = self.all_of(alternatives, "or")?;
        if negated {
            self.call("not", vec![any])
        } else {
            Ok(any)
        }
    }
}

fn columns(expr: &ast::Expr) -> &[ast::Expr] {
    match expr {
        ast::Expr::Row(columns) => columns,
        single => std::slice::from_ref(single),
    }
}
