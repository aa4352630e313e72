//! One connection: login, then one command after another. Its state is a value, not a stack, so that it can be parked
//! while the client is idle and go on later on another thread.

use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use types::{Error, errno};
use wire::capabilities::capability;
use wire::command::code;
use wire::handshake::ChangeUser;
use wire::ok::Ok as OkPacket;
use wire::{ClientInfo, Flow, PacketSink};

use crate::accounts::Origin;
use crate::channel::{Channel, ReceiveError, Received, inactivity, shutdown_in_progress};
use crate::connections::Entry;
use crate::input::Input;
use crate::login::{LoggedIn, Login, Refusal, read_proxy_header};
use crate::output::Output;
use crate::pending_reply::{ConnectionReply, Reply};
use crate::sessions::{Limits, Session};
use crate::shared::Shared;
use crate::socket::Socket;
use crate::transport::Transport;

/// The longest packet of a client that nobody knows yet. (Connection attributes are 64 KiB at most.)
const LOGIN_BYTES_MAX: usize = 256 * 1024;

/// A connection whose client has logged in.
///
/// Fields are dropped in this order: the session ends, and only then the connection counts as gone.
pub struct Connection {
    session: Box<dyn Session>,
    channel: Channel,
    client: ClientInfo,
    origin: Origin,
    limits: Limits,
    idle_since: Instant,
    entry: Entry,
    shared: Arc<Shared>,
}

/// What the loop does next.
enum Next {
    Continue,
    /// The client gets this error, unless it is gone anyway.
    Close(Option<Error>),
}

/// Serves a new connection until it closes or is parked. Runs on a thread of its own.
pub fn start(shared: Arc<Shared>, socket: Arc<Socket>) {
    let id = shared.sessions.next_connection_id();
    let entry = shared.connections.enter(id, socket.clone());
    let metrics = &shared.metrics;
    metrics.connections.inc();
    let settings = shared.sessions.settings();
    let mut channel = Channel::new(
        Transport::new(socket.clone()),
        Input::new(
            LOGIN_BYTES_MAX,
            metrics.bytes_received.clone(),
            shared.config.memory,
        ),
        Output::new(metrics.bytes_sent.clone()),
    );
    let deadline = Instant::now() + settings.connect_timeout;
    if channel
        .transport
        .set_write_timeout(settings.connect_timeout)
        .is_err()
    {
        return;
    }
    let (origin, peer) = match origin_of(&shared, &mut channel, &socket, deadline) {
        Ok(found) => found,
        Err(error) => {
            shared.metrics.aborted_logins.inc();
            if let ReceiveError::Protocol(error) = error {
                refuse(
                    &mut channel,
                    Refusal {
                        error: Some(error),
                        capabilities: 0,
                    },
                );
            }
            return;
        }
    };
    let settings_max_connections = settings.max_connections;
    let login = Login {
        shared: &shared,
        channel: &mut channel,
        settings,
        origin,
        peer,
        deadline,
    };
    let opened = login.run(entry.control.id).and_then(|logged_in| {
        open_session(&shared, &entry, &logged_in, settings_max_connections)
            .map(|session| (session, logged_in))
            .map_err(|(error, capabilities)| Refusal {
                error: Some(error),
                capabilities,
            })
    });
    match opened {
        Ok((session, logged_in)) => {
            let limits = session.limits();
            let mut connection = Box::new(Connection {
                session,
                channel,
                client: logged_in.client,
                origin,
                limits,
                idle_since: Instant::now(),
                entry,
                shared,
            });
            if connection.answer_login().is_ok() {
                match logged_in.compression {
                    Some(algorithm) => connection.channel.start_compression(algorithm),
                    None if !connection.channel.transport.is_tls() => connection.allow_pending_replies(),
                    None => {}
                }
                connection.serve();
            }
        }
        Err(refusal) => {
            shared.metrics.aborted_logins.inc();
            refuse(&mut channel, refusal);
        }
    }
}

/// Where the client is: the socket's other end, or what a balancer in front says.
fn origin_of(
    shared: &Shared,
    channel: &mut Channel,
    socket: &Socket,
    deadline: Instant,
) -> Result<(Origin, Option<SocketAddr>), ReceiveError> {
    let Some(peer) = socket.peer() else {
        return if socket.is_unix() {
            Ok((Origin::Socket, None))
        } else {
            Err(io::Error::from(io::ErrorKind::NotConnected).into())
        };
    };
    let is_balancer = shared
        .config
        .proxy_protocol_networks
        .iter()
        .any(|network| network.contains(peer.ip()));
    let client = if is_balancer {
        read_proxy_header(channel, deadline)?.unwrap_or(peer)
    } else {
        peer
    };
    Ok((Origin::Address(client.ip()), Some(client)))
}

