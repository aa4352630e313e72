//! Runs every fuzz target on a fixed number of inputs: no panic, no hang, limited memory.
//!
//! `FUZZ_INPUTS=1000000 cargo test --release -p stemdb-fuzz` runs longer; `FUZZ_SEED=n` uses other inputs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fuzz::bounded::{Counting, peak_of};
use fuzz::mutate::{Random, mutate};
use fuzz::{TARGETS, Target};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// No input is longer than about 200 KiB, and no input may take more memory than this.
const PEAK_BYTES_MAX: usize = 64 << 20;

/// An input that takes this long is a hang.
const HUNG_AFTER: Duration = Duration::from_secs(120);

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn run(target: &Target) {
    let inputs = setting("FUZZ_INPUTS", 20_000);
    let seed = setting("FUZZ_SEED", 1);
    let seeds = (target.seeds)();
    assert!(!seeds.is_empty(), "{}", target.name);
    let mut random = Random::new(seed);
    let done = Arc::new(AtomicU64::new(0));
    watch(target.name, &done, inputs);
    let check = |input: &[u8]| {
        let peak = peak_of(|| (target.run)(input));
        assert!(
            peak < PEAK_BYTES_MAX,
            "{}: {peak} bytes for {}",
            target.name,
            input.escape_ascii()
        );
    };
    seeds.iter().for_each(|input| check(input));
    for _ in 0..inputs {
        let input = mutate(&seeds, &mut random);
        if std::panic::catch_unwind(|| check(&input)).is_err() {
            panic!("{} failed for the input {}", target.name, input.escape_ascii());
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ends the process if one input takes too long.
fn watch(name: &'static str, done: &Arc<AtomicU64>, inputs: u64) {
    let done = done.clone();
    std::thread::spawn(move || {
        let mut last = u64::MAX;
        loop {
            let now = done.load(Ordering::Relaxed);
            if now == inputs {
                return;
            }
            if now == last {
                eprintln!("{name}: input {now} has been running for {HUNG_AFTER:?}");
                std::process::abort();
            }
            last = now;
            std::thread::sleep(HUNG_AFTER);
        }
    });
}

/// All targets run in one test, because memory is counted for the whole process.
#[test]
fn no_target_panics_hangs_or_grows() {
    TARGETS.iter().for_each(run);
}
