//! PARTITION BY as it is stored: expressions as text, values as literals.
//!
//! Not here: whether all of it fits the table ([`super::partition_function`]).

use functions::expr::Expr;
use functions::{EvalContext, eval_value};
use schema::partition::{
    Bound, MAX_PARTITIONS, Method, Partition, PartitionBy, PartitionKey, PartitionOptions, Partitioning,
    Subpartition, generated_subpartition_name,
};
use syntax::ast::{self, ColumnName, PartitionDefinition, PartitionValues};
use types::{Error, Result, Value, quoted};

use super::comment::{self, Commented};
use super::context::Context;
use super::engine::{Engine, engine_named};
use super::names::{FIELD_LIST, Names, unknown_column, unknown_without_tables};
use super::partition_error::{PARTITION_FUNCTION, too_many};
use super::partition_function::check_value;
use super::table_options::{OptionsOf, check_tablespace};
use super::{Binder, stored};

/// # Errors
/// MySQL's for a list of partitions that is not as its method needs it.
pub(super) fn bind_partitioning(binder: &Binder<'_>, written: &ast::Partitioning) -> Result<Partitioning> {
    let by = partition_by(binder, &written.by)?;
    let sub = match &written.subpartitioning {
        Some(sub) => Some(partition_by(binder, &sub.by)?),
        None => None,
    };
    let lists_subpartitions = written.partitions.iter().any(|p| !p.subpartitions.is_empty());
    if !by.method.has_values() && sub.is_some() || lists_subpartitions && sub.is_none() {
        return Err(Error::new(
            1500,
            "It is only possible to mix RANGE/LIST partitioning with HASH/KEY partitioning for \
             subpartitioning",
        ));
    }
    for count in [
        written.count,
        written.subpartitioning.as_ref().and_then(|sub| sub.count),
    ] {
        match count {
            Some(0) => return Err(no_partitions()),
            Some(count) if count > MAX_PARTITIONS as u64 => return Err(too_many()),
            _ => {}
        }
    }
    if by.method.has_values() && written.partitions.is_empty() {
        return Err(must_be_defined(by.method));
    }
    let listed = !written.partitions.is_empty();
    let mut partitioning = Partitioning {
        partitions: match listed {
            true => Vec::new(),
            false => (0..written.count.unwrap_or(1)).map(numbered).collect(),
        },
        by,
        sub,
        listed,
        count_given: written.count.is_some(),
        subpartitions_listed: lists_subpartitions,
    };
    let width = match &written.subpartitioning {
        Some(sub) => sub.count.unwrap_or(1) as usize,
        None => 0,
    };
    let listed = partitions(binder, &written.partitions, &partitioning, width)?;
    partitioning.partitions.extend(listed);
    if partitioning.leaves().count() > MAX_PARTITIONS {
        return Err(too_many());
    }
    Ok(partitioning)
}

fn partition_by(binder: &Binder<'_>, written: &ast::PartitionBy) -> Result<PartitionBy> {
    let by = |method, linear, key| PartitionBy { method, linear, key };
    let stored = |expr| PartitionKey::Expression(stored::stored_expression(binder, expr));
    Ok(match written {
        ast::PartitionBy::Range(expr) => by(Method::Range, false, stored(expr)),
        ast::PartitionBy::List(expr) => by(Method::List, false, stored(expr)),
        ast::PartitionBy::Hash { linear, expr } => by(Method::Hash, *linear, stored(expr)),
        ast::PartitionBy::RangeColumns(columns) => {
            by(Method::Range, false, PartitionKey::Columns(columns.clone()))
        }
        ast::PartitionBy::ListColumns(columns) => {
            by(Method::List, false, PartitionKey::Columns(columns.clone()))
        }
        ast::PartitionBy::Key {
            linear,
            algorithm,
            columns,
        } => {
            if *algorithm == Some(1) {
                return Err(Error::not_supported(
                    "KEY ALGORITHM = 1",
                    "leave ALGORITHM out: rows are distributed as by ALGORITHM = 2",
                ));
            }
            by(Method::Key, *linear, PartitionKey::Columns(columns.clone()))
        }
    })
}

