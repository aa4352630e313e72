//! Query expressions: WITH, set operations, parentheses, and the ORDER BY and LIMIT around them.

use std::cell::RefCell;

use functions::Expr;
use syntax::ast::{self, ColumnName, NumberText, OrderItem, Query, QueryBody, Select, SetOperand};
use types::{Collation, Error, Result, SqlType, TypeKind, errno};

use super::block::Block;
use super::bound_query::{
    BoundQuery, Definitions, PARTS_MAX, QueryColumn, QueryPlace, as_it_stands, different_widths, limited,
    operator, too_many_parts,
};
use super::context::{Aggregates, Context};
use super::names::{Names, ORDER_CLAUSE, Within, ambiguous_column, full_name, unknown_column, unknown_place};
use super::subqueries::Subqueries;
use super::{Binder, common_table, limit, parameter, select};
use crate::logical::{
    Column, ColumnId, Logical, LogicalQuery, SetColumn, SetOperation, SetOperator, columns_of,
};
use crate::plan::{OutputLimit, ResultColumn, SortKey};

/// How many queries may be around a query (MySQL's MAX_SELECT_NESTING).
const NESTING_MAX: usize = 63;

/// How many queries a UNION may have. (MySQL's limit is the stack of a thread: between 5,000 and 10,000.)
const UNION_PARTS_MAX: usize = 10_000;

/// With more queries than this, a UNION is planned as a balanced tree.
const CHAIN_MAX: usize = 64;

