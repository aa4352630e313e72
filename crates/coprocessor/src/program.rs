//! Translates a part of a plan to a program for the stores: the scan of a table or of an index that has all
//! columns, with its filter, optionally followed by groups, a LIMIT, or the first rows in an order.

use functions::aggregate::AggregateCall;
use functions::{EvalContext, Expr, eval_value};
use planner::plan::{Rel, SortKey, TableScan};
use prost::Message;
use types::{SqlType, Value};

use crate::columns::ScanColumns;
use crate::expression::{Expressions, count_of_rows};
use crate::tipb::{self, encode_type, exec_type};

/// The number of rows of the first page of a program that returns rows of the table, and their largest
/// expected size.
const PAGE_ROWS: u64 = 1_024;
const PAGE_BYTES: u64 = 1 << 20;
/// The expected size of the longest values.
const VALUE_BYTES_EXPECTED: u64 = 8 << 10;
/// The largest number of first rows in an order, and their largest size: a store sends them in one response.
const FIRST_ROWS_MAX: u64 = 10_000;
const FIRST_ROWS_BYTES_MAX: u64 = 16 << 20;
/// A program for the stores.
#[derive(Debug, Clone)]
pub struct Program {
    /// A `tipb.DAGRequest`.
    pub bytes: Vec<u8>,
    /// The types of its rows' columns.
    pub types: Vec<SqlType>,
    /// Rows of the first page. `None`: each result row is computed from many rows, so it has no pages.
    pub page_rows: Option<u64>,
}

impl Program {
    /// Whether the plan permits to push down a part of it.
    pub fn exists(rel: &Rel) -> bool {
        Self::made(rel, None).is_some()
    }

    /// With the values of constants. `None`: one of them cannot be pushed down, or cannot be computed without
    /// a warning.
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

    /// The scan at the bottom of a part of a plan.
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
                // A full page ends the store's work as the LIMIT would.
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

    /// The program returns the scan's rows.
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

    /// In a response, a store puts the results before the keys.
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
            // A store requires at least one aggregate. This one is not among the outputs.
            agg_func.push(count_of_rows());
        }
        self.executors.push(tipb::Executor {
            tp: Some(exec_type::AGGREGATION),
            aggregation: Some(tipb::Aggregation { group_by, agg_func }),
            ..Default::default()
        });
        Some(outputs)
    }

    /// A store does not keep the order of rows with equal keys. The keys of the scan are added, so that such
    /// rows come in its order, as with a stable sort.
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

    /// The value of a LIMIT; `Some(None)` if it is not known yet while the plan is made.
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

/// The largest size of a row, by its types.
fn row_bytes_max(scan: &TableScan) -> u64 {
    let types = scan.output_types().into_iter();
    types
        .map(|ty| ty.max_bytes() + ty.fixed_bytes())
        .sum::<u64>()
        .max(1)
}

/// Rows of the first page. Values that may be long are expected to be short. A store reads at least 32 rows
/// for a page, and the size of further pages is computed from the first one.
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
