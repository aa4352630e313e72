//! The end of a statement: what it adds to the counters.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::event::StatementEvent;
use super::nanoseconds;
use crate::compiled::Compiled;
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
        connection: u64,
    ) -> Duration {
        let took = now.saturating_duration_since(started);
        self.statistics.record(kind, took, event.failed);
        if let Some(digest) = self.events.digests.get(event.digest) {
            event.now_us = self.unix_us(now);
            digest.record(&event, nanoseconds(took), connection);
        }
        took
    }
}

impl Session {
    /// Names the digest of the plan that runs next. `text`: the statement's.
    #[inline]
    pub(crate) fn observe(&mut self, compiled: &Compiled, text: &str) {
        let Compiled::Plan(plan) = compiled else {
            return self.observe_text(text);
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
    }

    /// The same of a statement that has no plan.
    pub(crate) fn observe_text(&mut self, text: &str) {
        self.event = StatementEvent {
            digest: self.digest_of(text),
            ..StatementEvent::default()
        };
    }

    /// The same of BEGIN, COMMIT and ROLLBACK, the most frequent of those.
    pub(crate) fn observe_word(&mut self, text: &str) {
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
        self.event.failed = failed;
        self.event.warnings = self.diagnostics.count;
        let took = self
            .shared
            .record_statement(kind, self.event, (started, now), self.process.id);
        let log = &self.shared.events.slow_log;
        if took >= self.settings.long_query_time || log.is_on() {
            self.log_if_slow(took, now);
        }
    }
}
