//! Large pages for the program's own code.
//!
//! A processor caches the translations of a few dozen pages of code. A server whose connections each
//! execute a little of everything, alternating with the kernel, uses hundreds of the usual 4 KiB pages. In
//! a virtual machine a missing translation takes up to 24 memory accesses. So the code is copied to pages
//! of 2 MiB, which replace the original pages at the same addresses.
//!
//! The copy belongs to the process: it counts as its memory, and profilers no longer know which file it
//! came from.

use std::io;

/// Moves the running program's code to large pages. Returns the number of bytes moved; 0 if the kernel has
/// no such pages. If the kernel runs out of them, small pages take their place.
///
/// # Errors
/// The kernel does not permit it, or has no memory for a copy. Nothing has changed then. If the kernel runs
/// out of memory for page tables in the middle of the exchange, the program ends.
pub fn move_to_large_pages() -> io::Result<usize> {
    #[cfg(target_os = "linux")]
    return linux::move_to_large_pages();
    #[cfg(not(target_os = "linux"))]
    Ok(0)
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
mod linux {
    use libc::{
        MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, MREMAP_FIXED, MREMAP_MAYMOVE, PROT_EXEC,
        PROT_READ, PROT_WRITE, madvise, mmap, mprotect, mremap, munmap,
    };
    use std::io::{self, Error};
    use std::ops::Range;
    use std::{fs, ptr};

    const SETTINGS: &str = "/sys/kernel/mm/transparent_hugepage";

    /// Larger pages (512 MiB on some ARM kernels) are of no use here.
    const PAGE_MAX: usize = 2 << 20;

    pub fn move_to_large_pages() -> io::Result<usize> {
        let Some(page) = large_page() else {
            return Ok(0);
        };
        let code = own_code(&fs::read_to_string("/proc/self/maps")?);
        let code = code.start.next_multiple_of(page)..code.end / page * page;
        if code.is_empty() {
            return Ok(0);
        }
        replace(&code, page)?;
        Ok(code.len())
    }

    /// The size of large pages, if the kernel gives them on request.
    fn large_page() -> Option<usize> {
        let enabled = fs::read_to_string(format!("{SETTINGS}/enabled")).ok()?;
        let size = fs::read_to_string(format!("{SETTINGS}/hpage_pmd_size")).ok()?;
        let size = size.trim().parse().ok()?;
        (!enabled.contains("[never]") && size <= PAGE_MAX).then_some(size)
    }

    /// The mapping that this function's code lies in; empty if `maps` (proc_pid_maps(5)) does not show it.
    pub fn own_code(maps: &str) -> Range<usize> {
        let here = own_code as fn(&str) -> Range<usize> as usize;
        let code = maps.lines().find_map(|line| {
            let (addresses, rest) = line.split_once(' ')?;
            let (start, end) = addresses.split_once('-')?;
            let address = |text| usize::from_str_radix(text, 16).ok();
            let range = address(start)?..address(end)?;
            (rest.starts_with("r-xp ") && range.contains(&here)).then_some(range)
        });
        code.unwrap_or_default()
    }

    /// `code` must begin and end on a page boundary.
    pub fn replace(code: &Range<usize>, page: usize) -> io::Result<()> {
        let length = code.len();
        // Enough space to start on a large page's boundary, wherever the kernel places it.
        let room = length + page;
        // SAFETY: this maps new memory, which no other code refers to.
        let place = unsafe {
            mmap(
                ptr::null_mut(),
                room,
                PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if place == MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let copy = place.map_addr(|address| address.next_multiple_of(page));
        // SAFETY: `copy` has `length` bytes of the memory mapped above. `code` is mapped readable, and is
        // never written.
        unsafe {
            madvise(copy, length, MADV_HUGEPAGE);
            ptr::copy_nonoverlapping(
                ptr::with_exposed_provenance::<u8>(code.start),
                copy.cast(),
                length,
            );
        }
        // SAFETY: the kernel exchanges the pages in one step. A thread that runs there meanwhile waits, and
        // continues with the same instructions at the same addresses. The rest of the new memory is
        // unmapped.
        let moved = unsafe {
            let moved = mprotect(copy, length, PROT_READ | PROT_EXEC) == 0 && {
                let to = ptr::with_exposed_provenance_mut::<libc::c_void>(code.start);
                mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED
            };
            if moved {
                Ok(())
            } else {
                Err(Error::last_os_error())
            }
        };
        let before = copy.addr() - place.addr();
        let behind = copy.map_addr(|address| address + length);
        // SAFETY: both ends belong to the memory mapped above, and hold no data.
        unsafe {
            if moved.is_err() {
                munmap(place, room);
            } else {
                if before > 0 {
                    munmap(place, before);
                }
                if before < page {
                    munmap(behind, page - before);
                }
            }
        }
        moved
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn the_program_finds_its_code() {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let code = linux::own_code(&maps);
        assert!(code.contains(&(work as fn(u64) -> String as usize)), "{code:x?}");
        assert!(linux::own_code("").is_empty());
        assert!(linux::own_code("x-y r-xp\n\n5-z").is_empty());
    }

    /// Some code to run.
    fn work(seed: u64) -> String {
        let mut words: Vec<String> = (0..50).map(|n| format!("{:x}", seed.wrapping_mul(n))).collect();
        words.sort();
        words.join(",")
    }

    /// All of this program's code, which may be smaller than a large page, and the data around it in its
    /// mapping's pages.
    #[test]
    fn code_runs_on_while_it_moves() {
        const SMALL_PAGE: usize = 4096;
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let code = linux::own_code(&maps);
        let expected: Vec<_> = (0..20).map(work).collect();
        let (running, done) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        assert!((0..20).map(work).eq(expected.iter().cloned()));
                        running.store(true, Ordering::Relaxed);
                    }
                });
            }
            while !running.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            for _ in 0..10 {
                linux::replace(&code, SMALL_PAGE).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let start = format!("{:x}-", code.start);
        let line = maps.lines().find(|line| line.starts_with(&start)).unwrap();
        assert!(
            line.contains(" r-xp ") && line.contains(" 00:00 0"),
            "still of a file: {line}"
        );
        assert!((0..20).map(work).eq(expected));
        // Works with as many large pages as there are.
        assert!(move_to_large_pages().unwrap() <= code.len());
    }
}
