//! Joins that find the partners of left rows by a table's keys.
//!
//! While the access path is chosen, a column of the left side is a constant ([`super::left_columns`]). Afterwards it
//! is a column again.

use std::sync::Arc;

use functions::Expr;
use planner::logical::{self, ColumnId, Get, Logical, columns_of};
use planner::plan::{Access, ExecutionCache, Expected, JoinKind, LookupJoin, Rel, ScanPartitions, TableScan};
use types::Result;

use super::builder::{Builder, Built, Want};
use super::hash_join;
use super::left_columns::LeftColumns;
use super::lookup_rows::RowsOfLookup;
use super::scan::{self, offsets, over_offsets, selectivity};
use crate::Rule;
use crate::access::{self, Chosen};
use crate::cost;
use crate::estimates::TableEstimate;
use crate::expr::{ColumnList, all, into_conjuncts, positioned};

/// How a table is read for each row of a left side.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// Its expressions are over the left side's columns, by id.
    access: Access,
    /// Conditions on the table alone, by offset.
    filter: Vec<Expr>,
    /// Conditions on pairs, by id.
    residual: Vec<Expr>,
    /// Microseconds that it takes for a row of the left side.
    pub cost: f64,
    expected: Expected,
    /// Names of the indexes that could serve.
    keys: Vec<String>,
    /// Its expressions are over the left side's columns, by id.
    partitions: Option<Box<ScanPartitions>>,
}

/// The table that an operator reads, with the condition on its rows, if it does nothing else.
pub fn table_of(rel: &Logical) -> Option<(&Get, Option<&Expr>)> {
    match rel {
        Logical::Get(get) if !get.table.is_virtual() => Some((get, None)),
        Logical::Filter { input, predicate } => match &**input {
            Logical::Get(get) if !get.table.is_virtual() => Some((get, Some(predicate))),
            _ => None,
        },
        _ => None,
    }
}

/// The cheapest lookup under the conditions of a join, if an index serves one.
pub fn find(
    builder: &Builder<'_>,
    kind: logical::JoinKind,
    get: &Get,
    filter: Option<&Expr>,
    conditions: &[Expr],
    left: &[ColumnId],
    columns: &[ColumnId],
) -> Result<Option<Lookup>> {
    if !builder.env.applies(Rule::LookupJoin) {
        return Ok(None);
    }
    let left = LeftColumns::of(builder, left);
    let mut conjuncts = Vec::new();
    if let Some(filter) = filter {
        into_conjuncts(filter.clone(), &mut conjuncts);
    }
    let mut residual = Vec::new();
    for condition in conditions {
        let mut condition = condition.clone();
        let named = columns_of(&condition);
        let about_pair = named.iter().any(|id| left.has(id)) && named.iter().any(|id| !left.has(id));
        if !about_pair || !functions::is_deterministic(&condition) {
            residual.push(condition);
            continue;
        }
        left.as_constants(&mut condition);
        conjuncts.push(condition);
    }
    // An index is covering only if it has those of the other conditions, too.
    let mut read = ColumnList(columns.to_vec());
    residual.iter().for_each(|condition| read.add_all(condition));
    let columns = offsets(get, &read.0);
    let conjuncts = over_offsets(conjuncts, get);
    let mut chosen = access::choose(&scan::request(
        builder,
        get,
        &Want::of(Vec::new()),
        conjuncts,
        &columns,
    ))?;
    if !reads_left(left, &chosen.access) {
        return Ok(None);
    }
    let keys = std::mem::take(&mut chosen.possible_keys);
    Ok(Some(Lookup {
        keys,
        ..by_path(builder, kind, get, left, chosen, residual)
    }))
}

