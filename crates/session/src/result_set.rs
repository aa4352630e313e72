//! Sends the rows of a query to the client.

use std::io;

use arrow::record_batch::RecordBatch;
use executor::direct::Fill;
use executor::{PacketRows, RowSink};
use types::{Error, Result, errno};
use wire::connection::PacketSink;
use wire::row::{Format, RowEncoder};
use wire::session_track::SessionTrack;

use crate::columns::Columns;
use crate::reply_context::ReplyContext;

/// Sends rows as they are produced. The column definitions are sent with the first row, so that an error
/// before it is only an error packet.
pub struct ResultSetSink<'a> {
    reply: ReplyContext,
    columns: Columns<'a>,
    encoder: RowEncoder,
    out: &'a mut dyn PacketSink,
    started: bool,
    rows: u64,
    /// The error of writing to the client.
    failure: Option<io::Error>,
}

/// The executor gets this error if the client is gone. The caller finds the cause in the sink.
fn client_is_gone(error: &io::Error) -> Error {
    Error::new(
        errno::ER_QUERY_INTERRUPTED,
        format!("the client is gone: {error}"),
    )
}

impl<'a> ResultSetSink<'a> {
    pub fn new(
        reply: ReplyContext,
        columns: Columns<'a>,
        format: Format,
        out: &'a mut dyn PacketSink,
    ) -> Self {
        Self {
            encoder: reply.row_encoder(columns.all, format),
            reply,
            columns,
            out,
            started: false,
            rows: 0,
            failure: None,
        }
    }

    /// How many rows were sent.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Sends the end of the result set, if the query has succeeded. `reply`: the context after the query.
    ///
    /// # Errors
    /// Outer: the client is gone. Inner: the query's own failure.
    pub fn finish(
        self,
        query: Result<()>,
        reply: &ReplyContext,
        changes: &SessionTrack,
    ) -> io::Result<Result<()>> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if query.is_ok() {
            if !self.started {
                reply.send_columns(self.columns, 0, self.out)?;
            }
            reply.send_rows_end(0, changes, self.out)?;
        }
        Ok(query)
    }

    fn start(&mut self) -> io::Result<()> {
        if !self.started {
            self.started = true;
            self.reply.send_columns(self.columns, 0, self.out)?;
        }
        Ok(())
    }

    fn note(&mut self, sent: io::Result<()>) -> Result<()> {
        sent.map_err(|error| {
            let gone = client_is_gone(&error);
            self.failure = Some(error);
            gone
        })
    }

    fn send(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.start()?;
        let rows = self.encoder.batch(batch).map_err(io::Error::other)?;
        for row in 0..batch.num_rows() {
            self.out.send_with(&mut |packet| rows.encode(row, packet))?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }
}

impl RowSink for ResultSetSink<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let sent = self.send(batch);
        self.note(sent)
    }

    fn packets(&mut self) -> Option<&mut dyn PacketRows> {
        Some(self)
    }
}

impl PacketRows for ResultSetSink<'_> {
    fn encoder(&self) -> &RowEncoder {
        &self.encoder
    }

    fn append(&mut self, fill: &mut Fill<'_>) -> Result<()> {
        let (mut rows, mut result) = (0, Ok(()));
        let sent = self.out.append(&mut |frames| {
            if !self.started
                && let Err(error) = self.reply.send_columns(self.columns, 0, frames)
            {
                result = Err(client_is_gone(&error));
                return false;
            }
            match fill(&self.encoder, frames) {
                Ok(appended) => rows = appended,
                Err(error) => result = Err(error),
            }
            rows > 0
        });
        self.started |= rows > 0;
        self.rows += rows;
        if sent.is_ok() { result } else { self.note(sent) }
    }
}
