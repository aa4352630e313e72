//! Which stored expressions depend on the date of the session: a TIME that becomes a point in time takes it.

use functions::Expr;
use types::{SqlType, TypeKind};

/// Functions that read an argument as a point in time without a CAST around it.
const READS_DATE: &[&str] = &[
    "adddate",
    "convert_tz",
    "date",
    "date_add",
    "date_format",
    "date_sub",
    "datediff",
    "day",
    "dayname",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "extract",
    "last_day",
    "month",
    "monthname",
    "quarter",
    "subdate",
    "timestampadd",
    "timestampdiff",
    "to_days",
    "to_seconds",
    "unix_timestamp",
    "week",
    "weekday",
    "weekofyear",
    "year",
    "yearweek",
];

/// Whether a column of type `column` that is computed by `value` depends on the date.
pub(super) fn depends_on_date(value: &Expr, column: &SqlType) -> bool {
    let mut depends = takes_date(&value.ty(), column);
    value.walk(&mut |expr| {
        depends |= match expr {
            Expr::Cast { input, ty, .. } => takes_date(&input.ty(), ty),
            Expr::Call { function, args, ty } => call_takes_date(function.name(), args, ty),
            _ => false,
        }
    });
    depends
}

fn takes_date(from: &SqlType, to: &SqlType) -> bool {
    is_time(from) && (to.is_datetime() || to.kind == TypeKind::Year)
}

fn call_takes_date(function: &str, args: &[Expr], result: &SqlType) -> bool {
    let has_time = || args.iter().any(|arg| is_time(&arg.ty()));
    match function {
        // Values that all are TIMEs are compared as such.
        "between" | "greatest" | "least" => has_time() && args.iter().any(|arg| arg.ty().is_datetime()),
        // TIMESTAMP(date, time) has its date.
        "timestamp" => args.first().is_some_and(|arg| is_time(&arg.ty())),
        // A TIME plus an interval of hours is a TIME.
        _ => READS_DATE.contains(&function) && !is_time(result) && has_time(),
    }
}

fn is_time(ty: &SqlType) -> bool {
    ty.kind == TypeKind::Time
}
