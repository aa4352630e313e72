//! Rows with virtual generated columns: their values are computed when a row is read.

use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use functions::{EvalContext, Expr, Row, Strictness, TimeZone};
use types::{Error, Result, SqlMode, SqlType, Value};

use super::defaults::stored_default;
use super::stored::column;
use super::stored_columns::StoredColumns;
use crate::bound::add_columns;
use crate::default_value::implicit;
use crate::functional_index::{in_index, index_of};
use crate::model::Table;

/// Makes selected columns of rows, some of which are virtual.
#[derive(Debug, Clone)]
pub(super) struct Computed {
    /// What is read of a row, each column at its own offset.
    read: StoredColumns,
    /// In the order of evaluation.
    columns: Vec<ComputedColumn>,
    /// Where the selected columns go: position and offset.
    selected: Vec<(usize, usize)>,
    /// One of them turns a TIME into a point in time: on the day on which it is read.
    reads_date: bool,
    context: CachedContext,
    /// For columns whose values must fit.
    checking: Option<CachedContext>,
}

#[derive(Debug, Clone)]
struct ComputedColumn {
    offset: usize,
    name: String,
    ty: SqlType,
    value: Expr,
    /// What a NOT NULL column has in place of NULL.
    implicit: Option<Value>,
    is_checked: bool,
    /// The index whose expression it is.
    index: Option<String>,
}

impl Computed {
    /// `computed`: the virtual columns among the selected ones, `stored`: the others; each with its position.
    ///
    /// # Errors
    /// 1105 if the table's expressions are not bound.
    pub(super) fn new(table: &Table, computed: &[(usize, usize)], stored: &[(usize, usize)]) -> Result<Self> {
        let Some(expressions) = table.expressions()? else {
            return Err(Error::internal("a generated column without an expression"));
        };
        let selected = [stored, computed].concat();
        let mut needed: Vec<usize> = selected.iter().map(|(_, offset)| *offset).collect();
        let mut columns = Vec::new();
        let mut reads_date = false;
        // A generated column needs only those before it.
        for generated in expressions.generated.iter().rev() {
            let column = column(table, generated.column)?;
            if !column.is_virtual() || !needed.contains(&generated.column) {
                continue;
            }
            add_columns(&generated.value, &mut needed);
            reads_date |= generated.reads_date;
            columns.push(ComputedColumn {
                offset: generated.column,
                name: column.name.clone(),
                ty: column.ty,
                value: generated.value.clone(),
                implicit: match column.nullable {
                    true => None,
                    false => Some(stored_default(column, &implicit(&column.ty))?),
                },
                is_checked: false,
                index: column
                    .hidden
                    .then(|| index_of(table, generated.column).to_owned()),
            });
        }
        columns.reverse();
        needed.retain(|&offset| table.columns.get(offset).is_some_and(|c| !c.is_virtual()));
        Ok(Self {
            read: StoredColumns::new(
                table,
                table.columns.iter().map(|column| column.ty).collect(),
                needed.iter().map(|&offset| (offset, offset)),
            )?,
            columns,
            selected,
            reads_date,
            context: CachedContext::default(),
            checking: None,
        })
    }

    /// Refuses values that do not fit these columns, as INSERT does in this mode.
    pub(super) fn check(&mut self, columns: &[usize], mode: SqlMode) {
        for column in &mut self.columns {
            column.is_checked = columns.contains(&column.offset);
        }
        self.checking = Some(CachedContext {
            mode: Some(mode),
            ..CachedContext::default()
        });
    }

    /// Puts the selected columns of a row at their positions.
    pub(super) fn fill(&self, key: &[u8], value: &[u8], zone: TimeZone, values: &mut [Value]) -> Result<()> {
        let mut row = self.read.decode_row_values(key, value, zone)?;
        let context = match self.reads_date {
            true => Arc::new(EvalContext {
                now_us: now_us(),
                ..reading_context(zone)
            }),
            false => self.context.in_zone(zone),
        };
        let checking = self.checking.as_ref().map(|cached| cached.in_zone(zone));
        for column in &self.columns {
            let context = match &checking {
                Some(checking) if column.is_checked => checking,
                _ => &context,
            };
            let made = column.value_in(&row, context)?;
            if let Some(cell) = row.get_mut(column.offset) {
                *cell = match &column.implicit {
                    Some(implicit) if made.is_null() => implicit.clone(),
                    _ => made,
                };
            }
        }
        for &(position, offset) in &self.selected {
            if let (Some(to), Some(from)) = (values.get_mut(position), row.get(offset)) {
                to.clone_from(from);
            }
        }
        Ok(())
    }
}

impl ComputedColumn {
    fn value_in(&self, row: &[Value], context: &EvalContext) -> Result<Value> {
        let made = functions::eval_assigned(&self.value, Row::Values(row), context);
        let made = made
            .and_then(|(made, from)| functions::assign::value(made, &from, &self.ty, &self.name, 1, context));
        made.map_err(|error| match &self.index {
            Some(index) if self.is_checked => in_index(error.code, index, 1).unwrap_or(error),
            _ => error,
        })
    }
}

/// The context of the first session's time zone, which most sessions have. A context is expensive to make.
#[derive(Clone, Default)]
struct CachedContext {
    made: OnceLock<Arc<EvalContext>>,
    /// The mode in which values are checked; `None` while they are read.
    mode: Option<SqlMode>,
}

impl std::fmt::Debug for CachedContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CachedContext")
    }
}

impl CachedContext {
    fn in_zone(&self, zone: TimeZone) -> Arc<EvalContext> {
        let make = || match self.mode {
            Some(mode) => EvalContext {
                strictness: match mode.strict {
                    true => Strictness::Error,
                    false => Strictness::Warn,
                },
                sql_mode: mode,
                ..reading_context(zone)
            },
            None => reading_context(zone),
        };
        let cached = self.made.get_or_init(|| Arc::new(make()));
        match cached.time_zone == zone {
            true => {
                if cached.warnings.count() > 0 {
                    cached.warnings.take();
                }
                Arc::clone(cached)
            }
            false => Arc::new(make()),
        }
    }
}

fn now_us() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A value that does not fit its column was reported when the row was written. Reading it takes the nearest
/// value.
pub fn reading_context(time_zone: TimeZone) -> EvalContext {
    EvalContext {
        strictness: Strictness::Warn,
        sql_mode: SqlMode {
            strict: false,
            ..SqlMode::default()
        },
        time_zone,
        ..EvalContext::default()
    }
}
