//! The load generator's own client, over `wire`. It does only what is necessary.
//!
//! There is one buffer in each direction, and one write and usually one read per statement. Rows that are not
//! used are counted in the buffer and discarded. `wire` defines the packets. `login` logs in, `value` has
//! parameters and rows, `text` sends prepared statements as text. Not here: TLS, compression, several results
//! of one statement.

use std::io::{Read, Write};

use wire::capability;
use wire::command::code;
use wire::framing::{FrameDecoder, FrameEncoder};
use wire::reader::Reader;
use wire::writer::Writer;

use super::stream::Stream;
use super::text::Template;
use super::value::{self, Column, Param, Row};
use super::{Done, ER_UNSUPPORTED_PS, Statement, no_such_statement, wrong_count};
use crate::error::{Error, Result};

/// Larger than any packet that a workload receives.
pub(super) const PAYLOAD_BYTES_MAX: usize = 1 << 30;

#[derive(Debug)]
enum Prepared {
    Binary {
        id: u32,
        parameters: usize,
        /// The types of the last execution. They are sent again only if they change.
        bound: Vec<u8>,
    },
    Text(Template),
}

/// A connection that is logged in. [`super::Connection`] describes its functions.
#[derive(Debug)]
pub struct WireConnection {
    pub(super) stream: Stream,
    pub(super) input: FrameDecoder,
    pub(super) output: FrameEncoder,
    pub(super) capabilities: u32,
    text_protocol: bool,
    pub(super) server_version: String,
    pub(super) connection_id: u32,
    prepared: Vec<Prepared>,
    statements: u64,
    scratch: Vec<u8>,
}

impl WireConnection {
    /// A connection without a server.
    #[cfg(test)]
    pub(super) fn unconnected() -> Self {
        let (ours, _) = std::os::unix::net::UnixStream::pair().unwrap();
        Self::over(Stream::Unix(ours), false)
    }

    pub(super) fn over(stream: Stream, text_protocol: bool) -> Self {
        Self {
            stream,
            input: FrameDecoder::new(PAYLOAD_BYTES_MAX),
            output: FrameEncoder::new(),
            capabilities: 0,
            text_protocol,
            server_version: String::new(),
            connection_id: 0,
            prepared: Vec::new(),
            statements: 0,
            scratch: Vec::new(),
        }
    }

    /// The server's version: `8.0.33-StemDB-0.1.0`.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// The connection's id on the server.
    pub fn id(&self) -> u32 {
        self.connection_id
    }

    /// Whether the server runs on this host.
    pub fn is_local(&self) -> bool {
        self.stream.is_local()
    }

    /// Statements sent so far. Each execution of a prepared statement counts.
    pub fn statements(&self) -> u64 {
        self.statements
    }

    /// Runs a statement. Rows are counted and discarded.
    pub fn query_bytes(&mut self, sql: &[u8]) -> Result<Done> {
        self.send_query(sql)?;
        self.answer(None)
    }

    /// Runs a statement and returns its rows.
    pub fn fetch_query(&mut self, sql: &str) -> Result<Vec<Row>> {
        self.send_query(sql.as_bytes())?;
        let mut rows = Vec::new();
        self.answer(Some((&mut rows, false)))?;
        Ok(rows)
    }

