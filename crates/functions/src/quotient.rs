//! Quotients of DECIMALs: inside an expression they have more digits than their type says, as in MySQL.

use types::{Decimal, SqlType};

use crate::Expr;

/// How many digits after the point a quotient has inside an expression. MySQL computes in words of nine
/// digits.
pub(crate) fn quotient_scale(dividend: u8, divisor: u8, increment: u8) -> u8 {
    let words = |digits: u8| digits.div_ceil(9) * 9;
    let (a, b) = (words(dividend), words(divisor));
    let extra = increment.saturating_sub((a - dividend) + (b - divisor));
    words(a + b + extra).min(Decimal::MAX_SCALE)
}

/// The quotient with MySQL's hidden digits, of at most 65 digits in all. The divisor must not be zero.
pub(crate) fn quotient(a: &Decimal, b: &Decimal, increment: u8) -> Option<Decimal> {
    let scale = quotient_scale(a.scale, b.scale, increment);
    cut_quotient(a, b, scale).or_else(|| a.div(b, increment))
}

/// The quotient truncated to `scale` digits. It is rounded when it leaves the expression.
pub(crate) fn cut_quotient(a: &Decimal, b: &Decimal, scale: u8) -> Option<Decimal> {
    let shift = i32::from(scale) + i32::from(b.scale) - i32::from(a.scale);
    let power = |n: i32| 10i128.checked_pow(u32::try_from(n.max(0)).ok()?);
    let narrow = || {
        let dividend = a.unscaled.to_i128()?.checked_mul(power(shift)?)?;
        let divisor = b.unscaled.to_i128()?.checked_mul(power(-shift)?)?;
        Some(Decimal::from_i128(dividend.checked_div(divisor)?, scale))
    };
    // Two more digits, then truncated. A wide quotient would be rounded up only if 995 or more followed these
    // digits.
    narrow().or_else(|| {
        Some(
            a.div_to_scale(b, scale.checked_add(2)?)?
                .truncate(i32::from(scale)),
        )
    })
}

/// The type of an expression's values with all digits of the computation.
pub(crate) fn computed_type(expr: &Expr, increment: u8) -> SqlType {
    let ty = expr.ty();
    let scale = inner_scale(expr, increment);
    if !ty.is_decimal() || scale <= ty.decimals {
        return ty;
    }
    let whole = ty.length.saturating_sub(u32::from(ty.decimals));
    SqlType::decimal((whole + u32::from(scale)).min(65), scale)
}

/// The scale at which an expression's decimals are computed, which may be finer than its type says.
pub(crate) fn inner_scale(expr: &Expr, increment: u8) -> u8 {
    let own = expr.ty().decimals;
    let Expr::Call { function, args, ty } = expr else {
        return own;
    };
    let of = |i: usize| args.get(i).map_or(0, |a| inner_scale(a, increment));
    if !ty.is_decimal() {
        return own;
    }
    let scale = match function.0.name {
        "+" | "-" | "%" => of(0).max(of(1)),
        "*" => of(0).saturating_add(of(1)),
        "/" => quotient_scale(of(0), of(1), increment),
        "unary -" | "unary +" | "aggregate result" => of(0),
        _ => own,
    };
    scale.min(Decimal::MAX_SCALE)
}
