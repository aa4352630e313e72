//! DELETE.

use std::sync::Arc;

use kv::Transaction;
use planner::plan::DeletePlan;
use types::Result;

use super::foreign_key::ForeignKeys;
use super::image::{ImageMaker, Row, rows_of};
use super::table_codec::TableCodec;
use super::target::{Point, Rows, keys_of};
use super::writer::{Writer, unique_keys};
use crate::context::{DmlResult, ExecContext};
use crate::env::Env;
use crate::memory::Memory;
use crate::source::ReadSource;

/// Runs a DELETE in a transaction. On failure the caller undoes what was written.
///
/// # Errors
/// What the search and the locks fail with, and failures of the store.
pub fn delete(plan: &DeletePlan, txn: &mut Transaction, ctx: &ExecContext<'_>) -> Result<DmlResult> {
    let table = &plan.target.scan.table;
    let layout = plan.execution_cache.get_or_make(|| DeleteLayout::of(plan))?;
    let maker = ImageMaker::new(
        table,
        &layout.codec,
        plan.target.scan.named_partitions(),
        ctx.eval,
    )?;
    let mut result = DmlResult::default();
    let memory = match (&layout.point, &plan.foreign_keys) {
        (Some(_), None) => None,
        _ => Some(Memory::in_transaction(ctx, txn)),
    };
    let mut keys = ForeignKeys::of(plan.foreign_keys.as_deref(), memory.as_ref(), ctx)?;
    let mut removal = Removal {
        keys: keys.as_mut(),
        ignore: plan.ignore,
        result: &mut result,
    };
    let mut writer = Writer::new(txn, &maker, ctx);
    let (None, Some(memory)) = (&layout.point, &memory) else {
        let Some(point) = &layout.point else {
            return Ok(result);
        };
        let found = point.lock(&plan.target, &mut writer, ctx)?;
        let found = found.into_iter().map(|found| (found.key, found.row));
        removal.remove(found, &mut writer)?;
        return Ok(result);
    };
    let mut source = ReadSource::Transaction(txn);
    let mut env = Env {
        holds_least_after_sort: true,
        ..Env::new(ctx, &mut source, memory)
    };
    let mut rows = Rows::open(&plan.target, false, &mut env)?;
    while let Some(batch) = rows.next(&mut env)? {
        let found = keys_of(&batch)?.into_iter().zip(rows_of(&batch, table));
        let mut writer = Writer::new(env.source.transaction()?, &maker, ctx);
        removal.remove(found, &mut writer)?;
    }
    Ok(result)
}

/// The parts of a DELETE that are the same in every execution.
struct DeleteLayout {
    codec: Arc<TableCodec>,
    point: Option<Point>,
}

impl DeleteLayout {
    fn of(plan: &DeletePlan) -> Result<Self> {
        let table = &plan.target.scan.table;
        let parts = table.indexes.iter().flat_map(|index| &index.parts);
        let referenced = plan.foreign_keys.iter().flat_map(|keys| keys.columns_of_target());
        let read = parts.map(|part| part.column).chain(referenced);
        Ok(Self {
            codec: TableCodec::of(table)?,
            point: Point::of(&plan.target, read)?,
        })
    }
}

/// Removes the rows of one table, and counts them.
pub(super) struct Removal<'r, 'p> {
    pub keys: Option<&'r mut ForeignKeys<'p>>,
    pub ignore: bool,
    pub result: &'r mut DmlResult,
}

impl Removal<'_, '_> {
    /// Removes rows that are locked, and acts on what refers to them.
    ///
    /// # Errors
    /// 1451 if the rows must not be removed; those of the store.
    pub fn remove<K: AsRef<[u8]>>(
        &mut self,
        rows: impl Iterator<Item = (K, Row)>,
        writer: &mut Writer<'_, '_>,
    ) -> Result<()> {
        let Some(keys) = self.keys.as_deref_mut() else {
            return remove(rows, writer, self.result);
        };
        if !keys.is_cyclic() && !self.ignore {
            let rows: Vec<(K, Row)> = rows.collect();
            keys.lock_removed(rows.iter().map(|(key, row)| (key.as_ref(), row)), writer)?;
            let removed: Vec<Row> = rows.iter().map(|(_, row)| row.clone()).collect();
            remove(rows.into_iter(), writer, self.result)?;
            return keys.removed(&removed, writer.txn);
        }
        for (key, row) in rows {
            let key = key.as_ref();
            // What was done for the rows before may have removed or changed this one.
            let row = match writer.txn.writes().get(key) {
                Some(None) => continue,
                Some(Some(stored)) => writer.maker.decode(key, stored)?,
                None => row,
            };
            keys.lock_removed(std::iter::once((key, &row)), writer)?;
            let savepoint = self.ignore.then(|| writer.txn.savepoint());
            let mut counted = DmlResult::default();
            let done = remove(std::iter::once((key, row.clone())), writer, &mut counted)
                .and_then(|()| keys.removed(std::slice::from_ref(&row), writer.txn));
            if keys.settle(done, savepoint, writer.txn)? {
                self.result.affected += counted.affected;
                self.result.matched += counted.matched;
            }
        }
        Ok(())
    }
}

/// Removes rows that are locked.
fn remove<K: AsRef<[u8]>>(
    rows: impl Iterator<Item = (K, Row)>,
    writer: &mut Writer<'_, '_>,
    result: &mut DmlResult,
) -> Result<()> {
    let maker = writer.maker;
    let images = rows.map(|(key, row)| {
        let handle = maker.handle(key.as_ref())?;
        maker.image_beside(key.as_ref(), &row, Some(&handle), maker.secondary())
    });
    let images = images.collect::<Result<Vec<_>>>()?;
    let entries = images.iter().flat_map(|image| unique_keys(image).skip(1));
    writer.lock(entries.map(<[u8]>::to_vec))?;
    writer.find_outdated(images.iter().map(|image| image.key.as_slice()))?;
    result.affected += images.len() as u64;
    result.matched += images.len() as u64;
    for image in images {
        writer.delete(image)?;
    }
    Ok(())
}
