//! The allocator: jemalloc, and its settings.

#![expect(unsafe_code, reason = "jemalloc is set up by a symbol and its C interface")]

use std::ffi::CStr;
use std::ptr::null_mut;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The settings of jemalloc, read when the process starts. `MALLOC_CONF` in the environment overrides them.
/// There is a thread for each active connection, so the cache of a thread is small, and unused memory returns
/// to the system soon. A busy thread checks rarely for memory to return, because the next statement would
/// allocate it again.
#[unsafe(export_name = "malloc_conf")]
pub static MALLOC_CONF: &[u8] =
    b"background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0,tcache_max:4096,tcache_nslots_small_max:32,tcache_gc_incr_bytes:262144\0";

/// Purges all arenas: 4096 is `MALLCTL_ARENAS_ALL`.
const PURGE_ALL: &CStr = c"arena.4096.purge";

/// Returns all freed memory to the system at once.
pub fn purge() {
    // SAFETY: The name ends with a zero byte. This control takes no argument and returns no value.
    let failed =
        unsafe { tikv_jemalloc_sys::mallctl(PURGE_ALL.as_ptr(), null_mut(), null_mut(), null_mut(), 0) };
    if failed != 0 {
        tracing::debug!(failed, "the allocator has returned no memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident_bytes() -> usize {
        (memory::Process::plain().resident_bytes)().unwrap()
    }

    #[test]
    fn freed_memory_returns_to_the_system_at_once() {
        const BYTES: usize = 256 << 20;
        let before = resident_bytes();
        let pieces: Vec<Vec<u8>> = (0..BYTES / 65_536)
            .map(|piece| vec![piece as u8 | 1; 65_536])
            .collect();
        let full = resident_bytes();
        assert!(full > before + BYTES / 2, "{before} {full}");
        drop(pieces);
        // A purge does nothing while jemalloc's background thread purges the same arena, so one attempt may
        // have no effect. All attempts together take far less time than the second after which unused memory
        // returns without a purge.
        let returned = (0..20).any(|_| {
            purge();
            std::thread::sleep(std::time::Duration::from_millis(5));
            resident_bytes() < full - BYTES / 2
        });
        assert!(returned, "{before} {full} {}", resident_bytes());
    }
}
