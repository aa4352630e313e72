//! A bounded sample of a table's rows: all of a small table, else runs of rows that start at places spread
//! over it.

use std::ops::ControlFlow;
use std::time::Duration;

use kv::{KeyRange, Reader, Snapshot};
use types::Result;

/// Runs of rows that a sample of a large table consists of.
const RUNS: usize = 256;
/// With fewer ranges of about equal size, each is divided by the values of its keys.
const RANGES_ENOUGH: usize = 64;
/// How many bytes after the common prefix of two keys are interpolated.
const VARYING_BYTES: usize = 8;

/// What was read.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sampled {
    pub rows: u64,
    /// Of their keys and values.
    pub bytes: u64,
    /// All rows of the table have been read.
    pub complete: bool,
}

/// The limits of a sample.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    pub rows: u64,
    /// The pause after each run of rows.
    pub pause: Duration,
}

/// Takes the number of a row's run, its key and its stored value.
type Visit<'a> = &'a mut dyn FnMut(u32, &[u8], &[u8]) -> Result<()>;

/// Gives the rows of a sample to `visit`, as they are stored. `expected`: about how many rows the ranges
/// have.
///
/// # Errors
/// Those of the store and of `visit`.
pub fn sample(
    reader: &Snapshot,
    ranges: &[KeyRange],
    expected: u64,
    effort: Effort,
    visit: Visit<'_>,
) -> Result<Sampled> {
    let runs = if expected <= effort.rows {
        ranges.to_vec()
    } else {
        let mut runs = Vec::new();
        for range in ranges {
            runs.append(&mut starts(reader, range, (RUNS / ranges.len()).max(1))?);
        }
        runs
    };
    let count = runs.len() as u64;
    // If the estimate was a little too low, the whole table is read anyway.
    let most = if expected <= effort.rows {
        effort.rows * 2
    } else {
        (effort.rows / count).max(1)
    };
    let mut sampled = Sampled {
        complete: true,
        ..Sampled::default()
    };
    for (number, run) in (0..).zip(&runs) {
        let mut left = most;
        let mut failure = None;
        reader.scan(run, false, &mut |key, value| {
            if left == 0 {
                sampled.complete = false;
                return ControlFlow::Break(());
            }
            left -= 1;
            sampled.rows += 1;
            sampled.bytes += (key.len() + value.len()) as u64;
            match visit(number, key, value) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        if !effort.pause.is_zero() {
            std::thread::sleep(effort.pause);
        }
    }
    Ok(sampled)
}

/// About `wanted` ranges without gaps, at whose starts runs begin.
fn starts(reader: &Snapshot, range: &KeyRange, wanted: usize) -> Result<Vec<KeyRange>> {
    let ranges = reader.split_range(range, wanted)?;
    if ranges.len() >= RANGES_ENOUGH.min(wanted) {
        return Ok(ranges);
    }
    let each = wanted / ranges.len().max(1);
    let mut all = Vec::with_capacity(wanted);
    for range in &ranges {
        let mut from = range.start.clone();
        if let (Some(first), Some(last)) = (end_of(reader, range, false)?, end_of(reader, range, true)?) {
            for cut in between(&first, &last, each as u64) {
                all.push(KeyRange::new(std::mem::replace(&mut from, cut.clone()), cut));
            }
        }
        all.push(KeyRange::new(from, range.end.clone()));
    }
    Ok(all)
}

fn end_of(reader: &Snapshot, range: &KeyRange, last: bool) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    reader.scan(range, last, &mut |key, _| {
        found = Some(key.to_vec());
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// At most `parts - 1` keys between two others, evenly spaced by value.
fn between(first: &[u8], last: &[u8], parts: u64) -> Vec<Vec<u8>> {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; VARYING_BYTES];
        for (place, byte) in bytes.iter_mut().zip(key.iter().skip(common)) {
            *place = *byte;
        }
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(first), number(last));
    let step = (high.saturating_sub(low) / parts.max(1)).max(1);
    (1..parts)
        .filter_map(|part| low.checked_add(step.checked_mul(part)?))
        .take_while(|at| *at < high)
        .map(|at| [&first[..common], &at.to_be_bytes()].concat())
        .collect()
}