/// Partitions as written, for a table that is partitioned so. `width`: how many subpartitions one without a
/// list of them has.
///
/// # Errors
/// 1480 for VALUES of the wrong kind, 1566 and 1697 for values that cannot be.
pub(super) fn partitions(
    binder: &Binder<'_>,
    written: &[PartitionDefinition],
    of: &Partitioning,
    width: usize,
) -> Result<Vec<Partition>> {
    written
        .iter()
        .map(|definition| {
            let name = &definition.name;
            let options = partition_options(binder, &definition.options, name)?;
            let subpartitions = match definition.subpartitions.is_empty() {
                true => (0..width)
                    .map(|number| Subpartition {
                        name: generated_subpartition_name(name, number),
                        options: options.clone(),
                        id: 0,
                    })
                    .collect(),
                false => definition
                    .subpartitions
                    .iter()
                    .map(|sub| {
                        Ok(Subpartition {
                            name: sub.name.clone(),
                            options: inherited(partition_options(binder, &sub.options, &sub.name)?, &options),
                            id: 0,
                        })
                    })
                    .collect::<Result<_>>()?,
            };
            Ok(Partition {
                values: partition_values(binder, definition, &of.by)?,
                name: name.clone(),
                options,
                id: 0,
                subpartitions,
            })
        })
        .collect()
}

/// A subpartition has the options of its partition that it does not give itself.
fn inherited(own: PartitionOptions, partition: &PartitionOptions) -> PartitionOptions {
    let of = partition.clone();
    PartitionOptions {
        comment: match own.comment.is_empty() {
            true => of.comment,
            false => own.comment,
        },
        max_rows: own.max_rows.or(of.max_rows),
        min_rows: own.min_rows.or(of.min_rows),
        nodegroup: own.nodegroup.or(of.nodegroup),
        tablespace: own.tablespace.or(of.tablespace),
    }
}

/// `name`: of the partition or subpartition.
fn partition_options(
    binder: &Binder<'_>,
    written: &ast::PartitionOptions,
    name: &str,
) -> Result<PartitionOptions> {
    if engine_named(binder, written.engine.as_deref())? == Engine::Other {
        return Err(Error::new(
            1497,
            "The mix of handlers in the partitions is not allowed in this version of MySQL",
        ));
    }
    if let Some(tablespace) = &written.tablespace {
        let of = OptionsOf {
            partitioned: true,
            ..OptionsOf::default()
        };
        check_tablespace(tablespace, of)?;
    }
    Ok(PartitionOptions {
        comment: comment::limited(
            binder,
            written.comment.as_deref().unwrap_or_default(),
            Commented::Partition(name),
        )?,
        max_rows: written.max_rows,
        min_rows: written.min_rows,
        nodegroup: written.nodegroup,
        tablespace: written.tablespace.clone(),
    })
}

fn partition_values(
    binder: &Binder<'_>,
    written: &PartitionDefinition,
    by: &PartitionBy,
) -> Result<Vec<Vec<Bound>>> {
    let is_number = by.columns().is_none();
    let bound = |bound: &ast::PartitionBound| match bound {
        ast::PartitionBound::Maxvalue => Ok(Bound::Maxvalue),
        ast::PartitionBound::Value(expr) => partition_value(binder, expr, is_number, &written.name),
    };
    match (&written.values, by.method) {
        (PartitionValues::LessThanMaxvalue, Method::Range) => Ok(vec![vec![Bound::Maxvalue]]),
        (PartitionValues::LessThan(bounds), Method::Range) if is_number && bounds.len() > 1 => {
            Err(Error::new(
                1657,
                "Cannot have more than one value for this type of RANGE partitioning",
            ))
        }
        (PartitionValues::LessThan(bounds), Method::Range) => {
            check_width(bounds.len(), by)?;
            let bounds = bounds.iter().map(bound).collect::<Result<Vec<Bound>>>()?;
            if bounds.contains(&Bound::Null) {
                return Err(Error::new(
                    1566,
                    "Not allowed to use NULL value in VALUES LESS THAN",
                ));
            }
            Ok(vec![bounds])
        }
        (PartitionValues::In { values, .. }, Method::List) => {
            values.iter().try_for_each(|value| check_width(value.len(), by))?;
            let tuple = |values: &Vec<ast::PartitionBound>| values.iter().map(bound).collect();
            let mut values = values.iter().map(tuple).collect::<Result<Vec<Vec<Bound>>>>()?;
            if is_number {
                // NULL is shown first.
                values.sort_by_key(|value| !value.contains(&Bound::Null));
            }
            Ok(values)
        }
        (PartitionValues::None, Method::Hash | Method::Key) => Ok(Vec::new()),
        // The parser reports this for PARTITION BY.
        (PartitionValues::None, method) => Err(Error::new(
            1479,
            format!(
                "Syntax error: {} PARTITIONING requires definition of VALUES {} for each partition",
                method.name(),
                if method == Method::Range {
                    "LESS THAN"
                } else {
                    "IN"
                }
            ),
        )),
        (PartitionValues::In { .. }, _) => Err(wrong_values("LIST", "IN")),
        (PartitionValues::LessThan(_) | PartitionValues::LessThanMaxvalue, _) => {
            Err(wrong_values("RANGE", "LESS THAN"))
        }
    }
}

