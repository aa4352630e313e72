//! Trying an evaluation whose warnings must not be seen: where it would warn it fails instead, and the caller does it
//! another way.

use std::cell::Cell;

use types::{Error, Result};

thread_local! {
    static SPECULATING: Cell<bool> = const { Cell::new(false) };
}

/// Whether warnings are to be errors now.
pub(crate) fn is_speculating() -> bool {
    SPECULATING.get()
}

/// What takes a warning's place during speculation. Never seen by a client.
pub(crate) fn would_warn() -> Error {
    Error::internal("a warning during a speculative evaluation")
}

/// Runs `evaluate` with warnings as errors.
pub(crate) fn attempt<T>(evaluate: impl FnOnce() -> Result<T>) -> Result<T> {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            SPECULATING.set(self.0);
        }
    }
    let _restore = Restore(SPECULATING.replace(true));
    evaluate()
}