impl Binder<'_> {
    /// A query whose rows another one, or an expression of it, takes.
    pub fn query(&self, query: &Query, outer: Option<&Context<'_>>) -> Result<BoundQuery> {
        self.query_at(query, QueryPlace::within(outer))
    }

    /// A query that is a statement.
    pub fn statement_query(&self, query: &Query) -> Result<LogicalQuery> {
        let place = QueryPlace {
            is_statement: true,
            limits_time: true,
            ..QueryPlace::within(None)
        };
        Ok(self.query_at(query, place)?.into_logical())
    }

    pub fn query_at(&self, query: &Query, place: QueryPlace<'_>) -> Result<BoundQuery> {
        let tables_before = self.common_tables.borrow().len();
        if !place.is_statement && query.into_clause().is_some() {
            // Behind FROM the grammar of a subquery has no INTO; before it, it has.
            return Err(
                match query.into.is_some() && query.into_place == ast::IntoPlace::AtEnd {
                    true => Error::new(
                        errno::ER_PARSE_ERROR,
                        "You have an error in your SQL syntax: a subquery has no INTO",
                    ),
                    false => misplaced_into(),
                },
            );
        }
        let bound = self.one_deeper(|| self.with_tables(query, place));
        self.common_tables.borrow_mut().truncate(tables_before);
        bound
    }

    /// Binds something one query level deeper.
    ///
    /// # Errors
    /// 1473 if there are too many within each other.
    pub fn one_deeper<T>(&self, bind: impl FnOnce() -> Result<T>) -> Result<T> {
        let depth = self.query_depth.get();
        if depth > NESTING_MAX {
            return Err(too_many_parts());
        }
        self.query_depth.set(depth + 1);
        let around = self.types.is_in_query.replace(true);
        let bound = bind();
        self.types.is_in_query.set(around);
        self.query_depth.set(depth);
        bound
    }

    fn with_tables(&self, query: &Query, place: QueryPlace<'_>) -> Result<BoundQuery> {
        let definitions = self.define_common_tables(query.with.as_ref(), place)?;
        let mut bound = self.body_with_order(query, place)?;
        bound.root = definitions.around(bound.root);
        Ok(bound)
    }

    /// The common table expressions of a statement or query. Their names are known from then on.
    pub fn define_common_tables(
        &self,
        with: Option<&ast::With>,
        place: QueryPlace<'_>,
    ) -> Result<Definitions> {
        let mut definitions = Definitions::default();
        if with.is_some_and(|with| with.tables.len() > PARTS_MAX) {
            return Err(too_many_parts());
        }
        if let Some(with) = with {
            for table in &with.tables {
                let defined = self.define_common_table(table, with, place)?;
                definitions.0.extend(defined.0);
            }
        }
        Ok(definitions)
    }

    fn body_with_order(&self, query: &Query, place: QueryPlace<'_>) -> Result<BoundQuery> {
        if let Some(block) = Block::of(query) {
            return select::block(self, block, place);
        }
        let locking = self.locking_of_operands(query, place)?;
        let inner = self.body(&query.body, QueryPlace { locking, ..place })?;
        let mut bound = self.ordered(inner, &query.order_by, place)?;
        let limit = limit::bind_limit(self, query.limit.as_ref())?;
        let counts =
            place.is_statement && first_block(&query.body).is_some_and(|first| first.counts_all_rows);
        match limit.count {
            Some(count) if counts => {
                bound.limit_of_output = Some(OutputLimit {
                    offset: limit.offset,
                    count,
                });
            }
            _ => bound.root = limited(bound.root, limit),
        }
        Ok(bound)
    }

    /// The locking clauses of the operands of a set operation that have none of their own.
    pub fn locking_of_operands<'q>(
        &self,
        query: &'q Query,
        place: QueryPlace<'q>,
    ) -> Result<&'q [ast::LockingClause]> {
        let locking = match query.locking.is_empty() {
            true => place.locking,
            false => &query.locking,
        };
        if locking.iter().any(|clause| !clause.of.is_empty()) {
            return Err(Error::not_supported(
                "a locking clause with OF after a set operation",
                "write the clause in each of its queries",
            ));
        }
        Ok(locking)
    }

    /// The body of a query expression without its ORDER BY and LIMIT.
    pub fn body(&self, body: &QueryBody, place: QueryPlace<'_>) -> Result<BoundQuery> {
        types::stack::with_room(|| match body {
            QueryBody::Select(select) if select.into.is_some() => Err(misplaced_into()),
            QueryBody::Select(select) => {
                let mut block = Block::bare(select);
                block.locking = place.locking;
                select::block(self, block, place)
            }
            QueryBody::Values(rows) => select::block(self, Block::of_values(rows), place),
            QueryBody::Nested(query) => self.query_at(query, place),
            QueryBody::SetOperation { first, rest } => self.set_operation(first, rest, place),
        })
    }

    fn set_operation(
        &self,
        first: &QueryBody,
        rest: &[SetOperand],
        place: QueryPlace<'_>,
    ) -> Result<BoundQuery> {
        let is_union = |operand: &SetOperand| operand.operator == ast::SetOperator::Union;
        let first_place = QueryPlace {
            is_statement: false,
            loses_order: true,
            // The others may count equal rows.
            as_set: place.as_set && rest.iter().all(is_union),
            ..place
        };
        let place = QueryPlace {
            limits_time: false,
            ..first_place
        };
        let operators: Vec<_> = rest
            .iter()
            .map(|operand| (operator(operand.operator), operand.all))
            .collect();
        let most = if is_one_union(&operators) {
            UNION_PARTS_MAX
        } else {
            PARTS_MAX
        };
        if rest.len() > most {
            return Err(too_many_parts());
        }
        let mut operands = vec![self.body(first, first_place)?];
        for operand in rest {
            operands.push(self.body(&operand.operand, place)?);
        }
        self.combined(operands, &operators)
    }

    /// The rows of several queries, whose columns get common types. `operators` has one entry less.
    pub fn combined(
        &self,
        operands: Vec<BoundQuery>,
        operators: &[(SetOperator, bool)],
    ) -> Result<BoundQuery> {
        let width = operands.first().map_or(0, |operand| operand.columns.len());
        if operands.iter().any(|operand| operand.columns.len() != width) {
            return Err(different_widths());
        }
        let mut types = Vec::with_capacity(width);
        let mut strengths = Vec::with_capacity(width);
        for position in 0..width {
            let exprs = operands
                .iter()
                .map(|operand| parameter::as_stored(self, operand.columns[position].expr.clone()));
            let mut exprs: Vec<Expr> = exprs.collect();
            strengths.push(functions::bind::strength_of(&exprs));
            types.push(as_column(functions::bind::union_type(&mut exprs, &self.types)?));
        }
        let max_execution = operands.first().and_then(|operand| operand.max_execution);
        let mut all = operands.into_iter();
        let Some(first) = all.next() else {
            return Err(Error::internal("a set operation without operands"));
        };
        let mut columns = first.columns.clone();
        let mut rels = vec![self.in_types(first, &types)];
        for (right, (operator, _)) in all.zip(operators) {
            for (column, right) in columns.iter_mut().zip(&right.columns) {
                column.nullable = nullable_in(*operator, column.nullable, right.nullable);
            }
            rels.push(self.in_types(right, &types));
        }
        let rel = self.in_one_tree(rels, operators)?;
        let made = rel.output().into_iter().zip(types).zip(strengths);
        for (column, ((made, ty), strength)) in columns.iter_mut().zip(made) {
            column.id = made.id;
            column.ty = made.ty;
            column.expr = Expr::made_column(made.id.0, made.ty, column.nullable, strength);
            column.result = ResultColumn {
                original_name: column.result.name.clone(),
                is_stored: true,
                ..ResultColumn::unnamed(&column.result.name, ty, column.nullable)
            };
        }
        Ok(BoundQuery {
            root: rel,
            columns,
            limit_of_output: None,
            max_execution,
            in_order: false,
            is_merged: false,
            block: None,
        })
    }

    /// The operations one after the other. A UNION of many is a tree of few levels, because walks over plans recurse.
    fn in_one_tree(&self, mut operands: Vec<Logical>, operators: &[(SetOperator, bool)]) -> Result<Logical> {
        if let [(operator, all), ..] = *operators
            && operands.len() > CHAIN_MAX
            && is_one_union(operators)
        {
            let half = operands.len() / 2;
            let right = operands.split_off(half);
            let left = self.in_one_tree(operands, &operators[..half - 1])?;
            let right = self.in_one_tree(right, &operators[half..])?;
            return Ok(self.set_operator(left, right, operator, all));
        }
        let mut operands = operands.into_iter();
        let first = operands.next();
        let first = first.ok_or_else(|| Error::internal("a set operation without operands"))?;
        let rest = operands.zip(operators);
        Ok(rest.fold(first, |left, (right, (operator, all))| {
            self.set_operator(left, right, *operator, *all)
        }))
    }

    fn set_operator(&self, left: Logical, right: Logical, operator: SetOperator, all: bool) -> Logical {
        let pairs = left.output().into_iter().zip(right.output());
        let columns = pairs.map(|(l, r)| SetColumn {
            column: Column {
                id: self.new_column(),
                ty: l.ty,
                nullable: nullable_in(operator, l.nullable, r.nullable),
            },
            left: l.id,
            right: r.id,
        });
        Logical::SetOperation(SetOperation {
            operator,
            all,
            columns: columns.collect(),
            left: Box::new(left),
            right: Box::new(right),
        })
    }

    /// The query's rows with each column once, in its order and in these types.
    pub fn in_types(&self, query: BoundQuery, types: &[SqlType]) -> Logical {
        let columns = query.columns.iter().zip(types).map(|(column, ty)| {
            let expr = match parameter::text_of_moment(self, &column.expr, ty) {
                Some(text) => text,
                None => Expr::column(column.id.0, column.ty, column.nullable),
            };
            (self.new_column(), functions::bind::in_union(expr, *ty))
        });
        Logical::Project {
            columns: columns.collect(),
            input: Box::new(query.root),
        }
    }

    /// The same of rows that join those that a table of these columns has.
    pub fn stored_in_types(&self, query: BoundQuery, types: &[SqlType], names: &[&str]) -> Logical {
        let columns = query.columns.iter().zip(types).zip(names);
        let columns = columns.map(|((column, ty), name)| {
            let expr = Expr::column(column.id.0, column.ty, column.nullable);
            (self.new_column(), functions::assign::stored_in(expr, *ty, name))
        });
        Logical::Project {
            columns: columns.collect(),
            input: Box::new(query.root),
        }
    }

    /// The rows of a query expression in an order of its own.
    fn ordered(
        &self,
        mut query: BoundQuery,
        order_by: &[OrderItem],
        place: QueryPlace<'_>,
    ) -> Result<BoundQuery> {
        let subqueries = Subqueries::default();
        let mut keys = Vec::with_capacity(order_by.len());
        for (position, item) in order_by.iter().enumerate() {
            let names = OutputNames {
                columns: &query.columns,
                outer: place.outer,
            };
            if item.expr.has_aggregate() || item.expr.has_window() {
                let (aggregates, windows) = (Aggregates::default(), RefCell::default());
                let context = Context {
                    aggregates: Some(&aggregates),
                    windows: Some(&windows),
                    argument_subqueries: Some(&subqueries),
                    subqueries: Some(&subqueries),
                    outer: place.outer,
                    ..Context::of(&names)
                };
                self.scalar(&item.expr, &context)?;
                return Err(aggregate_in_set_order(position + 1));
            }
            let context = Context {
                subqueries: Some(&subqueries),
                outer: place.outer,
                ..Context::of(&names)
            };
            let expr = match &item.expr {
                ast::Expr::Parameter(_) if self.types.literal_params => return Err(as_it_stands()),
                ast::Expr::Number(NumberText::Integer(digits)) => {
                    let at: Option<usize> = digits.parse().ok();
                    let column = at.and_then(|at| query.columns.get(at.checked_sub(1)?));
                    column
                        .map(QueryColumn::column)
                        .ok_or_else(|| unknown_place(digits, ORDER_CLAUSE))?
                }
                expr => self.scalar(expr, &context)?,
            };
            // What a query around says is the same for all rows.
            let columns = columns_of(&expr);
            let is_around = |id: &ColumnId| !query.columns.iter().any(|column| column.id == *id);
            if place.outer.is_some()
                && subqueries.is_empty()
                && !columns.is_empty()
                && columns.iter().all(is_around)
            {
                continue;
            }
            keys.push(SortKey {
                expr,
                descending: item.descending,
            });
        }
        query.root = subqueries.applied_to(query.root);
        if !keys.is_empty() {
            query.root = Logical::Sort {
                input: Box::new(query.root),
                keys,
            };
        }
        query.block = None;
        query.is_merged = false;
        Ok(query)
    }

    fn define_common_table(
        &self,
        table: &ast::CommonTable,
        with: &ast::With,
        place: QueryPlace<'_>,
    ) -> Result<Definitions> {
        let place = QueryPlace {
            is_statement: false,
            limits_time: false,
            loses_order: false,
            as_set: false,
            ..place
        };
        let twice = with.tables.iter().filter(|t| t.name == table.name).count() > 1;
        if twice {
            return Err(Error::new(
                errno::ER_NONUNIQ_TABLE,
                format!("Not unique table/alias: '{}'", table.name),
            ));
        }
        common_table::define_common_table(self, table, with.recursive, place)
    }
}

