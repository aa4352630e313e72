//! Commands: what a client may send after the login.
//!
//! [`Command::decode`] reads a payload's command byte and the fields that need no further knowledge. Two
//! commands have a second step: [`Query`] (attributes before the text) and [`StmtExecute`] (parameters,
//! whose number and types the prepared statement knows). [`parameter`] reads the values of both.
//!
//! Retired commands are error 1047, "Unknown command", as in MySQL 8.0. [`crate::handshake::ChangeUser`]
//! decodes the body of COM_CHANGE_USER.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_command_phase.html>

pub mod parameter;
mod query;
mod stmt_execute;

pub use parameter::{Attribute, BoundType, ParameterContext};
pub use query::Query;
pub use stmt_execute::{Execution, LongData, StmtExecute};

use types::{Error, Result, errno};

use crate::reader::{Reader, malformed};

/// Command bytes.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/my__command_8h.html>
pub mod code {
    pub const QUIT: u8 = 0x01;
    pub const INIT_DB: u8 = 0x02;
    pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04;
    pub const REFRESH: u8 = 0x07;
    pub const STATISTICS: u8 = 0x09;
    pub const PROCESS_INFO: u8 = 0x0a;
    pub const PROCESS_KILL: u8 = 0x0c;
    pub const DEBUG: u8 = 0x0d;
    pub const PING: u8 = 0x0e;
    pub const CHANGE_USER: u8 = 0x11;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_RESET: u8 = 0x1a;
    pub const SET_OPTION: u8 = 0x1b;
    pub const STMT_FETCH: u8 = 0x1c;
    pub const RESET_CONNECTION: u8 = 0x1f;
}

