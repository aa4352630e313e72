//! Common table expressions: WITH's definitions, and the names in FROM that mean them.
//!
//! Source: manual 13.2.20 "WITH (Common Table Expressions)".

use std::cell::Cell;
use std::sync::Arc;

use syntax::ast::{self, NamedTable, Query, QueryBody, Select, SelectItem, SetOperand, TableRef};
use types::{Collation, Error, Result, SqlType, TypeKind, errno};

use super::bound_query::{BoundQuery, Definitions, QueryPlace, different_widths, operator};
use super::from_place::{cannot_reopen, named_columns};
use super::relation::{Relation, RelationColumn};
use super::{Binder, limit};
use crate::logical::{Column, CommonTable, CommonTableId, Logical, Recursive, SetColumn};
use crate::object_access::NamedColumn;

/// A common table expression whose name is visible at the place that is being bound.
pub struct KnownTable {
    name: String,
    id: CommonTableId,
    /// Their ids are the definition's.
    columns: Vec<RelationColumn>,
    /// Its recursion is being bound: the name means the rows of the round before.
    recursive: bool,
    /// Its rows; `None` while they are being bound.
    definition: Option<Arc<Logical>>,
    /// The alias of a temporary table that its definition reads. A statement can open such a table only once.
    temporary: Option<String>,
    is_used: Cell<bool>,
    /// The columns that its definition names. They are read if the name is used.
    names: Vec<NamedColumn>,
    /// The error of the definition, which is reported only if the name is used.
    error: Option<Error>,
}

/// The common table expression that a name in FROM means, if it does.
pub(super) fn bind_common_table(
    binder: &Binder<'_>,
    table: &NamedTable,
) -> Result<Option<(Logical, Relation)>> {
    if table.name.database.is_some() {
        return Ok(None);
    }
    let known = binder.common_tables.borrow();
    let is_named = |known: &&KnownTable| known.name == table.name.name;
    let Some(found) = known.iter().rev().find(is_named) else {
        return Ok(None);
    };
    if let Some(error) = &found.error {
        return Err(error.clone());
    }
    binder.accesses.add_names(&found.names);
    if let Some(alias) = &found.temporary
        && found.is_used.replace(true)
    {
        return Err(cannot_reopen(alias));
    }
    if table.as_of.is_some() {
        return Err(Error::not_supported(
            "AS OF TIMESTAMP of a common table expression",
            "write it inside the expression",
        ));
    }
    let mut columns = found.columns.clone();
    for column in &mut columns {
        column.id = binder.new_column();
    }
    let rel = Logical::CommonTable(CommonTable {
        id: found.id,
        recursive: found.recursive,
        columns: columns.iter().map(of_relation).collect(),
    });
    let relation = Relation::of_query(columns, table.alias.as_ref().unwrap_or(&table.name.name));
    Ok(Some((rel, relation)))
}

/// The definition of a common table expression that can be named here.
pub(super) fn common_table_with_id(binder: &Binder<'_>, id: CommonTableId) -> Option<Arc<Logical>> {
    let all = binder.common_tables.borrow();
    all.iter().find(|known| known.id == id)?.definition.clone()
}

/// The definition of a common table expression, after those that it has within itself for its recursion. Its name is
/// known from then on.
pub(super) fn define_common_table(
    binder: &Binder<'_>,
    table: &ast::CommonTable,
    recursive: bool,
    place: QueryPlace<'_>,
) -> Result<Definitions> {
    let id = binder.new_common_table();
    let names_before = binder.accesses.names_so_far();
    binder.derived_depth.set(binder.derived_depth.get() + 1);
    let defined = definition_of(binder, id, table, recursive, place);
    binder.derived_depth.set(binder.derived_depth.get() - 1);
    let names = binder.accesses.take_names_from(names_before);
    Ok(match defined {
        Ok(definitions) => {
            if let Some(known) = binder.common_tables.borrow_mut().last_mut() {
                known.names = names;
            }
            definitions
        }
        Err(error) => {
            binder.common_tables.borrow_mut().push(KnownTable {
                name: table.name.clone(),
                id,
                columns: Vec::new(),
                recursive: false,
                definition: None,
                temporary: None,
                is_used: Cell::new(false),
                names: Vec::new(),
                error: Some(error),
            });
            Definitions(vec![(id, Logical::OneRow)])
        }
    })
}

