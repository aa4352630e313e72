//! Calls of aggregate functions: which query they belong to, and their columns there.

use functions::Expr;
use functions::aggregate::{self, AggregateCall, AggregateFunction};
use functions::bind;
use functions::coercibility::Strength;
use types::{Error, Result, errno};

use super::Binder;
use super::context::{Aggregates, Context, invalid_group_function};
use crate::logical::{ColumnId, columns_of};
use syntax::ast;

impl Binder<'_> {
    /// ANY_VALUE(x): the first row's, in a query with groups.
    pub(super) fn any_value(&self, arg: &ast::Expr, context: &Context<'_>) -> Result<Expr> {
        if !context.grouped || context.aggregates.is_none() || arg.has_aggregate() {
            return self.scalar(arg, context);
        }
        let bound = self.scalar(arg, &context.inside_aggregate())?;
        self.collect("any_value", vec![bound], false, context)
    }

    pub(super) fn aggregate(
        &self,
        name: &str,
        distinct: bool,
        args: &[ast::Expr],
        context: &Context<'_>,
    ) -> Result<Expr> {
        let (mut bound, place) = bound_arguments(context, |inside| self.arguments(name, args, inside))?;
        if name.starts_with("json_") {
            bound = self.as_truths(args, bound)?;
        }
        self.collect(name, bound, distinct, &place)
    }

    /// Adds a call to the query's aggregates, unless it is there already.
    fn collect(&self, name: &str, args: Vec<Expr>, distinct: bool, context: &Context<'_>) -> Result<Expr> {
        self.add_aggregate(aggregate::bind(name, args, distinct, &self.types)?, context)
    }

    pub(super) fn group_concat(
        &self,
        distinct: bool,
        args: &[ast::Expr],
        order_by: &[ast::OrderItem],
        separator: &str,
        context: &Context<'_>,
    ) -> Result<Expr> {
        let (bound, place) = bound_arguments(context, |inside| self.list(args, inside))?;
        let inside = context.inside_aggregate();
        let mut order = Vec::with_capacity(order_by.len());
        for item in order_by {
            let key = match &item.expr {
                // A literal that was taken out of the text might be a position.
                ast::Expr::Parameter(_) if self.types.literal_params => {
                    return Err(Error::internal(
                        "GROUP_CONCAT: the text has to be bound as it stands",
                    ));
                }
                ast::Expr::Number(ast::NumberText::Integer(position)) => {
                    let at = position.parse::<usize>().ok().and_then(|p| p.checked_sub(1));
                    let arg = at.and_then(|at| bound.get(at));
                    arg.cloned().ok_or_else(|| unknown_position(position))?
                }
                key => self.scalar(key, &inside)?,
            };
            order.push((key, item.descending));
        }
        let call = aggregate::bind_group_concat(bound, distinct, order, separator.to_owned(), &self.types)?;
        self.add_aggregate(call, &place)
    }

    /// The result of a call. It is one of a query around if its arguments name columns of that alone.
    fn add_aggregate(&self, call: AggregateCall, context: &Context<'_>) -> Result<Expr> {
        let aggregates = home_of(&call, context).ok_or_else(invalid_group_function)?;
        let column = self.aggregate_column(&call, aggregates);
        Ok(functions::aggregate::result(column, &call))
    }

    /// The column of a call among a block's aggregates, which it joins unless it is there already.
    pub fn aggregate_column(&self, call: &AggregateCall, aggregates: &Aggregates) -> Expr {
        let mut aggregates = aggregates.borrow_mut();
        let same = aggregates
            .iter()
            .find(|(_, other)| other == call)
            .map(|(id, _)| *id);
        let id = same.unwrap_or_else(|| {
            let id = self.new_column();
            aggregates.push((id, call.clone()));
            id
        });
        match strength_of(call) {
            Some(strength) => Expr::made_column(id.0, call.ty, call.nullable(), strength),
            None => Expr::column(id.0, call.ty, call.nullable()),
        }
    }
}

/// The coercibility of an aggregate's collation; `None`: that of a table's column.
fn strength_of(call: &AggregateCall) -> Option<Strength> {
    let of_arguments = bind::strength_of(&call.args);
    match call.function {
        AggregateFunction::AnyValue => Some(of_arguments),
        AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::GroupConcat => {
            Some(of_arguments.of_aggregate())
        }
        _ => None,
    }
}

/// What `bind` makes of the arguments of an aggregate, and the place of the call. Its arguments may name select items of a
/// query around by their aliases, which are no columns of that query: then the aggregate is none of that query's.
fn bound_arguments<'c, T>(
    context: &Context<'c>,
    bind: impl Fn(&Context<'c>) -> Result<T>,
) -> Result<(T, Context<'c>)> {
    let inside = context.inside_aggregate();
    let unknown = match bind(&inside) {
        Err(error) if error.code == errno::ER_BAD_FIELD_ERROR && context.outer.is_some() => error,
        bound => return Ok((bound?, *context)),
    };
    let by_alias = Context {
        names: context.names,
        ..inside
    };
    match bind(&by_alias) {
        Err(error) if error.code == errno::ER_BAD_FIELD_ERROR => Err(unknown),
        bound => Ok((
            bound?,
            Context {
                outer: None,
                ..*context
            },
        )),
    }
}

/// The aggregates of the query that a call belongs to: the query whose columns it names, at any distance. If
/// aggregates are not allowed there, the last query on the way to it where they are. COUNT(*) names no column: it
/// belongs to the next query where aggregates are allowed.
fn home_of<'c>(call: &AggregateCall, context: &'c Context<'_>) -> Option<&'c Aggregates> {
    let mut home = context.aggregates;
    let mut place = context;
    let is_about_none = {
        let mut names_any = false;
        call.expressions(&mut |arg| names_any |= !columns_of(arg).is_empty());
        !names_any
    };
    while let Some(outer) = place
        .outer
        .filter(|_| is_about_outer(call, place.first_own) || (is_about_none && home.is_none()))
    {
        if outer.is_argument && !is_about_outer(call, outer.first_own) {
            return None;
        }
        home = outer.aggregates.or(home);
        place = outer;
    }
    home
}

/// Whether the arguments name columns, and all of them are those of queries around.
fn is_about_outer(call: &AggregateCall, first_own: ColumnId) -> bool {
    let mut names_any = false;
    let mut names_own = false;
    call.expressions(&mut |arg| {
        for id in columns_of(arg) {
            names_any = true;
            names_own |= id >= first_own;
        }
    });
    names_any && !names_own
}

fn unknown_position(position: &str) -> Error {
    Error::new(
        errno::ER_BAD_FIELD_ERROR,
        format!("Unknown column '{position}' in 'order clause'"),
    )
}
