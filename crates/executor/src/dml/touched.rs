//! What assignments to a table's columns can change.

use planner::plan::Assignment;
use schema::model::Table;
use types::Result;

use super::defaults::on_update_columns;
use super::table_codec::TableCodec;

/// What the assignments of an UPDATE, or of ON DUPLICATE KEY UPDATE, can change.
#[derive(Debug)]
pub(super) struct Touched {
    /// The assigned columns, after them those of `on_update`, and then the generated columns that depend on
    /// them.
    pub columns: Vec<usize>,
    /// How many are assigned.
    assigned: usize,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
    pub on_update: Vec<usize>,
    /// The secondary indexes whose entries may change; all of them if rows' keys may change.
    pub indexes: Vec<usize>,
    /// Whether rows' keys may change.
    pub keys: bool,
    /// Whether rows may move to other partitions, with all their index entries.
    pub partitions: bool,
}

impl Touched {
    pub fn by(assignments: &[Assignment], table: &Table, codec: &TableCodec) -> Result<Self> {
        let assigned: Vec<usize> = assignments.iter().map(|a| a.column).collect();
        let on_update = on_update_columns(table, &assigned);
        let mut columns: Vec<usize> = assigned.iter().chain(&on_update).copied().collect();
        if let Some(expressions) = table.expressions()? {
            columns.extend(expressions.generated_from(&columns));
        }
        let keys = table.primary_parts().iter().any(|p| columns.contains(&p.column));
        let function = table.partition_function()?;
        let partitions = function.is_some_and(|function| function.columns().any(|c| columns.contains(&c)));
        let has_touched_part = |i: &usize| {
            let parts = table.indexes.get(*i).map_or(&[][..], |index| &index.parts);
            parts.iter().any(|p| columns.contains(&p.column))
        };
        let secondary = codec.secondary.iter().copied();
        Ok(Self {
            indexes: secondary
                .filter(|i| keys || partitions || has_touched_part(i))
                .collect(),
            columns,
            assigned: assigned.len(),
            on_update,
            keys,
            partitions,
        })
    }

    pub fn assigned(&self) -> &[usize] {
        self.columns.get(..self.assigned).unwrap_or_default()
    }

    pub fn contains(&self, column: usize) -> bool {
        self.columns.contains(&column)
    }

    /// Whether a change may affect keys, not only the rows' values.
    pub fn any_keys(&self) -> bool {
        self.keys || self.partitions || !self.indexes.is_empty()
    }

    /// The columns that the images of rows before and after the change are made of, with those of their index
    /// entries. A column may be listed twice.
    pub fn imaged_columns(&self, table: &Table) -> Vec<usize> {
        let parts = self.indexes.iter().filter_map(|i| table.indexes.get(*i));
        let entries = parts.flat_map(|index| index.parts.iter().map(|p| p.column));
        let key = table.primary_parts();
        entries
            .chain(key.iter().filter(|_| self.any_keys()).map(|p| p.column))
            .collect()
    }
}
