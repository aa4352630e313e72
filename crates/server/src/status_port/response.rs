//! Responses of the status port.

/// A response, except for its length.
pub(super) struct Response {
    status: &'static str,
    content_type: &'static str,
    body: String,
}

impl Response {
    /// 200.
    pub fn new(content_type: &'static str, body: impl Into<String>) -> Self {
        Self {
            status: "200 OK",
            content_type,
            body: body.into(),
        }
    }

    pub fn text(status: &'static str, body: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: body.to_owned(),
        }
    }

    pub fn json(status: &'static str, body: &serde_json::Value) -> Self {
        Self {
            status,
            content_type: "application/json",
            body: format!("{body}\n"),
        }
    }

    /// The response as it is sent. Its headers keep the page from loading anything from elsewhere and from
    /// being shown within another page.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self {
            status,
            content_type,
            body,
        } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
             img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'\r\n\
             Connection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }
}
