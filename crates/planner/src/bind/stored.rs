//! Expressions of a table's definition: converted to text when they are defined, and bound when they are
//! used.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use functions::expr::Label;
use functions::{Expr, TimeZone, Warnings};
use schema::bound::add_columns;
use schema::expression::{Check, StoredExpression};
use schema::model::{Column, Default, Schema, Table};
use schema::temporary_tables::NO_TEMPORARY_TABLES;
use syntax::ast::{self, ColumnName};
use syntax::print;
use types::{Charset, Error, Result, SqlMode, TypeKind, errno};

use super::column_default::default_of_column;
use super::context::Context;
use super::names::Names;
use super::partition_error::{not_allowed, not_constant, unknown_partition_column};
use super::{Binder, multi_valued};
use crate::env::{BindEnv, PlannedFor};

/// Functions that neither a generated column nor a CHECK constraint can call: another call has another
/// result.
const CHANGING: &[&str] = &[
    "now",
    "curdate",
    "curtime",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "unix_timestamp",
    "rand",
    "uuid",
    "uuid_short",
    "connection_id",
    "current_role",
    "database",
    "roles_graphml",
];
/// Functions that no stored expression can call.
const REFUSED: &[&str] = &[
    "user",
    "current_user",
    "version",
    "icu_version",
    "last_insert_id",
    "row_count",
    "found_rows",
    "sleep",
    "benchmark",
    "get_lock",
    "release_lock",
    "release_all_locks",
    "is_free_lock",
    "is_used_lock",
    "load_file",
    "updatexml",
    "values",
];
/// Functions that no expression of rows can call, except a DEFAULT and a CHECK.
const OF_STATEMENTS: &[&str] = &["statement_digest", "statement_digest_text"];

