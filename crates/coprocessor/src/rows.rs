//! Responses as batches. A response has rows of values with a flag each, in the form in which they are stored.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use codec::row::ColumnBuffer;
use functions::TimeZone;
use prost::Message;
use schema::layout::to_local;
use types::{Error, Result, SqlType};

use crate::tipb::{SelectResponse, encode_type};

/// Reads responses with columns of certain types.
#[derive(Debug)]
pub struct Rows {
    buffers: Vec<ColumnBuffer>,
    schema: SchemaRef,
    zone: TimeZone,
    /// The cell of an integer.
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

    /// The rows of a response.
    ///
    /// # Errors
    /// 1105 with what the store said, or for a response that is damaged.
    pub fn read(&mut self, response: &[u8]) -> Result<RecordBatch> {
        let response = SelectResponse::decode(response).map_err(damaged)?;
        if let Some(error) = response.error {
            let (code, text) = (error.code.unwrap_or(0), error.msg.unwrap_or_default());
            return Err(Error::internal(format_args!("a coprocessor: {text} ({code})")));
        }
        if response.encode_type.unwrap_or(encode_type::DEFAULT) != encode_type::DEFAULT {
            return Err(damaged("rows in an unknown form"));
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
    Error::internal(format_args!("a coprocessor's response: {what}"))
}