fn definition_of(
    binder: &Binder<'_>,
    id: CommonTableId,
    table: &ast::CommonTable,
    recursive: bool,
    place: QueryPlace<'_>,
) -> Result<Definitions> {
    if recursive && mentions(&table.query, &table.name) {
        return recursive_table(binder, id, table, place);
    }
    let opened_before = binder.opened.borrow().len();
    let names_before = binder.accesses.names_so_far();
    let query = binder.query_at(&table.query, place)?;
    if !query.is_merged {
        binder.accesses.reads_all_from(names_before);
    }
    let columns = named_columns(query.relation_columns(), &table.columns)?;
    // Each column once and in order, so that a use can name it by its position.
    let types: Vec<SqlType> = query.columns.iter().map(|column| column.ty).collect();
    let definition = binder.in_types(query, &types);
    know(binder, id, &table.name, columns, &definition, false);
    if let Some(known) = binder.common_tables.borrow_mut().last_mut() {
        let opened = binder.opened.borrow();
        known.temporary = opened.get(opened_before).map(|(_, alias)| alias.clone());
    }
    Ok(Definitions(vec![(id, definition)]))
}

fn know(
    binder: &Binder<'_>,
    id: CommonTableId,
    name: &str,
    mut columns: Vec<RelationColumn>,
    definition: &Logical,
    recursive: bool,
) {
    for (column, made) in columns.iter_mut().zip(definition.output()) {
        column.id = made.id;
        match column.announced {
            Some(_) if column.ty.kind == TypeKind::BigInt => column.set_stored(made.ty),
            Some(_) => {}
            None => column.ty = made.ty,
        }
    }
    binder.common_tables.borrow_mut().push(KnownTable {
        name: name.to_owned(),
        id,
        columns,
        recursive,
        definition: (!recursive).then(|| Arc::new(definition.clone())),
        temporary: None,
        is_used: Cell::new(false),
        names: Vec::new(),
        error: None,
    });
}

fn recursive_table(
    binder: &Binder<'_>,
    id: CommonTableId,
    table: &ast::CommonTable,
    place: QueryPlace<'_>,
) -> Result<Definitions> {
    let known_before = binder.common_tables.borrow().len();
    let names_before = binder.accesses.names_so_far();
    let made = recursion(binder, id, table, place);
    binder.accesses.reads_all_from(names_before);
    binder.common_tables.borrow_mut().truncate(known_before);
    let (mut definitions, columns, definition) = made?;
    know(binder, id, &table.name, columns, &definition, false);
    definitions.0.push((id, definition));
    Ok(definitions)
}

