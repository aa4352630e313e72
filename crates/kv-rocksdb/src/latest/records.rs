//! The bytes of a RocksDB write batch, made without RocksDB: each transaction encodes its own records on its
//! own thread, and the thread that commits a group only concatenates them.
//!
//! A batch is a header (8 bytes for a sequence number that RocksDB fills in, and the number of records) and
//! its records. A put is a head, which is the same for all puts of a column family, then the key and the
//! value, each after its length as a varint. RocksDB's log holds batches in this form, so the form cannot
//! change between releases.

use rocksdb::{ColumnFamily, WriteBatch};
use std::ops::Range;

const COUNT_AT: usize = 8;
const HEADER_BYTES: usize = COUNT_AT + size_of::<u32>();

/// The most that a record adds to its key and value: tag, family and two lengths.
pub const OVERHEAD_BYTES: usize = 16;

/// The first bytes of a put into one column family.
#[derive(Debug, Clone)]
pub struct PutHead(Box<[u8]>);

impl PutHead {
    /// As RocksDB itself writes it.
    pub fn of(family: &ColumnFamily) -> Self {
        let mut batch = WriteBatch::default();
        batch.put_cf(family, b"", b"");
        let lengths = 2;
        let end = batch.size_in_bytes() - lengths;
        Self(batch.data().get(HEADER_BYTES..end).unwrap_or_default().into())
    }
}

/// The records of a batch.
#[derive(Debug)]
pub struct Records {
    bytes: Vec<u8>,
    count: u32,
}

/// Where a put's key and value are in the bytes of [`Records`].
#[derive(Debug, Clone)]
pub struct PutSpan {
    pub key: Range<usize>,
    pub value: Range<usize>,
}

impl Records {
    pub fn with_capacity(records: usize, bytes: usize) -> Self {
        let mut all = Vec::with_capacity(HEADER_BYTES + records * OVERHEAD_BYTES + bytes);
        all.resize(HEADER_BYTES, 0);
        Self { bytes: all, count: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a put. `key` and `value` append `key_bytes` and `value_bytes` bytes.
    pub fn put(
        &mut self,
        head: &PutHead,
        (key_bytes, key): (usize, impl FnOnce(&mut Vec<u8>)),
        (value_bytes, value): (usize, impl FnOnce(&mut Vec<u8>)),
    ) -> PutSpan {
        self.count += 1;
        self.bytes.extend_from_slice(&head.0);
        let key = self.slice(key_bytes, key);
        let value = self.slice(value_bytes, value);
        PutSpan { key, value }
    }

    fn slice(&mut self, bytes: usize, write: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
        let mut left = bytes;
        while left >= 0x80 {
            self.bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        self.bytes.push(left as u8);
        let start = self.bytes.len();
        write(&mut self.bytes);
        debug_assert_eq!(self.bytes.len(), start + bytes);
        start..self.bytes.len()
    }

    /// Appends the records of another batch.
    pub fn append(&mut self, other: &Self) {
        self.bytes
            .extend_from_slice(other.bytes.get(HEADER_BYTES..).unwrap_or_default());
        self.count += other.count;
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Copies all records into a batch of RocksDB's.
    pub fn batch(&mut self) -> WriteBatch {
        if let Some(count) = self.bytes.get_mut(COUNT_AT..HEADER_BYTES) {
            count.copy_from_slice(&self.count.to_le_bytes());
        }
        WriteBatch::from_data(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocksdb::{DB, Options};

    #[test]
    fn records_are_those_that_rocksdb_makes() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let db = DB::open_cf(&options, dir.path(), ["default", "other"]).unwrap();
        let (mut expected, mut first) = (WriteBatch::default(), Records::with_capacity(2, 0));
        let mut second = Records::with_capacity(0, 0);
        assert!(first.is_empty());
        for (n, length) in [0, 1, 127, 128, 16_383, 16_384, 2_097_152]
            .into_iter()
            .enumerate()
        {
            let family = db.cf_handle(["default", "other"][n % 2]).unwrap();
            let (key, value) = (vec![1; length.min(20_000)], vec![2; length]);
            expected.put_cf(family, &key, &value);
            let records = if n < 3 { &mut first } else { &mut second };
            let place = records.put(
                &PutHead::of(family),
                (key.len(), |out| out.extend_from_slice(&key)),
                (value.len(), |out| out.extend_from_slice(&value)),
            );
            assert_eq!(records.bytes()[place.key], key);
            assert_eq!(records.bytes()[place.value], value);
        }
        first.append(&second);
        let batch = first.batch();
        assert_eq!(batch.len(), 7);
        assert!(batch.data() == expected.data());
        db.write(batch).unwrap();
        let other = db.cf_handle("other").unwrap();
        assert_eq!(db.get_cf(other, vec![1; 128]).unwrap(), Some(vec![2; 128]));
    }
}
