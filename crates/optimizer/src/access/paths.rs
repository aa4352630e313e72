//! Conditions combined to ranges of one index: leading parts that are fixed, then one part that is bounded.

use functions::Expr;
use schema::model::{IndexPart, Table};

use super::interval::Interval;
use super::sarg::{Sarg, merge_ends};
use planner::plan::{Access, Range, RangeValue};

/// Ranges one statement may have; beyond it a later part of the index is not used.
pub const MAX_RANGES: usize = 65_536;

/// How one index would be read.
#[derive(Debug, Clone)]
pub struct Path {
    /// Position in the table's indexes; `None`: the rows themselves, by primary key.
    pub index: Option<usize>,
    pub ranges: Vec<Range>,
    /// Leading parts that have one of several given values.
    pub fixed_parts: usize,
    /// In how many combinations.
    pub combinations: usize,
    /// Columns that have one value only.
    pub constant_columns: Vec<usize>,
    pub bounded: Bounded,
    /// Complete keys of a unique index.
    pub points: bool,
    /// A row can have several entries in the ranges, which are of single elements of an array.
    pub repeats: bool,
    /// Positions of conditions that need not be checked again.
    pub satisfied: Vec<usize>,
    /// Positions of the conditions that are used.
    pub used: Vec<usize>,
}

/// The bounds of the part after the fixed ones, from the widest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bounded {
    No,
    /// By IS NOT NULL only.
    NotNull,
    OneEnd,
    BothEnds,
}

/// A search argument, and the position of its condition.
pub type Numbered<'a> = (usize, &'a Sarg);

/// The search arguments that there are.
pub fn numbered<'a>(sargs: impl IntoIterator<Item = &'a Option<Sarg>>) -> Vec<Numbered<'a>> {
    let numbered = sargs.into_iter().enumerate();
    numbered
        .filter_map(|(at, sarg)| Some((at, sarg.as_ref()?)))
        .collect()
}

/// A candidate index.
#[derive(Clone)]
pub struct Candidate<'a> {
    pub index: Option<usize>,
    pub parts: Vec<IndexPart>,
    pub unique: bool,
    /// The number of the part of which a row has several values.
    pub array: Option<usize>,
    pub table: &'a Table,
}

impl Candidate<'_> {
    /// What search arguments make of this index.
    pub fn path(&self, sargs: &[Numbered<'_>]) -> Path {
        let mut builder = PathBuilder {
            candidate: self,
            prefixes: vec![Vec::new()],
            path: Path {
                index: self.index,
                ranges: Vec::new(),
                fixed_parts: 0,
                combinations: 1,
                constant_columns: Vec::new(),
                bounded: Bounded::No,
                points: false,
                repeats: false,
                satisfied: Vec::new(),
                used: Vec::new(),
            },
        };
        builder.build(sargs);
        match self.array {
            Some(part) => builder.path.of_elements(part),
            None => builder.path,
        }
    }
}

struct PathBuilder<'a> {
    candidate: &'a Candidate<'a>,
    /// Values of the fixed parts, in all combinations.
    prefixes: Vec<Vec<RangeValue>>,
    path: Path,
}

