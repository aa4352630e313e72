//! CREATE VIEW and ALTER VIEW: what a view is stored as.

use std::sync::Arc;

use schema::definition::{self, Ddl, TableName};
use schema::limits;
use schema::model::{Column, Table};
use schema::privilege::{Privilege, PrivilegeSet};
use schema::view::{self, Definer, View, ViewSecurity};
use syntax::ast::{self, CreateView, Query, SelectItem};
use syntax::print::Style;
use types::{Error, Result, SqlMode, Warning, errno};

use super::Binder;
use super::bound_query::BoundQuery;
use super::from_place::named_columns;
use super::query_definition::{self, Target};
use super::resolution::Resolution;
use super::scope::ColumnRef;
use super::written_view::{collated_column, has_outer_join, merged_block};
use crate::env::BindEnv;
use crate::errno::{ER_VIEW_NONUPD_CHECK, ER_VIEW_SELECT_CLAUSE, ER_WARN_VIEW_MERGE};
use crate::logical::{ApplyKind, Logical, LogicalStatement};

pub(super) fn bind_create_view(binder: &Binder<'_>, create: &CreateView) -> Result<Ddl> {
    if create.query.into_clause().is_some() {
        return Err(Error::new(
            ER_VIEW_SELECT_CLAUSE,
            "View's SELECT contains a 'INTO' clause",
        ));
    }
    let name = binder.table_name(&create.name)?;
    let needs = PrivilegeSet::from(Privilege::CreateView);
    (binder.env.check_table)(&name.database, &name.name, needs.into())?;
    let mut query = create.query.clone();
    query.locking.clear();
    // Groups are checked when the view is read.
    let env = BindEnv {
        schema: Arc::clone(&binder.env.schema),
        sql_mode: SqlMode {
            only_full_group_by: false,
            ..binder.env.sql_mode
        },
        ..*binder.env
    };
    if !create.query.locking.is_empty() {
        // A view does not lock, but what its query locks has to be there.
        let unseen = functions::Warnings::default();
        let env = BindEnv {
            warnings: &unseen,
            schema: Arc::clone(&env.schema),
            ..env
        };
        binder_of_view(&env, &name).query(&create.query, None)?;
    }
    let mut inner = binder_of_view(&env, &name);
    let bound = inner.query(&query, None)?;
    binder.env.schema.require_database(&name.database)?;
    let names = inner.resolution.take().unwrap_or_default();
    let columns = columns_of_view(binder, create, &mut query, (&bound, &names))?;
    let existing = binder.env.schema.table(&name.database, &name.name);
    // ALTER VIEW keeps what it does not name. With another definer the view could read more.
    let altered = existing
        .filter(|_| create.verb == ast::ViewVerb::Alter)
        .and_then(|table| table.view.as_deref());
    let (algorithm, is_merged) = chosen_algorithm(binder, create, altered, &query);
    let is_updatable = is_merged && can_be_written(&query, &bound);
    check_can_be_made(create, &name, existing.is_some(), is_updatable)?;
    let style = Style {
        names: &names,
        charset: binder.env.collation_connection.charset().name(),
        introducers: false,
        week_format: binder.env.default_week_format,
    };
    let view = View {
        query: style.query(&query),
        columns_are_named: !create.columns.is_empty(),
        algorithm,
        definer: definer(create, altered),
        security: match create.invoker {
            Some(true) => ViewSecurity::Invoker,
            Some(false) => ViewSecurity::Definer,
            None => altered.map_or(ViewSecurity::Definer, |view| view.security),
        },
        check_option: create.check_option.map(|option| match option {
            ast::CheckOption::Local => view::CheckOption::Local,
            ast::CheckOption::Cascaded => view::CheckOption::Cascaded,
        }),
        is_updatable,
        charset_client: binder.env.charset_client,
        collation_connection: binder.env.collation_connection,
    };
    let statement = LogicalStatement::Query(bound.into_logical());
    (binder.env.check_accesses)(&inner.accesses.of_statement(&statement))?;
    Ok(Ddl::CreateView {
        name,
        verb: match create.verb {
            ast::ViewVerb::Create => definition::ViewVerb::Create,
            ast::ViewVerb::Replace => definition::ViewVerb::Replace,
            ast::ViewVerb::Alter => definition::ViewVerb::Alter,
        },
        columns,
        view,
    })
}

/// Binds the query of a view with this name.
fn binder_of_view<'a>(env: &'a BindEnv<'a>, name: &TableName) -> Binder<'a> {
    let mut binder = Binder::new(env);
    binder.resolution = Some(Resolution::default());
    binder.defined = Some(name.clone());
    binder
}

