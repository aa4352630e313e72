//! The frames of a partition's rows. Source: manual 12.20.3 "Window Function Frame Specification".

use std::cmp::Ordering;
use std::ops::Range;

use arrow::array::{Array, ArrayRef};
use arrow::record_batch::RecordBatch;
use types::{Error, Result, SqlType, Value, errno};

use super::{Frame, FrameBound, FrameUnit};
use crate::compare::compare;
use crate::datum::Datum;
use crate::eval::{eval_array, eval_value};
use crate::{EvalContext, Expr};

/// The frame of each row of a partition, as a range of rows. `peers`: the ranges of rows that are equal under
/// ORDER BY, in order. Without ORDER BY all rows are peers. `key`: the first key of ORDER BY, and whether it
/// is descending. `end`: where the partition ends, which may be beyond `rows`. An edge at the end of `rows` that is
/// found by values is further on if the partition goes on.
pub fn frames(
    frame: &Frame,
    rows: &RecordBatch,
    peers: &[Range<usize>],
    key: Option<(&Expr, bool)>,
    end: usize,
    ctx: &EvalContext,
) -> Result<Vec<Range<usize>>> {
    let edges = |side, bound| match frame.unit {
        FrameUnit::Rows => edges_by_count(side, bound, rows.num_rows(), end, ctx),
        FrameUnit::Range => edges_by_value(side, bound, rows, peers, key, end, ctx),
    };
    let starts = edges(Side::Start, &frame.start)?;
    let ends = edges(Side::End, &frame.end)?;
    // As in MySQL, neither edge moves back from one row to the next.
    let (mut first, mut last) = (0, 0);
    let frames = starts.into_iter().zip(ends).map(|(start, end)| {
        first = start.max(first);
        last = end.max(last).max(first);
        first..last
    });
    Ok(frames.collect())
}

/// The first row of a frame, or the one after its last.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    Start,
    End,
}

impl Side {
    fn of(self, range: &Range<usize>) -> usize {
        match self {
            Self::Start => range.start,
            Self::End => range.end,
        }
    }
}

fn edges_by_count(
    side: Side,
    bound: &FrameBound,
    rows: usize,
    end: usize,
    ctx: &EvalContext,
) -> Result<Vec<usize>> {
    let behind = usize::from(side == Side::End);
    let edge: Box<dyn Fn(usize) -> usize> = match bound {
        FrameBound::UnboundedPreceding => Box::new(|_| 0),
        FrameBound::UnboundedFollowing => Box::new(|_| end),
        FrameBound::CurrentRow => Box::new(|row| row + behind),
        FrameBound::Preceding(offset) => {
            let offset = row_count(offset, ctx)?;
            Box::new(move |row| (row + behind).saturating_sub(offset))
        }
        FrameBound::Following(offset) => {
            let offset = row_count(offset, ctx)?;
            Box::new(move |row| (row + behind).saturating_add(offset).min(end))
        }
    };
    Ok((0..rows).map(edge).collect())
}

fn row_count(offset: &Expr, ctx: &EvalContext) -> Result<usize> {
    let count = match eval_value(offset, ctx)? {
        Value::Int(count) => usize::try_from(count).ok(),
        Value::UInt(count) => Some(usize::try_from(count).unwrap_or(usize::MAX)),
        _ => None,
    };
    count.ok_or_else(wrong_frame)
}

/// Error 3586.
pub(crate) fn wrong_frame() -> Error {
    Error::new(
        errno::ER_WINDOW_FRAME_ILLEGAL,
        "Window '<unnamed window>': frame start or end is negative, NULL or of non-integral type",
    )
}

/// Peers have the same frame, so one search per group is enough.
fn edges_by_value(
    side: Side,
    bound: &FrameBound,
    rows: &RecordBatch,
    peers: &[Range<usize>],
    key: Option<(&Expr, bool)>,
    end: usize,
    ctx: &EvalContext,
) -> Result<Vec<usize>> {
    let search = match (bound, key) {
        (FrameBound::Preceding(edge) | FrameBound::Following(edge), Some(key)) => {
            Some(KeySearch::new(side, edge, rows, key, ctx)?)
        }
        _ => None,
    };
    let mut edges = Vec::with_capacity(rows.num_rows());
    for group in peers {
        let edge = match (bound, &search) {
            (FrameBound::UnboundedPreceding, _) => 0,
            (FrameBound::UnboundedFollowing, _) => end,
            (_, Some(search)) => search.edge(group)?.unwrap_or(end),
            (_, None) => side.of(group),
        };
        edges.resize(group.end, edge);
    }
    Ok(edges)
}

/// Finds the rows whose keys are within the value at an edge of a frame.
struct KeySearch {
    side: Side,
    keys: ArrayRef,
    key_type: SqlType,
    descending: bool,
    /// For each row, the value at the edge of its frame.
    edges: ArrayRef,
    edge_type: SqlType,
    /// The rows whose key is not NULL. All NULLs are at one end.
    non_null: Range<usize>,
}

impl KeySearch {
    fn new(
        side: Side,
        edge: &Expr,
        rows: &RecordBatch,
        (key, descending): (&Expr, bool),
        ctx: &EvalContext,
    ) -> Result<Self> {
        let keys = eval_array(key, rows, ctx)?;
        let nulls = keys.logical_null_count();
        let non_null = match descending {
            true => 0..keys.len() - nulls,
            false => nulls..keys.len(),
        };
        Ok(Self {
            side,
            key_type: key.ty(),
            descending,
            edges: eval_array(edge, rows, ctx)?,
            edge_type: edge.ty(),
            non_null,
            keys,
        })
    }

    /// The edge of the frame of a group of peers. The frame of NULLs consists of the NULLs. As in MySQL, a
    /// value that cannot be computed (a date after the year 9999) is greater than all keys: after all rows of the
    /// partition (`None`), or before them, if the order is descending.
    fn edge(&self, group: &Range<usize>) -> Result<Option<usize>> {
        if !self.non_null.contains(&group.start) {
            return Ok(Some(self.side.of(group)));
        }
        let edge = Datum::at(self.edges.as_ref(), group.start)?;
        if edge.is_null() {
            return Ok(self.descending.then_some(0));
        }
        let is_before = |row: usize| -> Result<bool> {
            let key = Datum::at(self.keys.as_ref(), row)?;
            let order = compare(&key, &edge, &self.key_type, &self.edge_type).unwrap_or(Ordering::Equal);
            let order = if self.descending { order.reverse() } else { order };
            Ok(match self.side {
                Side::Start => order.is_lt(),
                Side::End => order.is_le(),
            })
        };
        let Range { mut start, mut end } = self.non_null;
        while start < end {
            let middle = start + (end - start) / 2;
            match is_before(middle)? {
                true => start = middle + 1,
                false => end = middle,
            }
        }
        Ok(Some(start))
    }
}
