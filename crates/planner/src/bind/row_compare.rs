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
        let is_subquery = |e: &ast::Expr| matches!(e, ast::Expr::Subquery(_));
        if is_subquery(left) || is_subquery(right) {
            if let (ast::Expr::Row(row), ast::Expr::Subquery(query)) = (left, right)
                && super::subquery::width(query).is_some_and(|width| width != row.len())
            {
                return Err(operand_columns(row.len()));
            }
            let left = self.row_operand(left, context)?;
            let right = self.row_operand(right, context)?;
            return self.compare_rows(op, &left, &right);
        }
        let (left, right) = (columns(left), columns(right));
        if left.len() != right.len() {
            return Err(operand_columns(left.len()));
        }
        self.compare_columns(op, left, right, context)
    }

    /// Rows whose columns are bound.
    pub fn compare_rows(&self, op: BinaryOp, left: &[Expr], right: &[Expr]) -> Result<Expr> {
        if left.len() != right.len() {
            return Err(operand_columns(left.len()));
        }
        let pair =
            |op: BinaryOp, at: usize| self.call(op.function(), vec![left[at].clone(), right[at].clone()]);
        let each = |op: BinaryOp, count: usize| (0..count).map(|at| pair(op, at)).collect::<Result<Vec<_>>>();
        match op {
            BinaryOp::Equal | BinaryOp::NullSafeEqual => self.all_of(each(op, left.len())?, "and"),
            BinaryOp::NotEqual => self.all_of(each(op, left.len())?, "or"),
            _ => {
                let mut alternatives = Vec::with_capacity(left.len());
                for last in 0..left.len() {
                    let mut all = each(BinaryOp::Equal, last)?;
                    let operator = if last + 1 == left.len() { op } else { strict(op) };
                    all.push(pair(operator, last)?);
                    alternatives.push(self.all_of(all, "and")?);
                }
                self.all_of(alternatives, "or")
            }
        }
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
        if super::expr::is_row(left) || super::expr::is_row(right) {
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
        let mut alternatives = Vec::with_capacity(left.len());
        for last in 0..left.len() {
            let mut all = self.each(BinaryOp::Equal, &left[..last], &right[..last], context)?;
            let operator = if last + 1 == left.len() { op } else { strict(op) };
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
            if matches!(item, ast::Expr::Subquery(_)) {
                let left = operand.iter().map(|column| self.scalar(column, context));
                let left: Vec<Expr> = left.collect::<Result<_>>()?;
                let right = self.row_operand(item, context)?;
                alternatives.push(self.compare_rows(BinaryOp::Equal, &left, &right)?);
                continue;
            }
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

/// The comparison of all columns but the last.
fn strict(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::LessOrEqual => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::Greater,
        other => other,
    }
}

fn columns(expr: &ast::Expr) -> &[ast::Expr] {
    match expr {
        ast::Expr::Row(columns) => columns,
        single => std::slice::from_ref(single),
    }
}
