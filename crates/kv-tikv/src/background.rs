//! Work that no client waits for: committing and rolling back keys of transactions whose outcome is
//! decided. A few threads do it. If their queue is full, the caller does the work itself.

use kv::defect;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

const THREADS: usize = 2;
const QUEUED_MAX: usize = 256;

type Job = Box<dyn FnOnce() + Send>;

/// See the module. Dropping it finishes the queued work first.
pub struct Background {
    queue: Option<SyncSender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    pub fn start() -> Self {
        let (queue, jobs) = sync_channel(QUEUED_MAX);
        let jobs = Arc::new(Mutex::new(jobs));
        let threads = (0..THREADS).filter_map(|index| {
            let jobs = Arc::clone(&jobs);
            let builder = thread::Builder::new().name(format!("tikv-background-{index}"));
            builder.spawn(move || work(&jobs)).ok()
        });
        Self {
            queue: Some(queue),
            threads: threads.collect(),
        }
    }

    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        let job: Job = Box::new(job);
        let refused = match &self.queue {
            Some(queue) if !self.threads.is_empty() => queue.try_send(job).err(),
            _ => Some(TrySendError::Disconnected(job)),
        };
        if let Some(TrySendError::Full(job) | TrySendError::Disconnected(job)) = refused {
            job();
        }
    }
}

fn work(jobs: &Mutex<Receiver<Job>>) {
    loop {
        let job = jobs.lock().recv();
        match job {
            // A panic is logged. Locks that were not cleaned up expire, as if this node had died.
            Ok(job) => drop(defect::catch("background work", job)),
            Err(_) => return,
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
