//! Threads for connections: one each while it is active. A thread whose connection has closed, or has been parked for
//! being idle, waits a little for the next one.

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

/// Several commands' work, and a fraction of what Linux gives who does not ask. Who is interrupted in the middle of a command is
/// not put off for milliseconds then.
const TURN: Duration = Duration::from_micros(500);

/// A pool without an upper limit of its own: `max_connections` is the limit.
pub struct Workers {
    idle: Mutex<Vec<(u64, Sender<Job>)>>,
    next_id: Mutex<u64>,
    stack_bytes: usize,
    /// Threads that have a connection.
    active: AtomicUsize,
    cores: usize,
}

thread_local! {
    /// What this thread has asked for.
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

    /// Runs `job` on a thread of its own. Fails where the system has no thread to give; the job is dropped then.
    pub fn run(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut job: Job = Box::new(job);
        loop {
            // Not in the `while let`: its guard would be held while the job is sent.
            let waiting = self.idle.lock().pop();
            let Some((_, sender)) = waiting else { break };
            match sender.send(job) {
                Ok(()) => return Ok(()),
                Err(returned) => job = returned.0,
            }
        }
        self.spawn(job)
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
            // The last line of defence: whatever happens on one connection, the thread and all others go on.
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

    /// Asks for the turns that suit the calling thread now, if it has not yet.
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
        // Taken off the list by someone else a moment ago: a job is on its way.
        if withdrawn { None } else { receiver.recv().ok() }
    }
}

/// As long as each may have a processor of its own, it is others' programs that a connection's thread would have to wait for,
/// at each sleep of a commit; they are interrupted. Among many of its like it takes its turn.
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
            // Until the thread has gone back to the list.
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
        // Not counted while they wait for a connection.
        assert_eq!(workers.active.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn threads_ask_for_the_turns_of_a_crowd_in_one_and_for_others_alone() {
        let workers = Workers::new(256 * 1024);
        let (tell, told) = channel();
        let threads = workers.cores + 1;
        let all_here = Arc::new(std::sync::Barrier::new(threads));
        for _ in 0..threads {
            let (tell, all_here, pool) = (tell.clone(), all_here.clone(), workers.clone());
            workers
                .run(move || {
                    all_here.wait();
                    pool.ask_for_turns();
                    tell.send(TURNS.get()).unwrap();
                    // Nobody goes before all have asked.
                    all_here.wait();
                })
                .unwrap();
        }
        for _ in 0..threads {
            assert_eq!(told.recv().unwrap(), Some(Turns::InTurn(TURN)));
        }
        // The thread of the only one asks for others.
        while workers.active.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        let pool = workers.clone();
        workers
            .run(move || {
                pool.ask_for_turns();
                tell.send(TURNS.get()).unwrap();
            })
            .unwrap();
        assert_eq!(told.recv().unwrap(), Some(Turns::AtOnce(TURN)));
    }

    #[test]
    fn who_has_a_processor_for_itself_does_not_wait_for_others() {
        assert_eq!(turns(1, 2), Turns::AtOnce(TURN));
        assert_eq!(turns(2, 2), Turns::AtOnce(TURN));
        assert_eq!(turns(3, 2), Turns::InTurn(TURN));
    }
}
