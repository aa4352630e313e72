//! How the rows of a table become those of its *shadow table* ([`crate::model::ShadowTable`]), while an ALTER TABLE
//! rewrites them. [`crate::layout::ShadowLayout`] does it.

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
