//! The write buffer of `latest`: `memtable/sorted_runs.cc`, which says why RocksDB's own is not used.

use std::sync::Once;

use kv::Result;
use rocksdb::Options;

use crate::failure::from_rocksdb;

#[expect(unsafe_code, reason = "the one call that the library does not wrap")]
mod registry {
    unsafe extern "C" {
        /// Registers the memtable factory that [`super::FACTORY`] names with RocksDB.
        fn stemdb_register_sorted_runs();
    }

    pub fn add_sorted_runs() {
        // SAFETY: it takes no arguments, and RocksDB's registry, which it changes, has a lock of its own.
        unsafe { stemdb_register_sorted_runs() }
    }
}

const FACTORY: &str = "memtable_factory=stemdb.SortedRuns";

/// `options` with that write buffer. They must not hold anything yet that is alive outside RocksDB (filters,
/// comparators).
pub(crate) fn with_sorted_runs(mut options: Options) -> Result<Options> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(registry::add_sorted_runs);
    options
        .get_options_from_string(FACTORY)
        .map_err(|error| from_rocksdb(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latest::cache::tests::Random;
    use rocksdb::{DB, DBRawIterator, FlushOptions, ReadOptions};
    use std::collections::BTreeMap;
    use std::ops::Bound;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tempfile::TempDir;

    type Model = BTreeMap<Vec<u8>, Vec<u8>>;

    /// Some are prefixes of others, and some are longer than a length of one byte can express.
    fn random_key(random: &mut Random) -> Vec<u8> {
        let number = random.below(20_000);
        let mut key = format!("{number:05}").into_bytes();
        match number % 10 {
            0 => key.truncate(4),
            1 => key.extend([b'x'; 200]),
            _ => {}
        }
        key
    }

    fn open(dir: &TempDir) -> DB {
        let mut options = with_sorted_runs(Options::default()).unwrap();
        options.create_if_missing(true);
        options.set_allow_concurrent_memtable_write(false);
        DB::open(&options, dir.path()).unwrap()
    }

    fn check_here(iterator: &DBRawIterator<'_>, expected: Option<(&Vec<u8>, &Vec<u8>)>) {
        let expected = expected.map(|(key, value)| (key.as_slice(), value.as_slice()));
        assert_eq!(iterator.item(), expected);
    }

    /// From a place, some steps either way.
    fn check_walk(iterator: &mut DBRawIterator<'_>, model: &Model, random: &mut Random) {
        let key = random_key(random);
        let mut at = if random.below(2) == 0 {
            iterator.seek(&key);
            model.range(key..).next()
        } else {
            iterator.seek_for_prev(&key);
            model.range(..=key).next_back()
        };
        check_here(iterator, at);
        for _ in 0..random.below(20) {
            let Some((key, _)) = at else { break };
            if random.below(3) == 0 {
                iterator.prev();
                at = model.range(..key.clone()).next_back();
            } else {
                iterator.next();
                at = model
                    .range((Bound::Excluded(key.clone()), Bound::Unbounded))
                    .next();
            }
            check_here(iterator, at);
        }
    }

    fn check_all(iterator: &mut DBRawIterator<'_>, model: &Model) {
        iterator.seek_to_first();
        for entry in model {
            check_here(iterator, Some(entry));
            iterator.next();
        }
        assert!(!iterator.valid());
        iterator.seek_to_last();
        for entry in model.iter().rev() {
            check_here(iterator, Some(entry));
            iterator.prev();
        }
        assert!(!iterator.valid());
    }

    #[test]
    fn it_holds_what_was_written_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut db = open(&dir);
        let (mut model, mut random) = (Model::new(), Random(7));
        check_all(&mut db.raw_iterator(), &model);
        let mut then = (db.snapshot(), model.clone());
        // More than two of the longest runs.
        for n in 0..80_000_u64 {
            let key = random_key(&mut random);
            if random.below(4) == 0 {
                db.delete(&key).unwrap();
                model.remove(&key);
            } else {
                let value = n.to_be_bytes().to_vec();
                db.put(&key, &value).unwrap();
                model.insert(key, value);
            }
            if n % 40 == 0 {
                let key = random_key(&mut random);
                assert_eq!(db.get(&key).unwrap().as_ref(), model.get(&key));
                check_walk(&mut db.raw_iterator(), &model, &mut random);
                let mut options = ReadOptions::default();
                options.set_snapshot(&then.0);
                assert_eq!(then.0.get(&key).unwrap().as_ref(), then.1.get(&key));
                check_walk(&mut db.raw_iterator_opt(options), &then.1, &mut random);
            }
            if n % 7_000 == 6_999 {
                then = (db.snapshot(), model.clone());
            }
        }
        check_all(&mut db.raw_iterator(), &model);
        drop(then);
        // From the log.
        drop(db);
        db = open(&dir);
        check_all(&mut db.raw_iterator(), &model);
        db.flush_opt(&FlushOptions::default()).unwrap();
        check_all(&mut db.raw_iterator(), &model);
    }

    #[test]
    fn readers_meet_all_that_was_written_before() {
        const WRITES: u64 = 40_000;
        // In no order.
        let key = |n: u64| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes();
        let dir = tempfile::tempdir().unwrap();
        let db = open(&dir);
        let written = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for seed in 0..3 {
                let (db, written) = (&db, &written);
                scope.spawn(move || {
                    let mut random = Random(seed);
                    loop {
                        let before = written.load(Ordering::Acquire);
                        if before == WRITES {
                            return;
                        }
                        if before == 0 {
                            continue;
                        }
                        let n = random.below(before);
                        assert_eq!(db.get(key(n)).unwrap().as_deref(), Some(&n.to_be_bytes()[..]));
                        let mut iterator = db.raw_iterator();
                        iterator.seek(key(n));
                        assert_eq!(iterator.item(), Some((&key(n)[..], &n.to_be_bytes()[..])));
                        let mut last = key(n).to_vec();
                        for _ in 0..10 {
                            iterator.next();
                            let Some(next) = iterator.key() else { break };
                            assert!(next > last.as_slice());
                            last = next.to_vec();
                        }
                    }
                });
            }
            for n in 0..WRITES {
                db.put(key(n), n.to_be_bytes()).unwrap();
                written.store(n + 1, Ordering::Release);
            }
        });
        let mut iterator = db.raw_iterator();
        iterator.seek_to_first();
        let mut there = 0;
        while iterator.valid() {
            there += 1;
            iterator.next();
        }
        assert_eq!(there, WRITES);
    }
}
