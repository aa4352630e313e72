//! The connection loop: login, then one command after another. A connection's state is a value, not a
//! stack, so it can be parked while the client is idle and continue on another thread.

use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use types::{Error, errno};
use wire::auth::Nonce;
use wire::capabilities::capability;
use wire::command::code;
use wire::handshake::ChangeUser;
use wire::host::Origin;
use wire::ok::Ok as OkPacket;
use wire::{ClientInfo, Flow, PacketSink};

use crate::channel::{Channel, inactivity, shutdown_in_progress};
use crate::connections::LiveConnection;
use crate::input::Input;
use crate::login::{LoggedIn, Login, Refusal, read_proxy_header};
use crate::output::Output;
use crate::parking::Parked;
use crate::pending_reply::{ConnectionReply, Reply};
use crate::receive::{ReceiveError, Received};
use crate::sessions::{Limits, Session};
use crate::shared::Shared;
use crate::socket::Socket;
use crate::transport::Transport;

/// The longest packet before the login. (Connection attributes are 64 KiB at most.)
const LOGIN_BYTES_MAX: usize = 256 * 1024;

/// A connection whose client has logged in.
///
/// The order of the fields matters for dropping: the session ends before the connection is unregistered.
pub struct Connection {
    session: Box<dyn Session>,
    channel: Channel,
    client: ClientInfo,
    /// What the greeting had.
    nonce: Nonce,
    origin: Origin,
    limits: Limits,
    idle_since: Instant,
    live: LiveConnection,
    shared: Arc<Shared>,
}

/// What the loop does next.
enum Next {
    Continue,
    /// The client gets this error, unless it is gone anyway.
    Close(Option<Error>),
}

/// Serves a new connection until it closes or is parked. Runs on the connection's own thread.
pub fn start(shared: Arc<Shared>, socket: Arc<Socket>) {
    let id = shared.sessions.next_connection_id();
    let live = shared.connections.register(id, socket.clone());
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
    let opened = login.run(live.control.id).and_then(|logged_in| {
        open_session(&shared, &live, &logged_in, settings_max_connections)
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
                nonce: logged_in.nonce,
                origin,
                limits,
                idle_since: Instant::now(),
                live,
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
            if refusal.is_of_locked_account() {
                shared.metrics.locked_logins.inc();
            }
            refuse(&mut channel, refusal);
        }
    }
}

