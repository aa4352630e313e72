//! Group commit: transactions that commit at the same time share one write and one sync of the log.
//!
//! Who finds nobody at work, and few who could come, runs its own commit, at once. All others queue, and a thread of the
//! queue's own takes all who have as one group, again and again until nobody is left. One of those who wait could do that
//! as well; but where processors are scarce, a thread that has just been woken runs only after all others have had their turn, and
//! until then nothing is written. In the end everybody waits for the one group, and the processors for the disk.
//!
//! Members are told what became of their group by whoever ran it, so a thread that commits need not wait for that.
//!
//! While a group runs, all other commits wait. So what runs here neither waits for a lock or a client nor reads the disk: that is
//! done before a commit queues, by its own thread ([`crate::embedded_transaction`]). And whatever panics here, the group
//! or one member's end, is caught and logged, each member gets an outcome, and the next group runs.

use crate::defect;
use crate::engine::Durability;
use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex};
use crate::timestamp::Timestamp;
use std::collections::VecDeque;

/// A group ends before the member that would take it beyond this, so that one log record stays bounded.
const GROUP_BYTES_MAX: usize = 64 << 20;

/// A commit that queues.
pub(crate) struct Member<P> {
    pub work: P,
    pub bytes: usize,
    pub durability: Durability,
    pub done: Box<dyn Told>,
}

/// Is told the outcome of its commit.
pub(crate) trait Told: Send {
    /// Its commit does not run at once. All that come to the queue from now on run after it.
    fn queued(&self) {}

    fn told(self: Box<Self>, outcome: Result<Timestamp>);
}

impl<F: FnOnce(Result<Timestamp>) + Send> Told for F {
    fn told(self: Box<Self>, outcome: Result<Timestamp>) {
        self(outcome);
    }
}

struct Queue<P> {
    members: VecDeque<Member<P>>,
    /// Whether a group is running, or about to.
    busy: bool,
    /// Whether it is the thread's turn.
    called: bool,
    /// Whether there is such a thread. Without it, who has begun goes on until the queue is empty.
    served: bool,
    stopping: bool,
}

