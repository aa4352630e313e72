//! As much of a MySQL server as a workload needs: it accepts every login, prepares every statement and
//! replies OK. It can end itself after a number of statements.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use wire::auth::{MYSQL_NATIVE_PASSWORD, Nonce};
use wire::capability;
use wire::command::code;
use wire::framing::{FrameDecoder, FrameEncoder};
use wire::handshake::Greeting;
use wire::writer::Writer;

/// The reply to statements that start with a given text.
pub struct Refusal {
    pub start: &'static str,
    pub code: u16,
    pub message: &'static str,
}

pub struct FakeServer {
    pub port: u16,
}

struct Shared {
    refusal: Option<Refusal>,
    /// Executions until it ends.
    left: AtomicU64,
    connections: Mutex<Vec<TcpStream>>,
    listener: Mutex<Option<TcpListener>>,
}

const CAPABILITIES: u32 = capability::PROTOCOL_41
    | capability::SECURE_CONNECTION
    | capability::PLUGIN_AUTH
    | capability::PLUGIN_AUTH_LENENC_CLIENT_DATA
    | capability::CONNECT_WITH_DB
    | capability::DEPRECATE_EOF;

impl FakeServer {
    /// Runs on threads of its own until the test ends, or until so many prepared statements were executed.
    pub fn start(executions: u64, refusal: Option<Refusal>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepting = listener.try_clone().unwrap();
        let shared = Arc::new(Shared {
            refusal,
            left: AtomicU64::new(executions),
            connections: Mutex::new(Vec::new()),
            listener: Mutex::new(Some(listener)),
        });
        thread::spawn(move || {
            while let Ok((stream, _)) = accepting.accept() {
                if shared.listener.lock().unwrap().is_none() {
                    break;
                }
                shared
                    .connections
                    .lock()
                    .unwrap()
                    .push(stream.try_clone().unwrap());
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { port }
    }
}

impl Shared {
    /// Closes all connections and accepts no more.
    fn die(&self, port: u16) {
        if self.listener.lock().unwrap().take().is_none() {
            return;
        }
        // The accepting thread wakes up, sees that the server has ended, and closes its half of the
        // listener.
        let _ = TcpStream::connect(("127.0.0.1", port));
        while TcpStream::connect(("127.0.0.1", port)).is_ok() {
            thread::yield_now();
        }
        for connection in self.connections.lock().unwrap().iter() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

struct Peer {
    stream: TcpStream,
    input: FrameDecoder,
    output: FrameEncoder,
}

impl Peer {
    fn receive(&mut self) -> Option<Vec<u8>> {
        while !self.input.advance().ok()? {
            let count = self
                .stream
                .read(self.input.spare())
                .ok()
                .filter(|count| *count > 0)?;
            self.input.filled(count);
        }
        self.output.set_sequence(self.input.sequence());
        Some(self.input.payload().to_vec())
    }

    fn flush(&mut self) -> Option<()> {
        self.input.set_sequence(0);
        self.stream.write_all(self.output.bytes()).ok()?;
        self.output.clear();
        Some(())
    }

    fn ok(&mut self) {
        self.output.push_with(|out| {
            wire::ok::Ok {
                affected_rows: 1,
                ..Default::default()
            }
            .encode(CAPABILITIES, out);
        });
    }

    /// One row with one text.
    fn row(&mut self, text: &str) {
        self.output.push(&[1]);
        self.output.push(b"a definition that nobody reads");
        self.output.push_with(|out| out.put_lenenc_bytes(text.as_bytes()));
        self.output.push_with(|out| {
            wire::ok::Ok::default().encode_result_end(CAPABILITIES, out);
        });
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> Option<()> {
    let port = stream.local_addr().ok()?.port();
    let mut peer = Peer {
        stream,
        input: FrameDecoder::new(1 << 24),
        output: FrameEncoder::new(),
    };
    peer.output.push_with(|out| {
        Greeting {
            version: "8.0.33-fake",
            connection_id: 1,
            nonce: &Nonce::from_bytes([b'n'; 20]),
            capabilities: CAPABILITIES,
            collation: 45,
            status: 2,
            plugin: MYSQL_NATIVE_PASSWORD,
        }
        .encode(out);
    });
    peer.input.set_sequence(1);
    let bytes = peer.output.bytes().to_vec();
    peer.stream.write_all(&bytes).ok()?;
    peer.output.clear();
    peer.receive()?;
    peer.ok();
    peer.flush()?;
    loop {
        let payload = peer.receive()?;
        let (command, body) = payload.split_first()?;
        let text = String::from_utf8_lossy(body).into_owned();
        let refusal = shared
            .refusal
            .as_ref()
            .filter(|refusal| text.starts_with(refusal.start));
        match (*command, refusal) {
            (code::QUIT, _) => return None,
            (code::QUERY | code::STMT_PREPARE, Some(refusal)) => peer.output.push_with(|out| {
                out.put_u8(0xff);
                out.put_u16(refusal.code);
                out.put_bytes(b"#HY000");
                out.put_bytes(refusal.message.as_bytes());
            }),
            (code::QUERY, None) if text.starts_with("SELECT") => peer.row("a fake"),
            (code::STMT_PREPARE, None) => prepared(&mut peer, &text),
            (code::STMT_EXECUTE, None) => {
                let left = shared.left.fetch_sub(1, Ordering::SeqCst);
                if left == 0 || left > u64::MAX / 2 {
                    shared.die(port);
                    return None;
                }
                peer.ok();
            }
            _ => peer.ok(),
        }
        peer.flush()?;
    }
}

fn prepared(peer: &mut Peer, text: &str) {
    let parameters = text.bytes().filter(|byte| *byte == b'?').count() as u16;
    peer.output.push_with(|out| {
        out.put_u8(0);
        out.put_u32(1);
        out.put_u16(0);
        out.put_u16(parameters);
        out.put_zeros(3);
    });
    for _ in 0..parameters {
        peer.output.push(b"a definition that nobody reads");
    }
}