/// The columns and the rows of a recursive table, and the tables of a WITH around its UNION. The parts that do not name
/// it are the seed, the others are run again and again.
fn recursion(
    binder: &Binder<'_>,
    id: CommonTableId,
    table: &ast::CommonTable,
    place: QueryPlace<'_>,
) -> Result<(Definitions, Vec<RelationColumn>, Logical)> {
    let name = &table.name;
    let QueryBody::SetOperation { first, rest } = &table.query.body else {
        return Err(needs_union(name));
    };
    if rest
        .iter()
        .all(|operand| operand.operator != ast::SetOperator::Union)
    {
        return Err(needs_union(name));
    }
    if !table.query.order_by.is_empty() {
        return Err(Error::new(
            errno::ER_NOT_SUPPORTED_YET,
            "This version of MySQL doesn't yet support 'ORDER BY over UNION in recursive Common Table Expression'",
        ));
    }
    let own = table.query.with.as_ref();
    if own.is_some_and(|with| with.tables.iter().any(|own| mentions(&own.query, name))) {
        return Err(named_in_subquery(name));
    }
    if body_mentions(first, name) {
        return Err(needs_seed(name));
    }
    let seeds = rest
        .iter()
        .take_while(|operand| !body_mentions(&operand.operand, name))
        .count();
    let (seed_parts, step_parts) = rest.split_at(seeds);
    let is_other = |operand: &SetOperand| operand.operator != ast::SetOperator::Union;
    if step_parts.first().is_some_and(is_other) {
        return Err(in_other_operation());
    }
    if step_parts
        .iter()
        .any(|operand| !body_mentions(&operand.operand, name))
    {
        return Err(needs_seed(name));
    }
    if step_parts.iter().any(is_other) {
        return Err(in_other_operation());
    }
    for operand in step_parts {
        check_step(&operand.operand, name)?;
    }
    let distinct = step_parts.iter().position(|operand| !operand.all);
    if distinct.is_some_and(|at| step_parts[at..].iter().any(|operand| operand.all)) {
        return Err(Error::new(
            errno::ER_NOT_SUPPORTED_YET,
            "This version of MySQL doesn't yet support 'recursive query blocks with UNION DISTINCT then UNION ALL, in \
             recursive Common Table Expression'",
        ));
    }
    let place = QueryPlace {
        locking: binder.locking_of_operands(&table.query, place)?,
        ..place
    };
    let definitions = binder.define_common_tables(own, place)?;
    let seed = parts(binder, Some(first), seed_parts, place)?;
    let types = seed.columns.iter().map(|column| match column.ty.kind {
        TypeKind::Null => SqlType::varchar(0, Collation::Binary),
        // The rows of later parts are not members.
        _ if column.ty.has_members() => functions::common_type(&[column.ty]),
        _ => column.ty,
    });
    let types: Vec<SqlType> = types.collect();
    let mut columns = named_columns(seed.relation_columns(), &table.columns)?;
    for (column, of_seed) in columns.iter_mut().zip(&seed.columns) {
        column.nullable = true;
        column.is_merged = false;
        column.set_stored(of_seed.ty);
    }
    let seed = binder.in_types(seed, &types);
    know(binder, id, name, columns.clone(), &seed, true);
    let step = parts(binder, None, step_parts, place)?;
    if step.columns.len() != types.len() {
        return Err(different_widths());
    }
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let step = binder.stored_in_types(step, &types, &names);
    let pairs = seed.output().into_iter().zip(step.output());
    let set_columns = pairs.map(|(left, right)| SetColumn {
        column: Column {
            id: binder.new_column(),
            ty: left.ty,
            nullable: true,
        },
        left: left.id,
        right: right.id,
    });
    let mut definition = Logical::Recursive(Recursive {
        columns: set_columns.collect(),
        seed: Box::new(seed),
        step: Box::new(step),
        // One UNION DISTINCT among the steps makes all rows distinct.
        distinct: step_parts.iter().any(|operand| !operand.all),
    });
    if let Some(limit) = &table.query.limit {
        definition = super::bound_query::limited(definition, limit::bind_limit(binder, Some(limit))?);
    }
    Ok((definitions, columns, definition))
}

/// Some operands of a UNION, as a query.
fn parts(
    binder: &Binder<'_>,
    first: Option<&QueryBody>,
    rest: &[SetOperand],
    place: QueryPlace<'_>,
) -> Result<BoundQuery> {
    let mut operands = Vec::with_capacity(rest.len() + 1);
    let mut operators = Vec::with_capacity(rest.len());
    if let Some(first) = first {
        operands.push(binder.body(first, place)?);
    }
    for operand in rest {
        if !operands.is_empty() {
            operators.push((operator(operand.operator), operand.all));
        }
        operands.push(binder.body(&operand.operand, place)?);
    }
    match operands.len() {
        1 => operands
            .pop()
            .ok_or_else(|| Error::internal("a set operation has no operand")),
        _ => binder.combined(operands, &operators),
    }
}

fn of_relation(column: &RelationColumn) -> Column {
    Column {
        id: column.id,
        ty: column.ty,
        nullable: column.nullable,
    }
}

/// Whether a query names a table of this name in any FROM. A table of its own WITH that has this name hides it.
fn mentions(query: &Query, name: &str) -> bool {
    let Some(with) = &query.with else {
        return body_mentions(&query.body, name);
    };
    let hiding = with.tables.iter().position(|table| table.name == name);
    // Without RECURSIVE, a definition does not see its own name.
    let sees = match hiding {
        Some(at) if with.recursive => at,
        Some(at) => at + 1,
        None => with.tables.len(),
    };
    hiding.is_none() && body_mentions(&query.body, name)
        || with
            .tables
            .iter()
            .take(sees)
            .any(|table| mentions(&table.query, name))
}

