//! Sinks between a query and its caller: they end it after a number of rows, count the rows, or collect them.

use arrow::record_batch::RecordBatch;
use executor::{PacketRows, RowSink};
use functions::EvalContext;
use memory::{Account, Broker, Holder, Refused};
use planner::plan::OutputLimit;
use types::{Error, Result, errno};

/// Ends a query after `sql_select_limit` rows.
pub(crate) struct Limited<'a> {
    sink: &'a mut dyn RowSink,
    left: u64,
    ended: bool,
}

impl<'a> Limited<'a> {
    pub fn new(sink: &'a mut dyn RowSink, limit: u64) -> Self {
        Self {
            sink,
            left: limit,
            ended: false,
        }
    }

    pub fn is_full(&self) -> bool {
        self.ended
    }
}

impl RowSink for Limited<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows() as u64;
        if rows <= self.left {
            self.left -= rows;
            return self.sink.batch(batch);
        }
        let part = batch.slice(0, self.left as usize);
        self.left = 0;
        self.sink.batch(&part)?;
        self.ended = true;
        Err(Error::new(
            errno::ER_QUERY_INTERRUPTED,
            "sql_select_limit is reached",
        ))
    }

    fn packets(&mut self) -> Option<&mut dyn PacketRows> {
        match self.left {
            u64::MAX => self.sink.packets(),
            _ => None,
        }
    }
}

/// Passes on the rows that LIMIT leaves, and counts all of them: SQL_CALC_FOUND_ROWS.
pub(crate) struct Counted<'a> {
    sink: &'a mut dyn RowSink,
    skip: u64,
    left: u64,
    pub rows: u64,
}

impl<'a> Counted<'a> {
    pub fn new(sink: &'a mut dyn RowSink, limit: &OutputLimit, eval: &EvalContext) -> Result<Self> {
        let number = |expr: &functions::Expr| {
            functions::eval_value(expr, eval)?
                .as_u64()
                .ok_or_else(|| Error::new(errno::ER_WRONG_ARGUMENTS, "Incorrect arguments to LIMIT"))
        };
        Ok(Self {
            sink,
            skip: limit.offset.as_ref().map(number).transpose()?.unwrap_or(0),
            left: number(&limit.count)?,
            rows: 0,
        })
    }
}

impl RowSink for Counted<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows() as u64;
        self.rows += rows;
        let skipped = self.skip.min(rows);
        self.skip -= skipped;
        let sent = self.left.min(rows - skipped);
        if sent == 0 {
            return Ok(());
        }
        self.left -= sent;
        self.sink.batch(&batch.slice(skipped as usize, sent as usize))
    }
}

/// All rows of a query, up to a number of bytes.
pub struct Collected {
    pub batches: Vec<RecordBatch>,
    pub rows: usize,
    /// What the rows hold, until it is dropped.
    pub memory: Account,
}

impl Collected {
    /// Takes at most `bytes`. A query with more, or with more than the process has left, fails with 8175.
    pub fn limited(broker: &'static Broker, bytes: usize) -> Self {
        Self {
            batches: Vec::new(),
            rows: 0,
            memory: Account::new(broker, Holder::Session, bytes),
        }
    }
}

impl RowSink for Collected {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let taken = self.memory.grow(batch.get_array_memory_size(), None);
        taken.map_err(|refused| {
            let most = match refused {
                Refused::Limit(_) => "stemdb_memory_limit",
                Refused::InUse | Refused::Interrupted => "the server has left",
            };
            Error::new(
                errno::ER_MEMORY_EXCEEDED,
                format!(
                    "The rows of a cursor take more memory than {most}; fetch without a cursor, or use LIMIT"
                ),
            )
        })?;
        self.rows += batch.num_rows();
        self.batches.push(batch.clone());
        Ok(())
    }
}
