//! The client's response to the greeting, and its request for TLS, which may come before.

use types::{Error, Result};

use super::{attributes, bad_handshake};
use crate::capabilities::capability;
use crate::reader::Reader;

/// Protocol::SSLRequest: the first 32 bytes of a response; TLS follows, and then the whole response.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_connection_phase_packets_protocol_ssl_request.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SslRequest {
    pub capabilities: u32,
    pub max_packet_bytes: u32,
    pub collation: u16,
}

/// Protocol::HandshakeResponse41.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_connection_phase_packets_protocol_handshake_response.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub capabilities: u32,
    pub max_packet_bytes: u32,
    pub collation: u16,
    pub user: String,
    /// The plugin's data, computed from password and nonce.
    pub auth: Vec<u8>,
    pub database: Option<String>,
    /// The plugin that computed `auth`. Without a name the client means `mysql_native_password`.
    pub plugin: Option<String>,
    pub attributes: Vec<(String, String)>,
    pub zstd_level: Option<u8>,
}

/// Reads the client's first packet; `Ok(Err(request))` if it asks for TLS.
///
/// Fails with 1251 for clients older than 4.1, and with 1043 on everything else that is not a response.
pub fn decode_response(payload: &[u8]) -> Result<std::result::Result<Response, SslRequest>> {
    decode(payload).map_err(|error| {
        if error.code == crate::reader::ER_MALFORMED_PACKET {
            bad_handshake()
        } else {
            error
        }
    })
}

fn decode(payload: &[u8]) -> Result<std::result::Result<Response, SslRequest>> {
    const ER_NOT_SUPPORTED_AUTH_MODE: u16 = 1251;
    const SSL_REQUEST_BYTES: usize = 32;

    let mut reader = Reader::new(payload);
    if Reader::new(payload).u16()? as u32 & capability::PROTOCOL_41 == 0 {
        return Err(Error::new(
            ER_NOT_SUPPORTED_AUTH_MODE,
            "Client does not support authentication protocol requested by server; consider upgrading MySQL client",
        ));
    }
    let capabilities = reader.u32()?;
    let max_packet_bytes = reader.u32()?;
    let collation = u16::from(reader.u8()?);
    reader.bytes(23)?;
    if capabilities & capability::SSL != 0 && payload.len() == SSL_REQUEST_BYTES {
        return Ok(Err(SslRequest {
            capabilities,
            max_packet_bytes,
            collation,
        }));
    }

    let user = text(reader.nul_bytes()?)?;
    let auth = if capabilities & capability::PLUGIN_AUTH_LENENC_CLIENT_DATA != 0 {
        reader.lenenc_bytes()?
    } else if capabilities & capability::SECURE_CONNECTION != 0 {
        let length = usize::from(reader.u8()?);
        reader.bytes(length)?
    } else {
        reader.nul_bytes()?
    };
    let auth = auth.to_vec();
    let database = if capabilities & capability::CONNECT_WITH_DB != 0 {
        Some(text(reader.nul_bytes_or_rest())?).filter(|name| !name.is_empty())
    } else {
        None
    };
    let plugin = if capabilities & capability::PLUGIN_AUTH != 0 && !reader.is_empty() {
        Some(text(reader.nul_bytes_or_rest())?).filter(|name| !name.is_empty())
    } else {
        None
    };
    let attributes = attributes::decode(capabilities, &mut reader)?;
    let zstd_level = if capabilities & capability::ZSTD_COMPRESSION_ALGORITHM != 0 && !reader.is_empty() {
        Some(reader.u8()?)
    } else {
        None
    };
    Ok(Ok(Response {
        capabilities,
        max_packet_bytes,
        collation,
        user,
        auth,
        database,
        plugin,
        attributes,
        zstd_level,
    }))
}

fn text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| bad_handshake())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// After the manual's example of a 5.6 client with connection attributes.
    const CAPTURED: &[u8] = &[
        0x85, 0xa6, 0xff, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, b'r', b'o', b'o', b't', 0, 0x14, 0x22, 0x50, 0x79, 0xa2, 0x12, 0xd4, 0xe8, 0x82,
        0xe5, 0xb3, 0xf4, 0x1a, 0x97, 0x75, 0x6b, 0xc8, 0xbe, 0xdb, 0x9f, 0x80, b'm', b'y', b's', b'q', b'l',
        b'_', b'n', b'a', b't', b'i', b'v', b'e', b'_', b'p', b'a', b's', b's', b'w', b'o', b'r', b'd', 0,
        0x06, 0x03, b'_', b'o', b's', 0x01, b'L',
    ];

    #[test]
    fn a_captured_response() {
        let response = decode_response(CAPTURED).unwrap().unwrap();
        assert_eq!(response.user, "root");
        assert_eq!(response.collation, 8);
        assert_eq!(response.auth.len(), 20);
        assert_eq!(response.database, None);
        assert_eq!(response.plugin.as_deref(), Some("mysql_native_password"));
        assert_eq!(response.attributes, [("_os".to_owned(), "L".to_owned())]);
    }

    #[test]
    fn ssl_request_is_32_bytes() {
        let mut payload = vec![0x85, 0xae, 0x03, 0x20, 0, 0, 0, 1, 45];
        payload.resize(32, 0);
        let request = decode_response(&payload).unwrap().unwrap_err();
        assert_eq!(request.collation, 45);
        assert_ne!(request.capabilities & capability::SSL, 0);
    }

    #[test]
    fn what_is_no_response() {
        assert_eq!(decode_response(b"GET / HTTP/1.1\r\n\r\n").unwrap_err().code, 1251);
        assert_eq!(decode_response(b"").unwrap_err().code, 1043);
        assert_eq!(decode_response(&CAPTURED[..40]).unwrap_err().code, 1043);
        assert_eq!(
            decode_response(&CAPTURED[..CAPTURED.len() - 1]).unwrap_err().code,
            1043
        );
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(mut bytes: Vec<u8>, protocol_41: bool) {
            if let Some(byte) = bytes.get_mut(1).filter(|_| protocol_41) {
                *byte |= 2;
            }
            let _ = decode_response(&bytes);
        }

        #[test]
        fn damaged_responses_never_panic(at in 0..CAPTURED.len(), byte: u8, length in 0..CAPTURED.len()) {
            let mut bytes = CAPTURED.to_vec();
            bytes[at] = byte;
            bytes.truncate(length);
            let _ = decode_response(&bytes);
        }
    }
}
