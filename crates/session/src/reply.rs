//! Answers as packets: OK, errors, result sets streamed row by row.

use std::borrow::Cow;
use std::io;

use arrow::record_batch::RecordBatch;
use executor::direct::Fill;
use executor::{PacketRows, RowSink};
use planner::plan::ResultColumn;
use system::columns::initial;
use types::{Error, Result, SqlType, errno};
use wire::capability;
use wire::charset::Transcoder;
use wire::column_definition::ColumnDefinition;
use wire::column_type::flag;
use wire::connection::PacketSink;
use wire::row::{Format, RowEncoder};
use wire::status;
use wire::writer::Writer;

use crate::kept::Columns;
use crate::listing::Listing;
use crate::session::Session;

/// What an OK packet says beyond the session's state.
#[derive(Debug, Clone, Default)]
pub struct Done {
    pub affected: u64,
    pub insert_id: u64,
    pub info: Cow<'static, str>,
}

/// A client that went away while rows were sent: told to the executor as an error, and found again by the caller.
fn gone(error: io::Error) -> Error {
    Error::new(
        errno::ER_QUERY_INTERRUPTED,
        format!("the client is gone: {error}"),
    )
}

impl Session {
    /// The status flags of this moment.
    pub(crate) fn status_flags(&self) -> u16 {
        let mut flags = 0;
        let mut set = |on: bool, flag: u16| flags |= if on { flag } else { 0 };
        set(self.settings.autocommit, status::AUTOCOMMIT);
        set(self.transaction.in_transaction(), status::IN_TRANSACTION);
        set(
            self.transaction.in_transaction() && self.transaction.is_read_only(),
            status::IN_TRANSACTION_READ_ONLY,
        );
        set(self.more_results, status::MORE_RESULTS_EXISTS);
        set(
            self.settings.sql_mode.no_backslash_escapes,
            status::NO_BACKSLASH_ESCAPES,
        );
        flags
    }

    fn warning_count(&self) -> u16 {
        if self.hide_warning_count {
            return 0;
        }
        u16::try_from(self.diagnostics.count).unwrap_or(u16::MAX)
    }

    pub(crate) fn send_ok(&mut self, done: &Done, out: &mut dyn PacketSink) -> io::Result<()> {
        self.track_transaction(false);
        let mut flags = self.status_flags();
        let changes = std::mem::take(&mut self.changes);
        let tracked = !changes.is_empty() && self.has(capability::SESSION_TRACK);
        if tracked {
            flags |= status::SESSION_STATE_CHANGED;
        }
        let ok = wire::ok::Ok {
            affected_rows: done.affected,
            last_insert_id: done.insert_id,
            status: flags,
            warnings: self.warning_count(),
            info: &done.info,
            changes: tracked.then_some(&changes),
        };
        let capabilities = self.client.capabilities;
        out.send_with(&mut |packet| ok.encode(capabilities, packet))
    }

    pub(crate) fn send_error(&self, error: &Error, out: &mut dyn PacketSink) -> io::Result<()> {
        let (capabilities, results) = (self.client.capabilities, self.settings.charset_results);
        out.send_with(&mut |packet| wire::err::encode(error, capabilities, results, packet))
    }

    /// The packet between column definitions and rows, for clients that still want one.
    pub(crate) fn send_metadata_end(&self, extra: u16, out: &mut dyn PacketSink) -> io::Result<()> {
        if self.has(capability::DEPRECATE_EOF) {
            return Ok(());
        }
        let eof = wire::eof::Eof {
            warnings: self.warning_count(),
            status: self.status_flags() | extra,
        };
        out.send_with(&mut |packet| eof.encode(packet))
    }

    /// The packet after the last row.
    pub(crate) fn send_rows_end(&self, extra: u16, out: &mut dyn PacketSink) -> io::Result<()> {
        let (warnings, flags) = (self.warning_count(), self.status_flags() | extra);
        if !self.has(capability::DEPRECATE_EOF) {
            return out.send_with(&mut |packet| {
                wire::eof::Eof {
                    warnings,
                    status: flags,
                }
                .encode(packet)
            });
        }
        let capabilities = self.client.capabilities;
        let end = wire::ok::Ok {
            affected_rows: 0,
            last_insert_id: 0,
            status: flags,
            warnings,
            info: "",
            changes: Some(&self.changes),
        };
        out.send_with(&mut |packet| end.encode_result_end(capabilities, packet))
    }

    /// A result set has been sent, and with it, where its end is an OK packet, what there was to tell.
    pub(crate) fn rows_sent(&mut self) {
        self.row_count = -1;
        if self.has(capability::DEPRECATE_EOF) {
            self.changes.clear();
        }
    }

    /// Column count and definitions, and what ends them.
    pub(crate) fn send_columns(
        &self,
        columns: Columns<'_>,
        extra_status: u16,
        out: &mut dyn PacketSink,
    ) -> io::Result<()> {
        match columns.told {
            Some(told) => out.append(&mut |frames| {
                frames.push_frames(told.packets());
                true
            })?,
            None => self.send_count_and_definitions(columns.all, out)?,
        }
        self.send_metadata_end(extra_status, out)
    }

    pub(crate) fn send_count_and_definitions(
        &self,
        columns: &[ResultColumn],
        out: &mut dyn PacketSink,
    ) -> io::Result<()> {
        out.send_with(&mut |packet| packet.put_lenenc_int(columns.len() as u64))?;
        self.send_definitions(columns, out)
    }

