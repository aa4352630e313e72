//! Runs a program over ranges of keys on the stores: one request for each region and page, several in flight. The
//! responses are passed on in key order.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome, Sent};
use crate::node::Node;
use crate::proto::coprocessor::{DAG, KeyRange as Part, Request, Response};
use crate::proto::kvrpcpb::Context;
use crate::resolve::{self, BypassedLocks};
use bytes::Bytes;
use kv::{CoprocessorRequest, CoprocessorResponses, Error, Interrupt, KeyRange, Result, Timestamp};
use std::collections::VecDeque;
use std::sync::Arc;

/// Ranges per request.
const RANGES_MAX: usize = 1_024;
/// The most rows that a page grows to.
const PAGE_ROWS_MAX: u64 = 16_384;
/// The size that a page should not exceed, estimated from the page before.
const PAGE_BYTES: u64 = 4 << 20;
/// A store computes longer than it reads a page of a scan: so many times the usual time-out of a request.
const PATIENCE: u32 = 2;

/// A program that runs.
pub struct Responses {
    node: Arc<Node>,
    ts: Timestamp,
    interrupt: Option<Arc<Interrupt>>,
    program: Bytes,
    /// `None`: responses are whole.
    page_rows: Option<u64>,
    in_flight: usize,
    /// What is left, in key order.
    steps: VecDeque<Step>,
    bypassed: BypassedLocks,
}

enum Step {
    /// A range that is still to be requested, with the keyspace's prefix.
    Waiting(KeyRange),
    Sent(Task),
}