/// A value must have as many parts as the partitioning has columns.
///
/// # Errors
/// 1653
fn check_width(parts: usize, by: &PartitionBy) -> Result<()> {
    match parts == by.columns().map_or(1, <[String]>::len) {
        true => Ok(()),
        false => Err(Error::new(
            1653,
            "Inconsistency in usage of column lists for partitioning",
        )),
    }
}

/// A constant of a partition. `is_number`: the partitioning is by an integer expression.
fn partition_value(
    binder: &Binder<'_>,
    written: &ast::Expr,
    is_number: bool,
    partition: &str,
) -> Result<Bound> {
    let names = NoColumns {
        clause: if is_number { PARTITION_FUNCTION } else { FIELD_LIST },
    };
    let bound = binder.scalar(written, &Context::of(&names))?;
    check_value(written, &bound)?;
    let eval = EvalContext {
        sql_mode: binder.env.sql_mode,
        ..EvalContext::default()
    };
    let value = eval_value(&bound, &eval)?;
    if value.is_null() {
        return Ok(Bound::Null);
    }
    if is_number && !matches!(value, Value::Int(_) | Value::UInt(_)) {
        let message = format!("VALUES value for partition '{partition}' must have type INT");
        return Err(Error::new(1697, message));
    }
    Ok(Bound::Literal(literal_text(&bound, &value)))
}

/// A constant, as SHOW CREATE TABLE shows it and as it is parsed again.
fn literal_text(bound: &Expr, value: &Value) -> String {
    let ty = bound.ty();
    match value {
        Value::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("_binary 0x{digits}")
        }
        value if ty.is_string() || ty.is_datetime() || ty.kind == types::TypeKind::Time => {
            quoted(&value.display_text(&ty))
        }
        value => value.display_text(&ty),
    }
}

/// The values of partitions name no columns.
struct NoColumns {
    /// What the error calls their place.
    clause: &'static str,
}

impl NoColumns {
    fn unknown(&self, name: &ColumnName) -> Error {
        match self.clause {
            FIELD_LIST => unknown_without_tables(name, FIELD_LIST),
            clause => unknown_column(name, clause),
        }
    }
}

impl Names for NoColumns {
    fn column(&self, name: &ColumnName) -> Result<functions::Expr> {
        Err(self.unknown(name))
    }

    fn values(&self, name: &ColumnName) -> Result<functions::Expr> {
        Err(self.unknown(name))
    }
}

/// A partition of HASH or KEY that is not listed.
fn numbered(number: u64) -> Partition {
    Partition {
        name: format!("p{number}"),
        values: Vec::new(),
        options: PartitionOptions::default(),
        id: 0,
        subpartitions: Vec::new(),
    }
}

fn wrong_values(method: &str, operator: &str) -> Error {
    Error::new(
        1480,
        format!("Only {method} PARTITIONING can use VALUES {operator} in partition definition"),
    )
}

/// Error 1492.
pub fn must_be_defined(method: Method) -> Error {
    Error::new(
        1492,
        format!("For {} partitions each partition must be defined", method.name()),
    )
}

/// Error 1504.
pub fn no_partitions() -> Error {
    Error::new(1504, "Number of partitions = 0 is not an allowed value")
}
