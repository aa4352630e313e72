//! Properties of expressions that can be derived without evaluating them.

use crate::Expr;

/// Whether the expression always has the same value for the same columns within one statement. This is true
/// for `NOW()`, but not for `RAND()`, `UUID()` and `SLEEP()`.
pub fn is_deterministic(expr: &Expr) -> bool {
    let mut deterministic = true;
    expr.walk(&mut |e| {
        if let Expr::Call { function, .. } = e {
            deterministic &= !function.0.volatile;
        }
    });
    deterministic
}

/// Whether the value is the same for every session and at any time: `NOW()`, `USER()` and `@a` are not.
pub fn is_known_when_planned(expr: &Expr) -> bool {
    let mut known = true;
    expr.walk(&mut |e| {
        if let Expr::Call { function, .. } = e {
            known &= !function.0.volatile && !function.0.reads_session;
        }
    });
    known
}

/// Whether it contains `@a := x`. Then rows must be evaluated one by one, all expressions of a row before the
/// next row.
pub fn assigns(expr: &Expr) -> bool {
    let mut assigns = false;
    expr.walk(&mut |e| {
        if let Expr::Call { function, .. } = e {
            assigns |= function.0.name == "@:=";
        }
    });
    assigns
}

/// Whether evaluating it does more than compute its value: `SLEEP(1)`, `GET_LOCK('a', 1)`, `@a := 1`.
pub fn has_effects(expr: &Expr) -> bool {
    let mut has_effects = false;
    expr.walk(&mut |e| {
        if let Expr::Call { function, .. } = e {
            has_effects |= function.0.has_effects;
        }
    });
    has_effects
}

/// Whether it reads a variable that the statement assigns. Then the value for a row depends on what was
/// computed for the rows before it.
pub fn reads_assigned(expr: &Expr) -> bool {
    let mut reads = false;
    expr.walk(&mut |e| {
        if let Expr::Call { function, .. } = e {
            reads |= function.0.name == "@ now";
        }
    });
    reads
}

/// Whether evaluating it can fail, warn or have effects. Then it must not be evaluated for rows that do not
/// need it.
pub fn is_fallible(expr: &Expr) -> bool {
    let mut fallible = false;
    expr.walk(&mut |e| {
        fallible |= match e {
            Expr::Call { function, .. } => function.0.fallible || function.0.volatile,
            Expr::Cast { input, ty, .. } => crate::cast::loss::may_fail(&input.ty(), ty),
            _ => false,
        }
    });
    fallible
}

/// A text that may have more bytes than this counts as long.
const LONG_BYTES: u32 = 1 << 20;

/// Whether a proper part of it is a text that may be long. A variable has one value, whatever its type allows.
pub(super) fn makes_long_texts(expr: &Expr) -> bool {
    let is_variable = |part: &Expr| matches!(part, Expr::Call { function, .. } if function.0.name == "@");
    let mut makes = false;
    expr.walk(&mut |part| {
        let ty = part.ty();
        let is_long = ty.is_string() && ty.length > LONG_BYTES;
        makes |= is_long && !is_leaf(part) && !is_variable(part) && !std::ptr::eq(part, expr);
    });
    makes
}

/// Whether it makes texts that may be much longer than its inputs.
pub fn makes_longer_texts(expr: &Expr) -> bool {
    const LENGTHENING: [&str; 8] = [
        "repeat",
        "space",
        "lpad",
        "rpad",
        "replace",
        "regexp_replace",
        "export_set",
        "uncompress",
    ];
    let mut makes = false;
    expr.walk(&mut |part| {
        if let Expr::Call { function, ty, .. } = part {
            makes |= ty.length > LONG_BYTES && LENGTHENING.contains(&function.0.name);
        }
    });
    makes
}

/// Whether it is a leaf, for which nothing has to be computed.
pub(super) fn is_leaf(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Column { .. } | Expr::Param { .. } | Expr::Literal { .. } | Expr::Outer { .. }
    )
}
