//! The packet that asks the client to use another authentication plugin.

use crate::auth::Nonce;
use crate::writer::Writer;

/// Protocol::AuthSwitchRequest.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_connection_phase_packets_protocol_auth_switch_request.html>
#[derive(Debug, Clone, Copy)]
pub struct AuthSwitch<'a> {
    pub plugin: &'a str,
    pub nonce: &'a Nonce,
}

impl AuthSwitch<'_> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(0xfe);
        out.put_nul_bytes(self.plugin.as_bytes());
        out.put_nul_bytes(self.nonce.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_switch() {
        let nonce = Nonce::from_bytes([b'x'; 20]);
        let mut out = Vec::new();
        AuthSwitch {
            plugin: "mysql_native_password",
            nonce: &nonce,
        }
        .encode(&mut out);
        assert_eq!(out, b"\xfemysql_native_password\0xxxxxxxxxxxxxxxxxxxx\0");
    }
}
