//! What operators use while they run: the statement's context, the store, and the memory account.

use functions::EvalContext;
use types::{Error, Result, errno};

use crate::context::ExecContext;
use crate::memory::Memory;
use crate::source::ReadSource;

/// Passed to every operator with each request for rows, so that operators borrow only the plan.
pub(crate) struct Env<'e, 's> {
    pub ctx: &'e ExecContext<'e>,
    pub source: &'e mut ReadSource<'s>,
    pub memory: &'e Memory<'e>,
}

impl<'e> Env<'e, '_> {
    pub fn eval(&self) -> &'e EvalContext {
        self.ctx.eval
    }

    /// Fails with 1317 once the statement has been killed, or with what ended it.
    pub fn check_interrupted(&self) -> Result<()> {
        check_interrupted(self.ctx)
    }
}

/// Called once per batch of rows, so that KILL takes effect soon and the check costs nothing.
pub(crate) fn check_interrupted(ctx: &ExecContext<'_>) -> Result<()> {
    if ctx.interrupt.is_raised() {
        return Err(Error::new(
            errno::ER_QUERY_INTERRUPTED,
            "Query execution was interrupted",
        ));
    }
    ctx.eval.check_interrupted()
}
