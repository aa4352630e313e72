//! One stream of batched commands to one store.
//!
//! Threads put encoded commands into a queue. The stream's task sends all queued commands as one message,
//! and delivers each response to the thread that waits for it. If the stream breaks, all commands in flight
//! fail.

use crate::backoff::Until;
use crate::channel::RESPONSE_BYTES_MAX;
use crate::proto::tikvpb::{BatchCommandsRequest, BatchCommandsResponse};
use crate::reply::Reply;
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

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The store has not received the command.
    Unsent(String),
    /// The store may have received and executed the command.
    Lost(String),
    /// As [`CallError::Lost`], on a connection that seems to be alive.
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

type ReplyRef = Arc<Reply<Result<Bytes, CallError>>>;

#[derive(Default)]
struct ConnectionState {
    queue: VecDeque<(u64, Bytes)>,
    in_flight: HashMap<u64, ReplyRef>,
    /// Wakes the sending task while the queue is empty.
    sender: Option<Waker>,
    next_id: u64,
    closed: Option<String>,
}

struct Link {
    state: Mutex<ConnectionState>,
}

impl Link {
    fn close(&self, reason: &str) {
        let mut state = self.state.lock();
        if state.closed.is_none() {
            state.closed = Some(reason.to_owned());
        }
        let unsent: Vec<u64> = state.queue.drain(..).map(|(id, _)| id).collect();
        for id in unsent {
            if let Some(reply) = state.in_flight.remove(&id) {
                reply.deliver(Err(CallError::Unsent(reason.to_owned())));
            }
        }
        for (_, reply) in state.in_flight.drain() {
            reply.deliver(Err(CallError::Lost(reason.to_owned())));
        }
        let sender = state.sender.take();
        drop(state);
        if let Some(sender) = sender {
            sender.wake();
        }
    }

    fn answered(&self, batch: BatchCommandsResponse) {
        let mut state = self.state.lock();
        let replies: Vec<_> = batch
            .request_ids
            .iter()
            .map(|id| state.in_flight.remove(id))
            .collect();
        drop(state);
        for (reply, answer) in replies.into_iter().zip(batch.responses) {
            // `None`: its thread no longer waits.
            if let Some(reply) = reply {
                reply.deliver(Ok(answer));
            }
        }
    }
}

/// Closes the link when its task ends, also by a panic.
struct CloseOnDrop(Arc<Link>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close("the connection was closed");
    }
}

/// The messages that the stream sends.
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

/// A command in the queue or in flight.
pub struct Pending {
    link: Arc<Link>,
    id: u64,
    reply: ReplyRef,
    /// No response will come any more.
    settled: bool,
}

impl Pending {
    /// Waits for the response. Only the thread that submitted the command may call this.
    ///
    /// # Errors
    /// The outer error is [`kv::Error::Interrupted`]; the response may still be waited for after it.
    pub fn wait(
        &mut self,
        deadline: Instant,
        interrupt: Option<&Interrupt>,
    ) -> Result<Result<Bytes, CallError>> {
        let answer = self.reply.wait(Until { deadline, interrupt })?;
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
    /// Starts to connect. Commands can be submitted at once.
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
        let reply = Reply::new();
        let mut state = self.link.state.lock();
        if let Some(reason) = &state.closed {
            return Err(CallError::Unsent(reason.clone()));
        }
        state.next_id += 1;
        let id = state.next_id;
        state.queue.push_back((id, command));
        state.in_flight.insert(id, Arc::clone(&reply));
        let sender = state.sender.take();
        drop(state);
        if let Some(sender) = sender {
            sender.wake();
        }
        Ok(Pending {
            link: Arc::clone(&self.link),
            id,
            reply,
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
    let failed = |what: &dyn std::fmt::Display| format!("store {uri}: {what}");
    let channel = endpoint
        .connect()
        .await
        .map_err(|error| failed(&with_cause(&error)))?;
    let mut grpc = Grpc::new(channel).max_decoding_message_size(RESPONSE_BYTES_MAX);
    grpc.ready().await.map_err(|error| failed(&with_cause(&error)))?;
    let codec = ProstCodec::<BatchCommandsRequest, BatchCommandsResponse>::default();
    let path = PathAndQuery::from_static("/tikvpb.Tikv/BatchCommands");
    let answers = grpc
        .streaming(tonic::Request::new(Outgoing(Arc::clone(link))), path, codec)
        .await
        .map_err(|status| failed(&status.message()))?;
    let mut answers = answers.into_inner();
    loop {
        match answers.message().await {
            Ok(Some(batch)) => link.answered(batch),
            Ok(None) => return Err(failed(&"closed the connection")),
            Err(status) => return Err(failed(&status.message())),
        }
    }
}

/// The error with its causes: tonic's own text is only "transport error".
pub fn with_cause(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