fn by_path(
    builder: &Builder<'_>,
    kind: logical::JoinKind,
    get: &Get,
    left: LeftColumns<'_>,
    mut chosen: Chosen,
    mut residual: Vec<Expr>,
) -> Lookup {
    let estimate = TableEstimate::new(&get.table, builder.env.estimates);
    let distinct = &builder.distinct.borrow();
    let mut found = RowsOfLookup {
        distinct,
        left,
        estimate: &estimate,
    }
    .of(&chosen.access, &get.table);
    let names_left = |expr: &Expr| left.is_named_in(expr);
    let mut restore = |expr: &mut Expr| left.restore(expr);
    let ends_at_first = matches!(kind, logical::JoinKind::Semi | logical::JoinKind::Anti);
    if ends_at_first && residual.is_empty() && !chosen.residual.iter().any(names_left) {
        found = found.min(1.0 / selectivity(&chosen.residual, &estimate));
    }
    let cost = cost::of_access(&chosen.access, found);
    let expected = Expected {
        read: found,
        rows: found * selectivity(&chosen.residual, &estimate),
        cost,
    };
    let (pairs, filter): (Vec<Expr>, Vec<Expr>) = chosen.residual.into_iter().partition(names_left);
    for mut pair in pairs {
        pair.map_columns(&|offset| get.id(offset).0);
        restore(&mut pair);
        residual.push(pair);
    }
    chosen.access.expressions_mut(&mut restore);
    if let Some(partitions) = &mut chosen.partitions {
        partitions.expressions_mut(&mut restore);
    }
    Lookup {
        access: chosen.access,
        partitions: chosen.partitions,
        filter,
        residual,
        cost,
        expected,
        keys: Vec::new(),
    }
}

pub fn join(
    builder: &Builder<'_>,
    kind: JoinKind,
    left: Built,
    get: &Get,
    lookup: Lookup,
    wanted: &[ColumnId],
    rows: f64,
) -> Result<Built> {
    builder.note_keys(&get.alias, lookup.keys);
    let mut columns = offsets(get, wanted);
    let mut add = |offset: usize| {
        if !columns.contains(&offset) {
            columns.push(offset);
        }
    };
    for condition in &lookup.filter {
        columns_of(condition).into_iter().for_each(|offset| add(offset.0));
    }
    for condition in &lookup.residual {
        columns_of(condition)
            .into_iter()
            .filter_map(|id| get.offset(id))
            .for_each(&mut add);
    }
    let filter = all(lookup.filter, builder.env.types)?.map(|mut filter| {
        filter.map_columns(&|offset| columns.iter().position(|c| *c == offset).unwrap_or(offset));
        filter
    });
    let (mut access, mut partitions) = (lookup.access, lookup.partitions);
    let mut failed = None;
    let mut place = |expr: &mut Expr| match positioned(expr.clone(), &left.layout) {
        Ok(placed) => *expr = placed,
        Err(error) => failed = Some(error),
    };
    access.expressions_mut(&mut place);
    if let Some(partitions) = &mut partitions {
        partitions.expressions_mut(&mut place);
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let of_table = columns.iter().map(|offset| get.id(*offset));
    let pairs: Vec<ColumnId> = left.layout.iter().copied().chain(of_table).collect();
    let residual = hash_join::residual(builder, lookup.residual, &pairs)?;
    let layout = match kind {
        JoinKind::Inner | JoinKind::Left => pairs,
        JoinKind::Semi | JoinKind::Anti | JoinKind::Mark => left.layout,
    };
    Ok(Built {
        cost: left.cost + left.rows * lookup.cost + rows * cost::OUTPUT,
        rel: Rel::LookupJoin(LookupJoin {
            kind,
            left: Box::new(left.rel),
            right: TableScan {
                table: Arc::clone(&get.table),
                alias: get.alias.clone(),
                columns,
                access,
                hints: get.hints.clone(),
                filter,
                as_of: get.as_of.clone(),
                locking: get.locking,
                expected: lookup.expected,
                read: None,
                partitions,
                execution_cache: ExecutionCache::default(),
            },
            residual,
            rows,
            execution_cache: ExecutionCache::default(),
        }),
        layout,
        ordered: left.ordered,
        rows,
    })
}

/// Whether a path finds rows by the left side's columns: all parts of a union.
fn reads_left(left: LeftColumns<'_>, access: &Access) -> bool {
    match access {
        Access::Union { parts } => parts.iter().all(|part| reads_left(left, part)),
        access => {
            let mut named = false;
            access.expressions(&mut |expr| named |= left.is_named_in(expr));
            named
        }
    }
}
