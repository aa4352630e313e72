//! Grouped queries: expressions over a table's rows are rewritten over the rows of its groups.

use std::collections::BTreeSet;

use functions::Expr;
use functions::aggregate;
use functions::bind;
use functions::expr::Label;
use types::{Error, Result, SqlType, TypeKind, Value};

use super::Binder;
use super::context::{Aggregates, PendingWindow, invalid_group_function};
use crate::logical::ColumnId;
use crate::plan::SortKey;

/// The output of an aggregation while expressions above it are rewritten.
pub struct Groups<'a, 'b> {
    pub binder: &'a Binder<'b>,
    pub keys: &'a [Expr],
    pub key_ids: &'a [ColumnId],
    /// WITH ROLLUP: the number of the keys that are rolled up.
    pub rollup: Option<ColumnId>,
    pub aggregates: &'a Aggregates,
    /// The columns of the rows that are grouped.
    pub below: &'a BTreeSet<ColumnId>,
}

impl Groups<'_, '_> {
    /// An expression over the columns that the aggregation puts out. A column that is not a key becomes the
    /// value of the group's first row: it has been checked that the group has one value only, or that any
    /// value will do.
    pub fn rewrite(&mut self, expr: &Expr) -> Result<Expr> {
        if let Some(key) = self.keys.iter().position(|key| key == expr) {
            return Ok(self.key(key, expr));
        }
        Ok(match expr {
            Expr::Column { index, .. } if self.below.contains(&ColumnId(*index)) => {
                self.first_of_group(expr)?
            }
            Expr::Call { function, args, .. } if function.0.name == "grouping" => self.grouping(args)?,
            _ => expr.of_parts(&mut |part| self.rewrite(part))?,
        })
    }

    /// The column of a key.
    fn key(&self, position: usize, expr: &Expr) -> Expr {
        Expr::Column {
            index: self.key_ids[position].0,
            ty: expr.ty(),
            nullable: self.rollup.is_some() || expr.nullable(),
            label: label_of(expr),
        }
    }

    /// As [`Self::rewrite`], of a select item or what rows are ordered by. As in MySQL, a key of an ENUM or SET that may be
    /// rolled up is its text there.
    pub fn rewrite_shown(&mut self, expr: &Expr) -> Result<Expr> {
        let rewritten = self.rewrite(expr)?;
        Ok(self.shown(rewritten))
    }

    fn shown(&self, expr: Expr) -> Expr {
        match &expr {
            Expr::Column { index, .. }
                if self.rollup.is_some() && self.key_ids.contains(&ColumnId(*index)) =>
            {
                as_varchar(bind::without_members(expr))
            }
            _ => expr,
        }
    }

    /// A select item that is a key.
    pub fn key_item(&self, position: usize, expr: &Expr) -> Expr {
        self.shown(self.key(position, expr))
    }

    /// The window and the arguments of a call, which is made above the aggregation.
    pub fn rewrite_window(&mut self, pending: &mut PendingWindow) -> Result<()> {
        for expr in &mut pending.window.partition_by {
            *expr = self.rewrite(expr)?;
        }
        for key in &mut pending.window.order_by {
            key.expr = self.rewrite_shown(&key.expr)?;
        }
        let mut result = Ok(());
        let mut rewrite = |expr: &mut Expr| match self.rewrite(expr) {
            Ok(mapped) => *expr = mapped,
            Err(error) => result = Err(error),
        };
        pending.window.frame.expressions_mut(&mut rewrite);
        pending.call.expressions_mut(&mut rewrite);
        result
    }

    /// `GROUPING(a, b)`: a bit for each key, set where it is rolled up.
    fn grouping(&self, args: &[Expr]) -> Result<Expr> {
        let Some(rollup) = self.rollup else {
            return Err(invalid_group_function());
        };
        let mut bits: Option<Expr> = None;
        for (position, arg) in args.iter().enumerate() {
            let Some(key) = key_of(self.keys, arg) else {
                return Err(not_a_key(position + 1));
            };
            let bit = rolled_up(
                self.binder,
                Expr::column(rollup.0, SqlType::BIGINT, false),
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
        let call = aggregate::bind("any_value", vec![column.clone()], false, &self.binder.types)?;
        let index = match self.binder.aggregate_column(&call, self.aggregates) {
            Expr::Column { index, .. } => index,
            _ => return Err(Error::internal("the result of an aggregate is not a column")),
        };
        // Without GROUP BY there is a group even if there is no row.
        let nullable = column.nullable() || self.keys.is_empty();
        Ok(Expr::Column {
            index,
            ty: column.ty(),
            nullable,
            label: label_of(column),
        })
    }
}

/// The position of the key that an argument of GROUPING() names. An ENUM is the key itself, and not its text.
pub fn key_of(keys: &[Expr], arg: &Expr) -> Option<usize> {
    keys.iter().position(|key| key == arg || key == arg.as_stored())
}

/// Which keys groups are sorted against. MySQL takes the directions of ORDER BY if it names nothing but the first keys,
/// in their order.
pub fn directions_of(keys: &[Expr], order_by: &[SortKey]) -> Vec<bool> {
    let names_keys = order_by.len() <= keys.len()
        && keys
            .iter()
            .zip(order_by)
            .all(|(key, named)| *key == named.expr || key == named.expr.as_stored());
    let named = if names_keys { order_by } else { &[] };
    let mut descending: Vec<bool> = named.iter().map(|key| key.descending).collect();
    descending.resize(keys.len(), false);
    descending
}

/// The order that groups WITH ROLLUP come in: by the keys, and after each group of groups the one that sums
/// it up.
pub fn rollup_order(
    binder: &Binder<'_>,
    keys: &[Expr],
    key_ids: &[ColumnId],
    descending: &[bool],
    rollup: ColumnId,
) -> Result<Vec<SortKey>> {
    let copy = Expr::column(rollup.0, SqlType::BIGINT, false);
    let mut order = Vec::with_capacity(keys.len() * 2);
    for (position, key) in keys.iter().enumerate() {
        let is_rolled = rolled_up(binder, copy.clone(), position, keys.len())?;
        let key = Expr::column(key_ids[position].0, key.ty(), true);
        for (expr, descending) in [(is_rolled, false), (key, descending[position])] {
            order.push(SortKey { expr, descending });
        }
    }
    Ok(order)
}

/// A text as MySQL has it in its temporary table.
fn as_varchar(expr: Expr) -> Expr {
    match expr {
        Expr::Cast { input, ty, implicit } => Expr::Cast {
            input,
            ty: SqlType {
                kind: TypeKind::VarChar,
                ..ty
            },
            implicit,
        },
        other => other,
    }
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

fn label_of(expr: &Expr) -> Label {
    match expr {
        Expr::Column { label, .. } => label.clone(),
        _ => Label::NONE.with_strength(Some(bind::strength_of(std::slice::from_ref(expr)))),
    }
}
