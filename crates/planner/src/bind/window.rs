//! Window functions: calls with OVER, and the windows they name.
//!
//! Source: manual 12.20.2 "Window Function Concepts and Syntax", 12.20.4 "Named Windows".

use std::borrow::Cow;

use functions::window::{self, Frame, FrameBound, FrameUnit, WindowCall};
use functions::{Expr, bind};
use syntax::ast::{self, NamedWindow, WindowSpec};
use types::{Error, Result, SqlType, Value};

use super::Binder;
use super::context::{Aggregates, Context, PendingWindow, invalid_group_function};
use super::names::InClause;
use super::parameter;
use super::subqueries::Subqueries;
use crate::errno::ER_WINDOW_INVALID_WINDOW_FUNC_USE;
use crate::logical::{ColumnId, Logical, Window};
use crate::plan::SortKey;

/// What MySQL calls the window of an OVER clause with a specification of its own.
pub const UNNAMED: &str = "<unnamed window>";

/// The window of a frame.
struct FramePlace<'a> {
    name: &'a str,
    unit: FrameUnit,
    order_by: &'a [SortKey],
}

/// How many windows a query block may have. Named ones may refine each other, so each is looked for among all others.
const WINDOWS_MAX: usize = 127;
const ER_TOO_MANY_WINDOWS: u16 = 4086;

/// `function OVER window`: the column of the call's result.
pub(super) fn bind_over(
    binder: &Binder<'_>,
    function: &ast::Expr,
    over: &ast::Window,
    context: &Context<'_>,
) -> Result<Expr> {
    let Some(windows) = context.windows else {
        return Err(not_here(function));
    };
    // Within the call there is no other one.
    let inside = Context {
        windows: None,
        ..*context
    };
    let written = match over {
        ast::Window::Named(name) => Cow::Owned(WindowSpec {
            base: Some(name.clone()),
            partition_by: Vec::new(),
            order_by: Vec::new(),
            frame: None,
        }),
        ast::Window::Spec(spec) => Cow::Borrowed(&**spec),
    };
    let named = matches!(over, ast::Window::Named(_));
    let spec = refined(binder, &written, UNNAMED, named, 0)?;
    let name = match over {
        ast::Window::Named(name) => name,
        ast::Window::Spec(_) => UNNAMED,
    };
    let window = bind_window(binder, &spec, name, &inside)?;
    let call = window_call(binder, function, &inside)?;
    let column = |id: ColumnId| Expr::column(id.0, call.ty, call.nullable);
    let same = {
        let all = windows.borrow();
        all.iter()
            .find(|w| w.window == window && w.call == call)
            .map(|w| w.id)
    };
    if let Some(id) = same {
        return Ok(column(id));
    }
    let id = binder.new_column();
    let result = column(id);
    windows.borrow_mut().push(PendingWindow { id, window, call });
    Ok(result)
}

fn window_call(binder: &Binder<'_>, function: &ast::Expr, context: &Context<'_>) -> Result<WindowCall> {
    match function {
        ast::Expr::Function { name, args } => {
            let name = name.to_lowercase();
            let bound = parameter::operands(binder, &name, &args.iter().collect::<Vec<_>>(), context)?;
            window::bind(&name, bound, &binder.types)
        }
        ast::Expr::Aggregate { name, distinct, args } => {
            let bound = parameter::operands(binder, name, &args.iter().collect::<Vec<_>>(), context)?;
            let call = functions::aggregate::bind(name, bound, *distinct, &binder.types)?;
            WindowCall::of_aggregate(call)
        }
        ast::Expr::GroupConcat { .. } => Err(Error::new(
            1235,
            "This version of MySQL doesn't yet support 'group_concat as window function'",
        )),
        _ => Err(invalid_group_function()),
    }
}

