//! The definition of a result's column, which a client gets before the rows.

use types::{Collation, SqlType};

use crate::charset::Transcoder;
use crate::column_type::{
    ColumnType, announced_collation, announced_decimals, announced_length, computed_text_length, flag,
    type_flags,
};
use crate::writer::Writer;

/// The length in bytes that MySQL announces for a JSON value that is not a column: characters of four
/// bytes, below 4 GiB.
const JSON_EXPRESSION_BYTES: u32 = u32::MAX - 3;

/// Protocol::ColumnDefinition41.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_com_query_response_text_resultset_column_definition.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDefinition<'a> {
    pub schema: &'a str,
    pub table: &'a str,
    pub original_table: &'a str,
    pub name: &'a str,
    pub original_name: &'a str,
    pub collation: u16,
    /// Bytes, or characters for numbers and times.
    pub length: u32,
    pub column_type: ColumnType,
    /// [`flag`].
    pub flags: u16,
    pub decimals: u8,
}

impl<'a> ColumnDefinition<'a> {
    /// The definition of an expression or (once its names and key flags are set) a column of type `ty`.
    /// `results` is the collation of `@@character_set_results`, `None` if that is NULL.
    pub fn of_type(name: &'a str, ty: &SqlType, nullable: bool, results: Option<Collation>) -> Self {
        let mut flags = type_flags(ty);
        if !nullable {
            flags |= flag::NOT_NULL;
        }
        Self {
            schema: "",
            table: "",
            original_table: "",
            name,
            original_name: "",
            collation: announced_collation(ty, results),
            length: announced_length(ty, results),
            column_type: ColumnType::of(ty),
            flags,
            decimals: announced_decimals(ty),
        }
    }

    /// The definition of an expression that is not a column: MySQL sets `BINARY` for its numbers and
    /// announces 31 decimals for its strings.
    pub fn of_expression(name: &'a str, ty: &SqlType, nullable: bool, results: Option<Collation>) -> Self {
        let mut definition = Self::of_type(name, ty, nullable, results);
        if ty.is_numeric() && ty.kind != types::TypeKind::Bit || ty.kind == types::TypeKind::Null {
            definition.flags |= flag::BINARY;
            definition.flags &= !flag::ZEROFILL;
        }
        if ty.is_blob_or_text() {
            definition.flags &= !flag::BLOB;
            definition.column_type = ColumnType::of_computed_text(ty);
            definition.length = computed_text_length(ty, results);
        }
        if ty.is_string() || ty.has_members() || ty.kind == types::TypeKind::Json {
            definition.decimals = SqlType::NOT_FIXED;
        }
        if ty.kind == types::TypeKind::Json {
            definition.flags &= !flag::BLOB;
            definition.collation = results.unwrap_or(ty.collation).id();
            definition.length = JSON_EXPRESSION_BYTES;
        }
        definition
    }

    /// Announces a value that is sent as text in the character set of results, although its type is none of text.
    pub fn announce_as_text(&mut self, results: Collation) {
        self.announce_reference(results);
        if results != Collation::Binary {
            self.flags &= !flag::BINARY;
        }
    }

    /// The same for the column of a merged view: its flags remain.
    pub fn announce_reference(&mut self, results: Collation) {
        let per_char = results.charset().max_bytes_per_char();
        self.collation = results.id();
        self.length = match self.length {
            // A document has a quarter of this many characters.
            u32::MAX => (u32::MAX / 4).saturating_mul(per_char),
            length => length.saturating_mul(per_char),
        };
    }

    /// `names` converts to the character set that names are sent in.
    pub fn encode(&self, names: Transcoder, out: &mut Vec<u8>) {
        out.put_lenenc_bytes(b"def");
        for name in [
            self.schema,
            self.table,
            self.original_table,
            self.name,
            self.original_name,
        ] {
            out.put_lenenc_bytes(&names.encode(name.as_bytes()));
        }
        out.put_lenenc_int(0x0c);
        out.put_u16(self.collation);
        out.put_u32(self.length);
        out.put_u8(self.column_type as u8);
        out.put_u16(self.flags);
        out.put_u8(self.decimals);
        out.put_zeros(2);
    }

    /// The form in the reply to COM_FIELD_LIST, with the column's default value, `None` for NULL.
    pub fn encode_for_field_list(&self, default: Option<&[u8]>, names: Transcoder, out: &mut Vec<u8>) {
        self.encode(names, out);
        match default {
            Some(text) => out.put_lenenc_bytes(&names.encode(text)),
            None => out.put_u8(0xfb),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manual's example: `SELECT 1`.
    #[test]
    fn bytes_of_an_integer_expression() {
        let ty = SqlType {
            length: 1,
            ..SqlType::BIGINT
        };
        let mut out = Vec::new();
        let results = Collation::Utf8mb40900AiCi;
        let names = Transcoder::of_names(Some(results.charset()));
        ColumnDefinition::of_expression("1", &ty, false, Some(results)).encode(names, &mut out);
        assert_eq!(out, b"\x03def\0\0\0\x011\0\x0c\x3f\0\x01\0\0\0\x08\x81\0\0\0\0");
    }
}
