//! The models, and how they are explored.

pub mod group_commit;
pub mod lock_table;
pub mod row_cache;
pub mod transactions;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};
use std::sync::Arc;

use crate::sync::thread;

/// A failure's message contains the schedule, which `shuttle::replay` runs again.
const SEED: u64 = 0x5EED;

/// The most preemptions of threads that could continue, in one run: most defects need two or three.
const PREEMPTIONS: [usize; 2] = [2, 4];

const STACK_BYTES: usize = 256 << 10;

/// Runs a model `runs` times with each kind of schedule: with few preemptions, and with very many. The
/// environment variable `STEMDB_MODEL_RUNS` multiplies the runs.
pub fn explore(runs: usize, model: fn()) {
    let factor = std::env::var("STEMDB_MODEL_RUNS").ok();
    let runs = runs * factor.and_then(|factor| factor.parse().ok()).unwrap_or(1);
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.silence_warnings = true;
    for preemptions in PREEMPTIONS {
        let scheduler = PctScheduler::new_from_seed(SEED, preemptions, runs);
        Runner::new(scheduler, config.clone()).run(model);
    }
    Runner::new(RandomScheduler::new_from_seed(SEED, runs), config).run(model);
}

/// A random number below `n`.
fn below(n: u64) -> u64 {
    use shuttle::rand::Rng;
    shuttle::rand::thread_rng().gen_range(0..n)
}

/// Runs threads that share a world, and returns what each of them has.
fn run_together<W, T, const N: usize>(world: &Arc<W>, threads: [fn(&W) -> T; N]) -> Vec<T>
where
    W: Send + Sync + 'static,
    T: Send + 'static,
{
    let threads: Vec<_> = threads
        .into_iter()
        .map(|run| {
            let world = Arc::clone(world);
            thread::spawn(move || run(&world))
        })
        .collect();
    let ended = threads.into_iter().map(|thread| thread.join().expect("no panic"));
    ended.collect()
}
