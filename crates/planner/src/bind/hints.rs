//! Optimizer hints: which of them apply to a query block, and what they request for its tables.
//!
//! Source: manual 8.9.3 "Optimizer Hints". NO_MERGE, NO_SEMIJOIN and SUBQUERY put a fence around their query
//! ([`Logical::fenced`]). MERGE and SEMIJOIN request what is done anyway. A hint for a method that this
//! server does not have (BKA, MRR, index merge ...) is read and has no effect, as a hint that MySQL cannot
//! follow.

use std::time::Duration;

use schema::model::Table;
use syntax::ast::{Hint, HintTable, Hints, IndexHint, IndexHintKind, IndexUse, JoinOrderKind};
use types::{Error, Result, Warning, errno};

use super::scope::Scope;
use super::{Binder, hint_conflicts};
use crate::errno::{
    ER_HINTS_NOT_SUPPORTED, ER_RESOURCE_GROUP_BIND_FAILED, ER_RESOURCE_GROUP_NOT_EXISTS,
    ER_UNRESOLVED_HINT_NAME, ER_UNSUPPORTED_MAX_EXECUTION_TIME,
};
use crate::logical::{Logical, OrderPlace, OrderRule};

/// The hints of the blocks that are being bound.
#[derive(Default)]
pub struct BlockHints {
    blocks: Vec<BlockOfHints>,
    /// How many blocks the statement has had so far.
    count: usize,
    /// Names of blocks.
    names: Vec<String>,
    /// Hints for blocks that have not come yet, by the block's name.
    addressed: Vec<(String, Hint)>,
}

/// A block and the hints for it.
struct BlockOfHints {
    number: usize,
    /// What warnings call it: its QB_NAME, or `select#` and its number.
    name: String,
    hints: Vec<Hint>,
}

/// Begins a block. [`leave_block`] ends it.
pub(super) fn enter_block(binder: &Binder<'_>, hints: Option<&Hints>) {
    let mut state = binder.hints.borrow_mut();
    state.count += 1;
    let number = state.count;
    let mut names = vec![format!("select#{number}")];
    let mut own = Vec::new();
    let list = hints.map_or(&[][..], |hints| &hints.list);
    for hint in list {
        let Hint::QueryBlockName(name) = hint else {
            continue;
        };
        let known = state.names.iter().find(|known| known.eq_ignore_ascii_case(name));
        if names.len() > 1 || known.is_some() {
            let name = known.unwrap_or(name);
            binder.warn_of_hint(hint_conflicts::conflict(&format!("QB_NAME(`{name}`)")));
            continue;
        }
        names.push(name.clone());
        state.names.push(name.clone());
    }
    let is_here = |block: &str| names.iter().any(|name| name.eq_ignore_ascii_case(block));
    for hint in list {
        match block_of(hint) {
            Some(block) if !is_here(block) => {
                let block = block.to_owned();
                state.addressed.push((block, hint.clone()));
            }
            _ => own.push(hint.clone()),
        }
    }
    let (here, others): (Vec<_>, Vec<_>) = std::mem::take(&mut state.addressed)
        .into_iter()
        .partition(|(block, _)| is_here(block));
    state.addressed = others;
    own.extend(here.into_iter().map(|(_, hint)| hint));
    let own = hint_conflicts::without_conflicts(binder, own);
    report_resource_group(binder, &own, number);
    let name = names.pop().unwrap_or_default();
    state.blocks.push(BlockOfHints {
        number,
        name,
        hints: own,
    });
    if let Some(error) = hints.and_then(|hints| hints.error.as_ref()) {
        binder.warn_each_time(Warning::warning(errno::ER_PARSE_ERROR, error));
    }
}

/// RESOURCE_GROUP: there are only MySQL's own groups, and sessions are in one of them. The last hint counts; it has to be
/// one of the statement's first block.
fn report_resource_group(binder: &Binder<'_>, hints: &[Hint], block: usize) {
    let group = hints.iter().rev().find_map(|hint| match hint {
        Hint::ResourceGroup(name) => Some(name),
        _ => None,
    });
    let Some(name) = group else { return };
    // INSERT is a block here, but for MySQL its query is the first one.
    let first = if binder.verb.get() == "INSERT" { 2 } else { 1 };
    let (code, message) = match name {
        _ if block > first => (
            ER_HINTS_NOT_SUPPORTED,
            "Hints aren't supported in Subquery or Stored procedure or Trigger".to_owned(),
        ),
        name if name.eq_ignore_ascii_case("USR_default") => return,
        name if name.eq_ignore_ascii_case("SYS_default") => (
            ER_RESOURCE_GROUP_BIND_FAILED,
            format!(
                "Unable to bind resource group {name} with thread id ({}).(System resource group can't be bound with a session \
                 thread).",
                binder.env.thread
            ),
        ),
        name => (
            ER_RESOURCE_GROUP_NOT_EXISTS,
            format!("Resource Group '{name}' does not exist."),
        ),
    };
    binder.warn_of_hint(Warning::warning(code, message));
}

