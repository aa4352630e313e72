//! Commits with a pending reply: the committing thread sends the reply, and meanwhile the session reads the
//! next command.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use functions::ReadCounters;
use runner::{CommitEnd, Runner};
use types::{Error, Result, errno};
use wire::connection::{PacketSink, PendingReply};

use crate::counters::StatusCounter;
use crate::events::event::{RowChanges, StatementEvent};
use crate::profiles::stage;
use crate::session::Session;
use crate::statistics::Kind;
use crate::view::SessionView;

/// The reply to a running commit. If it is dropped before the outcome is known, which is a defect, the client
/// gets an error instead of waiting forever.
struct ReplyGuard(Option<Arc<dyn PendingReply>>);

impl ReplyGuard {
    /// Sends the reply, or an error instead. If the session has continued meanwhile, `deferred` runs before.
    fn complete(mut self, outcome: Result<()>, deferred: &mut dyn FnMut()) {
        if let Some(reply) = self.0.take() {
            reply.complete(outcome, deferred);
        }
    }
}

impl Drop for ReplyGuard {
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            let defect = "the commit was cut short by a defect";
            reply.complete(Err(Error::new(errno::ER_RESULT_UNDETERMINED, defect)), &mut || ());
        }
    }
}

/// Commits a statement that sends its reply next.
pub struct Committer<'a> {
    pub view: SessionView<'a>,
    /// The kind of the statement, for the counters.
    pub kind: Kind,
    pub started: Instant,
    /// The event of the statement, for the counters.
    pub event: StatementEvent,
    /// What the statement has read and changed before its commit.
    pub written: Option<(&'a ReadCounters, &'a Cell<RowChanges>)>,
    /// Where the reply goes.
    pub out: &'a mut dyn PacketSink,
    pub deferral: Deferral<'a>,
}

/// Whether a statement's reply may be left pending until its commit ends.
pub struct Deferral<'a> {
    /// False if the same packet has more statements.
    pub is_allowed: bool,
    /// Set if the reply is pending.
    pub reply_waits: &'a mut bool,
}

impl Committer<'_> {
    /// Commits the runner's transaction. If the reply is left pending, this returns success before the commit
    /// has ended.
    pub fn commit(self, runner: &mut Runner<'_>) -> Result<()> {
        let mut held = None;
        let is_profiled = self.view.settings.profiling;
        if is_profiled {
            self.view.profiles.stage(stage::COMMIT);
        }
        let observer = || {
            // A profile ends with its statement, so the session has to wait for the commit.
            if !self.deferral.is_allowed || is_profiled {
                return None;
            }
            let reply = self.out.defer_reply()?;
            held = Some(reply.clone());
            let (shared, process) = (self.view.shared.clone(), self.view.process.clone());
            let (kind, started, guard) = (self.kind, self.started, ReplyGuard(Some(reply)));
            let mut event = self.event;
            if let Some((reads, changes)) = self.written {
                event.reads = reads.counts();
                event.changes = changes.get();
            }
            Some(move |end: CommitEnd| {
                let result = end.finish(&shared.engine);
                let failed = result.is_err();
                guard.complete(result, &mut || {
                    let now = Instant::now();
                    event.failed = failed;
                    let ended = match failed {
                        true => StatusCounter::HandlerRollback,
                        false => StatusCounter::HandlerCommit,
                    };
                    process.counters.add(ended, 1);
                    shared.record_statement(kind, &event, (started, now), &process);
                    process.end(now);
                });
            })
        };
        runner.commit_or_hand_over(observer)?;
        let Some(reply) = held else { return Ok(()) };
        let outcome = reply.detach();
        *self.deferral.reply_waits = outcome.is_none();
        outcome.unwrap_or(Ok(()))
    }
}

/// COMMIT by a statement whose reply may be left pending.
pub fn commit_replying(session: &mut Session, kind: Kind, out: &mut dyn PacketSink) -> Result<()> {
    let (started, event) = (session.statement_started, session.event);
    let mut parts = session.parts();
    let committer = Committer {
        view: parts.view,
        kind,
        started,
        event,
        written: None,
        out,
        deferral: parts.deferral,
    };
    committer.commit(&mut parts.runner)
}
