//! Loose index scans: where only the groups of rows are wanted that are equal in the leading parts of an index, or the
//! least and greatest value of the part after them, the ends of each group are all that has to be read.

use planner::plan::{Access, Range};
use schema::model::Table;
use syntax::ast::IndexHintKind;
use types::Result;

use super::alternatives::Conditions;
use super::choose::{Allowed, candidates, covers, index_name};
use super::paths::{Candidate, Path};
use super::{Chosen, Request};
use crate::cost;

/// What is wanted of the rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouping<C> {
    /// Which values these columns have together.
    pub columns: Vec<C>,
    /// In each group of them, the least or greatest value of a column.
    pub extreme: Option<C>,
    pub least: bool,
    pub greatest: bool,
}

impl<C: Copy + PartialEq> Grouping<C> {
    /// The same of other columns; `None` if one is not found.
    pub fn map<D: PartialEq>(&self, column: &dyn Fn(C) -> Option<D>) -> Option<Grouping<D>> {
        let mut columns: Vec<D> = Vec::with_capacity(self.columns.len());
        for id in &self.columns {
            let found = column(*id)?;
            if !columns.contains(&found) {
                columns.push(found);
            }
        }
        let extreme = match self.extreme {
            Some(id) => Some(column(id)?),
            None => None,
        };
        Some(Grouping {
            columns,
            extreme,
            least: self.least,
            greatest: self.greatest,
        })
    }
}

/// The path that reads the ends of groups, if there is one that costs less than reading all rows.
pub fn ends_of_groups(request: &Request<'_>, grouping: &Grouping<usize>) -> Result<Option<Chosen>> {
    let table = request.table;
    let conditions = Conditions::of(&request.conjuncts, table);
    // Those FOR GROUP BY too.
    let allowed = Allowed::of(request, |hint| {
        hint.for_rows || hint.kind == IndexHintKind::Ignore
    })?;
    let mut best: Option<(f64, Chosen)> = None;
    for candidate in candidates(table, request.invisible) {
        if let Some((cost, chosen)) = of_index(request, grouping, &candidate, &conditions)
            && allowed.allows(candidate.index, true)
            && best.as_ref().is_none_or(|(least, _)| cost < *least)
        {
            best = Some((cost, chosen));
        }
    }
    Ok(best.map(|(_, chosen)| chosen))
}

fn of_index(
    request: &Request<'_>,
    grouping: &Grouping<usize>,
    candidate: &Candidate<'_>,
    conditions: &Conditions,
) -> Option<(f64, Chosen)> {
    let table = request.table;
    let parts = grouping.columns.len();
    if candidate.array.is_some() || !leads(candidate, grouping, table) {
        return None;
    }
    if candidate.index.is_some() && !covers(candidate, request.columns, &[]) {
        return None;
    }
    let satisfies_all = |path: &Path| {
        (0..request.conjuncts.len()).all(|condition| path.satisfied.contains(&condition)) && !path.repeats
    };
    let path = conditions.paths(candidate).into_iter().find(satisfies_all)?;
    let is_useful = path.is_useful();
    let ranges = match is_useful {
        true => path.ranges,
        false => vec![Range {
            prefix: Vec::new(),
            lower: None,
            upper: None,
        }],
    };
    // No range may begin or end within a group.
    let is_bounded = |range: &Range| range.lower.is_some() || range.upper.is_some();
    let holds_groups = |range: &Range| range.prefix.len() + usize::from(is_bounded(range)) <= parts;
    if !ranges.iter().all(holds_groups) {
        return None;
    }
    let all = request.estimate.rows as f64;
    let per_group = request.estimate.rows_per_key(candidate.index, parts)?;
    let read = match is_useful {
        true => request.estimate.rows_in(candidate.index, &ranges, true)?,
        false => all,
    };
    let groups = (read / per_group.max(1.0)).max(1.0);
    let found = groups * f64::from(u8::from(grouping.least) + u8::from(grouping.greatest)).max(1.0);
    let cost = found * (cost::POINT_READ + cost::NEXT_ENTRY);
    if cost >= read * cost::NEXT_ENTRY {
        return None;
    }
    let chosen = Chosen {
        access: Access::GroupEnds {
            index: candidate.index,
            ranges,
            parts,
            first: grouping.least || !grouping.greatest,
            last: grouping.greatest,
        },
        residual: Vec::new(),
        ordered: false,
        rows: found,
        expected: found,
        wide: false,
        points: false,
        possible_keys: vec![index_name(table, candidate.index)],
        partitions: None,
    };
    Some((cost, chosen))
}

/// Whether an index begins with the columns of the groups, and the one of which an end is wanted comes next.
fn leads(candidate: &Candidate<'_>, grouping: &Grouping<usize>, table: &Table) -> bool {
    let parts = &candidate.parts;
    let count = grouping.columns.len();
    let is_grouped =
        |part: &schema::model::IndexPart| part.prefix.is_none() && grouping.columns.contains(&part.column);
    if parts.len() < count || !parts[..count].iter().all(is_grouped) {
        return false;
    }
    let Some(extreme) = grouping.extreme else {
        return true;
    };
    // NULLs come first, and MIN ignores them.
    let has_least = !grouping.least || !table.columns[extreme].nullable;
    parts
        .get(count)
        .is_some_and(|part| part.column == extreme && part.prefix.is_none() && !part.descending && has_least)
}
