//! Whether an embedded store may still be written to.

use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};

/// Writable until a failure leaves it unknown what the log holds. Then reads continue, and all writes are
/// refused until a restart.
#[derive(Default)]
pub(crate) struct LogHealth {
    is_broken: AtomicBool,
    /// Why writes are refused, once they are.
    reason: Mutex<Option<String>>,
}

impl LogHealth {
    /// # Errors
    /// [`Error::StoreReadOnly`]: what was added to the log now might be lost.
    pub fn check_writable(&self) -> Result<()> {
        if !self.is_broken.load(Ordering::SeqCst) {
            return Ok(());
        }
        let reason = self.reason.lock().clone().unwrap_or_default();
        Err(Error::StoreReadOnly(reason))
    }

    /// It is unknown what the log holds, or which transaction holds which locks: nothing may be added to the
    /// log.
    pub fn refuse_writes(&self, reason: &str) {
        let mut refused = self.reason.lock();
        if refused.is_none() {
            tracing::error!(reason, "the store refuses all writes from now on");
            *refused = Some(format!("{reason}; repair the cause and restart"));
        }
        self.is_broken.store(true, Ordering::SeqCst);
    }
}
