//! The partitioning of a table, bound: what locates its rows, and whether it fits the table.

use std::collections::HashMap;
use std::sync::Arc;

use functions::{EvalContext, Expr, eval_value};
use schema::bound::add_columns;
use schema::expression::StoredExpression;
use schema::layout::{KeyParts, Width};
use schema::limits::KEY_BYTES_MAX;
use schema::model::Table;
use schema::partition::function::{Level, LevelKind, PartitionFunction, end_at_maxvalue};
use schema::partition::{Bound, MAX_PARTITIONS, Method, Partition, PartitionBy, PartitionKey, Partitioning};
use syntax::ast;
use types::{Error, Result, SqlMode, SqlType, TypeKind, Value};

use super::partition_error::{foreign_key_and_partitions, not_allowed, not_constant, too_many};
use super::stored::{bind_partition_expression, bind_partition_value};

/// The partition function of a table; `None` for a table without partitions.
///
/// # Errors
/// MySQL's for columns, functions and values that cannot partition the table.
pub fn partition_function(table: &Table) -> Result<Option<Arc<PartitionFunction>>> {
    let Some(partitioning) = &table.partitioning else {
        return Ok(None);
    };
    let partitions = &partitioning.partitions;
    let top = level(table, &partitioning.by, partitions, partitions.len())?;
    let sub = match &partitioning.sub {
        Some(by) => {
            let width = partitions.first().map_or(1, Partition::width);
            Some(level(table, by, &[], width)?)
        }
        None => None,
    };
    Ok(Some(Arc::new(PartitionFunction {
        top,
        sub,
        ids: partitioning.leaves().map(|leaf| leaf.id).collect(),
    })))
}

/// Whether a new or changed table can have its partitions.
///
/// # Errors
/// As [`partition_function`]; 1503 for a unique key without all columns, 1506 for foreign keys, 1517 for
/// names.
pub fn check_partitions(table: &Table) -> Result<()> {
    let Some(partitioning) = &table.partitioning else {
        return Ok(());
    };
    check_names(partitioning)?;
    if partitioning.leaves().count() > MAX_PARTITIONS {
        return Err(too_many());
    }
    let Some(function) = partition_function(table)? else {
        return Ok(());
    };
    for by in std::iter::once(&partitioning.by).chain(&partitioning.sub) {
        match &by.key {
            PartitionKey::Expression(stored) => check_written(table, stored)?,
            PartitionKey::Columns(names) => check_length(table, &columns_of(table, by, names)?)?,
        }
    }
    let primary = (!table.primary_parts().is_empty()).then(|| (true, table.primary_parts()));
    let unique = table
        .indexes
        .iter()
        .filter(|index| index.unique && !index.primary);
    let keys = primary
        .into_iter()
        .chain(unique.map(|index| (false, index.parts.clone())));
    for (is_primary, parts) in keys {
        let has = |column: usize| {
            parts
                .iter()
                .any(|part| part.column == column && part.prefix.is_none())
        };
        if !function.columns().all(has) {
            let key = if is_primary { "PRIMARY KEY" } else { "UNIQUE INDEX" };
            return Err(Error::new(
                1503,
                format!(
                    "A {key} must include all columns in the table's partitioning function (prefixed columns \
                     are not considered)."
                ),
            ));
        }
    }
    if !table.foreign_keys.is_empty() {
        return Err(foreign_key_and_partitions());
    }
    Ok(())
}

/// The columns of COLUMNS and KEY have at most as many bytes as a key, as MySQL counts them.
///
/// # Errors
/// 1660
fn check_length(table: &Table, columns: &[usize]) -> Result<()> {
    let bytes = |&column: &usize| {
        let column = &table.columns[column];
        let ty = &column.ty;
        let stored = match ty.is_string() {
            true => ty.max_bytes(),
            false => ty.fixed_bytes(),
        };
        stored + u64::from(column.nullable) + if ty.kind == TypeKind::VarChar { 2 } else { 0 }
    };
    match columns.iter().map(bytes).sum::<u64>() > KEY_BYTES_MAX {
        false => Ok(()),
        true => Err(Error::new(
            1660,
            "The total length of the partitioning fields is too large",
        )),
    }
}

