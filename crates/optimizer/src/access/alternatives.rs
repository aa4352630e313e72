//! What the conditions of a statement make of an index: those that bound a column alone, and an OR whose alternatives
//! each allow ranges of one and the same index. That is `(a, b) IN ((1, 2), (3, 4))`, which has become
//! `a = 1 AND b = 2 OR a = 3 AND b = 4`, or `a > 1 OR a = 1 AND b > 2`.
//!
//! Not here: alternatives about one column only, which are its intervals ([`super::sarg`]), and alternatives
//! that are read by different indexes ([`super::union`]).

use functions::Expr;
use schema::model::Table;

use super::paths::{Candidate, MAX_RANGES, Numbered, Path, numbered, single_value};
use super::sarg::{self, Sarg};

/// What each of the statement's conditions allows.
pub struct Conditions {
    sargs: Vec<Option<Sarg>>,
    /// Of conditions that have no search argument of their own.
    alternatives: Vec<Option<Alternatives>>,
}

impl Conditions {
    pub fn of(conjuncts: &[Expr], table: &Table) -> Self {
        let sargs: Vec<Option<Sarg>> = conjuncts.iter().map(|c| sarg::of(c, table)).collect();
        let alternatives = |(conjunct, sarg): (&Expr, &Option<Sarg>)| match sarg {
            Some(_) => None,
            None => of(conjunct, table),
        };
        let alternatives = conjuncts.iter().zip(&sargs).map(alternatives).collect();
        Self { sargs, alternatives }
    }

    /// What they make of an index: those with a search argument alone, then each OR with them.
    pub fn paths(&self, candidate: &Candidate<'_>) -> Vec<Path> {
        let mut paths = vec![candidate.path(&numbered(&self.sargs))];
        let with_or = |(position, alternatives): (usize, &Option<Alternatives>)| {
            alternatives.as_ref()?.path(position, candidate, &self.sargs)
        };
        paths.extend(self.alternatives.iter().enumerate().filter_map(with_or));
        paths
    }
}

/// Conditions beside the OR with more intervals are not combined with it.
const INTERVALS_OF_OTHERS: usize = 8;

/// What each of the conditions of each alternative allows.
#[derive(Debug, Clone)]
struct Alternatives(Vec<Vec<Option<Sarg>>>);

/// The alternatives of an OR.
fn of(condition: &Expr, table: &Table) -> Option<Alternatives> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    if function.name() != "or" || args.len() > MAX_RANGES {
        return None;
    }
    let of_all = |alternative| {
        let conditions = planner::conjuncts(Some(alternative)).into_iter();
        let sargs: Vec<_> = conditions.map(|one| sarg::alternative(one, table)).collect();
        sargs.iter().any(Option::is_some).then_some(sargs)
    };
    args.iter().map(of_all).collect::<Option<_>>().map(Alternatives)
}

impl Alternatives {
    /// The ranges of all alternatives, if each of them bounds its own. `position` is that of the OR among the
    /// statement's conditions, and `others` is what these allow.
    ///
    /// Each of them has the ranges of the others' intervals, too. So long lists of the others are not used.
    fn path(&self, position: usize, candidate: &Candidate<'_>, others: &[Option<Sarg>]) -> Option<Path> {
        let first_own = others.len();
        let others = numbered(others);
        let is_short = |(_, sarg): &&Numbered<'_>| sarg.intervals.len() <= INTERVALS_OF_OTHERS;
        let others: Vec<Numbered<'_>> = others.iter().filter(is_short).copied().collect();
        let mut all: Option<Path> = None;
        for own in &self.0 {
            let mut sargs = others.clone();
            sargs.extend(numbered(own).into_iter().map(|(at, sarg)| (first_own + at, sarg)));
            let mut path = candidate.path(&sargs);
            if !path.used.iter().any(|&condition| condition >= first_own) {
                return None;
            }
            let is_satisfied =
                (first_own..first_own + own.len()).all(|condition| path.satisfied.contains(&condition));
            let of_others = |condition: &usize| *condition < first_own;
            path.satisfied.retain(of_others);
            path.satisfied.extend(is_satisfied.then_some(position));
            path.used.retain(of_others);
            path.used.push(position);
            path.constant_columns
                .retain(|&column| single_value(column, &others));
            match &mut all {
                Some(all) => all.extend(path),
                None => all = Some(path),
            }
            if all.as_ref().is_some_and(|all| all.ranges.len() > MAX_RANGES) {
                return None;
            }
        }
        all.map(|all| Path {
            repeats: candidate.array.is_some(),
            ..all
        })
    }
}
