//! The packet that reports a failed command.

use types::{Charset, Error};

use crate::capabilities::capability;
use crate::charset;
use crate::writer::Writer;

/// Longest message MySQL sends (`MYSQL_ERRMSG_SIZE`), in bytes.
const MESSAGE_BYTES_MAX: usize = 512;

/// ERR_Packet. Before the client has sent its capabilities, pass 0: such packets have no SQLSTATE.
/// `results` is `@@character_set_results`, `None` if it is NULL or unknown.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_basic_err_packet.html>
pub fn encode(error: &Error, capabilities: u32, results: Option<Charset>, out: &mut Vec<u8>) {
    encode_with_state(error, error.sqlstate(), capabilities, results, out);
}

/// [`encode`] of an error with another SQLSTATE than that of its number: SIGNAL sets one.
pub fn encode_with_state(
    error: &Error,
    state: &str,
    capabilities: u32,
    results: Option<Charset>,
    out: &mut Vec<u8>,
) {
    out.put_u8(0xff);
    out.put_u16(error.code);
    if capabilities & capability::PROTOCOL_41 != 0 {
        out.put_u8(b'#');
        out.put_bytes(state.as_bytes());
    }
    let message = charset::error_message(&error.message, results);
    let mut end = message.len().min(MESSAGE_BYTES_MAX);
    // UTF-8 is cut between characters.
    let is_utf8 = results.is_none_or(Charset::is_utf8);
    let continues = |byte: Option<&u8>| byte.is_some_and(|byte| byte & 0xc0 == 0x80);
    while is_utf8 && continues(message.get(end)) {
        end -= 1;
    }
    out.put_bytes(message.get(..end).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manuals_example() {
        let mut out = Vec::new();
        encode(
            &Error::new(1096, "No tables used"),
            capability::PROTOCOL_41,
            None,
            &mut out,
        );
        assert_eq!(out, b"\xff\x48\x04#HY000No tables used");
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let mut out = Vec::new();
        encode(&Error::new(1064, "ä".repeat(400)), 0, None, &mut out);
        assert_eq!(out.len(), 3 + 512);
        out.clear();
        encode(
            &Error::new(1064, format!("x{}", "ä".repeat(400))),
            0,
            None,
            &mut out,
        );
        assert_eq!(out.len(), 3 + 511);
    }
}
