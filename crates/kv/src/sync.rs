//! Locks, atomics and threads of this crate, from one place: what replaces this file decides which thread goes on where threads meet.
//! `kv-models` does so, to try many orders.

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
pub(crate) use std::sync::atomic;
pub(crate) use std::thread;
