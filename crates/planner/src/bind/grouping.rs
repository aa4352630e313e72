//! Grouped queries: expressions over a table's rows, made over the rows of its groups.

use functions::Expr;
use functions::aggregate::AggregateCall;
use functions::bind;
use types::{Error, Result, SqlType, Value};

use super::Binder;
use super::expr::{AGGREGATE_BASE, invalid_group_function};
use crate::plan::SortKey;

/// The output of an aggregation while expressions above it are rewritten: keys first, then aggregates.
pub struct Groups<'a, 'b> {
    pub binder: &'a Binder<'b>,
    pub keys: &'a [Expr],
    /// WITH ROLLUP: behind the keys comes the number of those that are rolled up.
    pub rollup: bool,
    pub aggregates: Vec<AggregateCall>,
}

impl Groups<'_, '_> {
    /// An expression over the columns that the aggregation puts out. A column that is no key becomes the
    /// value of the group's first row: it has been checked that this is the only one, or that any will do.
    pub fn rewrite(&mut self, expr: &Expr) -> Result<Expr> {
        if let Some(key) = self.keys.iter().position(|key| key == expr) {
            let nullable = self.rollup || expr.nullable();
            return Ok(Expr::Column {
                index: key,
                ty: expr.ty(),
                nullable,
                label: label_of(expr),
            });
        }
        Ok(match expr {
            Expr::Column {
                index, ty, nullable, ..
            } if *index >= AGGREGATE_BASE => {
                Expr::column(self.first_aggregate() + index - AGGREGATE_BASE, *ty, *nullable)
            }
            Expr::Column { .. } => self.first_of_group(expr)?,
            Expr::Call { function, args, .. } if function.0.name == "grouping" => self.grouping(args)?,
            _ => expr.of_parts(&mut |part| self.rewrite(part))?,
        })
    }

    /// Position of the first aggregate's result.
    fn first_aggregate(&self) -> usize {
        self.keys.len() + usize::from(self.rollup)
    }

    /// `GROUPING(a, b)`: a bit for each key, set where it is rolled up.
    fn grouping(&self, args: &[Expr]) -> Result<Expr> {
        if !self.rollup {
            return Err(invalid_group_function());
        }
        let mut bits: Option<Expr> = None;
        for (position, arg) in args.iter().enumerate() {
            let Some(key) = self.keys.iter().position(|key| key == arg) else {
                return Err(not_a_key(position + 1));
            };
            let bit = rolled_up(
                self.binder,
                Expr::column(self.keys.len(), SqlType::BIGINT, true),
                key,
                self.keys.len(),
            )?;
            bits = Some(match bits {
                None => bit,
                Some(bits) => {
                    let shifted = self.binder.call("*", vec![bits, number(2)])?;
                    self.binder.call("+", vec![shifted, bit])?
                }
            });
        }
        let bits = bits.ok_or_else(invalid_group_function)?;
        Ok(bind::implicit_cast(
            bits,
            SqlType {
                length: 21,
                ..SqlType::BIGINT
            },
        ))
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
            index: self.first_aggregate() + position,
            ty: column.ty(),
            nullable,
            label: label_of(column),
        })
    }
}

/// What the keys of a query WITH ROLLUP are grouped as, for rows that come once more than there are keys: in
/// copy n the last n keys are NULL; and the copy's number, so that these NULLs are not taken for values.
/// `copy` is its column.
pub fn rolled_keys(binder: &Binder<'_>, keys: Vec<Expr>, copy: &Expr) -> Result<Vec<Expr>> {
    let count = keys.len();
    let mut rolled = Vec::with_capacity(count + 1);
    for (position, key) in keys.into_iter().enumerate() {
        let is_rolled = rolled_up(binder, copy.clone(), position, count)?;
        rolled.push(Expr::Case {
            ty: key.ty(),
            branches: vec![(binder.call("not", vec![is_rolled])?, key)],
            otherwise: None,
        });
    }
    rolled.push(copy.clone());
    Ok(rolled)
}

/// The order that groups WITH ROLLUP come in: by the keys, and behind each group of groups the one that sums
/// it up.
pub fn rollup_order(binder: &Binder<'_>, keys: &[Expr]) -> Result<Vec<SortKey>> {
    let copy = Expr::column(keys.len(), SqlType::BIGINT, true);
    let mut order = Vec::with_capacity(keys.len() * 2);
    for (position, key) in keys.iter().enumerate() {
        let is_rolled = rolled_up(binder, copy.clone(), position, keys.len())?;
        for expr in [is_rolled, Expr::column(position, key.ty(), true)] {
            order.push(SortKey {
                expr,
                descending: false,
            });
        }
    }
    Ok(order)
}

/// Whether the key at `position` of `count` is rolled up.
fn rolled_up(binder: &Binder<'_>, copy: Expr, position: usize, count: usize) -> Result<Expr> {
    binder.call(">=", vec![copy, number((count - position) as i64)])
}

fn number(value: i64) -> Expr {
    Expr::literal(Value::Int(value), SqlType::BIGINT)
}

/// Error 3602.
pub fn not_a_key(position: usize) -> Error {
    Error::new(
        3602,
        format!("Argument #{position} of GROUPING function is not in GROUP BY"),
    )
}

fn label_of(expr: &Expr) -> functions::expr::Label {
    match expr {
        Expr::Column { label, .. } => label.clone(),
        _ => functions::expr::Label::NONE,
    }
}
