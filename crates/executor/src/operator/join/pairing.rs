//! The operator of all joins: its right side is in memory as a whole ([`Pairs`]), or comes [`super::in_blocks`].

use arrow::record_batch::RecordBatch;
use types::Result;

use super::in_blocks::Ordered;
use super::pairs::Pairs;
use super::partners::Partners;
use crate::env::Env;
use crate::operator::Operator;

/// See the module.
#[allow(clippy::large_enum_variant, reason = "nearly all are the large one")]
pub(in crate::operator) enum Pairing<'p, P> {
    InMemory(Pairs<'p, P>),
    InBlocks(Box<Ordered<'p>>),
    Ended,
}

impl<'p, P: Partners + 'p> Operator for Pairing<'p, P> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        if let Self::InMemory(pairs) = self {
            let batch = pairs.next(env, wanted)?;
            let Some(first) = pairs.take_first() else {
                return Ok(batch);
            };
            if let Self::InMemory(pairs) = std::mem::replace(self, Self::Ended) {
                *self = Self::InBlocks(Box::new(Ordered::new(pairs, first)));
            }
        }
        match self {
            Self::InBlocks(rows) => rows.next(env, wanted),
            _ => Ok(None),
        }
    }
}
