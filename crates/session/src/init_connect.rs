//! `init_connect`: statements that run when an account without CONNECTION_ADMIN connects. What they answer is
//! discarded. If one fails, the server's log says why, and the connection is refused.

use std::io;

use types::{Error, Result};
use wire::PacketSink;
use wire::connection::Flow;
use wire::framing::FrameEncoder;

use crate::session::Session;
use crate::text;

/// What tells an error packet from all others.
const ERROR: u8 = 0xff;

/// Discards packets, and notes whether one was an error.
#[derive(Default)]
struct Discarded {
    failed: bool,
}

impl PacketSink for Discarded {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.failed |= payload.first() == Some(&ERROR);
        Ok(())
    }

    fn append(&mut self, fill: &mut dyn FnMut(&mut FrameEncoder) -> bool) -> io::Result<()> {
        fill(&mut FrameEncoder::new());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs the statements.
///
/// # Errors
/// 1184 if one fails.
pub(crate) fn run(session: &mut Session) -> Result<()> {
    let statements = crate::variables::lookup("init_connect").and_then(|d| session.shared.variables.get(d));
    let Some(statements) = statements.filter(|statements| !statements.is_empty()) else {
        return Ok(());
    };
    let client = &session.client;
    let must_change_password = client.guard.as_ref().map(|guard| guard.check_password());
    if client.privileges.administers_connections() || matches!(must_change_password, Some(Err(_))) {
        return Ok(());
    }
    let mut out = Discarded::default();
    let flow = text::run_all(session, &statements, &mut out);
    match out.failed || !matches!(flow, Ok(Flow::Continue)) {
        true => Err(failed(session)),
        false => Ok(()),
    }
}

/// As in MySQL, only the server's log says which error it was.
fn failed(session: &Session) -> Error {
    const ER_NEW_ABORTING_CONNECTION: u16 = 1184;
    let refused = format!(
        "Aborted connection {} to db: '{}' user: '{}' host: '{}' (init_connect command failed",
        session.process.id,
        session.database.as_deref().unwrap_or("unconnected"),
        session.client.account.user,
        session.client.info.host,
    );
    match session.diagnostics.last_error() {
        Some(error) => tracing::warn!("{refused}; error {}: {})", error.code, error.message),
        None => tracing::warn!("{refused})"),
    }
    Error::new(ER_NEW_ABORTING_CONNECTION, refused + ")")
}
