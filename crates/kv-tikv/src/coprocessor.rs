//! Runs a program over ranges of keys on the stores: one request for each region and page, several in flight.
//! The responses are passed on in key order. If a store refuses to compute, or does not compute in time, the
//! caller gets the ranges as refused and reads them.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome, Sent};
use crate::connection::CallError;
use crate::node::Node;
use crate::proto::coprocessor::{DAG, KeyRange as Part, Request, Response};
use crate::proto::kvrpcpb::Context;
use crate::resolve::{self, BypassedLocks};
use bytes::Bytes;
use kv::{
    CoprocessorRequest, CoprocessorResponse, CoprocessorResponses, Interrupt, KeyRange, Result, Timestamp,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Ranges per request.
const RANGES_MAX: usize = 1_024;
/// The largest number of rows to which a page grows.
const PAGE_ROWS_MAX: u64 = 16_384;
/// The size that a page should not exceed, estimated from the page before.
const PAGE_BYTES: usize = 4 << 20;
/// The expected size of the first response.
const RESPONSE_BYTES: usize = 64 << 10;
/// After this many broken connections, or one time-out, the caller reads the range. What takes a store too
/// long to compute, or crashes it, can still be read in small pages.
const LOST_MAX: u32 = 3;
/// A store may compute longer than it reads a page of a scan: this is the factor of the usual time-out of a
/// request.
const PATIENCE: u32 = 2;

/// A running program: its requests, and the responses in key order.
pub struct Responses {
    node: Arc<Node>,
    ts: Timestamp,
    interrupt: Option<Arc<Interrupt>>,
    program: Bytes,
    /// `None`: each request is answered by one response, without pages.
    page_rows: Option<u64>,
    in_flight: usize,
    memory_bytes: usize,
    /// How many of the steps are sent.
    sent: usize,
    /// The remaining ranges, in key order.
    steps: VecDeque<Step>,
    bypassed: BypassedLocks,
    /// The size of the largest response so far.
    response_bytes: usize,
    has_warned: bool,
}

enum Step {
    /// A range that is still to be requested, with the keyspace's prefix, and how many requests for it had no response.
    Waiting(KeyRange, u32),
    Sent(Task),
}

/// Ranges of one region that have been requested.
struct Task {
    sent: Sent<Request>,
    ranges: Vec<KeyRange>,
    /// How many rows were requested for its page.
    page_rows: Option<u64>,
    /// How many requests for one of the ranges had no response.
    lost: u32,
}

impl Responses {
    pub fn new(
        node: &Arc<Node>,
        request: CoprocessorRequest,
        ts: Timestamp,
        interrupt: Option<Arc<Interrupt>>,
    ) -> Self {
        let keyspace = &node.cluster.keyspace;
        let ranges = request.ranges.iter().filter(|range| !range.is_empty());
        Self {
            steps: ranges
                .map(|range| Step::Waiting(keyspace.range(range), 0))
                .collect(),
            node: Arc::clone(node),
            ts,
            interrupt,
            program: Bytes::from(request.program),
            page_rows: request.page_rows,
            in_flight: request.in_flight.max(1),
            sent: 0,
            memory_bytes: request.memory_bytes,
            bypassed: BypassedLocks::default(),
            response_bytes: RESPONSE_BYTES,
            has_warned: false,
        }
    }

    /// Sends requests until as many as allowed are in flight. The first is always sent: its response is the next
    /// one.
    fn fill(&mut self, cluster: &Cluster, backoff: &mut Backoff) -> Result<()> {
        let most = (self.memory_bytes / self.response_bytes).clamp(1, self.in_flight);
        let mut at = 0;
        while self.sent < most || at == 0 {
            match self.steps.get(at) {
                Some(Step::Sent(_)) => {}
                Some(Step::Waiting(range, _)) => {
                    let start = range.start.clone();
                    self.send(cluster, at, &start, backoff)?;
                }
                None => break,
            }
            at += 1;
        }
        Ok(())
    }

    /// Requests the ranges that are in one region, from a position on; the first of them starts at `start`.
    fn send(&mut self, cluster: &Cluster, at: usize, start: &[u8], backoff: &mut Backoff) -> Result<()> {
        let region = cluster.region(start, backoff)?;
        let mut ranges = Vec::new();
        let mut lost = 0;
        while let Some(Step::Waiting(range, lost_before)) = self.steps.get_mut(at) {
            if !region.contains(&range.start) || ranges.len() == RANGES_MAX {
                break;
            }
            lost = lost.max(*lost_before);
            if !region.end.is_empty() && range.end > region.end {
                let start = std::mem::replace(&mut range.start, region.end.clone());
                ranges.push(KeyRange::new(start, region.end.clone()));
                break;
            }
            ranges.push(std::mem::take(range));
            self.steps.remove(at);
        }
        let mut context = Context::default();
        self.bypassed.fill(&mut context);
        let part = |range: &KeyRange| Part {
            start: range.start.clone(),
            end: range.end.clone(),
        };
        let command = Request {
            context: Some(context),
            tp: DAG,
            data: self.program.clone(),
            ranges: ranges.iter().map(part).collect(),
            start_ts: self.ts,
            paging_size: self.page_rows.unwrap_or(0),
        };
        let until = backoff.request(cluster.options.request_timeout * PATIENCE);
        let task = Task {
            sent: cluster.send(region, command, until)?,
            ranges,
            page_rows: self.page_rows,
            lost,
        };
        self.steps.insert(at, Step::Sent(task));
        self.sent += 1;
        Ok(())
    }

    /// Waits for the first response. `None`: its ranges are to be requested again.
    fn take(
        &mut self,
        cluster: &Cluster,
        mut task: Task,
        backoff: &mut Backoff,
    ) -> Result<Option<CoprocessorResponse>> {
        match task.sent.wait(backoff.interrupt)? {
            Outcome::Answered(response) => {
                self.taken(cluster, (task.ranges, task.page_rows), response, backoff)
            }
            Outcome::Refused(error) => {
                self.put_back(task.ranges, task.lost);
                cluster.refused(&task.sent.region, &error, backoff)?;
                Ok(None)
            }
            Outcome::Failed(error) => {
                // The response may have been too large.
                let smaller = task.page_rows.map(|rows| (rows / 16).max(1));
                self.page_rows = self.page_rows.min(smaller);
                let lost = task.lost
                    + match error {
                        CallError::Unsent(_) => 0,
                        CallError::Lost(_) => 1,
                        CallError::TimedOut => LOST_MAX,
                    };
                if lost >= LOST_MAX {
                    return Ok(Some(self.response(task.ranges, Err(error.to_string()))));
                }
                self.put_back(task.ranges, lost);
                cluster.failed(&task.sent.region, &error, backoff)?;
                Ok(None)
            }
        }
    }

    fn taken(
        &mut self,
        cluster: &Cluster,
        (ranges, page_rows): (Vec<KeyRange>, Option<u64>),
        response: Response,
        backoff: &mut Backoff,
    ) -> Result<Option<CoprocessorResponse>> {
        if let Some(lock) = response.locked {
            self.put_back(ranges, 0);
            resolve::for_read(cluster, &[lock], self.ts, &mut self.bypassed, backoff)?;
            return Ok(None);
        }
        if !response.other_error.is_empty() {
            return Ok(Some(self.response(ranges, Err(response.other_error))));
        }
        let bytes = response.data.len();
        self.response_bytes = self.response_bytes.max(bytes);
        let mut done = ranges;
        if let Some((rows, page)) = page_rows.zip(response.range) {
            let rest = cut(&mut done, &page.end);
            if done.is_empty() {
                // It would be requested forever.
                return Ok(Some(self.response(rest, Err("a page made no progress".into()))));
            }
            self.put_back(rest, 0);
            let page_bytes = PAGE_BYTES.min(self.memory_bytes / 2) as u64;
            self.page_rows = self.page_rows.map(|now| next_page(now, rows, bytes, page_bytes));
        }
        Ok(Some(self.response(done, Ok(response.data.to_vec()))))
    }

    fn response(&self, ranges: Vec<KeyRange>, result: Result<Vec<u8>, String>) -> CoprocessorResponse {
        let keyspace = &self.node.cluster.keyspace;
        let ranges = ranges.into_iter().map(|range| keyspace.own_part(range));
        CoprocessorResponse {
            ranges: ranges.collect(),
            result,
        }
    }

    fn put_back(&mut self, ranges: Vec<KeyRange>, lost: u32) {
        for range in ranges.into_iter().rev() {
            self.steps.push_front(Step::Waiting(range, lost));
        }
    }
}

/// The number of rows of further pages, after a page of `rows` rows was full and had `bytes`. `now` is the
/// current number, which may have changed since that page was requested.
fn next_page(now: u64, rows: u64, bytes: usize, page_bytes: u64) -> u64 {
    let row_bytes = (bytes as u64 / rows.max(1)).max(1);
    now.max(rows.saturating_mul(4))
        .min(PAGE_ROWS_MAX)
        .min(page_bytes / row_bytes)
        .max(1)
}

/// Cuts ranges where a page ended, and returns those after it.
fn cut(ranges: &mut Vec<KeyRange>, end: &[u8]) -> Vec<KeyRange> {
    let behind = ranges.iter().position(|range| range.end.as_slice() > end);
    let mut rest = ranges.split_off(behind.unwrap_or(ranges.len()));
    if let Some(first) = rest.first_mut()
        && first.start.as_slice() < end
    {
        let start = std::mem::replace(&mut first.start, end.to_vec());
        ranges.push(KeyRange::new(start, end));
    }
    rest
}

impl CoprocessorResponses for Responses {
    fn next(&mut self) -> Result<Option<CoprocessorResponse>> {
        let node = Arc::clone(&self.node);
        let cluster = &node.cluster;
        let interrupt = self.interrupt.clone();
        let mut backoff = cluster.backoff(interrupt.as_deref());
        loop {
            if let Some(interrupt) = &interrupt {
                interrupt.check()?;
            }
            self.fill(cluster, &mut backoff)?;
            match self.steps.pop_front() {
                Some(Step::Sent(task)) => {
                    self.sent -= 1;
                    if let Some(response) = self.take(cluster, task, &mut backoff)? {
                        return Ok(Some(response));
                    }
                }
                Some(waiting @ Step::Waiting(..)) => self.steps.push_front(waiting),
                None => return Ok(None),
            }
        }
    }

    fn not_computed(&mut self, reason: &str) {
        let counters = &self.node.cluster.counters;
        counters.not_computed.fetch_add(1, Ordering::Relaxed);
        // Requests to other regions are likely to be refused for the same reason.
        if !std::mem::replace(&mut self.has_warned, true) {
            tracing::warn!(reason, "a store has not computed; its rows are read");
        }
    }

    fn in_flight_bytes(&self) -> usize {
        self.sent.saturating_mul(self.response_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_grow_by_the_rows_that_they_had() {
        let next_page = |now, rows, bytes| next_page(now, rows, bytes, PAGE_BYTES as u64);
        assert_eq!(next_page(1_024, 1_024, 1_024 * 10), 4_096);
        // Pages that were requested together ask for the same growth, which counts once.
        assert_eq!(next_page(4_096, 1_024, 1_024 * 10), 4_096);
        assert_eq!(next_page(4_096, 4_096, 4_096 * 10), PAGE_ROWS_MAX);
        // The size of a row is taken from the page that held it, not from the number of rows requested now.
        assert_eq!(next_page(PAGE_ROWS_MAX, 1_024, 1_024 << 16), 64);
        assert_eq!(next_page(64, 1, 1 << 30), 1);
    }

    #[test]
    fn a_page_ends_within_its_ranges() {
        let ranges = |bounds: &str| -> Vec<KeyRange> {
            let pairs = bounds
                .split_whitespace()
                .map(|pair| pair.split_once('-').unwrap());
            pairs.map(|(start, end)| KeyRange::new(start, end)).collect()
        };
        for (end, done, rest) in [
            ("b", "a-b", "b-c d-f h-k"),
            ("c", "a-c", "d-f h-k"),
            ("e", "a-c d-e", "e-f h-k"),
            ("g", "a-c d-f", "h-k"),
            ("k", "a-c d-f h-k", ""),
            ("a", "", "a-c d-f h-k"),
        ] {
            let mut cut_at = ranges("a-c d-f h-k");
            assert_eq!(cut(&mut cut_at, end.as_bytes()), ranges(rest), "{end}");
            assert_eq!(cut_at, ranges(done), "{end}");
        }
    }
}
