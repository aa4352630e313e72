//! What encodes and decodes a table's rows. It is made once per table definition and shared by all
//! statements, since making it costs as much as writing a row.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};

use functions::TimeZone;
use parking_lot::RwLock;
use schema::layout::{IndexLayout, KeyParts, RowEncoder, TableLayout, default_value};
use schema::model::{Column, Default, Handle, Table};
use types::{Result, TypeKind, Value};

use super::shadow::Shadow;

#[derive(Debug)]
pub(super) struct TableCodec {
    pub encoder: RowEncoder,
    /// Of the primary key.
    pub key: KeyParts,
    /// Of all columns.
    pub layout: TableLayout,
    /// The DEFAULT of each column, if it is a constant that does not depend on the session.
    defaults: Vec<Option<Value>>,
    /// Positions of the indexes beside the primary key.
    pub secondary: Vec<usize>,
    /// For each unique index of the table: what finds a row by an entry.
    pub unique: Vec<Option<IndexLayout>>,
    pub has_multi_valued: bool,
    /// Set while an ALTER TABLE rewrites the rows.
    pub shadow: Option<Box<Shadow>>,
}

/// By the address of the definition. The weak reference prevents that the address is used again, and shows
/// whether the definition is still in use.
type Codecs = HashMap<usize, (Weak<Table>, Arc<TableCodec>)>;

static CODECS: LazyLock<RwLock<Codecs>> = LazyLock::new(RwLock::default);

impl TableCodec {
    pub fn of(table: &Arc<Table>) -> Result<Arc<Self>> {
        let address = Arc::as_ptr(table) as usize;
        if let Some((_, codec)) = CODECS.read().get(&address) {
            return Ok(Arc::clone(codec));
        }
        let codec = Arc::new(Self::new(table)?);
        let mut codecs = CODECS.write();
        codecs.retain(|_, (table, _)| table.strong_count() > 0);
        codecs.insert(address, (Arc::downgrade(table), Arc::clone(&codec)));
        Ok(codec)
    }

    /// A column's DEFAULT, where it is such a constant.
    pub fn constant_default(&self, column: usize) -> Option<&Value> {
        self.defaults.get(column)?.as_ref()
    }

    fn new(table: &Table) -> Result<Self> {
        let clustered = match table.handle {
            Handle::Clustered { index } => Some(index),
            Handle::Integer { .. } | Handle::Hidden => None,
        };
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let unique = table.indexes.iter().enumerate().map(|(i, index)| {
            let secondary = index.unique && Some(i) != clustered;
            secondary.then(|| IndexLayout::new(table, i, &[])).transpose()
        });
        Ok(Self {
            encoder: RowEncoder::new(table)?,
            key: KeyParts::primary(table)?,
            defaults: table.columns.iter().map(constant_default).collect(),
            layout: TableLayout::new(table, &all)?,
            shadow: Shadow::of(table)?,
            unique: unique.collect::<Result<Vec<_>>>()?,
            has_multi_valued: table.columns.iter().any(|column| column.elements.is_some()),
            secondary: (0..table.indexes.len())
                .filter(|i| Some(*i) != clustered)
                .collect(),
        })
    }
}

/// A TIMESTAMP is stored in UTC, so its default has another value in each session.
fn constant_default(column: &Column) -> Option<Value> {
    match &column.default {
        Default::Literal(text) if column.ty.kind != TypeKind::Timestamp => {
            default_value(column, text, TimeZone::UTC).ok()
        }
        _ => None,
    }
}
