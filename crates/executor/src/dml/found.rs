//! UPDATE and DELETE of rows that a query finds: of several tables, or by subqueries.
//!
//! The query's scans of the written tables lock their rows. All its rows are read before the first is
//! written, so that no row is found again after it has been changed.

use std::collections::HashSet;
use std::rc::Rc;

use arrow::array::{Array, AsArray};
use arrow::record_batch::RecordBatch;
use functions::{RowPlace, RowUses};
use kv::Transaction;
use planner::plan::{Assignment, FoundTable, FoundWritePlan};
use types::array::ColumnView;
use types::{Error, Result, SqlType, Value};

use super::auto_increment::AutoIncrement;
use super::computed::Computed;
use super::delete::Removal;
use super::foreign_key::ForeignKeys;
use super::image::{ImageMaker, Row};
use super::last_insert_id_set;
use super::row_check::ViewChecker;
use super::table_codec::TableCodec;
use super::touched::Touched;
use super::update::{RowsByKey, Update};
use super::writer::Writer;
use crate::batch::{ALL_ROWS, batch_bytes};
use crate::context::{DmlResult, ExecContext};
use crate::env::Env;
use crate::memory::{KEY_ENTRY_BYTES, Memory};
use crate::operator::tree;
use crate::source::ReadSource;
use crate::spill::HeldRows;

/// Runs the statement in a transaction. On failure the caller undoes what was written.
///
/// # Errors
/// Those of queries, [`super::update()`] and [`super::delete()`]; 8175 beyond the memory limit.
pub fn write_found(plan: &FoundWritePlan, txn: &mut Transaction, ctx: &ExecContext<'_>) -> Result<DmlResult> {
    let memory = Memory::in_transaction(ctx, txn);
    let is_optimistic = txn.is_optimistic();
    let mut source = ReadSource::Transaction(txn);
    let mut env = Env {
        implied_locking: ctx.insert_select,
        is_optimistic,
        ..Env::new(ctx, &mut source, &memory)
    };
    let mut rows = HeldRows::builder();
    let mut root = tree::open(&plan.root, &mut env)?;
    while let Some(batch) = root.next(&mut env, ALL_ROWS)? {
        rows.add(batch, env.memory, ctx)?;
    }
    drop(root);
    let found = FoundRows {
        rows: Rc::new(rows.finish()?),
        types: plan.root.output_types(),
    };
    let mut result = DmlResult::default();
    let mut first = None;
    for (position, table) in plan.tables.iter().enumerate() {
        // Under another alias, or by foreign keys, rows of the same table have been written already.
        let again = plan.tables[..position].iter().any(|other| {
            let through_keys = other
                .foreign_keys
                .as_ref()
                .is_some_and(|keys| keys.may_change(table.table.id));
            other.table.id == table.table.id || through_keys
        });
        let done = match &table.assignments {
            Some(assignments) => {
                let is_first = position == 0 && plan.first_is_seen;
                let (done, assigned) = update(
                    (table, again),
                    assignments,
                    plan.ignore,
                    (&found, first.as_ref()),
                    is_first,
                    &mut env,
                )?;
                first = first.or(assigned.map(|rows| AssignedRows { table, rows }));
                done
            }
            None => delete((table, again), plan.ignore, &found, &mut env)?,
        };
        let changed = done.affected;
        let uses = match table.assignments {
            Some(_) => RowUses {
                updated: changed,
                ..RowUses::default()
            },
            None => RowUses {
                deleted: changed,
                ..RowUses::default()
            },
        };
        // The rows are found first, and changed by their keys.
        let place = RowPlace {
            table: table.table.id,
            index: None,
        };
        ctx.eval.reads.used_at(place, uses);
        result.affected += done.affected;
        result.matched += done.matched;
    }
    Ok(DmlResult {
        ok_insert_id: last_insert_id_set(ctx.eval).unwrap_or(0),
        ..result
    })
}

