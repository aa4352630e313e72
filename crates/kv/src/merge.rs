//! A transaction's own writes over committed data: reads through a write buffer to the reader below it.

use crate::buffer::{Write, WriteBuffer};
use crate::coprocessor::{CoprocessorRequest, CoprocessorResponses};
use crate::error::Result;
use crate::reader::{KeyRange, Reader, Visit, VisitBatch};
use std::cmp::Ordering;
use std::ops::ControlFlow;

pub(crate) fn get_with(
    buffer: &WriteBuffer,
    below: &dyn Reader,
    key: &[u8],
    found: &mut dyn FnMut(&[u8]),
) -> Result<bool> {
    match buffer.get(key) {
        Some(Some(value)) => {
            found(value);
            Ok(true)
        }
        Some(None) => Ok(false),
        None => below.get_with(key, found),
    }
}

pub(crate) fn batch_get_with(
    buffer: &WriteBuffer,
    below: &dyn Reader,
    keys: &[Vec<u8>],
    visit: &mut VisitBatch,
) -> Result<()> {
    if buffer.is_empty() {
        return below.batch_get_with(keys, visit);
    }
    let mut missing_keys = Vec::new();
    let mut missing_indexes = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        match buffer.get(key) {
            Some(write) => visit(index, write),
            None => {
                missing_keys.push(key.clone());
                missing_indexes.push(index);
            }
        }
    }
    if missing_keys.is_empty() {
        return Ok(());
    }
    below.batch_get_with(&missing_keys, &mut |position, value| {
        if let Some(index) = missing_indexes.get(position) {
            visit(*index, value);
        }
    })
}

/// The stores do not know the buffered writes, so a program over ranges that have any is not run there.
pub(crate) fn coprocessor(
    buffer: &WriteBuffer,
    below: &dyn Reader,
    request: CoprocessorRequest,
) -> Result<Option<Box<dyn CoprocessorResponses>>> {
    let mut ranges = request.ranges.iter();
    match ranges.any(|range| buffer.range(range).next().is_some()) {
        true => Ok(None),
        false => below.coprocessor(request),
    }
}

/// Visits both in key order. The lower reader calls back for each of its pairs, and buffered writes before it
/// are visited first.
pub(crate) fn scan(
    buffer: &WriteBuffer,
    below: &dyn Reader,
    range: &KeyRange,
    reverse: bool,
    visit: &mut Visit,
) -> Result<()> {
    let mut own = buffer.range(range);
    let mut next_own = move || if reverse { own.next_back() } else { own.next() };
    let mut pending = next_own();
    if pending.is_none() {
        return below.scan(range, reverse, visit);
    }
    let mut broken = false;
    below.scan(range, reverse, &mut |key, value| {
        while let Some((own_key, write)) = pending {
            let order = own_key.as_slice().cmp(key);
            match if reverse { order.reverse() } else { order } {
                Ordering::Greater => break,
                order => {
                    pending = next_own();
                    if visit_own(own_key, write, visit).is_break() {
                        broken = true;
                        return ControlFlow::Break(());
                    }
                    if order == Ordering::Equal {
                        return ControlFlow::Continue(());
                    }
                }
            }
        }
        let flow = visit(key, value);
        broken = flow.is_break();
        flow
    })?;
    while let (false, Some((own_key, write))) = (broken, pending) {
        broken = visit_own(own_key, write, visit).is_break();
        pending = next_own();
    }
    Ok(())
}

fn visit_own(key: &[u8], write: &Write, visit: &mut Visit) -> ControlFlow<()> {
    match &write.value {
        Some(value) => visit(key, value),
        None => ControlFlow::Continue(()),
    }
}