pub(super) fn leave_block(binder: &Binder<'_>) {
    binder.hints.borrow_mut().blocks.pop();
}

/// Hints for blocks that the statement does not have.
pub(super) fn report_unknown_blocks(binder: &Binder<'_>) {
    for (block, hint) in std::mem::take(&mut binder.hints.borrow_mut().addressed) {
        binder.warn_of_hint(Warning::warning(
            3127,
            format!(
                "Query block name `{block}` is not found for {} hint",
                name_of(&hint)
            ),
        ));
    }
}

/// The block's limit of time, which only a statement's own block may have.
pub(super) fn time_limit(binder: &Binder<'_>, is_statement: bool) -> Option<Duration> {
    let state = binder.hints.borrow();
    let hints = state.blocks.last().map_or(&[][..], |block| &block.hints);
    let mut limit = None;
    for hint in hints {
        let Hint::MaxExecutionTime(ms) = hint else {
            continue;
        };
        if !is_statement {
            binder.warn_of_hint(Warning::warning(
                ER_UNSUPPORTED_MAX_EXECUTION_TIME,
                "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only",
            ));
        } else if limit.is_some() {
            binder.warn_of_hint(hint_conflicts::conflict(&format!("MAX_EXECUTION_TIME({ms})")));
        } else {
            limit = Some(*ms);
        }
    }
    // Zero is no limit of the statement's own.
    limit.filter(|ms| *ms > 0).map(Duration::from_millis)
}

/// Whether the block's tables are joined in the order in which they are written.
pub(super) fn joins_as_written(binder: &Binder<'_>) -> bool {
    let state = binder.hints.borrow();
    let block = state.blocks.last();
    block.is_some_and(|block| {
        let fixes = |hint: &Hint| matches!(hint, Hint::JoinFixedOrder { .. });
        block.hints.iter().any(fixes)
    })
}

/// The block's hints about the indexes of a table, besides the hints after its name in FROM.
pub(super) fn index_hints(binder: &Binder<'_>, table: &Table, alias: &str) -> Vec<IndexHint> {
    let state = binder.hints.borrow();
    let Some(block) = state.blocks.last() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for hint in &block.hints {
        let Hint::Index {
            use_of,
            negated,
            table: named,
            indexes,
            ..
        } = hint
        else {
            continue;
        };
        if named.name != alias || *use_of == IndexUse::Way {
            continue;
        }
        let is_there = |name: &&String| has_index(table, name);
        let mut known: Vec<String> = indexes.iter().filter(is_there).cloned().collect();
        let kind = match negated {
            true => IndexHintKind::Ignore,
            false => IndexHintKind::Force,
        };
        match (indexes.is_empty(), negated) {
            // Without names NO_INDEX is about all indexes, and INDEX says nothing.
            (true, true) => known = index_names(table),
            (true, false) => continue,
            (false, _) if known.is_empty() => continue,
            (false, _) => {}
        }
        all.push(IndexHint {
            kind,
            indexes: known,
            for_rows: matches!(use_of, IndexUse::All | IndexUse::Rows),
        });
    }
    all
}

/// The hints after a table's name in FROM: error 1221 for USE INDEX beside FORCE INDEX. An index that is not there is
/// the first error, which the choice of the table's access reports.
pub(super) fn check_index_hints(table: &Table, hints: &[IndexHint]) -> Result<()> {
    let has = |kind| hints.iter().any(|hint| hint.kind == kind);
    let are_there = || {
        hints
            .iter()
            .all(|hint| hint.indexes.iter().all(|name| has_index(table, name)))
    };
    if has(IndexHintKind::Use) && has(IndexHintKind::Force) && are_there() {
        return Err(Error::new(
            errno::ER_WRONG_USAGE,
            "Incorrect usage of USE INDEX and FORCE INDEX",
        ));
    }
    Ok(())
}

/// The places that the block's hints give a table in the order of joins.
pub(super) fn order_places(binder: &Binder<'_>, alias: &str) -> Vec<OrderPlace> {
    let state = binder.hints.borrow();
    let Some(block) = state.blocks.last() else {
        return Vec::new();
    };
    let mut places = Vec::new();
    for (number, hint) in block.hints.iter().enumerate() {
        let Hint::JoinOrder { kind, tables, .. } = hint else {
            continue;
        };
        if let Some(position) = tables.iter().position(|table| table.name == alias) {
            places.push(OrderPlace {
                hint: (block.number, number),
                rule: match kind {
                    JoinOrderKind::Order => OrderRule::InOrder,
                    JoinOrderKind::Prefix => OrderRule::First,
                    JoinOrderKind::Suffix => OrderRule::Last,
                },
                position,
            });
        }
    }
    places
}

