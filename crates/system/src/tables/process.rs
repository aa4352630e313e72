//! A connection, in the tables that list them.

use cluster::message::ProcessRow;

use crate::table::Row;
use crate::values::{number, optional, signed, text};

/// ID to INFO.
pub(crate) fn process_row(p: ProcessRow) -> Row {
    vec![
        number(p.id),
        text(p.user),
        text(p.host),
        optional(p.database),
        text(p.command),
        signed(p.time_s),
        optional(p.state),
        optional(p.info),
    ]
}
