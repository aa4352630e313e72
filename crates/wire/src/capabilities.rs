//! What client and server can do, exchanged in the handshake.

/// Capability flags. Constants on a plain `u32`, since they are only ever combined and tested.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/group__group__cs__capabilities__flags.html>
pub mod capability {
    /// Set by old clients for the long password hash.
    pub const LONG_PASSWORD: u32 = 1;
    /// `affected_rows` of UPDATE counts the rows that matched, not those that changed.
    pub const FOUND_ROWS: u32 = 1 << 1;
    pub const LONG_FLAG: u32 = 1 << 2;
    pub const CONNECT_WITH_DB: u32 = 1 << 3;
    /// `database.table.column` is refused.
    pub const NO_SCHEMA: u32 = 1 << 4;
    /// Compressed protocol with zlib.
    pub const COMPRESS: u32 = 1 << 5;
    pub const ODBC: u32 = 1 << 6;
    /// LOAD DATA LOCAL INFILE.
    pub const LOCAL_FILES: u32 = 1 << 7;
    pub const IGNORE_SPACE: u32 = 1 << 8;
    pub const PROTOCOL_41: u32 = 1 << 9;
    /// `interactive_timeout` instead of `wait_timeout`.
    pub const INTERACTIVE: u32 = 1 << 10;
    pub const SSL: u32 = 1 << 11;
    pub const IGNORE_SIGPIPE: u32 = 1 << 12;
    pub const TRANSACTIONS: u32 = 1 << 13;
    pub const RESERVED: u32 = 1 << 14;
    /// The authentication of 4.1 and later; today a synonym for "has a nonce of 20 bytes".
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    /// Several statements in one COM_QUERY.
    pub const MULTI_STATEMENTS: u32 = 1 << 16;
    pub const MULTI_RESULTS: u32 = 1 << 17;
    pub const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    pub const CONNECT_ATTRS: u32 = 1 << 20;
    pub const PLUGIN_AUTH_LENENC_CLIENT_DATA: u32 = 1 << 21;
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: u32 = 1 << 22;
    pub const SESSION_TRACK: u32 = 1 << 23;
    /// Result sets end with an OK packet (header `0xfe`), and column definitions are not followed by an EOF
    /// packet.
    pub const DEPRECATE_EOF: u32 = 1 << 24;
    /// `resultset_metadata`: the server may leave out column definitions.
    pub const OPTIONAL_RESULTSET_METADATA: u32 = 1 << 25;
    pub const ZSTD_COMPRESSION_ALGORITHM: u32 = 1 << 26;
    /// COM_QUERY and COM_STMT_EXECUTE may carry named attributes.
    pub const QUERY_ATTRIBUTES: u32 = 1 << 27;
    pub const MULTI_FACTOR_AUTHENTICATION: u32 = 1 << 28;
    pub const CAPABILITY_EXTENSION: u32 = 1 << 29;
    pub const SSL_VERIFY_SERVER_CERT: u32 = 1 << 30;
    pub const REMEMBER_OPTIONS: u32 = 1 << 31;

    /// All that StemDB offers. `SSL`, `COMPRESS` and `ZSTD_COMPRESSION_ALGORITHM` are removed where they
    /// are switched off.
    pub const SERVER: u32 = LONG_PASSWORD
        | CAN_HANDLE_EXPIRED_PASSWORDS
        | FOUND_ROWS
        | LONG_FLAG
        | CONNECT_WITH_DB
        | COMPRESS
        | ODBC
        | LOCAL_FILES
        | IGNORE_SPACE
        | PROTOCOL_41
        | INTERACTIVE
        | SSL
        | IGNORE_SIGPIPE
        | TRANSACTIONS
        | RESERVED
        | SECURE_CONNECTION
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PS_MULTI_RESULTS
        | PLUGIN_AUTH
        | CONNECT_ATTRS
        | PLUGIN_AUTH_LENENC_CLIENT_DATA
        | SESSION_TRACK
        | DEPRECATE_EOF
        | ZSTD_COMPRESSION_ALGORITHM
        | QUERY_ATTRIBUTES;
}
