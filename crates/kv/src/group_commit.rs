//! Group commit: transactions that commit at the same time share one write and one sync of the log.
//!
//! The first to arrive leads: it takes everyone who queued, runs the group, tells its members, and hands the lead to the
//! first of those who queued meanwhile. That one first lets others run for as long as the queue grows by it: where
//! processors are scarce, those who have just been told soon come back with their next commit, and a group of all is
//! worth more than two of half the size, each with its own sync.

use crate::engine::Durability;
use crate::error::{Error, Result};
use crate::timestamp::Timestamp;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, Thread};

/// A group ends before the member that would take it beyond this, so that one log record stays bounded.
const GROUP_BYTES_MAX: usize = 64 << 20;

/// Fewer committing clients than this do not wait for one another.
const GATHER_FROM: usize = 8;
/// How often a leader lets others run before it begins.
const GATHER_ROUNDS_MAX: usize = 64;

const QUEUED: u8 = 0;
const LEADS: u8 = 1;
const DONE: u8 = 2;

/// How a member of a group learns what became of it.
struct Ticket {
    state: AtomicU8,
    outcome: Mutex<Option<Result<Timestamp>>>,
    thread: Thread,
}

impl Ticket {
    fn set(&self, state: u8) {
        self.state.store(state, Ordering::SeqCst);
        self.thread.unpark();
    }
}

struct Member<P> {
    work: P,
    bytes: usize,
    durability: Durability,
    ticket: Arc<Ticket>,
}

struct Queue<P> {
    members: VecDeque<Member<P>>,
    /// Whether a group is running, or about to.
    led: bool,
    /// Members of the last group.
    last: usize,
}

/// The queue of commits.
pub(crate) struct GroupCommit<P> {
    queue: Mutex<Queue<P>>,
}

impl<P> GroupCommit<P> {
    pub fn new() -> Self {
        Self {
            queue: Mutex::new(Queue {
                members: VecDeque::new(),
                led: false,
                last: 0,
            }),
        }
    }

    /// Has `work` run as part of a group, by this thread or another, and returns the group's outcome. `run` gets the
    /// group's works and whether any member wants them synced; it runs for one group at a time.
    pub fn submit(
        &self,
        work: P,
        bytes: usize,
        durability: Durability,
        run: impl FnOnce(Vec<P>, bool) -> Result<Timestamp>,
    ) -> Result<Timestamp> {
        let ticket = Arc::new(Ticket {
            state: AtomicU8::new(QUEUED),
            outcome: Mutex::new(None),
            thread: thread::current(),
        });
        let leads = {
            let mut queue = self.queue.lock();
            queue.members.push_back(Member {
                work,
                bytes,
                durability,
                ticket: Arc::clone(&ticket),
            });
            !std::mem::replace(&mut queue.led, true)
        };
        if !leads {
            loop {
                match ticket.state.load(Ordering::SeqCst) {
                    DONE => return Self::outcome(&ticket),
                    LEADS => break,
                    _ => thread::park(),
                }
            }
        }
        if !leads {
            self.gather();
        }
        let (works, sync, mut leadership) = self.take_group();
        let outcome = run(works, sync);
        leadership.outcome = Some(outcome);
        drop(leadership);
        Self::outcome(&ticket)
    }

    fn outcome(ticket: &Ticket) -> Result<Timestamp> {
        ticket
            .outcome
            .lock()
            .take()
            .unwrap_or_else(|| Err(Error::Internal("a commit group ended without an outcome".into())))
    }

    /// Lets others queue, for as long as they do. Where a processor is free this returns at once; with few clients, who
    /// would gain nothing, it is not tried.
    fn gather(&self) {
        let mut queued = {
            let queue = self.queue.lock();
            if queue.members.len() + queue.last < GATHER_FROM {
                return;
            }
            queue.members.len()
        };
        for _ in 0..GATHER_ROUNDS_MAX {
            thread::yield_now();
            let now = self.queue.lock().members.len();
            if now == queued {
                return;
            }
            queued = now;
        }
    }

    /// The leader's own member is the first of the queue, so it is always part of the group.
    fn take_group(&self) -> (Vec<P>, bool, Leadership<'_, P>) {
        let mut queue = self.queue.lock();
        let mut works = Vec::with_capacity(queue.members.len());
        let mut tickets = Vec::with_capacity(queue.members.len());
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
            tickets.push(member.ticket);
        }
        queue.last = works.len();
        let leadership = Leadership {
            queue: &self.queue,
            tickets,
            outcome: None,
        };
        (works, sync, leadership)
    }
}

/// Ends a group when it is dropped, also if running it panicked: nobody may be left waiting.
struct Leadership<'a, P> {
    queue: &'a Mutex<Queue<P>>,
    tickets: Vec<Arc<Ticket>>,
    outcome: Option<Result<Timestamp>>,
}

impl<P> Drop for Leadership<'_, P> {
    fn drop(&mut self) {
        let outcome = self
            .outcome
            .take()
            .unwrap_or_else(|| Err(Error::Undetermined("the commit was cut short by a defect".into())));
        for ticket in &self.tickets {
            *ticket.outcome.lock() = Some(outcome.clone());
            ticket.set(DONE);
        }
        let mut queue = self.queue.lock();
        match queue.members.front() {
            Some(next) => next.ticket.set(LEADS),
            None => queue.led = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    #[test]
    fn those_who_come_during_a_write_share_the_next_one() {
        let commits = Arc::new(GroupCommit::<u64>::new());
        let groups = Arc::new(AtomicU64::new(0));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..20_u64)
            .map(|id| {
                let (commits, groups, seen) = (commits.clone(), groups.clone(), seen.clone());
                thread::spawn(move || {
                    commits.submit(id, 1, Durability::Sync, |works, sync| {
                        assert!(sync);
                        thread::sleep(Duration::from_millis(20));
                        seen.lock().extend(works);
                        Ok(groups.fetch_add(1, Ordering::SeqCst))
                    })
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
        let mut seen = seen.lock().clone();
        seen.sort_unstable();
        assert_eq!(seen, (0..20).collect::<Vec<_>>());
        assert!(groups.load(Ordering::SeqCst) < 20, "nobody shared");
    }

    #[test]
    fn a_group_syncs_if_any_member_wants_it() {
        let commits = GroupCommit::<()>::new();
        for (durability, expected) in [
            (Durability::Sync, true),
            (Durability::Os, false),
            (Durability::Lazy, false),
        ] {
            commits
                .submit((), 0, durability, |_, sync| {
                    assert_eq!(sync, expected);
                    Ok(1)
                })
                .unwrap();
        }
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        let commits = Arc::new(GroupCommit::<()>::new());
        let other = Arc::clone(&commits);
        let result =
            thread::spawn(move || other.submit((), 0, Durability::Os, |_, _| panic!("on purpose"))).join();
        assert!(result.is_err());
        assert_eq!(commits.submit((), 0, Durability::Os, |_, _| Ok(7)), Ok(7));
    }
}