impl PathBuilder<'_> {
    fn build(&mut self, sargs: &[Numbered<'_>]) {
        let candidate = self.candidate;
        for part in &candidate.parts {
            if let Some((condition, sarg)) = best_points(part.column, sargs)
                && self.prefixes.len().saturating_mul(sarg.intervals.len()) <= MAX_RANGES
            {
                self.fix(condition, sarg, part);
                if part.prefix.is_none() {
                    continue;
                }
                return self.finish(None);
            }
            let interval = self.bound(part, sargs);
            return self.finish(interval);
        }
        self.path.points = self.are_points();
        self.finish(None);
    }

    fn fix(&mut self, condition: usize, sarg: &Sarg, part: &IndexPart) {
        let values: Vec<&RangeValue> = sarg
            .intervals
            .iter()
            .filter_map(|interval| match interval {
                Interval::Point(value) => Some(value),
                Interval::Between { .. } => None,
            })
            .collect();
        let combine = |prefix: &Vec<RangeValue>| -> Vec<Vec<RangeValue>> {
            let extend = |value: &&RangeValue| prefix.iter().cloned().chain([(*value).clone()]).collect();
            values.iter().map(extend).collect()
        };
        self.prefixes = self.prefixes.iter().flat_map(combine).collect();
        self.path.fixed_parts += 1;
        self.path.used.push(condition);
        if values.len() == 1 {
            self.path.constant_columns.push(part.column);
        }
        // A prefix index does not decide conditions about the text after the prefix.
        if sarg.exact && part.prefix.is_none() {
            self.path.satisfied.push(condition);
        }
    }

    /// Ranges of the first part that is not fixed.
    fn bound(&mut self, part: &IndexPart, sargs: &[Numbered<'_>]) -> Option<Vec<Interval>> {
        let of_part = |(_, sarg): &&Numbered<'_>| sarg.column == part.column;
        let ranges: Vec<Numbered<'_>> = sargs.iter().filter(of_part).copied().collect();
        let whole = part.prefix.is_none();
        let mut used: Vec<Numbered<'_>> = Vec::new();
        let mut chosen: Option<Vec<Interval>> = None;
        // The two ends of a range are often two conditions.
        'pairs: for low in &ranges {
            for high in &ranges {
                if let Some(merged) = merge_ends(low.1, high.1) {
                    used = vec![*low, *high];
                    chosen = Some(vec![merged]);
                    break 'pairs;
                }
            }
        }
        if chosen.is_none() {
            // Both ends in one condition before one end.
            let both = ranges
                .iter()
                .find(|(_, sarg)| ends(&sarg.intervals) == Bounded::BothEnds);
            let best = both.or(ranges.first())?;
            used.push(*best);
            chosen = Some(best.1.intervals.clone());
        }
        let mut intervals = chosen?;
        if self.prefixes.len().saturating_mul(intervals.len()) > MAX_RANGES {
            return None;
        }
        if whole {
            let exact = used.iter().filter(|(_, sarg)| sarg.exact);
            self.path.satisfied.extend(exact.map(|(at, _)| *at));
        } else {
            intervals.iter_mut().for_each(include_ends);
        }
        self.path.bounded = ends(&intervals);
        self.path.used.extend(used.iter().map(|(at, _)| *at));
        Some(intervals)
    }

    fn finish(&mut self, intervals: Option<Vec<Interval>>) {
        self.path.combinations = self.prefixes.len();
        let Some(intervals) = intervals else {
            self.path.ranges = std::mem::take(&mut self.prefixes)
                .into_iter()
                .map(|prefix| Range {
                    prefix,
                    lower: None,
                    upper: None,
                })
                .collect();
            return;
        };
        for prefix in &self.prefixes {
            for interval in &intervals {
                self.path.ranges.push(range(prefix.clone(), interval));
            }
        }
    }

    /// Every part is fixed by values that cannot be NULL, so that each range is one key at most.
    fn are_points(&self) -> bool {
        let candidate = self.candidate;
        let is_value = |(value, part): (&RangeValue, &IndexPart)| match value {
            RangeValue::Equal(_) => true,
            RangeValue::NullSafe(_) => !candidate.table.columns[part.column].nullable,
            RangeValue::IsNull | RangeValue::Words(..) => false,
        };
        candidate.unique
            && !candidate.parts.is_empty()
            && candidate.parts.iter().all(|part| part.prefix.is_none())
            && self
                .prefixes
                .iter()
                .all(|prefix| prefix.iter().zip(&candidate.parts).all(is_value))
    }
}

/// The condition that gives a column the fewest values.
fn best_points<'a>(column: usize, sargs: &[Numbered<'a>]) -> Option<Numbered<'a>> {
    let of_column = |(_, sarg): &&Numbered<'a>| sarg.column == column && sarg.is_points();
    let points = sargs.iter().filter(of_column).copied();
    points.min_by_key(|(_, sarg)| sarg.intervals.len())
}

