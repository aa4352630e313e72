//! Checks the privileges of a plan and locks its tables. If the schema changes in between, the statement is
//! planned again.

use std::time::{Duration, Instant};

use cluster::wait::{Deadline, WaitLimit};
use planner::CachedPlan;
use types::{Error, Result, errno};

use crate::compiled::Compiled;
use crate::session::Session;

/// How often a statement is planned again without a pause because the schema has changed.
const AT_ONCE: usize = 10;

/// The pause before each time after that.
const PAUSE: Duration = Duration::from_millis(5);

/// Counts how often a statement is planned again because its tables were changed between plan and metadata lock. As it
/// would wait for the lock, it is planned again for `lock_wait_timeout`: the client gets no error of its own for it.
#[derive(Default)]
pub struct Replans {
    made: usize,
    since: Option<Instant>,
}

impl Replans {
    /// Before the statement is planned again.
    ///
    /// # Errors
    /// 1205 after `lock_wait_timeout`; 1317 or 3024 when interrupted.
    #[cold]
    pub fn next(&mut self, session: &Session) -> Result<()> {
        self.made += 1;
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.made <= AT_ONCE {
            return Ok(());
        }
        let interrupt = &session.process.interrupt;
        let limit = WaitLimit {
            timeout: session
                .settings
                .run
                .metadata_lock_wait
                .saturating_sub(since.elapsed()),
            interrupt,
        };
        let pause = Deadline::new(&limit).sleep(PAUSE);
        pause.map_err(|error| runner::interruption(interrupt, error))
    }
}

/// Checks privileges and takes the metadata locks of a plan. Plans again as long as the schema changes
/// between plan and lock. After an error, locks that no transaction holds are released at the end of the
/// statement.
pub fn lock_current(
    session: &mut Session,
    compiled: &mut Compiled,
    replan: &dyn Fn(&mut Session) -> Result<Compiled>,
) -> Result<()> {
    let mut replans = Replans::default();
    loop {
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
        replans.next(session)?;
        *compiled = replan(session)?;
    }
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

/// The tables of a part of a statement are not what they were. The statement is planned again; no client gets this.
pub fn schema_has_changed() -> Error {
    Error::new(
        errno::ER_SCHEMA_CHANGED,
        "Information schema is changed during the execution of the statement; try again",
    )
}
