//! The packet that says that a command failed.

use types::Error;

use crate::capabilities::capability;
use crate::writer::Writer;

/// Longest message MySQL sends (`MYSQL_ERRMSG_SIZE`), in bytes.
const MESSAGE_BYTES_MAX: usize = 512;

/// ERR_Packet. Before the client has told its capabilities, pass 0: such packets have no SQLSTATE.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_basic_err_packet.html>
pub fn encode(error: &Error, capabilities: u32, out: &mut Vec<u8>) {
    out.put_u8(0xff);
    out.put_u16(error.code);
    if capabilities & capability::PROTOCOL_41 != 0 {
        out.put_u8(b'#');
        out.put_bytes(error.sqlstate().as_bytes());
    }
    let mut end = error.message.len().min(MESSAGE_BYTES_MAX);
    while !error.message.is_char_boundary(end) {
        end -= 1;
    }
    out.put_bytes(&error.message.as_bytes()[..end]);
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
            &mut out,
        );
        assert_eq!(out, b"\xff\x48\x04#HY000No tables used");
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let mut out = Vec::new();
        encode(&Error::new(1064, "ä".repeat(400)), 0, &mut out);
        assert_eq!(out.len(), 3 + 512);
        out.clear();
        encode(&Error::new(1064, format!("x{}", "ä".repeat(400))), 0, &mut out);
        assert_eq!(out.len(), 3 + 511);
    }
}
