//! All logs that are needed, in order: how far their sequence numbers continue without a gap, and what is
//! after that.

use super::log_format::{self, BLOCK_BYTES, Batch, End, Part, synced_before};
use super::log_reader::LogReader;
use crate::layout::LAST_COMMIT_KEY;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes read at a time: whole blocks.
const READ_BYTES: usize = 32 * BLOCK_BYTES;

/// One log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    pub number: u64,
    pub path: PathBuf,
    pub bytes: u64,
    /// Where its last complete batch ends that continues the sequence.
    pub valid_bytes: u64,
    /// The number of such batches.
    pub batches: u64,
    /// Why they end there.
    pub end: End,
}

/// The logs, as far as their sequence numbers have no gap.
#[derive(Debug, Default)]
pub struct Chain {
    /// The logs that belong to it. A log without a batch does, wherever it is.
    pub logs: Vec<LogFile>,
    /// The first log that does not, because its first batch leaves a gap, and all later ones.
    pub rest: Vec<(u64, PathBuf)>,
    pub first_sequence: Option<u64>,
    /// The sequence number after the last batch. `None`: there is no batch.
    pub next_sequence: Option<u64>,
    /// A batch that does not belong to it has a sequence number that the chain has too: the directory has
    /// logs of two stores, or another program's.
    pub overlaps: bool,
}

/// What these logs hold after the chain's end.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Behind {
    /// Log and offset of the first fragment.
    pub first: Option<(u64, u64)>,
    /// The number of batches that start and end there, and the sequence number after the last one's last
    /// entry.
    pub batches: u64,
    pub next_sequence: u64,
    /// The batch whose end has not been found: the last one that has none was being written when the process
    /// or the machine stopped.
    open: Option<Batch>,
    /// The highest sequence number that any of them says had been synced when it was written.
    pub synced: Option<u64>,
    /// The last batch does not say how far the log had been synced.
    pub is_last_silent: bool,
}

impl Chain {
    /// Reads the logs, in the order of their numbers.
    pub fn read(logs: Vec<(u64, PathBuf)>) -> io::Result<Self> {
        let mut chain = Self::default();
        let mut logs = logs.into_iter();
        while let Some((number, path)) = logs.next() {
            let log = chain.read_log(number, &path)?;
            let leaves_gap = log.batches == 0 && matches!(log.end, End::Broken(GAP));
            if leaves_gap {
                chain.rest.push((number, path));
                chain.rest.extend(logs.by_ref());
            } else {
                chain.logs.push(log);
            }
        }
        Ok(chain)
    }

