//! Which rows an UPDATE or DELETE touches.

use std::sync::Arc;

use planner::logical::LogicalTarget;
use planner::plan::{ExecutionCache, TableScan, Target};
use types::Result;

use super::builder::Builder;
use super::scan::{expected, over_offsets};
use crate::Rule;
use crate::access::{self, Request, RowLimit, is_constant};
use crate::constant::Gate;
use crate::estimates::TableEstimate;
use crate::expr::{all, bare_column};
use crate::limit::{literal_count, rows_if, unsigned};

/// A scan of all the table's columns, for writing.
pub fn build(builder: &Builder<'_>, target: LogicalTarget) -> Result<Target> {
    let get = target.table;
    let gate = Gate::of(target.filter.as_ref());
    let first = get.first.0;
    let mut order_by = target.order_by;
    order_by.retain(|key| !is_constant(&key.expr));
    order_by
        .iter_mut()
        .for_each(|key| key.expr.map_columns(&|id| id.wrapping_sub(first)));
    let plain = order_by
        .iter()
        .map(|key| Some((bare_column(&key.expr)?.0, key.descending)));
    let columns: Vec<usize> = (0..get.table.columns.len()).collect();
    let request = Request {
        table: &get.table,
        alias: &get.alias,
        conjuncts: over_offsets(gate.conjuncts, &get),
        columns: &columns,
        order: plain.collect::<Option<_>>().unwrap_or_default(),
        limit: match &target.limit {
            None => RowLimit::All,
            Some(count) => literal_count(count).map_or(RowLimit::Some, RowLimit::AtMost),
        },
        hints: &get.hints,
        invisible: builder.env.switches.use_invisible_indexes,
        unions: builder.env.applies(Rule::IndexUnion),
        named_partitions: get.partitions.as_deref(),
        estimate: TableEstimate::new(&get.table, builder.env.estimates),
    };
    let mut chosen = access::choose(&request)?;
    builder.note_keys(&get.alias, std::mem::take(&mut chosen.possible_keys));
    let expected = expected(&chosen, &request.estimate);
    if chosen.ordered {
        order_by.clear();
    }
    let limit = if gate.closed {
        Some(unsigned(0))
    } else if chosen.points {
        chosen.residual.extend(gate.constant);
        target.limit
    } else {
        rows_if(gate.constant, target.limit, builder.env.types)?
    };
    Ok(Target {
        scan: TableScan {
            table: Arc::clone(&get.table),
            alias: get.alias.clone(),
            columns,
            access: chosen.access,
            hints: get.hints.clone(),
            filter: all(chosen.residual, builder.env.types)?,
            as_of: None,
            locking: None,
            expected,
            read: None,
            partitions: chosen.partitions,
            execution_cache: ExecutionCache::default(),
        },
        order_by,
        limit,
    })
}
