//! Keys of the store that every node keeps an eye on, and the thread that does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kv::Reader;
use types::Result;

use crate::Catalog;
use crate::meta::{decode_counter, keys};

/// What to do with a key's new value; `None`: there is none. An error brings it back at the next look.
pub type OnChange = dyn Fn(&Catalog, Option<&[u8]>) -> Result<()> + Send + Sync;

pub(super) struct Watch {
    key: Vec<u8>,
    /// The value that was dealt with; none: not looked at yet.
    seen: Option<Option<Vec<u8>>>,
    run: Arc<OnChange>,
}

/// While definitions change, news are looked for so often ...
const BUSY_POLL: Duration = Duration::from_millis(20);
/// ... and for so long after the last.
const BUSY_FOR: Duration = Duration::from_secs(2);

impl Catalog {
    /// Has `run` called, on the thread that follows the store, with the value that a key has, and whenever it has changed:
    /// within a second, not for each value in between. Nothing happens where one process has the store to itself.
    pub fn watch(
        &self,
        key: Vec<u8>,
        run: impl Fn(&Catalog, Option<&[u8]>) -> Result<()> + Send + Sync + 'static,
    ) {
        if let Some(membership) = &self.membership {
            membership.watches.lock().push(Watch {
                key,
                seen: None,
                run: Arc::new(run),
            });
        }
    }

    /// Ends [`Catalog::watch`] of a key.
    pub fn unwatch(&self, key: &[u8]) {
        if let Some(membership) = &self.membership {
            membership.watches.lock().retain(|watch| watch.key != key);
        }
    }

    /// One look at everything that is followed.
    ///
    /// # Errors
    /// Those of the store, and of what is called.
    pub fn tick(&self) -> Result<()> {
        let Some(membership) = &self.membership else {
            return Ok(());
        };
        let mut wanted = vec![keys::schema_version()];
        wanted.extend(membership.watches.lock().iter().map(|w| w.key.clone()));
        let values = self.store().latest().batch_get(&wanted)?;
        let version = decode_counter(values.first().and_then(|v| v.as_deref()), "schema version")?;
        let mut outcome = self.follow_to(membership, version);
        for (key, value) in wanted.iter().zip(values).skip(1) {
            let changed = |watch: &Watch| watch.key == *key && watch.seen.as_ref() != Some(&value);
            let run = membership
                .watches
                .lock()
                .iter()
                .find(|w| changed(w))
                .map(|w| Arc::clone(&w.run));
            let Some(run) = run else { continue };
            // Not under the lock: it may watch other keys.
            match run(self, value.as_deref()) {
                Ok(()) => {
                    if let Some(watch) = membership.watches.lock().iter_mut().find(|w| w.key == *key) {
                        watch.seen = Some(value);
                    }
                }
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }

    /// How long to wait for the next look.
    pub(crate) fn poll_interval(&self) -> Duration {
        let Some(membership) = &self.membership else {
            return Duration::MAX;
        };
        let poll = membership.options.poll.min(membership.options.lease / 10);
        let busy_since = membership.follower.lock().busy_since;
        match busy_since {
            Some(since) if Instant::now() - since < BUSY_FOR => poll.min(BUSY_POLL),
            _ => poll,
        }
    }
}
