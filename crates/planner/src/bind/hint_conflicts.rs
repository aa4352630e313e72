//! Hints that repeat or contradict an earlier hint of the same block: MySQL ignores them, with a warning.

use syntax::ast::{Hint, HintTable};
use types::Warning;

use super::Binder;
use crate::errno::ER_CONFLICT_IN_HINT;

/// The subjects of the hints so far: the hint's name without NO_, and the table or block.
#[derive(Default)]
struct Seen(Vec<(&'static str, String)>);

impl Seen {
    fn is_new(&mut self, name: &'static str, about: String) -> bool {
        let family = match name {
            "SEMIJOIN" | "NO_SEMIJOIN" | "SUBQUERY" => "SEMIJOIN",
            name => name.strip_prefix("NO_").unwrap_or(name),
        };
        let item = (family, about);
        let is_new = !self.0.contains(&item);
        if is_new {
            self.0.push(item);
        }
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
    match hint {
        Hint::Strategy { name, block, tables } if !tables.is_empty() => {
            let of = block
                .as_ref()
                .map_or_else(String::new, |block| format!("@`{block}` "));
            tables.retain(|table| {
                let is_new = seen.is_new(name, table.name.clone());
                if !is_new {
                    binder.warn_each_time(conflict(&format!("{name}({of}{} )", printed(table))));
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
            let is_new = seen.is_new(name, String::new());
            if !is_new {
                let of = block
                    .as_ref()
                    .map_or_else(String::new, |block| format!("@`{block}`"));
                let gap = if strategies.is_empty() { " " } else { "  " };
                let ways = strategies.join(", ");
                binder.warn_each_time(conflict(&format!("{name}({of}{gap}{ways})")));
            }
            is_new
        }
        Hint::Index {
            name, table, indexes, ..
        } => {
            let quoted: Vec<String> = indexes.iter().map(|index| format!("`{index}`")).collect();
            let gap = if indexes.is_empty() { " " } else { "  " };
            let shown = format!("{name}({}{gap}{})", printed(table), quoted.join(", "));
            if *name == "INDEX_MERGE" && indexes.len() == 1 {
                let message = format!("Invalid number of arguments for hint {shown}");
                binder.warn_each_time(Warning::warning(3614, message));
                return false;
            }
            let is_new = seen.is_new(name, format!("{} {}", table.name, quoted.join(" ")));
            if !is_new {
                binder.warn_each_time(conflict(&shown));
            }
            is_new
        }
        _ => true,
    }
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
