//! Data that an executor attaches to a plan.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

use types::{Error, Result};

/// What the executor derives from a plan at its first run and uses in all later ones. It is not part of the
/// plan: the copy of a plan, which may be changed, starts without it.
#[derive(Default)]
pub struct ExecutionCache(OnceLock<Box<dyn Any + Send + Sync>>);

impl ExecutionCache {
    /// # Errors
    /// Those of `make`, and 1105 if the cache holds a value of another type.
    pub fn get_or_make<T: Any + Send + Sync>(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        let cached = match self.0.get() {
            Some(cached) => cached,
            None => {
                let made = Box::new(make()?);
                self.0.get_or_init(|| made)
            }
        };
        cached
            .downcast_ref()
            .ok_or_else(|| Error::internal("the execution cache of a plan has another type"))
    }
}

impl Clone for ExecutionCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for ExecutionCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExecutionCache")
    }
}
