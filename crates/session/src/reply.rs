//! Replies of a session as packets: OK, errors, listings, and the end of a result set.

use std::borrow::Cow;
use std::io;

use executor::RowSink;
use planner::plan::ResultColumn;
use system::columns::initial;
use types::{Collation, Error, Result};
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

/// The contents of an OK packet besides the session's state.
#[derive(Debug, Clone, Default)]
pub struct Done {
    pub affected: u64,
    pub insert_id: u64,
    pub info: Cow<'static, str>,
}

/// What remains to be sent after a statement has run.
pub enum Outcome {
    /// Rows were sent, with the packet that ends them.
    Sent,
    Ok(Done),
    /// As `Ok`, of a statement that changes nothing of what the one before has left, ROW_COUNT() among it. It says
    /// how many warnings there are only if it `adds` one.
    Aside {
        adds: bool,
    },
    /// As `Ok`, but then the connection must be closed: COMMIT RELEASE.
    Close(Done),
}

pub fn context(session: &Session) -> ReplyContext {
    ReplyContext {
        capabilities: session.client.info.capabilities,
        results: session.settings.collation_results,
        status: status_flags(session),
        warnings: warning_count(session),
    }
}

/// The present status flags.
fn status_flags(session: &Session) -> u16 {
    let mut flags = 0;
    let mut set = |on: bool, flag: u16| flags |= if on { flag } else { 0 };
    let in_transaction = session.transaction.in_transaction();
    set(session.settings.run.autocommit, status::AUTOCOMMIT);
    set(in_transaction, status::IN_TRANSACTION);
    set(
        in_transaction && session.transaction.is_read_only(),
        status::IN_TRANSACTION_READ_ONLY,
    );
    set(session.more_results, status::MORE_RESULTS_EXISTS);
    set(
        session.settings.sql_mode.no_backslash_escapes,
        status::NO_BACKSLASH_ESCAPES,
    );
    flags
}

fn warning_count(session: &Session) -> u16 {
    if session.hide_warning_count {
        return 0;
    }
    u16::try_from(session.diagnostics.count).unwrap_or(u16::MAX)
}

/// Must be called before a packet that can report the transaction. `rows`: the packet ends a result set.
pub fn track_transaction(session: &mut Session, rows: bool) {
    let track = session.settings.track_transaction;
    let locked = session.table_locks.is_locked();
    session
        .tracker
        .transaction(track, &mut session.transaction, locked, rows);
}

pub fn send_ok(session: &mut Session, done: &Done, out: &mut dyn PacketSink) -> io::Result<()> {
    track_transaction(session, false);
    let mut flags = status_flags(session);
    let changes = session.tracker.take_changes();
    let tracked = !changes.is_empty() && session.client.has(capability::SESSION_TRACK);
    if tracked {
        flags |= status::SESSION_STATE_CHANGED;
    }
    let ok = wire::ok::Ok {
        affected_rows: done.affected,
        last_insert_id: done.insert_id,
        status: flags,
        warnings: warning_count(session),
        info: &done.info,
        changes: tracked.then_some(&changes),
    };
    let capabilities = session.client.info.capabilities;
    out.send_with(&mut |packet| ok.encode(capabilities, packet))
}

pub fn send_error(session: &Session, error: &Error, out: &mut dyn PacketSink) -> io::Result<()> {
    let capabilities = session.client.info.capabilities;
    let results = session.settings.collation_results.map(Collation::charset);
    let state = session.diagnostics.state_of(error);
    out.send_with(&mut |packet| wire::err::encode_with_state(error, state, capabilities, results, packet))
}

/// Sends an error and adds it to the diagnostics area.
pub fn fail(session: &mut Session, error: &Error, out: &mut dyn PacketSink) -> io::Result<()> {
    note_failure(session, error);
    send_error(session, error, out)
}

/// Adds an error to the diagnostics area.
pub fn note_failure(session: &mut Session, error: &Error) {
    // Warnings of planning come before it.
    session.diagnostics.collect_planning(session.settings.warnings);
    session.last.note_no_count();
    session.diagnostics.add_error(error);
    session.process.record_error(error);
}

/// The packet after the last row.
pub fn send_rows_end(session: &Session, extra_status: u16, out: &mut dyn PacketSink) -> io::Result<()> {
    let reply = context(session);
    reply.send_rows_end(extra_status, session.tracker.changes(), out)
}

/// Must be called after a result set was sent. If it ended with an OK packet, the session's changes were
/// sent, too.
pub fn rows_sent(session: &mut Session) {
    session.last.note_no_count();
    if session.client.has(capability::DEPRECATE_EOF) {
        session.tracker.clear_changes();
    }
}

/// The definitions of a table's columns, each with its default.
pub fn send_field_list(
    session: &Session,
    columns: &[ResultColumn],
    out: &mut dyn PacketSink,
) -> io::Result<()> {
    let results = session.settings.collation_results;
    let names = Transcoder::of_names(results.map(Collation::charset));
    let schema = session.shared.engine.cluster.schema();
    for column in columns {
        let temporary = session.temporary.find(&column.database, &column.original_table);
        let table = temporary.or_else(|| schema.table(&column.database, &column.original_table));
        let default = table
            .and_then(|t| t.columns.iter().find(|c| c.name == column.original_name))
            .and_then(|c| initial(c, &session.settings.time_zone));
        out.send_with(&mut |packet| {
            definition(column, results).encode_for_field_list(default.as_deref(), names, packet);
        })?;
    }
    Ok(())
}

/// Sends a listing as a result set. The inner error is that of the listing.
pub fn send_listing(
    session: &mut Session,
    listing: &Listing,
    format: Format,
    out: &mut dyn PacketSink,
) -> io::Result<Result<()>> {
    let batch = match listing.batch() {
        Ok(batch) => batch,
        Err(error) => return Ok(Err(error)),
    };
    let columns = &listing.columns;
    track_transaction(session, true);
    let reply = context(session);
    let mut rows = ResultSetSink::new(reply, columns.as_slice().into(), format, out);
    let sent = rows.batch(&batch);
    rows.finish(sent, &reply, session.tracker.changes())
}
