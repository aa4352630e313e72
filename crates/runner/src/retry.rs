//! Statements that run a second time after a failure, which the client does not see. The caller runs them
//! again from the start, including their metadata locks.
//!
//! - The lease of the node was over when the statement came to its end, and nothing is committed: it runs
//!   under the next lease.
//! - An INSERT met a duplicate at its commit. On a cluster it costs a round trip for each region to lock the
//!   keys of new rows before they are written, and the commit looks at the keys in any case. Nearly no INSERT
//!   meets a duplicate, so the first run takes no locks; the second one takes them, and finds whose key it
//!   was, for MySQL's error.

use std::time::Instant;

use functions::Expr;
use planner::plan::{InsertMode, InsertPlan, InsertSource, Plan};
use types::{Error, errno};

use crate::environment::Environment;
use crate::runner::Runner;
use crate::transaction::Characteristics;

/// Leases last for seconds, so once is nearly always enough.
const RUNS_MAX: usize = 3;

/// Whether a statement that has failed is to run again.
pub struct Retry {
    left: usize,
    /// What SET TRANSACTION had asked for before the first run.
    next: Characteristics,
    /// In this run, the commit checks for duplicates.
    defers_duplicates: bool,
}

impl Retry {
    /// Before the first run of a plan. `None`: it is part of a transaction, which ends with its lease.
    pub fn new(runner: &Runner<'_>, plan: &Plan) -> Option<Self> {
        let is_alone = runner.env.settings.autocommit && !runner.transaction.is_open();
        is_alone.then(|| Self {
            left: RUNS_MAX,
            next: runner.transaction.next,
            defers_duplicates: may_defer_duplicates(runner.env, plan),
        })
    }

    /// Whether the commit of this run checks for duplicates: the statement has to wait for it.
    pub fn defers_duplicates(&self) -> bool {
        self.defers_duplicates
    }

    /// Whether to run the statement again after an error. It has sent no row and left nothing that cannot be
    /// undone. `started`: when its first run began.
    #[cold]
    pub fn runs_again(&mut self, runner: &mut Runner<'_>, error: &Error, started: Instant) -> bool {
        match error.code {
            errno::ER_DUP_ENTRY if self.defers_duplicates => self.defers_duplicates = false,
            // The statement may also have waited for a lease in vain.
            errno::ER_SCHEMA_OUT_OF_DATE if self.left > 0 && started.elapsed() < runner.env.lease_wait() => {
                self.left -= 1;
            }
            _ => return false,
        }
        runner.transaction.next = self.next;
        runner.transaction.locks.release_all();
        true
    }
}

/// Whether a plan is an INSERT that can run twice, in a transaction of its own.
fn may_defer_duplicates(env: Environment<'_>, plan: &Plan) -> bool {
    match plan {
        Plan::Insert(insert) => {
            !env.settings.optimistic && env.engine.store.defers_duplicate_checks() && is_repeatable(insert)
        }
        _ => false,
    }
}

fn is_repeatable(insert: &InsertPlan) -> bool {
    matches!(insert.mode, InsertMode::Insert)
        && !insert.ignore
        && match &insert.source {
            InsertSource::Values(rows) => rows.iter().flatten().flatten().all(is_constant),
            InsertSource::Literals(_) => true,
            InsertSource::Query(_) | InsertSource::File(_) => false,
        }
}

/// Whether an expression has the same value a second time, and no side effects.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Literal { .. } | Expr::Param { .. } | Expr::Outer { .. } => true,
        Expr::Cast { input, .. } => is_constant(input),
        Expr::Column { .. } | Expr::Call { .. } | Expr::Case { .. } => false,
    }
}
