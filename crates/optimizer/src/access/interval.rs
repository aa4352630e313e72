//! An interval of a column's values.

use planner::plan::{RangeBound, RangeValue};

/// Values of one column.
#[derive(Debug, Clone)]
pub enum Interval {
    Point(RangeValue),
    Between {
        lower: Option<RangeBound>,
        upper: Option<RangeBound>,
    },
}
