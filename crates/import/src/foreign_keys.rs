//! Foreign keys are off while rows are copied. This checks on the target whether each reference has its
//! parent row, and finds the tables whose rows change others.

use std::collections::BTreeMap;

use crate::Result;
use crate::endpoint::{Client, literal, quoted};
use crate::inventory::Table;

const SHOWN_ROWS: u64 = 5;

/// A foreign key's columns, and those that they refer to.
struct ForeignKey {
    parent: String,
    parent_database: String,
    columns: Vec<(String, String)>,
}

/// Rows without their parents.
pub(crate) struct Orphans {
    /// Where the parents' table is.
    pub(crate) parent_database: String,
    /// One for each row, up to a limit.
    pub(crate) lines: Vec<String>,
}

/// What is found for each foreign key of the table.
pub(crate) fn orphans(target: &mut Client, table: &Table) -> Result<Vec<Orphans>> {
    let mut found = Vec::new();
    for (name, key) in foreign_keys(target, table)? {
        let pairs = |operator: &str, left: &str, right: &str| {
            let pairs = key.columns.iter().map(|(column, parent)| {
                format!("{left}.{} {operator} {right}.{}", quoted(column), quoted(parent))
            });
            pairs.collect::<Vec<_>>().join(" AND ")
        };
        let set = key
            .columns
            .iter()
            .map(|(column, _)| format!("child.{} IS NOT NULL", quoted(column)));
        let values = key
            .columns
            .iter()
            .map(|(column, _)| format!("child.{}", quoted(column)));
        let rows = target.rows(&format!(
            "SELECT DISTINCT {} FROM {} child WHERE {} AND NOT EXISTS (SELECT 1 FROM {} parent WHERE {}) LIMIT {SHOWN_ROWS}",
            values.collect::<Vec<_>>().join(", "),
            table.quoted(),
            set.collect::<Vec<_>>().join(" AND "),
            key.parent,
            pairs("=", "child", "parent"),
        ))?;
        let mut lines = Vec::new();
        for row in rows {
            let parts = key.columns.iter().enumerate();
            let parts = parts.map(|(at, (column, _))| format!("{column} = {}", row.text(at)));
            lines.push(format!(
                "{}, foreign key {name}: {} has no row in {}",
                table.shown(),
                parts.collect::<Vec<_>>().join(", "),
                key.parent.replace('`', "")
            ));
        }
        found.push(Orphans {
            parent_database: key.parent_database,
            lines,
        });
    }
    Ok(found)
}

fn foreign_keys(target: &mut Client, table: &Table) -> Result<BTreeMap<String, ForeignKey>> {
    let rows = target.rows(&format!(
        "SELECT CONSTRAINT_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, COLUMN_NAME, REFERENCED_COLUMN_NAME \
         FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} \
         AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY CONSTRAINT_NAME, ORDINAL_POSITION",
        literal(&table.database),
        literal(&table.name)
    ))?;
    let mut keys: BTreeMap<String, ForeignKey> = BTreeMap::new();
    for row in rows {
        let key = keys.entry(row.text(0)).or_insert_with(|| ForeignKey {
            parent: format!("{}.{}", quoted(&row.text(1)), quoted(&row.text(2))),
            parent_database: row.text(1),
            columns: Vec::new(),
        });
        key.columns.push((row.text(3), row.text(4)));
    }
    Ok(keys)
}

/// Whether foreign keys change rows of other tables together with rows of this one.
pub(crate) fn cascades(target: &mut Client, database: &str, table: &str) -> Result<bool> {
    const RULES: &str = "('CASCADE', 'SET NULL', 'SET DEFAULT')";
    let found = target.one(&format!(
        "SELECT COUNT(*) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE UNIQUE_CONSTRAINT_SCHEMA = {} \
         AND REFERENCED_TABLE_NAME = {} AND (UPDATE_RULE IN {RULES} OR DELETE_RULE IN {RULES})",
        literal(database),
        literal(table)
    ))?;
    Ok(found.is_some_and(|count| count != "0"))
}
