//! Checks the privileges of a plan and locks its tables. If the schema changes in between, the statement is
//! planned again.

use planner::CachedPlan;
use types::{Error, Result, errno};

use crate::compiled::Compiled;
use crate::session::Session;

/// How often a statement is planned again because the schema has changed.
pub const REPLANS_MAX: usize = 10;

/// Checks privileges and takes the metadata locks of a plan. Plans again as long as the schema changes
/// between plan and lock. After an error, locks that no transaction holds are released at the end of the
/// statement.
pub fn lock_current(
    session: &mut Session,
    compiled: &mut Compiled,
    replan: &dyn Fn(&mut Session) -> Result<Compiled>,
) -> Result<()> {
    for _ in 0..REPLANS_MAX {
        session.diagnostics.collect_planning(session.settings.warnings);
        let Compiled::Plan(plan) = &*compiled else {
            return Ok(());
        };
        session.client.check_privileges(&plan.accesses)?;
        if plan.uses_temporary {
            check_no_xa(session)?;
        }
        session.runner().rely_on_lease()?;
        let are_held = check_table_locks(session, plan)?;
        if session
            .runner()
            .lock_tables(&plan.accesses, plan.schema_version, are_held)?
        {
            return Ok(());
        }
        session.transaction.release_statement_locks();
        *compiled = replan(session)?;
    }
    Err(schema_has_changed())
}

/// Fails with 4091 in an XA branch, because the branch may outlive the session and its temporary tables.
pub fn check_no_xa(session: &Session) -> Result<()> {
    match session.transaction.xa.is_some() {
        true => Err(Error::new(
            errno::ER_XA_TEMP_TABLE,
            "XA: Temporary tables cannot be accessed inside XA transactions when xa_detach_on_prepare=ON",
        )),
        false => Ok(()),
    }
}

/// Fails if LOCK TABLES is in force and the plan uses other tables. `true`: LOCK TABLES has locked the tables
/// of the plan.
fn check_table_locks(session: &mut Session, plan: &CachedPlan) -> Result<bool> {
    if let Err(error) = session.table_locks.check_lease(&session.shared.engine.cluster) {
        // The changes of the transaction cannot be committed any more.
        session.runner().rollback();
        return Err(error);
    }
    session.table_locks.check_plan(&plan.accesses)
}

pub fn schema_has_changed() -> Error {
    Error::new(
        errno::ER_SCHEMA_CHANGED,
        "Information schema is changed during the execution of the statement; try again",
    )
}
