//! This crate's locks, atomics and threads. `kv-models` replaces this file by one that decides which thread
//! runs wherever threads synchronize, and explores many orders.

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
pub(crate) use std::sync::atomic;
pub(crate) use std::thread;
