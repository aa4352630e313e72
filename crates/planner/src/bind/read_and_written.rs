//! Tables that a statement writes to and that its subqueries read: MySQL refuses most such statements.

use schema::model::Table;
use types::{Error, Result};

use super::Binder;
use crate::errno::{ER_UPDATE_TABLE_USED, ER_VIEW_PREVENT_UPDATE};

/// A table that the statement writes to.
pub struct WrittenTable {
    pub id: i64,
    /// What FROM calls the table, or the view that its rows are changed through.
    pub alias: String,
    /// The id of that view.
    pub view: Option<i64>,
    /// A subquery in the values of INSERT may read it under another name, as in MySQL.
    pub only_by_name: bool,
}

/// A table that a subquery reads before it is known what the statement writes: in ON, or in a view.
pub struct ReadTable {
    id: i64,
    view: Option<ReadView>,
    /// It stands within a derived table or a common table expression.
    in_derived: bool,
}

/// The view that a subquery reads a table through.
struct ReadView {
    id: i64,
    alias: String,
}

/// Notes what the statement writes.
///
/// # Errors
/// As [`check_table`], of the subqueries of FROM.
pub(super) fn note_written(binder: &Binder<'_>, table: WrittenTable) -> Result<()> {
    let read = binder.read_by_subqueries.borrow();
    let is_refused = |read: &&ReadTable| read.id == table.id && !read.in_derived;
    if let Some(read) = read.iter().find(is_refused) {
        return Err(refused(binder, &table, read.view.as_ref()));
    }
    binder.written.borrow_mut().push(table);
    Ok(())
}

/// The ids of the tables that the subqueries bound so far read: of a view, those of its own conditions, and not
/// those of the views below it.
pub(super) fn read_so_far(binder: &Binder<'_>) -> Vec<i64> {
    let read = binder.read_by_subqueries.borrow();
    read.iter().map(|read| read.id).collect()
}

/// A subquery reads a table.
///
/// # Errors
/// 1093 if the statement writes to it; not within a derived table, whose rows are read before. 1443 if it
/// writes to it through a view.
pub(super) fn check_table(binder: &Binder<'_>, table: &Table, alias: &str) -> Result<()> {
    if binder.derived_depth.get() > 0 {
        note_read(binder, table.id, None);
        return Ok(());
    }
    let is_read = |target: &&WrittenTable| {
        target.id == table.id && (!target.only_by_name || target.view.is_some() || target.alias == alias)
    };
    if let Some(target) = binder.written.borrow().iter().find(is_read) {
        return Err(refused(binder, target, None));
    }
    note_read(binder, table.id, None);
    Ok(())
}

/// A subquery reads, through a view, the tables that have been noted since. A view that is not merged is no
/// error: its rows are read before.
///
/// # Errors
/// 1093 and 1443, as MySQL has them.
pub(super) fn check_view(binder: &Binder<'_>, view: &Table, alias: &str, reads_before: usize) -> Result<()> {
    let read = || ReadView {
        id: view.id,
        alias: alias.to_owned(),
    };
    let note_all = || {
        for id in binder.accesses.ids_from(reads_before) {
            note_read(binder, id, Some(read()));
        }
    };
    if binder.derived_depth.get() > 0 {
        note_all();
        return Ok(());
    }
    let written = binder.written.borrow();
    let of_table = |id: i64| written.iter().find(|target| target.id == id);
    let found = binder
        .accesses
        .find(reads_before, |table| of_table(table.id).is_some());
    if let Some(target) = found.and_then(|table| of_table(table.id)) {
        return Err(refused(binder, target, Some(&read())));
    }
    note_all();
    Ok(())
}

/// Only UPDATE and DELETE bind FROM before they know what they write, and views that may be written through.
fn note_read(binder: &Binder<'_>, id: i64, view: Option<ReadView>) {
    if matches!(binder.verb.get(), "UPDATE" | "DELETE") || !binder.views.is_empty() {
        binder.read_by_subqueries.borrow_mut().push(ReadTable {
            id,
            view,
            in_derived: binder.derived_depth.get() > 0,
        });
    }
}

/// The error as `update_non_unique_table_error()` of MySQL's `sql_base.cc` chooses it.
fn refused(binder: &Binder<'_>, target: &WrittenTable, read: Option<&ReadView>) -> Error {
    let prevents = |view: &str| {
        Error::new(
            ER_VIEW_PREVENT_UPDATE,
            format!(
                "The definition of table '{view}' prevents operation {} on table '{}'.",
                binder.verb.get(),
                target.alias
            ),
        )
    };
    match read {
        Some(read) if target.view != Some(read.id) => prevents(&read.alias),
        None if target.view.is_some() => prevents(&target.alias),
        _ => Error::new(
            ER_UPDATE_TABLE_USED,
            format!(
                "You can't specify target table '{}' for update in FROM clause",
                target.alias
            ),
        ),
    }
}