/// The view's algorithm, and whether its query can be merged into the statements that read it.
fn chosen_algorithm(
    binder: &Binder<'_>,
    create: &CreateView,
    altered: Option<&View>,
    query: &Query,
) -> (view::ViewAlgorithm, bool) {
    let algorithm = match create.algorithm {
        Some(written) => algorithm_of(written),
        None => altered.map_or(view::ViewAlgorithm::Undefined, |view| view.algorithm),
    };
    let is_merged = merged_block(algorithm, query).is_some();
    if algorithm != view::ViewAlgorithm::Merge || is_merged {
        return (algorithm, is_merged);
    }
    binder.warn(Warning::warning(
        ER_WARN_VIEW_MERGE,
        "View merge algorithm can't be used here for now (assumed undefined algorithm)",
    ));
    (view::ViewAlgorithm::Undefined, false)
}

/// # Errors
/// 1050 if CREATE VIEW finds a table or view of this name, 1368 for a CHECK OPTION on a view that cannot be
/// written to.
fn check_can_be_made(create: &CreateView, name: &TableName, exists: bool, is_updatable: bool) -> Result<()> {
    if create.verb == ast::ViewVerb::Create && exists {
        return Err(Error::new(
            errno::ER_TABLE_EXISTS_ERROR,
            format!("Table '{}' already exists", name.name),
        ));
    }
    if create.check_option.is_some() && !is_updatable {
        return Err(Error::new(
            ER_VIEW_NONUPD_CHECK,
            format!(
                "CHECK OPTION on non-updatable view '{}.{}'",
                name.database, name.name
            ),
        ));
    }
    Ok(())
}

fn definer(create: &CreateView, altered: Option<&View>) -> Definer {
    match (&create.definer, altered) {
        (None, Some(view)) => view.definer.clone(),
        (written, _) => {
            let (user, host) = written.clone().unwrap_or_else(ast::current_user);
            Definer { user, host }
        }
    }
}

/// The view's columns. Names that the statement does not give are made unique, in the query too.
fn columns_of_view(
    binder: &Binder<'_>,
    create: &CreateView,
    query: &mut Query,
    (bound, names): (&BoundQuery, &Resolution),
) -> Result<Vec<Column>> {
    let mut columns: Vec<Column> =
        query_definition::columns_of_query(binder, query, &bound.columns, Target::View);
    spell_as_written(query, names, &mut columns);
    if create.columns.is_empty() {
        make_unique(query, names, &mut columns);
    }
    name_blanks(&mut query.body, &mut 0);
    check_list(&create.columns)?;
    let mut relation = bound.relation_columns();
    for (of_relation, column) in relation.iter_mut().zip(&columns) {
        of_relation.name.clone_from(&column.name);
    }
    let named = named_columns(relation, &create.columns)?;
    for (column, named) in columns.iter_mut().zip(named) {
        column.name = named.name;
    }
    let is_wrong = |column: &&Column| cannot_be_name(&column.name);
    match columns.iter().find(is_wrong) {
        None => Ok(columns),
        Some(column) => Err(Error::wrong_column_name(&column.name)),
    }
}

/// A column that has its own spelling in results, as those of `information_schema`, is written otherwise in a view.
fn spell_as_written(query: &mut Query, names: &Resolution, columns: &mut [Column]) {
    let Some(items) = items_of(query) else { return };
    for (position, item) in of_expressions(items, names) {
        if let SelectItem::Expr { name, .. } = item
            && let Some(column) = columns.get_mut(position)
            && types::same_name(name, &column.name)
        {
            column.name.clone_from(name);
        }
    }
}

/// The items that are no `*`, each with the position of its column.
fn of_expressions<'q>(
    items: &'q mut [SelectItem],
    names: &Resolution,
) -> impl Iterator<Item = (usize, &'q mut SelectItem)> {
    let mut next = 0;
    items.iter_mut().filter_map(move |item| {
        let position = next;
        let is_one = matches!(item, SelectItem::Expr { .. });
        next += if is_one { 1 } else { names.width_of_star(item) };
        is_one.then_some((position, item))
    })
}

/// Whether rows of a merged view can be changed, as MySQL's data dictionary says.
fn can_be_written(query: &Query, bound: &BoundQuery) -> bool {
    let Some((scope, items)) = &bound.block else {
        return false;
    };
    let Some(block) = merged_block(view::ViewAlgorithm::Undefined, query) else {
        return false;
    };
    let is_read_only =
        |table: &Table| table.is_virtual() || table.view.as_ref().is_some_and(|view| !view.is_updatable);
    let is_stored = |column: ColumnRef| {
        // MySQL takes a derived table's columns for such, until a statement writes to them.
        let definition = scope.relation(column).definition();
        definition.is_none_or(|table| !is_read_only(table))
    };
    !block.from.iter().any(has_outer_join)
        && !reads_twice(&block.from, &bound.root)
        && items.iter().any(|item| {
            let collated = || scope.of_id(collated_column(&item.expr)?);
            item.column.or_else(collated).is_some_and(is_stored)
        })
}

/// Whether a subquery reads the table that FROM reads. A statement that writes to the table could not see its
/// rows as they were before (manual 23.5.3). Of a join, MySQL finds out when a statement writes to it.
fn reads_twice(from: &[ast::TableRef], rel: &Logical) -> bool {
    if !matches!(from, [ast::TableRef::Table(_)]) {
        return false;
    }
    let mut read = TablesRead::default();
    read.add(rel, false);
    read.subqueries.iter().any(|table| read.from.contains(table))
}

