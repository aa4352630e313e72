//! Bound expressions and names of columns as text, for EXPLAIN and tests. Not SQL: implicit conversions are shown.

use functions::Expr;
use functions::aggregate::AggregateCall;
use functions::window::{Frame, FrameBound, FrameUnit, WindowCall, WindowFunction};
use planner::plan::JoinKind;
use types::{SqlType, TypeKind, Value};

/// The names of a join's columns. `mark`: that of whether a row has a match.
pub fn joined(kind: JoinKind, mut left: Vec<String>, both: Vec<String>, mark: &str) -> Vec<String> {
    match kind {
        JoinKind::Inner | JoinKind::Left => both,
        JoinKind::Semi | JoinKind::Anti => left,
        JoinKind::Mark => {
            left.push(mark.to_owned());
            left
        }
    }
}

/// Names for columns that have none.
pub fn numbered(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{name}_{number}")).collect()
}

/// An expression over columns of these names.
pub fn expr(expr: &Expr, names: &[String]) -> String {
    match expr {
        Expr::Column { index, .. } => names.get(*index).cloned().unwrap_or_else(|| format!("#{index}")),
        Expr::Param { index, .. } => format!("?{index}"),
        Expr::Outer { slot, .. } => format!("outer {slot}"),
        Expr::Literal { value, ty } => literal(value, ty),
        Expr::Call { function, args, .. } => call(function.0.name, args, names),
        Expr::Cast { input, ty, .. } => format!("{}::{}", self::expr(input, names), type_name(ty)),
        Expr::Case {
            branches, otherwise, ..
        } => {
            let mut text = "case".to_owned();
            for (when, then) in branches {
                text += &format!(
                    " when {} then {}",
                    self::expr(when, names),
                    self::expr(then, names)
                );
            }
            if let Some(otherwise) = otherwise {
                text += &format!(" else {}", self::expr(otherwise, names));
            }
            text + " end"
        }
    }
}

fn call(name: &str, args: &[Expr], names: &[String]) -> String {
    let is_operator = !name.starts_with(|c: char| c.is_ascii_alphabetic())
        || matches!(name, "and" | "or" | "xor" | "div" | "like" | "regexp");
    match args {
        [value, pattern, escape] if name == "like" => format!(
            "({} like {} escape {})",
            expr(value, names),
            expr(pattern, names),
            expr(escape, names)
        ),
        [only] if name.starts_with("is ") => format!("({} {name})", expr(only, names)),
        [only] if name == "not" => format!("(not {})", expr(only, names)),
        [only] if name == "unary -" => format!("(-{})", expr(only, names)),
        [_, _, ..] if is_operator => format!("({})", list(args, names, &format!(" {name} "))),
        // The call only takes digits away: not shown.
        [value] if name == "aggregate result" => expr(value, names),
        [value, low, high] if name == "between" => format!(
            "({} between {} and {})",
            expr(value, names),
            expr(low, names),
            expr(high, names)
        ),
        [value, items @ ..] if name == "in" => {
            format!("({} in ({}))", expr(value, names), list(items, names, ", "))
        }
        _ => format!("{name}({})", list(args, names, ", ")),
    }
}

/// Items beyond this are counted only.
pub const ITEMS_MAX: usize = 20;

pub fn list(exprs: &[Expr], names: &[String], separator: &str) -> String {
    let mut texts: Vec<String> = exprs.iter().take(ITEMS_MAX).map(|e| expr(e, names)).collect();
    if exprs.len() > ITEMS_MAX {
        texts.push(format!("... {} more", exprs.len() - ITEMS_MAX));
    }
    texts.join(separator)
}

pub fn literal(value: &Value, ty: &SqlType) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("0x{digits}")
        }
        other if ty.is_temporal() || ty.has_members() => format!("'{}'", other.display_text(ty)),
        other if ty.kind == TypeKind::Bit => other.display_text(&SqlType::BIGINT_UNSIGNED),
        other => other.display_text(ty),
    }
}

fn type_name(ty: &SqlType) -> String {
    match ty.kind {
        TypeKind::Null => "null".into(),
        TypeKind::BigInt | TypeKind::Double | TypeKind::Float => ty.column_type(),
        _ if ty.is_string() => format!("{}[{}]", ty.data_type(), ty.collation.name()),
        _ => ty.column_type(),
    }
}

pub fn aggregate(call: &AggregateCall, names: &[String]) -> String {
    let name = call.function.name();
    let distinct = if call.distinct { "distinct " } else { "" };
    let args = if call.args.is_empty() {
        "*".to_owned()
    } else {
        list(&call.args, names, ", ")
    };
    format!("{name}({distinct}{args})")
}

pub fn window(call: &WindowCall, names: &[String]) -> String {
    let name = match &call.function {
        WindowFunction::RowNumber => "row_number",
        WindowFunction::Rank => "rank",
        WindowFunction::DenseRank => "dense_rank",
        WindowFunction::PercentRank => "percent_rank",
        WindowFunction::CumeDist => "cume_dist",
        WindowFunction::Ntile => "ntile",
        WindowFunction::Lead => "lead",
        WindowFunction::Lag => "lag",
        WindowFunction::FirstValue => "first_value",
        WindowFunction::LastValue => "last_value",
        WindowFunction::NthValue => "nth_value",
        WindowFunction::Aggregate(call) => return aggregate(call, names),
    };
    format!("{name}({})", list(&call.args, names, ", "))
}

pub fn frame(frame: &Frame, names: &[String]) -> String {
    let bound = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding => "unbounded preceding".to_owned(),
        FrameBound::Preceding(offset) => format!("{} preceding", expr(offset, names)),
        FrameBound::CurrentRow => "current row".to_owned(),
        FrameBound::Following(offset) => format!("{} following", expr(offset, names)),
        FrameBound::UnboundedFollowing => "unbounded following".to_owned(),
    };
    let unit = match frame.unit {
        FrameUnit::Rows => "rows",
        FrameUnit::Range => "range",
    };
    format!("{unit} {} to {}", bound(&frame.start), bound(&frame.end))
}
