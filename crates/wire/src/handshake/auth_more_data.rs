//! The packet with which the server's half of an authentication plugin answers the client's half.

use crate::writer::Writer;

/// The messages of `caching_sha2_password`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoreData<'a> {
    /// The scramble matches what the server has cached; an OK packet follows.
    FastAuthSuccess,
    /// The client must send the password, over TLS or a socket, or encrypted with the server's public key.
    PerformFullAuthentication,
    /// The public key, in PEM.
    PublicKey(&'a [u8]),
}

/// Protocol::AuthMoreData.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_connection_phase_packets_protocol_auth_more_data.html>
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_caching_sha2_authentication_exchanges.html>
pub fn auth_more_data(data: MoreData<'_>, out: &mut Vec<u8>) {
    out.put_u8(1);
    match data {
        MoreData::FastAuthSuccess => out.put_u8(3),
        MoreData::PerformFullAuthentication => out.put_u8(4),
        MoreData::PublicKey(pem) => out.put_bytes(pem),
    }
}