/// The first block of a body.
fn first_block(body: &QueryBody) -> Option<&Select> {
    match body {
        QueryBody::Select(select) => Some(select),
        QueryBody::Values(_) => None,
        QueryBody::Nested(query) => first_block(&query.body),
        QueryBody::SetOperation { first, .. } => first_block(first),
    }
}

/// Whether set operations are one UNION, all with ALL or all without, which may be grouped in any way.
fn is_one_union(operators: &[(SetOperator, bool)]) -> bool {
    let first = operators.first();
    first.is_some_and(|(operator, _)| *operator == SetOperator::Union)
        && operators.iter().all(|operator| Some(operator) == first)
}

/// Whether a column of a set operation may be NULL.
fn nullable_in(operator: SetOperator, left: bool, right: bool) -> bool {
    match operator {
        SetOperator::Union => left || right,
        SetOperator::Intersect => left && right,
        SetOperator::Except => left,
    }
}

/// The names of a query's columns, which the ORDER BY of a set operation can name.
struct OutputNames<'a> {
    columns: &'a [QueryColumn],
    /// The place of the set operation, if it is a subquery.
    outer: Option<&'a Context<'a>>,
}

impl Names for OutputNames<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        if let Some(table) = &name.table {
            return Err(Error::new(
                errno::ER_TABLENAME_NOT_ALLOWED_HERE,
                format!("Table '{table}' from one of the SELECTs cannot be used in global ORDER clause"),
            ));
        }
        let is_named = |column: &&QueryColumn| types::same_name(&column.result.name, &name.column);
        let mut found = self.columns.iter().filter(is_named);
        match (found.next(), found.next()) {
            (Some(first), Some(second)) if first.id != second.id => {
                Err(ambiguous_column(&full_name(name), ORDER_CLAUSE))
            }
            (Some(column), _) => Ok(column.column()),
            (None, _) => {
                let unknown = || unknown_column(name, ORDER_CLAUSE);
                let outer = self.outer.ok_or_else(unknown)?;
                let around = outer.names.named_within(name, Within::Elsewhere);
                around.map_err(|error| match error.code {
                    errno::ER_BAD_FIELD_ERROR => unknown(),
                    errno::ER_NON_UNIQ_ERROR => ambiguous_column(&full_name(name), ORDER_CLAUSE),
                    _ => error,
                })
            }
        }
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        Err(unknown_column(name, ORDER_CLAUSE))
    }
}

/// Error 3954.
fn misplaced_into() -> Error {
    Error::new(
        3954,
        "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.",
    )
}

/// Error 3028.
fn aggregate_in_set_order(position: usize) -> Error {
    Error::new(
        3028,
        format!(
            "Expression #{position} of ORDER BY contains aggregate function and applies to a UNION, EXCEPT or INTERSECT"
        ),
    )
}

/// The type of a set operation's column: texts are announced as those of a table are.
fn as_column(ty: SqlType) -> SqlType {
    match ty.kind {
        TypeKind::Null => SqlType {
            kind: TypeKind::Char,
            ..SqlType::varchar(0, Collation::Binary)
        },
        _ if ty.is_string() || ty.kind == TypeKind::Json => SqlType { decimals: 0, ..ty },
        _ => ty,
    }
}