/// Commits a group: gets its members' works, in their order, and whether any of them wants them synced, and gives each one's
/// outcome. It runs for one group at a time.
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
                members: VecDeque::new(),
                busy: false,
                called: false,
                served: false,
                stopping: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Has a commit run as part of a group: now, or by another thread. `crowded`: there are more who want a processor than
    /// processors, so that this thread might wait for one while others wait for it.
    pub fn submit(&self, member: Member<P>, crowded: bool, run: &Run<P>) {
        {
            let mut queue = self.queue.lock();
            let runs_now = !(queue.busy || crowded && queue.served);
            if !runs_now {
                member.done.queued();
            }
            queue.members.push_back(member);
            if std::mem::replace(&mut queue.busy, true) {
                return;
            }
            if !runs_now {
                queue.called = true;
                self.changed.notify_all();
                return;
            }
        }
        loop {
            self.run_group(run);
            let mut queue = self.queue.lock();
            if queue.members.is_empty() {
                queue.busy = false;
                return;
            }
            if queue.served {
                queue.called = true;
                self.changed.notify_all();
                return;
            }
        }
    }

    /// Says that a thread runs [`GroupCommit::serve`].
    pub fn announce_thread(&self) {
        self.queue.lock().served = true;
    }

    /// The thread's work; ends after [`GroupCommit::stop`].
    pub fn serve(&self, run: &Run<P>) {
        loop {
            {
                let mut queue = self.queue.lock();
                while !queue.called {
                    if queue.stopping {
                        queue.served = false;
                        return;
                    }
                    self.changed.wait(&mut queue);
                }
            }
            loop {
                self.run_group(run);
                let mut queue = self.queue.lock();
                if queue.members.is_empty() {
                    queue.busy = false;
                    queue.called = false;
                    break;
                }
            }
        }
    }

    /// Ends the thread once nobody queues.
    pub fn stop(&self) {
        self.queue.lock().stopping = true;
        self.changed.notify_all();
    }

    fn run_group(&self, run: &Run<P>) {
        let (works, dones, sync) = self.take_group();
        // Whatever happens, nobody may be left waiting.
        let outcomes = defect::catch("committing a group", || run(works, sync)).unwrap_or_default();
        let cut_short = || Err(Error::Undetermined("the commit was cut short by a defect".into()));
        let outcomes = outcomes.into_iter().chain(std::iter::repeat_with(cut_short));
        for (done, outcome) in dones.into_iter().zip(outcomes) {
            // Logged. Who was to be told has been dropped, which tells all who wait for it.
            let _ = defect::catch("ending a commit", || done.told(outcome));
        }
    }

    fn take_group(&self) -> (Vec<P>, Vec<Box<dyn Told>>, bool) {
        let mut queue = self.queue.lock();
        let mut works = Vec::with_capacity(queue.members.len());
        let mut dones = Vec::with_capacity(queue.members.len());
        let mut sync = false;
        let mut bytes = 0_usize;
        while let Some(member) = queue.members.front() {
            bytes = bytes.saturating_add(member.bytes);
            if !works.is_empty() && bytes > GROUP_BYTES_MAX {
                break;
            }
            let Some(member) = queue.members.pop_front() else {
                break;
            };
            sync |= member.durability == Durability::Sync;
            works.push(member.work);
            dones.push(member.done);
        }
        (works, dones, sync)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ticket::Ticket;
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
        let (ticket, promise) = Ticket::new();
        let member = Member {
            work,
            bytes: 1,
            durability,
            done: Box::new(move |outcome| promise.keep(outcome)),
        };
        commits.submit(member, false, &run);
        ticket.wait()
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
    fn those_who_come_during_a_write_share_the_next_one() {
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
            assert!(groups.load(Ordering::SeqCst) < 20, "nobody shared");
            commits.stop();
            if let Some(thread) = served {
                thread.join().unwrap();
                // And nobody is left behind when it is gone.
                submit(&commits, 20, Durability::Sync, &*run).unwrap();
            }
        }
    }

    #[test]
    fn who_queued_for_a_thread_that_has_stopped_is_not_left_behind() {
        let commits = GroupCommit::<u64>::new();
        let (begun, has_begun) = channel();
        let (let_go, wait) = channel::<()>();
        let (tell, told) = channel();
        let wait = Mutex::new(wait);
        let run = move |works: Vec<u64>, _| {
            begun.send(works.clone()).unwrap();
            let _ = wait.lock().recv();
            all(&works, 1)
        };
        let run: &Run = &run;
        let member = |work| {
            let tell = tell.clone();
            Member {
                work,
                bytes: 1,
                durability: Durability::Os,
                done: Box::new(move |outcome| tell.send(outcome).unwrap()),
            }
        };
        commits.announce_thread();
        thread::scope(|scope| {
            let served = scope.spawn(|| commits.serve(&run));
            let first = member(0);
            scope.spawn(|| commits.submit(first, false, &run));
            assert_eq!(has_begun.recv().unwrap(), [0]);
            commits.submit(member(1), false, &run);
            commits.submit(member(2), false, &run);
            commits.stop();
            served.join().unwrap();
            drop(let_go);
        });
        assert_eq!(has_begun.recv().unwrap(), [1, 2]);
        drop(tell);
        assert_eq!(told.iter().collect::<Vec<_>>(), [Ok(1), Ok(1), Ok(1)]);
    }

    #[test]
    fn in_a_crowd_the_thread_commits() {
        let commits = GroupCommit::<u64>::new();
        let run = |works: Vec<u64>, _| all(&works, 1);
        let run: &Run = &run;
        commits.announce_thread();
        thread::scope(|scope| {
            let served = scope.spawn(|| commits.serve(&run));
            for crowded in [true, false, true] {
                let (tell, told) = channel();
                let member = Member {
                    work: 0,
                    bytes: 1,
                    durability: Durability::Os,
                    done: Box::new(move |_| tell.send(thread::current().id()).unwrap()),
                };
                commits.submit(member, crowded, &run);
                assert_eq!(told.recv().unwrap() == served.thread().id(), crowded);
                // Until it has noticed that nobody is left.
                while commits.queue.lock().busy {
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

    /// What a panic was raised with.
    struct PanicsAgain;

    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic!("once more");
        }
    }

    #[test]
    fn a_panic_that_goes_on_does_not_end_the_thread() {
        let commits = GroupCommit::<u64>::new();
        let run: &Run = &|works, _| all(&works, 1);
        commits.announce_thread();
        thread::scope(|scope| {
            scope.spawn(|| commits.serve(&run));
            let (tell, told) = channel();
            for work in 0..3 {
                let tell = tell.clone();
                let done = move |outcome| match work {
                    2 => tell.send(outcome).unwrap(),
                    _ => std::panic::panic_any(PanicsAgain),
                };
                let member = Member {
                    work,
                    bytes: 1,
                    durability: Durability::Os,
                    done: Box::new(done),
                };
                commits.submit(member, true, &run);
            }
            let outcome = told.recv_timeout(Duration::from_secs(20));
            commits.stop();
            assert_eq!(outcome.unwrap(), Ok(1));
        });
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        let commits = GroupCommit::new();
        let outcome = submit(&commits, 0, Durability::Os, &|_, _| panic!("on purpose"));
        assert!(matches!(outcome, Err(Error::Undetermined(_))));
        assert_eq!(
            submit(&commits, 0, Durability::Os, &|works, _| all(&works, 7)),
            Ok(7)
        );
    }
}