/// Whether a condition gives a column one value.
pub fn single_value(column: usize, sargs: &[Numbered<'_>]) -> bool {
    best_points(column, sargs).is_some_and(|(_, sarg)| sarg.intervals.len() == 1)
}

fn range(mut prefix: Vec<RangeValue>, interval: &Interval) -> Range {
    match interval {
        Interval::Point(value) => {
            prefix.push(value.clone());
            Range {
                prefix,
                lower: None,
                upper: None,
            }
        }
        Interval::Between { lower, upper } => Range {
            prefix,
            lower: lower.clone(),
            upper: upper.clone(),
        },
    }
}

fn has_words(range: &Range) -> bool {
    let is_words = |value: &RangeValue| matches!(value, RangeValue::Words(..));
    range.prefix.iter().any(is_words)
}

/// In an index of prefixes, values that differ only after the prefix are equal.
fn include_ends(interval: &mut Interval) {
    if let Interval::Between { lower, upper } = interval {
        for bound in [lower, upper].into_iter().flatten() {
            if matches!(bound.value, planner::plan::RangeBoundValue::Value(_)) {
                bound.inclusive = true;
            }
        }
    }
}

fn ends(intervals: &[Interval]) -> Bounded {
    let is_closed = |interval: &Interval| match interval {
        Interval::Point(_) => true,
        Interval::Between { lower, upper } => lower.is_some() && upper.is_some(),
    };
    let is_not_null = |interval: &Interval| match interval {
        Interval::Between {
            lower: Some(lower),
            upper: None,
        } => matches!(lower.value, planner::plan::RangeBoundValue::Null),
        _ => false,
    };
    if intervals.iter().any(is_not_null) {
        Bounded::NotNull
    } else if intervals.iter().all(is_closed) {
        Bounded::BothEnds
    } else {
        Bounded::OneEnd
    }
}

impl Path {
    /// The path by a multi-valued index, whose part of that number has elements of arrays. Rows with empty
    /// arrays have no entries, and others several, so the index serves only where that part is fixed.
    fn of_elements(self, part: usize) -> Self {
        let is_fixed = self.fixed_parts > part;
        Self {
            used: if is_fixed { self.used } else { Vec::new() },
            repeats: self.ranges.len() > 1 || self.ranges.iter().any(has_words),
            ..self
        }
    }

    /// Whether it reads less than all entries.
    pub fn is_useful(&self) -> bool {
        !self.used.is_empty()
    }

    /// Adds the ranges of another path by the same index.
    pub fn extend(&mut self, other: Self) {
        self.ranges.extend(other.ranges);
        // Few fixed parts and wide bounds decide how much is read.
        (self.fixed_parts, self.bounded) =
            (self.fixed_parts, self.bounded).min((other.fixed_parts, other.bounded));
        self.combinations += other.combinations;
        let in_both = |of_other: &[usize], one: &usize| of_other.contains(one);
        self.constant_columns
            .retain(|column| in_both(&other.constant_columns, column));
        self.satisfied
            .retain(|condition| in_both(&other.satisfied, condition));
        self.used.retain(|condition| in_both(&other.used, condition));
        self.points &= other.points;
        self.repeats |= other.repeats;
    }

    /// The keys of a path of points only.
    pub fn keys(&self) -> Vec<Vec<Expr>> {
        let value = |value: &RangeValue| match value {
            RangeValue::Equal(expr) | RangeValue::NullSafe(expr) => Some(expr.clone()),
            RangeValue::IsNull | RangeValue::Words(..) => None,
        };
        let key = |range: &Range| range.prefix.iter().filter_map(value).collect();
        self.ranges.iter().map(key).collect()
    }

    /// Each range by itself: a union has each row once.
    fn parts_of_union(&self, index: usize) -> Vec<Access> {
        let part = |range: &Range| Access::IndexRanges {
            index,
            ranges: vec![range.clone()],
            reverse: false,
            covering: false,
        };
        self.ranges.iter().map(part).collect()
    }

    pub fn access(&self, reverse: bool, covering: bool) -> Access {
        match (self.index, self.points) {
            (Some(index), _) if self.repeats => Access::Union {
                parts: self.parts_of_union(index),
            },
            (None, _) if !self.is_useful() => Access::Full { reverse },
            (None, true) => Access::PrimaryPoints { keys: self.keys() },
            (None, false) => Access::PrimaryRanges {
                ranges: self.ranges.clone(),
                reverse,
            },
            (Some(index), true) => Access::UniquePoints {
                index,
                keys: self.keys(),
            },
            (Some(index), _) => Access::IndexRanges {
                index,
                ranges: self.ranges.clone(),
                reverse,
                covering,
            },
        }
    }
}
