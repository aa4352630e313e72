//! Window functions.

use functions::window::WindowCall;
use planner::logical::{ColumnId, Logical, Window};
use planner::plan::Rel;
use types::Result;

use super::builder::{Builder, Built, Want};
use crate::cost;
use crate::expr::{ids, positioned};

pub fn build(
    builder: &Builder<'_>,
    input: Logical,
    mut window: Window,
    mut calls: Vec<(ColumnId, WindowCall)>,
    want: &Want,
) -> Result<Built> {
    let mut wanted = want.all_columns();
    calls.retain(|(id, _)| wanted.0.contains(id));
    if calls.is_empty() {
        return builder.build(input, want);
    }
    window.partition_by.iter().for_each(|expr| wanted.add_all(expr));
    window.order_by.iter().for_each(|key| wanted.add_all(&key.expr));
    window.frame.expressions(&mut |expr| wanted.add_all(expr));
    for (_, call) in &calls {
        call.expressions(&mut |expr| wanted.add_all(expr));
    }
    let made = ids(&input);
    wanted.0.retain(|id| made.contains(id));
    let built = builder.build(input, &Want::of(wanted.0))?;
    let mut failed = None;
    let mut place = |expr: &mut functions::Expr| match positioned(expr.clone(), &built.layout) {
        Ok(placed) => *expr = placed,
        Err(error) => failed = Some(error),
    };
    window.partition_by.iter_mut().for_each(&mut place);
    window.order_by.iter_mut().for_each(|key| place(&mut key.expr));
    window.frame.expressions_mut(&mut place);
    calls
        .iter_mut()
        .for_each(|(_, call)| call.expressions_mut(&mut place));
    if let Some(error) = failed {
        return Err(error);
    }
    let layout = built
        .layout
        .iter()
        .copied()
        .chain(calls.iter().map(|(id, _)| *id))
        .collect();
    Ok(Built {
        rel: Rel::Window {
            input: Box::new(built.rel),
            partition_by: window.partition_by,
            order_by: window.order_by,
            frame: window.frame,
            calls: calls.into_iter().map(|(_, call)| call).collect(),
        },
        layout,
        ordered: false,
        rows: built.rows,
        cost: built.cost + built.rows * cost::HASH_BUILD,
    })
}
