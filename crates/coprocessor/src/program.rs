//! A part of a plan as a program for the stores: a table's scan with its filter, and right above it groups, a LIMIT or
//! the first rows in an order.

use functions::aggregate::AggregateCall;
use functions::{EvalContext, Expr, eval_value};
use planner::plan::{Access, Rel, SortKey, TableScan};
use prost::Message;
use schema::layout::{Place, original_default, place};
use schema::model::{Handle, Table};
use types::{SqlType, TypeKind, Value};

use crate::expression::{Expressions, aggregate, column_at, count_of_rows, group_key, order_key};
use crate::form::{Form, datum};
use crate::tipb::{self, encode_type, exec_type};

/// Rows of the first page of a program that does not gather them.
const PAGE_ROWS: u64 = 1_024;
/// The most first rows, and the most bytes that they may have altogether: a store sends them in one response.
const FIRST_ROWS_MAX: u64 = 10_000;
const FIRST_ROWS_BYTES_MAX: u64 = 16 << 20;
/// The id that stands for a hidden handle.
const HIDDEN_HANDLE: i64 = -1;

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
        Builder::new(None).program(rel).is_some()
    }

    /// With the values of constants. `None`: one of them does not go down, or cannot be computed without a warning.
    pub fn new(rel: &Rel, eval: &EvalContext) -> Option<Self> {
        let warned = eval.warnings.count();
        let program = Builder::new(Some(eval)).program(rel);
        let warns = eval.warnings.count() > warned;
        if warns {
            drop(eval.warnings.take_back(warned));
        }
        program.filter(|_| !warns)
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
    executors: Vec<tipb::Executor>,
    columns: Vec<tipb::ColumnInfo>,
}

impl<'a> Builder<'a> {
    fn new(values: Option<&'a EvalContext>) -> Self {
        Self {
            values,
            executors: Vec::new(),
            columns: Vec::new(),
        }
    }

    fn program(mut self, rel: &Rel) -> Option<Program> {
        let scan = Program::scan(rel)?;
        self.scan(scan)?;
        let rows = || Some((scan.output_types(), positions(scan.columns.len())?));
        let ((types, outputs), page_rows) = match rel {
            Rel::Aggregate { keys, aggregates, .. } => (self.groups(keys, aggregates)?, None),
            Rel::Limit {
                offset: None,
                count: Some(count),
                ..
            } => {
                // A page that is full ends the store's work as its LIMIT would, and a response has no more than it.
                let count = self.count(count)?.unwrap_or(PAGE_ROWS);
                (rows()?, Some(count.clamp(1, PAGE_ROWS)))
            }
            Rel::Sort {
                keys,
                limit: Some(limit),
                ..
            } => {
                self.first_rows(scan, keys, limit)?;
                (rows()?, None)
            }
            Rel::Scan(_) => (rows()?, Some(PAGE_ROWS)),
            _ => return None,
        };
        Some(Program {
            bytes: self.encoded(scan, outputs),
            types,
            page_rows,
        })
    }

