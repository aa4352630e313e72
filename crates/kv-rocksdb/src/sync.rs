//! Locks and atomics of the row cache, from one place, as in `kv`.

pub(crate) use parking_lot::{Mutex, RwLock};
pub(crate) use std::sync::atomic;
