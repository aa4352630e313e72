//! The packets around the rows of a result set.

use std::io;

use planner::plan::ResultColumn;
use types::{Collation, SqlType};
use wire::capability;
use wire::charset::Transcoder;
use wire::connection::PacketSink;
use wire::row::{Format, RowEncoder};
use wire::session_track::SessionTrack;
use wire::writer::Writer;

use crate::columns::{Columns, definition};

/// What the packets of a result set depend on besides the result.
#[derive(Clone, Copy)]
pub struct ReplyContext {
    pub capabilities: u32,
    /// The collation of the session's results. Texts are sent in its character set, and definitions announce
    /// it. `None`: results are not converted.
    pub results: Option<Collation>,
    /// The present status flags, and the number of warnings.
    pub status: u16,
    pub warnings: u16,
}

impl ReplyContext {
    fn has(&self, capability: u32) -> bool {
        self.capabilities & capability != 0
    }

    /// Column count and definitions, and the packet after them.
    pub fn send_columns(
        &self,
        columns: Columns<'_>,
        extra_status: u16,
        out: &mut dyn PacketSink,
    ) -> io::Result<()> {
        match columns.packets {
            Some(packets) => out.append(&mut |frames| {
                frames.push_frames(&packets.packets);
                true
            })?,
            None => self.send_count_and_definitions(columns.all, out)?,
        }
        self.send_metadata_end(extra_status, out)
    }

    pub fn send_count_and_definitions(
        &self,
        columns: &[ResultColumn],
        out: &mut dyn PacketSink,
    ) -> io::Result<()> {
        out.send_with(&mut |packet| packet.put_lenenc_int(columns.len() as u64))?;
        self.send_definitions(columns, out)
    }

    pub fn send_definitions(&self, columns: &[ResultColumn], out: &mut dyn PacketSink) -> io::Result<()> {
        let names = Transcoder::of_names(self.results.map(Collation::charset));
        for column in columns {
            out.send_with(&mut |packet| definition(column, self.results).encode(names, packet))?;
        }
        Ok(())
    }

    /// The packet between column definitions and rows, for clients without DEPRECATE_EOF.
    pub fn send_metadata_end(&self, extra_status: u16, out: &mut dyn PacketSink) -> io::Result<()> {
        if self.has(capability::DEPRECATE_EOF) {
            return Ok(());
        }
        self.send_eof(extra_status, out)
    }

    /// The packet after the last row.
    pub fn send_rows_end(
        &self,
        extra_status: u16,
        changes: &SessionTrack,
        out: &mut dyn PacketSink,
    ) -> io::Result<()> {
        if !self.has(capability::DEPRECATE_EOF) {
            return self.send_eof(extra_status, out);
        }
        let end = wire::ok::Ok {
            affected_rows: 0,
            last_insert_id: 0,
            status: self.status | extra_status,
            warnings: self.warnings,
            info: "",
            changes: Some(changes),
        };
        out.send_with(&mut |packet| end.encode_result_end(self.capabilities, packet))
    }

    fn send_eof(&self, extra_status: u16, out: &mut dyn PacketSink) -> io::Result<()> {
        let eof = wire::eof::Eof {
            warnings: self.warnings,
            status: self.status | extra_status,
        };
        out.send_with(&mut |packet| eof.encode(packet))
    }

    pub fn row_encoder(&self, columns: &[ResultColumn], format: Format) -> RowEncoder {
        let types: Vec<SqlType> = columns.iter().map(|c| c.ty).collect();
        RowEncoder::new(format, &types, self.results.map(Collation::charset))
    }
}
