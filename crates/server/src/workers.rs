//! Threads for connections: each active connection has one. When a connection closes or is parked, its
//! thread waits a short time for another connection.

use std::cell::Cell;
use std::io;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::available_parallelism;
use std::time::Duration;

use parking_lot::Mutex;
use scheduling::Turns;

type Job = Box<dyn FnOnce() + Send>;

/// How long a thread waits for another connection.
const LINGER: Duration = Duration::from_secs(10);

/// Enough time for several commands, and a fraction of Linux's default time slice. A thread that is
/// preempted in the middle of a command is then not delayed for milliseconds.
const TURN: Duration = Duration::from_micros(500);

/// A pool of threads without a limit of its own: `max_connections` is the limit.
pub struct Workers {
    idle: Mutex<Vec<(u64, Sender<Job>)>>,
    next_id: Mutex<u64>,
    stack_bytes: usize,
    /// Threads that serve a connection.
    active: AtomicUsize,
    cores: usize,
}

thread_local! {
    /// The scheduling that this thread has requested.
    static TURNS: Cell<Option<Turns>> = const { Cell::new(None) };
}

impl Workers {
    pub fn new(stack_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            idle: Mutex::new(Vec::new()),
            next_id: Mutex::new(0),
            stack_bytes,
            active: AtomicUsize::new(0),
            cores: available_parallelism().map_or(1, NonZero::get),
        })
    }

    /// Runs `job` on a thread of its own. Fails if the system cannot create a thread; the job is dropped
    /// then.
    pub fn run(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut job: Job = Box::new(job);
        loop {
            // Not within `while let`, which would hold the lock while the job is sent.
            let waiting = self.idle.lock().pop();
            let Some((_, sender)) = waiting else { break };
            match sender.send(job) {
                Ok(()) => return Ok(()),
                Err(returned) => job = returned.0,
            }
        }
        self.spawn(job)
    }

    /// Threads that wait for a connection.
    pub fn waiting(&self) -> usize {
        self.idle.lock().len()
    }

    /// Threads that were created since the start.
    pub fn created(&self) -> u64 {
        *self.next_id.lock()
    }

    fn spawn(self: &Arc<Self>, job: Job) -> io::Result<()> {
        let id = {
            let mut next = self.next_id.lock();
            *next += 1;
            *next
        };
        let workers = self.clone();
        std::thread::Builder::new()
            .name(format!("connection-{id}"))
            .stack_size(self.stack_bytes)
            .spawn(move || workers.work(id, job))
            .map(drop)
    }

    fn work(&self, id: u64, first: Job) {
        let (sender, receiver) = channel();
        let mut job = first;
        loop {
            self.active.fetch_add(1, Ordering::Relaxed);
            // The last line of defence: after a panic on one connection, this thread and all others
            // continue.
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("a connection's thread panicked; its connection is closed");
            }
            self.active.fetch_sub(1, Ordering::Relaxed);
            self.idle.lock().push((id, sender.clone()));
            match self.next_job(id, &receiver) {
                Some(next) => job = next,
                None => return,
            }
        }
    }

    /// Requests the scheduling that suits the calling thread now, if it has another one.
    pub fn ask_for_turns(&self) {
        let wanted = turns(self.active.load(Ordering::Relaxed), self.cores);
        if TURNS.replace(Some(wanted)) != Some(wanted) {
            wanted.ask();
        }
    }

    fn next_job(&self, id: u64, receiver: &Receiver<Job>) -> Option<Job> {
        match receiver.recv_timeout(LINGER) {
            Ok(job) => return Some(job),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let mut idle = self.idle.lock();
        let before = idle.len();
        idle.retain(|(other, _)| *other != id);
        let withdrawn = idle.len() < before;
        drop(idle);
        // Another thread has just taken it off the list, so a job will arrive.
        if withdrawn { None } else { receiver.recv().ok() }
    }
}

/// While there is a processor for each connection, a connection's thread would only have to wait for other
/// programs, at each sleep of a commit; so it asks to preempt them. Among many connections its thread takes
/// turns.
fn turns(active: usize, cores: usize) -> Turns {
    if active > cores {
        Turns::InTurn(TURN)
    } else {
        Turns::AtOnce(TURN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_used_again_and_survives_a_panic() {
        let workers = Workers::new(256 * 1024);
        let (sender, receiver) = channel();
        for round in 0..4 {
            let sender = sender.clone();
            workers
                .run(move || {
                    sender.send(std::thread::current().id()).unwrap();
                    assert!(round % 2 == 0, "a panic on purpose");
                })
                .unwrap();
            // Until the thread is on the list again.
            for _ in 0..1000 {
                if workers.idle.lock().len() == 1 {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let ids: Vec<_> = receiver.try_iter().collect();
        assert_eq!(ids.len(), 4);
        assert!(ids.iter().all(|id| *id == ids[0]));
        // Waiting threads do not count as active.
        assert_eq!(workers.active.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn threads_take_turns_in_a_crowd_and_not_alone() {
        let workers = Workers::new(256 * 1024);
        let (sender, turns) = channel();
        let threads = workers.cores + 1;
        let all_here = Arc::new(std::sync::Barrier::new(threads));
        for _ in 0..threads {
            let (sender, all_here, pool) = (sender.clone(), all_here.clone(), workers.clone());
            workers
                .run(move || {
                    all_here.wait();
                    pool.ask_for_turns();
                    sender.send(TURNS.get()).unwrap();
                    // No thread continues before all have asked.
                    all_here.wait();
                })
                .unwrap();
        }
        for _ in 0..threads {
            assert_eq!(turns.recv().unwrap(), Some(Turns::InTurn(TURN)));
        }
        // A thread that is alone asks for another scheduling.
        while workers.active.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        let pool = workers.clone();
        workers
            .run(move || {
                pool.ask_for_turns();
                sender.send(TURNS.get()).unwrap();
            })
            .unwrap();
        assert_eq!(turns.recv().unwrap(), Some(Turns::AtOnce(TURN)));
    }

    #[test]
    fn a_thread_with_a_processor_of_its_own_does_not_wait() {
        assert_eq!(turns(1, 2), Turns::AtOnce(TURN));
        assert_eq!(turns(2, 2), Turns::AtOnce(TURN));
        assert_eq!(turns(3, 2), Turns::InTurn(TURN));
    }
}