fn open_session(
    shared: &Shared,
    entry: &Entry,
    logged_in: &LoggedIn,
    max_connections: usize,
) -> Result<Box<dyn Session>, (Error, u32)> {
    let capabilities = logged_in.client.capabilities;
    // One more than allowed has come this far: it is an administrator's, or nobody's.
    if shared.connections.count() > max_connections && !logged_in.account.administrator {
        return Err((too_many_connections(), capabilities));
    }
    let session = catch_unwind(AssertUnwindSafe(|| {
        shared
            .sessions
            .open(entry.control.id, logged_in.client.clone(), entry.control.clone())
    }))
    .unwrap_or_else(|_| Err(Error::internal("opening the session failed")))
    .map_err(|error| (error, capabilities))?;
    entry.control.set_interrupter(session.interrupter());
    Ok(session)
}

/// Error 1040, as MySQL words it.
pub fn too_many_connections() -> Error {
    Error::new(errno::ER_CON_COUNT_ERROR, "Too many connections")
}

fn refuse(channel: &mut Channel, refusal: Refusal) {
    if let Some(error) = refusal.error {
        tracing::info!("login refused: {error}");
        if channel.send_error(&error, refusal.capabilities).is_ok() {
            channel.linger();
        }
    }
}

impl Connection {
    /// The OK packet that ends the login.
    fn answer_login(&mut self) -> io::Result<()> {
        let ok = OkPacket {
            status: self.session.status(),
            ..OkPacket::default()
        };
        let capabilities = self.client.capabilities;
        let mut sink = self.channel.sink();
        sink.send_with(&mut |out| ok.encode(capabilities, out))?;
        sink.flush()?;
        self.apply_limits()?;
        self.entry.control.end_command(self.session.in_transaction());
        Ok(())
    }

    fn allow_pending_replies(&mut self) {
        let (shared, control) = (self.shared.clone(), self.entry.control.clone());
        let reply = ConnectionReply::new(shared, control, self.client.capabilities);
        self.channel.reply = Some(Arc::new(reply));
    }

    /// Waits until the reply to the last command has been sent, if it is pending.
    fn settle(&mut self) {
        let Some(sent) = self.channel.reply.as_ref().and_then(|reply| reply.settle()) else {
            return;
        };
        self.idle_since = sent.at;
        self.channel.give_back(sent.buffer);
        if let Some(error) = sent.error {
            self.session.pending_reply_failed(&error);
        }
    }

    /// Answers commands until the connection closes, or parks it.
    pub fn serve(mut self: Box<Self>) {
        loop {
            if self.entry.control.is_hung_up() {
                return self.close(None);
            }
            self.channel.start_command();
            if self.shared.connections.is_draining() && !self.session.in_transaction() {
                return self.close(Some(shutdown_in_progress()));
            }
            self.shared.workers.ask_for_turns();
            let wait = self.shared.config.park_after.min(self.limits.wait_timeout);
            let received = self
                .channel
                .transport
                .set_read_timeout(wait)
                .map_err(ReceiveError::from)
                .and_then(|()| self.channel.receive(self.limits.net_read_timeout));
            self.settle();
            match received {
                Ok(Received::Packet) if self.entry.control.is_hung_up() => {
                    // A command that came too late for a server that stops is refused, so that its client knows.
                    let draining = self.shared.connections.is_draining();
                    return self.close(draining.then(shutdown_in_progress));
                }
                Ok(Received::Packet) => match self.command() {
                    Next::Continue => {}
                    Next::Close(error) => return self.close(error),
                },
                Ok(Received::Idle) => match self.left_to_be_idle() {
                    Some(left) => match park(self, left) {
                        // No place to park is no reason to lose the connection: it goes on waiting here.
                        Some(back) => self = back,
                        None => return,
                    },
                    None => return self.expire(),
                },
                Ok(Received::Closed) => {
                    // Without COM_QUIT.
                    self.shared.metrics.aborted_clients.inc();
                    return self.close(None);
                }
                Err(ReceiveError::Protocol(error)) => {
                    self.shared.metrics.aborted_clients.inc();
                    return self.close(Some(error));
                }
                Err(ReceiveError::Io(error)) => {
                    tracing::debug!("connection {}: {error}", self.entry.control.id);
                    self.shared.metrics.aborted_clients.inc();
                    return self.close(None);
                }
            }
        }
    }

    pub fn socket(&self) -> &Arc<Socket> {
        self.channel.transport.socket()
    }

    /// How long the client may still be idle.
    fn left_to_be_idle(&self) -> Option<Duration> {
        self.limits
            .wait_timeout
            .checked_sub(self.idle_since.elapsed())
            .filter(|left| !left.is_zero())
    }

    /// The client was idle for too long.
    pub fn expire(self: Box<Self>) {
        self.shared.metrics.aborted_clients.inc();
        self.close(Some(inactivity()));
    }

    /// One command and its answer.
    fn command(&mut self) -> Next {
        let started = Instant::now();
        self.entry.control.start_command();
        let Some(command) = self.channel.input.payload().first().copied() else {
            return Next::Close(Some(wire::reader::malformed()));
        };
        let next = match command {
            code::CHANGE_USER => self.change_user(),
            _ => self.handle(),
        };
        match next {
            // The error is sent in the place of any reply.
            Next::Close(Some(_)) => next,
            // Also where it is the connection's last reply.
            _ if self.submit_pending_reply(command, started) => match self.apply_limits() {
                Ok(()) => next,
                Err(_) => Next::Close(None),
            },
            Next::Close(None) => next,
            Next::Continue => self.end_command(command, started),
        }
    }

