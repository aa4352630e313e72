//! Sorting with little memory, and what merged runs give back.

use super::*;

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Keys of different lengths, many of which begin alike, some twice; in memory and in many runs.
#[test]
fn pairs_come_in_the_order_of_their_keys() {
    let store = Store::memory();
    type New = fn(&Store, usize) -> Sorter;
    let ways: [New; 2] = [Sorter::new, Sorter::beside];
    let sizes = [(0, 1), (1, 2), (50, 2), (300_000, 3)];
    for ((pairs, sorters), new) in sizes.into_iter().flat_map(|size| ways.map(|new| (size, new))) {
        let mut seed = 88_172_645_463_325_252;
        let mut expected = Vec::new();
        let mut all: Option<Runs> = None;
        for _ in 0..sorters {
            let mut sorter = new(&store, 0);
            for _ in 0..pairs {
                let number = random(&mut seed) % 100_000;
                let mut key = format!("table/{number}").into_bytes();
                key.truncate(6 + (number % 7) as usize);
                let value = random(&mut seed).to_le_bytes();
                sorter.push(&key, &value).unwrap();
                expected.push((key, value.to_vec()));
            }
            let runs = sorter.finish().unwrap();
            match &mut all {
                Some(all) => all.append(runs),
                None => all = Some(runs),
            }
        }
        let runs = all.unwrap();
        if pairs > 100_000 {
            assert!(runs.runs.len() > 20, "{}", runs.runs.len());
        }
        let mut merge = runs.merge(&|| Ok(())).unwrap();
        let mut found = Vec::new();
        while let Some((key, value)) = merge.next().unwrap() {
            found.push((key.to_vec(), value.to_vec()));
        }
        assert!(found.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!(found.len(), expected.len());
        found.sort();
        expected.sort();
        assert!(found == expected);
        // And once more.
        let mut merge = merge.into_runs().merge(&|| Ok(())).unwrap();
        let mut again = 0;
        while merge.next().unwrap().is_some() {
            again += 1;
        }
        assert_eq!(again, found.len());
    }
}

/// Open files would otherwise be the first limit that a large load meets.
#[test]
fn runs_share_files() {
    let store = Store::memory();
    let mut sorter = Sorter::new(&store, 0);
    for n in 0..200_u32 {
        for m in 0..5_u32 {
            sorter.push(&(m * 200 + n).to_be_bytes(), &[n as u8; 9]).unwrap();
        }
        sorter.write_run().unwrap();
    }
    let runs = sorter.finish().unwrap();
    assert_eq!(runs.runs.len(), 200);
    let files: std::collections::HashSet<_> = runs
        .runs
        .iter()
        .filter_map(|run| match run {
            Run::File { section, .. } => Some(Arc::as_ptr(&section.file)),
            Run::Memory { .. } => None,
        })
        .collect();
    assert_eq!(files.len(), 2);
    let mut merge = runs.merge(&|| Ok(())).unwrap();
    for n in 0..1_000_u32 {
        let (key, value) = merge.next().unwrap().unwrap();
        assert_eq!((key, value), (&n.to_be_bytes()[..], &[(n % 200) as u8; 9][..]));
    }
    assert!(merge.next().unwrap().is_none());
}

#[test]
fn more_runs_than_are_merged_at_a_time_are_merged_in_steps() {
    let store = Store::memory();
    let mut runs: Option<Runs> = None;
    for n in 0..300_u32 {
        let mut sorter = Sorter::new(&store, 0);
        for m in 0..20_u32 {
            sorter.push(&(m * 300 + n).to_be_bytes(), b"").unwrap();
        }
        match &mut runs {
            Some(runs) => runs.append(sorter.finish().unwrap()),
            None => runs = Some(sorter.finish().unwrap()),
        }
    }
    let stopped = || Err(Error::Interrupted);
    let again = {
        let mut sorter = Sorter::new(&store, 0);
        (0..3_000_u32).for_each(|n| sorter.push(&n.to_be_bytes(), b"").unwrap());
        let mut runs = sorter.finish().unwrap();
        for n in 0..200_u32 {
            let mut sorter = Sorter::new(&store, 0);
            sorter.push(&n.to_be_bytes(), b"").unwrap();
            runs.append(sorter.finish().unwrap());
        }
        runs
    };
    assert!(matches!(again.merge(&stopped), Err(Error::Interrupted)));
    let mut merge = runs.unwrap().merge(&|| Ok(())).unwrap();
    for n in 0..6_000_u32 {
        let (key, _) = merge.next().unwrap().unwrap();
        assert_eq!(key, n.to_be_bytes());
    }
    assert!(merge.next().unwrap().is_none());
}

/// Pairs that are lost would be rows that an index does not have.
#[test]
fn a_file_that_has_lost_its_end_or_is_damaged_fails_the_merge() {
    let store = Store::memory();
    let sorted = |change: &dyn Fn(&File)| {
        let mut sorter = Sorter::new(&store, 0);
        for n in 0..100_000_u32 {
            sorter.push(&n.to_be_bytes(), b"value").unwrap();
        }
        let runs = sorter.finish().unwrap();
        let Some(Run::File { section, .. }) = runs.runs.first() else {
            panic!("no run in a file");
        };
        change(&section.file);
        let mut merge = runs.merge(&|| Ok(()))?;
        let mut found = 0;
        while merge.next()?.is_some() {
            found += 1;
        }
        Ok::<_, Error>(found)
    };
    assert_eq!(sorted(&|_| {}).unwrap(), 100_000);
    // At the end of a pair, and within one.
    for bytes in [17 * 1_000, 17 * 1_000 + 9] {
        let cut = sorted(&|file| file.set_len(bytes).unwrap());
        assert!(
            matches!(&cut, Err(Error::Io(text)) if text.contains("shorter")),
            "{cut:?}"
        );
    }
    let damaged = sorted(&|file| file.write_all_at(&[0xff; 8], 17 * 1_000).unwrap());
    assert!(
        matches!(&damaged, Err(Error::Io(text)) if text.contains("damaged")),
        "{damaged:?}"
    );
}
