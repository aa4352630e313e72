//! The OK packet after a write: affected rows, insert id, and the text of `mysql_info()` (manual, C API).

use std::borrow::Cow;

use executor::DmlResult;
use planner::plan::{InsertMode, InsertPlan, InsertSource, Plan};
use wire::capability;

use crate::reply::Done;
use crate::session::Session;

/// The OK packet of a write.
pub fn write_done(session: &Session, plan: &Plan, result: &DmlResult) -> Done {
    let warnings = session.diagnostics.count;
    let found_rows = session.client.has(capability::FOUND_ROWS);
    let counts_matches = match plan {
        Plan::Update(_) => true,
        Plan::FoundWrite(write) => write.is_update,
        Plan::Insert(insert) => matches!(insert.mode, InsertMode::Update(_)),
        _ => false,
    };
    Done {
        affected: if found_rows && counts_matches {
            result.matched
        } else {
            result.affected
        },
        insert_id: match plan {
            Plan::Insert(insert) if matches!(insert.source, InsertSource::File(_)) => 0,
            _ => result.ok_insert_id,
        },
        info: match plan {
            Plan::Insert(insert) => {
                let says_more = session.settings.sql_warnings && warnings > 0;
                insert_info(insert, result, (found_rows, says_more), warnings)
            }
            Plan::Update(_) => update_info(result, warnings),
            Plan::FoundWrite(write) if write.is_update => update_info(result, warnings),
            _ => Cow::default(),
        },
    }
}

fn insert_info(
    insert: &InsertPlan,
    result: &DmlResult,
    (found_rows, says_more): (bool, bool),
    warnings: u64,
) -> Cow<'static, str> {
    if matches!(insert.source, InsertSource::File(_)) {
        return load_info(insert, result, warnings);
    }
    if insert.given_rows.is_some_and(|rows| rows <= 1) && !says_more {
        return Cow::default();
    }
    let mut duplicates = result.duplicates;
    if found_rows && !insert.ignore {
        // Rows that ON DUPLICATE KEY UPDATE left unchanged.
        duplicates += result.matched.saturating_sub(result.affected);
    }
    info([
        ("Records", result.records),
        ("Duplicates", duplicates),
        ("Warnings", warnings),
    ])
}

/// The text of LOAD DATA.
fn load_info(insert: &InsertPlan, result: &DmlResult, warnings: u64) -> Cow<'static, str> {
    let (records, duplicates) = (result.records, result.duplicates);
    let (deleted, skipped) = match insert.mode {
        InsertMode::Replace => (duplicates, 0),
        InsertMode::Insert | InsertMode::Update(_) => (0, duplicates),
    };
    format!("Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}").into()
}

/// The text of most UPDATEs. As a constant it needs no allocation.
const ONE_CHANGED: &str = "Rows matched: 1  Changed: 1  Warnings: 0";

fn update_info(result: &DmlResult, warnings: u64) -> Cow<'static, str> {
    if (result.matched, result.affected, warnings) == (1, 1, 0) {
        return ONE_CHANGED.into();
    }
    info([
        ("Rows matched", result.matched),
        ("Changed", result.affected),
        ("Warnings", warnings),
    ])
}

fn info(counts: [(&str, u64); 3]) -> Cow<'static, str> {
    let [(a, x), (b, y), (c, z)] = counts;
    format!("{a}: {x}  {b}: {y}  {c}: {z}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_text_is_that_of_the_format() {
        let counts = [("Rows matched", 1), ("Changed", 1), ("Warnings", 0)];
        assert_eq!(info(counts), ONE_CHANGED);
    }
}
