//! Connection attributes: names and values with which a client describes itself (program name, operating
//! system).

use types::Result;

use crate::capabilities::capability;
use crate::reader::Reader;

/// MySQL refuses more than 64 KiB of them.
const BYTES_MAX: usize = 64 * 1024;

/// None if the client has not announced them.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_connection_phase_packets_protocol_handshake_response.html>
pub(super) fn decode(capabilities: u32, reader: &mut Reader<'_>) -> Result<Vec<(String, String)>> {
    if capabilities & capability::CONNECT_ATTRS == 0 || reader.is_empty() {
        return Ok(Vec::new());
    }
    let block = reader.lenenc_bytes()?;
    if block.len() > BYTES_MAX {
        return Err(super::bad_handshake());
    }
    let mut block = Reader::new(block);
    let mut attributes = Vec::new();
    while !block.is_empty() {
        let name = String::from_utf8_lossy(block.lenenc_bytes()?).into_owned();
        let value = String::from_utf8_lossy(block.lenenc_bytes()?).into_owned();
        attributes.push((name, value));
    }
    Ok(attributes)
}
