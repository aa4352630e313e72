//! An embedded engine's own threads: one commits groups (`group_commit`), one syncs the log each second for
//! commits that did not wait for a sync, and one collects garbage.

use crate::defect;
use crate::embedded_state::Shared;
use crate::storage::{Pressure, Storage};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Condvar, Mutex};
use scheduling::Turns;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// `innodb_flush_log_at_trx_commit` 0 and 2 promise about a second.
const LOG_SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// Shorter than the turns of all other threads, because many of them wait for the thread that commits groups.
const COMMIT_TURN: Duration = Duration::from_micros(100);

/// How often memory pressure is checked.
const PRESSURE_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Waits for the interval; true: it is time to stop.
    fn wait(&self, interval: Duration) -> bool {
        let mut asked = self.asked.lock();
        if !*asked {
            self.changed.wait_for(&mut asked, interval);
        }
        *asked
    }
}

/// The running threads. Dropping it stops and joins them.
pub(crate) struct Background {
    stop: Arc<Stop>,
    end_commits: Box<dyn Fn() + Send + Sync>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    pub fn start<S: Storage>(shared: &Arc<Shared<S>>, gc_interval: Duration) -> Self {
        let committing = Arc::clone(shared);
        let mut background = Self {
            stop: Arc::default(),
            end_commits: Box::new(move || committing.commits.stop()),
            threads: Vec::new(),
        };
        let committing = Arc::clone(shared);
        let thread = thread::Builder::new()
            .name("kv-commit".to_owned())
            .spawn(move || {
                Turns::AtOnce(COMMIT_TURN).ask();
                committing.serve_commits();
            });
        // If the thread cannot be started, threads that commit also commit for others.
        if let Ok(thread) = thread {
            shared.commits.announce_thread();
            background.threads.push(thread);
        }
        // A failed sync has made the store refuse further writes. A failed collection is tried again in the
        // next round.
        background.every(LOG_SYNC_INTERVAL, "kv-log-sync", shared, |shared| {
            let _ = shared.sync_log();
        });
        let mut collected = Instant::now();
        background.every(
            PRESSURE_INTERVAL.min(gc_interval),
            "kv-gc",
            shared,
            move |shared| {
                if collected.elapsed() >= gc_interval || shared.storage.pressure() > Pressure::Low {
                    collected = Instant::now();
                    let _ = shared.collect_garbage(false);
                }
            },
        );
        background
    }

    fn every<S: Storage>(
        &mut self,
        interval: Duration,
        name: &str,
        shared: &Arc<Shared<S>>,
        mut work: impl FnMut(&Shared<S>) + Send + 'static,
    ) {
        let stop = Arc::clone(&self.stop);
        let shared: Weak<Shared<S>> = Arc::downgrade(shared);
        let doing = format!("the work of thread {name}");
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            while !stop.wait(interval) {
                let Some(shared) = shared.upgrade() else { return };
                // A panic has been logged, and the next round tries again. Both kinds of work leave the store
                // unharmed, or have made it refuse writes.
                let _ = defect::catch(&doing, || work(&shared));
            }
        });
        // If the thread cannot be started, flush and explicit collections do the same work.
        self.threads.extend(thread);
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.stop.asked.lock() = true;
        self.stop.changed.notify_all();
        (self.end_commits)();
        for thread in self.threads.drain(..) {
            // This may be one of these threads: a commit's completion may drop the last reference to the
            // engine.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
