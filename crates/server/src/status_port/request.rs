//! Requests to the status port: method, path, the headers that matter here, and a small body.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The longest request, with its headers and its body.
const REQUEST_BYTES_MAX: usize = 16 * 1024;
const HEADERS_MAX: usize = 64;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub method: String,
    /// Without what follows a `?`.
    pub path: String,
    /// Without its port.
    pub host: String,
    pub content_type: String,
    /// `X-StemDB-Login`: the token of a login.
    pub token: String,
    pub body: Vec<u8>,
}

/// What the bytes that have arrived so far are.
enum Parsed {
    Whole(Request),
    Incomplete,
    Malformed,
}

impl Request {
    /// Reads a request, within `timeout`. `None` if the bytes are not one, or too many.
    pub fn read(stream: &mut TcpStream, timeout: Duration) -> io::Result<Option<Self>> {
        let deadline = Instant::now() + timeout;
        let mut bytes = Vec::new();
        let mut piece = [0; 1024];
        loop {
            match parse(&bytes) {
                Parsed::Whole(request) => return Ok(Some(request)),
                Parsed::Incomplete if bytes.len() < REQUEST_BYTES_MAX => {}
                Parsed::Incomplete | Parsed::Malformed => return Ok(None),
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
}

fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    let body_start = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Parsed::Incomplete,
        Err(_) => return Parsed::Malformed,
    };
    let header = |name: &str| {
        let found = head
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name));
        found.map_or("", |header| {
            std::str::from_utf8(header.value).unwrap_or_default().trim()
        })
    };
    let length = match header("Content-Length") {
        "" => 0,
        digits => match digits.parse::<usize>() {
            Ok(length) if length < REQUEST_BYTES_MAX => length,
            _ => return Parsed::Malformed,
        },
    };
    let Some(body) = bytes.get(body_start..body_start + length) else {
        return Parsed::Incomplete;
    };
    let path = head.path.unwrap_or("/").split('?').next().unwrap_or_default();
    Parsed::Whole(Request {
        method: head.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        host: without_port(header("Host")).to_owned(),
        content_type: header("Content-Type").to_owned(),
        token: header("X-StemDB-Login").to_owned(),
        body: body.to_vec(),
    })
}

/// `[::1]:10080` to `::1`, `localhost:10080` to `localhost`.
fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_once_its_body_is() {
        let text = b"POST /x?y=1 HTTP/1.1\r\nHost: [::1]:10080\r\ncontent-length: 4\r\n\r\nabcd";
        for end in 0..text.len() {
            assert!(matches!(parse(&text[..end]), Parsed::Incomplete), "{end}");
        }
        let Parsed::Whole(request) = parse(text) else {
            panic!("not whole");
        };
        assert_eq!(request.path, "/x");
        assert_eq!(request.host, "::1");
        assert_eq!(request.body, b"abcd");
    }

    #[test]
    fn lengths_that_are_none_are_refused() {
        for length in ["-1", "x", "99999999999999999999999", "16384"] {
            let text = format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
            assert!(matches!(parse(text.as_bytes()), Parsed::Malformed), "{length}");
        }
    }
}