/// Ids of the tables that a query reads.
#[derive(Default)]
struct TablesRead {
    from: Vec<i64>,
    subqueries: Vec<i64>,
}

impl TablesRead {
    fn add(&mut self, rel: &Logical, in_subquery: bool) {
        types::stack::with_room(|| match rel {
            Logical::Get(get) if in_subquery => self.subqueries.push(get.table.id),
            Logical::Get(get) => self.from.push(get.table.id),
            Logical::Apply(apply) => {
                let is_lateral = matches!(apply.kind, ApplyKind::Lateral { .. });
                self.add(&apply.input, in_subquery);
                self.add(&apply.subquery, in_subquery || !is_lateral);
            }
            _ => {
                for input in rel.inputs() {
                    self.add(input, in_subquery);
                }
            }
        });
    }
}

/// Error 1060 for a list that names two columns alike; it has the first of the two names.
fn check_list(names: &[String]) -> Result<()> {
    let is_twice = |at: usize| {
        names[at + 1..]
            .iter()
            .any(|name| types::same_name(name, &names[at]))
    };
    match (0..names.len()).find(|at| is_twice(*at)) {
        None => Ok(()),
        Some(at) => Err(limits::duplicate_column(&names[at])),
    }
}

fn algorithm_of(written: ast::ViewAlgorithm) -> view::ViewAlgorithm {
    match written {
        ast::ViewAlgorithm::Undefined => view::ViewAlgorithm::Undefined,
        ast::ViewAlgorithm::Merge => view::ViewAlgorithm::Merge,
        ast::ViewAlgorithm::TempTable => view::ViewAlgorithm::TempTable,
    }
}

/// Names a column without an alias whose text is the name of another column, or cannot be a name, as MySQL
/// does: `Name_exp_x`, `Name_exp_1_x` ...
fn make_unique(query: &mut Query, names: &Resolution, columns: &mut [Column]) {
    let Some(items) = items_of(query) else { return };
    // Those whose names stay, wherever they are. The columns of a `*` are among them.
    let mut fixed = vec![true; columns.len()];
    for (at, item) in of_expressions(items, names) {
        if let SelectItem::Expr { aliased, expr, .. } = item
            && let Some(stays) = fixed.get_mut(at)
        {
            *stays = *aliased || matches!(expr, ast::Expr::Column(_));
        }
    }
    for (at, item) in of_expressions(items, names) {
        let SelectItem::Expr { name, .. } = item else {
            continue;
        };
        if fixed.get(at).is_none_or(|stays| *stays) {
            continue;
        }
        let taken = |name: &str, columns: &[Column]| {
            let mut others = columns.iter().enumerate().filter(|(other, _)| *other != at);
            others.any(|(_, column)| types::same_name(&column.name, name))
        };
        let is_wrong = cannot_be_name(name);
        let is_taken = columns.iter().enumerate().any(|(other, column)| {
            (other < at || other > at && fixed[other]) && types::same_name(&column.name, name)
        });
        if !is_wrong && !is_taken {
            continue;
        }
        let base = match is_wrong {
            true => (at + 1).to_string(),
            false => name.clone(),
        };
        let mut unique = format!("Name_exp_{base}");
        let mut number = 0;
        while taken(&unique, columns) {
            number += 1;
            unique = format!("Name_exp_{number}_{base}");
        }
        columns[at].name.clone_from(&unique);
        *name = unique;
    }
}

fn cannot_be_name(name: &str) -> bool {
    types::name::is_too_long(name) || name.ends_with(' ') || name.is_empty()
}

/// The same for the blocks of a set operation after the first, whose names are seen in the view's text only.
/// `before`: how many items the blocks before have.
fn name_blanks(body: &mut ast::QueryBody, before: &mut usize) {
    match body {
        ast::QueryBody::Select(select) => {
            let is_first = *before == 0;
            for item in &mut select.items {
                *before += 1;
                if let SelectItem::Expr {
                    name, aliased: false, ..
                } = item
                    && !is_first
                    && cannot_be_name(name)
                {
                    *name = format!("Name_exp_{before}");
                }
            }
        }
        ast::QueryBody::Values(_) => {}
        ast::QueryBody::Nested(query) => name_blanks(&mut query.body, before),
        ast::QueryBody::SetOperation { first, rest } => {
            name_blanks(first, before);
            rest.iter_mut()
                .for_each(|operand| name_blanks(&mut operand.operand, before));
        }
    }
}

/// The select list that names a query's columns.
fn items_of(query: &mut Query) -> Option<&mut Vec<SelectItem>> {
    fn of_body(body: &mut ast::QueryBody) -> Option<&mut Vec<SelectItem>> {
        match body {
            ast::QueryBody::Select(select) => Some(&mut select.items),
            ast::QueryBody::Nested(query) => of_body(&mut query.body),
            ast::QueryBody::SetOperation { first, .. } => of_body(first),
            ast::QueryBody::Values(_) => None,
        }
    }
    of_body(&mut query.body)
}
