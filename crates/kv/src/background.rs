//! The threads an embedded engine runs by itself: one syncs the log each second for commits that did not wait for it,
//! one collects garbage. One commits for those who do so at the same time (`group_commit`).

use crate::defect;
use crate::embedded::Shared;
use crate::storage::{Pressure, Storage};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Condvar, Mutex};
use scheduling::Turns;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// `innodb_flush_log_at_trx_commit` 0 and 2 promise about a second.
const LOG_SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// Shorter than what all others ask for: many wait for what the thread that commits does.
const COMMIT_TURN: Duration = Duration::from_micros(100);

/// How often it is looked whether superseded versions take too much memory.
const PRESSURE_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// True once it is time to stop.
    fn wait(&self, interval: Duration) -> bool {
        let mut asked = self.asked.lock();
        if !*asked {
            self.changed.wait_for(&mut asked, interval);
        }
        *asked
    }
}

/// Running threads; dropping it stops and joins them.
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
        // No thread to be had: who commits goes on for others then.
        if let Ok(thread) = thread {
            shared.commits.announce_thread();
            background.threads.push(thread);
        }
        // A failure has been noted where it counts: in the store, which refuses further writes, or it will be met
        // again by the next round.
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
                // Logged, and tried again in the next round: both kinds of work leave the store as good as it was, or say so.
                let _ = defect::catch(&doing, || work(&shared));
            }
        });
        // No thread to be had: the same work is done by flush and by explicit collection.
        self.threads.extend(thread);
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.stop.asked.lock() = true;
        self.stop.changed.notify_all();
        (self.end_commits)();
        for thread in self.threads.drain(..) {
            // Whoever is told of a commit may have been the last to know the engine.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
