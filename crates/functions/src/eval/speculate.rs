//! Speculative evaluation: instead of warning it fails, and the caller evaluates in another way.

use std::cell::Cell;

use types::{Error, Result};

thread_local! {
    static SPECULATING: Cell<bool> = const { Cell::new(false) };
}

/// Whether warnings are errors at present.
pub(crate) fn is_speculating() -> bool {
    SPECULATING.get()
}

/// The error that replaces a warning during speculation. No client sees it.
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
