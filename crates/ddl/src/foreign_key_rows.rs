//! Checks whether the existing rows of a table satisfy a foreign key. ADD FOREIGN KEY does so before it
//! publishes the key, while no other statement uses child and parent; ADMIN CHECK TABLE reports violations.

use functions::TimeZone;
use kv::{KeyRange, Reader, Snapshot};
use schema::foreign_key::{KeyIndex, no_referenced_row};
use schema::layout::{KeyParts, TableLayout, ValueRange, table_range};
use schema::model::{ForeignKey, Schema, Table};
use types::{Error, Result, Value};

const PAGE_ROWS: usize = 1024;

/// # Errors
/// 1452 if a row of the child has no parent; those of the store.
pub(crate) fn check_rows(
    snapshot: &Snapshot,
    schema: &Schema,
    child: &Table,
    key: &ForeignKey,
    interrupt: &kv::Interrupt,
) -> Result<u64> {
    let mut rows = 0;
    match find_orphan(snapshot, schema, child, key, &mut rows, interrupt)? {
        None => Ok(rows),
        Some(_) => Err(no_referenced_row(child, key)),
    }
}

/// The key of a row without a parent. `rows`: counts the rows that it reads.
pub(crate) fn find_orphan(
    snapshot: &Snapshot,
    schema: &Schema,
    child: &Table,
    key: &ForeignKey,
    rows: &mut u64,
    interrupt: &kv::Interrupt,
) -> Result<Option<Vec<u8>>> {
    let own = (&key.parent.database, &key.parent.name) == (&child.database, &child.name);
    let parent = match own {
        true => child,
        false => match schema.table(&key.parent.database, &key.parent.name) {
            Some(parent) => parent,
            None => return Ok(None),
        },
    };
    let parents = Parents::of(parent, key)?;
    let layout = TableLayout::new(child, &key.columns)?;
    let mut range = KeyRange::from(table_range(child));
    loop {
        interrupt.check()?;
        let page = snapshot.scan_page(&range, PAGE_ROWS, false)?;
        let Some((last, _)) = page.last() else {
            return Ok(None);
        };
        range.start.clone_from(last);
        range.start.push(0);
        *rows += page.len() as u64;
        let mut referring = Vec::with_capacity(page.len());
        for (row, value) in page {
            let values = layout.decode_row_values(&row, &value, TimeZone::UTC)?;
            // MATCH SIMPLE: a row with a NULL refers to nothing.
            if !values.iter().any(Value::is_null) {
                referring.push((row, values));
            }
        }
        if let Some(orphan) = parents.first_missing(snapshot, referring)? {
            return Ok(Some(orphan));
        }
    }
}

/// Finds rows of the parent.
struct Parents {
    parts: KeyParts,
    is_unique: bool,
}

impl Parents {
    fn of(parent: &Table, key: &ForeignKey) -> Result<Self> {
        let no_index = || Error::internal(format!("foreign key {} has no index in its parent", key.name));
        let offsets = parent.offsets_of(&key.parent_columns).ok_or_else(no_index)?;
        let index = KeyIndex::of(parent, &offsets).ok_or_else(no_index)?;
        Ok(Self {
            parts: match index {
                KeyIndex::Primary => KeyParts::primary(parent)?,
                KeyIndex::Secondary(at) => KeyParts::index(parent, at)?,
            },
            is_unique: index.is_unique_on(parent, offsets.len()),
        })
    }

    fn first_missing(
        &self,
        snapshot: &Snapshot,
        rows: Vec<(Vec<u8>, Vec<Value>)>,
    ) -> Result<Option<Vec<u8>>> {
        let (keys, values): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let found = match self.is_unique {
            true => {
                let points = values.iter().map(|values| self.parts.key(values, TimeZone::UTC));
                let found = snapshot.batch_get(&points.collect::<Result<Vec<_>>>()?)?;
                found.iter().map(Option::is_some).collect()
            }
            false => values
                .into_iter()
                .map(|prefix| {
                    let range = ValueRange {
                        prefix,
                        ..ValueRange::default()
                    };
                    let range = self.parts.range(&range, TimeZone::UTC)?;
                    Ok(!snapshot.scan_page(&range.into(), 1, false)?.is_empty())
                })
                .collect::<Result<Vec<bool>>>()?,
        };
        Ok(keys
            .into_iter()
            .zip(found)
            .find(|(_, found)| !found)
            .map(|(key, _)| key))
    }
}
