//! Conditions move down to the tables that they are about, and into the conditions of joins.
//!
//! ```text
//! Filter a.x = 1 and b.y > 2 and a.id = b.id    Inner join a.id = b.id
//!   Inner join                                    Filter x = 1
//!     Get a                                 ->      Get a
//!     Get b                                       Filter y > 2
//!                                                   Get b
//! ```
//!
//! On the way outer joins become inner ([`super::outer_join`]), EXISTS and IN become semi joins
//! ([`super::semi_join`]) and constants are inferred ([`super::infer`]).

use std::cell::RefCell;
use std::collections::HashMap;

use functions::Expr;
use planner::logical::columns_of;
use planner::logical::{
    Apply, ApplyKind, ColumnId, Join, JoinKind, Logical, LogicalQuery, SetOperation, SetOperator, Window,
};
use types::Result;

use super::{infer, outer_join, semi_join};
use crate::conditions::{filtered, is_free_of, take};
use crate::expr::ids;
use crate::expr::{all, bare_column, into_conjuncts, replace_columns, size};
use crate::{OptimizerEnv, Rule};

/// A condition that would be larger over the columns below stays above.
const PUSHED_NODES: usize = 500;

pub fn apply(query: &mut LogicalQuery, env: &OptimizerEnv<'_>) -> Result<()> {
    if !env.applies(Rule::PushFilters) {
        return Ok(());
    }
    let pass = Pass {
        env,
        uses: RefCell::default(),
    };
    query
        .output
        .iter()
        .for_each(|id| *pass.uses.borrow_mut().entry(*id).or_default() += 1);
    pass.count_uses(&query.root);
    let root = std::mem::replace(&mut query.root, Logical::OneRow);
    query.root = pass.push(root, Vec::new())?;
    Ok(())
}

/// An operator with its conditions pushed down, outside of a whole query.
pub fn push_down(rel: Logical, env: &OptimizerEnv<'_>) -> Result<Logical> {
    if !env.applies(Rule::PushFilters) {
        return Ok(rel);
    }
    let pass = Pass {
        env,
        uses: RefCell::default(),
    };
    pass.push(rel, Vec::new())
}

struct Pass<'a> {
    env: &'a OptimizerEnv<'a>,
    /// How often each column is named.
    uses: RefCell<HashMap<ColumnId, usize>>,
}

