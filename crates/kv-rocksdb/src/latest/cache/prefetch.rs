//! Asks for memory ahead of its use.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction has no safe wrapper")
)]

/// Brings the memory at an address of `bytes` into the processor's cache, without waiting for it. Does nothing for an
/// address behind them, and on processors for which the standard library has no such instruction.
#[inline]
pub(super) fn prefetch<T>(items: &[T], at: usize) {
    let Some(item) = items.get(at) else { return };
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of an item of the slice. The instruction changes no memory and no register.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
