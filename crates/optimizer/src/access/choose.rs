//! The cheapest way to read a table by one of its indexes, or by none.

use functions::Expr;
use schema::model::{Handle, Table};
use types::{Error, Result, errno};

use super::alternatives::Conditions;
use super::cost::{Reading, cost, rows_read};
use super::paths::{Candidate, Path};
use super::{Chosen, Request, order, partitions};
use syntax::ast::{IndexHint, IndexHintKind};

/// The cheapest path by one index, and its cost, in rows of a full scan; infinite if nothing could be weighed.
pub(super) fn by_one_index(request: &Request<'_>) -> Result<(f64, Chosen)> {
    let table = request.table;
    let conditions = Conditions::of(&request.conjuncts, table);
    let allowed = Allowed::of(request, |hint| hint.for_rows)?;
    let mut best: Option<(f64, Chosen)> = None;
    let mut paths = Vec::new();
    let mut possible_keys = Vec::new();
    for candidate in candidates(table, request.invisible) {
        let of_index = conditions.paths(&candidate);
        if of_index.iter().any(Path::is_useful) {
            possible_keys.push(index_name(table, candidate.index));
        }
        for path in of_index {
            if allowed.allows(candidate.index, path.is_useful()) {
                paths.push((candidate.clone(), path));
            }
        }
    }
    // A range of the primary key is never worse than the whole table: its size decides nothing.
    let useful: Vec<&Path> = paths
        .iter()
        .map(|(_, path)| path)
        .filter(|path| path.is_useful())
        .collect();
    let weighs = match useful.as_slice() {
        [] => false,
        [only] => only.index.is_some(),
        several => !several.iter().any(|path| path.points),
    };
    for (candidate, path) in paths {
        if let Some((cost, chosen)) = weigh(request, &candidate, path, weighs)
            && best.as_ref().is_none_or(|(least, _)| cost < *least)
        {
            best = Some((cost, chosen));
        }
    }
    let (cost, mut chosen) = best.unwrap_or_else(|| (f64::INFINITY, full(request)));
    chosen.possible_keys = possible_keys;
    chosen.partitions = partitions::of(request, chosen.ordered);
    Ok((cost, chosen))
}

/// The whole table, everything filtered.
pub fn full(request: &Request<'_>) -> Chosen {
    Chosen {
        access: planner::plan::Access::Full { reverse: false },
        residual: request.conjuncts.clone(),
        ordered: false,
        rows: request.estimate.rows as f64,
        expected: request.estimate.rows as f64,
        wide: true,
        points: false,
        possible_keys: Vec::new(),
        partitions: partitions::of(request, false),
    }
}

/// The primary key (or the rows in the order of their hidden ids), then the indexes that may be read.
pub(super) fn candidates(table: &Table, invisible: bool) -> Vec<Candidate<'_>> {
    let mut candidates = vec![Candidate {
        index: None,
        parts: table.primary_parts(),
        unique: true,
        array: None,
        table,
    }];
    for (position, index) in table.indexes.iter().enumerate() {
        if index.is_readable_with(invisible) && !is_primary(table, position) {
            candidates.push(Candidate {
                index: Some(position),
                parts: index.parts.clone(),
                unique: index.unique,
                array: index.multi_valued_part(&table.columns),
                table,
            });
        }
    }
    candidates
}

fn is_primary(table: &Table, position: usize) -> bool {
    table.indexes[position].primary
        || matches!(table.handle, Handle::Clustered { index } if index == position)
}

pub(super) fn index_name(table: &Table, index: Option<usize>) -> String {
    index.map_or_else(|| "PRIMARY".to_owned(), |index| table.indexes[index].name.clone())
}

