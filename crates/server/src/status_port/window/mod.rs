//! The web page at `/`: load, latencies, memory and caches from `/metrics`, and after a login the slowest
//! statements and their plans, connections, locks, schema jobs and key ranges.
//!
//! What needs a login is read with SQL, in a session of the account that has logged in, so that the page can
//! do exactly what the account can do with a MySQL client. The port has no TLS, so logins are accepted from
//! this machine only; a browser elsewhere needs an SSH tunnel. A page of another site cannot use the port.
//! Requests that do anything are POSTs of JSON, which browsers send to other sites only if these allow it
//! (CORS). The host that they name must be this machine.

mod client;
mod logins;
mod queries;

use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use types::{Error, Result, errno};
use wire::host::Origin;

use super::request::Request;
use super::response::Response;
use crate::login::log_in_with_password;
use crate::shared::Shared;
use client::Client;
use logins::{Login, Logins};

pub(super) struct Window {
    shared: Arc<Shared>,
    logins: Logins,
}

impl Window {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            logins: Logins::default(),
        }
    }

    /// `None`: there is nothing at this path.
    pub fn respond(&self, path: &str, request: &Request, peer: IpAddr) -> Option<Response> {
        let (content_type, file) = match path {
            "/" => ("text/html; charset=utf-8", include_str!("page.html")),
            "/window.css" => ("text/css; charset=utf-8", include_str!("window.css")),
            "/window.js" => ("text/javascript; charset=utf-8", include_str!("window.js")),
            "/window/login" | "/window/logout" | "/window/query" => {
                return Some(self.act(path, request, peer));
            }
            _ => return None,
        };
        Some(match request.method.as_str() {
            "GET" => Response::new(content_type, file),
            _ => Response::text("405 Method Not Allowed", "GET only\n"),
        })
    }

    /// The requests that need a login, and the login.
    fn act(&self, path: &str, request: &Request, peer: IpAddr) -> Response {
        if request.method != "POST" || !request.content_type.starts_with("application/json") {
            return Response::text("405 Method Not Allowed", "POST of JSON only\n");
        }
        let peer = peer.to_canonical();
        let names_an_address = request.host == "localhost" || request.host.parse::<IpAddr>().is_ok();
        if !peer.is_loopback() || !names_an_address {
            let hint = "Logins are taken on this machine only. From elsewhere: ssh -L 10080:127.0.0.1:10080 SERVER, \
                        then http://localhost:10080/";
            return Response::json("403 Forbidden", &json!({ "error": hint }));
        }
        let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
            return Response::text("400 Bad Request", "not JSON\n");
        };
        let outcome = match path {
            "/window/login" => self.log_in(&body, peer),
            "/window/logout" => {
                self.logins.remove(&request.token);
                Ok(json!({}))
            }
            _ => self.query(&request.token, &body),
        };
        match outcome {
            Ok(value) => Response::json("200 OK", &value),
            Err(error) => {
                let status = match error.code {
                    errno::ER_ACCESS_DENIED_ERROR => "401 Unauthorized",
                    _ => "422 Unprocessable Content",
                };
                let text = format!("ERROR {} ({}): {}", error.code, error.sqlstate(), error.message);
                Response::json(status, &json!({ "error": text }))
            }
        }
    }

    fn log_in(&self, body: &Value, peer: IpAddr) -> Result<Value> {
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let user = text("user");
        let origin = Origin::Address(peer);
        let account = log_in_with_password(&self.shared, origin, user, text("password").as_bytes())?;
        let login = Login {
            user: user.to_owned(),
            origin,
            account,
        };
        let token = self.logins.add(login)?;
        Ok(json!({ "token": token, "user": user }))
    }

    fn query(&self, token: &str, body: &Value) -> Result<Value> {
        let login = self.logins.find(token, &self.shared).ok_or_else(logged_out)?;
        let mut client = Client::open(&self.shared, &login)?;
        queries::run(&mut client, body)
    }
}

/// The login has ended, or its account has changed since.
fn logged_out() -> Error {
    Error::new(errno::ER_ACCESS_DENIED_ERROR, "You are not logged in")
}
