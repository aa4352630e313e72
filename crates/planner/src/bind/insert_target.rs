//! The table that INSERT and REPLACE write to: the one they name, or that below the view they name.
//!
//! Source: manual 23.5.3, "Updatable and Insertable Views", and MySQL 8.0.33's answers.

use std::sync::Arc;

use schema::model::{SchemaState, Table};
use schema::privilege::PrivilegeSet;
use schema::view::View;
use syntax::ast::Insert;
use types::{Error, Result};

use super::relation::{Relation, RelationColumn, ViewRelation, ViewTable, WrittenView, has_no_default};
use super::view::view_query;
use super::write_target::{not_updatable_column, several_tables};
use super::{Binder, view, write_target, written_view};
use crate::errno::{ER_NO_DEFAULT_FOR_VIEW_FIELD, ER_NON_INSERTABLE_TABLE, ER_VIEW_NO_INSERT_FIELD_LIST};
use crate::logical::{ColumnId, Logical, LogicalRowCheck};
use crate::object_access::{ColumnIds, LockMode};
use crate::row_check::RowCondition;

pub struct InsertTarget {
    pub table: Arc<Table>,
    /// The view's alias for the table; the table's name if the statement names it directly.
    pub alias: String,
    /// The table's columns under the names that the statement uses; those that it cannot name are not public.
    pub relation: Relation,
    /// The columns that values are given for where the statement names none.
    pub columns: Vec<usize>,
    /// Over the table's columns, by offset.
    pub check: Option<LogicalRowCheck>,
    /// The view that the statement names.
    pub view: Option<Arc<Table>>,
    /// The partitions that rows may go to, by position; `None`: all.
    pub partitions: Option<Vec<usize>>,
    /// As [`LogicalInsert::sets_last_id`](crate::logical::LogicalInsert::sets_last_id).
    pub sets_last_id: bool,
}

/// The ids of the columns. Those of the existing row are the columns' offsets. Those of the row that is
/// inserted follow: `VALUES(c)` reads them.
fn of_insert(table: &Table) -> Vec<ColumnIds> {
    let of_new = ColumnId(table.columns.len());
    vec![ColumnIds::From(ColumnId(0)), ColumnIds::From(of_new)]
}

pub(super) fn bind_insert_target(
    binder: &Binder<'_>,
    insert: &Insert,
    privileges: PrivilegeSet,
) -> Result<InsertTarget> {
    let found = binder.table(&insert.table, privileges.into())?;
    match &found.view {
        Some(view) => insert_through(binder, &found, view, insert, privileges),
        None => {
            write_target::refuse_virtual(binder, &found)?;
            binder.open(&found, &found.name)?;
            binder.accesses.add(
                &found,
                &found.name,
                (privileges.into(), LockMode::Write),
                of_insert(&found),
            );
            let relation = inserted_relation(binder, &found, &found.name);
            Ok(InsertTarget {
                columns: relation.positions(),
                alias: found.name.clone(),
                partitions: found.selected_leaves(&insert.partitions)?,
                relation,
                table: found,
                check: None,
                view: None,
                sets_last_id: true,
            })
        }
    }
}

/// The columns of the row that is there and of the row that is inserted: ids that are offsets.
fn inserted_relation(binder: &Binder<'_>, table: &Arc<Table>, alias: &str) -> Relation {
    binder.columns.set(0);
    let first = binder.new_columns(table.columns.len() * 2);
    let pads = binder.env.sql_mode.pad_char_to_full_length;
    Relation::of_table(Arc::clone(table), alias, first, pads)
}

