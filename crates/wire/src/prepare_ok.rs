//! The first packet of the reply to COM_STMT_PREPARE.

use crate::writer::Writer;

/// COM_STMT_PREPARE_OK. Definitions of the parameters follow, then those of the result's columns. Each list
/// ends with an EOF packet if the client lacks DEPRECATE_EOF.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_com_stmt_prepare.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareOk {
    pub statement_id: u32,
    pub columns: u16,
    pub parameters: u16,
    pub warnings: u16,
}

impl PrepareOk {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(0);
        out.put_u32(self.statement_id);
        out.put_u16(self.columns);
        out.put_u16(self.parameters);
        out.put_u8(0);
        out.put_u16(self.warnings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manual's example: `SELECT CONCAT(?, ?) AS col1`.
    #[test]
    fn the_manuals_example() {
        let mut out = Vec::new();
        PrepareOk {
            statement_id: 1,
            columns: 1,
            parameters: 2,
            warnings: 0,
        }
        .encode(&mut out);
        assert_eq!(out, [0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0]);
    }
}