    /// Hands a pending reply over to the thread that will learn the commit's outcome. False: the reply is not pending.
    fn submit_pending_reply(&mut self, command: u8, started: Instant) -> bool {
        let pending = self.channel.reply.clone().filter(|reply| reply.is_pending());
        if let Some(pending) = &pending {
            let frames = self.channel.take_frames();
            pending.submit(Reply {
                frames,
                command,
                started,
            });
        }
        pending.is_some()
    }

    /// Sends what is left of the answer.
    fn end_command(&mut self, command: u8, started: Instant) -> Next {
        if self.channel.sink().flush().is_err() {
            self.shared.metrics.aborted_clients.inc();
            return Next::Close(None);
        }
        self.idle_since = Instant::now();
        self.shared
            .metrics
            .observe_command(command, self.idle_since - started);
        if self.apply_limits().is_err() {
            return Next::Close(None);
        }
        self.entry.control.end_command(self.session.in_transaction());
        Next::Continue
    }

    /// The session's variables may be others after every command.
    fn apply_limits(&mut self) -> io::Result<()> {
        self.limits = self.session.limits();
        self.channel
            .input
            .set_payload_bytes_max(self.limits.max_allowed_packet);
        self.channel
            .transport
            .set_write_timeout(self.limits.net_write_timeout)
    }

    fn handle(&mut self) -> Next {
        let Self { channel, session, .. } = self;
        let (command, mut sink) = channel.command_and_sink();
        // A defect of ours must not reach other connections, and the client shall hear of it.
        match catch_unwind(AssertUnwindSafe(|| session.handle(command, &mut sink))) {
            Ok(Ok(Flow::Continue)) => Next::Continue,
            Ok(Ok(Flow::Close)) => Next::Close(None),
            Ok(Err(error)) => {
                tracing::debug!("connection {}: {error}", self.entry.control.id);
                self.shared.metrics.aborted_clients.inc();
                Next::Close(None)
            }
            Err(_) => {
                tracing::error!("connection {}: a command panicked", self.entry.control.id);
                self.channel.output.abandon();
                Next::Close(Some(Error::internal("the statement failed in an unexpected way")))
            }
        }
    }

    fn change_user(&mut self) -> Next {
        let body = self.channel.input.payload().get(1..).unwrap_or_default();
        let request = match ChangeUser::decode(body, self.client.capabilities) {
            Ok(request) => request,
            Err(error) => return Next::Close(Some(error)),
        };
        let settings = self.shared.sessions.settings();
        let deadline = Instant::now() + settings.connect_timeout;
        let login = Login {
            shared: &self.shared,
            channel: &mut self.channel,
            settings,
            origin: self.origin,
            peer: self.client.peer,
            deadline,
        };
        let client = match login.change_user(request, &self.client) {
            Ok(client) => client,
            Err(refusal) => return Next::Close(refusal.error),
        };
        if let Err(error) = self.session.change_user(client.clone()) {
            return Next::Close(Some(error));
        }
        self.client = client;
        self.entry.control.set_interrupter(self.session.interrupter());
        let ok = OkPacket {
            status: self.session.status(),
            ..OkPacket::default()
        };
        let capabilities = self.client.capabilities;
        match self
            .channel
            .sink()
            .send_with(&mut |out| ok.encode(capabilities, out))
        {
            Ok(()) => Next::Continue,
            Err(_) => Next::Close(None),
        }
    }

    fn close(mut self: Box<Self>, error: Option<Error>) {
        self.settle();
        // The entry stays until the end: the connection counts until its client has been let go.
        let Self {
            session,
            mut channel,
            client,
            limits,
            entry: _entry,
            ..
        } = *self;
        // First of all locks are given back.
        drop(session);
        match error {
            Some(error) => {
                if is_refused_packet(&error) {
                    channel.skip_packet(limits.net_read_timeout);
                }
                // A client that has asked for nothing reads the error, number 0, when it sends its next command.
                let capabilities = client.capabilities | capability::PROTOCOL_41;
                if channel.send_error(&error, capabilities).is_ok() {
                    channel.linger();
                }
            }
            None => {
                let _ = channel.sink().flush();
                channel.transport.close();
            }
        }
    }
}

/// Whether the error refuses a packet that the client may still be writing.
fn is_refused_packet(error: &Error) -> bool {
    matches!(
        error.code,
        errno::ER_NET_PACKET_TOO_LARGE | errno::ER_OUT_OF_RESOURCES
    )
}

/// Gives the thread back while the client is idle; answers the connection where that cannot be done.
fn park(mut connection: Box<Connection>, left: Duration) -> Option<Box<Connection>> {
    connection.channel.release_memory();
    let shared = connection.shared.clone();
    match shared.parking.park(connection, left) {
        Ok(()) => None,
        Err((error, connection)) => {
            tracing::warn!("cannot park a connection: {error}");
            Some(connection)
        }
    }
}