/// The specification of the window `of` with what it takes from the windows it refines.
///
/// One that refines no other is the statement's own, whose names are noted by their place in it.
fn refined<'s>(
    binder: &Binder<'_>,
    spec: &'s WindowSpec,
    of: &str,
    is_name: bool,
    depth: usize,
) -> Result<Cow<'s, WindowSpec>> {
    let Some(name) = &spec.base else {
        return Ok(Cow::Borrowed(spec));
    };
    let known = binder.windows.borrow().last().cloned().unwrap_or_default();
    let Some(base) = known.iter().find(|w| types::same_name(&w.name, name)) else {
        return Err(Error::new(3579, format!("Window name '{name}' is not defined.")));
    };
    if depth > known.len() {
        return Err(Error::new(
            3580,
            "There is a circularity in the window dependency graph.",
        ));
    }
    let base = refined(binder, &base.spec, &base.name, false, depth + 1)?.into_owned();
    if is_name {
        return Ok(Cow::Owned(base));
    }
    if !spec.partition_by.is_empty() {
        return Err(Error::new(
            3581,
            "A window which depends on another cannot define partitioning.",
        ));
    }
    if base.frame.is_some() {
        return Err(Error::new(
            3582,
            format!("Window '{name}' has a frame definition, so cannot be referenced by another window."),
        ));
    }
    if !base.order_by.is_empty() && !spec.order_by.is_empty() {
        return Err(Error::new(
            3583,
            format!("Window '{of}' cannot inherit '{name}' since both contain an ORDER BY clause."),
        ));
    }
    Ok(Cow::Owned(WindowSpec {
        base: None,
        partition_by: base.partition_by,
        order_by: match spec.order_by.is_empty() {
            true => base.order_by,
            false => spec.order_by.clone(),
        },
        frame: spec.frame.clone(),
    }))
}

/// How many OVER clauses of the expression have a specification of their own.
pub(super) fn unnamed_within(expr: &ast::Expr) -> usize {
    if let ast::Expr::Over { window, .. } = expr {
        return usize::from(matches!(window, ast::Window::Spec(_)));
    }
    let mut count = 0;
    expr.children(&mut |child| count += unnamed_within(child));
    count
}

/// Checks the block's named windows, used or not, and how many it has with those that have no name.
pub(super) fn check_windows(binder: &Binder<'_>, windows: &[NamedWindow], unnamed: usize) -> Result<()> {
    if windows.len() + unnamed > WINDOWS_MAX {
        return Err(Error::new(
            ER_TOO_MANY_WINDOWS,
            format!(
                "Too many windows in SELECT: {}. Maximum allowed is {WINDOWS_MAX}. Use named windows to share windows between \
                 window functions.",
                windows.len() + unnamed
            ),
        ));
    }
    for (position, window) in windows.iter().enumerate() {
        let same = |other: &NamedWindow| types::same_name(&other.name, &window.name);
        if windows[..position].iter().any(same) {
            return Err(Error::new(
                3591,
                format!("Window '{}' is defined twice.", window.name),
            ));
        }
        refined(binder, &window.spec, &window.name, false, 0)?;
    }
    Ok(())
}

/// The named windows, used or not: their errors are the statement's.
pub(super) fn bind_named_windows(
    binder: &Binder<'_>,
    windows: &[NamedWindow],
    context: &Context<'_>,
) -> Result<Vec<(String, Window)>> {
    let (aggregates, subqueries) = (Aggregates::default(), Subqueries::default());
    let context = Context {
        aggregates: Some(&aggregates),
        windows: None,
        subqueries: Some(&subqueries),
        argument_subqueries: Some(&subqueries),
        ..*context
    };
    let bind = |window: &NamedWindow| {
        let spec = refined(binder, &window.spec, &window.name, false, 0)?;
        Ok((
            window.name.clone(),
            bind_window(binder, &spec, &window.name, &context)?,
        ))
    };
    windows.iter().map(bind).collect()
}

fn bind_window(binder: &Binder<'_>, spec: &WindowSpec, name: &str, context: &Context<'_>) -> Result<Window> {
    let mut partition_by = Vec::with_capacity(spec.partition_by.len());
    let written = spec
        .partition_by
        .iter()
        .chain(spec.order_by.iter().map(|item| &item.expr));
    if written
        .clone()
        .any(|expr| matches!(expr, ast::Expr::Number(ast::NumberText::Integer(_))))
    {
        return Err(Error::new(
            3592,
            format!(
                "Window '{name}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, \
                 use expression."
            ),
        ));
    }
    for expr in &spec.partition_by {
        partition_by.push(window_part(binder, expr, name, "window partition by", context)?);
    }
    let mut order_by = Vec::with_capacity(spec.order_by.len());
    for item in &spec.order_by {
        order_by.push(SortKey {
            expr: window_part(binder, &item.expr, name, "window order by", context)?,
            descending: item.descending,
        });
    }
    let frame = match &spec.frame {
        Some(frame) => bind_frame(binder, frame, name, &order_by, context)?,
        None if order_by.is_empty() => Frame::WHOLE,
        None => Frame::TO_CURRENT,
    };
    Ok(Window {
        partition_by,
        order_by,
        frame,
    })
}

