//! Decodes responses to batches. A response has rows of flagged values in their stored form.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use codec::row::ColumnBuffer;
use functions::TimeZone;
use prost::Message;
use schema::layout::to_local;
use types::{Error, Result, SqlType};

use crate::tipb::{SelectResponse, encode_type};

/// Decodes responses whose columns have these types.
#[derive(Debug)]
pub struct Rows {
    buffers: Vec<ColumnBuffer>,
    schema: SchemaRef,
    zone: TimeZone,
    /// A buffer for the cell of an integer.
    cell: Vec<u8>,
}

impl Rows {
    pub fn new(types: &[SqlType], zone: TimeZone) -> Self {
        let fields = types.iter().map(|ty| Field::new("", ty.arrow_type(), true));
        Self {
            buffers: types.iter().map(ColumnBuffer::new).collect(),
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            zone,
            cell: Vec::new(),
        }
    }

    /// The rows of one response.
    ///
    /// # Errors
    /// 1105 with the store's message, or for a damaged response.
    pub fn read(&mut self, response: &[u8]) -> Result<RecordBatch> {
        let response = SelectResponse::decode(response).map_err(damaged)?;
        if let Some(error) = response.error {
            let (code, text) = (error.code.unwrap_or(0), error.msg.unwrap_or_default());
            return Err(Error::internal(format_args!(
                "the store's coprocessor reports: {text} ({code})"
            )));
        }
        if response.encode_type.unwrap_or(encode_type::DEFAULT) != encode_type::DEFAULT {
            return Err(damaged("rows in an unknown encoding"));
        }
        let mut rows = 0;
        for chunk in &response.chunks {
            let mut rest = chunk.rows_data.as_deref().unwrap_or_default();
            while !rest.is_empty() && !self.buffers.is_empty() {
                self.row(&mut rest)?;
                rows += 1;
            }
        }
        let columns = self.buffers.iter_mut().map(ColumnBuffer::finish);
        let columns = columns.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(Error::internal)
    }

    fn row(&mut self, rest: &mut &[u8]) -> Result<()> {
        let zone = self.zone;
        for buffer in &mut self.buffers {
            match codec::datum::as_cell(rest, &mut self.cell)? {
                Some(cell) => buffer.push_cell(cell, &|utc| to_local(utc, zone))?,
                None => buffer.push_null(),
            }
        }
        Ok(())
    }
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::internal(format_args!("a response of a store's coprocessor: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tipb::Chunk;
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::Int64Type;

    fn response() -> Vec<u8> {
        let mut row = vec![codec::datum::VAR_INT_FLAG, 10, codec::datum::NIL_FLAG];
        row.extend(codec::datum::compact_bytes_head(2));
        row.extend(b"ab");
        let chunk = |rows: usize| Chunk {
            rows_data: Some(row.repeat(rows)),
        };
        let response = SelectResponse {
            chunks: vec![chunk(2), chunk(0), chunk(1)],
            ..Default::default()
        };
        response.encode_to_vec()
    }

    fn types() -> [SqlType; 3] {
        [
            SqlType::BIGINT,
            SqlType::decimal(10, 2),
            SqlType::varchar(9, types::Collation::DEFAULT),
        ]
    }

    #[test]
    fn rows_of_several_chunks_are_one_batch() {
        let mut rows = Rows::new(&types(), TimeZone::UTC);
        for _ in 0..2 {
            let batch = rows.read(&response()).unwrap();
            assert_eq!(batch.num_rows(), 3);
            assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[5, 5, 5]);
            assert_eq!(batch.column(1).null_count(), 3);
            assert_eq!(batch.column(2).as_string::<i32>().value(2), "ab");
        }
    }

    #[test]
    fn damaged_responses_are_errors() {
        let whole = response();
        for len in 0..whole.len() {
            let _ = Rows::new(&types(), TimeZone::UTC).read(&whole[..len]);
        }
        for position in 0..whole.len() {
            for byte in 0..=u8::MAX {
                let mut changed = whole.clone();
                changed[position] = byte;
                let _ = Rows::new(&types(), TimeZone::UTC).read(&changed);
            }
        }
        let failed = SelectResponse {
            error: Some(crate::tipb::Error {
                code: Some(1690),
                msg: Some("out of range".into()),
            }),
            ..Default::default()
        };
        let error = Rows::new(&types(), TimeZone::UTC)
            .read(&failed.encode_to_vec())
            .unwrap_err();
        assert!(error.message.contains("out of range"), "{error:?}");
    }
}
