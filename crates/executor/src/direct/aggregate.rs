//! Aggregates over all rows of one access path: from the store's bytes to the accumulators, without arrays.
//!
//! It is an operator like any other, so that the operators above it compute with its results. All other
//! aggregations run in [`crate::operator`]'s `aggregate`; the answers are the same.

use std::borrow::Cow;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use codec::row::TakeCell;
use functions::Expr;
use functions::aggregate::{Accumulator, AggregateCall};
use functions::datum::Datum;
use planner::plan::{QueryPlan, Rel, TableScan};
use types::json::JsonRef;
use types::{Decimal, Error, Result, SqlType};

use super::columns::RowColumns;
use super::range::{RangePlan, read_rows};
use crate::batch::{BATCH_ROWS, batch_of, schema_of};
use crate::env::Env;
use crate::operator::Operator;
use crate::operator::scan;

/// `SELECT SUM(column), COUNT(*) ... FROM t WHERE key BETWEEN ? AND ?`, by whichever access path.
pub(crate) struct AggregateRows<'p> {
    scan: &'p TableScan,
    /// The arguments of the calls that have one.
    columns: RowColumns,
    calls: Vec<Call<'p>>,
    done: bool,
}

struct Call<'p> {
    call: &'p AggregateCall,
    /// The argument's position among the columns that are read.
    column: Option<usize>,
    /// The argument's scale.
    decimals: u8,
    accumulator: Accumulator,
}

impl<'p> AggregateRows<'p> {
    /// `None` if a call's argument is not a column that rows store as it is shown, or if rows are locked.
    pub fn of(input: &'p Rel, keys: &[Expr], calls: &'p [AggregateCall]) -> Result<Option<Self>> {
        let plain = keys.is_empty() && calls.iter().all(AggregateCall::takes_values);
        let Some(range) = plain.then(|| RangePlan::of(input)).flatten() else {
            return Ok(None);
        };
        let Some(scan) = range.in_key_order() else {
            return Ok(None);
        };
        let mut offsets = Vec::new();
        let mut with_columns = Vec::with_capacity(calls.len());
        for call in calls {
            let (column, decimals) = match call.args.as_slice() {
                [] => (None, 0),
                [Expr::Column { index, ty, .. }] => {
                    let Some(offset) = range.columns.get(*index) else {
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
            let rows = read_rows(self.scan, &mut access, env, BATCH_ROWS, &mut |key, value| {
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

/// Whether a query's aggregates are computed from the store's bytes. The answers do not show it.
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
        Some((input, keys, aggregates)) => Ok(AggregateRows::of(input, keys, aggregates)?.is_some()),
    }
}

/// Adds a column's value to an accumulator. Only the code for integers, the most frequent values, is inlined
/// where columns are read; that of other types would make the loop larger.
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

    fn json(self, document: Cow<'a, [u8]>) -> Result<()> {
        self.add(Datum::Json(JsonRef::of_document(&document)))
    }
}
