//! Views in FROM: the view's query, bound apart from the statement that names it, as a relation of the
//! statement.

use std::borrow::Cow;
use std::sync::Arc;

use schema::model::{Column, Table, TableName};
use schema::temporary_tables::NO_TEMPORARY_TABLES;
use schema::view::{View, ViewAlgorithm, ViewSecurity};
use syntax::ast::{ColumnName, LockingClause, NamedTable, ObjectName, Query, Statement};
use syntax::print::{Names, Style};
use types::{Error, Result, SqlMode, errno};

use super::block::Block;
use super::from_place::{From, FromPlace};
use super::query_definition::{self, Target};
use super::relation::{Relation, RelationColumn, ViewRelation, WrittenView};
use super::{Binder, hints, read_and_written, written_view};
use crate::env::BindEnv;
use crate::errno::{ER_VIEW_INVALID, ER_VIEW_RECURSIVE};
use crate::object_access::{Accesses, LockMode, ThroughView};
use crate::plan::ResultColumn;

/// A view that FROM names.
pub(super) fn bind_view(
    binder: &Binder<'_>,
    definition: &Arc<Table>,
    view: &View,
    table: &NamedTable,
    place: FromPlace<'_>,
) -> Result<From> {
    let alias = table.alias.as_ref().unwrap_or(&table.name.name);
    check_clauses(table, alias)?;
    let mut query = view_query(view)?;
    if let Some(clause) = place
        .locking
        .iter()
        .find(|clause| clause.is_about(&definition.database, alias))
        && Block::of(&query).is_some()
    {
        query.locking = vec![LockingClause {
            of: Vec::new(),
            ..clause.clone()
        }];
    }
    let needs = place.needs_of(&definition.database, alias);
    binder
        .accesses
        .add(definition, alias, (needs, LockMode::Read), Vec::new());
    if place.for_writing.is_some() && view.is_updatable {
        let merged = in_view(binder, definition, view, |inner| {
            written_view::bind_written_view(inner, view, &query)
        })?;
        if let Some((rel, columns, written)) = merged {
            let relation = view_relation(binder, definition, alias, columns, (true, Some(written)))?;
            return Ok(From::of(rel, relation));
        }
    }
    let reads_before = binder.accesses.len();
    let bound = in_view(binder, definition, view, |inner| inner.query(&query, None))?;
    let is_merged = bound.is_merged && view.algorithm != ViewAlgorithm::TempTable;
    if place.outer.is_some() && is_merged {
        read_and_written::check_view(binder, definition, alias, reads_before)?;
    }
    let mut columns = bound.relation_columns();
    for (column, of_query) in columns.iter_mut().zip(&bound.columns) {
        column.origin = Some(Box::new(match is_merged {
            true => of_query.result.clone(),
            false => announced(&of_query.result, definition),
        }));
        column.base = column.base.take().filter(|_| is_merged);
        column.is_merged = is_merged;
    }
    let relation = view_relation(binder, definition, alias, columns, (is_merged, None))?;
    let root = binder.with_effects(hints::of_derived(binder, bound.root, alias), is_merged);
    Ok(From::of(root, relation))
}

