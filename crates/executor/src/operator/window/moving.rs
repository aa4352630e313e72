//! The frames of rows of a partition that is read in pieces: frames of which neither edge moves back.

use std::ops::Range;
use std::rc::Rc;

use functions::window::TailStart;

use super::blocks::Blocks;

/// The frames of rows, as positions among the rows in memory.
pub(super) type Frames = Rc<[Range<usize>]>;

/// Frames, by places in the partition.
pub(super) struct MovingFrames {
    /// The frame of the last given row.
    pub last: Range<usize>,
    /// Set if frames can end with the partition: how many rows from their start on a call takes.
    pub ahead: Option<usize>,
    /// The parts of the partition of which calls know what follows.
    pub blocks: Blocks,
}

/// The frames of the next rows, as places among the rows in memory.
#[derive(Default)]
pub(super) struct NextFrames {
    pub frames: Frames,
    /// They end with the partition, which may have more rows than are in memory.
    pub at_end: bool,
    /// Where these start.
    pub starts: Vec<Option<TailStart>>,
}

impl MovingFrames {
    /// Those of the next rows' frames, as places among `nearby` rows in memory, that can be used, and that all end with the
    /// partition or all before. `first`: the place of the first row in memory; `end`: the end of the partition, counted
    /// from it.
    pub fn next_frames(
        &self,
        next: &[Range<usize>],
        nearby: usize,
        (first, end): (usize, usize),
    ) -> NextFrames {
        let (start_min, end_min) = (
            self.last.start.saturating_sub(first),
            self.last.end.saturating_sub(first),
        );
        let next = next
            .iter()
            .map(|frame| frame.start.max(start_min)..frame.end.max(end_min));
        let next: Vec<Range<usize>> = next.collect();
        let is_at_end = |frame: &Range<usize>| self.ahead.is_some() && frame.end == end;
        let at_end = next.first().is_some_and(is_at_end);
        let is_known = |edge| edge < nearby || nearby == end || (self.ahead.is_some() && edge == end);
        let start = |frame: &Range<usize>| {
            (frame.start < end).then(|| {
                let (block, block_end) = self.blocks.of(first + frame.start);
                TailStart {
                    row: frame.start,
                    block,
                    block_end: block_end - first,
                }
            })
        };
        let is_near = |frame: &Range<usize>| {
            let ahead = self.ahead.unwrap_or(0);
            let needed = start(frame).map_or(0, |start| start.block_end.max(start.row + ahead));
            needed.min(end) <= nearby
        };
        let usable = next.iter().take_while(|frame| {
            is_at_end(frame) == at_end
                && is_known(frame.start)
                && is_known(frame.end)
                && (!at_end || is_near(frame))
        });
        let frames: Frames = usable.cloned().collect();
        NextFrames {
            starts: match at_end {
                true => frames.iter().map(start).collect(),
                false => Vec::new(),
            },
            frames,
            at_end,
        }
    }

    /// The values of `rows` rows with these frames have been given. `first`: the place of the first row in memory.
    pub fn pass(&mut self, moved: &NextFrames, rows: usize, first: usize) {
        let given = moved.frames.get(..rows).and_then(<[_]>::last);
        if let Some(last) = given {
            self.last = first + last.start..first + last.end;
        }
    }
}
