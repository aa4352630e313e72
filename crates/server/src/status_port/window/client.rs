//! A client of the server in its own process: SQL text in, rows as JSON out. It speaks the protocol to a
//! session without a connection.

use std::sync::Arc;

use serde_json::Value;
use types::{Collation, Error, Result};
use wire::capabilities::capability;
use wire::command::code;
use wire::framing::{FrameDecoder, FrameEncoder};
use wire::reader::Reader;
use wire::{ClientInfo, HangUp};

use super::logins::Login;
use crate::sessions::Session;
use crate::shared::Shared;

/// The largest packet of a result.
const PACKET_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Longer results are cut.
const ROWS_MAX: usize = 2000;

pub(super) struct Client {
    session: Box<dyn Session>,
}

/// A result set; values are text or null.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

/// A session without a connection ends by itself.
struct NoConnection;

impl HangUp for NoConnection {
    fn hang_up(&self) {}
}

impl Client {
    pub fn open(shared: &Shared, login: &Login) -> Result<Self> {
        let client = ClientInfo {
            user: login.user.clone(),
            host: login.origin.host(),
            account: format!("{}@{}", login.account.user, login.account.host),
            capabilities: capability::PROTOCOL_41 | capability::DEPRECATE_EOF,
            collation: Collation::DEFAULT.id(),
            attributes: vec![("program_name".to_owned(), "status page".to_owned())],
            ..ClientInfo::default()
        };
        let sessions = &shared.sessions;
        let session = sessions.open(sessions.next_connection_id(), client, Arc::new(NoConnection))?;
        Ok(Self { session })
    }

    /// Runs one statement.
    pub fn query(&mut self, sql: &str) -> Result<Rows> {
        let mut command = vec![code::QUERY];
        command.extend_from_slice(sql.as_bytes());
        let mut out = FrameEncoder::new();
        self.session
            .handle(&command, &mut out)
            .map_err(|error| Error::internal(format_args!("no result: {error}")))?;
        decode(out.bytes())
    }
}

fn decode(frames: &[u8]) -> Result<Rows> {
    let mut decoder = FrameDecoder::new(PACKET_BYTES_MAX);
    decoder.ignore_sequence();
    decoder.feed(frames);
    let mut packets = || {
        decoder
            .advance()
            .map(|is_whole| is_whole.then(|| decoder.payload().to_vec()))
    };
    let mut rows = Rows::default();
    let Some(first) = packets()? else {
        return Ok(rows);
    };
    match first.first() {
        Some(0xff) => return Err(error(&first)),
        Some(0) | None => return Ok(rows),
        _ => {}
    }
    let count = Reader::new(&first).lenenc_int()?;
    for _ in 0..count {
        let Some(definition) = packets()? else {
            return Err(wire::reader::malformed());
        };
        rows.columns.push(column_name(&definition)?);
    }
    while let Some(packet) = packets()? {
        match packet.first() {
            Some(0xff) => return Err(error(&packet)),
            Some(0xfe) if packet.len() < 0xff_ffff => break,
            _ if rows.rows.len() < ROWS_MAX => rows.rows.push(row(&packet, rows.columns.len())?),
            _ => {}
        }
    }
    Ok(rows)
}

/// Of a column definition: after the names of the catalog, the database, the table and the table's own name.
fn column_name(definition: &[u8]) -> Result<String> {
    let mut reader = Reader::new(definition);
    for _ in 0..4 {
        reader.lenenc_bytes()?;
    }
    reader.lenenc_bytes().map(text)
}

fn row(packet: &[u8], columns: usize) -> Result<Vec<Value>> {
    let mut reader = Reader::new(packet);
    (0..columns)
        .map(|_| {
            let value = reader.lenenc_bytes_or_null()?;
            Ok(value.map_or(Value::Null, |bytes| Value::String(text(bytes))))
        })
        .collect()
}

/// Number, SQLSTATE and message.
fn error(packet: &[u8]) -> Error {
    let mut reader = Reader::new(packet.get(1..).unwrap_or_default());
    let code = reader.u16().unwrap_or(types::errno::ER_UNKNOWN_ERROR);
    let rest = reader.rest();
    let message = match rest.first() {
        Some(b'#') => rest.get(6..).unwrap_or_default(),
        _ => rest,
    };
    Error::new(code, text(message))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