/// Binds what belongs to a view's query: names of the session's statement mean nothing there, and the
/// privileges of the view's definer may count.
pub(super) fn in_view<T>(
    binder: &Binder<'_>,
    definition: &Table,
    view: &View,
    body: impl FnOnce(&Binder<'_>) -> Result<T>,
) -> Result<T> {
    if binder.views.contains(&definition.id) {
        return Err(Error::new(
            ER_VIEW_RECURSIVE,
            format!(
                "`{}`.`{}` contains view recursion",
                definition.database, definition.name
            ),
        ));
    }
    let around = binder.accesses.through();
    let through = ThroughView {
        view: around.map_or_else(|| TableName::of(definition), |around| around.view.clone()),
        definer: match view.security {
            ViewSecurity::Definer => Some(view.definer.clone()),
            ViewSecurity::Invoker => around.and_then(|around| around.definer.clone()),
        },
    };
    let env = BindEnv {
        schema: Arc::clone(&binder.env.schema),
        // A view means permanent tables.
        temporary: &NO_TEMPORARY_TABLES,
        params: &[],
        params_known: true,
        literal_params: false,
        places: None,
        sql_mode: mode_of_views(binder.env.sql_mode),
        charset_client: view.charset_client,
        collation_connection: view.collation_connection,
        check_table: &|_, _, _| Ok(()),
        denied_column: &|_, _, _| None,
        check_accesses: &|_| Ok(()),
        ..*binder.env
    };
    let mut inner = Binder::new(&env);
    inner.accesses = Accesses::within(Arc::new(through));
    inner.defined.clone_from(&binder.defined);
    inner.views.clone_from(&binder.views);
    inner.views.push(definition.id);
    inner.columns.set(binder.columns.get());
    inner.table_expressions.set(binder.table_expressions.get());
    inner.query_depth.set(binder.query_depth.get());
    let bound = body(&inner);
    take_from(binder, &inner);
    bound.map_err(|error| match error.code {
        // A view does not become invalid because the view that is being defined reads itself through it.
        _ if binder.reads_defined.get() => error,
        errno::ER_NO_SUCH_TABLE
        | errno::ER_UNKNOWN_TABLE
        | errno::ER_BAD_DB_ERROR
        | errno::ER_BAD_FIELD_ERROR
        | ER_VIEW_INVALID => invalid_view(definition),
        _ => error,
    })
}

/// Continues after the binding of a view's query has ended.
fn take_from(binder: &Binder<'_>, inner: &Binder<'_>) {
    binder.reads_defined.set(inner.reads_defined.get());
    binder.columns.set(inner.columns.get());
    binder.table_expressions.set(inner.table_expressions.get());
    for access in inner.accesses.take() {
        binder.accesses.push(access);
    }
    if !inner.cacheable.get() {
        binder.not_cacheable();
    }
    let (notes, of_inner) = (&binder.types.notes, &inner.types.notes);
    if of_inner.needs_literals.get() {
        notes.needs_literals.set(true);
    }
    notes
        .json_truths
        .set(notes.json_truths.get() + of_inner.json_truths.get());
    notes.incorrect.borrow_mut().extend(of_inner.incorrect.take());
    notes.no_dates.borrow_mut().extend(of_inner.no_dates.take());
}

/// The columns of a view's query under the names that the view gives them.
fn view_relation(
    binder: &Binder<'_>,
    definition: &Arc<Table>,
    alias: &str,
    mut columns: Vec<RelationColumn>,
    (is_merged, written): (bool, Option<WrittenView>),
) -> Result<Relation> {
    if columns.len() != definition.columns.len() {
        return Err(invalid_view(definition));
    }
    for (column, of_view) in columns.iter_mut().zip(&definition.columns) {
        column.name.clone_from(&of_view.name);
    }
    let ids = columns.iter().map(|column| column.id).collect();
    binder.accesses.columns_of(definition, alias, ids);
    let pads = written.is_some() && binder.env.sql_mode.pad_char_to_full_length;
    Ok(Relation {
        pads,
        view: Some(Arc::new(ViewRelation {
            definition: Arc::clone(definition),
            is_merged,
            written,
        })),
        ..Relation::of_query(columns, alias)
    })
}

/// A column of a view whose rows are those of a temporary table: it has the names of the table that it is of, and
/// no keys.
fn announced(column: &ResultColumn, view: &Table) -> ResultColumn {
    column.in_temporary_table().unwrap_or_else(|| ResultColumn {
        database: view.database.clone(),
        original_table: view.name.clone(),
        ..ResultColumn::unnamed(&column.name, column.ty, column.nullable)
    })
}

/// Clauses that FROM cannot have for a view.
fn check_clauses(table: &NamedTable, alias: &str) -> Result<()> {
    if table.as_of.is_some() {
        return Err(Error::not_supported(
            "AS OF TIMESTAMP of a view",
            "name the tables of its query",
        ));
    }
    if let Some(index) = table.hints.iter().find_map(|hint| hint.indexes.first()) {
        return Err(Error::new(
            errno::ER_KEY_DOES_NOT_EXITS,
            format!("Key '{index}' doesn't exist in table '{alias}'"),
        ));
    }
    Ok(())
}

/// The query of a view, read again.
pub fn view_query(view: &View) -> Result<Query> {
    match syntax::parse_one(&view.query, SqlMode::default())?.statement {
        Statement::Query(query) => Ok(*query),
        _ => Err(Error::internal("the statement of a view is not a query")),
    }
}

/// The columns of a view by the present definitions of the tables that it reads. Those that are stored with the view are
/// of the time when it was defined.
///
/// # Errors
/// 1356 if the view has become invalid.
pub fn view_columns(definition: &Table, env: &BindEnv<'_>) -> Result<Vec<Column>> {
    let Some(view) = &definition.view else {
        return Ok(definition.columns.clone());
    };
    let query = view_query(view)?;
    let mut columns = in_view(&Binder::new(env), definition, view, |inner| {
        let bound = inner.query(&query, None)?;
        Ok(query_definition::columns_of_query(
            inner,
            &query,
            &bound.columns,
            Target::View,
        ))
    })?;
    for (column, stored) in columns.iter_mut().zip(&definition.columns) {
        column.name.clone_from(&stored.name);
    }
    Ok(columns)
}

/// The query of a view as SHOW CREATE VIEW gives it: tables of the session's database are named without it.
///
/// # Errors
/// 1105 if the stored text is damaged.
pub fn view_text(view: &View, database: Option<&str>) -> Result<String> {
    let query = view_query(view)?;
    let style = Style {
        names: &Within(database),
        charset: view.collation_connection.charset().name(),
        introducers: false,
        // The stored text has all modes.
        week_format: 0,
    };
    Ok(style.query(&query))
}

/// Names without the database that the session uses.
struct Within<'a>(Option<&'a str>);

impl Names for Within<'_> {
    fn column<'a>(&'a self, name: &'a ColumnName) -> Cow<'a, ColumnName> {
        match name.database.as_deref() == self.0 {
            true => Cow::Owned(ColumnName {
                database: None,
                ..name.clone()
            }),
            false => Cow::Borrowed(name),
        }
    }

    fn table<'a>(&'a self, name: &'a ObjectName) -> Cow<'a, ObjectName> {
        match name.database.as_deref() == self.0 {
            true => Cow::Owned(ObjectName {
                database: None,
                ..name.clone()
            }),
            false => Cow::Borrowed(name),
        }
    }
}

/// The session's mode, without what says how a text is read.
fn mode_of_views(mode: SqlMode) -> SqlMode {
    SqlMode {
        ansi_quotes: false,
        pipes_as_concat: false,
        no_backslash_escapes: false,
        high_not_precedence: false,
        ignore_space: false,
        ..mode
    }
}

/// Error 1356.
pub fn invalid_view(view: &Table) -> Error {
    Error::new(
        ER_VIEW_INVALID,
        format!(
            "View '{}.{}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights \
             to use them",
            view.database, view.name
        ),
    )
}