/// Warns of names in the block's hints that its FROM does not have.
pub(super) fn check_hinted_names(binder: &Binder<'_>, scope: &Scope) {
    let state = binder.hints.borrow();
    let Some(block) = state.blocks.last() else {
        return;
    };
    let relation = |table: &HintTable| {
        scope
            .relations
            .iter()
            .find(|relation| relation.alias == table.name)
    };
    for hint in &block.hints {
        let name = name_of(hint);
        let unresolved = |what: String| {
            binder.warn_of_hint(Warning::warning(
                ER_UNRESOLVED_HINT_NAME,
                format!("Unresolved name {what} for {name} hint"),
            ));
        };
        match hint {
            Hint::JoinOrder { tables, .. } => {
                // A table may be one of another block, too.
                let is_here = |table: &&HintTable| table.block.is_none();
                for table in tables
                    .iter()
                    .filter(is_here)
                    .filter(|table| relation(table).is_none())
                {
                    unresolved(format!("`{}`", table.name));
                }
            }
            Hint::Strategy { tables, .. } => {
                for table in tables.iter().filter(|table| relation(table).is_none()) {
                    unresolved(format!("`{}`@`{}`", table.name, block.name));
                }
            }
            Hint::Index {
                name,
                use_of,
                table,
                indexes,
                ..
            } => {
                let names_table = indexes.is_empty() || hint_conflicts::is_about_table(name, *use_of);
                let of = format!("`{}`@`{}`", table.name, block.name);
                let found = relation(table);
                if found.is_none() && names_table {
                    unresolved(of.clone());
                }
                for index in indexes {
                    let known = found.and_then(|relation| relation.table());
                    if !known.is_some_and(|table| has_index(table, index)) {
                        unresolved(format!("{of} `{index}`"));
                    }
                }
            }
            _ => {}
        }
    }
}

/// The rows of a derived table or view, fenced if a hint of the block requires it.
pub(super) fn of_derived(binder: &Binder<'_>, rel: Logical, alias: &str) -> Logical {
    let state = binder.hints.borrow();
    let hints = state.blocks.last().map_or(&[][..], |block| &block.hints);
    let is_about = |tables: &[HintTable]| tables.is_empty() || tables.iter().any(|t| t.name == alias);
    let keeps_apart = hints
        .iter()
        .any(|hint| matches!(hint, Hint::Strategy { name: "NO_MERGE", tables, .. } if is_about(tables)));
    match keeps_apart {
        true => rel.fenced(),
        false => rel,
    }
}

/// The rows of the block, which is a subquery, fenced if its hints do not let it become a semi join.
pub(super) fn of_subquery(binder: &Binder<'_>, rel: Logical) -> Logical {
    let state = binder.hints.borrow();
    let hints = state.blocks.last().map_or(&[][..], |block| &block.hints);
    let keeps_apart = hints.iter().any(|hint| match hint {
        // A hint that forbids some methods of a semi join allows the others.
        Hint::Subquery { name, strategies, .. } => match *name {
            "NO_SEMIJOIN" => strategies.is_empty(),
            name => name == "SUBQUERY",
        },
        _ => false,
    });
    match keeps_apart {
        true => rel.fenced(),
        false => rel,
    }
}

/// The block that a hint is for, if it names one.
fn block_of(hint: &Hint) -> Option<&str> {
    let of_tables =
        |tables: &'_ [HintTable]| -> Option<usize> { tables.iter().position(|table| table.block.is_some()) };
    match hint {
        Hint::JoinFixedOrder { block } => block.as_deref(),
        Hint::JoinOrder { block, .. } => block.as_deref(),
        Hint::Strategy { block, tables, .. } => match block {
            Some(block) => Some(block),
            None => of_tables(tables).and_then(|at| tables[at].block.as_deref()),
        },
        Hint::Index { table, .. } => table.block.as_deref(),
        Hint::Subquery { block, .. } => block.as_deref(),
        Hint::MaxExecutionTime(_) | Hint::SetVar | Hint::QueryBlockName(_) | Hint::ResourceGroup(_) => None,
    }
}

fn name_of(hint: &Hint) -> &'static str {
    match hint {
        Hint::MaxExecutionTime(_) => "MAX_EXECUTION_TIME",
        Hint::SetVar => "SET_VAR",
        Hint::QueryBlockName(_) => "QB_NAME",
        Hint::ResourceGroup(_) => "RESOURCE_GROUP",
        Hint::JoinFixedOrder { .. } => "JOIN_FIXED_ORDER",
        Hint::JoinOrder { kind, .. } => hint_conflicts::name_of_order(*kind),
        Hint::Index { name, .. } | Hint::Strategy { name, .. } | Hint::Subquery { name, .. } => name,
    }
}

fn has_index(table: &Table, name: &str) -> bool {
    index_names(table)
        .iter()
        .any(|index| types::same_name(index, name))
}

fn index_names(table: &Table) -> Vec<String> {
    let primary = (!table.primary_parts().is_empty()).then(|| "PRIMARY".to_owned());
    let others = table.public_indexes().filter(|index| !index.primary);
    primary
        .into_iter()
        .chain(others.map(|index| index.name.clone()))
        .collect()
}
