//! Grouped queries: expressions over a table's rows, made over the rows of its groups.

use functions::Expr;
use functions::aggregate::AggregateCall;
use functions::bind;
use types::Result;

use super::Binder;
use super::expr::AGGREGATE_BASE;

/// The output of an aggregation while expressions above it are rewritten: keys first, then aggregates.
pub struct Groups<'a, 'b> {
    pub binder: &'a Binder<'b>,
    pub keys: &'a [Expr],
    pub aggregates: Vec<AggregateCall>,
}

impl Groups<'_, '_> {
    /// An expression over the columns that the aggregation puts out. A column that is no key becomes the value of the
    /// group's first row: it has been checked that this is the only one, or that any will do.
    pub fn rewrite(&mut self, expr: &Expr) -> Result<Expr> {
        if let Some(key) = self.keys.iter().position(|key| key == expr) {
            let nullable = expr.nullable();
            return Ok(Expr::Column {
                index: key,
                ty: expr.ty(),
                nullable,
                label: label_of(expr),
            });
        }
        let list = |groups: &mut Self, args: &[Expr]| -> Result<Vec<Expr>> {
            args.iter().map(|arg| groups.rewrite(arg)).collect()
        };
        Ok(match expr {
            Expr::Column {
                index, ty, nullable, ..
            } if *index >= AGGREGATE_BASE => {
                Expr::column(self.keys.len() + index - AGGREGATE_BASE, *ty, *nullable)
            }
            Expr::Column { .. } => self.first_of_group(expr)?,
            Expr::Param { .. } | Expr::Literal { .. } => expr.clone(),
            Expr::Call { function, args, ty } => Expr::Call {
                function: *function,
                args: list(self, args)?,
                ty: *ty,
            },
            Expr::Cast { input, ty, implicit } => Expr::Cast {
                input: Box::new(self.rewrite(input)?),
                ty: *ty,
                implicit: *implicit,
            },
            Expr::Case {
                branches,
                otherwise,
                ty,
            } => {
                let mut rewritten = Vec::with_capacity(branches.len());
                for (when, then) in branches {
                    rewritten.push((self.rewrite(when)?, self.rewrite(then)?));
                }
                let otherwise = match otherwise {
                    Some(otherwise) => Some(Box::new(self.rewrite(otherwise)?)),
                    None => None,
                };
                Expr::Case {
                    branches: rewritten,
                    otherwise,
                    ty: *ty,
                }
            }
        })
    }

    fn first_of_group(&mut self, column: &Expr) -> Result<Expr> {
        let call = bind::aggregate("any_value", vec![column.clone()], false, &self.binder.types)?;
        let position = match self.aggregates.iter().position(|other| *other == call) {
            Some(position) => position,
            None => {
                self.aggregates.push(call);
                self.aggregates.len() - 1
            }
        };
        // Without GROUP BY there is a group even where there is no row.
        let nullable = column.nullable() || self.keys.is_empty();
        Ok(Expr::Column {
            index: self.keys.len() + position,
            ty: column.ty(),
            nullable,
            label: label_of(column),
        })
    }
}

fn label_of(expr: &Expr) -> functions::expr::Label {
    match expr {
        Expr::Column { label, .. } => label.clone(),
        _ => functions::expr::Label::NONE,
    }
}