/// One command. Texts are bytes in the client's character set; [`crate::charset::decode`] converts them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command<'a> {
    Quit,
    InitDb(&'a [u8]),
    Query(Query<'a>),
    /// Columns of a table whose names match a LIKE pattern (deprecated, still used by the `mysql` client's
    /// completion).
    FieldList {
        table: &'a [u8],
        wildcard: &'a [u8],
    },
    /// FLUSH by a bit mask (deprecated).
    Refresh(u8),
    Statistics,
    /// SHOW PROCESSLIST (deprecated).
    ProcessInfo,
    /// KILL (deprecated).
    ProcessKill(u32),
    Debug,
    Ping,
    /// The body, for [`crate::handshake::ChangeUser::decode`]. `server` handles it.
    ChangeUser(&'a [u8]),
    ResetConnection,
    /// Switches multiple statements in COM_QUERY on or off.
    SetMultiStatements(bool),
    StmtPrepare(&'a [u8]),
    StmtExecute(StmtExecute<'a>),
    /// Bytes to append to a parameter. There is no reply, not even for errors.
    StmtSendLongData {
        statement_id: u32,
        parameter: u16,
        data: &'a [u8],
    },
    /// There is no reply.
    StmtClose(u32),
    StmtReset(u32),
    StmtFetch {
        statement_id: u32,
        rows: u32,
    },
}

impl<'a> Command<'a> {
    /// Fails with 1047 for unknown and retired commands, with 1835 for a payload that is too short.
    pub fn decode(payload: &'a [u8], capabilities: u32) -> Result<Self> {
        let mut reader = Reader::new(payload);
        let command = match reader.u8()? {
            code::QUIT => Self::Quit,
            code::INIT_DB => Self::InitDb(reader.rest()),
            code::QUERY => Self::Query(Query::decode(&mut reader, capabilities)?),
            code::FIELD_LIST => Self::FieldList {
                table: reader.nul_bytes()?,
                wildcard: trim_nul(reader.rest()),
            },
            code::REFRESH => Self::Refresh(reader.u8()?),
            code::STATISTICS => Self::Statistics,
            code::PROCESS_INFO => Self::ProcessInfo,
            code::PROCESS_KILL => Self::ProcessKill(reader.u32()?),
            code::DEBUG => Self::Debug,
            code::PING => Self::Ping,
            code::CHANGE_USER => Self::ChangeUser(reader.rest()),
            code::RESET_CONNECTION => Self::ResetConnection,
            code::SET_OPTION => Self::decode_set_option(reader.u16()?)?,
            code::STMT_PREPARE => Self::StmtPrepare(reader.rest()),
            code::STMT_EXECUTE => Self::StmtExecute(StmtExecute::decode(&mut reader)?),
            code::STMT_SEND_LONG_DATA => Self::StmtSendLongData {
                statement_id: reader.u32()?,
                parameter: reader.u16()?,
                data: reader.rest(),
            },
            code::STMT_CLOSE => Self::StmtClose(reader.u32()?),
            code::STMT_RESET => Self::StmtReset(reader.u32()?),
            code::STMT_FETCH => Self::StmtFetch {
                statement_id: reader.u32()?,
                rows: reader.u32()?,
            },
            _ => return Err(unknown_command()),
        };
        Ok(command)
    }

    fn decode_set_option(option: u16) -> Result<Self> {
        match option {
            0 => Ok(Self::SetMultiStatements(true)),
            1 => Ok(Self::SetMultiStatements(false)),
            _ => Err(unknown_command()),
        }
    }

    /// The name used by `SHOW PROCESSLIST` and the `Com_%` counters.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Quit => "Quit",
            Self::InitDb(_) => "Init DB",
            Self::Query(_) => "Query",
            Self::FieldList { .. } => "Field List",
            Self::Refresh(_) => "Refresh",
            Self::Statistics => "Statistics",
            Self::ProcessInfo => "Processlist",
            Self::ProcessKill(_) => "Kill",
            Self::Debug => "Debug",
            Self::Ping => "Ping",
            Self::ChangeUser(_) => "Change user",
            Self::ResetConnection => "Reset Connection",
            Self::SetMultiStatements(_) => "Set option",
            Self::StmtPrepare(_) => "Prepare",
            Self::StmtExecute(_) => "Execute",
            Self::StmtSendLongData { .. } => "Long Data",
            Self::StmtClose(_) => "Close stmt",
            Self::StmtReset(_) => "Reset stmt",
            Self::StmtFetch { .. } => "Fetch",
        }
    }
}

fn trim_nul(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(&[0]).unwrap_or(bytes)
}

/// Error 1047, as MySQL words it.
pub fn unknown_command() -> Error {
    Error::new(errno::ER_UNKNOWN_COM_ERROR, "Unknown command")
}

/// Error 1243 for a statement id that is not open. `function` is MySQL's name of the command
/// (`mysqld_stmt_execute`).
pub fn unknown_statement(statement_id: u32, function: &str) -> Error {
    Error::new(
        errno::ER_UNKNOWN_STMT_HANDLER,
        format!("Unknown prepared statement handler ({statement_id}) given to {function}"),
    )
}

/// The command byte of a payload.
pub fn command_code(payload: &[u8]) -> Result<u8> {
    payload.first().copied().ok_or_else(malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(payload: &[u8]) -> Command<'_> {
        Command::decode(payload, 0).unwrap()
    }

    #[test]
    fn the_manuals_examples() {
        assert_eq!(decode(&[0x01]), Command::Quit);
        assert_eq!(decode(b"\x02test"), Command::InitDb(b"test"));
        assert_eq!(decode(&[0x0e]), Command::Ping);
        assert_eq!(decode(&[0x19, 1, 0, 0, 0]), Command::StmtClose(1));
        assert_eq!(decode(&[0x1b, 1, 0]), Command::SetMultiStatements(false));
        assert_eq!(decode(&[0x0c, 9, 0, 0, 0]), Command::ProcessKill(9));
        assert_eq!(
            decode(b"\x04t\0a%"),
            Command::FieldList {
                table: b"t",
                wildcard: b"a%"
            }
        );
        assert_eq!(
            decode(b"\x18\x01\0\0\0\x02\0data"),
            Command::StmtSendLongData {
                statement_id: 1,
                parameter: 2,
                data: b"data"
            }
        );
        assert_eq!(
            decode(b"\x1c\x01\0\0\0\x02\0\0\0"),
            Command::StmtFetch {
                statement_id: 1,
                rows: 2
            }
        );
        let Command::Query(query) = decode(b"\x03select @@version_comment limit 1") else {
            panic!()
        };
        assert_eq!(query.text, b"select @@version_comment limit 1");
    }

    #[test]
    fn retired_commands_are_unknown() {
        // SLEEP, CREATE_DB, DROP_DB, SHUTDOWN, CONNECT, TIME, DELAYED_INSERT, BINLOG_DUMP, TABLE_DUMP,
        // CONNECT_OUT, REGISTER_REPLICA, DAEMON, BINLOG_DUMP_GTID, CLONE, and codes that were never
        // assigned.
        for byte in [
            0, 5, 6, 8, 0x0b, 0x0f, 0x10, 0x12, 0x13, 0x14, 0x15, 0x1d, 0x1e, 0x20, 0x21, 0xff,
        ] {
            assert_eq!(
                Command::decode(&[byte, 1, 1, 1, 1], 0).unwrap_err().code,
                1047,
                "{byte}"
            );
        }
        assert_eq!(Command::decode(&[0x1b, 7, 0], 0).unwrap_err().code, 1047);
        assert_eq!(Command::decode(&[], 0).unwrap_err().code, 1835);
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(bytes: Vec<u8>, capabilities: u32) {
            let _ = Command::decode(&bytes, capabilities);
        }
    }
}
