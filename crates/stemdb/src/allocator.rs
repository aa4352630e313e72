//! The allocator: jemalloc, and what it is told.

#![expect(unsafe_code, reason = "jemalloc is spoken to by a symbol and its C interface")]

use std::ffi::CStr;
use std::ptr::null_mut;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Read by jemalloc when the process starts; `MALLOC_CONF` in the environment goes before it. There is a thread for each
/// active connection: what each may keep for itself is small, and what nobody uses goes back to the system soon; but a thread
/// that is at work looks less often for what it could give back, which the next statement would fetch again.
#[unsafe(export_name = "malloc_conf")]
pub static MALLOC_CONF: &[u8] =
    b"background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0,tcache_max:4096,tcache_nslots_small_max:32,tcache_gc_incr_bytes:262144\0";

/// The purge of all arenas: 4096 stands for all of them (`MALLCTL_ARENAS_ALL`).
const PURGE_ALL: &CStr = c"arena.4096.purge";

/// Gives back to the system, now, what was freed and is still kept.
pub fn purge() {
    // SAFETY: The name ends with a zero byte. This control takes no argument and gives no answer.
    let failed =
        unsafe { tikv_jemalloc_sys::mallctl(PURGE_ALL.as_ptr(), null_mut(), null_mut(), null_mut(), 0) };
    if failed != 0 {
        tracing::debug!(failed, "the allocator gave nothing back");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident_bytes() -> usize {
        (memory::Process::plain().resident_bytes)().unwrap()
    }

    #[test]
    fn what_was_freed_goes_back_at_once() {
        const BYTES: usize = 256 << 20;
        let before = resident_bytes();
        let pieces: Vec<Vec<u8>> = (0..BYTES / 65_536)
            .map(|piece| vec![piece as u8 | 1; 65_536])
            .collect();
        let full = resident_bytes();
        assert!(full > before + BYTES / 2, "{before} {full}");
        drop(pieces);
        purge();
        let after = resident_bytes();
        assert!(after < full - BYTES / 2, "{before} {full} {after}");
    }
}
