//! A part of a plan as a program for the stores: the scan of a table or of an index that has all columns, with its filter,
//! and right above it groups, a LIMIT or the first rows in an order.

use functions::aggregate::AggregateCall;
use functions::{EvalContext, Expr, eval_value};
use planner::plan::{Rel, SortKey, TableScan};
use prost::Message;
use types::{SqlType, Value};

use crate::columns::ScanColumns;
use crate::expression::{Expressions, count_of_rows};
use crate::tipb::{self, encode_type, exec_type};

/// Rows of the first page of a program that does not gather them, and what it should have at most.
const PAGE_ROWS: u64 = 1_024;
const PAGE_BYTES: u64 = 1 << 20;
/// What the longest values are expected to have.
const VALUE_BYTES_EXPECTED: u64 = 8 << 10;
/// The most first rows, and the most bytes that they may have altogether: a store sends them in one response.
const FIRST_ROWS_MAX: u64 = 10_000;
const FIRST_ROWS_BYTES_MAX: u64 = 16 << 20;
/// What stores compute of a part of a plan.
#[derive(Debug, Clone)]
pub struct Program {
    /// A `tipb.DAGRequest`.
    pub bytes: Vec<u8>,
    /// Of the columns of its rows.
    pub types: Vec<SqlType>,
    /// Rows of the first page. `None`: its rows are made of many, so a part of a response means nothing.
    pub page_rows: Option<u64>,
}

impl Program {
    /// Whether a part of a plan goes down, as far as the plan says.
    pub fn exists(rel: &Rel) -> bool {
        Self::made(rel, None).is_some()
    }

    /// With the values of constants. `None`: one of them does not go down, or cannot be computed without a warning.
    pub fn new(rel: &Rel, eval: &EvalContext) -> Option<Self> {
        let warned = eval.warnings.count();
        let program = Self::made(rel, Some(eval));
        let warns = eval.warnings.count() > warned;
        if warns {
            drop(eval.warnings.take_back(warned));
        }
        program.filter(|_| !warns)
    }

    fn made(rel: &Rel, values: Option<&EvalContext>) -> Option<Self> {
        Builder::new(Self::scan(rel)?, values)?.program(rel)
    }

