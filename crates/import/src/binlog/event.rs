//! Events of the binary log.

use std::io::Read;

use super::bytes::{Bytes, Malformed, Result};
use super::gtid::Gtid;
use super::rows::Rows;
use super::table_map::TableMap;

/// An event of the log, without its checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawEvent {
    pub(crate) kind: u8,
    /// The server that has run the transaction first.
    pub(crate) server: u32,
    /// Seconds since 1970 of the statement on the source.
    pub(crate) timestamp: u32,
    /// Where the next event begins; 0 for an event that is in no file.
    pub(crate) end: u64,
    pub(crate) size: u64,
    pub(crate) data: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// The log continues in this file, at this offset.
    Rotate {
        file: String,
        offset: u64,
    },
    /// A statement: a definition, or the begin or end of a transaction.
    Query(Query),
    /// The id of the transaction that follows.
    Gtid(Gtid),
    /// The same of MariaDB, with which a transaction begins.
    Begin(Gtid),
    TableMap(TableMap),
    Rows(Rows),
    /// The end of a transaction.
    Commit,
    /// A whole transaction, compressed.
    Payload(Vec<RawEvent>),
    Heartbeat,
    /// The source says that its log is not complete.
    Incident(String),
    /// An event that is not supported: its description.
    Unsupported(&'static str),
    Ignored,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) database: String,
    pub(crate) sql: String,
    pub(crate) sql_mode: u64,
}

/// Bytes of an event's header.
const HEADER: usize = 19;

/// The number of [`Event::Payload`].
const PAYLOAD: u8 = 40;

impl RawEvent {
    /// The events of a file or a payload, without checksums.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let mut header = Bytes::new(bytes);
        let timestamp = header.uint(4)? as u32;
        let kind = header.byte()?;
        let server = header.uint(4)? as u32;
        let size = header.uint(4)?;
        let end = header.uint(4)?;
        header.take(2)?;
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let Some(data) = bytes.get(HEADER..length) else {
            return Err(Malformed::new(format!("an event of {size} bytes ends early")));
        };
        Ok(Self {
            kind,
            server,
            timestamp,
            end,
            size,
            data: data.to_vec(),
        })
    }

    pub(crate) fn read(&self) -> Result<Event> {
        let mut data = Bytes::new(&self.data);
        Ok(match self.kind {
            2 => Event::Query(query(&mut data)?),
            4 => Event::Rotate {
                offset: data.uint(8)?,
                file: String::from_utf8_lossy(data.rest()).into_owned(),
            },
            16 => Event::Commit,
            19 => Event::TableMap(TableMap::read(&mut data)?),
            23..=25 => Event::Rows(Rows::read(&mut data, self.kind - 23, false)?),
            30..=32 => Event::Rows(Rows::read(&mut data, self.kind - 30, true)?),
            26 => Event::Incident(
                String::from_utf8_lossy(data.rest().get(3..).unwrap_or_default()).into_owned(),
            ),
            27 | 41 => Event::Heartbeat,
            38 => Event::Unsupported("an XA transaction: end all XA transactions before you follow the log"),
            39 => Event::Unsupported(
                "partial updates of JSON: set binlog_row_value_options = '' on the source and copy again",
            ),
            PAYLOAD => Event::Payload(payload(&mut data)?),
            33 => {
                data.take(1)?;
                let mut server = [0; 16];
                server.copy_from_slice(data.take(16)?);
                Event::Gtid(Gtid::MySql {
                    server,
                    number: data.uint(8)?,
                })
            }
            42 => Event::Gtid(Gtid::Tagged),
            // MariaDB's global transaction id. Bit 0 of the flags: a statement without BEGIN and COMMIT.
            162 => {
                let number = data.uint(8)?;
                let gtid = Gtid::MariaDb {
                    domain: data.uint(4)? as u32,
                    server: self.server,
                    number,
                };
                match data.byte()? & 1 {
                    0 => Event::Begin(gtid),
                    _ => Event::Gtid(gtid),
                }
            }
            164 => Event::Unsupported("an encrypted binary log: set encrypt_binlog = OFF on the source"),
            165..=171 => Event::Unsupported(
                "compressed events of MariaDB: set log_bin_compress = OFF on the source and copy again",
            ),
            20..=22 => Event::Unsupported("rows in the format of MySQL 5.1's first versions"),
            5 | 13 | 14 | 17 | 18 => Event::Unsupported(
                "statements instead of rows: set binlog_format = ROW on the source and copy again",
            ),
            _ => Event::Ignored,
        })
    }
}

fn query(data: &mut Bytes<'_>) -> Result<Query> {
    data.take(8)?;
    let database = usize::from(data.byte()?);
    data.take(2)?;
    let status = data.uint(2)? as usize;
    let mut status = Bytes::new(data.take(status)?);
    let database = String::from_utf8_lossy(data.take(database)?).into_owned();
    data.take(1)?;
    let sql = String::from_utf8_lossy(data.rest()).into_owned();
    // Only the first status variables are of interest, which come in the order of their numbers.
    let mut sql_mode = 0;
    while !status.is_empty() {
        match status.byte()? {
            0 => drop(status.take(4)?),
            1 => sql_mode = status.uint(8)?,
            _ => break,
        }
    }
    Ok(Query {
        database,
        sql,
        sql_mode,
    })
}

/// MySQL's `Transaction_payload_event`: fields, then events that are compressed together.
fn payload(data: &mut Bytes<'_>) -> Result<Vec<RawEvent>> {
    /// Events of a transaction are held in memory; MySQL's own limit is `max_allowed_packet`.
    const LARGEST: u64 = 1 << 30;
    let (mut is_compressed, mut size) = (true, 0);
    loop {
        let kind = data.length()?;
        if kind == 0 {
            break;
        }
        let length = data.length()?;
        let mut field = Bytes::new(data.take(length)?);
        match kind {
            2 => is_compressed = field.length()? == 0,
            3 => size = field.length()? as u64,
            _ => {}
        }
    }
    if size > LARGEST {
        return Err(Malformed::new("a transaction of more than 1 GiB"));
    }
    let mut events = Vec::new();
    if is_compressed {
        let broken = |error| Malformed::new(format!("a compressed transaction: {error}"));
        let decoder = zstd::stream::read::Decoder::new(data.rest()).map_err(broken)?;
        decoder.take(LARGEST).read_to_end(&mut events).map_err(broken)?;
    } else {
        events.extend_from_slice(data.rest());
    }
    let mut found = Vec::new();
    let mut rest = events.as_slice();
    while !rest.is_empty() {
        let event = RawEvent::parse(rest)?;
        rest = rest.get(event.size as usize..).unwrap_or_default();
        if event.kind == PAYLOAD {
            return Err(Malformed::new("a compressed transaction within another one"));
        }
        found.push(event);
    }
    Ok(found)
}
