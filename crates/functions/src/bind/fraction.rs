//! How many digits of a second values have that are read as dates or times.

use types::Value;

use crate::Expr;
use crate::temporal::{self, DateRules};

/// Of values that are read as times.
pub(crate) fn of_times(args: &[Expr]) -> u8 {
    of(args, |text| temporal::parse::time(text.as_bytes()).is_ok())
}

/// Of values that are read as points in time.
pub(crate) fn of_moments(args: &[Expr]) -> u8 {
    of(args, |text| {
        temporal::parse::datetime(text.as_bytes(), DateRules::ANY).is_some()
    })
}

/// `reads`: whether a text is such a value.
fn of(args: &[Expr], reads: impl Fn(&str) -> bool) -> u8 {
    let digits = |arg: &Expr| match arg {
        Expr::Literal {
            value: Value::String(text),
            ..
        } => match reads(text) {
            true => text
                .rsplit_once('.')
                .map_or(0, |(_, digits)| digits.len().min(6) as u8),
            false => 6,
        },
        arg => match arg.ty() {
            ty if ty.is_string() => 6,
            ty if ty.is_temporal() || ty.is_decimal() || ty.is_float() => ty.decimals.min(6),
            _ => 0,
        },
    };
    args.iter().map(digits).max().unwrap_or(0)
}