/// What only the text of an expression shows. Definitions of earlier versions may have it.
///
/// # Errors
/// 1564 for CAST, 1486 for a unit of EXTRACT that the column does not have.
fn check_written(table: &Table, stored: &StoredExpression) -> Result<()> {
    fn check(table: &Table, expr: &ast::Expr) -> Result<()> {
        match expr {
            ast::Expr::Cast { .. } => return Err(not_allowed()),
            ast::Expr::Function { name, args } if name == "extract" => {
                if let [ast::Expr::Keyword(unit), ast::Expr::Column(column)] = args.as_slice()
                    && let Some(column) = table.column_offset(&column.column)
                    && !has_unit(table.columns[column].ty.kind, unit)
                {
                    return Err(not_constant());
                }
            }
            _ => {}
        }
        let mut first = Ok(());
        expr.children(&mut |child| {
            if first.is_ok() {
                first = check(table, child);
            }
        });
        first
    }
    check(
        table,
        &syntax::parse_expression(&stored.text, SqlMode::default())?,
    )
}

/// Whether EXTRACT of a unit is the same in all sessions for a column of a type.
fn has_unit(kind: TypeKind, unit: &str) -> bool {
    match unit {
        // It depends on default_week_format.
        "week" => false,
        "year" | "quarter" | "month" | "day" | "year_month" => kind != TypeKind::Time,
        _ if unit.starts_with("day_") => kind == TypeKind::DateTime,
        _ => kind != TypeKind::Date,
    }
}

fn check_names(partitioning: &Partitioning) -> Result<()> {
    let mut seen = Vec::new();
    for partition in &partitioning.partitions {
        let subpartitions = partition.subpartitions.iter().map(|sub| &sub.name);
        for name in std::iter::once(&partition.name).chain(subpartitions) {
            if name.is_empty() || name.ends_with(' ') {
                return Err(Error::new(1567, "Incorrect partition name"));
            }
            seen.push(name);
        }
    }
    let mut before = std::collections::HashSet::new();
    match seen
        .into_iter()
        .find(|name| !before.insert(schema::partition::name_key(name)))
    {
        Some(name) => Err(Error::new(1517, format!("Duplicate partition name {name}"))),
        None => Ok(()),
    }
}

fn level(table: &Table, by: &PartitionBy, partitions: &[Partition], count: usize) -> Result<Level> {
    let (columns, kind) = match &by.key {
        PartitionKey::Expression(stored) => {
            let expr = bind_partition_expression(table, stored)?;
            check_expression(table, &expr)?;
            let mut columns = Vec::new();
            add_columns(&expr, &mut columns);
            (columns, of_expression(by, expr, partitions)?)
        }
        PartitionKey::Columns(names) => {
            let columns = columns_of(table, by, names)?;
            check_columns(table, by, &columns)?;
            let kind = of_columns(table, by, &columns, partitions)?;
            (columns, kind)
        }
    };
    Ok(Level { columns, kind, count })
}

fn of_expression(by: &PartitionBy, expr: Expr, partitions: &[Partition]) -> Result<LevelKind> {
    let number = |bound: &Bound| -> Result<Option<i128>> {
        let Bound::Literal(text) = bound else {
            return Ok(None);
        };
        let value: i128 = text
            .parse()
            .map_err(|_| Error::internal(format!("a partition's value is stored as '{text}'")))?;
        match expr.ty().unsigned && value < 0 {
            true => Err(Error::new(
                1563,
                "Partition constant is out of partition function domain",
            )),
            false => Ok(Some(value)),
        }
    };
    Ok(match by.method {
        Method::Range => {
            let firsts = partitions.iter().filter_map(|p| p.values.first()?.first());
            let ends = firsts.map(number).collect::<Result<Vec<Option<i128>>>>()?;
            for (at, pair) in ends.windows(2).enumerate() {
                match pair {
                    [None, _] => return Err(maxvalue_is_not_last()),
                    [Some(end), Some(next)] if end >= next => return Err(not_increasing()),
                    _ if at > MAX_PARTITIONS => return Err(too_many()),
                    _ => {}
                }
            }
            LevelKind::Range { expr, ends }
        }
        Method::List => {
            let (mut values, mut null) = (HashMap::new(), None);
            for (at, partition) in partitions.iter().enumerate() {
                for bound in partition.values.iter().flatten() {
                    let earlier = match number(bound)? {
                        Some(value) => values.insert(value, at),
                        None => null.replace(at),
                    };
                    if earlier.is_some() {
                        return Err(duplicate_value());
                    }
                }
            }
            LevelKind::List { expr, values, null }
        }
        _ => LevelKind::Hash {
            expr,
            linear: by.linear,
        },
    })
}

