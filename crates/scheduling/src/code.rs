//! Large pages for the program's own code.
//!
//! The processor keeps the translations of a few dozen pages of code at hand. A server whose connections each run a
//! little of everything, in turns with the kernel, goes through hundreds of the usual 4 KiB; where the machine is itself
//! a guest, finding one again takes up to 24 looks into memory. So the code is copied to pages of 2 MiB, which take the place of those that
//! the program was loaded to, at the same addresses.
//!
//! The copy belongs to the process: it counts as its memory, and profilers no longer know from which file it came.

use std::io;

/// Moves the code of the running program to large pages, while it runs. Bytes that were moved; 0 where the kernel gives no
/// such pages. Where it has none left, small ones take their place until it has.
///
/// # Errors
/// The kernel does not allow it, or has no memory for a copy. Nothing has changed then. (Should it have none for the tables of
/// pages in the middle of the exchange, the program ends.)
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

    /// Larger ones (512 MiB on some ARM kernels) are of no use here.
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

    /// Their size, if the kernel gives them to who asks.
    fn large_page() -> Option<usize> {
        let enabled = fs::read_to_string(format!("{SETTINGS}/enabled")).ok()?;
        let size = fs::read_to_string(format!("{SETTINGS}/hpage_pmd_size")).ok()?;
        let size = size.trim().parse().ok()?;
        (!enabled.contains("[never]") && size <= PAGE_MAX).then_some(size)
    }

    /// Where this function lies, with what it is mapped with; empty if `maps` (proc_pid_maps(5)) does not tell.
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

    /// `code` begins and ends with a page.
    pub fn replace(code: &Range<usize>, page: usize) -> io::Result<()> {
        let length = code.len();
        // Room to begin with a large page, wherever the kernel puts it.
        let room = length + page;
        // SAFETY: new memory, which nothing else knows of.
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
        // SAFETY: `copy` has `length` bytes of the memory mapped above. `code` is mapped to be read, and is never written.
        unsafe {
            madvise(copy, length, MADV_HUGEPAGE);
            ptr::copy_nonoverlapping(
                ptr::with_exposed_provenance::<u8>(code.start),
                copy.cast(),
                length,
            );
        }
        // SAFETY: the kernel exchanges the pages in one step: who runs there meanwhile waits for it, and goes on with the
        // same instructions at the same addresses. What is left of the new memory is given back.
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
        // SAFETY: both ends are of the memory mapped above, and hold nothing.
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

    /// Something to run.
    fn work(seed: u64) -> String {
        let mut words: Vec<String> = (0..50).map(|n| format!("{:x}", seed.wrapping_mul(n))).collect();
        words.sort();
        words.join(",")
    }

    /// All of this program's code, which may be less than a large page, and what lies around it in its mapping's pages.
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
        // Whatever there is of large pages.
        assert!(move_to_large_pages().unwrap() <= code.len());
    }
}
