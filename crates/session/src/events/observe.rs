//! The start and the end of a statement: counts it, and logs it if it was slow.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use runner::TransactionEnds;
use syntax::ast::SqlCommand;

use super::event::StatementEvent;
use super::event_name::ProtocolCommand;
use super::nanoseconds;
use crate::compiled::Compiled;
use crate::counters::StatusCounter;
use crate::events::slow_log;
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
        event: &StatementEvent,
        (started, now): (Instant, Instant),
        process: &Process,
    ) -> Duration {
        let took = now.saturating_duration_since(started);
        let took_ns = nanoseconds(took);
        self.statistics.record(kind, took_ns, event.failed);
        process.counters.record(event);
        if let Some(digest) = self.events.digests.get(event.digest) {
            digest.record(event, took_ns, self.unix_us(now));
        }
        if self.events.is_on() {
            process.counters.by_name.record(event, took_ns);
            process.record(event, started, took_ns);
        }
        took
    }

    /// Counts a command of the protocol that is not a statement.
    pub(crate) fn record_protocol_command(
        &self,
        command: ProtocolCommand,
        failed: bool,
        took: Duration,
        process: &Process,
    ) {
        if self.events.is_on() {
            let event = StatementEvent {
                name: command.into(),
                failed,
                ..StatementEvent::default()
            };
            process.counters.by_name.record(&event, nanoseconds(took));
        }
    }
}

/// Counts a statement that begins, and names its digest. `text`: the statement's.
pub fn begin(session: &mut Session, compiled: &Compiled, text: &str, command: Option<SqlCommand>) {
    if begin_again(session, compiled) {
        return;
    }
    let Compiled::Plan(plan) = compiled else {
        return begin_text(session, text, command);
    };
    let digest = digest_of(session, text);
    plan.digest.store(digest, Ordering::Relaxed);
    session.event.digest = digest;
    session.event.name = plan.command.into();
    session.process.counters.begin(plan.command);
}

/// The same where the digest is known. `false`: it is not, and nothing was counted.
#[inline]
pub fn begin_again(session: &mut Session, compiled: &Compiled) -> bool {
    let Compiled::Plan(plan) = compiled else {
        return false;
    };
    let digest = plan.digest.load(Ordering::Relaxed);
    if digest == 0 || session.shared.events.digests.is_outdated(digest) {
        return false;
    }
    session.event.digest = digest;
    session.event.name = plan.command.into();
    session.process.counters.begin(plan.command);
    true
}

/// [`begin`] of a statement that has no plan. `command`: its kind.
pub fn begin_text(session: &mut Session, text: &str, command: Option<SqlCommand>) {
    session.process.counters.begin(command);
    session.event = StatementEvent {
        digest: digest_of(session, text),
        name: command.into(),
        ..StatementEvent::default()
    };
}

/// [`begin`] for BEGIN, COMMIT and ROLLBACK, the most frequent statements without a plan.
pub fn begin_word(session: &mut Session, text: &str, command: SqlCommand) {
    session.process.counters.begin(Some(command));
    let at = match text.as_bytes().first() {
        Some(b'b' | b'B') => 0,
        Some(b'c' | b'C') => 1,
        _ => 2,
    };
    let known = session.word_digests[at];
    if known == 0 || session.shared.events.digests.is_outdated(known) {
        session.word_digests[at] = digest_of(session, text);
    }
    session.event.digest = session.word_digests[at];
    session.event.name = Some(command).into();
}

fn count_ends(session: &Session, ends: TransactionEnds) {
    let counters = &session.process.counters;
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
fn digest_of(session: &Session, text: &str) -> u32 {
    let events = &session.shared.events;
    events.digest_number(session.database.as_deref(), text, &session.settings.sql_mode)
}

/// Records a statement's end in the server's statistics, and in the slow log. A statement with a pending
/// reply has not ended.
pub fn end(session: &mut Session, kind: Kind, started: Instant, failed: bool) {
    let now = Instant::now();
    session.ended = Some(now);
    if session.reply_waits {
        return;
    }
    let ends = std::mem::take(&mut session.transaction.ends);
    if ends != TransactionEnds::default() {
        count_ends(session, ends);
    }
    session.event.failed = failed;
    session.event.warnings = session.diagnostics.count;
    let took = session
        .shared
        .record_statement(kind, &session.event, (started, now), &session.process);
    if session.settings.profiling {
        end_profile(session, (started, now));
    }
    let log = &session.shared.events.slow_log;
    if took >= session.settings.long_query_time || log.is_on() {
        slow_log::log_if_slow(session, took, now);
    }
}

/// `profiling`.
#[cold]
fn end_profile(session: &Session, times: (Instant, Instant)) {
    if let Some(text) = session.process.activity().statement {
        let most = session.settings.profiling_history;
        session.profiles.end(&text, times, most);
    }
}
