//! Aggregates over all rows of one access path: from the store's bytes to the accumulators.
//!
//! An operator like others, so that whatever is computed of the sums is computed as ever; [`crate::operator`]'s
//! `aggregate` has all other aggregations, and the answers are the same.

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use codec::row::TakeCell;
use functions::Expr;
use functions::aggregate::{Accumulator, AggregateCall};
use functions::datum::Datum;
use planner::plan::{Locking, QueryPlan, Rel, TableScan};
use types::{Decimal, Error, Result, SqlType};

use super::columns::RowColumns;
use super::range::{Shape, read_rows};
use crate::batch::{BATCH_ROWS, batch_of, schema_of};
use crate::env::Env;
use crate::operator::Operator;
use crate::operator::scan;

/// `SELECT SUM(column), COUNT(*) ... FROM t WHERE key BETWEEN ? AND ?`, by whichever access path.
pub(crate) struct AggregateRows<'p> {
    scan: &'p TableScan,
    /// Of the calls that have an argument, each one's.
    columns: RowColumns,
    calls: Vec<Call<'p>>,
    done: bool,
}

struct Call<'p> {
    call: &'p AggregateCall,
    /// The argument's place among the columns that are read.
    column: Option<usize>,
    /// How many digits after the point the argument has.
    decimals: u8,
    accumulator: Accumulator,
}

impl<'p> AggregateRows<'p> {
    /// `None`: other than aggregates of columns, which rows hold as they are shown, or rows that are locked.
    pub fn of(
        input: &'p Rel,
        keys: &[Expr],
        calls: &'p [AggregateCall],
        locking: Option<Locking>,
    ) -> Result<Option<Self>> {
        let plain = locking.is_none() && keys.is_empty() && calls.iter().all(AggregateCall::takes_values);
        let Some(shape) = plain.then(|| Shape::of(input)).flatten() else {
            return Ok(None);
        };
        let Some(scan) = shape.in_key_order() else {
            return Ok(None);
        };
        let mut offsets = Vec::new();
        let mut with_columns = Vec::with_capacity(calls.len());
        for call in calls {
            let (column, decimals) = match call.args.as_slice() {
                [] => (None, 0),
                [Expr::Column { index, ty, .. }] => {
                    let Some(offset) = shape.columns.get(*index) else {
                        return Ok(None);
                    };
                    offsets.push(*offset);
                    (Some(offsets.len() - 1), ty.decimals)
                }
                _ => return Ok(None),
            };
            let accumulator = Accumulator::new(call)?;
            with_columns.push(Call {
                call,
                column,
                decimals,
                accumulator,
            });
        }
        Ok(RowColumns::new(&scan.table, &offsets).map(|columns| Self {
            scan,
            columns,
            calls: with_columns,
            done: false,
        }))
    }

    fn read_all(&mut self, env: &Env<'_, '_>) -> Result<()> {
        self.scan.table.check_readable_at(env.source.ts())?;
        let mut access = scan::open_rows(self.scan, env.eval())?;
        let zone = env.eval().time_zone;
        let (columns, calls) = (&self.columns, &mut self.calls);
        let (need_value, mut room, mut counted) = (columns.need_value(), Vec::new(), 0);
        loop {
            let rows = read_rows(&mut access, env, BATCH_ROWS, &mut |key, value| {
                let row = columns.open(key, need_value.then_some(value), zone, &mut room)?;
                for call in calls.iter_mut() {
                    match call.column {
                        Some(position) => columns.give(&row, position, Add(call))?,
                        None => call.accumulator.add(Datum::Int(1))?,
                    }
                }
                Ok(())
            })?;
            let bytes = calls.iter().map(|call| call.accumulator.size_bytes()).sum();
            env.memory.shrink(counted);
            env.memory.grow(bytes)?;
            counted = bytes;
            if rows == 0 {
                return Ok(());
            }
        }
    }

    fn row(&self, env: &Env<'_, '_>) -> Result<RecordBatch> {
        let types: Vec<SqlType> = self.calls.iter().map(|call| call.call.ty).collect();
        let columns = self.calls.iter();
        let columns = columns.map(|call| call.accumulator.evaluate_array(env.eval()));
        batch_of(&schema_of(&types), columns.collect::<Result<Vec<ArrayRef>>>()?, 1)
    }
}

impl Operator for AggregateRows<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, _wanted: usize) -> Result<Option<RecordBatch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        self.read_all(env)?;
        self.row(env).map(Some)
    }
}

/// Whether a query's aggregates come straight from the store's bytes, which their values do not show.
///
/// # Errors
/// As [`crate::query()`].
pub fn is_direct(query: &QueryPlan) -> Result<bool> {
    let aggregate = query.root.operators().find_map(|rel| match rel {
        Rel::Aggregate {
            input,
            keys,
            aggregates,
        } => Some((input, keys, aggregates)),
        _ => None,
    });
    match aggregate {
        None => Ok(false),
        Some((input, keys, aggregates)) => {
            Ok(AggregateRows::of(input, keys, aggregates, query.locking)?.is_some())
        }
    }
}

/// Takes a column's value in. Only integers, the most frequent ones, where they are read: the code of all others is not
/// in their way.
struct Add<'c, 'p>(&'c mut Call<'p>);

impl Add<'_, '_> {
    #[inline(never)]
    fn add(self, value: Datum<'_>) -> Result<()> {
        self.0.accumulator.add(value)
    }
}

impl<'a> TakeCell<'a> for Add<'_, '_> {
    type Out = ();
    type Error = Error;

    fn null(self) -> Result<()> {
        self.add(Datum::Null)
    }

    #[inline(always)]
    fn int(self, value: i64) -> Result<()> {
        self.0.accumulator.add(Datum::Int(value))
    }

    fn uint(self, value: u64) -> Result<()> {
        self.add(Datum::UInt(value))
    }

    fn double(self, value: f64) -> Result<()> {
        self.add(Datum::Double(value))
    }

    #[inline(never)]
    fn decimal(self, value: Decimal) -> Result<()> {
        let scaled = match value.scale == self.0.decimals {
            true => Some(value),
            false => value.rescale(self.0.decimals),
        };
        let too_long = || Error::internal("a decimal with more digits than its column");
        self.add(Datum::Decimal(scaled.ok_or_else(too_long)?))
    }

    #[inline(never)]
    fn text(self, bytes: &'a [u8]) -> Result<()> {
        let text = std::str::from_utf8(bytes).map_err(|_| codec::Error::Malformed {
            what: "text in a row",
        })?;
        self.add(Datum::String(text))
    }

    fn bytes(self, bytes: &'a [u8]) -> Result<()> {
        self.add(Datum::Bytes(bytes))
    }
}