fn body_mentions(body: &QueryBody, name: &str) -> bool {
    match body {
        QueryBody::Select(select) => select_mentions(select, name),
        QueryBody::Values(_) => false,
        QueryBody::Nested(query) => mentions(query, name),
        QueryBody::SetOperation { first, rest } => {
            body_mentions(first, name) || rest.iter().any(|operand| body_mentions(&operand.operand, name))
        }
    }
}

fn select_mentions(select: &Select, name: &str) -> bool {
    select.from.iter().any(|table| table_mentions(table, name)) || subqueries_mention(select, name)
}

/// Whether a subquery in an expression of a block names the table.
fn subqueries_mention(select: &Select, name: &str) -> bool {
    let items = select.items.iter().filter_map(|item| match item {
        SelectItem::Expr { expr, .. } => Some(expr),
        SelectItem::All | SelectItem::AllOf(_) => None,
    });
    let keys = select.group_by.iter().map(|key| &key.expr);
    items
        .chain(&select.filter)
        .chain(keys)
        .chain(&select.having)
        .any(|expr| expression_mentions(expr, name))
}

fn expression_mentions(expr: &ast::Expr, name: &str) -> bool {
    let own = match expr {
        ast::Expr::Subquery(query) | ast::Expr::Exists(query) => mentions(query, name),
        ast::Expr::InSubquery { query, .. } | ast::Expr::Quantified { query, .. } => mentions(query, name),
        _ => false,
    };
    let mut found = own;
    expr.children(&mut |child| found = found || expression_mentions(child, name));
    found
}

/// What the part of a recursion that names the table may be (manual 13.2.20, "Recursive Common Table
/// Expressions").
///
/// # Errors
/// 3575, 3577, 4114, and 1235 for what MySQL does not have either.
fn check_step(body: &QueryBody, name: &str) -> Result<()> {
    let select = match body {
        QueryBody::Select(select) => select,
        QueryBody::Nested(query) if query.order_by.is_empty() && query.limit.is_none() => {
            return check_step(&query.body, name);
        }
        QueryBody::Nested(_) => return Err(not_in_step()),
        QueryBody::SetOperation { rest, .. }
            if rest
                .iter()
                .any(|operand| operand.operator != ast::SetOperator::Union) =>
        {
            return Err(in_other_operation());
        }
        QueryBody::Values(_) | QueryBody::SetOperation { .. } => return Ok(()),
    };
    let shows = |wanted: &dyn Fn(&ast::Expr) -> bool| {
        select.items.iter().any(|item| match item {
            SelectItem::Expr { expr, .. } => wanted(expr),
            SelectItem::All | SelectItem::AllOf(_) => false,
        })
    };
    let aggregates =
        shows(&ast::Expr::has_aggregate) || select.having.as_ref().is_some_and(ast::Expr::has_aggregate);
    if aggregates || !select.group_by.is_empty() || shows(&ast::Expr::has_window) {
        return Err(Error::new(
            3575,
            format!(
                "Recursive Common Table Expression '{name}' can contain neither aggregation nor window functions in recursive \
                 query block"
            ),
        ));
    }
    if select.distinct {
        return Err(not_in_step());
    }
    let direct: usize = select.from.iter().map(|table| direct_uses(table, name)).sum();
    let inside = select.from.iter().any(|table| derived_mentions(table, name));
    if direct != 1 || inside || subqueries_mention(select, name) {
        return Err(named_in_subquery(name));
    }
    // A condition may turn the LEFT JOIN into an inner one.
    let is_kept = select.filter.is_none() && select.from.iter().any(|table| is_inner_side(table, name));
    let listed_later = select
        .from
        .iter()
        .skip(1)
        .any(|table| direct_uses(table, name) > 0);
    let forced = select.straight_join && listed_later
        || select
            .from
            .iter()
            .any(|table| is_read_later(table, name, select.straight_join));
    if is_kept || forced {
        return Err(Error::new(
            3576,
            format!(
                "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must neither be \
                 in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints"
            ),
        ));
    }
    Ok(())
}

