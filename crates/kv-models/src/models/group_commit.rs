//! The queue of commits. What must hold: each member gets its outcome once; a commit that reports success is
//! in the log, and synced if it requested that; commits are written and completed in the order in which they
//! queued; one group is written at a time. All this must hold even if the writing thread fails or panics, and
//! if a completion panics.

use super::below;
use crate::engine::Durability;
use crate::error::{Error, Result};
use crate::group_commit::{GroupCommit, QueuedCommit};
use crate::sync::{Condvar, Mutex, thread};
use crate::timestamp::Timestamp;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex as Unseen, PoisonError};

const THREADS: u64 = 3;
const EACH: u64 = 3;

#[derive(Default)]
struct Log {
    is_writing: bool,
    written: Vec<u64>,
    synced: usize,
    completed: Vec<(u64, bool)>,
    /// What was wrong. A panic here would be caught like the injected ones.
    wrong: Vec<String>,
}

impl Log {
    fn insist(&mut self, holds: bool, what: &str) {
        if !holds {
            self.wrong.push(what.to_owned());
        }
    }
}

struct World {
    commits: GroupCommit<u64>,
    log: Unseen<Log>,
    /// How many commits have been completed.
    completed: Mutex<u64>,
    another: Condvar,
    /// One in so many groups fails, and one in so many completions panics; 0: none.
    faults: u64,
}

impl World {
    fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fails(&self) -> bool {
        self.faults > 0 && below(self.faults) == 0
    }

    fn run(&self, works: Vec<u64>, sync: bool) -> Vec<Result<Timestamp>> {
        {
            let mut log = self.log();
            let is_alone = !std::mem::replace(&mut log.is_writing, true);
            log.insist(is_alone, "two groups at a time");
        }
        // Other commits arrive meanwhile.
        thread::sleep(std::time::Duration::ZERO);
        let fate = if self.fails() { below(3) } else { 3 };
        if fate == 0 {
            self.log().is_writing = false;
            return works
                .iter()
                .map(|_| Err(Error::Io("on purpose".into())))
                .collect();
        }
        let mut outcomes = Vec::new();
        for (at, work) in works.iter().enumerate() {
            if fate == 1 && at == 1 {
                self.log().is_writing = false;
                // Panics without a message on the terminal.
                resume_unwind(Box::new("on purpose"));
            }
            let mut log = self.log();
            log.written.push(*work);
            outcomes.push(Ok(log.written.len() as Timestamp));
        }
        thread::sleep(std::time::Duration::ZERO);
        let mut log = self.log();
        if sync {
            log.synced = log.written.len();
        }
        log.is_writing = false;
        if fate == 2 {
            outcomes.pop();
        }
        outcomes
    }

    fn submit(self: &Arc<Self>, work: u64, crowded: bool) {
        let world = Arc::clone(self);
        let durability = if work.is_multiple_of(2) {
            Durability::Sync
        } else {
            Durability::Os
        };
        let completion = move |outcome: Result<Timestamp>| {
            {
                let mut log = world.log();
                log.completed.push((work, outcome.is_ok()));
                if let Ok(place) = outcome {
                    let place = place as usize;
                    let is_own = log.written.get(place - 1) == Some(&work);
                    let is_synced = durability == Durability::Os || log.synced >= place;
                    log.insist(is_own, "completed with another commit's outcome");
                    log.insist(is_synced, "completed before the sync");
                }
            }
            *world.completed.lock() += 1;
            world.another.notify_all();
            if world.fails() {
                resume_unwind(Box::new("on purpose"));
            }
        };
        let commit = QueuedCommit {
            work,
            bytes: 1,
            durability,
            completion: Box::new(completion),
        };
        self.commits
            .submit(commit, crowded, &|works, sync| self.run(works, sync));
    }
}

fn check(faults: u64, with_thread: bool) {
    let world = Arc::new(World {
        commits: GroupCommit::new(),
        log: Unseen::default(),
        completed: Mutex::default(),
        another: Condvar::new(),
        faults,
    });
    let served = with_thread.then(|| {
        world.commits.announce_thread();
        let world = Arc::clone(&world);
        thread::spawn(move || world.commits.serve(&|works, sync| world.run(works, sync)))
    });
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let world = Arc::clone(&world);
            thread::spawn(move || (0..EACH).for_each(|n| world.submit(thread * EACH + n, n == 1)))
        })
        .collect();
    // Possibly while some commits are still arriving.
    let stops_early = below(2) == 0;
    if stops_early {
        world.commits.stop();
    }
    threads
        .into_iter()
        .for_each(|thread| thread.join().expect("no panic"));
    {
        // Without a stop, all commits are completed.
        let mut completed = world.completed.lock();
        while *completed < THREADS * EACH {
            world.another.wait(&mut completed);
        }
    }
    world.commits.stop();
    if let Some(thread) = served {
        thread.join().expect("no panic");
    }
    let log = world.log();
    assert_eq!(log.wrong, [""; 0]);
    let mut completed: Vec<u64> = log.completed.iter().map(|(work, _)| *work).collect();
    for thread in 0..THREADS {
        let is_own = |work: &u64| work / EACH == thread;
        assert!(
            completed.iter().copied().filter(is_own).is_sorted(),
            "completed out of order: {completed:?}"
        );
        assert!(
            log.written.iter().copied().filter(is_own).is_sorted(),
            "{:?}",
            log.written
        );
    }
    completed.sort_unstable();
    assert_eq!(
        completed,
        (0..THREADS * EACH).collect::<Vec<_>>(),
        "each is completed once"
    );
    if faults == 0 {
        assert!(log.completed.iter().all(|(_, is_committed)| *is_committed));
    }
}

/// With the thread that commits groups, which may be stopped while some commits are still arriving.
pub fn with_a_thread() {
    check(0, true);
}

/// The thread that starts continues for the others.
pub fn without_a_thread() {
    check(0, false);
}

/// Groups that fail, that a panic cuts short, or whose outcomes are missing; completions that panic.
pub fn with_faults() {
    check(3, below(2) == 0);
}
