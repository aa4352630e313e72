//! Changes of a session's state, reported to clients with SESSION_TRACK.
//!
//! GTIDs are not reported: StemDB has none.

use crate::writer::Writer;

/// The session state information of an OK packet.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_basic_ok_packet.html#sect_protocol_basic_ok_packet_sessinfo>
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionTrack {
    bytes: Vec<u8>,
    state_changed: bool,
}

impl SessionTrack {
    const SYSTEM_VARIABLES: u8 = 0;
    const SCHEMA: u8 = 1;
    const STATE_CHANGE: u8 = 2;
    const TRANSACTION_CHARACTERISTICS: u8 = 4;
    const TRANSACTION_STATE: u8 = 5;

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.state_changed = false;
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// One of `@@session_track_system_variables` was set.
    pub fn system_variable(&mut self, name: &str, value: &str) {
        let length = lenenc_bytes_length(name) + lenenc_bytes_length(value);
        self.bytes.put_u8(Self::SYSTEM_VARIABLES);
        self.bytes.put_lenenc_int(length);
        self.bytes.put_lenenc_bytes(name.as_bytes());
        self.bytes.put_lenenc_bytes(value.as_bytes());
    }

    /// The default database has changed (`@@session_track_schema`); empty for none.
    pub fn schema(&mut self, database: &str) {
        self.entry(Self::SCHEMA, database);
    }

    /// Some state has changed (`@@session_track_state_change`); reported once for any number of changes.
    /// The entry holds no string, as the manual says, but a single character, as MySQL 8.0.33 sends it and
    /// its library reads it.
    pub fn state_change(&mut self) {
        if !std::mem::replace(&mut self.state_changed, true) {
            self.bytes.extend_from_slice(&[Self::STATE_CHANGE, 1, b'1']);
        }
    }

    /// The statements that would start the same transaction again (`@@session_track_transaction_info =
    /// CHARACTERISTICS`).
    pub fn transaction_characteristics(&mut self, statements: &str) {
        self.entry(Self::TRANSACTION_CHARACTERISTICS, statements);
    }

    /// Eight characters such as `T_R_W_S_` (`@@session_track_transaction_info = STATE`).
    pub fn transaction_state(&mut self, state: &str) {
        self.entry(Self::TRANSACTION_STATE, state);
    }

    fn entry(&mut self, kind: u8, text: &str) {
        self.bytes.put_u8(kind);
        self.bytes.put_lenenc_int(lenenc_bytes_length(text));
        self.bytes.put_lenenc_bytes(text.as_bytes());
    }
}

/// Bytes that `text` takes as a `string<lenenc>`.
fn lenenc_bytes_length(text: &str) -> u64 {
    let length = text.len() as u64;
    length
        + match length {
            0..=0xfa => 1,
            0xfb..=0xffff => 3,
            0x1_0000..=0xff_ffff => 4,
            _ => 9,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manual's example: `SET autocommit=OFF` and then `USE test`.
    #[test]
    fn the_manuals_examples() {
        let mut track = SessionTrack::default();
        track.system_variable("autocommit", "OFF");
        assert_eq!(track.as_bytes(), b"\x00\x0f\x0aautocommit\x03OFF");
        track.clear();
        track.schema("test");
        assert_eq!(track.as_bytes(), b"\x01\x05\x04test");
    }

    /// The reply of MySQL 8.0.33 to `USE mysql`, and to the next statement that changes some state.
    #[test]
    fn a_changed_state_is_reported_once() {
        let mut track = SessionTrack::default();
        track.schema("mysql");
        track.state_change();
        track.state_change();
        assert_eq!(track.as_bytes(), b"\x01\x06\x05mysql\x02\x011");
        track.clear();
        track.state_change();
        assert_eq!(track.as_bytes(), b"\x02\x011");
    }

    #[test]
    fn long_values() {
        let mut track = SessionTrack::default();
        track.schema(&"x".repeat(300));
        assert_eq!(track.as_bytes()[..7], [1, 0xfc, 0x2f, 0x01, 0xfc, 0x2c, 0x01]);
        assert_eq!(track.as_bytes().len(), 1 + 3 + 3 + 300);
    }
}
