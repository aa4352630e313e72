//! Conditions without columns: the same for all rows, so they decide whether anything is read at all.

use functions::{EvalContext, Expr};
use types::Value;

use crate::access::is_constant;

/// The conditions of a WHERE by whether they depend on rows.
pub struct Gate {
    /// Conditions about rows.
    pub conjuncts: Vec<Expr>,
    /// Conditions that are decided once per execution.
    pub constant: Vec<Expr>,
    /// Some condition is false: there are no rows.
    pub closed: bool,
}

/// Operators whose result depends on nothing but their arguments.
const PURE: &[&str] = &[
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "<=>",
    "and",
    "or",
    "not",
    "xor",
    "+",
    "-",
    "*",
    "unary -",
    "is null",
    "is not null",
    "is true",
    "is false",
    "between",
    "in",
];

impl Gate {
    pub fn of(filter: Option<&Expr>) -> Self {
        let mut gate = Self {
            conjuncts: Vec::new(),
            constant: Vec::new(),
            closed: false,
        };
        for conjunct in planner::conjuncts(filter) {
            if !is_constant(conjunct) {
                gate.conjuncts.push(conjunct.clone());
                continue;
            }
            match known_truth(conjunct) {
                Some(true) => {}
                Some(false) => gate.closed = true,
                None => gate.constant.push(conjunct.clone()),
            }
        }
        gate
    }
}

/// The truth of literals alone.
fn known_truth(expr: &Expr) -> Option<bool> {
    let mut pure = true;
    expr.walk(&mut |e| {
        pure &= match e {
            Expr::Literal { .. } => true,
            // The conversion to a point in time depends on the session's time zone and modes.
            Expr::Cast { input, ty, .. } => !ty.is_temporal() && !input.ty().is_temporal(),
            Expr::Call { function, .. } => PURE.contains(&function.0.name),
            _ => false,
        };
    });
    if !pure {
        return None;
    }
    let context = EvalContext::default();
    let truth = functions::bind::call("is true", vec![expr.clone()], &Default::default()).ok()?;
    let value = functions::eval_value(&truth, &context).ok()?;
    // An expression that raises a warning is left to the execution.
    if context.warnings.count() > 0 {
        return None;
    }
    match value {
        Value::Int(truth) => Some(truth != 0),
        Value::UInt(truth) => Some(truth != 0),
        _ => None,
    }
}
