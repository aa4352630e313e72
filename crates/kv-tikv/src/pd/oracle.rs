//! Timestamps from PD's leader, over one stream. One request serves all threads that have queued since the
//! last one.

use super::members::Members;
use crate::backoff::Until;
use crate::proto::pdpb::{TsoRequest, TsoResponse};
use crate::reply::Reply;
use http::uri::PathAndQuery;
use kv::timestamp::LOGICAL_BITS;
use kv::{Error, Part, Result, Timestamp, timestamp_from_ms};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tokio_stream::Stream;
use tonic::client::Grpc;
use tonic_prost::ProstCodec;

/// Requests in flight: PD works on one, and the next one is already there when it is done.
const IN_FLIGHT_MAX: usize = 2;
/// Timestamps in one request. PD hands out up to 2^18 per millisecond.
const BATCH_MAX: usize = 10_000;
/// A stream that has not responded for so long is closed.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// Beyond the year 3000; the milliseconds still fit into a timestamp.
const PHYSICAL_MS_MAX: u64 = 1 << 45;

type TsReply = Arc<Reply<Timestamp>>;

#[derive(Default)]
struct Queue {
    waiting: VecDeque<TsReply>,
    in_flight: VecDeque<Vec<TsReply>>,
    sender: Option<Waker>,
    /// The number of the stream that may send. The task of an older stream may still be polled.
    stream: u64,
    /// The last failure, for the error of a thread whose wait times out.
    failure: String,
}

struct OracleState {
    members: Arc<Members>,
    queue: Mutex<Queue>,
    /// The highest timestamp seen.
    last: AtomicU64,
    /// PD's clock minus ours, in milliseconds.
    offset_ms: AtomicI64,
    started: Instant,
}

/// See the module.
pub struct Oracle {
    state: Arc<OracleState>,
}

impl Oracle {
    pub fn start(io: &Handle, members: Arc<Members>) -> Self {
        let state = Arc::new(OracleState {
            members,
            queue: Mutex::default(),
            last: AtomicU64::new(0),
            offset_ms: AtomicI64::new(0),
            started: Instant::now(),
        });
        io.spawn(run(Arc::clone(&state)));
        Self { state }
    }

    /// A timestamp above all timestamps that have been handed out in the cluster.
    pub fn timestamp(&self, until: Until) -> Result<Timestamp> {
        let reply = Reply::new();
        let sender = {
            let mut queue = self.state.queue.lock();
            queue.waiting.push_back(Arc::clone(&reply));
            queue.sender.take()
        };
        if let Some(sender) = sender {
            sender.wake();
        }
        let waited = reply.wait(until);
        if let Ok(Some(ts)) = waited {
            return Ok(ts);
        }
        let mut queue = self.state.queue.lock();
        queue.waiting.retain(|other| !Arc::ptr_eq(other, &reply));
        waited?;
        let why = match queue.failure.as_str() {
            "" => "no answer",
            failure => failure,
        };
        Err(Error::ClusterTimeout {
            part: Part::Oracle,
            reason: format!("no timestamp in time ({why})"),
        })
    }

    /// The highest timestamp seen so far; the current one is not lower.
    pub fn last(&self) -> Timestamp {
        self.state.last.load(Ordering::SeqCst)
    }

    /// PD's current timestamp, estimated without a request. For judging ages.
    pub fn estimate(&self) -> Timestamp {
        let state = &self.state;
        let now_ms = state
            .offset_ms
            .load(Ordering::Relaxed)
            .saturating_add(state.elapsed_ms());
        timestamp_from_ms(u64::try_from(now_ms).unwrap_or(0)).max(self.last())
    }
}

