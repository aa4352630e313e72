//! An aggregate that adds and removes rows from one frame to the next.

use std::ops::Range;
use std::rc::Rc;

use arrow::array::{Array, ArrayRef};
use types::array::ColumnBuilder;
use types::{Result, SqlType, Value};

use crate::EvalContext;
use crate::aggregate::{Accumulator, AggregateCall};
use crate::datum::Datum;
use crate::eval::output::append;

/// Any aggregate over frames, row after row.
pub(super) struct Accumulated<'c> {
    call: &'c AggregateCall,
    ty: &'c SqlType,
    pub args: Vec<ArrayRef>,
    frames: Rc<[Range<usize>]>,
    accumulator: Accumulator,
    /// The rows that have been added to the accumulator.
    added: Range<usize>,
    /// The value of these rows, once it is computed.
    value: Option<Value>,
}

impl<'c> Accumulated<'c> {
    /// `ty`: the type of the values.
    pub fn new(
        call: &'c AggregateCall,
        ty: &'c SqlType,
        args: Vec<ArrayRef>,
        frames: &Rc<[Range<usize>]>,
    ) -> Result<Self> {
        Ok(Self {
            call,
            ty,
            args,
            frames: Rc::clone(frames),
            accumulator: Accumulator::new(call)?,
            added: 0..0,
            value: None,
        })
    }

    /// The values of the next rows.
    pub fn next(&mut self, rows: Range<usize>, ctx: &EvalContext) -> Result<ArrayRef> {
        let frames = Rc::clone(&self.frames);
        let mut out = ColumnBuilder::new(self.ty, rows.len());
        for frame in frames.get(rows).unwrap_or_default() {
            if self.value.is_none() || *frame != self.added {
                ctx.check_interrupted()?;
                self.move_to(frame, ctx)?;
            }
            let current = self.value.as_ref().map_or(Datum::Null, Datum::of);
            append(&mut out, current, self.ty)?;
        }
        Ok(out.finish())
    }

    fn move_to(&mut self, frame: &Range<usize>, ctx: &EvalContext) -> Result<()> {
        if frame.start != self.added.start || frame.end < self.added.end {
            self.accumulator = Accumulator::new(self.call)?;
            self.added = frame.start..frame.start;
        }
        let (first, more) = (self.added.end, frame.end - self.added.end);
        let rows: Vec<ArrayRef> = self.args.iter().map(|arg| arg.slice(first, more)).collect();
        self.accumulator.update(&rows, more, ctx)?;
        self.added = frame.clone();
        self.value = Some(self.accumulator.evaluate(ctx)?);
        Ok(())
    }

    /// The memory without the arguments.
    pub fn size_bytes(&self) -> usize {
        self.accumulator.size_bytes() + self.value.as_ref().map_or(0, Value::size_bytes)
    }
}