fn update(
    (found, again): (&FoundTable, bool),
    assignments: &[Assignment],
    ignore: bool,
    (rows, first): (&FoundRows, Option<&AssignedRows<'_>>),
    is_first: bool,
    env: &mut Env<'_, '_>,
) -> Result<(DmlResult, Option<RowsByKey>)> {
    let ctx = env.ctx;
    let table = &found.table;
    let codec = TableCodec::of(table)?;
    let touched = Touched::by(assignments, table, &codec)?;
    let assigns_ids = table
        .id_column()
        .is_some_and(|column| assignments.iter().any(|a| a.column == column));
    let txn = env.source.transaction()?;
    let mut update = Update {
        table,
        assignments,
        check: ViewChecker::of(found.check.as_ref(), Some(env.memory))?,
        ignore,
        ctx,
        touched: &touched,
        computed: Computed::of_touched(table, &touched)?,
        keys: ForeignKeys::of(found.foreign_keys.as_deref(), Some(env.memory), ctx)?,
        ids: assigns_ids
            .then(|| AutoIncrement::of(table, true, txn.start_ts(), ctx))
            .flatten(),
        assigned_rows: is_first.then(RowsByKey::new),
        result: DmlResult::default(),
    };
    let maker = ImageMaker::new(table, &codec, found.partitions.as_deref(), ctx.eval)?;
    let mut seen = HashSet::new();
    let mut batches = rows.rows.read()?;
    while let Some(batch) = batches.next()? {
        env.check_interrupted()?;
        let warned = ctx.eval.warnings.count();
        let mut changed = rows.of(&batch, found, &mut seen, true, env)?;
        if let Some(first) = first {
            first.replace(&mut changed, found.columns.len());
        }
        let mut writer = Writer::new(env.source.transaction()?, &maker, ctx);
        let changed = if again {
            as_they_are(changed, &mut writer)?
        } else {
            changed
        };
        if is_first {
            // The rows as they are assigned are held, too.
            env.memory
                .grow(changed.len() * KEY_ENTRY_BYTES + batch_bytes(&batch))?;
        }
        update.change_all(changed.into_iter(), warned, &mut writer)?;
    }
    if let Some(ids) = &mut update.ids {
        ids.report_explicit(ctx)?;
    }
    Ok((update.result, update.assigned_rows))
}

fn delete(
    (found, again): (&FoundTable, bool),
    ignore: bool,
    rows: &FoundRows,
    env: &mut Env<'_, '_>,
) -> Result<DmlResult> {
    let ctx = env.ctx;
    let codec = TableCodec::of(&found.table)?;
    let maker = ImageMaker::new(&found.table, &codec, None, ctx.eval)?;
    let mut result = DmlResult::default();
    let mut keys = ForeignKeys::of(found.foreign_keys.as_deref(), Some(env.memory), ctx)?;
    let mut removal = Removal {
        keys: keys.as_mut(),
        ignore,
        result: &mut result,
    };
    let mut seen = HashSet::new();
    let mut batches = rows.rows.read()?;
    while let Some(batch) = batches.next()? {
        env.check_interrupted()?;
        let removed = rows.of(&batch, found, &mut seen, false, env)?;
        let mut writer = Writer::new(env.source.transaction()?, &maker, ctx);
        let removed = if again {
            as_they_are(removed, &mut writer)?
        } else {
            removed
        };
        removal.remove(removed.into_iter(), &mut writer)?;
    }
    Ok(result)
}

/// Rows with the values that the statement itself has written so far, without those that it has removed or
/// moved. The values after the table's columns are not changed.
fn as_they_are(rows: Vec<(Vec<u8>, Row)>, writer: &mut Writer<'_, '_>) -> Result<Vec<(Vec<u8>, Row)>> {
    let mut current = Vec::with_capacity(rows.len());
    for (key, mut row) in rows {
        if let Some(stored) = writer.get_once(&key)? {
            let now = writer.maker.decode(&key, &stored)?;
            let width = now.len();
            row.splice(..width, now);
            current.push((key, row));
        }
    }
    Ok(current)
}

/// The rows of the statement's first table as they are assigned, by their keys.
struct AssignedRows<'p> {
    table: &'p FoundTable,
    rows: RowsByKey,
}

impl AssignedRows<'_> {
    /// Puts them in place of the rows that were found: among the query's columns, which follow `width` others.
    fn replace(&self, rows: &mut [(Vec<u8>, Row)], width: usize) {
        for (_, row) in rows {
            let assigned = match row.get(width + self.table.key) {
                Some(Value::Bytes(key)) => self.rows.get(key),
                _ => None,
            };
            for (value, position) in assigned.into_iter().flatten().zip(&self.table.columns) {
                if let Some(cell) = row.get_mut(width + position) {
                    *cell = value.clone();
                }
            }
        }
    }
}

/// The query's rows, and the types of their columns.
struct FoundRows {
    rows: Rc<HeldRows>,
    types: Vec<SqlType>,
}

impl FoundRows {
    /// The rows of one table in a batch that have not come before, with their keys: the table's columns, and
    /// with `whole` all columns of the batch after them.
    fn of(
        &self,
        batch: &RecordBatch,
        found: &FoundTable,
        seen: &mut HashSet<Vec<u8>>,
        whole: bool,
        env: &Env<'_, '_>,
    ) -> Result<Vec<(Vec<u8>, Row)>> {
        let keys = batch
            .columns()
            .get(found.key)
            .and_then(|c| c.as_binary_opt::<i32>());
        let Some(keys) = keys else {
            return Err(Error::internal("rows to be written have no keys"));
        };
        let all = batch.columns().iter().zip(&self.types);
        let views: Vec<ColumnView<'_>> = all.map(|(array, ty)| ColumnView::new(array, ty)).collect();
        let mut rows = Vec::new();
        for row in 0..batch.num_rows() {
            if keys.is_null(row) {
                continue;
            }
            let key = keys.value(row).to_vec();
            if seen.contains(&key) {
                continue;
            }
            env.memory.grow(key.len() + KEY_ENTRY_BYTES)?;
            seen.insert(key.clone());
            let own = found.columns.iter().filter_map(|&position| views.get(position));
            let others = views.iter().filter(|_| whole);
            rows.push((key, own.chain(others).map(|view| view.value(row)).collect()));
        }
        Ok(rows)
    }
}
