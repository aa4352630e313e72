//! What is tried again: a transaction that failed because of a lock, a deadlock or too little memory.

use std::sync::RwLock;
use std::time::Duration;

use crate::Result;
use crate::error::Error;

const ER_LOCK_WAIT_TIMEOUT: u16 = 1205;
const ER_LOCK_DEADLOCK: u16 = 1213;
pub(crate) const ER_MEMORY_EXCEEDED: u16 = 8175;
/// How often something is tried.
pub(crate) const ATTEMPTS: u32 = 10;
/// What finds no memory while it is alone waits a multiple of this.
const PAUSE: Duration = Duration::from_millis(100);

/// Whether what failed may succeed later: a lock, a deadlock, or memory that others have at present.
pub(crate) fn is_for_now(code: u16) -> bool {
    matches!(code, ER_LOCK_WAIT_TIMEOUT | ER_LOCK_DEADLOCK | ER_MEMORY_EXCEEDED)
}

/// Lets connections work at the same time, and one alone if there is no memory for several.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    at_once: RwLock<()>,
}

impl Turns {
    /// Runs `attempt`, again if it fails for now; then it holds no locks and no memory on the server. It is given how often
    /// it has failed so far. `what`: for the error of one that finds no memory, not even alone.
    pub(crate) fn run<T>(
        &self,
        what: impl FnOnce() -> String,
        mut attempt: impl FnMut(u32) -> Result<T>,
    ) -> Result<T> {
        let (mut failed, mut is_alone) = (0, false);
        loop {
            let outcome = match is_alone {
                true => {
                    let _others_wait = self.at_once.write().map_err(|_| Error::Thread)?;
                    attempt(failed)
                }
                false => {
                    let _beside_others = self.at_once.read().map_err(|_| Error::Thread)?;
                    attempt(failed)
                }
            };
            let error = match outcome {
                Err(error) if is_for_now(error.code()) => error,
                other => return other,
            };
            failed += 1;
            let is_memory = error.code() == ER_MEMORY_EXCEEDED;
            if failed == ATTEMPTS {
                return Err(match is_memory {
                    true => without_memory(&what(), &error),
                    false => error,
                });
            }
            if is_memory {
                // What the other connections take is enough for one alone. Beyond that, others use the server.
                if is_alone {
                    std::thread::sleep(PAUSE * failed);
                }
                is_alone = true;
            }
        }
    }
}

fn without_memory(what: &str, error: &Error) -> Error {
    Error::Input(format!(
        "{what}: {error}. The server has no memory for it, not even for one at a time: give it more ([memory] \
         limit_bytes, stemdb_memory_limit) or end what else uses it, and run the import again; it continues"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Side;

    fn error(code: u16) -> Error {
        let error = mysql::MySqlError {
            state: "HY000".to_owned(),
            message: "m".to_owned(),
            code,
        };
        Error::Server {
            side: Side::Target,
            statement: "s".to_owned(),
            error: Box::new(mysql::Error::MySqlError(error)),
        }
    }

    #[test]
    fn what_may_succeed_later_is_tried_again() {
        let turns = Turns::default();
        let run = |codes: &[u16]| {
            turns.run(
                || "a part".to_owned(),
                |failed| match codes.get(failed as usize) {
                    Some(code) => Err(error(*code)),
                    None => Ok(failed),
                },
            )
        };
        assert_eq!(run(&[1213, 8175, 1205]).ok(), Some(3));
        assert_eq!(run(&[1213, 1062]).map_err(|error| error.code()), Err(1062));
        assert_eq!(run(&[1205; 20]).map_err(|error| error.code()), Err(1205));
        // Each waits a little longer, and the last does not.
        let message = run(&[8175; 10]).map_err(|error| error.to_string()).err();
        assert!(
            message
                .is_some_and(|message| message.starts_with("a part: ") && message.contains("give it more"))
        );
    }
}
