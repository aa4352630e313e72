//! Group commit: transactions that commit at the same time share one write and one sync of the log.
//!
//! If the queue is idle and no more transactions are open than there are processors, the caller commits its
//! own transaction at once. Otherwise commits queue, and a thread of the queue's own takes all of them as one
//! group, again and again until the queue is empty. One of the waiting threads could lead the next group
//! instead. But where processors are scarce, a thread that has just been woken runs only after all others
//! have had their turn, and nothing is written until then: in the end all threads wait for the one group, and
//! the processors for the disk.
//!
//! The thread that ran a group completes each member, so no member's own thread has to wait for its outcome.
//!
//! While a group runs, all other commits wait. So nothing here waits for a lock or a client, or reads the
//! disk: a commit's own thread does that before it queues ([`crate::embedded_transaction`]). A panic, in the
//! group or in one member's completion, is caught and logged. Each member gets an outcome all the same, and
//! the next group runs.

use crate::defect;
use crate::engine::Durability;
use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex};
use crate::timestamp::Timestamp;
use std::collections::VecDeque;

/// A group ends before the member that would make it larger, so that one log record stays bounded.
const GROUP_BYTES_MAX: usize = 64 << 20;

/// A commit in the queue.
pub(crate) struct QueuedCommit<P> {
    pub work: P,
    pub bytes: usize,
    pub durability: Durability,
    pub completion: Box<dyn Completion>,
}

/// Gets the outcome of a commit.
pub(crate) trait Completion: Send {
    /// Called if the commit does not run at once, while the queue is locked: all commits that queue later run
    /// after it.
    fn queued(&self) {}

    fn complete(self: Box<Self>, outcome: Result<Timestamp>);
}

impl<F: FnOnce(Result<Timestamp>) + Send> Completion for F {
    fn complete(self: Box<Self>, outcome: Result<Timestamp>) {
        self(outcome);
    }
}

struct Queue<P> {
    commits: VecDeque<QueuedCommit<P>>,
    /// A group is running, or is about to.
    is_busy: bool,
    /// The committing thread is to run groups until the queue is empty.
    is_thread_called: bool,
    /// There is such a thread. Without one, the caller that has started continues until the queue is empty.
    has_thread: bool,
    is_stopping: bool,
}

/// Commits a group: takes its members' work, in their order, and whether any of them asked for a sync, and
/// returns the outcome of each. Called for one group at a time.
type Run<'a, P> = dyn Fn(Vec<P>, bool) -> Vec<Result<Timestamp>> + 'a;

/// The queue of commits.
pub(crate) struct GroupCommit<P> {
    queue: Mutex<Queue<P>>,
    changed: Condvar,
}

