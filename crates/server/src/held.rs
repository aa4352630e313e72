//! Answers that wait for the outcome of what they tell of.
//!
//! A commit is answered once it is on disk, which takes longer than all the rest of it, and is found out by a thread that
//! commits for many. The connection's thread leaves its answer here and waits for the client's next command; whoever learns
//! the outcome sends the answer, or the error in its place. So a commit has the connection's thread sleep once, not twice.
//!
//! A panic while that is done must neither reach the thread that commits nor leave the client waiting, who has been promised
//! an answer by nobody else: it is logged, and the connection is closed, as after a crash (error 2013 at the client).

use std::io::{ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};
use types::{Error, Result, errno};
use wire::HeldAnswer;
use wire::framing::FrameEncoder;

use crate::connections::Control;
use crate::shared::Shared;

/// Where a frame has its number.
const SEQUENCE_AT: usize = 3;

/// The whole answer to a command.
pub struct Answer {
    /// All packets, with their headers.
    pub frames: Vec<u8>,
    pub command: u8,
    pub started: Instant,
}

enum State {
    Idle,
    /// The answer is being made.
    Open,
    /// The answer is being made, and its maker has gone on without the outcome.
    Ahead,
    /// The answer is whole, and its maker waits for the next command.
    Left(Answer),
    /// The outcome is there before the answer is whole.
    Known(Result<()>),
    /// The client is slow: a thread of its own writes the answer.
    Writing,
    Sent(Sent),
}

/// That an answer has been sent, of which its maker does not know yet.
pub struct Sent {
    pub at: Instant,
    /// What took the answer's place.
    pub error: Option<Error>,
    /// What it was in: belongs to its maker's thread, which has use for it.
    pub buffer: Vec<u8>,
}

/// The answers of one connection: one at a time.
pub struct Held {
    shared: Arc<Shared>,
    control: Arc<Control>,
    /// As [`wire::err::encode`] wants them.
    capabilities: u32,
    /// Of the connection's own thread: whether it has opened an answer since nothing was held. Spares it the lock.
    in_use: AtomicBool,
    state: Mutex<State>,
    sent: Condvar,
}

impl Held {
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

    /// Has the answer that is about to be made wait. False where one waits already.
    pub fn open(&self) -> bool {
        let mut state = self.state.lock();
        let is_idle = matches!(*state, State::Idle);
        if is_idle {
            *state = State::Open;
            self.in_use.store(true, Ordering::Relaxed);
        }
        is_idle
    }

    /// Whether the answer being made is one that waits.
    pub fn is_open(&self) -> bool {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Leaves the answer, to be sent when the time has come.
    pub fn leave(self: &Arc<Self>, answer: Answer) {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Idle) {
            State::Known(outcome) => self.send(state, answer, outcome),
            _ => *state = State::Left(answer),
        }
    }

    /// Waits until nothing is held any more. Answers what was, if it has been sent.
    pub fn settle(&self) -> Option<Sent> {
        if !self.in_use.swap(false, Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state.lock();
        loop {
            match std::mem::replace(&mut *state, State::Idle) {
                State::Sent(sent) => return Some(sent),
                State::Idle | State::Open | State::Known(_) => return None,
                waiting => *state = waiting,
            }
            self.sent.wait(&mut state);
        }
    }

    /// An error packet in the place of an answer.
    fn error_instead(&self, answer: &Answer, error: &Error) -> Vec<u8> {
        let mut frames = FrameEncoder::new();
        frames.set_sequence(answer.frames.get(SEQUENCE_AT).copied().unwrap_or(1));
        frames.push_with(|packet| wire::err::encode(error, self.capabilities, None, packet));
        frames.bytes().to_vec()
    }

    fn send(self: &Arc<Self>, mut state: MutexGuard<'_, State>, answer: Answer, outcome: Result<()>) {
        let bytes = match &outcome {
            Ok(()) => answer.frames,
            Err(error) => self.error_instead(&answer, error),
        };
        self.shared.metrics.bytes_sent.inc_by(bytes.len() as u64);
        let end = End {
            error: outcome.err(),
            command: answer.command,
            started: answer.started,
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
        // A client that has sent many commands and reads no answers must not hold up others' commits.
        *state = State::Writing;
        let held = Arc::clone(self);
        let write = move || {
            held.or_cut(|| {
                let rest = bytes.get(written..).unwrap_or_default();
                if (&**held.control.socket()).write_all(rest).is_err() {
                    // Half of an answer is none, and nothing may follow it.
                    held.control.cut();
                }
                held.end(&mut held.state.lock(), end, Vec::new());
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

    /// Runs `work`, which sends an answer or brings it nearer to that. If it panics, nobody knows what of the answer has been
    /// sent: the client loses its connection, and its thread does not wait for the answer.
    fn or_cut(&self, work: impl FnOnce()) {
        if let Err(_payload) = catch_unwind(AssertUnwindSafe(work)) {
            tracing::error!("connection {}: sending an answer panicked", self.control.id);
            self.control.cut();
            let defect = "sending the answer failed in an unexpected way";
            *self.state.lock() = State::Known(Err(Error::new(errno::ER_RESULT_UNDETERMINED, defect)));
            self.sent.notify_all();
        }
    }

    fn release_now(self: &Arc<Self>, outcome: Result<()>, late: &mut dyn FnMut()) {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Idle) {
            State::Left(answer) => {
                late();
                self.send(state, answer, outcome);
            }
            State::Ahead => {
                late();
                *state = State::Known(outcome);
                self.sent.notify_all();
            }
            State::Open => *state = State::Known(outcome),
            other => *state = other,
        }
    }

    /// The answer has been sent.
    fn end(&self, state: &mut State, end: End, buffer: Vec<u8>) {
        let at = Instant::now();
        *state = State::Sent(Sent {
            at,
            error: end.error,
            buffer,
        });
        self.sent.notify_all();
        self.shared.metrics.observe_command(end.command, at - end.started);
        // Answers are held for what ends a transaction.
        self.control.end_command(false);
        if self.shared.connections.is_draining() {
            self.control.end_reading();
        }
    }
}

/// What is noted once an answer has been sent.
struct End {
    error: Option<Error>,
    command: u8,
    started: Instant,
}

impl HeldAnswer for Held {
    fn release(self: Arc<Self>, outcome: Result<()>, late: &mut dyn FnMut()) {
        self.or_cut(|| self.release_now(outcome, late));
    }

    fn go_on(&self) -> Option<Result<()>> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Idle) {
            State::Known(outcome) => {
                self.in_use.store(false, Ordering::Relaxed);
                Some(outcome)
            }
            _ => {
                *state = State::Ahead;
                None
            }
        }
    }
}
