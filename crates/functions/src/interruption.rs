//! The interruption that evaluations see which belong to no statement's context: those of planning, of rows that are
//! copied, of virtual columns. It is that of the session that the thread works for.

use std::cell::RefCell;
use std::sync::Arc;

/// Whether the statement of a session has to end: KILL, a time limit.
pub type Interrupted = Arc<dyn Fn() -> bool + Send + Sync>;

thread_local! {
    static OF_THREAD: RefCell<Option<Interrupted>> = const { RefCell::new(None) };
}

/// See [`work_for`].
#[must_use]
pub struct WorksFor(Option<Interrupted>);

/// As long as the guard lives, the thread works for a session.
pub fn work_for(interrupted: &Interrupted) -> WorksFor {
    WorksFor(OF_THREAD.replace(Some(Arc::clone(interrupted))))
}

impl Drop for WorksFor {
    fn drop(&mut self) {
        OF_THREAD.set(self.0.take());
    }
}

/// Whether the session that the calling thread works for is interrupted; false if it works for none.
pub(crate) fn of_thread() -> bool {
    // Taken out meanwhile, because it may be one that asks for that of the thread.
    let Some(interrupted) = OF_THREAD.take() else {
        return false;
    };
    let is_interrupted = interrupted();
    OF_THREAD.set(Some(interrupted));
    is_interrupted
}
