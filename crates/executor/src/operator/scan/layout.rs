//! What reading a scan takes from its table's definition: made once for all executions of a plan.

use std::sync::{Arc, OnceLock};

use arrow::datatypes::{DataType, SchemaRef};
use planner::plan::{Access, TableScan};
use schema::layout::{DecoderLayout, IndexLayout, KeyParts, index_covers};
use types::Result;

use crate::batch::arrow_schema;
use crate::direct::columns::RowColumns;

/// Of a scan that takes no locks.
pub(super) struct ScanLayout {
    pub access: AccessLayout,
    /// As it was first asked for: a plan that locks its rows, or changes them, always wants their keys.
    rows: OnceLock<RowsLayout>,
    row_columns: OnceLock<Option<RowColumns>>,
}

/// Of an access path.
pub(super) struct AccessLayout {
    pub parts: KeyParts,
    /// Set if the path goes from an index's entries to rows.
    pub lookup: Option<Arc<IndexLayout>>,
    /// The index whose entries are read instead of rows.
    pub covering: Option<usize>,
}

impl ScanLayout {
    pub fn of(scan: &TableScan) -> Result<&Self> {
        scan.execution_cache.get_or_make(|| {
            let access = AccessLayout::new(scan, &scan.access, scan.reads_key())?;
            Ok(Self {
                access,
                rows: OnceLock::new(),
                row_columns: OnceLock::new(),
            })
        })
    }

    /// The layout of rows that are read in this way; `None` if the one that is kept is another.
    pub fn rows(
        &self,
        scan: &TableScan,
        covering: Option<usize>,
        with_keys: bool,
    ) -> Result<Option<&RowsLayout>> {
        let rows = match self.rows.get() {
            Some(rows) => rows,
            None => {
                let made = RowsLayout::new(scan, covering, with_keys)?;
                self.rows.get_or_init(|| made)
            }
        };
        let is_it = rows.covering == covering && rows.place.is_some() == (with_keys || scan.reads_key());
        Ok(is_it.then_some(rows))
    }

    /// The columns of the scan, if rows store them as they are shown.
    pub fn row_columns(&self, scan: &TableScan) -> Option<&RowColumns> {
        let columns = self
            .row_columns
            .get_or_init(|| RowColumns::new(&scan.table, &scan.columns));
        columns.as_ref()
    }
}

impl AccessLayout {
    pub fn new(scan: &TableScan, access: &Access, never_covering: bool) -> Result<Self> {
        let table = &scan.table;
        let index = match access {
            Access::UniquePoints { index, .. }
            | Access::IndexRanges { index, .. }
            | Access::GroupEnds {
                index: Some(index), ..
            } => *index,
            _ => {
                return Ok(Self {
                    parts: KeyParts::primary(table)?,
                    lookup: None,
                    covering: None,
                });
            }
        };
        let covers = !never_covering
            && match access {
                Access::IndexRanges { covering, .. } => *covering,
                Access::GroupEnds { .. } => true,
                _ => index_covers(table, index, &scan.columns),
            };
        let lookup = || IndexLayout::new(table, index, &[]).map(Arc::new);
        Ok(Self {
            parts: KeyParts::index(table, index)?,
            lookup: (!covers).then(lookup).transpose()?,
            covering: covers.then_some(index),
        })
    }
}

/// Where the columns of a scan are in what is stored.
pub(super) struct RowsLayout {
    /// The index whose entries are read instead of rows.
    pub covering: Option<usize>,
    /// The place of the rows' keys among the columns.
    pub place: Option<usize>,
    pub decoder: DecoderLayout,
    pub schema: SchemaRef,
}

impl RowsLayout {
    pub fn new(scan: &TableScan, covering: Option<usize>, with_keys: bool) -> Result<Self> {
        let table = &scan.table;
        let is_key = |&offset: &usize| offset == table.columns.len();
        let place = scan.columns.iter().position(is_key);
        let stored: Vec<usize> = scan.columns.iter().copied().filter(|c| !is_key(c)).collect();
        let decoder = match covering {
            // The scan reads index entries only.
            Some(index) => DecoderLayout::of_entries(table, index, &stored)?,
            None => DecoderLayout::of_rows(table, &stored)?,
        };
        let columns = stored.iter().filter_map(|&c| table.columns.get(c));
        let mut types: Vec<DataType> = columns.map(|c| c.ty.arrow_type()).collect();
        let place = place.or_else(|| with_keys.then_some(types.len()));
        if let Some(place) = place {
            types.insert(place, DataType::Binary);
        }
        Ok(Self {
            covering,
            place,
            decoder,
            schema: arrow_schema(types.into_iter()),
        })
    }
}