    fn encoded(mut self, scan: &TableScan, output_offsets: Vec<u32>) -> Vec<u8> {
        let key = handle_columns(&scan.table);
        let table = tipb::TableScan {
            table_id: Some(scan.table.physical_id()),
            columns: self.columns,
            desc: Some(false),
            primary_column_ids: key.ids,
            primary_prefix_column_ids: key.not_whole,
        };
        let scan = tipb::Executor {
            tp: Some(exec_type::TABLE_SCAN),
            tbl_scan: Some(table),
            ..Default::default()
        };
        self.executors.insert(0, scan);
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

    fn scan(&mut self, scan: &TableScan) -> Option<()> {
        let is_plain = scan.locking.is_none() && scan.as_of.is_none() && scan.partitions.is_none();
        let is_forward = matches!(
            scan.access,
            Access::Full { reverse: false } | Access::PrimaryRanges { reverse: false, .. }
        );
        if !is_plain || !is_forward || scan.table.row_ranges().len() > 1 {
            return None;
        }
        for &column in &scan.columns {
            self.columns.push(column_info(&scan.table, column)?);
        }
        if self.columns.is_empty() {
            self.count_rows(&scan.table)?;
        }
        let Some(filter) = &scan.filter else {
            return Some(());
        };
        let hoisted = self.values.map(|eval| functions::hoist(filter, eval));
        let expressions = Expressions { values: self.values };
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

    /// A store counts the rows of a batch by its first column.
    fn count_rows(&mut self, table: &Table) -> Option<()> {
        let first = table.primary_parts().first().map(|part| part.column);
        self.columns.push(match first {
            Some(column) => column_info(table, column)?,
            None => hidden_handle(),
        });
        Some(())
    }

    /// A store gives the results before the keys.
    fn groups(&mut self, keys: &[Expr], calls: &[AggregateCall]) -> Option<(Vec<SqlType>, Vec<u32>)> {
        let calls: Vec<_> = calls.iter().map(aggregate).collect::<Option<_>>()?;
        let group_by = keys.iter().map(group_key).collect::<Option<_>>()?;
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

    /// Rows with equal keys are taken in the order of the table, as a stable sort does.
    fn first_rows(&mut self, scan: &TableScan, keys: &[SortKey], limit: &Expr) -> Option<()> {
        let limit = self.count(limit)?;
        let most = (FIRST_ROWS_BYTES_MAX / row_bytes_max(scan)).min(FIRST_ROWS_MAX);
        if limit.is_some_and(|limit| limit > most) {
            return None;
        }
        let mut order_by = Vec::new();
        for key in keys {
            order_by.push(tipb::ByItem {
                expr: Some(order_key(&key.expr)?),
                desc: Some(key.descending),
            });
        }
        for key in self.table_order(&scan.table, &scan.columns)? {
            order_by.push(tipb::ByItem {
                expr: Some(key),
                desc: Some(false),
            });
        }
        self.executors.push(tipb::Executor {
            tp: Some(exec_type::TOP_N),
            top_n: Some(tipb::TopN { order_by, limit }),
            ..Default::default()
        });
        Some(())
    }

    /// The columns whose order is that of the rows' keys.
    fn table_order(&mut self, table: &Table, read: &[usize]) -> Option<Vec<tipb::Expr>> {
        if let Handle::Hidden = table.handle {
            let position = i64::try_from(self.columns.len()).ok()?;
            self.columns.push(hidden_handle());
            return Some(vec![column_at(position, &SqlType::BIGINT, Form::Int)]);
        }
        let mut order = Vec::new();
        for part in table.primary_parts() {
            let ty = table.columns.get(part.column)?.ty;
            let at = match read.iter().position(|&column| column == part.column) {
                Some(at) => at,
                None => {
                    self.columns.push(column_info(table, part.column)?);
                    self.columns.len() - 1
                }
            };
            if part.prefix.is_some() {
                return None;
            }
            order.push(order_key(&Expr::column(at, ty, false))?);
        }
        Some(order)
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

fn positions(count: usize) -> Option<Vec<u32>> {
    u32::try_from(count).ok().map(|count| (0..count).collect())
}

/// The ids of the columns whose encodings are a row's handle.
#[derive(Default)]
struct HandleColumns {
    ids: Vec<i64>,
    /// Those of columns of which the handle has only a prefix or a sort key. Without them, a store that is asked for
    /// no others does not look at the row.
    not_whole: Vec<i64>,
}

fn handle_columns(table: &Table) -> HandleColumns {
    let mut columns = HandleColumns::default();
    if !matches!(table.handle, Handle::Clustered { .. }) {
        return columns;
    }
    for part in table.primary_parts() {
        let Some(column) = table.columns.get(part.column) else {
            continue;
        };
        columns.ids.push(column.id);
        if !matches!(place(table, part.column), Place::HandlePart(_)) {
            columns.not_whole.push(column.id);
        }
    }
    columns
}

fn hidden_handle() -> tipb::ColumnInfo {
    tipb::ColumnInfo {
        column_id: Some(HIDDEN_HANDLE),
        pk_handle: Some(true),
        ..info(&SqlType::BIGINT, Form::Int)
    }
}

fn column_info(table: &Table, column: usize) -> Option<tipb::ColumnInfo> {
    let definition = table.columns.get(column)?;
    let form = Form::of(&definition.ty)?;
    let place = place(table, column);
    let default = match place {
        Place::Computed => return None,
        // In a key it is flagged as a duration, which a store does not read as an integer.
        Place::HandlePart(_) if definition.ty.kind == TypeKind::Time => return None,
        Place::IntegerHandle | Place::HandlePart(_) => None,
        Place::Row => match original_default(definition).ok()? {
            Value::Null => None,
            value => Some(datum(&value, &definition.ty)?),
        },
    };
    Some(tipb::ColumnInfo {
        column_id: Some(definition.id),
        default_val: default,
        pk_handle: Some(matches!(place, Place::IntegerHandle)),
        ..info(&definition.ty, form)
    })
}

/// Never NOT NULL: a column may be missing in rows that are older than it.
fn info(ty: &SqlType, form: Form) -> tipb::ColumnInfo {
    let field = form.field_type(ty);
    tipb::ColumnInfo {
        tp: field.tp,
        collation: field.collate,
        column_len: field.flen,
        decimal: field.decimal,
        flag: field.flag.and_then(|flag| i32::try_from(flag).ok()),
        ..Default::default()
    }
}
