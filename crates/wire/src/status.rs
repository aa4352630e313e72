//! What OK and EOF packets report about the session after a command.
//!
//! Server status flags, combined in a plain `u16`.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/mysql__com_8h.html#a1d854e841086925be1883e4d7b4e8cad>

pub const IN_TRANSACTION: u16 = 1;
pub const AUTOCOMMIT: u16 = 1 << 1;
/// Another result set follows.
pub const MORE_RESULTS_EXISTS: u16 = 1 << 3;
pub const NO_GOOD_INDEX_USED: u16 = 1 << 4;
pub const NO_INDEX_USED: u16 = 1 << 5;
/// COM_STMT_EXECUTE opened a cursor: COM_STMT_FETCH returns the rows.
pub const CURSOR_EXISTS: u16 = 1 << 6;
/// The cursor has no more rows.
pub const LAST_ROW_SENT: u16 = 1 << 7;
pub const DATABASE_DROPPED: u16 = 1 << 8;
pub const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
pub const METADATA_CHANGED: u16 = 1 << 10;
pub const QUERY_WAS_SLOW: u16 = 1 << 11;
pub const PS_OUT_PARAMS: u16 = 1 << 12;
pub const IN_TRANSACTION_READ_ONLY: u16 = 1 << 13;
/// The OK packet carries [`crate::session_track::SessionTrack`].
pub const SESSION_STATE_CHANGED: u16 = 1 << 14;