fn of_columns(
    table: &Table,
    by: &PartitionBy,
    columns: &[usize],
    partitions: &[Partition],
) -> Result<LevelKind> {
    if !by.method.has_values() {
        return Ok(LevelKind::Key {
            types: columns.iter().map(|&column| table.columns[column].ty).collect(),
            linear: by.linear,
        });
    }
    let parts = KeyParts::of_columns(table, columns)?;
    let key = |bounds: &Vec<Bound>| -> Result<Vec<u8>> {
        let mut key = Vec::new();
        for (at, (bound, &column)) in bounds.iter().zip(columns).enumerate() {
            let value = match bound {
                Bound::Maxvalue => return Ok(end_at_maxvalue(&key)),
                Bound::Null => Value::Null,
                Bound::Literal(text) => column_value(table, column, text)?,
            };
            parts.append(at, &value, Width::Stored, functions::TimeZone::UTC, &mut key)?;
        }
        Ok(key)
    };
    if by.method == Method::Range {
        let firsts = partitions.iter().filter_map(|p| p.values.first());
        let ends = firsts.map(key).collect::<Result<Vec<Vec<u8>>>>()?;
        if ends.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(not_increasing());
        }
        return Ok(LevelKind::RangeColumns { parts, ends });
    }
    let mut values = Vec::new();
    for (at, partition) in partitions.iter().enumerate() {
        for tuple in &partition.values {
            values.push((key(tuple)?, at));
        }
    }
    values.sort();
    if values.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(duplicate_value());
    }
    Ok(LevelKind::ListColumns { parts, values })
}

/// The value of a literal in the type of its column.
fn column_value(table: &Table, column: usize, text: &str) -> Result<Value> {
    let wrong = || Error::new(1654, "Partition column values of incorrect type");
    let bound = bind_partition_value(table, text)?;
    let (from, column) = (bound.ty(), &table.columns[column]);
    let fits = match column.ty.is_integer() {
        true => from.is_integer(),
        false => from.is_string() || from.is_binary(),
    };
    if !fits {
        return Err(wrong());
    }
    // Partitions may begin at a zero date whatever the session's mode.
    let eval = EvalContext {
        strictness: functions::Strictness::Error,
        sql_mode: SqlMode {
            no_zero_date: false,
            no_zero_in_date: false,
            ..SqlMode::default()
        },
        ..EvalContext::default()
    };
    let value = eval_value(&bound, &eval)?;
    functions::assign::value(value, &from, &column.ty, &column.name, 1, &eval).map_err(|_| wrong())
}

/// The columns of COLUMNS and KEY.
fn columns_of(table: &Table, by: &PartitionBy, names: &[String]) -> Result<Vec<usize>> {
    let not_found = || {
        Error::new(
            1488,
            "Field in list of fields for partition function not found in table",
        )
    };
    if names.is_empty() && by.method == Method::Key {
        let is_not_null = |parts: &[schema::model::IndexPart]| {
            parts
                .iter()
                .all(|part| part.prefix.is_none() && !table.columns[part.column].nullable)
        };
        let primary = table.primary_parts();
        let unique = table
            .indexes
            .iter()
            .find(|index| index.unique && is_not_null(&index.parts));
        let parts = match primary.is_empty() {
            false => primary,
            true => unique.map(|index| index.parts.clone()).unwrap_or_default(),
        };
        let columns: Vec<usize> = parts.iter().map(|part| part.column).collect();
        return match columns.is_empty() {
            true => Err(not_found()),
            false => Ok(columns),
        };
    }
    let mut columns = Vec::new();
    for name in names {
        let column = table.column_offset(name).ok_or_else(not_found)?;
        if columns.contains(&column) {
            return Err(Error::new(
                1652,
                format!("Duplicate partition field name '{}'", table.columns[column].name),
            ));
        }
        columns.push(column);
    }
    Ok(columns)
}

fn check_columns(table: &Table, by: &PartitionBy, columns: &[usize]) -> Result<()> {
    for &column in columns {
        let column = &table.columns[column];
        let is_json = column.ty.kind == TypeKind::Json;
        if column.ty.is_blob_or_text() || is_json && by.method == Method::Key {
            return Err(Error::new(
                1502,
                "A BLOB field is not allowed in partition function",
            ));
        }
        let is_allowed = match column.ty.kind {
            _ if by.method == Method::Key => true,
            TypeKind::Date | TypeKind::DateTime | TypeKind::Time | TypeKind::Char | TypeKind::VarChar => true,
            TypeKind::Year | TypeKind::Bit => false,
            _ => column.ty.is_integer(),
        };
        if !is_allowed {
            return Err(type_not_allowed(&column.name));
        }
    }
    Ok(())
}

/// Functions that a partitioning expression can call (manual 24.6.3).
const ALLOWED: &[&str] = &[
    "abs",
    "ceiling",
    "ceil",
    "datediff",
    "day",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "extract",
    "floor",
    "hour",
    "microsecond",
    "minute",
    "mod",
    "month",
    "quarter",
    "second",
    "time_to_sec",
    "to_days",
    "to_seconds",
    "unix_timestamp",
    "weekday",
    "year",
    "yearweek",
    "+",
    "-",
    "*",
    "div",
    "%",
];

