//! Reads one log from its start: its complete batches, up to its end. Block by block, without holding any of
//! it.

use super::log_format::{self, Batch, End, Found, Part};

/// A complete batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeBatch {
    pub batch: Batch,
    /// The offset in the file where it starts.
    pub start: u64,
    /// The offset where it ends.
    pub end: u64,
}

/// Reads the blocks of a log, in their order.
#[derive(Debug)]
pub struct LogReader {
    number: u64,
    /// The head of the batch whose end has not been read yet, and the offset where it starts.
    open: Option<(Vec<u8>, u64)>,
}

impl LogReader {
    pub fn new(number: u64) -> Self {
        Self { number, open: None }
    }

    /// Visits the batches that end in the block at `offset`. `Some`: the log ends, in this block or before.
    /// `visit` ends it by returning `false`.
    pub fn read_block(
        &mut self,
        offset: u64,
        block: &[u8],
        visit: &mut dyn FnMut(WholeBatch) -> bool,
    ) -> Option<End> {
        let mut at = 0;
        loop {
            let fragment = match log_format::read(block, at, self.number) {
                Found::Fragment(fragment) => fragment,
                Found::NextBlock => return None,
                Found::End(End::OfFile) => return Some(self.end_of_file()),
                Found::End(end) => return Some(end),
            };
            let start = offset + at as u64;
            at = fragment.end;
            let Some(whole) = (match self.add(fragment.part, fragment.payload, start) {
                Ok(whole) => whole,
                Err(end) => return Some(end),
            }) else {
                continue;
            };
            let (head, start) = whole;
            let Some(batch) = Batch::parse(&head) else {
                return Some(End::Broken("a record that is too short"));
            };
            let end = offset + at as u64;
            if !visit(WholeBatch { batch, start, end }) {
                return Some(End::Broken("a record whose sequence number does not follow"));
            }
        }
    }

    /// How the log ends if the file ends here.
    pub fn end_of_file(&self) -> End {
        match self.open {
            Some(_) => End::Broken("the file ends within a record"),
            None => End::OfFile,
        }
    }

    /// The head of a batch that this fragment completes, and the offset where it starts.
    fn add(&mut self, part: Part, payload: &[u8], start: u64) -> Result<Option<(Vec<u8>, u64)>, End> {
        let head = |payload: &[u8]| {
            payload
                .iter()
                .copied()
                .take(Batch::HEAD_BYTES)
                .collect::<Vec<_>>()
        };
        match (part, &mut self.open) {
            (Part::Note, None) => Ok(None),
            (Part::Whole, None) => Ok(Some((head(payload), start))),
            (Part::First, None) => {
                self.open = Some((head(payload), start));
                Ok(None)
            }
            (Part::Middle | Part::Last, Some((so_far, _))) => {
                let missing = Batch::HEAD_BYTES.saturating_sub(so_far.len());
                so_far.extend(payload.iter().take(missing));
                Ok(match part {
                    Part::Last => self.open.take(),
                    _ => None,
                })
            }
            (Part::Middle | Part::Last, None) => Err(End::Broken("a record without a beginning")),
            (_, Some(_)) => Err(End::Broken("a record without an end")),
        }
    }
}