/// Whether the table is on the inner side of an outer join: as often as it has no partner, the recursion
/// would continue with NULLs.
fn is_inner_side(table: &TableRef, name: &str) -> bool {
    match table {
        TableRef::Derived(_) | TableRef::Json(_) | TableRef::Table(_) => false,
        TableRef::Nested(tables) => tables.iter().any(|table| is_inner_side(table, name)),
        TableRef::Join(join) => {
            let inner = match join.kind {
                ast::JoinKind::Left => Some(&join.right),
                ast::JoinKind::Right => Some(&join.left),
                ast::JoinKind::Inner | ast::JoinKind::Straight => None,
            };
            inner.is_some_and(|side| direct_uses(side, name) > 0)
                || is_inner_side(&join.left, name)
                || is_inner_side(&join.right, name)
        }
    }
}

/// Whether STRAIGHT_JOIN reads another table before this one.
fn is_read_later(table: &TableRef, name: &str, all_straight: bool) -> bool {
    match table {
        TableRef::Derived(_) | TableRef::Json(_) | TableRef::Table(_) => false,
        TableRef::Nested(tables) => {
            all_straight && tables.iter().skip(1).any(|table| direct_uses(table, name) > 0)
                || tables
                    .iter()
                    .any(|table| is_read_later(table, name, all_straight))
        }
        TableRef::Join(join) => {
            let is_straight = all_straight || join.kind == ast::JoinKind::Straight;
            is_straight && direct_uses(&join.right, name) > 0
                || is_read_later(&join.left, name, all_straight)
                || is_read_later(&join.right, name, all_straight)
        }
    }
}

/// How often a table reference names the table itself.
fn direct_uses(table: &TableRef, name: &str) -> usize {
    match table {
        TableRef::Derived(_) | TableRef::Json(_) => 0,
        TableRef::Table(_) => usize::from(table_mentions(table, name)),
        TableRef::Nested(tables) => tables.iter().map(|table| direct_uses(table, name)).sum(),
        TableRef::Join(join) => direct_uses(&join.left, name) + direct_uses(&join.right, name),
    }
}

/// Whether a derived table names it.
fn derived_mentions(table: &TableRef, name: &str) -> bool {
    match table {
        TableRef::Derived(derived) => mentions(&derived.query, name),
        TableRef::Table(_) | TableRef::Json(_) => false,
        TableRef::Nested(tables) => tables.iter().any(|table| derived_mentions(table, name)),
        TableRef::Join(join) => derived_mentions(&join.left, name) || derived_mentions(&join.right, name),
    }
}

/// Error 1235.
fn not_in_step() -> Error {
    Error::new(
        errno::ER_NOT_SUPPORTED_YET,
        "This version of MySQL doesn't yet support 'ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table \
         Expression'",
    )
}

fn table_mentions(table: &TableRef, name: &str) -> bool {
    match table {
        TableRef::Table(table) => table.name.database.is_none() && table.name.name == name,
        TableRef::Derived(derived) => mentions(&derived.query, name),
        TableRef::Json(_) => false,
        TableRef::Nested(tables) => tables.iter().any(|table| table_mentions(table, name)),
        TableRef::Join(join) => table_mentions(&join.left, name) || table_mentions(&join.right, name),
    }
}

/// Error 3577.
fn named_in_subquery(name: &str) -> Error {
    Error::new(
        3577,
        format!(
            "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must be referenced \
             only once, and not in any subquery"
        ),
    )
}

/// Error 4114.
fn in_other_operation() -> Error {
    Error::new(
        4114,
        "Recursive table reference in EXCEPT or INTERSECT operand is not allowed.",
    )
}

/// Error 3573.
fn needs_union(name: &str) -> Error {
    Error::new(
        3573,
        format!("Recursive Common Table Expression '{name}' should contain a UNION"),
    )
}

/// Error 3574.
fn needs_seed(name: &str) -> Error {
    Error::new(
        3574,
        format!(
            "Recursive Common Table Expression '{name}' should have one or more non-recursive query blocks followed by one or \
             more recursive ones"
        ),
    )
}
