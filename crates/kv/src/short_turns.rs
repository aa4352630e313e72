//! A thread that is to run soon after it has waited.

/// Asks Linux to give the calling thread short turns: where several threads want a processor, a short turn has the earlier
/// deadline, and the earliest is next (`sched_setattr(2)`: `sched_runtime` of SCHED_OTHER, Linux 6.12 and later). It is no
/// priority, needs no privilege, and takes nothing from others over time. Where the kernel does not know it, nothing changes.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "two system calls without a safe wrapper")]
pub(crate) fn ask_for_short_turns() {
    const TURN_NS: u64 = 100_000;
    let size = u32::try_from(size_of::<libc::sched_attr>()).unwrap_or(0);
    // SAFETY: plain integers, for which all zeros is a value.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: 0 is the calling thread; the kernel writes at most `size` bytes, which is the structure's size.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if got != 0 || attributes.sched_policy != u32::try_from(libc::SCHED_OTHER).unwrap_or(u32::MAX) {
        return;
    }
    attributes.sched_runtime = TURN_NS;
    // SAFETY: as above; the kernel reads as many bytes as the structure's first field says, which it has written itself.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn ask_for_short_turns() {}
