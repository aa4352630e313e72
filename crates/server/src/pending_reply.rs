//! Pending replies: replies to a commit, which must not be sent before the commit is on disk.
//!
//! The thread that learns of the commit's outcome is another one, which commits for many connections. The
//! connection's thread writes the reply, leaves it here and waits for the client's next command. The
//! committing thread sends the reply, or an error packet in its place. So the connection's thread sleeps
//! once per commit, not twice.
//!
//! If sending a reply panics, the panic must not reach the committing thread, and the client must not wait
//! forever: the panic is logged, and the connection is closed as after a crash (error 2013 at the client).

use std::io::{ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};
use types::{Error, Result, errno};
use wire::PendingReply;
use wire::framing::FrameEncoder;

use crate::connections::Control;
use crate::shared::Shared;

/// Where the sequence number stands in a frame's header.
const SEQUENCE_AT: usize = 3;

/// The whole reply to a command.
pub struct Reply {
    /// All packets, with their headers.
    pub frames: Vec<u8>,
    pub command: u8,
    pub started: Instant,
}

/// The state of a pending reply. The usual way is `Idle`, `Deferred`, `Detached`, `Written`, `Sent`.
enum State {
    /// No reply is pending.
    Idle,
    /// The session has asked for its reply to be deferred.
    Deferred,
    /// The session has gone on without the outcome, and writes its reply as if all went well.
    Detached,
    /// The reply is whole, and its connection's thread waits for the next command.
    Written(Reply),
    /// The outcome is there, and the reply is not whole yet.
    Decided(Result<()>),
    /// The client reads slowly: a thread started for that writes the reply.
    Writing,
    Sent(SentReply),
}

/// A reply that has been sent, and the connection's thread does not know it yet.
pub struct SentReply {
    pub at: Instant,
    /// The error that was sent in the reply's place.
    pub error: Option<Error>,
    /// The reply's buffer, for the connection's thread to use again.
    pub buffer: Vec<u8>,
}

/// The pending reply of one connection; there is at most one at a time.
pub struct ConnectionReply {
    shared: Arc<Shared>,
    control: Arc<Control>,
    /// As [`wire::err::encode`] wants them.
    capabilities: u32,
    /// Whether a reply has been deferred since the last [`ConnectionReply::settle`]. Only the connection's
    /// own thread uses it, and needs no lock while no reply is pending.
    in_use: AtomicBool,
    state: Mutex<State>,
    sent: Condvar,
}

impl ConnectionReply {
    pub fn new(shared: Arc<Shared>, control: Arc<Control>, capabilities: u32) -> Self {
        Self {
            shared,
            control,
            capabilities,
            in_use: AtomicBool::new(false),
            state: Mutex::new(State::Idle),
            sent: Condvar::new(),
        }
    }

    /// Makes the reply that is about to be written a pending one. False if one is pending already.
    pub fn defer(&self) -> bool {
        let mut state = self.state.lock();
        let is_idle = matches!(*state, State::Idle);
        if is_idle {
            *state = State::Deferred;
            self.in_use.store(true, Ordering::Relaxed);
        }
        is_idle
    }

    /// Whether the reply being written is a pending one.
    pub fn is_pending(&self) -> bool {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Hands over the reply, to be sent as soon as the outcome is known.
    pub fn submit(self: &Arc<Self>, reply: Reply) {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Idle) {
            State::Decided(outcome) => self.send(state, reply, outcome),
            _ => *state = State::Written(reply),
        }
    }

