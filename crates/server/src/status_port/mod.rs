//! The status port: `GET /status` for load balancers, `GET /metrics` for Prometheus, and a web page
//! ([`window`]), over HTTP/1.1, one request per connection. Without a login it reveals no secrets and changes
//! nothing.

mod request;
mod response;
mod window;

use std::io::{self, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::metrics::Figures;
use crate::shared::Shared;
use request::Request;
use response::Response;
use window::Window;

/// The time to read a request, and the time to write a response.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Requests handled at the same time; further ones are refused.
const REQUESTS_MAX: usize = 16;

/// The handler of requests.
pub struct StatusPort {
    shared: Arc<Shared>,
    figures: Figures,
    window: Window,
    under_way: AtomicUsize,
}

impl StatusPort {
    pub fn new(shared: Arc<Shared>, figures: Figures) -> Arc<Self> {
        Arc::new(Self {
            window: Window::new(shared.clone()),
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
        let peer = stream.peer_addr()?;
        let response = match Request::read(&mut stream, TIMEOUT)? {
            Some(request) => self.respond(&request, peer.ip()),
            None => Response::text("400 Bad Request", "bad request\n"),
        };
        stream.write_all(&response.to_bytes())
    }

    fn respond(&self, request: &Request, peer: IpAddr) -> Response {
        let get = request.method == "GET";
        match request.path.as_str() {
            "/status" if get => self.status(),
            "/metrics" if get => match self.figures.to_text() {
                Ok(body) => Response::new("text/plain; version=0.0.4; charset=utf-8", body),
                Err(error) => Response::text("500 Internal Server Error", &format!("{error}\n")),
            },
            "/status" | "/metrics" => Response::text("405 Method Not Allowed", "GET only\n"),
            path => self
                .window
                .respond(path, request, peer)
                .unwrap_or_else(|| Response::text("404 Not Found", "there are /, /status and /metrics\n")),
        }
    }

    fn status(&self) -> Response {
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
        Response::json(status, &body)
    }
}

/// Counts a request as done when it is dropped.
struct RequestGuard(Arc<StatusPort>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}
