use super::chain::Chain;
use super::log_format::writer::{batch, push};
use super::log_format::{BLOCK_BYTES, End, synced_before, synced_note};
use super::*;
use std::path::PathBuf;
use tempfile::TempDir;

/// A batch that says how far the log had been synced before it.
fn noted(sequence: u64, count: u32, bytes: usize, synced: u64) -> Vec<u8> {
    let mut batch = batch(sequence, count, bytes);
    batch.extend([3, 14]);
    batch.extend(synced_note(synced));
    batch
}

/// A log of batches of two entries each, from sequence number `first` on. Each was synced before the next.
fn log(number: u64, first: u64, batches: u64, bytes: usize) -> Vec<u8> {
    let mut log = Vec::new();
    for n in 0..batches {
        let sequence = first + 2 * n;
        push(&mut log, &noted(sequence, 2, bytes, sequence - 1), Some(number));
    }
    log
}

struct Logs {
    dir: TempDir,
    logs: Vec<(u64, PathBuf)>,
}

impl Logs {
    fn new(logs: &[(u64, Vec<u8>)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let write = |(number, bytes): &(u64, Vec<u8>)| {
            let path = dir.path().join(format!("{number:06}.log"));
            std::fs::write(&path, bytes).unwrap();
            (*number, path)
        };
        let logs = logs.iter().map(write).collect();
        Self { dir, logs }
    }

    fn chain(&self) -> Chain {
        assert!(self.dir.path().is_dir());
        Chain::read(self.logs.clone()).unwrap()
    }
}

#[test]
fn moments_are_written_as_people_do() {
    for (ms, text) in [
        (0, "1970-01-01 00:00:00.000 UTC"),
        (951_782_399_999, "2000-02-28 23:59:59.999 UTC"),
        (951_782_400_000, "2000-02-29 00:00:00.000 UTC"),
        (1_709_251_200_001, "2024-03-01 00:00:00.001 UTC"),
        (1_798_761_599_000, "2026-12-31 23:59:59.000 UTC"),
    ] {
        assert_eq!(utc(ms), text);
    }
}

#[test]
fn a_batch_says_how_far_the_log_had_been_synced() {
    assert_eq!(synced_before(&noted(5, 2, 100, 77)), Some(77));
    assert_eq!(synced_before(&batch(5, 2, 100)), None);
    assert_eq!(synced_before(b""), None);
    // That is how RocksDB writes it.
    let mut written = rocksdb::WriteBatch::default();
    written.put(b"key", b"value");
    written.put_log_data(synced_note(1234));
    assert_eq!(synced_before(written.data()), Some(1234));
    assert_eq!(written.len(), 1);
}

#[test]
fn a_log_is_followed_by_the_next() {
    for bytes in [10, 1_000, 100_000] {
        let logs = Logs::new(&[
            (4, log(4, 1, 10, bytes)),
            (7, Vec::new()),
            (9, log(9, 21, 10, bytes)),
        ]);
        let chain = logs.chain();
        assert_eq!((chain.first_sequence, chain.next_sequence), (Some(1), Some(41)));
        assert_eq!(
            chain.logs.iter().map(|log| log.batches).collect::<Vec<_>>(),
            [10, 0, 10]
        );
        assert!(chain.rest.is_empty());
        assert_eq!(chain.behind(41).unwrap(), chain::Behind::default());
    }
}

#[test]
fn a_log_over_an_old_one_ends_where_it_does() {
    for bytes in [10, 20_000] {
        let new = log(9, 101, 6, bytes);
        let mut over = log(4, 1, 20, bytes);
        over[..new.len()].copy_from_slice(&new);
        let logs = Logs::new(&[(9, over)]);
        let chain = logs.chain();
        assert_eq!(chain.next_sequence, Some(113));
        assert_eq!(chain.logs[0].valid_bytes, new.len() as u64);
        assert_eq!(chain.behind(113).unwrap(), chain::Behind::default());
    }
}

#[test]
fn zeros_end_a_log() {
    let mut bytes = log(4, 1, 3, 50);
    bytes.resize(4 * BLOCK_BYTES, 0);
    let chain = Logs::new(&[(4, bytes)]).chain();
    assert_eq!(chain.next_sequence, Some(7));
    assert_eq!(chain.logs[0].end, End::Zeros);
}

#[test]
fn what_is_behind_damage_is_found() {
    for bytes in [10, 5_000, 70_000] {
        let whole = log(4, 1, 12, bytes);
        let mut broken = 0;
        for at in (0..whole.len() - 2 * (bytes + 200)).step_by(whole.len() / 37) {
            for damage in [1, bytes.min(600)] {
                let mut damaged = whole.clone();
                damaged[at..at + damage].iter_mut().for_each(|byte| *byte ^= 0x55);
                let logs = Logs::new(&[(4, damaged)]);
                let chain = logs.chain();
                let next = chain.next_sequence.unwrap_or(1);
                if next == 25 {
                    // The rest of a block.
                    continue;
                }
                broken += 1;
                assert!(chain.logs[0].valid_bytes <= at as u64);
                let behind = chain.behind(next).unwrap();
                assert!(behind.batches > 0, "byte {at}");
                assert_eq!((behind.next_sequence, behind.synced), (25, Some(22)));
                assert!(!behind.is_last_silent);
            }
        }
        assert!(broken > 10, "{broken}");
    }
}

/// A process that is killed leaves a large batch of which only the first blocks have been written.
#[test]
fn a_batch_without_an_end_was_being_written() {
    let mut bytes = log(4, 1, 3, 50);
    let valid = bytes.len();
    push(&mut bytes, &noted(7, 2_100, 5 * BLOCK_BYTES, 6), Some(4));
    for end in (valid + 1..bytes.len()).step_by(997) {
        let logs = Logs::new(&[(4, bytes[..end].to_vec())]);
        let chain = logs.chain();
        assert_eq!(chain.next_sequence, Some(7));
        let behind = chain.behind(7).unwrap();
        assert_eq!(behind.first.is_some(), end >= BLOCK_BYTES, "byte {end}");
        assert_eq!(
            (behind.batches, behind.synced, behind.is_last_silent),
            (0, None, false)
        );
    }
    // A whole one that does not say how far the log had been synced, and then one without an end.
    let mut silent = log(4, 1, 3, 50);
    let damaged = silent.len() - 10;
    push(&mut silent, &batch(7, 2, 50), Some(4));
    push(&mut silent, &batch(9, 2, 2 * BLOCK_BYTES), Some(4));
    silent[damaged] ^= 1;
    silent.truncate(silent.len() - 10);
    let logs = Logs::new(&[(4, silent)]);
    let behind = logs.chain().behind(5).unwrap();
    assert_eq!(
        (behind.batches, behind.next_sequence, behind.is_last_silent),
        (1, 9, true)
    );
}

#[test]
fn a_log_that_is_missing_leaves_a_gap() {
    let logs = Logs::new(&[
        (4, log(4, 1, 10, 50)),
        (9, log(9, 41, 10, 50)),
        (12, log(12, 61, 1, 50)),
    ]);
    let chain = logs.chain();
    assert_eq!(chain.next_sequence, Some(21));
    assert_eq!(
        chain.rest.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
        [9, 12]
    );
    let behind = chain.behind(21).unwrap();
    assert_eq!((behind.batches, behind.next_sequence), (11, 63));
    assert_eq!((behind.synced, behind.is_last_silent), (Some(60), false));
    assert!(!chain.overlaps);
    // A batch of another store.
    let logs = Logs::new(&[(4, log(4, 1, 10, 50)), (9, log(9, 15, 10, 50))]);
    assert!(logs.chain().overlaps);
}

/// The batch that RocksDB writes first after it has ended a recovery early.
#[test]
fn an_empty_batch_is_no_gap() {
    let mut second = Vec::new();
    push(&mut second, &batch(15, 0, 0), Some(9));
    let chain = Logs::new(&[(4, log(4, 1, 10, 50)), (9, second)]).chain();
    assert_eq!(chain.next_sequence, Some(21));
    assert!(chain.rest.is_empty());
}

#[test]
fn a_log_without_numbers_is_read_too() {
    let mut bytes = Vec::new();
    for n in 0..100 {
        push(&mut bytes, &batch(1 + n, 1, 2_000), None);
    }
    let chain = Logs::new(&[(4, bytes.clone())]).chain();
    assert_eq!(chain.next_sequence, Some(101));
    bytes[40_000] ^= 1;
    let logs = Logs::new(&[(4, bytes)]);
    let chain = logs.chain();
    let next = chain.next_sequence.unwrap();
    assert!(next < 25);
    let behind = chain.behind(next).unwrap();
    assert!(behind.batches > 0 && behind.is_last_silent);
}