/// What an expression is for, which decides what it can refer to and how errors name it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner<'a> {
    /// The column at an offset has it as its DEFAULT.
    Default(usize),
    /// The column at an offset is generated.
    Generated(usize),
    /// An index on the expression.
    Index(&'a str),
    /// What partitions the table.
    Partition,
    /// A CHECK by its name. One in a column's definition can refer to that column only.
    Check { name: &'a str, column: Option<usize> },
}

pub(super) fn calls_any(expr: &Expr, names: &[&str]) -> bool {
    let mut calls = false;
    expr.walk(&mut |expr| {
        if let Expr::Call { function, .. } = expr {
            calls |= names.contains(&function.name());
        }
    });
    calls
}

/// The columns that a CHECK constraint refers to. `column`: the one whose definition it is a part of, if it
/// is.
///
/// # Errors
/// As [`expressions`](super::table_expressions::expressions); 3813 if it refers to another column than
/// `column`.
pub fn columns_of_check(table: &Table, check: &Check, column: Option<usize>) -> Result<Vec<usize>> {
    let name = &check.name;
    let (condition, mut columns) =
        bind_with_defaults(table, &check.expression, Owner::Check { name, column })?;
    add_columns(&condition, &mut columns);
    match column.is_some() && columns.is_empty() {
        true => Err(refers_to_other(name)),
        false => Ok(columns),
    }
}

/// Checks the constraint that a statement defines: as [`columns_of_check`] does, and the constants that it compares
/// with dates and times.
///
/// # Errors
/// As [`columns_of_check`]; 1292 for a constant that is no date or time.
pub fn check_new_constraint(table: &Table, check: &Check, column: Option<usize>) -> Result<()> {
    columns_of_check(table, check, column)?;
    let name = &check.name;
    let (_, _, incorrect) = bind_with_notes(table, &check.expression, Owner::Check { name, column })?;
    match incorrect {
        Some(message) => Err(Error::new(errno::ER_TRUNCATED_WRONG_VALUE, message)),
        None => Ok(()),
    }
}

fn bind_one(table: &Table, stored: &StoredExpression, owner: Owner<'_>) -> Result<Expr> {
    bind_with_defaults(table, stored, owner).map(|(bound, _)| bound)
}

/// An expression, and the columns whose default value it has.
pub(super) fn bind_with_defaults(
    table: &Table,
    stored: &StoredExpression,
    owner: Owner<'_>,
) -> Result<(Expr, Vec<usize>)> {
    bind_with_notes(table, stored, owner).map(|(bound, defaults_of, _)| (bound, defaults_of))
}

/// The same, and what is wrong with a constant that is compared with a date or time.
fn bind_with_notes(
    table: &Table,
    stored: &StoredExpression,
    owner: Owner<'_>,
) -> Result<(Expr, Vec<usize>, Option<String>)> {
    let parsed = syntax::parse_expression(&stored.text, SqlMode::default())?;
    let names = TableNames {
        table,
        owner,
        defaults_of: RefCell::default(),
    };
    if matches!(parsed, ast::Expr::Row(_)) {
        return Err(names.refers_to_row());
    }
    let (user_variables, warnings) = (HashMap::new(), Warnings::default());
    let env = BindEnv {
        schema: Arc::new(Schema::default()),
        temporary: &NO_TEMPORARY_TABLES,
        database: Some(&table.database),
        params: &[],
        planned_for: PlannedFor::Text,
        params_known: true,
        places: None,
        literal_params: false,
        sql_mode: stored.sql_mode,
        charset_client: Charset::Utf8mb4,
        collation_connection: stored.collation,
        collation_server: stored.collation,
        div_precision_increment: 4,
        default_week_format: 0,
        group_concat_max_len: 1024,
        time_zone: TimeZone::UTC,
        foreign_key_checks: true,
        system_variable: &|_, _| Err(names.refers_to_variable()),
        user_variables: &user_variables,
        check_table: &|_, _, _| Ok(()),
        denied_column: &|_, _, _| None,
        thread: 0,
        check_accesses: &|_| Ok(()),
        denied: &|_| names.calls_refused(None),
        warnings: &warnings,
    };
    let refused = |function: Option<&str>| names.calls_refused(function);
    let mut binder = Binder::new(&env);
    binder.in_definition = Some(&refused);
    let context = Context::of(&names);
    let bound = match (multi_valued::parts_of(&parsed), names.index()) {
        (Some((document, element)), Some(index)) => binder
            .scalar(document, &context)
            .and_then(|document| multi_valued::array(&binder, document, element, index)),
        _ => binder.scalar(&parsed, &context),
    };
    let bound = bound?;
    names.check_calls(&bound)?;
    let mut defaults_of = names.defaults_of.take();
    defaults_of.sort_unstable();
    defaults_of.dedup();
    let notes = &binder.types.notes;
    let no_dates = notes.no_dates.take().into_iter().map(|no_date| no_date.incorrect);
    let incorrect = notes.incorrect.take().into_iter().chain(no_dates).next();
    Ok((bound, defaults_of, incorrect))
}

/// The expression of PARTITION BY.
///
/// # Errors
/// 1054, 1486, 1564.
pub fn bind_partition_expression(table: &Table, stored: &StoredExpression) -> Result<Expr> {
    bind_one(table, stored, Owner::Partition)
}

/// A literal among the values of a partition, as it is stored.
///
/// # Errors
/// Those of a text that is not a literal.
pub fn bind_partition_value(table: &Table, text: &str) -> Result<Expr> {
    let stored = StoredExpression {
        text: text.to_owned(),
        sql_mode: SqlMode::default(),
        collation: types::Collation::DEFAULT,
    };
    bind_one(table, &stored, Owner::Partition)
}

/// The expression of a new index, by the index's name.
///
/// # Errors
/// As [`expressions`](super::table_expressions::expressions).
pub fn bind_index_expression(table: &Table, stored: &StoredExpression, index: &str) -> Result<Expr> {
    bind_one(table, stored, Owner::Index(index))
}

/// An expression as a definition stores it.
pub(super) fn stored_expression(binder: &Binder<'_>, expr: &ast::Expr) -> StoredExpression {
    let style = print::Style {
        names: &Unqualified,
        charset: binder.env.charset_client.name(),
        introducers: true,
        week_format: binder.env.default_week_format,
    };
    StoredExpression {
        text: style.expression(expr),
        sql_mode: binder.env.sql_mode,
        collation: binder.env.collation_connection,
    }
}

/// Columns are stored without the table's name, which can change.
struct Unqualified;

impl print::Names for Unqualified {
    fn column<'a>(&'a self, name: &'a ColumnName) -> Cow<'a, ColumnName> {
        Cow::Owned(ColumnName {
            database: None,
            table: None,
            column: name.column.clone(),
        })
    }
}

/// The columns of the table, by their offsets.
struct TableNames<'a> {
    table: &'a Table,
    owner: Owner<'a>,
    /// The columns of `DEFAULT(column)`.
    defaults_of: RefCell<Vec<usize>>,
}