    fn read_log(&mut self, number: u64, path: &Path) -> io::Result<LogFile> {
        let file = File::open(path)?;
        let mut reader = LogReader::new(number);
        let (mut valid_bytes, mut batches, mut is_gap) = (0, 0, false);
        let mut end = None;
        let bytes = read_blocks(&file, 0, &mut |offset, block| {
            end = reader.read_block(offset, block, &mut |whole| {
                // RocksDB writes an empty batch when it has ended a recovery before the log's end.
                if whole.batch.count > 0 {
                    if let Some(next) = self.next_sequence
                        && next != whole.batch.sequence
                    {
                        is_gap = true;
                        self.overlaps |= whole.batch.sequence < next;
                        return false;
                    }
                    self.first_sequence.get_or_insert(whole.batch.sequence);
                    self.next_sequence = Some(whole.batch.next_sequence());
                    batches += 1;
                }
                valid_bytes = whole.end;
                true
            });
            match end {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        })?;
        let end = match end {
            Some(_) if is_gap => End::Broken(GAP),
            Some(end) => end,
            None => reader.end_of_file(),
        };
        Ok(LogFile {
            number,
            path: path.to_owned(),
            bytes,
            valid_bytes,
            batches,
            end,
        })
    }

    /// The log that has the last batch. If something has been lost, it is there.
    pub fn last(&self) -> Option<&LogFile> {
        let with_batch = self.logs.iter().rev().find(|log| log.batches > 0);
        with_batch.or(self.logs.first())
    }

    /// The log that ends too early: the last one, or one before a log that leaves a gap.
    pub fn broken(&self) -> Option<&LogFile> {
        let last = self.last()?;
        let mut from_last = self.logs.iter().filter(|log| log.number >= last.number);
        from_last
            .clone()
            .find(|log| matches!(log.end, End::Broken(_)))
            .or(from_last.next_back())
    }

    /// Searches the logs after the chain's end, for batches from `next_sequence` on.
    pub fn behind(&self, next_sequence: u64) -> io::Result<Behind> {
        let mut behind = Behind::default();
        for log in &self.logs {
            behind.search(log.number, &log.path, log.valid_bytes, next_sequence)?;
        }
        for (number, path) in &self.rest {
            behind.search(*number, path, 0, next_sequence)?;
        }
        Ok(behind)
    }

    /// When the last batch was committed, if it says so: a commit's last entry is its timestamp.
    pub fn last_commit_ts(&self) -> Option<u64> {
        let last = self.last()?;
        let mut end = [0; LAST_COMMIT_KEY.len() + 1 + 8 + log_format::SYNCED_BYTES];
        let from = last.valid_bytes.checked_sub(end.len() as u64)?;
        File::open(&last.path).ok()?.read_exact_at(&mut end, from).ok()?;
        synced_before(&end)?;
        let entry = end.strip_prefix(LAST_COMMIT_KEY)?.strip_prefix(&[8])?;
        entry.first_chunk::<8>().copied().map(u64::from_be_bytes)
    }
}

const GAP: &str = "a record whose sequence number does not follow";

impl Behind {
    fn search(&mut self, number: u64, path: &Path, from: u64, next_sequence: u64) -> io::Result<()> {
        let file = File::open(path)?;
        let first_block = from - from % BLOCK_BYTES as u64;
        read_blocks(&file, first_block, &mut |offset, block| {
            let mut at = usize::try_from(from.saturating_sub(offset)).unwrap_or(usize::MAX);
            while let Some(fragment) = log_format::search(block, at, number) {
                let start = offset + fragment.start as u64;
                self.add((number, start), fragment.part, fragment.payload, next_sequence);
                at = fragment.end;
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    fn add(&mut self, place: (u64, u64), part: Part, payload: &[u8], next_sequence: u64) {
        match part {
            Part::Note => return,
            Part::Whole | Part::First => {
                self.open =
                    Batch::parse(payload).filter(|batch| batch.count > 0 && batch.sequence >= next_sequence);
                if self.open.is_none() {
                    return;
                }
            }
            Part::Middle | Part::Last => {}
        }
        self.first.get_or_insert(place);
        if matches!(part, Part::Whole | Part::Last) {
            if let Some(batch) = self.open.take() {
                self.batches += 1;
                self.next_sequence = self.next_sequence.max(batch.next_sequence());
                self.is_last_silent = true;
            }
            if let Some(synced) = synced_before(payload) {
                self.synced = self.synced.max(Some(synced));
                self.is_last_silent = false;
            }
        }
    }
}

/// Visits a file's blocks from `offset` on, and returns the file's length.
fn read_blocks(
    file: &File,
    mut offset: u64,
    visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> io::Result<u64> {
    let bytes = file.metadata()?.len();
    let mut buffer =
        vec![0; READ_BYTES.min(usize::try_from(bytes.saturating_sub(offset)).unwrap_or(READ_BYTES))];
    while offset < bytes {
        let wanted = buffer
            .len()
            .min(usize::try_from(bytes - offset).unwrap_or(READ_BYTES));
        let part = buffer.get_mut(..wanted).unwrap_or_default();
        file.read_exact_at(part, offset)?;
        for block in part.chunks(BLOCK_BYTES) {
            if visit(offset, block).is_break() {
                return Ok(bytes);
            }
            offset += block.len() as u64;
        }
    }
    Ok(bytes)
}