/// An expression of PARTITION BY or ORDER BY.
fn window_part(
    binder: &Binder<'_>,
    expr: &ast::Expr,
    window: &str,
    clause: &'static str,
    context: &Context<'_>,
) -> Result<Expr> {
    let names = InClause {
        names: context.names,
        clause,
    };
    let context = Context {
        names: &names,
        ..*context
    };
    binder.scalar(expr, &context).map_err(|error| match error.code {
        ER_WINDOW_INVALID_WINDOW_FUNC_USE => Error::new(
            3595,
            format!("You cannot nest a window function in the specification of window '{window}'."),
        ),
        _ => error,
    })
}

fn bind_frame(
    binder: &Binder<'_>,
    frame: &ast::Frame,
    name: &str,
    order_by: &[SortKey],
    context: &Context<'_>,
) -> Result<Frame> {
    let unit = match frame.unit {
        ast::FrameUnit::Rows => FrameUnit::Rows,
        ast::FrameUnit::Range => FrameUnit::Range,
        ast::FrameUnit::Groups => {
            return Err(Error::new(
                1235,
                "This version of MySQL doesn't yet support 'GROUPS'",
            ));
        }
    };
    let current = ast::FrameBound::CurrentRow;
    let end = frame.end.as_ref().unwrap_or(&current);
    check_bounds(&frame.start, end, name)?;
    let place = FramePlace { name, unit, order_by };
    Ok(Frame {
        unit,
        start: frame_bound(binder, &frame.start, &place, context)?,
        end: frame_bound(binder, end, &place, context)?,
    })
}

fn frame_bound(
    binder: &Binder<'_>,
    bound: &ast::FrameBound,
    place: &FramePlace<'_>,
    context: &Context<'_>,
) -> Result<FrameBound> {
    Ok(match bound {
        ast::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
        ast::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
        ast::FrameBound::CurrentRow => FrameBound::CurrentRow,
        ast::FrameBound::Preceding(offset) => {
            FrameBound::Preceding(frame_offset(binder, offset, true, place, context)?)
        }
        ast::FrameBound::Following(offset) => {
            FrameBound::Following(frame_offset(binder, offset, false, place, context)?)
        }
    })
}

