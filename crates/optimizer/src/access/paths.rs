//! Conditions combined to ranges of one index: leading parts that are fixed, then one part that is bounded.

use functions::Expr;
use schema::model::{IndexPart, Table};

use super::interval::Interval;
use super::sarg::{Sarg, merge_ends};
use super::tuple::Tuples;
use planner::plan::{Access, Range, RangeValue};

/// Ranges one statement may have; beyond it a later part of the index is not used.
const MAX_RANGES: usize = 65_536;

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
    /// Whether any condition is used.
    pub useful: bool,
}

/// The bounds of the part after the fixed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bounded {
    No,
    /// By IS NOT NULL only.
    NotNull,
    OneEnd,
    BothEnds,
}

/// What each of the statement's conditions allows.
pub struct Conditions {
    pub sargs: Vec<Option<Sarg>>,
    pub tuples: Vec<Option<Tuples>>,
}

/// A candidate index.
pub struct Candidate<'a> {
    pub index: Option<usize>,
    pub parts: Vec<IndexPart>,
    pub unique: bool,
    /// The number of the part of which a row has several values.
    pub array: Option<usize>,
    pub table: &'a Table,
}

impl Candidate<'_> {
    /// What the conditions make of this index.
    pub fn path(&self, conditions: &Conditions) -> Path {
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
                useful: false,
            },
        };
        builder.begin_with_tuples(&conditions.tuples, &conditions.sargs);
        builder.build(&conditions.sargs);
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
    /// Fixes the leading parts by rows of values, unless single conditions do.
    fn begin_with_tuples(&mut self, tuples: &[Option<Tuples>], sargs: &[Option<Sarg>]) {
        let fixed_alone = |column: usize| best_points(column, sargs).is_some();
        for (condition, tuples) in tuples.iter().enumerate() {
            let Some(tuples) = tuples else {
                continue;
            };
            let Some(prefixes) = tuples.prefixes(&self.candidate.parts) else {
                continue;
            };
            if tuples.rows.len() > MAX_RANGES || tuples.columns.iter().all(|&column| fixed_alone(column)) {
                continue;
            }
            self.prefixes = prefixes;
            self.path.fixed_parts = tuples.columns.len();
            self.path.useful = true;
            if tuples.exact {
                self.path.satisfied.push(condition);
            }
            return;
        }
    }

    fn build(&mut self, sargs: &[Option<Sarg>]) {
        let candidate = self.candidate;
        for part in candidate.parts.get(self.path.fixed_parts..).unwrap_or_default() {
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
        self.path.useful = true;
        if values.len() == 1 {
            self.path.constant_columns.push(part.column);
        }
        // A prefix index does not decide conditions about the text after the prefix.
        if sarg.exact && part.prefix.is_none() {
            self.path.satisfied.push(condition);
        }
    }

    /// Ranges of the first part that is not fixed.
    fn bound(&mut self, part: &IndexPart, sargs: &[Option<Sarg>]) -> Option<Vec<Interval>> {
        let of_part = |(position, sarg): (usize, &Option<Sarg>)| {
            let sarg = sarg.as_ref().filter(|sarg| sarg.column == part.column)?;
            Some((position, sarg.clone()))
        };
        let ranges: Vec<(usize, Sarg)> = sargs.iter().enumerate().filter_map(of_part).collect();
        let whole = part.prefix.is_none();
        let mut used: Vec<usize> = Vec::new();
        let mut chosen: Option<Vec<Interval>> = None;
        // The two ends of a range are often two conditions.
        'pairs: for (low_at, low) in &ranges {
            for (high_at, high) in &ranges {
                if let Some(merged) = merge_ends(low, high) {
                    used = [(low_at, low), (high_at, high)]
                        .iter()
                        .filter(|(_, sarg)| sarg.exact)
                        .map(|(at, _)| **at)
                        .collect();
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
            let (at, sarg) = both.or(ranges.first())?;
            used.extend(sarg.exact.then_some(*at));
            chosen = Some(sarg.intervals.clone());
        }
        let mut intervals = chosen?;
        if self.prefixes.len().saturating_mul(intervals.len()) > MAX_RANGES {
            return None;
        }
        if whole {
            self.path.satisfied.extend(used);
        } else {
            intervals.iter_mut().for_each(include_ends);
        }
        self.path.bounded = ends(&intervals);
        self.path.useful = true;
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

/// The conditions that give a column the fewest values.
fn best_points(column: usize, sargs: &[Option<Sarg>]) -> Option<(usize, &Sarg)> {
    sargs
        .iter()
        .enumerate()
        .filter_map(|(position, sarg)| Some((position, sarg.as_ref()?)))
        .filter(|(_, sarg)| sarg.column == column && sarg.is_points())
        .min_by_key(|(_, sarg)| sarg.intervals.len())
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
            useful: self.useful && is_fixed,
            repeats: self.ranges.len() > 1 || self.ranges.iter().any(has_words),
            ..self
        }
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
            (None, _) if !self.useful => Access::Full { reverse },
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
