//! The files of a RocksDB store as a damaged disk may return them: logs and manifests.

use kv_rocksdb::RocksOptions;
use kv_rocksdb::recovery::log_format::{BLOCK_BYTES, search, synced_before};
use kv_rocksdb::recovery::log_reader::LogReader;
use kv_rocksdb::recovery::manifest::Manifest;

/// The input begins with the log's number, as in [`log_seeds`].
pub fn log(input: &[u8]) {
    let Some((number, bytes)) = input.split_first_chunk::<8>() else {
        return;
    };
    let number = u64::from_le_bytes(*number);
    let mut reader = LogReader::new(number);
    let mut valid_bytes = 0;
    for (n, block) in bytes.chunks(BLOCK_BYTES).enumerate() {
        let offset = (n * BLOCK_BYTES) as u64;
        let end = reader.read_block(offset, block, &mut |whole| {
            assert!(whole.start >= valid_bytes && whole.end > whole.start);
            assert!(whole.end <= bytes.len() as u64);
            valid_bytes = whole.end;
            true
        });
        if end.is_some() {
            break;
        }
    }
    for block in bytes.chunks(BLOCK_BYTES) {
        let mut at = 0;
        while let Some(fragment) = search(block, at, number) {
            assert!(fragment.start >= at && fragment.end > fragment.start && fragment.end <= block.len());
            let _ = synced_before(fragment.payload);
            at = fragment.end;
        }
    }
}

pub fn manifest(bytes: &[u8]) {
    if let Ok(manifest) = Manifest::parse(bytes) {
        let _ = (manifest.first_log_number(), manifest.largest_sequence());
    }
}

/// Complete logs, with records of one block and of several.
pub fn log_seeds() -> Vec<Vec<u8>> {
    files(".log")
        .into_iter()
        .map(|(number, bytes)| [&number.to_le_bytes()[..], &bytes].concat())
        .collect()
}

pub fn manifest_seeds() -> Vec<Vec<u8>> {
    files("MANIFEST-").into_iter().map(|(_, bytes)| bytes).collect()
}

/// The files of a store whose names contain `of`. Returns nothing after a failure, which the caller's test
/// reports.
fn files(of: &str) -> Vec<(u64, Vec<u8>)> {
    let mut found = Vec::new();
    for value_bytes in [20, 40_000] {
        let Ok(dir) = tempfile::tempdir() else { continue };
        let Ok(store) = kv_rocksdb::open(dir.path(), RocksOptions::small()) else {
            continue;
        };
        for n in 0..4_u8 {
            let mut txn = match store.begin(kv::TxnOptions::default()) {
                Ok(txn) => txn,
                Err(_) => continue,
            };
            drop(txn.put(vec![n], vec![n; value_bytes]));
            drop(txn.commit(kv::Durability::Os));
        }
        for entry in std::fs::read_dir(dir.path()).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let digits: String = name.chars().filter(char::is_ascii_digit).collect();
            if let (true, Ok(number), Ok(bytes)) =
                (name.contains(of), digits.parse(), std::fs::read(entry.path()))
            {
                found.push((number, bytes));
            }
        }
    }
    found
}
