//! Constants are inferred over equalities: if one of two equal columns is equal to a constant, so is the
//! other.
//!
//! ```text
//! a.id = b.id and a.id = 5   ->   a.id = b.id and a.id = 5 and b.id = 5
//! ```

use functions::Expr;
use planner::logical::ColumnId;
use types::Result;

use crate::access::is_constant;
use crate::expr::{bare_column, equality};
use crate::{OptimizerEnv, Rule};

/// Adds the conditions that follow.
pub fn constants(conditions: &mut Vec<Expr>, env: &OptimizerEnv<'_>) -> Result<()> {
    if !env.applies(Rule::Infer) {
        return Ok(());
    }
    let mut pairs: Vec<(Expr, Expr)> = Vec::new();
    let mut known: Vec<(ColumnId, Expr)> = Vec::new();
    for condition in conditions.iter() {
        let Some((a, b)) = equality(condition) else {
            continue;
        };
        match (bare_column(a), bare_column(b)) {
            (Some(_), Some(_)) if a.ty() == b.ty() => pairs.push((a.clone(), b.clone())),
            (Some(column), None) if is_constant(b) => known.push((column, b.clone())),
            (None, Some(column)) if is_constant(a) => known.push((column, a.clone())),
            _ => {}
        }
    }
    let mut next = 0;
    while let Some((column, constant)) = known.get(next).cloned() {
        next += 1;
        for (a, b) in &pairs {
            let other = match (bare_column(a), bare_column(b)) {
                (Some(id), Some(_)) if id == column => b,
                (Some(_), Some(id)) if id == column => a,
                _ => continue,
            };
            let Some(id) = bare_column(other) else {
                continue;
            };
            if known.iter().any(|(known, _)| *known == id) {
                continue;
            }
            conditions.push(functions::bind::call(
                "=",
                vec![other.clone(), constant.clone()],
                env.types,
            )?);
            known.push((id, constant.clone()));
        }
    }
    Ok(())
}
