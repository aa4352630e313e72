//! Panics on threads where nobody above would hear of them: the engine's own, and what they run for others.
//!
//! A panic is a defect of ours, and its thread may be one that many wait for. It is caught where the work of one ends and that
//! of the next begins, and logged there; what it leaves uncertain is for the caller to say.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`. If it panics, that is logged with `doing`, which says what was going on ("syncing the log").
///
/// # Errors
/// The panic's message.
pub fn catch<T>(doing: &str, work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let message = message_of(&*payload);
        // To drop it is to run code of whoever panicked, which may do so again, outside of this.
        mem::forget(payload);
        tracing::error!(doing, message, "a panic, which is a defect of this program");
        message
    })
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::panic_any;

    struct PanicsAgain;

    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic!("once more");
        }
    }

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        assert_eq!(catch("a test", || 1), Ok(1));
        assert_eq!(
            catch("a test", || panic!("on purpose")),
            Err::<(), _>("on purpose".into())
        );
        let number = 7;
        assert_eq!(
            catch("a test", || panic!("no {number}")),
            Err::<(), _>("no 7".into())
        );
        assert!(catch("a test", || panic_any(PanicsAgain)).is_err());
    }
}
