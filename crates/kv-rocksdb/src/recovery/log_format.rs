//! RocksDB's log format: fragments in blocks of 32 KiB (`db/log_format.h`). No I/O, no panic on any bytes.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | CRC-32C of all that follows the length, masked |
//! | 2 | length of the payload |
//! | 1 | kind |
//! | 4 | the log's number, in a log that may overwrite an old one |
//! | | payload |
//!
//! No fragment extends into another block. A batch of writes is one fragment, or a first one, some middle
//! ones and a last one. After the end of a log that overwrites an old one are older bytes: fragments of other
//! logs, or zeros ([`crate::log`]).

use super::checksum::{crc32c, masked};

pub const BLOCK_BYTES: usize = 32 << 10;
const HEADER_BYTES: usize = 7;
const NUMBERED_HEADER_BYTES: usize = HEADER_BYTES + 4;

/// Which part of a batch a fragment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Whole,
    First,
    Middle,
    Last,
    /// Belongs to no batch: a fact about the log.
    Note,
}

/// A fragment whose checksum is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment<'a> {
    pub part: Part,
    pub payload: &'a [u8],
    /// The offset in its block where it starts.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// Why a log ends where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The file ends between two fragments.
    OfFile,
    /// Preallocated zeros.
    Zeros,
    /// The rest of an older log that is being overwritten.
    OlderLog,
    /// Something that is not a valid fragment: torn by a crash, or damaged later.
    Broken(&'static str),
}

/// What is at an offset of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'a> {
    Fragment(Fragment<'a>),
    /// The rest of the block is too short for a fragment: the log continues in the next block.
    NextBlock,
    End(End),
}

/// Reads the fragment at offset `at` of `block`. Only the last block of a file is shorter than
/// [`BLOCK_BYTES`].
pub fn read(block: &[u8], at: usize, number: u64) -> Found<'_> {
    let rest = block.get(at..).unwrap_or_default();
    if rest.is_empty() {
        return match block.len() {
            BLOCK_BYTES => Found::NextBlock,
            _ => Found::End(End::OfFile),
        };
    }
    let Some((header, _)) = rest.split_first_chunk::<HEADER_BYTES>() else {
        return match block.len() {
            BLOCK_BYTES => Found::NextBlock,
            _ => Found::End(End::Broken("the file ends within a record")),
        };
    };
    let [c0, c1, c2, c3, low, high, kind] = *header;
    let length = usize::from(u16::from_le_bytes([low, high]));
    if kind == 0 && length == 0 {
        // The writer skips a rest that is too short for a header.
        return match block.len() == BLOCK_BYTES && rest.len() < NUMBERED_HEADER_BYTES {
            true => Found::NextBlock,
            false => Found::End(End::Zeros),
        };
    }
    let (part, header_bytes) = match kind {
        1 => (Part::Whole, HEADER_BYTES),
        2 => (Part::First, HEADER_BYTES),
        3 => (Part::Middle, HEADER_BYTES),
        4 => (Part::Last, HEADER_BYTES),
        5 => (Part::Whole, NUMBERED_HEADER_BYTES),
        6 => (Part::First, NUMBERED_HEADER_BYTES),
        7 => (Part::Middle, NUMBERED_HEADER_BYTES),
        8 => (Part::Last, NUMBERED_HEADER_BYTES),
        10 | 130 => (Part::Note, HEADER_BYTES),
        11 | 131 => (Part::Note, NUMBERED_HEADER_BYTES),
        _ => return Found::End(End::Broken("a record of an unknown kind")),
    };
    if header_bytes == NUMBERED_HEADER_BYTES
        && rest
            .get(HEADER_BYTES..NUMBERED_HEADER_BYTES)
            .is_some_and(|there| there != &number_bytes(number)[..])
    {
        return Found::End(End::OlderLog);
    }
    let (Some(checked), Some(payload)) = (
        rest.get(HEADER_BYTES - 1..header_bytes + length),
        rest.get(header_bytes..header_bytes + length),
    ) else {
        return Found::End(End::Broken("a record that is longer than its block"));
    };
    if masked(crc32c(checked)) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Found::End(End::Broken("a record whose checksum is wrong"));
    }
    Found::Fragment(Fragment {
        part,
        payload,
        start: at,
        end: at + header_bytes + length,
    })
}