impl Names for TableNames<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        let offset = self.offset_of(&name.column)?;
        let column = &self.table.columns[offset];
        self.check_reference(offset, column)?;
        Ok(Expr::Column {
            index: offset,
            ty: column.ty.as_operand(),
            nullable: column.nullable,
            label: Label::name_only(&column.name),
        })
    }

    fn default_in_definition(&self, binder: &Binder<'_>, name: &ColumnName) -> Option<Result<Expr>> {
        Some(self.default_of(binder, name))
    }

    fn values(&self, _: &ColumnName) -> Result<Expr> {
        Err(self.calls_refused(Some("values")))
    }
}

impl TableNames<'_> {
    fn default_of(&self, binder: &Binder<'_>, name: &ColumnName) -> Result<Expr> {
        if matches!(self.owner, Owner::Index(_) | Owner::Partition) || self.index().is_some() {
            return Err(self.calls_refused(Some("default")));
        }
        let offset = self.offset_of(&name.column)?;
        let column = &self.table.columns[offset];
        if column.auto_increment {
            self.check_reference(offset, column)?;
        }
        if column.ty.kind == TypeKind::Timestamp && matches!(column.default, Default::Literal(_)) {
            return Err(Error::not_supported(
                "DEFAULT(column) of a TIMESTAMP in the definition of a table",
                "make the column a DATETIME, or write the value of the default",
            ));
        }
        let value = default_of_column(binder, column)?;
        self.check_reference(offset, column)?;
        self.defaults_of.borrow_mut().push(offset);
        Ok(value)
    }

    fn offset_of(&self, column: &str) -> Result<usize> {
        self.table
            .column_offset(column)
            .ok_or_else(|| self.unknown(column))
    }

    fn column_name(&self, offset: usize) -> &str {
        &self.table.columns[offset].name
    }

    fn check_reference(&self, offset: usize, column: &Column) -> Result<()> {
        let generated = column.generated.is_some();
        match self.owner {
            Owner::Index(index) if column.auto_increment => Err(Error::new(
                3754,
                format!("Functional index '{index}' cannot refer to an auto-increment column."),
            )),
            Owner::Generated(_) if column.auto_increment => Err(Error::new(
                3109,
                format!(
                    "Generated column '{}' cannot refer to auto-increment column.",
                    self.owner_name()
                ),
            )),
            Owner::Generated(at) if generated && offset >= at => Err(Error::new(
                3107,
                "Generated column can refer only to generated columns defined prior to it.",
            )),
            Owner::Default(_) if column.auto_increment => Err(Error::new(
                3768,
                format!(
                    "Default value expression of column '{}' cannot refer to an auto-increment column.",
                    self.owner_name()
                ),
            )),
            Owner::Default(at)
                if offset >= at && (generated || matches!(column.default, Default::Expression(_))) =>
            {
                Err(Error::new(
                    3767,
                    format!(
                        "Default value expression of column '{}' cannot refer to a column defined after it if that column \
                         is a generated column or has an expression as default value.",
                        self.owner_name()
                    ),
                ))
            }
            Owner::Check {
                column: Some(only),
                name,
            } if offset != only => Err(refers_to_other(name)),
            Owner::Check { name, .. } if column.auto_increment => Err(Error::new(
                3818,
                format!("Check constraint '{name}' cannot refer to an auto-increment column."),
            )),
            _ => Ok(()),
        }
    }

    /// The name of the index, if the expression is an index's.
    fn index(&self) -> Option<&str> {
        match self.owner {
            Owner::Index(name) => Some(name),
            Owner::Generated(at) if self.table.columns[at].hidden => {
                let mut indexes = self.table.indexes.iter();
                let index = indexes.find(|index| index.parts.iter().any(|part| part.column == at));
                Some(index.map_or("", |index| &index.name))
            }
            _ => None,
        }
    }

    fn owner_name(&self) -> &str {
        match self.owner {
            Owner::Default(at) | Owner::Generated(at) => self.column_name(at),
            Owner::Index(name) | Owner::Check { name, .. } => name,
            Owner::Partition => "",
        }
    }

    fn unknown(&self, column: &str) -> Error {
        let clause = match self.owner {
            Owner::Check {
                column: Some(_),
                name,
            } => return refers_to_other(name),
            // A table that is being created.
            Owner::Check { name, .. } if self.table.id == 0 => {
                return Error::new(
                    3820,
                    format!("Check constraint '{name}' refers to non-existing column '{column}'."),
                );
            }
            Owner::Partition => return unknown_partition_column(column),
            Owner::Default(_) => "default value expression".to_owned(),
            Owner::Generated(_) => "generated column function".to_owned(),
            Owner::Index(_) => "functional index".to_owned(),
            Owner::Check { name, .. } => format!("check constraint {name} expression"),
        };
        Error::new(
            errno::ER_BAD_FIELD_ERROR,
            format!("Unknown column '{column}' in '{clause}'"),
        )
    }

    fn refers_to_row(&self) -> Error {
        let name = self.owner_name();
        match self.owner {
            Owner::Partition => not_allowed(),
            Owner::Default(_) => Error::new(
                3771,
                format!("Default value expression of column '{name}' cannot refer to a row value."),
            ),
            Owner::Index(_) => Error::new(
                3800,
                format!("Expression of functional index '{name}' cannot refer to a row value."),
            ),
            Owner::Generated(_) => Error::new(
                3764,
                format!("Expression of generated column '{name}' cannot refer to a row value."),
            ),
            Owner::Check { .. } => Error::new(
                3817,
                format!("Check constraint '{name}' cannot refer to a row value."),
            ),
        }
    }

    /// MySQL has one text for defaults and generated columns.
    fn refers_to_variable(&self) -> Error {
        let name = self.owner_name();
        match self.owner {
            Owner::Partition => random_in_partition(),
            Owner::Default(_) | Owner::Generated(_) | Owner::Index(_) => Error::new(
                3772,
                format!("Default value expression of column '{name}' cannot refer user or system variables."),
            ),
            Owner::Check { .. } => Error::new(
                3816,
                format!(
                    "An expression of a check constraint '{name}' cannot refer to a user or system variable."
                ),
            ),
        }
    }

    /// `function`: its name, if it has one.
    fn calls_refused(&self, function: Option<&str>) -> Error {
        let owner = self.owner_name();
        let (named, unnamed, text) = match self.owner {
            Owner::Partition
                if function.is_some_and(|name| CHANGING.contains(&name) || name == "sysdate") =>
            {
                return random_in_partition();
            }
            Owner::Partition => return not_allowed(),
            Owner::Default(_) => (
                3770,
                3769,
                format!("Default value expression of column '{owner}' contains a disallowed function"),
            ),
            Owner::Index(_) => {
                return Error::new(
                    3758,
                    format!("Expression of functional index '{owner}' contains a disallowed function."),
                );
            }
            Owner::Generated(_) => (
                3763,
                3102,
                format!("Expression of generated column '{owner}' contains a disallowed function"),
            ),
            Owner::Check { .. } => (
                3814,
                3815,
                format!("An expression of a check constraint '{owner}' contains disallowed function"),
            ),
        };
        match function {
            Some(function) => Error::new(named, format!("{text}: {function}.")),
            None => Error::new(unnamed, format!("{text}.")),
        }
    }

    fn check_calls(&self, bound: &Expr) -> Result<()> {
        let mut refused = None;
        bound.walk(&mut |expr| {
            let Expr::Call { function, .. } = expr else {
                return;
            };
            let name = function.name();
            if matches!(self.owner, Owner::Partition) && name == "unix_timestamp" {
                return;
            }
            let of_rows = matches!(
                self.owner,
                Owner::Generated(_) | Owner::Index(_) | Owner::Partition
            );
            let changes = CHANGING.contains(&name) || (name == "sysdate" && of_rows);
            let error = if name.starts_with('@') {
                self.refers_to_variable()
            } else if REFUSED.contains(&name)
                || (of_rows && OF_STATEMENTS.contains(&name))
                || (changes && !matches!(self.owner, Owner::Default(_)))
            {
                let shown = match name {
                    "version" | "icu_version" => format!("{name}()"),
                    name => name.to_owned(),
                };
                self.calls_refused(Some(&shown))
            } else {
                return;
            };
            refused.get_or_insert(error);
        });
        refused.map_or(Ok(()), Err)
    }
}

/// Error 3813.
fn refers_to_other(check: &str) -> Error {
    Error::new(
        3813,
        format!("Column check constraint '{check}' references other column."),
    )
}

/// MySQL's parser reports parts that are not the same for all rows and sessions.
fn random_in_partition() -> Error {
    let Error { message, .. } = not_constant();
    Error::new(errno::ER_PARSE_ERROR, message)
}
