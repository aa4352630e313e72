//! Which orders an index gives: that of its parts, then that of the primary key among entries of equal parts.

use schema::model::{Handle, Table};

use super::paths::{Candidate, Path};

/// Whether reading along `path`, forwards (`Some(false)`) or backwards (`Some(true)`), gives rows in the
/// wanted order.
pub fn direction(path: &Path, candidate: &Candidate<'_>, wanted: &[(usize, bool)]) -> Option<bool> {
    if wanted.is_empty() {
        return None;
    }
    if path.points {
        // One key is one row. The order of several keys is not defined.
        return (path.ranges.len() == 1).then_some(false);
    }
    let columns = ordered_columns(candidate);
    let is_constant = |column: usize| path.constant_columns.contains(&column);
    let mut given = columns
        .iter()
        .copied()
        .filter(|(column, _)| !is_constant(*column))
        .peekable();
    let mut reverse = None;
    for &(column, descending) in wanted {
        if is_constant(column) {
            continue;
        }
        if given.peek().is_none() {
            // All columns of a unique key have been compared: no two rows are equal here.
            return if has_key(candidate.table, &columns) {
                reverse.or(Some(false))
            } else {
                None
            };
        }
        let (_, stored_descending) = given.next().filter(|(given, _)| *given == column)?;
        let backwards = descending != stored_descending;
        if reverse.is_some_and(|r| r != backwards) {
            return None;
        }
        reverse = Some(backwards);
    }
    Some(reverse.unwrap_or(false))
}

/// Columns in the order of the index; an index of prefixes orders no further than before its prefix.
/// With each, whether it descends.
fn ordered_columns(candidate: &Candidate<'_>) -> Vec<(usize, bool)> {
    let mut columns = Vec::with_capacity(candidate.parts.len());
    for part in &candidate.parts {
        if part.prefix.is_some() {
            return columns;
        }
        columns.push((part.column, part.stored_descending));
    }
    if candidate.index.is_some() {
        let primary = candidate.table.primary_parts();
        columns.extend(primary.iter().map(|part| (part.column, part.stored_descending)));
    }
    columns
}

fn has_key(table: &Table, columns: &[(usize, bool)]) -> bool {
    !matches!(table.handle, Handle::Hidden)
        && table
            .primary_parts()
            .iter()
            .all(|part| columns.iter().any(|(column, _)| *column == part.column))
}
