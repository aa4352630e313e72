//! What all branches of an OR have in common becomes conditions of its own, which joins and scans can use.
//!
//! ```text
//! (a.id = b.id and a.x = 1 and b.y = 2)        a.id = b.id
//!   or (a.id = b.id and a.x = 3 and b.y = 4)   and (a.x = 1 and b.y = 2 or a.x = 3 and b.y = 4)
//!                                         ->   and (a.x = 1 or a.x = 3)
//!                                              and (b.y = 2 or b.y = 4)
//! ```
//!
//! The first is true in all branches. The last two follow: in each branch something is said of the table.

use functions::Expr;
use planner::logical::{ColumnId, JoinKind, Logical, columns_of};
use types::Result;

use crate::OptimizerEnv;
use crate::expr::{all, into_conjuncts, size};

/// Larger conditions are left as they are: what follows from them would be computed besides.
const NODES_MAX: usize = 300;

/// Rewrites the conditions of a query's filters and inner joins.
pub fn split(rel: &mut Logical, env: &OptimizerEnv<'_>) -> Result<()> {
    for input in rel.inputs_mut() {
        types::stack::with_room(|| split(input, env))?;
    }
    match rel {
        Logical::Filter { input, predicate } if has_disjunction(predicate) => {
            let sources = sources(input);
            *predicate = rewritten(predicate.clone(), &sources, env)?;
        }
        Logical::Join(join) if join.kind == JoinKind::Inner => {
            if let Some(condition) = join.condition.as_mut().filter(|c| has_disjunction(c)) {
                let mut sources = sources(&join.left);
                sources.extend(self::sources(&join.right));
                *condition = rewritten(condition.clone(), &sources, env)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn has_disjunction(condition: &Expr) -> bool {
    let mut found = false;
    condition.walk(&mut |e| found |= is_call(e, "or"));
    found && size(condition) <= NODES_MAX
}

fn is_call(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Call { function, .. } if function.0.name == name)
}

/// The columns of each input that an operator joins.
fn sources(rel: &Logical) -> Vec<Vec<ColumnId>> {
    match rel {
        Logical::Join(join) => {
            let mut found = sources(&join.left);
            found.extend(sources(&join.right));
            found
        }
        Logical::Filter { input, .. } => sources(input),
        other => vec![crate::expr::ids(other)],
    }
}

fn rewritten(condition: Expr, sources: &[Vec<ColumnId>], env: &OptimizerEnv<'_>) -> Result<Expr> {
    let mut conjuncts = Vec::new();
    into_conjuncts(condition.clone(), &mut conjuncts);
    let mut out = Vec::with_capacity(conjuncts.len());
    for conjunct in conjuncts {
        if is_call(&conjunct, "or") && functions::is_deterministic(&conjunct) {
            of_disjunction(conjunct, sources, env, &mut out)?;
        } else {
            out.push(conjunct);
        }
    }
    Ok(all(out, env.types)?.unwrap_or(condition))
}

/// Adds an OR as conditions that together say the same.
fn of_disjunction(
    disjunction: Expr,
    sources: &[Vec<ColumnId>],
    env: &OptimizerEnv<'_>,
    out: &mut Vec<Expr>,
) -> Result<()> {
    let mut branches = Vec::new();
    into_branches(disjunction, &mut branches);
    let mut branches: Vec<Vec<Expr>> = branches.into_iter().map(conjuncts_of).collect();
    let Some((first, rest)) = branches.split_first() else {
        return Ok(());
    };
    let in_all = |condition: &Expr| rest.iter().all(|branch| branch.contains(condition));
    let mut common: Vec<Expr> = Vec::new();
    for condition in first {
        if in_all(condition) && !common.contains(condition) {
            common.push(condition.clone());
        }
    }
    for branch in &mut branches {
        branch.retain(|condition| !common.contains(condition));
    }
    out.append(&mut common);
    // A branch that says no more than what all say.
    if branches.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let named = |branch: &Vec<Expr>| branch.iter().flat_map(columns_of).collect::<Vec<_>>();
    let columns: Vec<ColumnId> = branches.iter().flat_map(named).collect();
    let is_about = |source: &&Vec<ColumnId>| columns.iter().any(|id| source.contains(id));
    let about: Vec<&Vec<ColumnId>> = sources.iter().filter(is_about).collect();
    if about.len() > 1 {
        for source in about {
            out.extend(implied(&branches, source, env)?);
        }
    }
    out.extend(any(branches, env)?);
    Ok(())
}

/// What all branches together say of one input alone.
fn implied(branches: &[Vec<Expr>], source: &[ColumnId], env: &OptimizerEnv<'_>) -> Result<Option<Expr>> {
    let is_of_source = |condition: &&Expr| {
        let columns = columns_of(condition);
        !columns.is_empty() && columns.iter().all(|id| source.contains(id))
    };
    let mut of_source = Vec::with_capacity(branches.len());
    for branch in branches {
        let conditions: Vec<Expr> = branch.iter().filter(is_of_source).cloned().collect();
        if conditions.is_empty() {
            return Ok(None);
        }
        of_source.push(conditions);
    }
    any(of_source, env)
}

fn any(branches: Vec<Vec<Expr>>, env: &OptimizerEnv<'_>) -> Result<Option<Expr>> {
    let mut conditions = Vec::with_capacity(branches.len());
    for branch in branches {
        conditions.extend(all(branch, env.types)?);
    }
    match conditions.len() {
        0 | 1 => Ok(conditions.pop()),
        _ => functions::bind::call("or", conditions, env.types).map(Some),
    }
}

fn conjuncts_of(condition: Expr) -> Vec<Expr> {
    let mut out = Vec::new();
    into_conjuncts(condition, &mut out);
    out
}

fn into_branches(condition: Expr, out: &mut Vec<Expr>) {
    match condition {
        Expr::Call { function, args, .. } if function.0.name == "or" => {
            args.into_iter().for_each(|arg| into_branches(arg, out));
        }
        other => out.push(other),
    }
}
