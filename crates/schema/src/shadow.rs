//! How the rows of a table become those of its *shadow table* ([`crate::model::ShadowTable`]), while an ALTER
//! TABLE rewrites them. [`crate::layout::ShadowLayout`] does it.

use functions::{EvalContext, Strictness, TimeZone};
use serde::{Deserialize, Serialize};
use types::SqlMode;

/// How values are converted: all that the result depends on besides the row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversion {
    /// Of the session that runs the ALTER TABLE.
    pub sql_mode: SqlMode,
    pub time_zone: String,
    /// When the ALTER TABLE began.
    pub now_us: i64,
    /// The names of the CHECK constraints of the target that existing rows may violate.
    pub checks: Vec<String>,
    /// Virtual columns are computed like those that are stored, those of the rows and those of their shadow rows, as in
    /// MySQL's ALGORITHM=COPY. Values that do not fit are errors then.
    #[serde(default)]
    pub validates: bool,
    pub handles: ShadowHandles,
    /// Set if the rows get ids in their order: the first one.
    pub first_id: Option<u64>,
    /// `auto_increment_increment` and `auto_increment_offset` for these ids, if they are not 1.
    #[serde(default)]
    pub id_steps: Option<(u64, u64)>,
    /// Rows that no partition of the target takes are left out: REORGANIZE PARTITION drops them with their
    /// value, as in MySQL. Otherwise they are an error.
    #[serde(default)]
    pub drops_misplaced: bool,
}

/// The handles of shadow rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShadowHandles {
    /// A shadow row has the handle of its row.
    Same,
    /// The new primary key has other values. `index`: the index that leads from the handles of rows to those
    /// of their shadow rows.
    ByKey {
        index: i64,
        /// The physical id under which that index lies. 0: the table's id, in a job that was begun by a
        /// release without this field.
        #[serde(default)]
        place: i64,
    },
    /// The rows get new hidden ids: each from what writes its shadow row first, the ALTER TABLE or a writer of the row.
    /// `index` and `place`: as above.
    NewIds { index: i64, place: i64 },
    /// The same in a job of an older release, which let nobody else use the table, and is undone.
    New,
}

impl Conversion {
    /// Whether readers of earlier formats do not know its handles.
    pub fn is_of_format_6(&self) -> bool {
        matches!(self.handles, ShadowHandles::NewIds { .. })
    }

    /// Puts the index that leads to the handles of shadow rows below a physical id that nothing else has.
    pub fn place_handles(&mut self, at: i64) {
        if let ShadowHandles::ByKey { place, .. } | ShadowHandles::NewIds { place, .. } = &mut self.handles {
            *place = at;
        }
    }

    /// What the keys of that index begin with.
    pub fn handle_entries(&self, table: i64) -> Option<Vec<u8>> {
        match self.handles {
            ShadowHandles::ByKey { index, place: 0 } => Some(codec::key::index_prefix(table, index)),
            ShadowHandles::ByKey { index, place } | ShadowHandles::NewIds { index, place } => {
                Some(codec::key::index_prefix(place, index))
            }
            ShadowHandles::Same | ShadowHandles::New => None,
        }
    }

    pub fn zone(&self) -> TimeZone {
        TimeZone::parse(&self.time_zone).unwrap_or(TimeZone::UTC)
    }

    pub(crate) fn context(&self) -> EvalContext {
        EvalContext {
            sql_mode: self.sql_mode,
            strictness: match self.sql_mode.strict {
                true => Strictness::Error,
                false => Strictness::Warn,
            },
            time_zone: self.zone(),
            now_us: self.now_us,
            ..EvalContext::default()
        }
    }
}
