//! A table that an ALTER TABLE rewrites, while it does: the *shadow table* has the new definition and, under
//! an id of its own, the new rows.
//!
//! [`Conversion`] says how a row becomes one of the shadow table; [`crate::layout::ShadowLayout`] does it.

use functions::{EvalContext, Strictness, TimeZone};
use serde::{Deserialize, Serialize};
use types::SqlMode;

use crate::model::{SchemaState, Table};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShadowTable {
    /// What writers do for it: from delete-only on they remove its rows, from write-only on they write them.
    pub state: SchemaState,
    /// The definition afterwards. Its id is that of the shadow table.
    pub target: Table,
    pub conversion: Conversion,
}

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
    pub handles: ShadowHandles,
    /// Set if the rows get ids in their order: the first one.
    pub first_id: Option<u64>,
}

/// The handles of shadow rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShadowHandles {
    /// A shadow row has the handle of its row.
    Same,
    /// The new primary key has other values. `index`: the index of the shadow table that leads from the
    /// handles of rows to those of their shadow rows.
    ByKey { index: i64 },
    /// The rows lose their primary key and get new hidden ids. No writer can do that.
    New,
}

impl Conversion {
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