/// The next fragment of this log that starts at `from` or later, anywhere in the block: the bytes before it
/// may be anything. In a log without numbers a fragment of an earlier log cannot be recognised, so only
/// `from` is looked at.
pub fn search(block: &[u8], from: usize, number: u64) -> Option<Fragment<'_>> {
    let fragment = |at| match read(block, at, number) {
        Found::Fragment(fragment) => Some(fragment),
        _ => None,
    };
    fragment(from).or_else(|| {
        let numbers = block.get(from..)?.get(HEADER_BYTES..)?;
        memchr::memmem::find_iter(numbers, &number_bytes(number)).find_map(|at| fragment(from + at))
    })
}

/// The log's number as it is stored in its fragments.
fn number_bytes(number: u64) -> [u8; 4] {
    let [a, b, c, d, ..] = number.to_le_bytes();
    [a, b, c, d]
}

/// The head of a batch of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// The sequence number of its first entry. Entries are numbered across all logs.
    pub sequence: u64,
    pub count: u32,
}

impl Batch {
    pub const HEAD_BYTES: usize = 12;

    pub fn parse(payload: &[u8]) -> Option<Self> {
        let (sequence, rest) = payload.split_first_chunk::<8>()?;
        let (count, _) = rest.split_first_chunk::<4>()?;
        Some(Self {
            sequence: u64::from_le_bytes(*sequence),
            count: u32::from_le_bytes(*count),
        })
    }

    /// The sequence number after its last entry.
    pub fn next_sequence(&self) -> u64 {
        self.sequence.saturating_add(u64::from(self.count))
    }
}

/// The last record of each batch, for the log only: entries up to this sequence number had been synced when
/// it was written.
pub fn synced_note(synced: u64) -> [u8; SYNCED_BYTES - 2] {
    let mut note = [0; SYNCED_BYTES - 2];
    let (name, number) = note.split_at_mut(SYNCED.len());
    name.copy_from_slice(SYNCED);
    number.copy_from_slice(&synced.to_le_bytes());
    note
}

/// Reads [`synced_note`] from the end of a batch's last fragment.
pub fn synced_before(end: &[u8]) -> Option<u64> {
    let (rest, synced) = end.split_last_chunk::<8>()?;
    let is_note = rest.strip_suffix(SYNCED)?.ends_with(&NOTE_HEAD);
    is_note.then(|| u64::from_le_bytes(*synced))
}

const SYNCED: &[u8; 6] = b"synced";
/// RocksDB's tag of a record for the log only, and the length of its contents.
const NOTE_HEAD: [u8; 2] = [3, 14];
/// Bytes of that record.
pub const SYNCED_BYTES: usize = 2 + 6 + 8;

/// Writes logs.
#[cfg(test)]
pub(super) mod writer {
    use super::*;

    /// Appends a batch as RocksDB does, to a log with or without numbers.
    pub fn push(log: &mut Vec<u8>, payload: &[u8], number: Option<u64>) {
        let header = if number.is_some() {
            NUMBERED_HEADER_BYTES
        } else {
            HEADER_BYTES
        };
        let mut left = payload;
        let mut begins = true;
        loop {
            let room = BLOCK_BYTES - log.len() % BLOCK_BYTES;
            if room < header {
                log.resize(log.len() + room, 0);
                continue;
            }
            let (now, later) = left.split_at(left.len().min(room - header));
            let kind = match (begins, later.is_empty()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            push_fragment(log, now, kind + if number.is_some() { 4 } else { 0 }, number);
            left = later;
            begins = false;
            if left.is_empty() {
                return;
            }
        }
    }

    fn push_fragment(log: &mut Vec<u8>, payload: &[u8], kind: u8, number: Option<u64>) {
        let mut checked = vec![kind];
        if let Some(number) = number {
            checked.extend(number_bytes(number));
        }
        checked.extend_from_slice(payload);
        log.extend(masked(crc32c(&checked)).to_le_bytes());
        log.extend(u16::try_from(payload.len()).unwrap_or(u16::MAX).to_le_bytes());
        log.extend(checked);
    }

    /// The bytes of a batch: its head, and some bytes without meaning.
    pub fn batch(sequence: u64, count: u32, bytes: usize) -> Vec<u8> {
        let mut batch = sequence.to_le_bytes().to_vec();
        batch.extend(count.to_le_bytes());
        batch.extend((0..bytes).map(|n| n as u8));
        batch
    }
}
