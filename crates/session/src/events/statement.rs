//! The end of a statement: what it adds to the counters.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use runner::TransactionEnds;
use syntax::ast::SqlCommand;

use super::event::StatementEvent;
use super::nanoseconds;
use crate::compiled::Compiled;
use crate::counters::StatusCounter;
use crate::process::Process;
use crate::session::Session;
use crate::shared::Shared;
use crate::statistics::Kind;

impl Shared {
    /// Microseconds since 1970.
    fn unix_us(&self, now: Instant) -> i64 {
        let since = now.saturating_duration_since(self.started);
        self.started_us + since.as_secs() as i64 * 1_000_000 + i64::from(since.subsec_micros())
    }

    /// Counts a statement that has ended.
    pub(crate) fn record_statement(
        &self,
        kind: Kind,
        mut event: StatementEvent,
        (started, now): (Instant, Instant),
        process: &Process,
    ) -> Duration {
        let took = now.saturating_duration_since(started);
        self.statistics.record(kind, took, event.failed);
        process.counters.record(&event);
        if let Some(digest) = self.events.digests.get(event.digest) {
            event.now_us = self.unix_us(now);
            digest.record(&event, nanoseconds(took), process.id);
        }
        took
    }
}

impl Session {
    /// Counts a statement that begins, and names its digest. `text`: the statement's. `command`: its kind, where it
    /// is not known from its plan.
    #[inline]
    pub(crate) fn observe(&mut self, compiled: &Compiled, text: &str, command: Option<SqlCommand>) {
        let Compiled::Plan(plan) = compiled else {
            return self.observe_text(text, command);
        };
        let digest = match plan.digest.load(Ordering::Relaxed) {
            0 => {
                let digest = self.digest_of(text);
                plan.digest.store(digest, Ordering::Relaxed);
                digest
            }
            digest => digest,
        };
        self.event.digest = digest;
        self.process.counters.begin(plan.command.or(command));
    }

    /// The same of a statement that has no plan.
    pub(crate) fn observe_text(&mut self, text: &str, command: Option<SqlCommand>) {
        self.process.counters.begin(command);
        self.event = StatementEvent {
            digest: self.digest_of(text),
            ..StatementEvent::default()
        };
    }

    /// The same of BEGIN, COMMIT and ROLLBACK, the most frequent of those.
    pub(crate) fn observe_word(&mut self, text: &str, command: SqlCommand) {
        self.process.counters.begin(Some(command));
        let at = match text.as_bytes().first() {
            Some(b'b' | b'B') => 0,
            Some(b'c' | b'C') => 1,
            _ => 2,
        };
        if self.word_digests[at] == 0 {
            self.word_digests[at] = self.digest_of(text);
        }
        self.event.digest = self.word_digests[at];
    }

    fn count_ends(&self, ends: TransactionEnds) {
        let counters = &self.process.counters;
        counters.add_some(StatusCounter::HandlerCommit, u64::from(ends.commits));
        counters.add_some(StatusCounter::HandlerRollback, u64::from(ends.rollbacks));
        counters.add_some(StatusCounter::HandlerPrepare, u64::from(ends.prepares));
        counters.add_some(StatusCounter::HandlerSavepoint, u64::from(ends.savepoints));
        counters.add_some(
            StatusCounter::HandlerSavepointRollback,
            u64::from(ends.savepoint_rollbacks),
        );
    }

    #[cold]
    fn digest_of(&self, text: &str) -> u32 {
        let events = &self.shared.events;
        let number = events.digest_number(self.database.as_deref(), text, &self.settings.sql_mode);
        if let Some(digest) = events.digests.get(number) {
            digest.first_seen_at(self.view().now_us());
        }
        number
    }

    /// Records a statement's end in the server's statistics, and in the slow log. A statement whose reply
    /// waits has not ended.
    pub(crate) fn count(&mut self, kind: Kind, started: Instant, failed: bool) {
        let now = Instant::now();
        self.ended = Some(now);
        if self.reply_waits {
            return;
        }
        let ends = std::mem::take(&mut self.transaction.ends);
        if ends != TransactionEnds::default() {
            self.count_ends(ends);
        }
        self.event.failed = failed;
        self.event.warnings = self.diagnostics.count;
        let took = self
            .shared
            .record_statement(kind, self.event, (started, now), &self.process);
        let log = &self.shared.events.slow_log;
        if took >= self.settings.long_query_time || log.is_on() {
            self.log_if_slow(took, now);
        }
    }
}