    /// Prepares a statement, on the server or, with the text protocol, in the client.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement> {
        let prepared = if self.text_protocol {
            Prepared::Text(Template::new(sql))
        } else {
            match self.prepare_binary(sql) {
                Err(error) if error.code() == ER_UNSUPPORTED_PS => Prepared::Text(Template::new(sql)),
                other => other?,
            }
        };
        self.prepared.push(prepared);
        Ok(Statement(self.prepared.len() - 1))
    }

    /// Runs a prepared statement. Rows are counted and discarded.
    pub fn execute(&mut self, statement: Statement, parameters: &[Param<'_>]) -> Result<Done> {
        self.send_execute(statement, parameters)?;
        self.answer(None)
    }

    /// Runs a prepared statement and returns its rows.
    pub fn fetch(&mut self, statement: Statement, parameters: &[Param<'_>]) -> Result<Vec<Row>> {
        let binary = self.send_execute(statement, parameters)?;
        let mut rows = Vec::new();
        self.answer(Some((&mut rows, binary)))?;
        Ok(rows)
    }

    fn send_query(&mut self, sql: &[u8]) -> Result<()> {
        self.statements += 1;
        self.command(|out| {
            out.put_u8(code::QUERY);
            out.put_bytes(sql);
        })
    }

    fn prepare_binary(&mut self, sql: &str) -> Result<Prepared> {
        self.command(|out| {
            out.put_u8(code::STMT_PREPARE);
            out.put_bytes(sql.as_bytes());
        })?;
        let mut reader = Reader::new(self.packet()?);
        reader.u8()?;
        let id = reader.u32()?;
        let columns = usize::from(reader.u16()?);
        let parameters = usize::from(reader.u16()?);
        for definitions in [parameters, columns] {
            for _ in 0..definitions {
                self.packet()?;
            }
            if definitions > 0 && self.capabilities & capability::DEPRECATE_EOF == 0 {
                self.packet()?;
            }
        }
        Ok(Prepared::Binary {
            id,
            parameters,
            bound: Vec::new(),
        })
    }

    /// Returns whether the rows will be binary.
    fn send_execute(&mut self, statement: Statement, values: &[Param<'_>]) -> Result<bool> {
        self.statements += 1;
        let payload = &mut self.scratch;
        payload.clear();
        let Some(prepared) = self.prepared.get_mut(statement.0) else {
            return Err(no_such_statement());
        };
        let binary = match prepared {
            Prepared::Text(template) => {
                payload.put_u8(code::QUERY);
                template.write(values, payload)?;
                false
            }
            Prepared::Binary {
                id,
                parameters,
                bound,
            } => {
                if values.len() != *parameters {
                    return Err(wrong_count(*parameters, values.len()));
                }
                write_execute(*id, values, bound, payload);
                true
            }
        };
        self.output.set_sequence(0);
        self.output.push(&self.scratch);
        self.send()?;
        Ok(binary)
    }

    fn command(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        self.output.set_sequence(0);
        self.output.push_with(write);
        self.send()
    }

    pub(super) fn send(&mut self) -> Result<()> {
        let sent = self.stream.write_all(self.output.bytes());
        self.output.clear();
        self.input.set_sequence(self.output.sequence());
        sent.map_err(Error::Lost)
    }

    /// The next packet, also an error packet.
    pub(super) fn receive(&mut self) -> Result<&[u8]> {
        while !self.input.advance()? {
            let count = self.stream.read(self.input.spare()).map_err(Error::Lost)?;
            if count == 0 {
                return Err(Error::Lost(std::io::ErrorKind::UnexpectedEof.into()));
            }
            self.input.filled(count);
        }
        Ok(self.input.payload())
    }

    /// The next packet; fails with the server's error if it is one.
    pub(super) fn packet(&mut self) -> Result<&[u8]> {
        let capabilities = self.capabilities;
        let payload = self.receive()?;
        if payload.first() == Some(&0xff) {
            return Err(server_error(payload, capabilities));
        }
        Ok(payload)
    }

    /// Reads one reply. Rows go to `keep`, which also says whether they are binary.
    fn answer(&mut self, keep: Option<(&mut Vec<Row>, bool)>) -> Result<Done> {
        let payload = self.packet()?;
        match payload.first() {
            Some(0) => {
                let mut reader = Reader::new(payload);
                reader.u8()?;
                return Ok(Done {
                    rows: 0,
                    affected_rows: reader.lenenc_int()?,
                    last_insert_id: reader.lenenc_int()?,
                });
            }
            Some(0xfb) => {
                return Err(Error::Protocol(
                    "it requests a local file (LOAD DATA LOCAL)".to_owned(),
                ));
            }
            _ => {}
        }
        let columns = usize::try_from(Reader::new(payload).lenenc_int()?)
            .map_err(|_| Error::Protocol("too many columns".to_owned()))?;
        let rows = self.result_set(columns, keep)?;
        Ok(Done {
            rows,
            ..Done::default()
        })
    }

    fn result_set(&mut self, columns: usize, keep: Option<(&mut Vec<Row>, bool)>) -> Result<u64> {
        let mut kinds = Vec::new();
        for _ in 0..columns {
            let payload = self.packet()?;
            if matches!(keep, Some((_, true))) {
                kinds.push(column(payload)?);
            }
        }
        if self.capabilities & capability::DEPRECATE_EOF == 0 {
            self.packet()?;
        }
        let mut count = 0;
        let mut keep = keep;
        loop {
            let payload = self.packet()?;
            // Only the last packet starts with 0xfe and is shorter than a row that starts so could be.
            if payload.first() == Some(&0xfe) && payload.len() < 0xff_ffff {
                return Ok(count);
            }
            count += 1;
            match &mut keep {
                None => {}
                Some((rows, true)) => rows.push(value::binary_row(payload, &kinds)?),
                Some((rows, false)) => rows.push(value::text_row(payload, columns)?),
            }
        }
    }
}

impl Drop for WireConnection {
    fn drop(&mut self) {
        // Only a courtesy: a server that is gone does not need it.
        let _ = self.command(|out| out.put_u8(code::QUIT));
    }
}

fn write_execute(id: u32, values: &[Param<'_>], bound: &mut Vec<u8>, out: &mut Vec<u8>) {
    out.put_u8(code::STMT_EXECUTE);
    out.put_u32(id);
    out.put_u8(0);
    out.put_u32(1);
    if values.is_empty() {
        return;
    }
    let nulls = out.len();
    out.put_zeros(values.len().div_ceil(8));
    for (position, value) in values.iter().enumerate() {
        if *value == Param::Null
            && let Some(byte) = out.get_mut(nulls + position / 8)
        {
            *byte |= 1 << (position % 8);
        }
    }
    let types = || values.iter().map(|value| value.column_type() as u8);
    if bound.iter().copied().eq(types()) {
        out.put_u8(0);
    } else {
        out.put_u8(1);
        for kind in types() {
            out.put_bytes(&[kind, 0]);
        }
        bound.clear();
        bound.extend(types());
    }
    for value in values {
        value.write_binary(out);
    }
}

/// Type and flags of a column's definition.
fn column(payload: &[u8]) -> Result<Column> {
    const UNSIGNED: u16 = 1 << 5;
    let mut reader = Reader::new(payload);
    for _ in 0..6 {
        reader.lenenc_bytes()?;
    }
    reader.lenenc_int()?;
    reader.u16()?;
    reader.u32()?;
    let kind = reader.u8()?;
    let unsigned = reader.u16()? & UNSIGNED != 0;
    Ok(Column { kind, unsigned })
}

pub(super) fn server_error(payload: &[u8], capabilities: u32) -> Error {
    let mut reader = Reader::new(payload);
    let read = (|| {
        reader.u8()?;
        let code = reader.u16()?;
        let mut message = reader.rest();
        if capabilities & capability::PROTOCOL_41 != 0 && message.first() == Some(&b'#') {
            message = message.get(6..).unwrap_or_default();
        }
        Ok(Error::Server {
            code,
            message: String::from_utf8_lossy(message).into_owned(),
        })
    })();
    read.unwrap_or_else(|error: Error| error)
}