impl Pass<'_> {
    fn count_uses(&self, root: &Logical) {
        root.walk(&mut |rel| {
            rel.expressions(&mut |expr| {
                expr.walk(&mut |e| {
                    if let Some(id) = bare_column(e) {
                        *self.uses.borrow_mut().entry(id).or_default() += 1;
                    }
                });
            });
        });
    }

    /// The operator with conditions above it that have gone down as far as they can.
    fn push(&self, rel: Logical, above: Vec<Expr>) -> Result<Logical> {
        types::stack::with_room(|| self.push_into(rel, above))
    }

    fn push_into(&self, rel: Logical, mut above: Vec<Expr>) -> Result<Logical> {
        match rel {
            Logical::Filter { input, predicate } => {
                let mut conditions = Vec::new();
                into_conjuncts(predicate, &mut conditions);
                // Conditions of HAVING are about groups.
                if matches!(*input, Logical::Aggregate { .. }) {
                    let below = self.push(*input, above)?;
                    return filtered(below, conditions, self.env);
                }
                conditions.append(&mut above);
                self.push(*input, conditions)
            }
            Logical::Project { input, columns } => self.through_project(*input, columns, above),
            Logical::Join(join) => self.join(join, above),
            Logical::Apply(apply) => self.apply(apply, above),
            Logical::Aggregate {
                input,
                keys,
                aggregates,
                rollup,
            } => {
                let below = match rollup {
                    Some(_) => Vec::new(),
                    None if !self.env.applies(Rule::PushBelowGroups) => Vec::new(),
                    None => under_names(&mut above, &keys),
                };
                let rel = Logical::Aggregate {
                    input: Box::new(self.push(*input, below)?),
                    keys,
                    aggregates,
                    rollup,
                };
                filtered(rel, above, self.env)
            }
            Logical::Window { input, window, calls } => {
                let below = match self.env.applies(Rule::PushBelowGroups) {
                    true => under_partitions(&mut above, &window),
                    false => Vec::new(),
                };
                let rel = Logical::Window {
                    input: Box::new(self.push(*input, below)?),
                    window,
                    calls,
                };
                filtered(rel, above, self.env)
            }
            Logical::Sort { input, keys } => Ok(Logical::Sort {
                input: Box::new(self.push(*input, above)?),
                keys,
            }),
            Logical::Distinct { input } => {
                let pushes = self.env.applies(Rule::PushBelowGroups);
                let below = take(&mut above, |condition| {
                    pushes && distinguishes_no_equals(condition)
                });
                let rel = Logical::Distinct {
                    input: Box::new(self.push(*input, below)?),
                };
                filtered(rel, above, self.env)
            }
            Logical::SetOperation(operation) => self.set_operation(operation, above),
            Logical::With { id, definition, body } => Ok(Logical::With {
                id,
                definition: Box::new(self.push(*definition, Vec::new())?),
                body: Box::new(self.push(*body, above)?),
            }),
            mut leaf => {
                for input in leaf.inputs_mut() {
                    let below = std::mem::replace(input, Logical::OneRow);
                    *input = self.push(below, Vec::new())?;
                }
                filtered(leaf, above, self.env)
            }
        }
    }

    fn through_project(
        &self,
        input: Logical,
        columns: Vec<(ColumnId, Expr)>,
        mut above: Vec<Expr>,
    ) -> Result<Logical> {
        let is_plain = |id: &ColumnId| {
            let made = columns.iter().find(|(column, _)| column == id);
            made.is_none_or(|(_, expr)| functions::is_deterministic(expr))
        };
        let below = take(&mut above, |condition| {
            functions::is_deterministic(condition) && columns_of(condition).iter().all(is_plain)
        });
        let mut pushed = Vec::with_capacity(below.len());
        for condition in below {
            let mut made = condition.clone();
            replace_columns(&mut made, &mut |id, _| {
                columns
                    .iter()
                    .find(|(column, _)| *column == id)
                    .map(|(_, expr)| expr.clone())
            });
            if size(&made) > PUSHED_NODES {
                above.push(condition);
                continue;
            }
            // The projection names these columns still.
            for id in columns_of(&made) {
                *self.uses.borrow_mut().entry(id).or_default() += 1;
            }
            pushed.push(made);
        }
        let rel = Logical::Project {
            input: Box::new(self.push(input, pushed)?),
            columns,
        };
        filtered(rel, above, self.env)
    }

    fn join(&self, mut join: Join, mut above: Vec<Expr>) -> Result<Logical> {
        if self.env.applies(Rule::OuterJoin) {
            outer_join::simplify(&mut join, &above);
        }
        let (left, right) = (ids(&join.left), ids(&join.right));
        let mut on = Vec::new();
        if let Some(condition) = join.condition.take() {
            into_conjuncts(condition, &mut on);
        }
        let mut to_left;
        let to_right;
        match join.kind {
            JoinKind::Inner => {
                on.append(&mut above);
                take_conditions(&mut join.left, &mut on);
                take_conditions(&mut join.right, &mut on);
                infer::constants(&mut on, self.env)?;
                above = take(&mut on, |condition| !functions::is_deterministic(condition));
                // What is about no row at all closes both sides.
                to_right = take_clone(&mut on, &left, |condition| columns_of(condition).is_empty());
                to_left = take(&mut on, |condition| is_free_of(condition, &right));
            }
            JoinKind::Left => {
                to_left = take(&mut above, |condition| is_free_of(condition, &right));
                let mut known = on.clone();
                known.extend(to_left.iter().cloned());
                infer::constants(&mut known, self.env)?;
                on.extend(
                    known
                        .into_iter()
                        .skip(on.len() + to_left.len())
                        .filter(|c| is_free_of(c, &left)),
                );
                to_right = take(&mut on, |condition| is_free_of(condition, &left));
            }
            JoinKind::Semi | JoinKind::Anti => {
                to_left = take(&mut above, |condition| is_free_of(condition, &right));
                if join.kind == JoinKind::Semi {
                    to_left.extend(take(&mut on, |condition| {
                        !columns_of(condition).is_empty() && is_free_of(condition, &right)
                    }));
                }
                to_right = take(&mut on, |condition| is_free_of(condition, &left));
            }
        }
        join.left = Box::new(self.push(*join.left, to_left)?);
        join.right = Box::new(self.push(*join.right, to_right)?);
        join.condition = all(on, self.env.types)?;
        filtered(Logical::Join(join), above, self.env)
    }

    fn apply(&self, mut apply: Apply, mut above: Vec<Expr>) -> Result<Logical> {
        let made = match &mut apply.kind {
            ApplyKind::Exists { mark } | ApplyKind::Any { mark, .. } => {
                let mark = *mark;
                if self.env.applies(Rule::SemiJoin)
                    && self.uses.borrow().get(&mark) == Some(&1)
                    && let Some(join) = semi_join::of(&mut apply, mark, &mut above)
                {
                    return self.join(join, above);
                }
                vec![mark]
            }
            ApplyKind::Scalar { columns } => columns.clone(),
            ApplyKind::Lateral { .. } => {
                let rows = ids(&apply.subquery);
                if self.env.applies(Rule::OuterJoin) {
                    outer_join::simplify_lateral(&mut apply.kind, &rows, &above);
                }
                let input = ids(&apply.input).into_iter().collect();
                if apply.subquery.outer_columns().is_disjoint(&input)
                    && let ApplyKind::Lateral { left, condition } = &mut apply.kind
                {
                    let (left, condition) = (*left, condition.take());
                    return self.join(as_join(apply, left, condition), above);
                }
                rows
            }
        };
        let to_input = take(&mut above, |condition| is_free_of(condition, &made));
        let to_subquery = match apply.kind {
            ApplyKind::Lateral { left: false, .. } => {
                let input = ids(&apply.input);
                take(&mut above, |condition| is_free_of(condition, &input))
            }
            _ => Vec::new(),
        };
        apply.input = Box::new(self.push(*apply.input, to_input)?);
        apply.subquery = Box::new(self.push(*apply.subquery, to_subquery)?);
        filtered(Logical::Apply(apply), above, self.env)
    }

    /// The rows of both sides satisfy the conditions.
    fn set_operation(&self, mut operation: SetOperation, mut above: Vec<Expr>) -> Result<Logical> {
        let counts = operation.all && operation.operator == SetOperator::Union;
        let below = take(&mut above, |condition| {
            self.env.applies(Rule::PushBelowGroups)
                && functions::is_deterministic(condition)
                && (counts || distinguishes_no_equals(condition))
        });
        let of_side = |left: bool| {
            let mut conditions = below.clone();
            for condition in &mut conditions {
                replace_columns(condition, &mut |id, column| {
                    let set = operation.columns.iter().find(|c| c.column.id == id)?;
                    let side = if left { set.left } else { set.right };
                    Some(Expr::column(side.0, column.ty(), column.nullable()))
                });
            }
            conditions
        };
        let (to_left, to_right) = (of_side(true), of_side(false));
        operation.left = Box::new(self.push(*operation.left, to_left)?);
        operation.right = Box::new(self.push(*operation.right, to_right)?);
        filtered(Logical::SetOperation(operation), above, self.env)
    }
}