    pub(crate) fn send_definitions(
        &self,
        columns: &[ResultColumn],
        out: &mut dyn PacketSink,
    ) -> io::Result<()> {
        let results = self.settings.charset_results.map(|c| c.default_collation());
        let names = Transcoder::of_names(self.settings.charset_results);
        for column in columns {
            out.send_with(&mut |packet| definition(column, results).encode(names, packet))?;
        }
        Ok(())
    }

    /// The definitions of a table's columns, each with its default.
    pub(crate) fn send_field_list(
        &self,
        columns: &[ResultColumn],
        out: &mut dyn PacketSink,
    ) -> io::Result<()> {
        let results = self.settings.charset_results.map(|c| c.default_collation());
        let names = Transcoder::of_names(self.settings.charset_results);
        let schema = self.shared.catalog.cluster.schema();
        for column in columns {
            let table = schema.table(&column.database, &column.original_table);
            let default = table
                .and_then(|t| t.columns.iter().find(|c| c.name == column.original_name))
                .and_then(|c| initial(c, &self.settings.time_zone));
            out.send_with(&mut |packet| {
                definition(column, results).encode_for_field_list(default.as_deref(), names, packet);
            })?;
        }
        Ok(())
    }

    pub(crate) fn row_encoder(&self, columns: &[ResultColumn], format: Format) -> RowEncoder {
        let types: Vec<SqlType> = columns.iter().map(|c| c.ty).collect();
        RowEncoder::new(format, &types, self.settings.charset_results)
    }

    /// Sends a listing as a result set. The inner result is the listing's own failure.
    pub(crate) fn send_listing(
        &mut self,
        listing: &Listing,
        format: Format,
        out: &mut dyn PacketSink,
    ) -> io::Result<Result<()>> {
        let batch = match listing.batch() {
            Ok(batch) => batch,
            Err(error) => return Ok(Err(error)),
        };
        let columns = listing.result_columns();
        self.track_transaction(true);
        let mut rows = ClientRows::new(self, columns.as_slice().into(), format, out);
        let sent = rows.batch(&batch).and_then(|()| rows.finish());
        if let Some(error) = rows.failure {
            return Err(error);
        }
        Ok(sent)
    }
}

fn definition(column: &ResultColumn, results: Option<types::Collation>) -> ColumnDefinition<'_> {
    let mut definition = if column.original_name.is_empty() {
        ColumnDefinition::of_expression(&column.name, &column.ty, column.nullable, results)
    } else {
        ColumnDefinition::of_type(&column.name, &column.ty, column.nullable, results)
    };
    definition.schema = &column.database;
    definition.table = &column.table;
    definition.original_table = &column.original_table;
    definition.original_name = &column.original_name;
    let mut set = |on: bool, bit: u16| definition.flags |= if on { bit } else { 0 };
    set(column.primary_key, flag::PRI_KEY);
    set(column.unique_key, flag::UNIQUE_KEY);
    set(column.multiple_key, flag::MULTIPLE_KEY);
    set(column.part_key, flag::PART_KEY);
    set(column.auto_increment, flag::AUTO_INCREMENT);
    set(column.no_default, flag::NO_DEFAULT_VALUE);
    set(column.on_update_now, flag::ON_UPDATE_NOW);
    set(
        column.on_update_now && column.ty.kind == types::TypeKind::Timestamp,
        flag::TIMESTAMP,
    );
    definition
}

/// Sends a query's rows to the client as they come: definitions with the first of them, so that an error before it is
/// an error packet and nothing else.
pub struct ClientRows<'a> {
    session: &'a Session,
    columns: Columns<'a>,
    encoder: RowEncoder,
    out: &'a mut dyn PacketSink,
    started: bool,
    pub rows: u64,
    /// Why the client could not be written to.
    pub failure: Option<io::Error>,
}

impl<'a> ClientRows<'a> {
    pub fn new(
        session: &'a Session,
        columns: Columns<'a>,
        format: Format,
        out: &'a mut dyn PacketSink,
    ) -> Self {
        let encoder = session.row_encoder(columns.all, format);
        Self {
            session,
            columns,
            encoder,
            out,
            started: false,
            rows: 0,
            failure: None,
        }
    }

    /// Takes over from another sink of the same result set, which has sent `rows` rows.
    pub fn continue_after(&mut self, rows: u64) {
        self.started = rows > 0;
        self.rows = rows;
    }

    fn start(&mut self) -> io::Result<()> {
        if !self.started {
            self.started = true;
            self.session.send_columns(self.columns, 0, self.out)?;
        }
        Ok(())
    }

    /// Sends what ends the result set.
    pub fn finish(&mut self) -> Result<()> {
        let sent = self
            .start()
            .and_then(|()| self.session.send_rows_end(0, self.out));
        self.note(sent)
    }

    fn note(&mut self, sent: io::Result<()>) -> Result<()> {
        sent.map_err(|error| {
            let copy = io::Error::new(error.kind(), error.to_string());
            self.failure = Some(copy);
            gone(error)
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

impl RowSink for ClientRows<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let sent = self.send(batch);
        self.note(sent)
    }

    fn packets(&mut self) -> Option<&mut dyn PacketRows> {
        Some(self)
    }
}

impl PacketRows for ClientRows<'_> {
    fn encoder(&self) -> &RowEncoder {
        &self.encoder
    }

    fn append(&mut self, fill: &mut Fill<'_>) -> Result<()> {
        let (mut rows, mut result) = (0, Ok(()));
        let sent = self.out.append(&mut |frames| {
            if !self.started
                && let Err(error) = self.session.send_columns(self.columns, 0, frames)
            {
                result = Err(gone(error));
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