/// A number of rows, or the value of the sort key at the frame's edge.
fn frame_offset(
    binder: &Binder<'_>,
    offset: &ast::FrameOffset,
    preceding: bool,
    place: &FramePlace<'_>,
    context: &Context<'_>,
) -> Result<Expr> {
    let FramePlace { name, unit, order_by } = *place;
    if unit == FrameUnit::Rows {
        parameter::note_row_count(binder, &offset.amount);
    }
    let hint = match order_by {
        [key] if unit == FrameUnit::Range && offset.unit.is_none() => key.expr.ty(),
        _ => SqlType::BIGINT,
    };
    let amount = binder.hinted(&offset.amount, Some(hint), context)?;
    let is_constant = amount.is_constant() && functions::is_deterministic(&amount);
    if !is_constant && !matches!(offset.amount, ast::Expr::Subquery(_)) {
        return Err(Error::new(
            3590,
            format!("Window '{name}' has a non-constant frame bound."),
        ));
    }
    if is_negative(&amount) {
        return Err(wrong_frame(name));
    }
    if unit == FrameUnit::Rows {
        if offset.unit.is_some() {
            return Err(Error::new(
                3596,
                format!("Window '{name}': INTERVAL can only be used with RANGE frames."),
            ));
        }
        if !amount.ty().is_integer() {
            return Err(wrong_frame(name));
        }
        return Ok(amount);
    }
    let [key] = order_by else {
        return Err(one_key_of_range(name));
    };
    let amount = match amount {
        Expr::Literal { .. } => amount,
        unknown => binder.call("frame offset", vec![unknown])?,
    };
    let ty = key.expr.ty();
    let back = preceding != key.descending;
    let edge = match &offset.unit {
        Some(unit) if ty.is_temporal() => {
            let unit = binder.scalar(unit, context)?;
            let function = if back { "date_sub" } else { "date_add" };
            binder.call(function, vec![key.expr.clone(), amount, unit])?
        }
        Some(_) if ty.is_numeric() => {
            return Err(Error::new(
                3589,
                format!(
                    "Window '{name}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not \
                 allowed."
                ),
            ));
        }
        None if ty.is_temporal() => {
            return Err(Error::new(
                3588,
                format!(
                    "Window '{name}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound \
                 value allowed."
                ),
            ));
        }
        None if ty.is_numeric() => {
            // An unsigned key may not go below zero: computed as DECIMAL, and compared so.
            let wide = |e: Expr| match e.ty().is_integer() {
                true => bind::implicit_cast(e, SqlType::decimal(30, 0)),
                false => e,
            };
            let operator = if back { "-" } else { "+" };
            binder.call(operator, vec![wide(key.expr.clone()), wide(amount)])?
        }
        Some(_) | None => return Err(one_key_of_range(name)),
    };
    Ok(edge)
}

/// The calls above their input, those of the same window in one operator.
pub fn windowed(mut input: Logical, pending: Vec<PendingWindow>) -> Logical {
    let mut windows: Vec<(Window, Vec<(ColumnId, WindowCall)>)> = Vec::new();
    for PendingWindow { id, window, call } in pending {
        match windows.iter_mut().find(|(other, _)| *other == window) {
            Some((_, calls)) => calls.push((id, call)),
            None => windows.push((window, vec![(id, call)])),
        }
    }
    for (window, calls) in windows {
        input = Logical::Window {
            input: Box::new(input),
            window,
            calls,
        };
    }
    input
}

/// The start may not come after the end.
fn check_bounds(start: &ast::FrameBound, end: &ast::FrameBound, name: &str) -> Result<()> {
    use ast::FrameBound::*;
    match (start, end) {
        (UnboundedFollowing, _) => Err(Error::new(
            3584,
            format!("Window '{name}': frame start cannot be UNBOUNDED FOLLOWING."),
        )),
        (_, UnboundedPreceding) => Err(Error::new(
            3585,
            format!("Window '{name}': frame end cannot be UNBOUNDED PRECEDING."),
        )),
        (CurrentRow, Preceding(_)) | (Following(_), CurrentRow | Preceding(_)) => Err(wrong_frame(name)),
        _ => Ok(()),
    }
}

/// Error 3587.
fn one_key_of_range(name: &str) -> Error {
    Error::new(
        3587,
        format!(
            "Window '{name}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of \
             numeric or temporal type"
        ),
    )
}

/// Error 3586.
fn wrong_frame(name: &str) -> Error {
    Error::new(
        3586,
        format!("Window '{name}': frame start or end is negative, NULL or of non-integral type"),
    )
}

fn is_negative(amount: &Expr) -> bool {
    match amount {
        Expr::Literal { value, .. } => match value {
            Value::Null => true,
            Value::Int(amount) => *amount < 0,
            Value::Double(amount) => *amount < 0.0,
            Value::Decimal(amount) => amount.is_negative(),
            // Of an interval: '-1:30' MINUTE_SECOND.
            Value::String(amount) => amount.trim_start().starts_with('-'),
            _ => false,
        },
        _ => false,
    }
}

/// Error 3593.
fn not_here(function: &ast::Expr) -> Error {
    let name = match function {
        ast::Expr::Function { name, .. } => name.to_lowercase(),
        ast::Expr::Aggregate { name, .. } => (*name).to_owned(),
        _ => "group_concat".to_owned(),
    };
    Error::new(
        ER_WINDOW_INVALID_WINDOW_FUNC_USE,
        format!("You cannot use the window function '{name}' in this context.'"),
    )
}