impl OracleState {
    fn elapsed_ms(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    /// Requests of a broken stream are sent again on the next one. Returns the new stream's number.
    fn restart(&self, failure: Option<String>) -> u64 {
        let mut queue = self.queue.lock();
        while let Some(batch) = queue.in_flight.pop_back() {
            for reply in batch.into_iter().rev() {
                queue.waiting.push_front(reply);
            }
        }
        queue.failure = failure.unwrap_or_default();
        queue.stream += 1;
        queue.sender = None;
        queue.stream
    }

    fn answered(&self, answer: &TsoResponse) -> Result<(), String> {
        let header = answer.header.as_ref();
        if let Some(error) = header
            .and_then(|header| header.error.as_ref())
            .filter(|error| error.r#type != 0)
        {
            return Err(error.message.clone());
        }
        let timestamp = answer.timestamp.ok_or("an answer without a timestamp")?;
        let physical_ms = u64::try_from(timestamp.physical).map_err(|_| "a negative timestamp")?;
        let logical = u64::try_from(timestamp.logical).map_err(|_| "a negative timestamp")?;
        let count = u64::from(answer.count);
        if physical_ms > PHYSICAL_MS_MAX || logical >> LOGICAL_BITS != 0 || count == 0 || count > logical + 1
        {
            return Err("PD sent a timestamp out of range".into());
        }
        let newest = timestamp_from_ms(physical_ms) + logical;
        let (batch, sender) = {
            let mut queue = self.queue.lock();
            let batch = queue.in_flight.pop_front().ok_or("an answer without a request")?;
            if u64::try_from(batch.len()).unwrap_or(u64::MAX) != count {
                queue.in_flight.push_front(batch);
                return Err("PD sent fewer timestamps than requested".into());
            }
            (batch, queue.sender.take())
        };
        self.last.fetch_max(newest, Ordering::SeqCst);
        let offset_ms = timestamp.physical.saturating_sub(self.elapsed_ms());
        self.offset_ms.store(offset_ms, Ordering::Relaxed);
        for (reply, ts) in batch.iter().zip(newest + 1 - count..) {
            reply.deliver(ts);
        }
        if let Some(sender) = sender {
            sender.wake();
        }
        Ok(())
    }

    fn has_in_flight(&self) -> bool {
        !self.queue.lock().in_flight.is_empty()
    }
}

async fn run(state: Arc<OracleState>) {
    let mut failure = None;
    loop {
        let stream = state.restart(failure.take());
        let Err(reason) = serve(&state, stream).await;
        tracing::debug!(reason, "timestamp stream ended");
        state.members.forget_leader();
        failure = Some(reason);
        sleep(RECONNECT_PAUSE).await;
    }
}

async fn serve(state: &Arc<OracleState>, stream: u64) -> Result<std::convert::Infallible, String> {
    let leader = state.members.leader().await.map_err(|error| error.to_string())?;
    let mut grpc = Grpc::new(leader);
    grpc.ready().await.map_err(|error| error.to_string())?;
    let codec = ProstCodec::<TsoRequest, TsoResponse>::default();
    let requests = Requests {
        state: Arc::clone(state),
        stream,
    };
    let path = PathAndQuery::from_static("/pdpb.PD/Tso");
    let mut opening = std::pin::pin!(grpc.streaming(tonic::Request::new(requests), path, codec));
    // PD may send its headers only with the first response, and it may be long until a thread asks for a
    // timestamp.
    let answers = loop {
        match timeout(ANSWER_TIMEOUT, &mut opening).await {
            Ok(opened) => break opened.map_err(|status| status.message().to_owned())?,
            Err(_) if state.has_in_flight() => return Err("PD does not answer".into()),
            Err(_) => {}
        }
    };
    let mut answers = answers.into_inner();
    loop {
        match timeout(ANSWER_TIMEOUT, answers.message()).await {
            Ok(Ok(Some(answer))) => state.answered(&answer)?,
            Ok(Ok(None)) => return Err("PD closed the stream".into()),
            Ok(Err(status)) => return Err(status.message().to_owned()),
            Err(_) if state.has_in_flight() => return Err("PD does not answer".into()),
            Err(_) => {}
        }
    }
}

/// The messages that the stream sends.
struct Requests {
    state: Arc<OracleState>,
    stream: u64,
}

impl Stream for Requests {
    type Item = TsoRequest;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<TsoRequest>> {
        let mut queue = self.state.queue.lock();
        if queue.stream != self.stream {
            return Poll::Ready(None);
        }
        if queue.waiting.is_empty() || queue.in_flight.len() >= IN_FLIGHT_MAX {
            queue.sender = Some(context.waker().clone());
            return Poll::Pending;
        }
        let count = queue.waiting.len().min(BATCH_MAX);
        let batch: Vec<TsReply> = queue.waiting.drain(..count).collect();
        queue.in_flight.push_back(batch);
        drop(queue);
        Poll::Ready(Some(TsoRequest {
            header: Some(self.state.members.header()),
            count: u32::try_from(count).unwrap_or(1),
            dc_location: "global".into(),
        }))
    }
}
