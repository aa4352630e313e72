//! Replies of a session as packets: OK, errors, listings, and the end of a result set.

use std::borrow::Cow;
use std::io;

use executor::RowSink;
use planner::plan::ResultColumn;
use system::columns::initial;
use types::{Error, Result};
use wire::capability;
use wire::charset::Transcoder;
use wire::connection::PacketSink;
use wire::row::Format;
use wire::status;

use crate::columns::definition;
use crate::listing::Listing;
use crate::reply_context::ReplyContext;
use crate::result_set::ResultSetSink;
use crate::session::Session;

/// What an OK packet says beyond the session's state.
#[derive(Debug, Clone, Default)]
pub struct Done {
    pub affected: u64,
    pub insert_id: u64,
    pub info: Cow<'static, str>,
}

/// What a statement's run left to send.
pub enum Outcome {
    /// Rows were sent, with what ends them.
    Sent,
    Ok(Done),
    /// As `Ok`, and the connection is to be closed: COMMIT RELEASE.
    Close(Done),
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
            let temporary = self.temporary.find(&column.database, &column.original_table);
            let table = temporary.or_else(|| schema.table(&column.database, &column.original_table));
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
        let sent = rows.batch(&batch);
        rows.finish(sent, &reply, self.tracker.changes())
    }
}