/// Ranges of one region that have been requested.
struct Task {
    sent: Sent<Request>,
    ranges: Vec<KeyRange>,
    /// What its page was to have.
    page_rows: Option<u64>,
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
            steps: ranges.map(|range| Step::Waiting(keyspace.range(range))).collect(),
            node: Arc::clone(node),
            ts,
            interrupt,
            program: Bytes::from(request.program),
            page_rows: request.page_rows,
            in_flight: request.in_flight.max(1),
            bypassed: BypassedLocks::default(),
        }
    }

    /// Sends requests until as many as allowed are in flight.
    fn fill(&mut self, cluster: &Cluster, backoff: &mut Backoff) -> Result<()> {
        let is_sent = |step: &&Step| matches!(step, Step::Sent(_));
        let mut in_flight = self.steps.iter().take(self.in_flight).filter(is_sent).count();
        let mut at = 0;
        while in_flight < self.in_flight {
            match self.steps.get(at) {
                Some(Step::Sent(_)) => {}
                Some(Step::Waiting(range)) => {
                    let start = range.start.clone();
                    self.send(cluster, at, &start, backoff)?;
                    in_flight += 1;
                }
                None => break,
            }
            at += 1;
        }
        Ok(())
    }

    /// Requests what one region has of the ranges from a position on, the first of which starts at `start`.
    fn send(&mut self, cluster: &Cluster, at: usize, start: &[u8], backoff: &mut Backoff) -> Result<()> {
        let region = cluster.region(start, backoff)?;
        let mut ranges = Vec::new();
        while let Some(Step::Waiting(range)) = self.steps.get_mut(at) {
            if !region.contains(&range.start) || ranges.len() == RANGES_MAX {
                break;
            }
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
        };
        self.steps.insert(at, Step::Sent(task));
        Ok(())
    }

    /// Waits for the first response. `None`: its ranges are to be requested again.
    fn take(&mut self, cluster: &Cluster, mut task: Task, backoff: &mut Backoff) -> Result<Option<Bytes>> {
        match task.sent.wait(backoff.interrupt)? {
            Outcome::Answered(response) => {
                self.taken(cluster, (task.ranges, task.page_rows), response, backoff)
            }
            Outcome::Refused(error) => {
                self.put_back(task.ranges);
                cluster.refused(&task.sent.region, &error, backoff)?;
                Ok(None)
            }
            Outcome::Failed(error) => {
                // The response may have been too large.
                let smaller = task.page_rows.map(|rows| (rows / 16).max(1));
                self.page_rows = self.page_rows.min(smaller);
                self.put_back(task.ranges);
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
    ) -> Result<Option<Bytes>> {
        if let Some(lock) = response.locked {
            self.put_back(ranges);
            resolve::for_read(cluster, &[lock], self.ts, &mut self.bypassed, backoff)?;
            return Ok(None);
        }
        if !response.other_error.is_empty() {
            return Err(Error::Io(format!("a coprocessor: {}", response.other_error)));
        }
        if let Some((rows, done)) = page_rows.zip(response.range) {
            let rest = behind(ranges, &done.end)?;
            self.put_back(rest);
            self.page_rows = self
                .page_rows
                .map(|now| next_page(now, rows, response.data.len()));
        }
        Ok(Some(response.data))
    }

    fn put_back(&mut self, ranges: Vec<KeyRange>) {
        for range in ranges.into_iter().rev() {
            self.steps.push_front(Step::Waiting(range));
        }
    }
}

/// The rows of further pages, after one of `rows` rows that was full with `bytes`. Others may have come since it was
/// requested.
fn next_page(now: u64, rows: u64, bytes: usize) -> u64 {
    let row_bytes = (bytes as u64 / rows.max(1)).max(1);
    now.max(rows.saturating_mul(4))
        .min(PAGE_ROWS_MAX)
        .min(PAGE_BYTES / row_bytes)
        .max(1)
}

/// What a page that ended at `end` has left of its ranges.
fn behind(ranges: Vec<KeyRange>, end: &[u8]) -> Result<Vec<KeyRange>> {
    let before = ranges.len();
    let starts_before = ranges.first().is_some_and(|first| first.start.as_slice() < end);
    let mut rest: Vec<KeyRange> = ranges
        .into_iter()
        .filter(|range| range.end.as_slice() > end)
        .collect();
    if let Some(first) = rest.first_mut()
        && first.start.as_slice() < end
    {
        first.start = end.to_vec();
    }
    // Without progress it would be requested forever.
    match starts_before || before == 0 {
        true => Ok(rest),
        false => Err(Error::Unavailable("a coprocessor's page has no end".into())),
    }
}

impl CoprocessorResponses for Responses {
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
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
                    if let Some(data) = self.take(cluster, task, &mut backoff)? {
                        return Ok(Some(data.to_vec()));
                    }
                }
                Some(waiting @ Step::Waiting(_)) => self.steps.push_front(waiting),
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_grow_by_the_rows_that_they_had() {
        assert_eq!(next_page(1_024, 1_024, 1_024 * 10), 4_096);
        // Of several that were requested together, each says the same.
        assert_eq!(next_page(4_096, 1_024, 1_024 * 10), 4_096);
        assert_eq!(next_page(4_096, 4_096, 4_096 * 10), PAGE_ROWS_MAX);
        // A row's size is that of the page which had it.
        assert_eq!(next_page(PAGE_ROWS_MAX, 1_024, 1_024 << 16), 64);
        assert_eq!(next_page(64, 1, 1 << 30), 1);
    }

    #[test]
    fn a_page_leaves_what_is_behind_its_end() {
        let ranges = || {
            vec![
                KeyRange::new("a", "c"),
                KeyRange::new("d", "f"),
                KeyRange::new("h", "k"),
            ]
        };
        let left = |end: &str| behind(ranges(), end.as_bytes());
        assert_eq!(
            left("b"),
            Ok(vec![
                KeyRange::new("b", "c"),
                KeyRange::new("d", "f"),
                KeyRange::new("h", "k")
            ])
        );
        assert_eq!(
            left("c"),
            Ok(vec![KeyRange::new("d", "f"), KeyRange::new("h", "k")])
        );
        assert_eq!(
            left("e"),
            Ok(vec![KeyRange::new("e", "f"), KeyRange::new("h", "k")])
        );
        assert_eq!(left("g"), Ok(vec![KeyRange::new("h", "k")]));
        assert_eq!(left("k"), Ok(vec![]));
        assert!(left("a").is_err());
    }
}
