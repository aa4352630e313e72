//! Panics on threads that have no caller to report them to: the engine's own threads, and callbacks that they
//! run.
//!
//! A panic is a defect of this program, and many may be waiting for its thread. It is caught between one
//! piece of work and the next, and logged. The caller decides what the panic leaves uncertain.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`. A panic is logged with `doing`, which names the operation ("syncing the log").
///
/// # Errors
/// The panic's message.
pub fn catch<T>(doing: &str, work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let message = message_of(&*payload);
        // Dropping the payload runs code that may panic again, outside of `catch_unwind`.
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
