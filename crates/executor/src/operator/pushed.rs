//! Rows that the stores have computed.

use std::borrow::Cow;

use arrow::record_batch::RecordBatch;
use coprocessor::Program;
use planner::plan::{Rel, TableScan};
use types::Result;

use super::filter::split;
use super::scan::counted;
use super::{BoxOperator, Operator};
use crate::env::Env;
use crate::memory::Held;
use crate::pushed::PushedRows;

/// `None`: the stores do not compute it for this reader, which sees or locks other rows than they do.
pub(super) fn open<'p>(input: &'p Rel, env: &mut Env<'_, '_>) -> Result<Option<BoxOperator<'p>>> {
    let Some(scan) = Program::scan(input).filter(|scan| env.locking_of(scan).is_none()) else {
        return Ok(None);
    };
    scan.table.check_readable_at(env.source.ts())?;
    let (reader, memory_bytes) = (env.source.reader(), env.ctx.memory_limit_bytes);
    let rows = PushedRows::open(Cow::Borrowed(input), reader, memory_bytes, env.eval())?;
    Ok(rows.map(|rows| {
        Box::new(Pushed {
            scan,
            rows,
            held: Held::default(),
            rest: None,
        }) as BoxOperator<'p>
    }))
}

struct Pushed<'p> {
    scan: &'p TableScan,
    rows: PushedRows<'p>,
    held: Held,
    /// Rows beyond the number that was asked for.
    rest: Option<RecordBatch>,
}

impl Operator for Pushed<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        env.check_interrupted()?;
        if self.rest.is_none() {
            let Some((batch, bytes)) = self.rows.next_batch(env.source.reader(), env.eval())? else {
                return Ok(None);
            };
            self.held.resize(bytes, env.memory)?;
            counted::count(env.eval(), self.scan, batch.num_rows());
            self.rest = Some(batch);
        }
        let Some(batch) = self.rest.take() else {
            return Ok(None);
        };
        let (now, later) = split(batch, wanted);
        self.rest = later;
        Ok(Some(now))
    }
}
