//! Events from a server. A thread of its own reads them ahead of the one that applies them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use mysql::BinlogRequest;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::event::RawEvent;
use super::gtid::GtidSet;

/// Events that are read ahead.
const AHEAD: usize = 1024;
/// The source sends heartbeats when it has nothing else to send, so a silent source is a lost one.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(2);

/// Where the first event of a file is.
pub(crate) const FIRST_EVENT: u64 = 4;

/// The next item.
pub(crate) enum Next {
    Event(RawEvent),
    /// Nothing yet.
    Nothing,
    /// The connection ended, or the source refuses.
    Failed(mysql::Error),
    /// The bytes cannot be read.
    Malformed(String),
}

pub(crate) struct Reader {
    events: Receiver<Result<RawEvent, mysql::Error>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts to read at a place, or after a set of transactions if there is no place. The connection must
    /// have a time limit for reads that is a multiple of [`HEARTBEAT`].
    pub(crate) fn start(
        mut connection: Conn,
        server_id: u32,
        file: &str,
        offset: u64,
        behind: Option<&GtidSet>,
    ) -> Result<Self, mysql::Error> {
        let period = HEARTBEAT.as_nanos();
        // The newer name for MySQL, the older one for MariaDB and old MySQL.
        connection.query_drop(format!(
            "SET @master_heartbeat_period = {period}, @source_heartbeat_period = {period}"
        ))?;
        let request = match behind.filter(|_| file.is_empty()) {
            None => BinlogRequest::new(server_id)
                .with_filename(file.as_bytes())
                .with_pos(offset),
            Some(set) => match set.sids() {
                Some(sids) => BinlogRequest::new(server_id)
                    .with_use_gtid(true)
                    .with_pos(FIRST_EVENT)
                    .with_sids(sids),
                None => {
                    // MariaDB takes the set from the session. 4: the client reads its events.
                    connection.query_drop(format!(
                        "SET @mariadb_slave_capability = 4, @slave_connect_state = '{set}', \
                         @slave_gtid_strict_mode = 0, @slave_gtid_ignore_duplicates = 0"
                    ))?;
                    BinlogRequest::new(server_id).with_pos(FIRST_EVENT)
                }
            },
        };
        let stream = connection.get_binlog_stream(request)?;
        let (sender, events) = sync_channel(AHEAD);
        let thread = std::thread::spawn(move || read(stream, &sender));
        Ok(Self {
            events,
            thread: Some(thread),
        })
    }

    pub(crate) fn next(&mut self, wait: Duration) -> Next {
        let received = if wait.is_zero() {
            self.events
                .try_recv()
                .map_err(|error| error == TryRecvError::Empty)
        } else {
            let received = self.events.recv_timeout(wait);
            received.map_err(|error| error == RecvTimeoutError::Timeout)
        };
        match received {
            Ok(Ok(event)) => Next::Event(event),
            Ok(Err(error)) => Next::Failed(error),
            Err(true) => Next::Nothing,
            Err(false) => self.ended(),
        }
    }

    /// The thread has ended without an error. The driver panics on bytes that are not an event.
    fn ended(&mut self) -> Next {
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(_)) => Next::Malformed("the source sent bytes that are no event".to_owned()),
            _ => Next::Failed(mysql::Error::IoError(std::io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

fn read(stream: mysql::BinlogStream, sender: &SyncSender<Result<RawEvent, mysql::Error>>) {
    for event in stream {
        let event = event.map(|event| {
            let header = event.header();
            RawEvent {
                kind: header.event_type_raw(),
                server: header.server_id(),
                timestamp: header.timestamp(),
                end: u64::from(header.log_pos()),
                size: u64::from(header.event_size()),
                data: event.data().to_vec(),
            }
        });
        let is_last = event.is_err();
        if sender.send(event).is_err() || is_last {
            return;
        }
    }
}
