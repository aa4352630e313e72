//! What assignments to a table's columns can change.

use planner::plan::Assignment;
use schema::model::Table;

use super::defaults::on_update_columns;
use super::table_codec::TableCodec;

/// What the assignments of an UPDATE, or of ON DUPLICATE KEY UPDATE, can change.
#[derive(Debug)]
pub(super) struct Touched {
    /// Columns that are assigned, and behind them those of `on_update`.
    pub columns: Vec<usize>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
    pub on_update: Vec<usize>,
    /// Indexes beside the primary key whose entries may change; all of them where rows' keys may.
    pub indexes: Vec<usize>,
    /// Whether rows' keys may change.
    pub keys: bool,
}

impl Touched {
    pub fn by(assignments: &[Assignment], table: &Table, codec: &TableCodec) -> Self {
        let assigned: Vec<usize> = assignments.iter().map(|a| a.column).collect();
        let on_update = on_update_columns(table, &assigned);
        let columns: Vec<usize> = assigned.iter().chain(&on_update).copied().collect();
        let keys = table.primary_parts().iter().any(|p| columns.contains(&p.column));
        let has_touched_part = |i: &usize| {
            let parts = table.indexes.get(*i).map_or(&[][..], |index| &index.parts);
            parts.iter().any(|p| columns.contains(&p.column))
        };
        let secondary = codec.secondary.iter().copied();
        Self {
            indexes: secondary.filter(|i| keys || has_touched_part(i)).collect(),
            columns,
            on_update,
            keys,
        }
    }

    pub fn assigned(&self) -> &[usize] {
        let count = self.columns.len() - self.on_update.len();
        self.columns.get(..count).unwrap_or_default()
    }

    pub fn contains(&self, column: usize) -> bool {
        self.columns.contains(&column)
    }

    /// Whether a change may show in keys, rather than in rows' values only.
    pub fn any_keys(&self) -> bool {
        self.keys || !self.indexes.is_empty()
    }

    /// Columns that images of rows before and after the change are made of, with their indexes' entries; some of them may
    /// be named twice.
    pub fn imaged_columns(&self, table: &Table) -> Vec<usize> {
        let parts = self.indexes.iter().filter_map(|i| table.indexes.get(*i));
        let entries = parts.flat_map(|index| index.parts.iter().map(|p| p.column));
        let key = table.primary_parts();
        entries
            .chain(key.iter().filter(|_| self.any_keys()).map(|p| p.column))
            .collect()
    }
}
