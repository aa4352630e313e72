//! INSERTs whose duplicates show at the commit.
//!
//! On a cluster, to lock a new row's keys before they are written costs a round trip for each place they are in, and the
//! commit looks at them in any case. Nearly no INSERT meets a duplicate, so it goes without locks; one that does is run
//! again with them, which say whose key it was, in MySQL's words.

use functions::Expr;
use planner::CachedPlan;
use planner::plan::{InsertMode, InsertSource, Plan};
use types::{Result, Value, errno};

use crate::reply::Done;
use crate::session::Session;
use crate::text::schema_moves;

impl Session {
    /// Whether a plan is an INSERT that is a transaction of its own and can be run twice.
    pub(crate) fn may_check_late(&self, plan: &Plan) -> bool {
        let Plan::Insert(insert) = plan else {
            return false;
        };
        let is_alone = self.settings.autocommit && !self.settings.optimistic && !self.transaction.is_open();
        is_alone
            && self.shared.store.checks_late()
            && matches!(insert.mode, InsertMode::Insert)
            && !insert.ignore
            && match &insert.source {
                InsertSource::Values(rows) => rows.iter().flatten().flatten().all(is_given),
                InsertSource::Query(_) => false,
            }
    }

    /// Runs such a plan.
    pub(crate) fn run_checking_late(&mut self, cached: &CachedPlan, params: &mut Vec<Value>) -> Result<Done> {
        let plan = &cached.plan;
        let before = (self.diagnostics.clone(), self.last_insert_id);
        self.transaction.set_check_late(true);
        let first = self.as_statement(|session| session.run_dml(plan, params));
        self.transaction.set_check_late(false);
        match first {
            Err(error) if error.code == errno::ER_DUP_ENTRY => {
                (self.diagnostics, self.last_insert_id) = before;
                // The commit has given back the tables, and the lease that it relied on.
                if !self.lock_tables(&cached.accesses, 0)? {
                    return Err(schema_moves());
                }
                self.as_statement(|session| session.run_dml(plan, params))
            }
            first => first,
        }
    }
}

/// Values that are the same a second time, and leave nothing behind.
fn is_given(expr: &Expr) -> bool {
    match expr {
        Expr::Literal { .. } | Expr::Param { .. } => true,
        Expr::Cast { input, .. } => is_given(input),
        Expr::Column { .. } | Expr::Call { .. } | Expr::Case { .. } => false,
    }
}
