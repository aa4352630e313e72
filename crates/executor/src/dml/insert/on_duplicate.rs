//! ON DUPLICATE KEY UPDATE: the existing row is changed instead of an insert.

use planner::plan::{AssignedSubqueries, InsertPlan, RowUpdate};
use schema::model::Table;
use types::{Error, Result, Value};

use super::existing::Existing;
use crate::context::{DmlResult, ExecContext};
use crate::dml::assign::{NullRule, WarnedNulls, assign_row, is_same_row};
use crate::dml::computed::Computed;
use crate::dml::defaults::now;
use crate::dml::duplicate;
use crate::dml::foreign_key::ForeignKeys;
use crate::dml::image::is_misplaced;
use crate::dml::row_check::{self, ViewChecker};
use crate::dml::touched::Touched;
use crate::dml::warn;
use crate::dml::writer::{Writer, unique_keys};
use crate::memory::Memory;
use crate::operator::row_query::RowQuery;

pub(super) struct OnDuplicate<'p> {
    table: &'p Table,
    update: &'p RowUpdate,
    /// Those of the assignments, by their positions in the list.
    subqueries: Vec<(usize, RowQuery<'p>)>,
    check: Option<ViewChecker<'p>>,
    ignore: bool,
    /// The statement has several rows of VALUES, of which none fails for a NULL that an update assigns.
    has_several_rows: bool,
    touched: &'p Touched,
    computed: Option<Computed<'p>>,
}

/// How the existing row was changed.
#[derive(Debug, Default)]
pub(super) struct Changed {
    affected: u64,
    matched: u64,
    /// The new value of the AUTO_INCREMENT column.
    pub id: Option<Value>,
}

impl Changed {
    /// With IGNORE the duplicates are the rows that have changed nothing, otherwise those that have.
    pub fn count(&self, result: &mut DmlResult, ignore: bool) {
        result.affected += self.affected;
        result.matched += self.matched;
        result.duplicates += u64::from((self.affected > 0) != ignore);
    }
}

impl<'p> OnDuplicate<'p> {
    /// `memory`: the statement's, which subqueries need.
    pub fn new(
        plan: &'p InsertPlan,
        update: &'p RowUpdate,
        touched: &'p Touched,
        memory: Option<&'p Memory<'p>>,
    ) -> Result<Self> {
        let query = |assigned: &'p AssignedSubqueries| {
            let memory = memory.ok_or_else(|| Error::internal("a subquery without its memory"))?;
            let query = RowQuery::new(&assigned.query, memory);
            Ok((assigned.assignment, query))
        };
        Ok(Self {
            table: &plan.table,
            update,
            subqueries: update.subqueries.iter().map(query).collect::<Result<_>>()?,
            check: ViewChecker::of(plan.check.as_ref(), memory)?,
            ignore: plan.ignore,
            has_several_rows: plan.given_rows.is_some_and(|rows| rows > 1),
            touched,
            computed: Computed::of_touched(&plan.table, touched)?,
        })
    }

    /// `number`: the number of `offered` among the statement's rows, for messages. `warned`: the columns for
    /// whose NULLs the statement has warned.
    pub fn run(
        &self,
        old: &Existing,
        (offered, further): (&[Value], &[Value]),
        number: u64,
        warned: &WarnedNulls,
        (writer, keys): (&mut Writer<'_, '_>, Option<&mut ForeignKeys<'_>>),
        ctx: &ExecContext<'_>,
    ) -> Result<Changed> {
        // The assignments see the offered row after the existing one, then what else the query gave, and what
        // subqueries give.
        let mut new = [&old.row, offered, further].concat();
        let nulls = match self.ignore || self.has_several_rows {
            true => NullRule::of(ctx.eval).once(warned),
            false => NullRule::Error,
        };
        let mut rest = self.update.assignments.as_slice();
        for (position, subqueries) in &self.subqueries {
            let done = self.update.assignments.len() - rest.len();
            let (before, after) = rest.split_at(position.saturating_sub(done).min(rest.len()));
            assign_row(self.table, before, &mut new, number, (nulls, true), ctx.eval)?;
            rest = after;
            let values = subqueries.run(&new, writer.txn, ctx)?;
            new.extend(values);
        }
        assign_row(self.table, rest, &mut new, number, (nulls, true), ctx.eval)?;
        new.truncate(old.row.len());
        if is_same_row(&new, &old.row) {
            return Ok(Changed {
                matched: 1,
                ..Changed::default()
            });
        }
        for &column in &self.touched.on_update {
            if let (Some(cell), Some(column)) = (new.get_mut(column), self.table.columns.get(column)) {
                *cell = now(&column.ty, ctx.eval);
            }
        }
        if let Some(computed) = &self.computed {
            computed.generate(&mut new, number, nulls, ctx.eval)?;
        }
        let (check, computed) = (self.check.as_ref(), self.computed.as_ref());
        if !row_check::admits(check, computed, &new, self.ignore, writer.txn, ctx)? {
            return Ok(Changed::default());
        }
        let maker = writer.maker;
        let handle = Some(&old.handle);
        let indexes = &self.touched.indexes;
        let old_image = maker.image_beside(&old.key, &old.row, handle, indexes)?;
        let new_handle = handle.filter(|_| !self.touched.keys);
        let new_image = match self.touched.partitions {
            true => match maker.image(&new, new_handle, indexes) {
                Err(error) if self.ignore && is_misplaced(&error) => {
                    warn(ctx.eval, error.code, error.message);
                    return Ok(Changed::default());
                }
                image => image?,
            },
            false => maker.image_beside(&old.key, &new, new_handle, indexes)?,
        };
        debug_assert_eq!(old_image.key, old.key);
        let locked = unique_keys(&old_image).chain(unique_keys(&new_image));
        writer.lock(locked.map(<[u8]>::to_vec).collect::<Vec<_>>().into_iter())?;
        if let Some(conflict) = writer.conflict(&new_image, Some(&old_image))? {
            let error = duplicate::error(self.table, conflict.key, &new, &ctx.eval.sql_mode);
            if !self.ignore || conflict.is_building {
                return Err(error);
            }
            warn(ctx.eval, error.code, error.message);
            return Ok(Changed::default());
        }
        let value = maker.value(&new)?;
        match keys {
            None => writer.update(old_image, new_image, value)?,
            Some(keys) => {
                keys.lock_removed(std::iter::once((old.key.as_slice(), &old.row)), writer)?;
                let savepoint = self.ignore.then(|| writer.txn.savepoint());
                let done = keys
                    .check_parents(Some(&old.row), &new, writer.txn)
                    .and_then(|()| writer.update(old_image, new_image, value))
                    .and_then(|()| keys.changed(&old.row, &new, writer.txn));
                if !keys.settle(done, savepoint, writer.txn)? {
                    return Ok(Changed::default());
                }
            }
        }
        let id = self.table.id_column();
        Ok(Changed {
            affected: 2,
            matched: 2,
            id: id.and_then(|at| new.get(at).cloned()),
        })
    }
}