/// Those of them that take a point in time, and must not depend on the session's time zone.
const OF_DATES: &[&str] = &[
    "datediff",
    "day",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "month",
    "quarter",
    "to_days",
    "to_seconds",
    "weekday",
    "year",
    "yearweek",
    "extract",
];
const OF_TIMES: &[&str] = &["hour", "microsecond", "minute", "second", "time_to_sec"];

fn check_expression(table: &Table, expr: &Expr) -> Result<()> {
    let mut columns = Vec::new();
    add_columns(expr, &mut columns);
    if columns.is_empty() {
        return Err(not_constant());
    }
    if let Expr::Column { index, ty, .. } = expr
        && (!ty.is_integer() || ty.kind == TypeKind::Bit && ty.length > 64)
    {
        return Err(type_not_allowed(&table.columns[*index].name));
    }
    check_calls(expr)?;
    let ty = expr.ty();
    match ty.is_integer() || ty.is_decimal() && ty.decimals == 0 {
        true => Ok(()),
        false => Err(Error::new(1491, "The PARTITION function returns the wrong type")),
    }
}

/// Whether a value of a partition calls only what it may. Unlike the expression that partitions the table, it has no
/// columns.
///
/// # Errors
/// 1564
pub(super) fn check_value(written: &ast::Expr, bound: &Expr) -> Result<()> {
    let mut is_refused = has_cast(written);
    bound.walk(&mut |expr| {
        if let Expr::Call { function, .. } = expr {
            is_refused |= !is_allowed(function.name());
        }
    });
    match is_refused {
        true => Err(not_allowed()),
        false => Ok(()),
    }
}

/// Whether CAST or CASE stands in an expression.
fn has_cast(written: &ast::Expr) -> bool {
    let is_one = matches!(written, ast::Expr::Cast { .. } | ast::Expr::Case { .. });
    let mut has = is_one;
    written.children(&mut |part| has = has || has_cast(part));
    has
}

fn is_allowed(name: &str) -> bool {
    let name = name.strip_prefix("unary ").unwrap_or(name);
    ALLOWED.contains(&name)
}

/// Whether an expression calls only what it may, on types whose values do not depend on the session.
fn check_calls(expr: &Expr) -> Result<()> {
    let is_timestamp = |expr: &Expr| is_column_of(expr, |ty| ty.kind == TypeKind::Timestamp);
    match expr {
        Expr::Call { function, args, .. } => {
            let name = function.name();
            let name = name.strip_prefix("unary ").unwrap_or(name);
            if !is_allowed(name) {
                return Err(not_allowed());
            }
            if name == "unix_timestamp" {
                return match args.first().is_some_and(is_timestamp) {
                    true => Ok(()),
                    false => Err(not_constant()),
                };
            }
            let is_of_dates = OF_DATES.contains(&name);
            let is_of_times = OF_TIMES.contains(&name);
            let suits = |ty: &SqlType| match ty.kind {
                TypeKind::Date => is_of_dates,
                TypeKind::Time => is_of_times || name == "extract",
                kind => kind == TypeKind::DateTime,
            };
            if (is_of_dates || is_of_times) && !args.iter().any(|arg| is_column_of(arg, suits)) {
                return Err(not_constant());
            }
            if args.iter().any(is_timestamp) {
                return Err(not_constant());
            }
            args.iter().try_for_each(check_calls)
        }
        Expr::Cast { input, .. } => check_calls(input),
        Expr::Column { .. } | Expr::Literal { .. } => Ok(()),
        _ => Err(not_allowed()),
    }
}

fn is_column_of(expr: &Expr, suits: impl Fn(&SqlType) -> bool + Copy) -> bool {
    match expr {
        Expr::Column { ty, .. } => suits(ty),
        Expr::Cast { input, .. } => is_column_of(input, suits),
        _ => false,
    }
}

fn type_not_allowed(column: &str) -> Error {
    Error::new(
        1659,
        format!("Field '{column}' is of a not allowed type for this type of partitioning"),
    )
}

fn maxvalue_is_not_last() -> Error {
    Error::new(1481, "MAXVALUE can only be used in last partition definition")
}

fn not_increasing() -> Error {
    Error::new(
        1493,
        "VALUES LESS THAN value must be strictly increasing for each partition",
    )
}

fn duplicate_value() -> Error {
    Error::new(1495, "Multiple definition of same constant in list partitioning")
}
