//! Subqueries in expressions. Each becomes an Apply below the operator whose expression it stands in, and the
//! expression names the Apply's columns.

use std::cell::RefCell;
use std::collections::BTreeSet;

use functions::{Expr, bind};
use syntax::ast::{self, BinaryOp, Quantifier, Query, QueryBody, SelectItem};
use types::{Error, Result, SqlType, errno};

use super::Binder;
use super::expr::{Context, operand_columns};
use super::query::{BoundQuery, QueryColumn, QueryPlace, too_many_parts};
use super::scope::{InClause, SUBQUERY_OPERAND};
use crate::logical::{Apply, ApplyKind, ColumnId, Logical};

/// How many subqueries a clause may have: each is a level of the plan.
const SUBQUERIES_MAX: usize = 1_000;

/// The subqueries of some expressions, in the order in which they are evaluated.
#[derive(Default)]
pub struct Subqueries(RefCell<Vec<Subquery>>);

struct Subquery {
    kind: ApplyKind,
    rel: Logical,
}

impl Subqueries {
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    fn add(&self, kind: ApplyKind, rel: Logical) {
        self.0.borrow_mut().push(Subquery { kind, rel });
    }

    /// The rows with the columns of the subqueries.
    pub fn applied_to(self, input: Logical) -> Logical {
        self.0.into_inner().into_iter().fold(input, |input, subquery| {
            Logical::Apply(Apply {
                kind: subquery.kind,
                input: Box::new(input),
                subquery: Box::new(subquery.rel),
            })
        })
    }

    /// Moves those that make one of these columns to `others`.
    pub fn move_to(&self, others: &Self, columns: &BTreeSet<ColumnId>) {
        let all = self.0.take();
        let (moved, stay): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|subquery| subquery.kind.columns().iter().any(|id| columns.contains(id)));
        self.0.replace(stay);
        others.0.borrow_mut().extend(moved);
    }

    /// The columns of other rows that the subquery that makes a column names.
    pub fn outer_columns_of(&self, id: ColumnId) -> BTreeSet<ColumnId> {
        let all = self.0.borrow();
        let found = all.iter().find(|subquery| subquery.kind.columns().contains(&id));
        found.map_or_else(BTreeSet::new, |subquery| subquery.rel.outer_columns())
    }

    /// Rewrites every expression of theirs.
    pub fn rewrite(&self, map: &mut dyn FnMut(&Expr) -> Result<Expr>) -> Result<()> {
        for subquery in self.0.borrow_mut().iter_mut() {
            subquery.rel.rewrite(map)?;
            if let ApplyKind::Any { condition, .. } = &mut subquery.kind {
                *condition = map(condition)?;
            }
        }
        Ok(())
    }
}

impl ApplyKind {
    /// The columns that the Apply has besides its input's.
    pub fn columns(&self) -> Vec<ColumnId> {
        match self {
            Self::Scalar { columns } => columns.clone(),
            Self::Exists { mark } | Self::Any { mark, .. } => vec![*mark],
            Self::Lateral { .. } => Vec::new(),
        }
    }
}

