//! How many rows a query may look at before it returns its first row. A query that looks at more is given up,
//! and runs on the other executor.

use std::cell::Cell;

use functions::EvalContext;
use types::{Error, Result};

#[derive(Debug)]
pub struct RowBudget {
    /// `None` once the first row has been returned.
    max: Cell<Option<u64>>,
    is_exceeded: Cell<bool>,
}

impl RowBudget {
    pub fn new(max: u64) -> Self {
        Self {
            max: Cell::new(Some(max)),
            is_exceeded: Cell::new(false),
        }
    }

    /// Whether the query has been given up. Its error is not for the client then.
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }

    pub(crate) fn row_is_sent(&self) {
        self.max.set(None);
    }

    pub(crate) fn check(&self, eval: &EvalContext) -> Result<()> {
        let Some(max) = self.max.get().filter(|max| eval.reads.counts().examined() > *max) else {
            return Ok(());
        };
        self.is_exceeded.set(true);
        Err(Error::internal(format_args!(
            "a query that looks at more than {max} rows"
        )))
    }
}
