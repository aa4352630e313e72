//! The status port: `GET /status` for load balancers and `GET /metrics` for Prometheus, over HTTP/1.1, one
//! request per connection. It reveals no secrets and changes nothing.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::metrics::Figures;
use crate::shared::Shared;

/// The longest request, with its headers.
const REQUEST_BYTES_MAX: usize = 8 * 1024;
const HEADERS_MAX: usize = 64;
/// The time to read a request, and the time to write a response.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Requests handled at the same time; further ones are refused.
const REQUESTS_MAX: usize = 16;

/// The handler of requests.
pub struct StatusPort {
    shared: Arc<Shared>,
    figures: Figures,
    under_way: AtomicUsize,
}

struct Answer {
    status: &'static str,
    content_type: &'static str,
    body: String,
}

impl StatusPort {
    pub fn new(shared: Arc<Shared>, figures: Figures) -> Arc<Self> {
        Arc::new(Self {
            shared,
            figures,
            under_way: AtomicUsize::new(0),
        })
    }

    /// Serves one connection on a thread started for it.
    pub fn accept(self: &Arc<Self>, stream: TcpStream) {
        if self.under_way.fetch_add(1, Ordering::SeqCst) >= REQUESTS_MAX {
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let port = self.clone();
        let done = RequestGuard(self.clone());
        let spawned = self.shared.workers.run(move || {
            let _done = done;
            if let Err(error) = port.serve(stream) {
                tracing::debug!("status port: {error}");
            }
        });
        if let Err(error) = spawned {
            tracing::error!("no thread for the status port: {error}");
        }
    }

    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(TIMEOUT))?;
        let answer = match read_request(&mut stream)? {
            Some(path) => self.answer(&path),
            None => Answer::text("400 Bad Request", "bad request\n"),
        };
        let Answer {
            status,
            content_type,
            body,
        } = answer;
        let length = body.len();
        let response = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(response.as_bytes())
    }

    /// `path` is empty for methods other than GET.
    fn answer(&self, path: &str) -> Answer {
        match path.split('?').next().unwrap_or_default() {
            "/status" => self.status(),
            "/metrics" => match self.figures.to_text() {
                Ok(body) => Answer {
                    status: "200 OK",
                    content_type: "text/plain; version=0.0.4; charset=utf-8",
                    body,
                },
                Err(error) => Answer::text("500 Internal Server Error", &format!("{error}\n")),
            },
            "" => Answer::text("405 Method Not Allowed", "GET only\n"),
            _ => Answer::text("404 Not Found", "there are /status and /metrics\n"),
        }
    }

    fn status(&self) -> Answer {
        let draining = self.shared.connections.is_ending();
        let body = serde_json::json!({
            "version": self.shared.sessions.settings().version,
            "state": if draining { "draining" } else { "serving" },
            "connections": self.shared.connections.count(),
            "uptime_seconds": self.shared.started.elapsed().as_secs(),
        });
        let status = if draining {
            "503 Service Unavailable"
        } else {
            "200 OK"
        };
        Answer {
            status,
            content_type: "application/json",
            body: format!("{body}\n"),
        }
    }
}

impl Answer {
    fn text(status: &'static str, body: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: body.to_owned(),
        }
    }
}

/// Counts a request as done when it is dropped.
struct RequestGuard(Arc<StatusPort>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The path of a GET request, empty for other methods; `None` if the bytes are not a request.
fn read_request(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let deadline = Instant::now() + TIMEOUT;
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Complete(_)) => {
                let path = request.path.unwrap_or("/");
                return Ok(Some(if request.method == Some("GET") {
                    path.to_owned()
                } else {
                    String::new()
                }));
            }
            Ok(httparse::Status::Partial) if bytes.len() < REQUEST_BYTES_MAX => {}
            _ => return Ok(None),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
    }
}