    /// The table that it reads.
    pub fn scan(rel: &Rel) -> Option<&TableScan> {
        match rel {
            Rel::Scan(scan) => Some(scan),
            Rel::Aggregate { input, .. } | Rel::Limit { input, .. } | Rel::Sort { input, .. } => {
                match &**input {
                    Rel::Scan(scan) => Some(scan),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

struct Builder<'a> {
    values: Option<&'a EvalContext>,
    columns: ScanColumns<'a>,
    executors: Vec<tipb::Executor>,
}

impl<'a> Builder<'a> {
    fn new(scan: &'a TableScan, values: Option<&'a EvalContext>) -> Option<Self> {
        let is_plain = scan.locking.is_none() && scan.as_of.is_none() && scan.partitions.is_none();
        if !is_plain || scan.table.row_ranges().len() > 1 {
            return None;
        }
        Some(Self {
            values,
            columns: ScanColumns::of(scan)?,
            executors: Vec::new(),
        })
    }

    fn program(mut self, rel: &Rel) -> Option<Program> {
        let scan = Program::scan(rel)?;
        self.filter(scan)?;
        let ((types, outputs), page_rows) = match rel {
            Rel::Aggregate { keys, aggregates, .. } => (self.groups(keys, aggregates)?, None),
            Rel::Limit {
                offset: None,
                count: Some(count),
                ..
            } => {
                // A page that is full ends the store's work as its LIMIT would.
                let (count, most) = (self.count(count)?, page_rows(&scan.output_types()));
                (self.rows(scan)?, Some(count.unwrap_or(most).clamp(1, most)))
            }
            Rel::Sort {
                keys,
                limit: Some(limit),
                ..
            } => {
                let outputs = self.rows(scan)?;
                self.first_rows(scan, keys, limit)?;
                (outputs, None)
            }
            Rel::Scan(_) => (self.rows(scan)?, Some(page_rows(&scan.output_types()))),
            _ => return None,
        };
        Some(Program {
            bytes: self.encoded(outputs),
            types,
            page_rows,
        })
    }

    fn encoded(mut self, output_offsets: Vec<u32>) -> Vec<u8> {
        self.executors.insert(0, self.columns.into_executor());
        tipb::DagRequest {
            executors: self.executors,
            time_zone_offset: Some(0),
            flags: Some(0),
            output_offsets,
            encode_type: Some(encode_type::DEFAULT),
            time_zone_name: Some("UTC".to_owned()),
        }
        .encode_to_vec()
    }

    fn expressions(&self) -> Expressions<'_> {
        Expressions {
            values: self.values,
            places: Some(self.columns.places()),
        }
    }

    /// The scan's own rows.
    fn rows(&self, scan: &TableScan) -> Option<(Vec<SqlType>, Vec<u32>)> {
        let outputs = self.columns.places().iter().map(|&place| u32::try_from(place));
        Some((scan.output_types(), outputs.collect::<Result<_, _>>().ok()?))
    }

    fn filter(&mut self, scan: &TableScan) -> Option<()> {
        let Some(filter) = &scan.filter else {
            return Some(());
        };
        let hoisted = self.values.map(|eval| functions::hoist(filter, eval));
        let expressions = self.expressions();
        let conditions = planner::conjuncts(Some(hoisted.as_deref().unwrap_or(filter)));
        let conditions: Option<Vec<_>> = conditions
            .into_iter()
            .map(|condition| expressions.condition(condition))
            .collect();
        self.executors.push(tipb::Executor {
            tp: Some(exec_type::SELECTION),
            selection: Some(tipb::Selection {
                conditions: conditions?,
            }),
            ..Default::default()
        });
        Some(())
    }

    /// A store gives the results before the keys.
    fn groups(&mut self, keys: &[Expr], calls: &[AggregateCall]) -> Option<(Vec<SqlType>, Vec<u32>)> {
        let expressions = self.expressions();
        let calls = calls.iter().map(|call| expressions.aggregate(call));
        let calls: Vec<_> = calls.collect::<Option<_>>()?;
        let group_by = keys.iter().map(|key| expressions.group_key(key));
        let group_by = group_by.collect::<Option<_>>()?;
        let types = keys.iter().map(Expr::ty).chain(calls.iter().map(|(_, ty)| *ty));
        let first_key = calls.len().max(1);
        let outputs = (first_key..first_key + keys.len())
            .chain(0..calls.len())
            .map(u32::try_from);
        let outputs = (types.collect(), outputs.collect::<Result<_, _>>().ok()?);
        if keys.is_empty() && calls.is_empty() {
            return None;
        }
        let mut agg_func: Vec<_> = calls.into_iter().map(|(expr, _)| expr).collect();
        if agg_func.is_empty() {
            // A store wants something to compute. It is not among the outputs.
            agg_func.push(count_of_rows());
        }
        self.executors.push(tipb::Executor {
            tp: Some(exec_type::AGGREGATION),
            aggregation: Some(tipb::Aggregation { group_by, agg_func }),
            ..Default::default()
        });
        Some(outputs)
    }

    /// Rows with equal keys are taken in the order of the scan, as a stable sort does.
    fn first_rows(&mut self, scan: &TableScan, keys: &[SortKey], limit: &Expr) -> Option<()> {
        let limit = self.count(limit)?;
        let most = (FIRST_ROWS_BYTES_MAX / row_bytes_max(scan)).min(FIRST_ROWS_MAX);
        if limit.is_some_and(|limit| limit > most) {
            return None;
        }
        let mut order_by = Vec::new();
        for key in keys {
            order_by.push(tipb::ByItem {
                expr: Some(self.expressions().order_key(&key.expr)?),
                desc: Some(key.descending),
            });
        }
        let by_scan = self.columns.order()?.into_iter();
        order_by.extend(by_scan.map(|key| tipb::ByItem {
            expr: Some(key),
            desc: Some(false),
        }));
        self.executors.push(tipb::Executor {
            tp: Some(exec_type::TOP_N),
            top_n: Some(tipb::TopN { order_by, limit }),
            ..Default::default()
        });
        Some(())
    }

    /// The value of a LIMIT; `Some(None)`: it is not known while the plan is made.
    fn count(&self, expr: &Expr) -> Option<Option<u64>> {
        let value = match (expr, self.values) {
            (Expr::Literal { value, .. }, _) => value.clone(),
            (_, Some(values)) => eval_value(expr, values).ok()?,
            (_, None) => return expr.is_constant().then_some(None),
        };
        match value {
            Value::UInt(count) => Some(Some(count)),
            Value::Int(count) => u64::try_from(count).ok().map(Some),
            _ => None,
        }
    }
}

/// What a row has at most, by its types.
fn row_bytes_max(scan: &TableScan) -> u64 {
    let types = scan.output_types().into_iter();
    types
        .map(|ty| ty.max_bytes() + ty.fixed_bytes())
        .sum::<u64>()
        .max(1)
}

/// Rows of the first page. A column whose values may be long is expected to have short ones: a store reads at least 32
/// rows for a page, and further pages have as many rows as fit.
fn page_rows(types: &[SqlType]) -> u64 {
    let expected = |ty: &SqlType| (ty.max_bytes() + ty.fixed_bytes()).min(VALUE_BYTES_EXPECTED);
    let row_bytes: u64 = types.iter().map(expected).sum();
    (PAGE_BYTES / row_bytes.max(1)).clamp(1, PAGE_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Collation;

    #[test]
    fn wide_rows_have_short_pages() {
        let text = |length| SqlType::varchar(length, Collation::DEFAULT);
        assert_eq!(page_rows(&[]), PAGE_ROWS);
        assert_eq!(page_rows(&[SqlType::BIGINT; 20]), PAGE_ROWS);
        assert_eq!(page_rows(&[text(255)]), PAGE_ROWS);
        let wide = page_rows(&[text(255); 20]);
        assert!((40..70).contains(&wide), "{wide}");
        let long = text(16_383);
        assert_eq!(page_rows(&[long]), PAGE_BYTES / VALUE_BYTES_EXPECTED);
        assert_eq!(page_rows(&[long; 200]), 1);
    }
}
