//! Replies as packets: OK, errors, and what a result set has around its rows ([`crate::result_set`] has the rows).

use std::borrow::Cow;
use std::io;

use planner::plan::ResultColumn;
use system::columns::initial;
use types::{Charset, Error, Result, SqlType};
use wire::capability;
use wire::charset::Transcoder;
use wire::column_definition::ColumnDefinition;
use wire::column_type::flag;
use wire::connection::PacketSink;
use wire::row::{Format, RowEncoder};
use wire::session_track::SessionTrack;
use wire::status;
use wire::writer::Writer;

use crate::attachment::Columns;
use crate::listing::Listing;
use crate::result_set::ResultSetSink;
use crate::session::Session;

/// What an OK packet says beyond the session's state.
#[derive(Debug, Clone, Default)]
pub struct Done {
    pub affected: u64,
    pub insert_id: u64,
    pub info: Cow<'static, str>,
}

/// What the packets of a result set depend on beside the result.
#[derive(Clone, Copy)]
pub struct ReplyContext {
    pub capabilities: u32,
    /// `@@character_set_results`
    pub results: Option<Charset>,
    /// The status flags of this moment, and the number of warnings.
    status: u16,
    warnings: u16,
}

impl ReplyContext {
    fn has(&self, capability: u32) -> bool {
        self.capabilities & capability != 0
    }

    /// Column count and definitions, and the packet after them.
    pub fn send_columns(
        &self,
        columns: Columns<'_>,
        extra_status: u16,
        out: &mut dyn PacketSink,
    ) -> io::Result<()> {
        match columns.packets {
            Some(packets) => out.append(&mut |frames| {
                frames.push_frames(packets.frames());
                true
            })?,
            None => self.send_count_and_definitions(columns.all, out)?,
        }
        self.send_metadata_end(extra_status, out)
    }

    pub fn send_count_and_definitions(
        &self,
        columns: &[ResultColumn],
        out: &mut dyn PacketSink,
    ) -> io::Result<()> {
        out.send_with(&mut |packet| packet.put_lenenc_int(columns.len() as u64))?;
        self.send_definitions(columns, out)
    }

    pub fn send_definitions(&self, columns: &[ResultColumn], out: &mut dyn PacketSink) -> io::Result<()> {
        let results = self.results.map(|c| c.default_collation());
        let names = Transcoder::of_names(self.results);
        for column in columns {
            out.send_with(&mut |packet| definition(column, results).encode(names, packet))?;
        }
        Ok(())
    }

    /// The packet between column definitions and rows, for clients that still want one.
    pub fn send_metadata_end(&self, extra_status: u16, out: &mut dyn PacketSink) -> io::Result<()> {
        if self.has(capability::DEPRECATE_EOF) {
            return Ok(());
        }
        self.send_eof(extra_status, out)
    }

    /// The packet after the last row.
    pub fn send_rows_end(
        &self,
        extra_status: u16,
        changes: &SessionTrack,
        out: &mut dyn PacketSink,
    ) -> io::Result<()> {
        if !self.has(capability::DEPRECATE_EOF) {
            return self.send_eof(extra_status, out);
        }
        let end = wire::ok::Ok {
            affected_rows: 0,
            last_insert_id: 0,
            status: self.status | extra_status,
            warnings: self.warnings,
            info: "",
            changes: Some(changes),
        };
        out.send_with(&mut |packet| end.encode_result_end(self.capabilities, packet))
    }

    fn send_eof(&self, extra_status: u16, out: &mut dyn PacketSink) -> io::Result<()> {
        let eof = wire::eof::Eof {
            warnings: self.warnings,
            status: self.status | extra_status,
        };
        out.send_with(&mut |packet| eof.encode(packet))
    }

    pub fn row_encoder(&self, columns: &[ResultColumn], format: Format) -> RowEncoder {
        let types: Vec<SqlType> = columns.iter().map(|c| c.ty).collect();
        RowEncoder::new(format, &types, self.results)
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

impl Session {
    pub(crate) fn reply_context(&self) -> ReplyContext {
        ReplyContext {
            capabilities: self.client.info.capabilities,
            results: self.settings.charset_results,
            status: self.status_flags(),
            warnings: self.warning_count(),
        }
    }

    /// The status flags of this moment.
    fn status_flags(&self) -> u16 {
        let mut flags = 0;
        let mut set = |on: bool, flag: u16| flags |= if on { flag } else { 0 };
        let in_transaction = self.transaction.in_transaction();
        set(self.settings.run.autocommit, status::AUTOCOMMIT);
        set(in_transaction, status::IN_TRANSACTION);
        set(
            in_transaction && self.transaction.is_read_only(),
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

    /// A packet is about to leave that can report the transaction; `rows`: it ends a result set.
    pub(crate) fn track_transaction(&mut self, rows: bool) {
        let track = self.settings.track_transaction;
        let locked = self.table_locks.is_locked();
        self.tracker
            .transaction(track, &mut self.transaction, locked, rows);
    }

    pub(crate) fn send_ok(&mut self, done: &Done, out: &mut dyn PacketSink) -> io::Result<()> {
        self.track_transaction(false);
        let mut flags = self.status_flags();
        let changes = self.tracker.take_changes();
        let tracked = !changes.is_empty() && self.client.has(capability::SESSION_TRACK);
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
        let capabilities = self.client.info.capabilities;
        out.send_with(&mut |packet| ok.encode(capabilities, packet))
    }

    pub(crate) fn send_error(&self, error: &Error, out: &mut dyn PacketSink) -> io::Result<()> {
        let (capabilities, results) = (self.client.info.capabilities, self.settings.charset_results);
        out.send_with(&mut |packet| wire::err::encode(error, capabilities, results, packet))
    }

    /// Sends an error and adds it to the diagnostics area.
    pub(crate) fn fail(&mut self, error: &Error, out: &mut dyn PacketSink) -> io::Result<()> {
        self.note_failure(error);
        self.send_error(error, out)
    }

    /// Adds an error to the diagnostics area.
    pub(crate) fn note_failure(&mut self, error: &Error) {
        // The warnings of planning came before it.
        self.diagnostics.collect_planning(self.settings.warnings);
        self.last.note_no_count();
        self.diagnostics.add_error(error);
    }

    /// The packet after the last row.
    pub(crate) fn send_rows_end(&self, extra_status: u16, out: &mut dyn PacketSink) -> io::Result<()> {
        let reply = self.reply_context();
        reply.send_rows_end(extra_status, self.tracker.changes(), out)
    }

    /// A result set has been sent, and the session's changes with it where its end is an OK packet.
    pub(crate) fn rows_sent(&mut self) {
        self.last.note_no_count();
        if self.client.has(capability::DEPRECATE_EOF) {
            self.tracker.clear_changes();
        }
    }

    /// The definitions of a table's columns, each with its default.
    pub(crate) fn send_field_list(
        &self,
        columns: &[ResultColumn],
        out: &mut dyn PacketSink,
    ) -> io::Result<()> {
        let results = self.settings.charset_results.map(|c| c.default_collation());
        let names = Transcoder::of_names(self.settings.charset_results);
        let schema = self.shared.engine.cluster.schema();
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
        let reply = self.reply_context();
        let mut rows = ResultSetSink::new(reply, columns.as_slice().into(), format, out);
        let sent = executor::RowSink::batch(&mut rows, &batch);
        rows.finish(sent, &reply, self.tracker.changes())
    }
}
