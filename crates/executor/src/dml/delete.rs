//! DELETE.

use kv::Transaction;
use planner::plan::DeletePlan;
use types::Result;

use super::image::{ImageMaker, rows_of};
use super::target::{Rows, keys_of};
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
    let maker = ImageMaker::new(table, ctx.eval.time_zone)?;
    let memory = Memory::new(ctx.memory_limit_bytes);
    let mut source = ReadSource::Transaction(txn);
    let mut env = Env {
        ctx,
        source: &mut source,
        memory: &memory,
    };
    let mut rows = Rows::open(&plan.target, false, &mut env)?;
    let mut result = DmlResult::default();
    while let Some(batch) = rows.next(&mut env)? {
        let keys = keys_of(&batch)?;
        let images = rows_of(&batch, table)
            .iter()
            .zip(keys)
            .map(|(row, key)| maker.image(row, Some(&maker.handle(key)?), maker.secondary()))
            .collect::<Result<Vec<_>>>()?;
        let mut writer = Writer::new(env.source.transaction()?, &maker, ctx);
        // The rows themselves are locked already.
        let entries = images.iter().flat_map(|image| unique_keys(image).skip(1));
        writer.lock(entries.map(<[u8]>::to_vec))?;
        for image in &images {
            writer.delete(image)?;
        }
        result.affected += images.len() as u64;
        result.matched += images.len() as u64;
    }
    Ok(result)
}
