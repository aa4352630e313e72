//! The server's first packet.

use crate::auth::Nonce;
use crate::writer::Writer;

/// Protocol::HandshakeV10.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_connection_phase_packets_protocol_handshake_v10.html>
#[derive(Debug, Clone)]
pub struct Greeting<'a> {
    /// Clients derive features from it: `8.0.33-StemDB-...`.
    pub version: &'a str,
    pub connection_id: u32,
    pub nonce: &'a Nonce,
    pub capabilities: u32,
    /// The server's default collation. Its lower 8 bits are sent.
    pub collation: u16,
    pub status: u16,
    /// `default_authentication_plugin`.
    pub plugin: &'a str,
}

impl Greeting<'_> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let nonce = self.nonce.as_bytes();
        let (first, second) = nonce.split_at(8);
        out.put_u8(10);
        out.put_nul_bytes(self.version.as_bytes());
        out.put_u32(self.connection_id);
        out.put_bytes(first);
        out.put_u8(0);
        out.put_u16(self.capabilities as u16);
        out.put_u8(self.collation as u8);
        out.put_u16(self.status);
        out.put_u16((self.capabilities >> 16) as u16);
        out.put_u8(nonce.len() as u8 + 1);
        out.put_zeros(10);
        out.put_nul_bytes(second);
        out.put_nul_bytes(self.plugin.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_greeting() {
        let nonce = Nonce::from_bytes(*b"abcdefghijklmnopqrst");
        let greeting = Greeting {
            version: "8.0.33",
            connection_id: 11,
            nonce: &nonce,
            capabilities: 0xc1ff_f7ff,
            collation: 255,
            status: 2,
            plugin: "caching_sha2_password",
        };
        let mut out = Vec::new();
        greeting.encode(&mut out);
        let mut expected = vec![10];
        expected.extend(b"8.0.33\0");
        expected.extend([11, 0, 0, 0]);
        expected.extend(b"abcdefgh\0");
        expected.extend([0xff, 0xf7, 255, 2, 0, 0xff, 0xc1, 21]);
        expected.extend([0; 10]);
        expected.extend(b"ijklmnopqrst\0caching_sha2_password\0");
        assert_eq!(out, expected);
    }
}
