//! ON DUPLICATE KEY UPDATE: the row that is there already is changed in place of the insert.

use catalog::model::Table;
use planner::plan::Assignment;
use types::{Result, Value};

use super::Existing;
use crate::context::{DmlResult, ExecContext};
use crate::dml::assign::{assign_row, is_same_row};
use crate::dml::defaults::{now, on_update_columns};
use crate::dml::duplicate;
use crate::dml::image::ImageMaker;
use crate::dml::warn;
use crate::dml::writer::{Writer, unique_keys};

pub(super) struct OnDuplicate<'p> {
    table: &'p Table,
    assignments: &'p [Assignment],
    ignore: bool,
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
        // The assignments see the offered row behind the existing one.
        let mut new = [&old.row, offered].concat();
        assign_row(self.table, self.assignments, &mut new, number, ctx.eval)?;
        new.truncate(old.row.len());
        if is_same_row(&new, &old.row) {
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
            if !self.ignore || conflict.is_building {
                return Err(error);
            }
            warn(ctx.eval, error.code, error.message);
            return Ok(Changed::default());
        }
        writer.update(&old_image, new_image)?;
        let id = self.table.id_column();
        Ok(Changed {
            affected: 2,
            matched: 2,
            duplicates: 1,
            id: id.and_then(|at| new.get(at).cloned()),
        })
    }
}