impl<P> GroupCommit<P> {
    pub fn new() -> Self {
        Self {
            queue: Mutex::new(Queue {
                commits: VecDeque::new(),
                is_busy: false,
                is_thread_called: false,
                has_thread: false,
                is_stopping: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Has a commit run as part of a group: now, or by another thread. `is_crowded`: more threads want to run
    /// than there are processors, so this thread might have to wait for one while other commits wait for this
    /// thread.
    pub fn submit(&self, commit: QueuedCommit<P>, is_crowded: bool, run: &Run<P>) {
        {
            let mut queue = self.queue.lock();
            let runs_now = !(queue.is_busy || is_crowded && queue.has_thread);
            if !runs_now {
                commit.completion.queued();
            }
            queue.commits.push_back(commit);
            if std::mem::replace(&mut queue.is_busy, true) {
                return;
            }
            if !runs_now {
                queue.is_thread_called = true;
                self.changed.notify_all();
                return;
            }
        }
        loop {
            self.run_group(run);
            let mut queue = self.queue.lock();
            if queue.commits.is_empty() {
                queue.is_busy = false;
                return;
            }
            if queue.has_thread {
                queue.is_thread_called = true;
                self.changed.notify_all();
                return;
            }
        }
    }

    /// Says that a thread is going to run [`GroupCommit::serve`].
    pub fn announce_thread(&self) {
        self.queue.lock().has_thread = true;
    }

    /// The committing thread's work. Returns after [`GroupCommit::stop`].
    pub fn serve(&self, run: &Run<P>) {
        loop {
            {
                let mut queue = self.queue.lock();
                while !queue.is_thread_called {
                    if queue.is_stopping {
                        queue.has_thread = false;
                        return;
                    }
                    self.changed.wait(&mut queue);
                }
            }
            loop {
                self.run_group(run);
                let mut queue = self.queue.lock();
                if queue.commits.is_empty() {
                    queue.is_busy = false;
                    queue.is_thread_called = false;
                    break;
                }
            }
        }
    }

    /// Ends the committing thread once the queue is empty.
    pub fn stop(&self) {
        self.queue.lock().is_stopping = true;
        self.changed.notify_all();
    }

    fn run_group(&self, run: &Run<P>) {
        let (works, completions, sync) = self.take_group();
        // Whatever happens, each member gets an outcome.
        let outcomes = defect::catch("committing a group", || run(works, sync)).unwrap_or_default();
        let cut_short = || Err(Error::Undetermined("the commit was cut short by a defect".into()));
        let outcomes = outcomes.into_iter().chain(std::iter::repeat_with(cut_short));
        for (completion, outcome) in completions.into_iter().zip(outcomes) {
            // A panic has been logged. The completion has been dropped then, which ends the commit for all
            // that wait for it.
            let _ = defect::catch("ending a commit", || completion.complete(outcome));
        }
    }

    fn take_group(&self) -> (Vec<P>, Vec<Box<dyn Completion>>, bool) {
        let mut queue = self.queue.lock();
        let mut works = Vec::with_capacity(queue.commits.len());
        let mut completions = Vec::with_capacity(queue.commits.len());
        let mut sync = false;
        let mut bytes = 0_usize;
        while let Some(commit) = queue.commits.front() {
            bytes = bytes.saturating_add(commit.bytes);
            if !works.is_empty() && bytes > GROUP_BYTES_MAX {
                break;
            }
            let Some(commit) = queue.commits.pop_front() else {
                break;
            };
            sync |= commit.durability == Durability::Sync;
            works.push(commit.work);
            completions.push(commit.completion);
        }
        (works, completions, sync)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::outcome_channel;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    type Run = dyn Fn(Vec<u64>, bool) -> Vec<Result<Timestamp>> + Send + Sync;

    fn all(works: &[u64], outcome: Timestamp) -> Vec<Result<Timestamp>> {
        vec![Ok(outcome); works.len()]
    }

    fn submit(commits: &GroupCommit<u64>, work: u64, durability: Durability, run: &Run) -> Result<Timestamp> {
        let (sender, receiver) = outcome_channel();
        let commit = QueuedCommit {
            work,
            bytes: 1,
            durability,
            completion: Box::new(move |outcome| sender.send(outcome)),
        };
        commits.submit(commit, false, &run);
        receiver.wait()
    }

    fn twenty_share(commits: &Arc<GroupCommit<u64>>, run: &Arc<Run>) {
        let threads: Vec<_> = (0..20_u64)
            .map(|id| {
                let (commits, run) = (commits.clone(), run.clone());
                thread::spawn(move || submit(&commits, id, Durability::Sync, &*run))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
    }

    #[test]
    fn commits_that_queue_during_a_write_share_the_next_one() {
        for with_thread in [false, true] {
            let commits = Arc::new(GroupCommit::<u64>::new());
            let groups = Arc::new(AtomicU64::new(0));
            let seen = Arc::new(Mutex::new(Vec::new()));
            let run: Arc<Run> = {
                let (groups, seen) = (groups.clone(), seen.clone());
                Arc::new(move |works, sync| {
                    assert!(sync);
                    thread::sleep(Duration::from_millis(20));
                    seen.lock().extend_from_slice(&works);
                    all(&works, groups.fetch_add(1, Ordering::SeqCst))
                })
            };
            let served = with_thread.then(|| {
                commits.announce_thread();
                let (commits, run) = (commits.clone(), run.clone());
                thread::spawn(move || commits.serve(&*run))
            });
            twenty_share(&commits, &run);
            let mut seen = seen.lock().clone();
            seen.sort_unstable();
            assert_eq!(seen, (0..20).collect::<Vec<_>>());
            assert!(groups.load(Ordering::SeqCst) < 20, "no two shared a group");
            commits.stop();
            if let Some(thread) = served {
                thread.join().unwrap();
                // Without the thread, the caller commits.
                submit(&commits, 20, Durability::Sync, &*run).unwrap();
            }
        }
    }

    #[test]
    fn commits_that_queued_for_a_stopped_thread_still_run() {
        let commits = GroupCommit::<u64>::new();
        let (begun, has_begun) = channel();
        let (release, wait) = channel::<()>();
        let (sender, outcomes) = channel();
        let wait = Mutex::new(wait);
        let run = move |works: Vec<u64>, _| {
            begun.send(works.clone()).unwrap();
            let _ = wait.lock().recv();
            all(&works, 1)
        };
        let run: &Run = &run;
        let commit = |work| {
            let sender = sender.clone();
            QueuedCommit {
                work,
                bytes: 1,
                durability: Durability::Os,
                completion: Box::new(move |outcome| sender.send(outcome).unwrap()),
            }
        };
        commits.announce_thread();
        thread::scope(|scope| {
            let served = scope.spawn(|| commits.serve(&run));
            let first = commit(0);
            scope.spawn(|| commits.submit(first, false, &run));
            assert_eq!(has_begun.recv().unwrap(), [0]);
            commits.submit(commit(1), false, &run);
            commits.submit(commit(2), false, &run);
            commits.stop();
            served.join().unwrap();
            drop(release);
        });
        assert_eq!(has_begun.recv().unwrap(), [1, 2]);
        drop(sender);
        assert_eq!(outcomes.iter().collect::<Vec<_>>(), [Ok(1), Ok(1), Ok(1)]);
    }

    #[test]
    fn when_it_is_crowded_the_thread_commits() {
        let commits = GroupCommit::<u64>::new();
        let run = |works: Vec<u64>, _| all(&works, 1);
        let run: &Run = &run;
        commits.announce_thread();
        thread::scope(|scope| {
            let served = scope.spawn(|| commits.serve(&run));
            for crowded in [true, false, true] {
                let (sender, outcomes) = channel();
                let commit = QueuedCommit {
                    work: 0,
                    bytes: 1,
                    durability: Durability::Os,
                    completion: Box::new(move |_| sender.send(thread::current().id()).unwrap()),
                };
                commits.submit(commit, crowded, &run);
                assert_eq!(outcomes.recv().unwrap() == served.thread().id(), crowded);
                // Until the queue is idle again.
                while commits.queue.lock().is_busy {
                    thread::yield_now();
                }
            }
            commits.stop();
        });
    }

    #[test]
    fn a_group_syncs_if_any_member_wants_it() {
        let commits = GroupCommit::new();
        for (durability, expected) in [
            (Durability::Sync, true),
            (Durability::Os, false),
            (Durability::Lazy, false),
        ] {
            let run = move |works: Vec<u64>, sync| {
                assert_eq!(sync, expected);
                all(&works, 1)
            };
            submit(&commits, 0, durability, &run).unwrap();
        }
    }

    /// A panic's payload.
    struct PanicsAgain;

    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic!("once more");
        }
    }

    #[test]
    fn a_panic_while_dropping_a_panic_does_not_end_the_thread() {
        let commits = GroupCommit::<u64>::new();
        let run: &Run = &|works, _| all(&works, 1);
        commits.announce_thread();
        thread::scope(|scope| {
            scope.spawn(|| commits.serve(&run));
            let (sender, outcomes) = channel();
            for work in 0..3 {
                let sender = sender.clone();
                let done = move |outcome| match work {
                    2 => sender.send(outcome).unwrap(),
                    _ => std::panic::panic_any(PanicsAgain),
                };
                let commit = QueuedCommit {
                    work,
                    bytes: 1,
                    durability: Durability::Os,
                    completion: Box::new(done),
                };
                commits.submit(commit, true, &run);
            }
            let outcome = outcomes.recv_timeout(Duration::from_secs(20));
            commits.stop();
            assert_eq!(outcome.unwrap(), Ok(1));
        });
    }

    #[test]
    fn a_panic_leaves_no_commit_waiting() {
        let commits = GroupCommit::new();
        let outcome = submit(&commits, 0, Durability::Os, &|_, _| panic!("on purpose"));
        assert!(matches!(outcome, Err(Error::Undetermined(_))));
        assert_eq!(
            submit(&commits, 0, Durability::Os, &|works, _| all(&works, 7)),
            Ok(7)
        );
    }
}
