//! The packet that reports a successful command. With another header it ends a result set where EOF packets
//! are deprecated.

use crate::capabilities::capability;
use crate::session_track::SessionTrack;
use crate::status;
use crate::writer::Writer;

/// OK_Packet.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_basic_ok_packet.html>
#[derive(Debug, Clone, Copy, Default)]
pub struct Ok<'a> {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    /// [`status`] flags; `SESSION_STATE_CHANGED` is set by [`Ok::encode`].
    pub status: u16,
    pub warnings: u16,
    /// `Rows matched: 1  Changed: 1  Warnings: 0` and its like.
    pub info: &'a str,
    /// Changes of the session's state; sent only to clients with SESSION_TRACK.
    pub changes: Option<&'a SessionTrack>,
}

impl Ok<'_> {
    pub fn encode(&self, capabilities: u32, out: &mut Vec<u8>) {
        self.encode_as(0x00, capabilities, out);
    }

    /// The end of a result set: an OK packet with the header `0xfe` for clients with DEPRECATE_EOF, for
    /// others an EOF packet.
    pub fn encode_result_end(&self, capabilities: u32, out: &mut Vec<u8>) {
        if capabilities & capability::DEPRECATE_EOF != 0 {
            self.encode_as(0xfe, capabilities, out);
        } else {
            crate::eof::Eof {
                warnings: self.warnings,
                status: self.status,
            }
            .encode(out);
        }
    }

    fn encode_as(&self, header: u8, capabilities: u32, out: &mut Vec<u8>) {
        let changes = self
            .changes
            .filter(|changes| capabilities & capability::SESSION_TRACK != 0 && !changes.is_empty());
        let mut flags = self.status & !status::SESSION_STATE_CHANGED;
        if changes.is_some() {
            flags |= status::SESSION_STATE_CHANGED;
        }
        out.put_u8(header);
        out.put_lenenc_int(self.affected_rows);
        out.put_lenenc_int(self.last_insert_id);
        out.put_u16(flags);
        out.put_u16(self.warnings);
        // The manual says string<EOF> for clients without SESSION_TRACK. MySQL sends string<lenenc> to all
        // of them, and libmysqlclient reads it so.
        if changes.is_some() || !self.info.is_empty() {
            out.put_lenenc_bytes(self.info.as_bytes());
        }
        if let Some(changes) = changes {
            out.put_lenenc_bytes(changes.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(ok: Ok<'_>, capabilities: u32) -> Vec<u8> {
        let mut out = Vec::new();
        ok.encode(capabilities, &mut out);
        out
    }

    #[test]
    fn the_manuals_examples() {
        let ok = Ok {
            status: status::AUTOCOMMIT,
            ..Ok::default()
        };
        assert_eq!(encoded(ok, capability::PROTOCOL_41), [0, 0, 0, 2, 0, 0, 0]);
        let mut end = Vec::new();
        ok.encode_result_end(capability::DEPRECATE_EOF, &mut end);
        assert_eq!(end, [0xfe, 0, 0, 2, 0, 0, 0]);
        end.clear();
        ok.encode_result_end(0, &mut end);
        assert_eq!(end, [0xfe, 0, 0, 2, 0]);
    }

    #[test]
    fn session_changes_only_for_clients_that_track() {
        let mut changes = SessionTrack::default();
        changes.schema("test");
        let ok = Ok {
            status: status::AUTOCOMMIT,
            changes: Some(&changes),
            ..Ok::default()
        };
        assert_eq!(encoded(ok, 0), [0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(
            encoded(ok, capability::SESSION_TRACK),
            b"\x00\x00\x00\x02\x40\x00\x00\x00\x07\x01\x05\x04test"
        );
    }

    #[test]
    fn info_has_a_length() {
        let ok = Ok {
            affected_rows: 300,
            info: "Rows",
            ..Ok::default()
        };
        assert_eq!(encoded(ok, 0), b"\x00\xfc\x2c\x01\x00\0\0\0\0\x04Rows");
    }
}