    /// Waits until no reply is pending. Returns the one that was, if it has been sent.
    pub fn settle(&self) -> Option<SentReply> {
        if !self.in_use.swap(false, Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state.lock();
        loop {
            match std::mem::replace(&mut *state, State::Idle) {
                State::Sent(sent) => return Some(sent),
                State::Idle | State::Deferred | State::Decided(_) => return None,
                unsettled => *state = unsettled,
            }
            self.sent.wait(&mut state);
        }
    }

    /// An error packet in the reply's place.
    fn error_instead(&self, reply: &Reply, error: &Error) -> Vec<u8> {
        let mut frames = FrameEncoder::new();
        frames.set_sequence(reply.frames.get(SEQUENCE_AT).copied().unwrap_or(1));
        frames.push_with(|packet| wire::err::encode(error, self.capabilities, None, packet));
        frames.bytes().to_vec()
    }

    fn send(self: &Arc<Self>, mut state: MutexGuard<'_, State>, reply: Reply, outcome: Result<()>) {
        let bytes = match &outcome {
            Ok(()) => reply.frames,
            Err(error) => self.error_instead(&reply, error),
        };
        self.shared.metrics.bytes_sent.inc_by(bytes.len() as u64);
        let end = CommandEnd {
            error: outcome.err(),
            command: reply.command,
            started: reply.started,
        };
        let written = match self.control.socket().try_write(&bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(_) => {
                self.control.cut();
                bytes.len()
            }
        };
        if written == bytes.len() {
            return self.end(&mut state, end, bytes);
        }
        // A client that sends many commands and reads no replies must not delay the commits of others.
        *state = State::Writing;
        let this = Arc::clone(self);
        let write = move || {
            this.or_cut(|| {
                let rest = bytes.get(written..).unwrap_or_default();
                if (&**this.control.socket()).write_all(rest).is_err() {
                    // Nothing may follow half a reply.
                    this.control.cut();
                }
                this.end(&mut this.state.lock(), end, Vec::new());
            });
        };
        if thread::Builder::new()
            .name("slow-client".into())
            .spawn(write)
            .is_err()
        {
            self.control.cut();
            *state = State::Idle;
            self.sent.notify_all();
        }
    }

    /// Runs `work`, which sends a reply or leads to that. After a panic it is unknown how much of the reply
    /// has been sent, so the client loses its connection, and the connection's thread does not wait for the
    /// reply.
    fn or_cut(&self, work: impl FnOnce()) {
        if let Err(_payload) = catch_unwind(AssertUnwindSafe(work)) {
            tracing::error!("connection {}: sending a reply panicked", self.control.id);
            self.control.cut();
            let defect = "the reply failed because of a defect; the server's log has the details";
            *self.state.lock() = State::Decided(Err(Error::new(errno::ER_RESULT_UNDETERMINED, defect)));
            self.sent.notify_all();
        }
    }

    fn complete_now(self: &Arc<Self>, outcome: Result<()>, if_detached: &mut dyn FnMut()) {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Idle) {
            State::Written(reply) => {
                if_detached();
                self.send(state, reply, outcome);
            }
            State::Detached => {
                if_detached();
                *state = State::Decided(outcome);
                self.sent.notify_all();
            }
            State::Deferred => *state = State::Decided(outcome),
            other => *state = other,
        }
    }

    /// The reply has been sent.
    fn end(&self, state: &mut State, end: CommandEnd, buffer: Vec<u8>) {
        let at = Instant::now();
        *state = State::Sent(SentReply {
            at,
            error: end.error,
            buffer,
        });
        self.sent.notify_all();
        self.shared.metrics.observe_command(end.command, at - end.started);
        // Only the reply to a command that ends the transaction is deferred.
        self.control.end_command(false);
        if self.shared.connections.is_draining() {
            self.control.end_reading();
        }
    }
}

/// What is recorded of a command once its reply has been sent.
struct CommandEnd {
    error: Option<Error>,
    command: u8,
    started: Instant,
}

impl PendingReply for ConnectionReply {
    fn complete(self: Arc<Self>, outcome: Result<()>, if_detached: &mut dyn FnMut()) {
        self.or_cut(|| self.complete_now(outcome, if_detached));
    }

    fn detach(&self) -> Option<Result<()>> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Idle) {
            State::Decided(outcome) => {
                self.in_use.store(false, Ordering::Relaxed);
                Some(outcome)
            }
            _ => {
                *state = State::Detached;
                None
            }
        }
    }
}
