//! A connection, in the tables that list them.

use cluster::message::ProcessRow;

use crate::table::Row;
use crate::values::{number, optional, signed, text};

/// The columns of `information_schema` from ID to INFO.
macro_rules! process_columns {
    () => {
        r#"
ID bigint_unsigned - NOT ""
USER varchar(32) ci NOT ""
HOST varchar(261) ci NOT ""
DB varchar(64) ci NULL ""
COMMAND varchar(16) ci NOT ""
TIME int - NOT ""
STATE varchar(64) ci NULL ""
INFO varchar(65535) ci NULL ""
"#
    };
}
pub(crate) use process_columns;

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
