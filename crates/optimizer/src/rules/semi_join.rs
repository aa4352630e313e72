//! EXISTS and IN as conditions become semi joins, NOT EXISTS anti joins; NOT IN too where no NULL can come in
//! its way. `EXISTS (...) IS FALSE` and the like are no different: MySQL writes NOT EXISTS so into views.
//!
//! ```text
//! Filter mark and x = 1               Semi join u.a = t.a
//!   Apply exists mark                   Filter x = 1
//!     Get t                     ->        Get t
//!     Filter u.a = t.a and u.b = 2      Filter b = 2
//!       Get u                             Get u
//! ```

use functions::Expr;
use planner::logical::columns_of;
use planner::logical::{Apply, ApplyKind, ColumnId, Join, JoinKind, Logical};

use crate::conditions;
use crate::expr::ids;
use crate::expr::{bare_column, into_conjuncts};
use crate::limit::literal_count;

/// The join that an Apply is under the conditions above it, one of which asks for its mark. Both are left as
/// they are if there is none.
pub fn of(apply: &mut Apply, mark: ColumnId, above: &mut Vec<Expr>) -> Option<Join> {
    let position = above
        .iter()
        .position(|condition| asks(condition, mark).is_some())?;
    let asked = asks(above.get(position)?, mark)?;
    if apply.subquery.is_fence() {
        return None;
    }
    let outer = ids(&apply.input);
    let mut conditions = Vec::new();
    match &apply.kind {
        ApplyKind::Any { condition, .. } => {
            // NULL is not false: NOT IN is no anti join then, but IN ... IS NOT TRUE is one.
            if condition.nullable() && asked.of_null == asked.wanted {
                return None;
            }
            into_conjuncts(condition.clone(), &mut conditions);
        }
        ApplyKind::Exists { .. } => {
            // It is the same for all rows: run once, it is a condition without columns.
            if apply.subquery.outer_columns().is_empty() {
                return None;
            }
        }
        ApplyKind::Scalar { .. } | ApplyKind::Lateral { .. } => return None,
    }
    let mut subquery = (*apply.subquery).clone();
    let keeps_rows = matches!(apply.kind, ApplyKind::Exists { .. });
    strip(&mut subquery, keeps_rows);
    free(&mut subquery, &outer, &mut conditions)?;
    if subquery.outer_columns().iter().any(|id| outer.contains(id)) {
        return None;
    }
    above.remove(position);
    Some(Join {
        kind: if asked.wanted {
            JoinKind::Semi
        } else {
            JoinKind::Anti
        },
        left: std::mem::replace(&mut apply.input, Box::new(Logical::OneRow)),
        right: Box::new(subquery),
        condition: conditions::and(conditions),
        straight: false,
    })
}

/// Where a condition about a mark holds.
struct Asked {
    /// Where the mark is true, and not where it is false; or the other way round.
    wanted: bool,
    /// Where the mark is NULL.
    of_null: bool,
}

/// `None` for a condition that is about something else.
fn asks(condition: &Expr, mark: ColumnId) -> Option<Asked> {
    let holds = |given| Some(truth(condition, mark, given)? == Some(true));
    let wanted = holds(Some(true))?;
    (wanted != holds(Some(false))?).then_some(Asked {
        wanted,
        of_null: holds(None)?,
    })
}

/// The value of a condition where that of the mark is `given`; `None` if it is about something else.
fn truth(condition: &Expr, mark: ColumnId, given: Option<bool>) -> Option<Option<bool>> {
    if bare_column(condition) == Some(mark) {
        return Some(given);
    }
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    let [inner] = args.as_slice() else { return None };
    let test: fn(Option<bool>) -> Option<bool> = match function.0.name {
        "not" => |value| value.map(|value| !value),
        "is true" => |value| Some(value == Some(true)),
        "is not true" => |value| Some(value != Some(true)),
        "is false" => |value| Some(value == Some(false)),
        "is not false" => |value| Some(value != Some(false)),
        _ => return None,
    };
    truth(inner, mark, given).map(test)
}

/// Takes off the top what changes nothing about whether there is a row. `all`: whichever its columns are.
fn strip(rel: &mut Logical, all: bool) {
    loop {
        let below = match rel {
            Logical::Sort { input, .. } | Logical::Distinct { input } => input,
            Logical::Project { input, .. } if all => input,
            Logical::Limit {
                input,
                offset: None,
                count: Some(count),
            } if all && literal_count(count).is_some_and(|count| count > 0) => input,
            _ => return,
        };
        *rel = std::mem::replace(&mut **below, Logical::OneRow);
    }
}

/// Takes the conditions about outer columns out of a subquery, with the columns of it that they name staying
/// visible. `None` if outer columns are used otherwise.
pub fn free(rel: &mut Logical, outer: &[ColumnId], conditions: &mut Vec<Expr>) -> Option<()> {
    if !rel.outer_columns().iter().any(|id| outer.contains(id)) {
        return Some(());
    }
    let is_outer = |expr: &Expr| columns_of(expr).iter().any(|id| outer.contains(id));
    match rel {
        Logical::Filter { input, predicate } => {
            let mut all = Vec::new();
            into_conjuncts(predicate.clone(), &mut all);
            let (taken, left): (Vec<Expr>, Vec<Expr>) = all.into_iter().partition(is_outer);
            if !taken.iter().all(functions::is_deterministic) {
                return None;
            }
            free(input, outer, conditions)?;
            conditions.extend(taken);
            match conditions::and(left) {
                Some(left) => *predicate = left,
                None => *rel = std::mem::replace(&mut **input, Logical::OneRow),
            }
            Some(())
        }
        Logical::Project { input, columns } => {
            if columns.iter().any(|(_, expr)| is_outer(expr)) {
                return None;
            }
            let first = conditions.len();
            free(input, outer, conditions)?;
            let made = input.output();
            for condition in conditions.iter().skip(first) {
                for id in columns_of(condition) {
                    let column = made.iter().find(|column| column.id == id);
                    if let Some(column) = column
                        && !columns.iter().any(|(listed, _)| *listed == id)
                    {
                        columns.push((id, column.expr()));
                    }
                }
            }
            Some(())
        }
        Logical::Join(join) => {
            match join.kind {
                JoinKind::Inner => {
                    free(&mut join.left, outer, conditions)?;
                    free(&mut join.right, outer, conditions)?;
                    if let Some(condition) = join.condition.take() {
                        let mut all = Vec::new();
                        into_conjuncts(condition, &mut all);
                        let (taken, left): (Vec<Expr>, Vec<Expr>) = all.into_iter().partition(is_outer);
                        conditions.extend(taken);
                        join.condition = conditions::and(left);
                    }
                }
                JoinKind::Left | JoinKind::Semi | JoinKind::Anti => free(&mut join.left, outer, conditions)?,
            }
            Some(())
        }
        Logical::Sort { input, .. } => free(input, outer, conditions),
        Logical::Apply(apply) => free(&mut apply.input, outer, conditions),
        _ => None,
    }
}
