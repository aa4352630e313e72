//! ON DUPLICATE KEY UPDATE: the row that is there already is changed in place of the insert.

use catalog::model::Table;
use planner::plan::Assignment;
use types::{Result, Value};

use super::Existing;
use crate::context::{DmlResult, ExecContext};
use crate::dml::assign::{NullRule, RowEvaluator, columns_of, value};
use crate::dml::defaults::{self, ColumnDefault, implicit, now, on_update_columns};
use crate::dml::duplicate;
use crate::dml::image::{ImageMaker, Row};
use crate::dml::warn;
use crate::dml::writer::{Writer, unique_keys};

pub(super) struct OnDuplicate<'p> {
    table: &'p Table,
    assignments: &'p [Assignment],
    ignore: bool,
    /// Columns the assignments read: the existing row's at `0..n`, the offered row's at `n..2n`.
    reads: Vec<usize>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
    on_update: Vec<usize>,
    /// Indexes that may change.
    indexes: Vec<usize>,
}

/// What became of the existing row.
#[derive(Debug, Default)]
pub(super) struct Changed {
    affected: u64,
    matched: u64,
    duplicates: u64,
    /// The new value of the AUTO_INCREMENT column.
    pub id: Option<Value>,
}

impl Changed {
    pub fn count(&self, result: &mut DmlResult) {
        result.affected += self.affected;
        result.matched += self.matched;
        result.duplicates += self.duplicates;
    }
}

impl<'p> OnDuplicate<'p> {
    pub fn new(
        table: &'p Table,
        assignments: &'p [Assignment],
        maker: &ImageMaker<'_>,
        ignore: bool,
    ) -> Result<Self> {
        let assigned: Vec<usize> = assignments.iter().map(|a| a.column).collect();
        let on_update = on_update_columns(table, &assigned);
        let touched: Vec<usize> = assigned.iter().chain(&on_update).copied().collect();
        Ok(Self {
            table,
            assignments,
            ignore,
            reads: columns_of(assignments.iter().filter_map(|a| a.value.as_ref())),
            on_update,
            indexes: maker.touched_by(&touched),
        })
    }

    /// `number`: which of the statement's rows `offered` is, for messages.
    pub fn run(
        &self,
        old: &Existing,
        offered: &[Value],
        number: u64,
        writer: &mut Writer<'_, '_>,
        ctx: &ExecContext<'_>,
    ) -> Result<Changed> {
        let mut new = self.assigned(&old.row, offered, number, ctx)?;
        if new == old.row {
            return Ok(Changed {
                matched: 1,
                ..Changed::default()
            });
        }
        for &column in &self.on_update {
            if let (Some(slot), Some(column)) = (new.get_mut(column), self.table.columns.get(column)) {
                *slot = now(&column.ty, ctx.eval);
            }
        }
        let maker = writer.maker;
        let handle = Some(&old.handle);
        let old_image = maker.image(&old.row, handle, &self.indexes)?;
        let new_image = maker.image(&new, handle, &self.indexes)?;
        debug_assert_eq!(old_image.key, old.key);
        let keys = unique_keys(&old_image).chain(unique_keys(&new_image));
        writer.lock(keys.map(<[u8]>::to_vec).collect::<Vec<_>>().into_iter())?;
        if let Some(conflict) = writer.conflict(&new_image, Some(&old_image))? {
            let error = duplicate::error(self.table, conflict.key, &new);
            if !self.ignore {
                return Err(error);
            }
            warn(ctx.eval, error.code, error.message);
            return Ok(Changed::default());
        }
        writer.update(&old_image, new_image)?;
        let id = self.table.columns.iter().position(|c| c.auto_increment);
        Ok(Changed {
            affected: 2,
            matched: 2,
            duplicates: 1,
            id: id.and_then(|at| new.get(at).cloned()),
        })
    }

    /// The existing row after the assignments, made from left to right.
    fn assigned(&self, old: &[Value], offered: &[Value], number: u64, ctx: &ExecContext<'_>) -> Result<Row> {
        let columns = &self.table.columns;
        let types = columns.iter().map(|c| c.ty);
        let mut evaluator = RowEvaluator::new(types.clone().chain(types).collect());
        for &column in &self.reads {
            let value = match column.checked_sub(columns.len()) {
                None => old.get(column),
                Some(column) => offered.get(column),
            };
            evaluator.set(column, value.unwrap_or(&Value::Null))?;
        }
        let mut row = old.to_vec();
        for assignment in self.assignments {
            let (Some(column), Some(slot)) = (columns.get(assignment.column), row.get_mut(assignment.column))
            else {
                continue;
            };
            *slot = match &assignment.value {
                Some(expr) => {
                    let nulls = NullRule::of(ctx.eval);
                    let raw = evaluator.eval(expr, ctx.eval)?;
                    value(raw, &expr.ty(), column, number, nulls, ctx.eval)?
                }
                None => match defaults::given(column, ctx.eval)? {
                    ColumnDefault::Value(value) => value,
                    ColumnDefault::Generated | ColumnDefault::Missing => implicit(&column.ty),
                },
            };
            if self.reads.contains(&assignment.column) {
                evaluator.set(assignment.column, slot)?;
            }
        }
        Ok(row)
    }
}
