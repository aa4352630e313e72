//! One stream of batched commands to one store.
//!
//! Threads put encoded commands into a queue; the stream's task takes all that have gathered and sends them as one
//! message, and hands each answer to the thread that waits for it. A broken stream fails everything in flight.

use crate::backoff::Until;
use crate::channel::ANSWER_BYTES_MAX;
use crate::proto::tikvpb::{BatchCommandsRequest, BatchCommandsResponse};
use crate::slot::Slot;
use bytes::Bytes;
use http::uri::PathAndQuery;
use kv::{Interrupt, Result};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tokio::runtime::Handle;
use tokio_stream::Stream;
use tonic::client::Grpc;
use tonic::transport::Endpoint;
use tonic_prost::ProstCodec;

/// Commands in one message.
const BATCH_MAX: usize = 128;
/// Bytes in one message, unless a single command is larger.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The store has not seen the command.
    Unsent(String),
    /// It may have seen and executed it.
    Lost(String),
    /// As [`CallError::Lost`]; the connection seems to be alive.
    TimedOut,
}

impl CallError {
    pub fn may_have_run(&self) -> bool {
        !matches!(self, Self::Unsent(_))
    }
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unsent(reason) | Self::Lost(reason) => f.write_str(reason),
            Self::TimedOut => f.write_str("no answer in time"),
        }
    }
}

type AnswerSlot = Arc<Slot<Result<Bytes, CallError>>>;

#[derive(Default)]
struct State {
    queue: VecDeque<(u64, Bytes)>,
    in_flight: HashMap<u64, AnswerSlot>,
    /// Of the task that sends, while it has nothing to send.
    sender: Option<Waker>,
    next_id: u64,
    closed: Option<String>,
}

struct Link {
    state: Mutex<State>,
}

impl Link {
    fn close(&self, reason: &str) {
        let mut state = self.state.lock();
        if state.closed.is_none() {
            state.closed = Some(reason.to_owned());
        }
        let unsent: Vec<u64> = state.queue.drain(..).map(|(id, _)| id).collect();
        for id in unsent {
            if let Some(slot) = state.in_flight.remove(&id) {
                slot.fill(Err(CallError::Unsent(reason.to_owned())));
            }
        }
        for (_, slot) in state.in_flight.drain() {
            slot.fill(Err(CallError::Lost(reason.to_owned())));
        }
        let sender = state.sender.take();
        drop(state);
        if let Some(sender) = sender {
            sender.wake();
        }
    }

    fn answered(&self, batch: BatchCommandsResponse) {
        let mut state = self.state.lock();
        let slots: Vec<_> = batch
            .request_ids
            .iter()
            .map(|id| state.in_flight.remove(id))
            .collect();
        drop(state);
        for (slot, answer) in slots.into_iter().zip(batch.responses) {
            // Whoever gave up waiting has left.
            if let Some(slot) = slot {
                slot.fill(Ok(answer));
            }
        }
    }
}

/// Closes the link however its task ends.
struct CloseOnDrop(Arc<Link>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close("the connection was closed");
    }
}

/// What the stream sends.
struct Outgoing(Arc<Link>);

impl Stream for Outgoing {
    type Item = BatchCommandsRequest;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<BatchCommandsRequest>> {
        let mut state = self.0.state.lock();
        if state.closed.is_some() {
            return Poll::Ready(None);
        }
        if state.queue.is_empty() {
            state.sender = Some(context.waker().clone());
            return Poll::Pending;
        }
        let mut batch = BatchCommandsRequest::default();
        let mut bytes = 0;
        while let Some((id, command)) = state.queue.pop_front() {
            bytes += command.len();
            batch.request_ids.push(id);
            batch.requests.push(command);
            if batch.requests.len() >= BATCH_MAX || bytes >= BATCH_BYTES_MAX {
                break;
            }
        }
        Poll::Ready(Some(batch))
    }
}

/// A command that has been handed over.
pub struct Pending {
    link: Arc<Link>,
    id: u64,
    slot: AnswerSlot,
    /// Nothing will come for it any more.
    settled: bool,
}

impl Pending {
    /// Waits for the answer, on the thread that submitted the command.
    ///
    /// # Errors
    /// The outer one is [`kv::Error::Interrupted`], and the answer may still be waited for.
    pub fn wait(
        &mut self,
        deadline: Instant,
        interrupt: Option<&Interrupt>,
    ) -> Result<Result<Bytes, CallError>> {
        let answer = self.slot.wait(Until { deadline, interrupt })?;
        self.settled = true;
        if let Some(answer) = answer {
            return Ok(answer);
        }
        let mut state = self.link.state.lock();
        let in_queue = state.queue.iter().position(|(id, _)| *id == self.id);
        state.in_flight.remove(&self.id);
        Ok(Err(match in_queue {
            Some(position) => {
                state.queue.remove(position);
                CallError::Unsent("not connected in time".into())
            }
            None => CallError::TimedOut,
        }))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.settled {
            self.link.state.lock().in_flight.remove(&self.id);
        }
    }
}

/// See the module.
pub struct Connection {
    link: Arc<Link>,
}

impl Connection {
    /// Begins to connect; commands can be submitted at once.
    pub fn open(io: &Handle, endpoint: Endpoint) -> Self {
        let link = Arc::new(Link {
            state: Mutex::default(),
        });
        let closing = CloseOnDrop(Arc::clone(&link));
        io.spawn(async move {
            if let Err(reason) = serve(endpoint, &closing.0).await {
                tracing::debug!(reason, "store connection ended");
                closing.0.close(&reason);
            }
        });
        Self { link }
    }

    pub fn is_open(&self) -> bool {
        self.link.state.lock().closed.is_none()
    }

    pub fn submit(&self, command: Bytes) -> Result<Pending, CallError> {
        let slot = Slot::new();
        let mut state = self.link.state.lock();
        if let Some(reason) = &state.closed {
            return Err(CallError::Unsent(reason.clone()));
        }
        state.next_id += 1;
        let id = state.next_id;
        state.queue.push_back((id, command));
        state.in_flight.insert(id, Arc::clone(&slot));
        let sender = state.sender.take();
        drop(state);
        if let Some(sender) = sender {
            sender.wake();
        }
        Ok(Pending {
            link: Arc::clone(&self.link),
            id,
            slot,
            settled: false,
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.link.close("the connection was given up");
    }
}

async fn serve(endpoint: Endpoint, link: &Arc<Link>) -> Result<(), String> {
    let uri = endpoint.uri().clone();
    let told = |what: &dyn std::fmt::Display| format!("store {uri}: {what}");
    let channel = endpoint
        .connect()
        .await
        .map_err(|error| told(&with_cause(&error)))?;
    let mut grpc = Grpc::new(channel).max_decoding_message_size(ANSWER_BYTES_MAX);
    grpc.ready().await.map_err(|error| told(&with_cause(&error)))?;
    let codec = ProstCodec::<BatchCommandsRequest, BatchCommandsResponse>::default();
    let path = PathAndQuery::from_static("/tikvpb.Tikv/BatchCommands");
    let answers = grpc
        .streaming(tonic::Request::new(Outgoing(Arc::clone(link))), path, codec)
        .await
        .map_err(|status| told(&status.message()))?;
    let mut answers = answers.into_inner();
    loop {
        match answers.message().await {
            Ok(Some(batch)) => link.answered(batch),
            Ok(None) => return Err(told(&"closed the connection")),
            Err(status) => return Err(told(&status.message())),
        }
    }
}

/// tonic's own text is "transport error" only.
pub fn with_cause(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
