//! DELETE.

use std::sync::Arc;

use kv::Transaction;
use planner::plan::DeletePlan;
use types::Result;

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
    let maker = ImageMaker::new(table, &layout.codec, ctx.eval.time_zone);
    let mut result = DmlResult::default();
    let mut writer = Writer::new(txn, &maker, ctx);
    if let Some(point) = &layout.point {
        let found = point.lock(&plan.target, &mut writer, ctx)?;
        remove(
            found.into_iter().map(|found| (found.key, found.row)),
            &mut writer,
            &mut result,
        )?;
        return Ok(result);
    }
    let memory = Memory::in_transaction(ctx, txn);
    let mut source = ReadSource::Transaction(txn);
    let mut env = Env {
        ctx,
        source: &mut source,
        memory: &memory,
        implied_locking: None,
        takes_no_locks: false,
        holds_least_after_sort: true,
    };
    let mut rows = Rows::open(&plan.target, false, &mut env)?;
    while let Some(batch) = rows.next(&mut env)? {
        let found = keys_of(&batch)?.into_iter().zip(rows_of(&batch, table));
        let mut writer = Writer::new(env.source.transaction()?, &maker, ctx);
        remove(found, &mut writer, &mut result)?;
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
        Ok(Self {
            codec: TableCodec::of(table)?,
            point: Point::of(&plan.target, parts.map(|part| part.column))?,
        })
    }
}

/// Removes rows that are locked.
pub(super) fn remove<K: AsRef<[u8]>>(
    rows: impl Iterator<Item = (K, Row)>,
    writer: &mut Writer<'_, '_>,
    result: &mut DmlResult,
) -> Result<()> {
    let maker = writer.maker;
    let images = rows.map(|(key, row)| {
        let handle = maker.handle(key.as_ref())?;
        maker.image(&row, Some(&handle), maker.secondary())
    });
    let images = images.collect::<Result<Vec<_>>>()?;
    let entries = images.iter().flat_map(|image| unique_keys(image).skip(1));
    writer.lock(entries.map(<[u8]>::to_vec))?;
    result.affected += images.len() as u64;
    result.matched += images.len() as u64;
    for image in images {
        writer.delete(image)?;
    }
    Ok(())
}
