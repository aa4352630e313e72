//! The I/O threads. Each runs an event loop of its own, so that a connection never moves between threads.
//! All other code of this crate blocks on its callers' threads.

use crate::backoff::Until;
use crate::reply::Reply;
use kv::{Error, Result};
use std::future::Future;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

struct IoThread {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// All I/O threads. Dropping it ends them and their connections.
pub struct Io {
    threads: Vec<IoThread>,
}

impl Io {
    pub fn start(count: usize) -> Result<Self> {
        let threads = (0..count.max(1)).map(start_one).collect::<Result<_>>()?;
        Ok(Self { threads })
    }

    pub fn len(&self) -> usize {
        self.threads.len()
    }

    pub fn handle(&self, index: usize) -> &Handle {
        &self.threads[index % self.threads.len()].handle
    }

    /// Runs a future on an I/O thread and waits for its result.
    pub fn run<T: Send + 'static>(
        &self,
        until: Until,
        what: &'static str,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let reply = Reply::new();
        let sender = Arc::clone(&reply);
        let task = self.handle(0).spawn(async move { sender.deliver(future.await) });
        let answer = reply.wait(until);
        if !matches!(answer, Ok(Some(_))) {
            task.abort();
        }
        answer?.unwrap_or_else(|| Err(Error::Unavailable(format!("{what}: no answer in time"))))
    }
}

fn start_one(index: usize) -> Result<IoThread> {
    let failed = |error: std::io::Error| Error::Unavailable(format!("no thread for the network: {error}"));
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let handle = runtime.handle().clone();
    let (stop, stopped) = oneshot::channel();
    let thread = thread::Builder::new()
        .name(format!("tikv-io-{index}"))
        .spawn(move || {
            // Ends on a message, and also when the sender is dropped.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_timeout(Duration::from_secs(1));
        })
        .map_err(failed)?;
    Ok(IoThread {
        handle,
        stop: Some(stop),
        thread: Some(thread),
    })
}

impl Drop for Io {
    fn drop(&mut self) {
        for thread in &mut self.threads {
            if let Some(stop) = thread.stop.take() {
                let _ = stop.send(());
            }
        }
        for thread in &mut self.threads {
            if let Some(thread) = thread.thread.take() {
                let _ = thread.join();
            }
        }
    }
}