impl Binder<'_> {
    fn subquery(&self, query: &Query, context: &Context<'_>, as_set: bool) -> Result<BoundQuery> {
        if context.subqueries.is_none() {
            return Err(Error::not_supported(
                "subqueries here",
                "run the inner query first",
            ));
        }
        if context
            .subqueries
            .is_some_and(|all| all.0.borrow().len() >= SUBQUERIES_MAX)
        {
            return Err(too_many_parts());
        }
        let place = QueryPlace {
            as_set,
            ..QueryPlace::within(Some(context))
        };
        syntax::stack::with_room(|| self.query_at(query, place))
    }

    fn apply(&self, kind: ApplyKind, rel: Logical, context: &Context<'_>) {
        if let Some(subqueries) = context.subqueries {
            subqueries.add(kind, rel);
        }
    }

    /// `(SELECT ...)` in the place of a value.
    pub fn scalar_subquery(&self, query: &Query, context: &Context<'_>) -> Result<Expr> {
        let mut columns = self.row_subquery(query, context)?;
        match (columns.pop(), columns.is_empty()) {
            (Some(column), true) => Ok(bind::without_members(column)),
            _ => Err(operand_columns(1)),
        }
    }

    /// `(SELECT ...)` in the place of a row.
    fn row_subquery(&self, query: &Query, context: &Context<'_>) -> Result<Vec<Expr>> {
        let bound = self.subquery(query, context, false)?;
        let columns = bound
            .columns
            .iter()
            .map(|column| Expr::made_column(column.id.0, column.ty, true, column.strength()));
        let exprs: Vec<Expr> = columns.collect();
        let columns = bound.columns.iter().map(|column| column.id).collect();
        self.apply(ApplyKind::Scalar { columns }, bound.root, context);
        Ok(exprs)
    }

    /// The columns of an operand that is a row.
    pub fn row_operand(&self, operand: &ast::Expr, context: &Context<'_>) -> Result<Vec<Expr>> {
        match operand {
            ast::Expr::Row(columns) => columns
                .iter()
                .map(|column| match column {
                    ast::Expr::Row(inner) => Err(operand_columns(inner.len())),
                    column => self.scalar(column, context),
                })
                .collect(),
            ast::Expr::Subquery(query) => self.row_subquery(query, context),
            single => Ok(vec![self.scalar(single, context)?]),
        }
    }

    pub fn exists(&self, query: &Query, context: &Context<'_>) -> Result<Expr> {
        // Nothing reads what the subquery selects, so its `*` needs no table.
        let without_star = without_star(query);
        let bound = self.subquery(without_star.as_ref().unwrap_or(query), context, true)?;
        let mark = self.new_column();
        self.apply(ApplyKind::Exists { mark }, bound.root, context);
        Ok(Expr::column(mark.0, SqlType::BOOL, false))
    }

    /// `x IN (SELECT ...)`: `x = ANY (SELECT ...)`.
    pub fn in_subquery(
        &self,
        operand: &ast::Expr,
        query: &Query,
        negated: bool,
        context: &Context<'_>,
    ) -> Result<Expr> {
        let any = self.any(BinaryOp::Equal, operand, query, context)?;
        if negated {
            return self.call("not", vec![any]);
        }
        Ok(any)
    }

    /// `x > ANY (SELECT ...)`, `x > ALL (SELECT ...)`; the latter is `NOT x <= ANY (SELECT ...)`.
    pub fn quantified(
        &self,
        op: BinaryOp,
        operand: &ast::Expr,
        quantifier: Quantifier,
        query: &Query,
        context: &Context<'_>,
    ) -> Result<Expr> {
        match quantifier {
            Quantifier::Any => self.any(op, operand, query, context),
            Quantifier::All => {
                if op == BinaryOp::Equal && matches!(operand, ast::Expr::Row(columns) if columns.len() > 1) {
                    return Err(operand_columns(1));
                }
                let any = self.any(opposite(op), operand, query, context)?;
                self.call("not", vec![any])
            }
        }
    }

    fn any(&self, op: BinaryOp, operand: &ast::Expr, query: &Query, context: &Context<'_>) -> Result<Expr> {
        if query.limit.is_some() {
            return Err(Error::new(
                errno::ER_NOT_SUPPORTED_YET,
                "This version of MySQL doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'",
            ));
        }
        if let ast::Expr::Row(columns) = operand
            && has_other_width(&query.body, columns.len())
        {
            return Err(operand_columns(columns.len()));
        }
        let names = InClause {
            names: context.names,
            clause: SUBQUERY_OPERAND,
        };
        let in_operand = Context {
            names: &names,
            ..*context
        };
        let left = self.row_operand(operand, &in_operand)?;
        if has_other_width(&query.body, left.len()) {
            return Err(operand_columns(left.len()));
        }
        if left.len() > 1 && op != BinaryOp::Equal {
            return Err(operand_columns(1));
        }
        let bound = self.subquery(query, context, true)?;
        if left.len() != bound.columns.len() {
            return Err(operand_columns(left.len()));
        }
        let right: Vec<Expr> = bound.columns.iter().map(QueryColumn::column).collect();
        let condition = self.compare_rows(op, &left, &right)?;
        let mark = self.new_column();
        let nullable = condition.nullable();
        self.apply(ApplyKind::Any { mark, condition }, bound.root, context);
        Ok(Expr::column(mark.0, SqlType::BOOL, nullable))
    }
}

/// `SELECT *` without a table, as `SELECT NULL`.
fn without_star(query: &Query) -> Option<Query> {
    let QueryBody::Select(select) = &query.body else {
        return None;
    };
    if !select.from.is_empty() || !select.items.iter().any(|item| matches!(item, SelectItem::All)) {
        return None;
    }
    let mut query = query.clone();
    if let QueryBody::Select(select) = &mut query.body {
        for item in select
            .items
            .iter_mut()
            .filter(|item| matches!(item, SelectItem::All))
        {
            *item = SelectItem::Expr {
                expr: ast::Expr::Null,
                name: "NULL".to_owned(),
                aliased: false,
            };
        }
    }
    Some(query)
}

/// The comparison that is true where this one is false.
fn opposite(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Equal => BinaryOp::NotEqual,
        BinaryOp::NotEqual => BinaryOp::Equal,
        BinaryOp::Less => BinaryOp::GreaterOrEqual,
        BinaryOp::LessOrEqual => BinaryOp::Greater,
        BinaryOp::Greater => BinaryOp::LessOrEqual,
        BinaryOp::GreaterOrEqual => BinaryOp::Less,
        other => other,
    }
}

/// Whether the text of a query, or of one that it is put together of, says that it has another number of columns.
fn has_other_width(body: &QueryBody, columns: usize) -> bool {
    match body {
        QueryBody::SetOperation { first, rest } => {
            has_other_width(first, columns)
                || rest
                    .iter()
                    .any(|operand| has_other_width(&operand.operand, columns))
        }
        QueryBody::Nested(query) => has_other_width(&query.body, columns),
        single => of_body(single).is_some_and(|width| width != columns),
    }
}

/// How many columns a query has, where its text says it.
pub fn width(query: &Query) -> Option<usize> {
    of_body(&query.body)
}

fn of_body(body: &QueryBody) -> Option<usize> {
    match body {
        QueryBody::Select(select) => {
            let plain = |item: &SelectItem| matches!(item, SelectItem::Expr { .. });
            select.items.iter().all(plain).then_some(select.items.len())
        }
        QueryBody::Values(rows) => rows.first().map(Vec::len),
        QueryBody::Nested(query) => of_body(&query.body),
        QueryBody::SetOperation { first, .. } => of_body(first),
    }
}
