//! What WHERE makes of its condition.

use functions::Expr;
use types::{Result, TypeKind, Value};

use super::Binder;
use super::expr::Context;
use syntax::ast;

impl Binder<'_> {
    /// The condition of a WHERE clause.
    pub fn filter(&self, filter: Option<&ast::Expr>, context: &Context<'_>) -> Result<Option<Expr>> {
        filter
            .map(|filter| self.with_zero_dates(self.condition(filter, context)?))
            .transpose()
    }

    /// All of the conditions; `None` where there are none.
    pub fn all(&self, mut conditions: Vec<Expr>) -> Result<Option<Expr>> {
        match conditions.len() {
            0 => Ok(None),
            1 => Ok(conditions.pop()),
            _ => self.call("and", conditions).map(Some),
        }
    }

    /// The condition of WHERE or HAVING: a JSON value is tested as AND and NOT do.
    pub fn condition(&self, condition: &ast::Expr, context: &Context<'_>) -> Result<Expr> {
        let bound = self.scalar(condition, context)?;
        match bound.ty().kind {
            TypeKind::Json => self.call("is true", vec![bound]),
            _ => Ok(bound),
        }
    }

    /// `date IS NULL` of a column that is NOT NULL finds the zero date, as MySQL has it for ODBC's sake;
    /// among the conditions that all must hold, and nowhere else. Source: manual 12.4.2 "Comparison Functions
    /// and Operators".
    fn with_zero_dates(&self, condition: Expr) -> Result<Expr> {
        let Expr::Call { function, args, .. } = &condition else {
            return Ok(condition);
        };
        match (function.0.name, args.as_slice()) {
            ("and", args) => {
                let all = args.iter().map(|arg| self.with_zero_dates(arg.clone()));
                self.call("and", all.collect::<Result<_>>()?)
            }
            (
                "is null",
                [
                    column @ Expr::Column {
                        ty, nullable: false, ..
                    },
                ],
            ) if matches!(ty.kind, TypeKind::Date | TypeKind::DateTime) => {
                self.call("=", vec![column.clone(), Expr::literal(Value::UInt(0), *ty)])
            }
            _ => Ok(condition),
        }
    }
}