/// A LATERAL derived table that names no column of its left side is a derived table.
fn as_join(apply: Apply, left: bool, condition: Option<Expr>) -> Join {
    Join {
        kind: if left { JoinKind::Left } else { JoinKind::Inner },
        left: apply.input,
        right: apply.subquery,
        condition,
        straight: false,
    }
}

/// Moves the conditions of inner joins right below, so that all are seen together.
fn take_conditions(rel: &mut Logical, conditions: &mut Vec<Expr>) {
    if let Logical::Join(join) = rel
        && join.kind == JoinKind::Inner
    {
        if let Some(condition) = join.condition.take() {
            into_conjuncts(condition, conditions);
        }
        take_conditions(&mut join.left, conditions);
        take_conditions(&mut join.right, conditions);
    }
}

/// Takes the conditions that can be decided without `outside`; those for which `stays` holds are copied.
fn take_clone(conditions: &mut Vec<Expr>, outside: &[ColumnId], stays: impl Fn(&Expr) -> bool) -> Vec<Expr> {
    let copies: Vec<Expr> = conditions
        .iter()
        .filter(|condition| stays(condition))
        .cloned()
        .collect();
    let mut taken = take(conditions, |condition| {
        !stays(condition) && is_free_of(condition, outside)
    });
    taken.extend(copies);
    taken
}

/// Takes the conditions about groups' keys, made over what the keys are made of.
fn under_names(above: &mut Vec<Expr>, keys: &[(ColumnId, Expr)]) -> Vec<Expr> {
    let key = |id: &ColumnId| keys.iter().find(|(key, _)| key == id).map(|(_, expr)| expr);
    let mut below = take(above, |condition| {
        let columns = columns_of(condition);
        !columns.is_empty()
            && columns
                .iter()
                .all(|id| key(id).is_some_and(functions::is_deterministic))
            && distinguishes_no_equals(condition)
    });
    for condition in &mut below {
        replace_columns(condition, &mut |id, _| key(&id).cloned());
    }
    below
}

/// Takes the conditions about whole partitions.
fn under_partitions(above: &mut Vec<Expr>, window: &Window) -> Vec<Expr> {
    let is_key = |id: &ColumnId| {
        window
            .partition_by
            .iter()
            .any(|key| bare_column(key) == Some(*id))
    };
    take(above, |condition| {
        let columns = columns_of(condition);
        !columns.is_empty() && columns.iter().all(is_key) && distinguishes_no_equals(condition)
    })
}

/// Whether a condition says the same of all values that are equal under their collation: it compares texts
/// under no other collation, and does nothing else with them.
fn distinguishes_no_equals(condition: &Expr) -> bool {
    if !functions::is_deterministic(condition) {
        return false;
    }
    let Expr::Call { function, args, .. } = condition else {
        return !names_text(condition);
    };
    let compares = matches!(
        function.0.name,
        "=" | "<>" | "<" | "<=" | ">" | ">=" | "<=>" | "in" | "between" | "is null" | "is not null"
    );
    let bare_text = |arg: &Expr| bare_column(arg).is_some() || columns_of(arg).is_empty();
    args.iter().all(|arg| {
        if arg.ty().is_string() {
            compares && bare_text(arg)
        } else {
            !names_text(arg) || distinguishes_no_equals(arg)
        }
    })
}

fn names_text(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |e| found |= bare_column(e).is_some() && e.ty().is_string());
    found
}
