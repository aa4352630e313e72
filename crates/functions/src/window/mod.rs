//! Window functions: their calls, and the values of one call over one partition.
//!
//! - [`bind()`], [`WindowCall::of_aggregate`]: calls of functions and of aggregates, bound.
//! - [`frames()`]: the frame of each row of a partition, computed once for all calls of a window.
//! - [`CallValues`]: the values of one call. Aggregates over frames are in `aggregate.rs`.
//! - [`InPieces`]: calls over partitions that are too large to be in memory; [`TailCall`]: those over frames that end
//!   with such a partition.
//!
//! Not here: which rows make a partition and their order (`executor`).
//!
//! Source: manual 12.20 "Window Functions".

mod accumulated;
mod aggregate;
mod bind;
mod evaluate;
mod frames;
mod partition;
mod pieces;
mod source;
mod tail;
#[cfg(test)]
mod tests;

use types::SqlType;

use crate::Expr;
use crate::aggregate::AggregateCall;

pub use bind::bind;
pub use evaluate::CallValues;
pub use frames::frames;
pub(crate) use frames::wrong_frame;
pub use partition::Partition;
pub use pieces::{InPieces, Place, RunningCall, position_values};
pub use tail::{TailCall, TailStart};

/// One call of a window function in a query, bound. Arguments are over the columns of the window's input.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    pub function: WindowFunction,
    pub args: Vec<Expr>,
    pub ty: SqlType,
    pub nullable: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    /// Arguments: the value, how many rows, the default.
    Lead,
    Lag,
    FirstValue,
    LastValue,
    /// Arguments: the value, which row of the frame.
    NthValue,
    /// An aggregate over the rows of the frame. It has the arguments.
    Aggregate(Box<AggregateCall>),
}

/// The rows of a partition that a call uses, relative to the current row.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    pub end: FrameBound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    Rows,
    Range,
}

/// With ROWS, the expression is a number of rows: a non-negative integer without columns. With RANGE, it is
/// the value at the edge of the frame, with which keys are compared: the current row's key minus or plus the
/// offset, over the columns of the window's input and in the type of the only sort key. Under DESC, preceding
/// rows have greater keys. Error 3586 if the offset is negative or NULL (the binder checks constants).
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

impl WindowCall {
    /// Calls `visit` with each argument.
    pub fn expressions(&self, visit: &mut dyn FnMut(&Expr)) {
        self.args.iter().for_each(&mut *visit);
        if let WindowFunction::Aggregate(call) = &self.function {
            call.expressions(visit);
        }
    }

    pub fn expressions_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.args.iter_mut().for_each(&mut *visit);
        if let WindowFunction::Aggregate(call) = &mut self.function {
            call.expressions_mut(visit);
        }
    }

    /// Whether the values depend on the order of rows that are peers.
    pub fn depends_on_peers(&self, frame: &Frame) -> bool {
        match &self.function {
            WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => false,
            WindowFunction::Aggregate(call) => {
                let has_all_peers = frame.unit == FrameUnit::Range || *frame == Frame::WHOLE;
                !has_all_peers || call.function.depends_on_order()
            }
            _ => true,
        }
    }
}

impl Frame {
    /// From the first row of the partition to the last one.
    pub const WHOLE: Self = Self {
        unit: FrameUnit::Rows,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::UnboundedFollowing,
    };

    /// The default frame of a window with ORDER BY.
    pub const TO_CURRENT: Self = Self {
        unit: FrameUnit::Range,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::CurrentRow,
    };

    /// Calls `visit` with the expression of each bound that has one.
    pub fn expressions(&self, visit: &mut dyn FnMut(&Expr)) {
        for bound in [&self.start, &self.end] {
            if let FrameBound::Preceding(expr) | FrameBound::Following(expr) = bound {
                visit(expr);
            }
        }
    }

    pub fn expressions_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        for bound in [&mut self.start, &mut self.end] {
            if let FrameBound::Preceding(expr) | FrameBound::Following(expr) = bound {
                visit(expr);
            }
        }
    }
}