/// The client's origin: the socket's peer, or the address in a balancer's PROXY header.
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
    live: &LiveConnection,
    logged_in: &LoggedIn,
    max_connections: usize,
) -> Result<Box<dyn Session>, (Error, u32)> {
    let capabilities = logged_in.client.capabilities;
    // The listener lets one connection beyond the limit come this far. Only an administrator may use it.
    if shared.connections.count() > max_connections && !logged_in.account.administrator {
        shared.metrics.refused.inc();
        return Err((too_many_connections(), capabilities));
    }
    let session = catch_unwind(AssertUnwindSafe(|| {
        shared
            .sessions
            .open(live.control.id, logged_in.client.clone(), live.control.clone())
    }))
    .unwrap_or_else(|_| Err(Error::internal("opening the session failed")))
    .map_err(|error| (error, capabilities))?;
    live.control.set_interrupter(session.interrupter());
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
        self.live.control.end_command(self.session.in_transaction());
        Ok(())
    }

    fn allow_pending_replies(&mut self) {
        let (shared, control) = (self.shared.clone(), self.live.control.clone());
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

    /// Handles commands until the connection closes, or parks it.
    fn serve(mut self: Box<Self>) {
        let _on_thread = self.session.on_thread();
        loop {
            if self.live.control.is_hung_up() {
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
                Ok(Received::Packet) if self.live.control.is_hung_up() => {
                    // The server is stopping: this command is refused with an error, so that the client
                    // knows.
                    let draining = self.shared.connections.is_draining();
                    return self.close(draining.then(shutdown_in_progress));
                }
                Ok(Received::Packet) => match self.command() {
                    Next::Continue => {}
                    Next::Close(error) => return self.close(error),
                },
                Ok(Received::Idle) => match self.idle_time_left() {
                    Some(left) => match park(self, left) {
                        // If parking fails, the connection is not lost: it waits on this thread.
                        Some(back) => self = back,
                        None => return,
                    },
                    None => return self.expire(),
                },
                Ok(Received::Closed) => {
                    // The client closed without COM_QUIT.
                    self.shared.metrics.aborted_clients.inc();
                    return self.close(None);
                }
                Err(ReceiveError::Protocol(error)) => {
                    self.shared.metrics.aborted_clients.inc();
                    return self.close(Some(error));
                }
                Err(ReceiveError::Io(error)) => {
                    tracing::debug!("connection {}: {error}", self.live.control.id);
                    self.shared.metrics.aborted_clients.inc();
                    return self.close(None);
                }
            }
        }
    }

    /// How long the client may still be idle; `None` if it was idle for too long.
    fn idle_time_left(&self) -> Option<Duration> {
        self.limits
            .wait_timeout
            .checked_sub(self.idle_since.elapsed())
            .filter(|left| !left.is_zero())
    }

    /// Handles one command and sends its reply.
    fn command(&mut self) -> Next {
        let started = Instant::now();
        self.live.control.start_command();
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

    /// Hands a pending reply over to the thread that will learn the commit's outcome. False: the reply is
    /// not pending.
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

    /// Sends the rest of the reply.
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
        self.live.control.end_command(self.session.in_transaction());
        Next::Continue
    }

    /// Reads the session's variables, which any command may have changed.
    fn apply_limits(&mut self) -> io::Result<()> {
        self.limits = self.session.limits();
        self.channel.file_timeout = self.limits.net_read_timeout;
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
        // A panic is a defect of ours. It must not affect other connections, and the client gets an error.
        let handled = catch_unwind(AssertUnwindSafe(|| session.handle(command, &mut sink)));
        channel.end_command();
        match handled {
            Ok(Ok(Flow::Continue)) => Next::Continue,
            Ok(Ok(Flow::Close)) => Next::Close(None),
            Ok(Err(error)) => {
                tracing::debug!("connection {}: {error}", self.live.control.id);
                self.shared.metrics.aborted_clients.inc();
                Next::Close(None)
            }
            Err(_) => {
                tracing::error!("connection {}: a command panicked", self.live.control.id);
                self.channel.output.abandon();
                Next::Close(Some(Error::internal(
                    "the statement failed because of a defect; the server's log has the details",
                )))
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
        let client = match login.change_user(request, &self.client, &self.nonce) {
            Ok(client) => client,
            Err(refusal) => return Next::Close(refusal.error),
        };
        if let Err(error) = self.session.change_user(client.clone()) {
            return Next::Close(Some(error));
        }
        self.client = client;
        self.live.control.set_interrupter(self.session.interrupter());
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
        // The connection stays registered until the end, so that it counts until its client has been
        // closed.
        let Self {
            session,
            mut channel,
            client,
            limits,
            live: _live,
            ..
        } = *self;
        // The session goes first, so that its locks are released at once.
        drop(session);
        match error {
            Some(error) => {
                if is_refused_packet(&error) {
                    channel.skip_packet(limits.net_read_timeout);
                }
                // If there is no command, the error has number 0, and the client reads it when it sends its
                // next command.
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

impl Parked for Connection {
    fn socket(&self) -> &Arc<Socket> {
        self.channel.transport.socket()
    }

    fn resume(self: Box<Self>) {
        self.serve();
    }

    fn expire(self: Box<Self>) {
        self.shared.metrics.aborted_clients.inc();
        self.close(Some(inactivity()));
    }
}

/// Parks the connection while the client is idle, which frees the thread. Returns the connection if that
/// fails.
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
