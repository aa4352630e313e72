//! A common table expression that is used once becomes a derived table.
//!
//! ```text
//! With 1                          Filter x > 5
//!   Project a as x                  Project x as y
//!     Get t                 ->        Project a as x
//!   Filter y > 5                        Get t
//!     CommonTable 1 (y)
//! ```

use std::mem::replace;

use planner::logical::{CommonTableId, Logical};

pub fn inline(rel: &mut Logical) {
    for input in rel.inputs_mut() {
        inline(input);
    }
    let Logical::With { id, definition, body } = rel else {
        return;
    };
    if is_recursion(definition) || !is_deterministic(definition) {
        return;
    }
    match uses(body, *id) {
        0 => *rel = replace(body, Logical::OneRow),
        1 => {
            let (id, mut definition) = (*id, Some(replace(&mut **definition, Logical::OneRow)));
            put(body, id, &mut definition);
            *rel = replace(body, Logical::OneRow);
        }
        _ => {}
    }
}

/// Whether a definition is a recursion, which a LIMIT may end.
fn is_recursion(definition: &Logical) -> bool {
    match definition {
        Logical::Limit { input, .. } => is_recursion(input),
        other => matches!(other, Logical::Recursive(_)),
    }
}

fn uses(rel: &Logical, id: CommonTableId) -> usize {
    let mut uses = 0;
    count(rel, id, false, &mut uses);
    uses
}

/// A use that may run again and again counts as several.
fn count(rel: &Logical, id: CommonTableId, repeated: bool, uses: &mut usize) {
    match rel {
        Logical::CommonTable(table) if table.id == id => *uses += if repeated { 2 } else { 1 },
        Logical::Apply(apply) => {
            count(&apply.input, id, repeated, uses);
            let correlated = !apply.subquery.outer_columns().is_empty();
            count(&apply.subquery, id, repeated || correlated, uses);
        }
        Logical::Recursive(recursive) => {
            count(&recursive.seed, id, repeated, uses);
            count(&recursive.step, id, true, uses);
        }
        other => other
            .inputs()
            .into_iter()
            .for_each(|input| count(input, id, repeated, uses)),
    }
}

/// Puts the definition in the place of its only use, under the use's column ids.
fn put(rel: &mut Logical, id: CommonTableId, definition: &mut Option<Logical>) {
    if let Logical::CommonTable(table) = rel
        && table.id == id
        && let Some(definition) = definition.take()
    {
        let made = definition.output();
        let columns = table
            .columns
            .iter()
            .zip(&made)
            .map(|(name, column)| (name.id, column.expr()));
        *rel = Logical::Project {
            columns: columns.collect(),
            input: Box::new(definition),
        };
        return;
    }
    for input in rel.inputs_mut() {
        put(input, id, definition);
    }
}

pub fn is_deterministic(rel: &Logical) -> bool {
    let mut deterministic = true;
    rel.walk(&mut |rel| {
        rel.expressions(&mut |expr| {
            deterministic &= functions::is_deterministic(expr) && !functions::eval::assigns(expr);
        });
    });
    deterministic
}
