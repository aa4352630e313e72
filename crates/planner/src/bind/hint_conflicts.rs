//! Hints that repeat or contradict an earlier hint of the same block: MySQL ignores them, with a warning.
//!
//! A hint for a block, a table or an index contradicts an earlier one for the same, and one for a table or an index an
//! earlier one for all that it is a part of. Hints about the use of indexes are about a table: INDEX contradicts
//! JOIN_INDEX and the others only if both name an index, or if the later one names none.

use syntax::ast::{Hint, HintTable, IndexUse, JoinOrderKind};
use types::Warning;

use super::Binder;
use crate::errno::ER_CONFLICT_IN_HINT;

/// What the hints so far are about.
#[derive(Default)]
struct Seen {
    /// The hint's name without NO_; the table, and an index of it. Both are empty for the block.
    places: Vec<(&'static str, String, String)>,
    /// Hints about the use of indexes: their kind, table, and indexes.
    uses: Vec<(&'static str, String, Vec<String>)>,
    orders: Orders,
}

/// The hints about the order of joins.
#[derive(Default)]
struct Orders {
    fixed: bool,
    prefix: bool,
    suffix: bool,
    any: bool,
}

fn family(name: &'static str) -> &'static str {
    match name {
        "SEMIJOIN" | "NO_SEMIJOIN" | "SUBQUERY" => "SEMIJOIN",
        name => name.strip_prefix("NO_").unwrap_or(name),
    }
}

impl Seen {
    /// Whether no earlier hint is about an index, its table or the block.
    fn is_new(&mut self, name: &'static str, table: &str, index: &str) -> bool {
        let family = family(name);
        let is_about = |(of, by_table, by_index): &(&str, String, String)| {
            *of == family
                && (by_table.is_empty() || by_table == table && (by_index.is_empty() || by_index == index))
        };
        let is_new = !self.places.iter().any(is_about);
        if is_new {
            self.places.push((family, table.to_owned(), index.to_owned()));
        }
        is_new
    }

    /// The same of hints about the use of a table's indexes.
    fn is_new_use(&mut self, name: &'static str, table: &str, indexes: &[String]) -> bool {
        let family = family(name);
        let conflicts = |(of, by_table, by_indexes): &(&str, String, Vec<String>)| {
            let has_whole = *of == "INDEX" || family == "INDEX";
            let shares = || indexes.is_empty() || indexes.iter().any(|index| by_indexes.contains(index));
            by_table == table && (*of == family || has_whole && shares())
        };
        let is_new = !self.uses.iter().any(conflicts);
        if is_new {
            self.uses.push((family, table.to_owned(), indexes.to_vec()));
        }
        is_new
    }
}

impl Orders {
    /// Whether a hint about the order of joins, `None` for JOIN_FIXED_ORDER, goes with those before.
    fn takes(&mut self, kind: Option<JoinOrderKind>) -> bool {
        let once = match kind {
            None if self.any => return false,
            _ if self.fixed => return false,
            None => &mut self.fixed,
            Some(JoinOrderKind::Prefix) => &mut self.prefix,
            Some(JoinOrderKind::Suffix) => &mut self.suffix,
            Some(JoinOrderKind::Order) => &mut self.any,
        };
        let is_new = !*once || kind == Some(JoinOrderKind::Order);
        *once = true;
        self.any = true;
        is_new
    }
}

/// The hints without those that repeat or contradict an earlier one (warning 3126), and without an index
/// merge of only one index (3614).
pub(super) fn without_conflicts(binder: &Binder<'_>, mut hints: Vec<Hint>) -> Vec<Hint> {
    let mut seen = Seen::default();
    hints.retain_mut(|hint| is_left(binder, hint, &mut seen));
    hints
}

fn is_left(binder: &Binder<'_>, hint: &mut Hint, seen: &mut Seen) -> bool {
    let refuse = |shown: String| binder.warn_of_hint(conflict(&shown));
    match hint {
        Hint::Strategy { name, block, tables } if tables.is_empty() => {
            let is_new = seen.is_new(name, "", "");
            if !is_new {
                refuse(format!("{name}({} )", of_block(block.as_ref())));
            }
            is_new
        }
        Hint::Strategy { name, tables, .. } => {
            tables.retain(|table| {
                let is_new = seen.is_new(name, &table.name, "");
                if !is_new {
                    refuse(format!("{name}({} )", printed(table)));
                }
                is_new
            });
            !tables.is_empty()
        }
        Hint::Subquery {
            name,
            block,
            strategies,
        } => {
            let is_new = seen.is_new(name, "", "");
            if !is_new {
                let gap = if strategies.is_empty() { " " } else { "  " };
                let ways = strategies.join(", ");
                refuse(format!("{name}({}{gap}{ways})", of_block(block.as_ref())));
            }
            is_new
        }
        Hint::Index {
            name,
            use_of,
            table,
            indexes,
            ..
        } => is_index_hint_left(binder, (*name, *use_of), table, indexes, seen),
        Hint::JoinFixedOrder { block } => {
            let is_new = seen.orders.takes(None);
            if !is_new {
                refuse(format!("JOIN_FIXED_ORDER({} )", of_block(block.as_ref())));
            }
            is_new
        }
        Hint::JoinOrder { kind, block, tables } => {
            let is_new = seen.orders.takes(Some(*kind));
            if !is_new {
                let tables: Vec<String> = tables.iter().map(printed).collect();
                let name = name_of_order(*kind);
                refuse(format!(
                    "{name}({} {})",
                    of_block(block.as_ref()),
                    tables.join(",")
                ));
            }
            is_new
        }
        Hint::MaxExecutionTime(_) | Hint::SetVar | Hint::QueryBlockName(_) | Hint::ResourceGroup(_) => true,
    }
}

fn is_index_hint_left(
    binder: &Binder<'_>,
    (name, use_of): (&'static str, IndexUse),
    table: &HintTable,
    indexes: &mut Vec<String>,
    seen: &mut Seen,
) -> bool {
    let quoted: Vec<String> = indexes.iter().map(|index| format!("`{index}`")).collect();
    let gap = if indexes.is_empty() { " " } else { "  " };
    let shown = format!("{name}({}{gap}{})", printed(table), quoted.join(", "));
    if name == "INDEX_MERGE" && indexes.len() == 1 {
        let message = format!("Invalid number of arguments for hint {shown}");
        binder.warn_of_hint(Warning::warning(3614, message));
        return false;
    }
    if is_about_table(name, use_of) {
        let is_new = seen.is_new_use(name, &table.name, indexes);
        if !is_new {
            binder.warn_of_hint(conflict(&shown));
        }
        return is_new;
    }
    if indexes.is_empty() {
        let is_new = seen.is_new(name, &table.name, "");
        if !is_new {
            binder.warn_of_hint(conflict(&shown));
        }
        return is_new;
    }
    indexes.retain(|index| {
        let is_new = seen.is_new(name, &table.name, index);
        if !is_new {
            let shown = format!("{name}({} `{index}` )", printed(table));
            binder.warn_of_hint(conflict(&shown));
        }
        is_new
    });
    !indexes.is_empty()
}

/// Whether a hint is about its table, and the indexes say how: which of them are used, merged or scanned. Others are about each
/// index, or about the table if they name none.
pub fn is_about_table(name: &str, use_of: IndexUse) -> bool {
    use_of != IndexUse::Way || name.ends_with("INDEX_MERGE") || name.ends_with("SKIP_SCAN")
}

fn of_block(block: Option<&String>) -> String {
    block.map_or_else(String::new, |block| format!("@`{block}`"))
}

fn printed(table: &HintTable) -> String {
    match &table.block {
        Some(block) => format!("`{}`@`{block}`", table.name),
        None => format!("`{}`", table.name),
    }
}

/// Warning 3126.
pub(super) fn conflict(hint: &str) -> Warning {
    Warning::warning(
        ER_CONFLICT_IN_HINT,
        format!("Hint {hint} is ignored as conflicting/duplicated"),
    )
}

pub fn name_of_order(kind: JoinOrderKind) -> &'static str {
    match kind {
        JoinOrderKind::Order => "JOIN_ORDER",
        JoinOrderKind::Prefix => "JOIN_PREFIX",
        JoinOrderKind::Suffix => "JOIN_SUFFIX",
    }
}