fn insert_through(
    binder: &Binder<'_>,
    definition: &Arc<Table>,
    view: &View,
    insert: &Insert,
    privileges: PrivilegeSet,
) -> Result<InsertTarget> {
    let refused = || {
        Error::new(
            ER_NON_INSERTABLE_TABLE,
            format!(
                "The target table {} of the INSERT is not insertable-into",
                definition.name
            ),
        )
    };
    binder.accesses.add(
        definition,
        &definition.name,
        (privileges.into(), LockMode::Read),
        Vec::new(),
    );
    let query = view_query(view)?;
    let merged = view::in_view(binder, definition, view, |inner| {
        written_view::bind_written_view(inner, view, &query)
    })?;
    let Some((rows, columns, written)) = merged.filter(|_| view.is_updatable) else {
        return Err(match binder.verb.get() {
            "LOAD" => write_target::not_updatable_by(binder, &definition.name),
            _ => refused(),
        });
    };
    if written.others > 0 {
        return Err(refused());
    }
    if insert.replace && written.tables.len() > 1 && !insert.columns.is_empty() {
        return Err(write_target::deletes_from_join(&format!(
            "{}.{}",
            definition.database, definition.name
        )));
    }
    let written_as = |column: &RelationColumn| written.written_as(column.id);
    let ids: Vec<ColumnId> = columns.iter().map(written_as).collect();
    for name in &insert.columns {
        let position = definition.column_offset(&name.column);
        if position.is_some_and(|at| written.is_computed(ids[at])) {
            return Err(not_updatable_column(&name.column));
        }
    }
    if insert.columns.is_empty()
        && let Some(at) = ids.iter().position(|id| written.is_computed(*id))
    {
        return Err(not_updatable_column(&definition.columns[at].name));
    }
    let relation = ViewRelation {
        definition: Arc::clone(definition),
        is_merged: true,
        written: None,
    };
    let target = inserted_table(&relation, &written, insert, &ids)?;
    let Some(base) = target.relation.table().filter(|_| !written.reads(target)) else {
        return Err(refused());
    };
    write_target::refuse_virtual(binder, base)?;
    let offsets: Vec<Option<usize>> = ids.iter().map(|id| target.relation.position(*id)).collect();
    // Of a lone table, each column is one, and comes once.
    let is_plain = |at: usize| offsets[at].is_some() && !offsets[..at].contains(&offsets[at]);
    if written.tables.len() == 1 && !(0..offsets.len()).all(is_plain) {
        return Err(refused());
    }
    let first = target.relation.id(0).0;
    let check = write_target::view_check(binder, &relation, &written)?;
    if check.is_some() && written.tables.len() > 1 {
        return Err(Error::not_supported(
            "INSERT through a join view WITH CHECK OPTION",
            "insert into its table",
        ));
    }
    let check = check.map(|check| over_offsets(check, first)).transpose()?;
    binder.accesses.add_through(
        base,
        &target.relation.alias,
        (privileges.into(), LockMode::Write),
        target.through.clone(),
        of_insert(base),
    );
    for new in [0, base.columns.len()] {
        let of_row = offsets
            .iter()
            .map(|at| ColumnId(at.map_or(usize::MAX, |at| at + new)));
        binder
            .accesses
            .columns_of(definition, &definition.name, of_row.collect());
    }
    let named = Arc::new(named_by_view(base, definition, &offsets));
    let mut shown = offsets.iter().flatten();
    let sets_last_id = shown.any(|at| base.columns[*at].auto_increment);
    Ok(InsertTarget {
        alias: target.relation.alias.clone(),
        table: Arc::clone(base),
        relation: inserted_relation(binder, &named, &definition.name),
        columns: offsets.into_iter().flatten().collect(),
        check,
        sets_last_id,
        view: Some(Arc::clone(definition)),
        partitions: match insert.partitions.is_empty() {
            true => partitions_of(&rows, target.relation.id(0)),
            false => base.selected_leaves(&insert.partitions)?,
        },
    })
}

/// A check over the offsets of the table whose first column has the id `first`.
fn over_offsets(mut check: LogicalRowCheck, first: usize) -> Result<LogicalRowCheck> {
    match &mut check.condition {
        RowCondition::Row(condition) => condition.map_columns(&|id| id.wrapping_sub(first)),
        // The columns of a lone table are those with the first ids.
        RowCondition::Query(_) if first == 0 => {}
        RowCondition::Query(_) => return Err(Error::internal("a lone table that is not bound first")),
    }
    Ok(check)
}

/// The partitions that a view names for one of its tables.
fn partitions_of(rows: &Logical, first: ColumnId) -> Option<Vec<usize>> {
    let mut partitions = None;
    rows.walk(&mut |operator| {
        if let Logical::Get(get) = operator
            && get.first == first
        {
            partitions.clone_from(&get.partitions);
        }
    });
    partitions
}

/// Error 1423 if a column that the statement gives no value has no default either.
pub(super) fn check_view_defaults(
    binder: &Binder<'_>,
    target: &InsertTarget,
    columns: &[usize],
    ignore: bool,
) -> Result<()> {
    let Some(view) = target
        .view
        .as_ref()
        .filter(|_| binder.env.sql_mode.strict && !ignore)
    else {
        return Ok(());
    };
    let misses = |offset: usize| !columns.contains(&offset) && has_no_default(&target.table, offset);
    match target.table.public_columns().any(misses) {
        false => Ok(()),
        true => Err(Error::new(
            ER_NO_DEFAULT_FOR_VIEW_FIELD,
            format!(
                "Field of view '{}.{}' underlying table doesn't have a default value",
                view.database, view.name
            ),
        )),
    }
}

/// The table of a view that rows are inserted into: the only one, or that of the named columns.
fn inserted_table<'w>(
    view: &ViewRelation,
    written: &'w WrittenView,
    insert: &Insert,
    ids: &[ColumnId],
) -> Result<&'w ViewTable> {
    if let [lone] = written.tables.as_slice() {
        return Ok(lone);
    }
    let mut target: Option<&ViewTable> = None;
    for name in &insert.columns {
        let position = view.definition.column_offset(&name.column);
        let Some((table, _)) = position.and_then(|at| written.table_of(ids[at])) else {
            continue;
        };
        match target {
            Some(other) if other.relation.id(0) != table.relation.id(0) => return Err(several_tables(view)),
            _ => target = Some(table),
        }
    }
    target.ok_or_else(|| {
        Error::new(
            ER_VIEW_NO_INSERT_FIELD_LIST,
            format!(
                "Can not insert into join view '{}' without fields list",
                view.full_name()
            ),
        )
    })
}

/// A table whose columns have the names of a view's columns.
fn named_by_view(base: &Table, view: &Table, offsets: &[Option<usize>]) -> Table {
    let mut named = base.clone();
    for (offset, column) in named.columns.iter_mut().enumerate() {
        match offsets.iter().position(|of| *of == Some(offset)) {
            Some(at) => column.name.clone_from(&view.columns[at].name),
            None => {
                column.name.clear();
                column.state = SchemaState::WriteOnly;
            }
        }
    }
    named
}