/// `dives`: the engine may be asked how large ranges are.
fn weigh(request: &Request<'_>, candidate: &Candidate<'_>, path: Path, dives: bool) -> Option<(f64, Chosen)> {
    let direction = match candidate.array {
        None => order::direction(&path, candidate, &request.order),
        Some(_) => None,
    };
    // An index that serves no condition and no order helps only if it covers the query. Even then a full scan
    // in key order is preferred: its cost is better known.
    if candidate.index.is_some() && !path.is_useful() && direction.is_none() {
        return None;
    }
    let satisfied = |position: usize| path.satisfied.contains(&position);
    let residual: Vec<Expr> = request
        .conjuncts
        .iter()
        .enumerate()
        .filter(|(position, _)| !satisfied(*position))
        .map(|(_, conjunct)| conjunct.clone())
        .collect();
    let covering = covers(candidate, request.columns, &residual);
    let (rows, expected) = rows_read(&path, &request.estimate, dives);
    let reading = Reading {
        rows,
        of_rows: candidate.index.is_none(),
        covering,
        ranges: path.ranges.len(),
        filtered: !residual.is_empty(),
        useful: path.is_useful(),
        ordered: (!request.order.is_empty()).then_some(direction.is_some()),
        limit: request.limit,
    };
    let cost = cost(&reading);
    let chosen = Chosen {
        wide: matches!(path.access(false, false), planner::plan::Access::Full { .. }),
        points: path.points && !path.repeats,
        access: path.access(direction.unwrap_or(false), covering),
        residual,
        ordered: direction.is_some(),
        rows,
        expected,
        possible_keys: Vec::new(),
        partitions: None,
    };
    Some((cost, chosen))
}

/// Whether the index is covering: its entries hold every column that is wanted.
pub(super) fn covers(candidate: &Candidate<'_>, wanted: &[usize], residual: &[Expr]) -> bool {
    let Some(index) = candidate.index else {
        return false;
    };
    let mut columns = wanted.to_vec();
    for condition in residual {
        condition.walk(&mut |e| {
            if let Expr::Column { index, .. } = e {
                columns.push(*index);
            }
        });
    }
    schema::layout::index_covers(candidate.table, index, &columns)
}

/// The indexes that USE, FORCE and IGNORE INDEX allow.
pub(super) struct Allowed {
    only: Option<Vec<Option<usize>>>,
    ignored: Vec<Option<usize>>,
    forced: bool,
}

impl Allowed {
    /// By the hints that are about what the index is read for.
    pub(super) fn of(request: &Request<'_>, is_about: impl Fn(&IndexHint) -> bool) -> Result<Self> {
        let mut allowed = Self {
            only: None,
            ignored: Vec::new(),
            forced: false,
        };
        for hint in request.hints {
            let mut named = Vec::with_capacity(hint.indexes.len());
            for name in &hint.indexes {
                named.push(find_index(request, name)?);
            }
            if !is_about(hint) {
                continue;
            }
            match hint.kind {
                IndexHintKind::Ignore => allowed.ignored.extend(named),
                kind => {
                    allowed.only.get_or_insert_default().extend(named);
                    allowed.forced |= kind == IndexHintKind::Force;
                }
            }
        }
        Ok(allowed)
    }

    /// The rows themselves can be read whatever the hints say, unless another index is forced and can serve.
    pub(super) fn allows(&self, index: Option<usize>, useful: bool) -> bool {
        if index.is_none() && !useful {
            return !self.forced;
        }
        !self.ignored.contains(&index) && self.only.as_ref().is_none_or(|only| only.contains(&index))
    }
}

fn find_index(request: &Request<'_>, name: &str) -> Result<Option<usize>> {
    let table = request.table;
    if name.eq_ignore_ascii_case("PRIMARY") && !matches!(table.handle, Handle::Hidden) {
        return Ok(None);
    }
    let found = table
        .indexes
        .iter()
        .position(|index| index.is_readable_with(request.invisible) && types::same_name(&index.name, name));
    found.map(Some).ok_or_else(|| {
        Error::new(
            errno::ER_KEY_DOES_NOT_EXITS,
            format!("Key '{name}' doesn't exist in table '{}'", request.alias),
        )
    })
}
