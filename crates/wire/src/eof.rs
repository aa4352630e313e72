//! The packet that ends column definitions and rows for clients without DEPRECATE_EOF.

use crate::writer::Writer;

/// EOF_Packet.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_basic_eof_packet.html>
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Eof {
    pub warnings: u16,
    pub status: u16,
}

impl Eof {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(0xfe);
        out.put_u16(self.warnings);
        out.put_u16(self.status);
    }
}
