//! LOAD DATA: an INSERT of the rows of a file. And the format of files.
//!
//! Source: manual 13.2.9, "LOAD DATA Statement", and MySQL 8.0.33's answers.

use std::collections::{BTreeSet, HashMap};

use schema::privilege::PrivilegeSet;
use syntax::ast::{self, Insert, InsertRows, LoadDuplicates, LoadField, Statement};
use types::{Charset, Error, Result, SqlType, TypeKind, Value, Warning, errno};

use super::collation::{charset_named, deprecated_charset};
use super::context::Context;
use super::insert::{is_written, written_columns};
use super::insert_target::InsertTarget;
use super::names::FIELD_LIST;
use super::read_and_written::WrittenTable;
use super::relation::Relation;
use super::scope::{Scope, ScopeNames};
use super::subqueries::Subqueries;
use super::write::assigned_column;
use super::{Binder, foreign_key, insert_target, write};
use crate::command::{Command, LoadData};
use crate::env::BindEnv;
use crate::errno::{ER_LOAD_FROM_FIXED_SIZE_ROWS_TO_VAR, WARN_NON_ASCII_SEPARATOR_NOT_IMPLEMENTED};
use crate::foreign_key::RowChanges;
use crate::logical::{
    AssignedSubqueries, Logical, LogicalInsert, LogicalInsertMode, LogicalInsertSource, LogicalStatement,
};
use crate::plan::{Assignment, FieldTarget, FileFormat, FileRows};

/// The longest text of a user variable that a file sets, in characters.
const VARIABLE_LENGTH: u32 = 16_383;

/// The types of the variables that a LOAD DATA reads fields into, by name.
pub fn variable_types(statement: &Statement, env: &BindEnv<'_>) -> HashMap<String, SqlType> {
    let Statement::LoadData(load) = statement else {
        return HashMap::new();
    };
    let names = load.fields.iter().filter_map(|field| match field {
        LoadField::Variable(name) => Some(name.to_lowercase()),
        LoadField::Column(_) => None,
    });
    let ty = SqlType::varchar(VARIABLE_LENGTH, env.collation_connection);
    names.map(|name| (name, ty)).collect()
}

pub(super) fn bind_load_data(binder: &Binder<'_>, load: &ast::LoadData) -> Result<Command> {
    let format = file_format(binder, &load.format)?;
    let insert = as_insert(load);
    let replace = load.duplicates == LoadDuplicates::Replace;
    let privileges = match replace {
        true => PrivilegeSet::INSERT | PrivilegeSet::DELETE,
        false => PrivilegeSet::INSERT,
    };
    let target = insert_target::bind_insert_target(binder, &insert, privileges)?;
    let charset = charset_of_load(binder, load)?;
    let fields = field_targets(load, &target)?;
    let has_variables = fields
        .iter()
        .any(|field| matches!(field, FieldTarget::Variable(_)));
    check_format(&format, &target, &fields, has_variables)?;
    binder.written.borrow_mut().push(WrittenTable {
        id: target.table.id,
        alias: target.table.name.clone(),
        view: None,
        only_by_name: false,
    });
    let (assignments, subqueries) = load_assignments(binder, load, &target.relation)?;
    let columns = given_columns(&fields, &assignments);
    let ignore = match load.duplicates {
        LoadDuplicates::Ignore => true,
        LoadDuplicates::Replace => false,
        // In MySQL, LOCAL cannot stop the client, so it goes on behind a row that fails.
        LoadDuplicates::Unspecified => load.local && local_ignores(binder)?,
    };
    insert_target::check_view_defaults(binder, &target, &columns, ignore)?;
    let table = target.table;
    binder
        .accesses
        .writes(&table, &table.name, PrivilegeSet::INSERT, &columns);
    let changes = RowChanges {
        inserts: true,
        deletes: replace,
        updates: BTreeSet::new(),
    };
    let insert = LogicalInsert {
        columns: written_columns(&target.relation, columns),
        given_rows: None,
        foreign_keys: foreign_key::keys_for(binder, &table, &changes)?,
        partitions: target.partitions,
        table,
        source: LogicalInsertSource::File(
            Box::new(FileRows {
                format,
                charset,
                fields,
                assignments,
                subqueries: Vec::new(),
            }),
            subqueries,
        ),
        mode: match replace {
            true => LogicalInsertMode::Replace,
            false => LogicalInsertMode::Insert,
        },
        check: target.check,
        ignore,
        sets_last_id: target.sets_last_id,
    };
    Ok(Command::LoadData(Box::new(LoadData {
        file: load.file.clone(),
        local: load.local,
        ignored_lines: load.ignored_lines,
        insert: binder.bound_statement(LogicalStatement::Insert(insert))?,
        schema_version: binder.env.schema.version,
    })))
}

fn local_ignores(binder: &Binder<'_>) -> Result<bool> {
    let ignores = (binder.env.system_variable)(None, "stemdb_load_local_ignore")?;
    Ok(!matches!(ignores, Value::Int(0) | Value::UInt(0)))
}

/// The INSERT of the same columns, which says what table a view leads to.
fn as_insert(load: &ast::LoadData) -> Insert {
    let fields = load.fields.iter().filter_map(|field| match field {
        LoadField::Column(name) => Some(name),
        LoadField::Variable(_) => None,
    });
    let assigned = load.assignments.iter().map(|assignment| &assignment.column);
    Insert {
        replace: load.duplicates == LoadDuplicates::Replace,
        delayed: false,
        ignore: load.duplicates == LoadDuplicates::Ignore,
        table: load.table.clone(),
        partitions: load.partitions.clone(),
        columns: match load.fields.is_empty() {
            true => Vec::new(),
            false => fields.chain(assigned).cloned().collect(),
        },
        has_columns: !load.fields.is_empty(),
        rows: InsertRows::Values(Vec::new()),
        alias: None,
        on_duplicate: Vec::new(),
        hints: None,
    }
}

/// The character set that is given, or that of the default database.
fn charset_of_load(binder: &Binder<'_>, load: &ast::LoadData) -> Result<Charset> {
    if let Some(name) = &load.charset {
        if let Some(warning) = deprecated_charset(name) {
            binder.warn_each_time(warning);
        }
        return charset_named(name);
    }
    match (binder.env.system_variable)(None, "character_set_database")? {
        Value::String(name) => charset_named(&name),
        _ => Ok(binder.env.collation_server.charset()),
    }
}

/// The format with MySQL's defaults.
///
/// # Errors
/// 1083 for an enclosing or escape character that is more than one byte.
pub(super) fn file_format(binder: &Binder<'_>, given: &ast::FileFormat) -> Result<FileFormat> {
    let one_byte = |bytes: &Option<Vec<u8>>| match bytes.as_deref() {
        None | Some([]) => Ok(None),
        Some([byte]) => Ok(Some(*byte)),
        Some(_) => Err(Error::new(
            errno::ER_WRONG_FIELD_TERMINATORS,
            "Field separator argument is not what is expected; check the manual",
        )),
    };
    let enclosed = one_byte(&given.fields_enclosed)?;
    let escaped = match (&given.fields_escaped, binder.env.sql_mode.no_backslash_escapes) {
        (None, true) => None,
        (None, false) => Some(b'\\'),
        (given, _) => one_byte(given)?,
    };
    let all = [
        &given.fields_terminated,
        &given.fields_enclosed,
        &given.fields_escaped,
        &given.lines_starting,
        &given.lines_terminated,
    ];
    if all.into_iter().flatten().any(|bytes| !bytes.is_ascii()) {
        binder.warn_each_time(Warning::warning(
            WARN_NON_ASCII_SEPARATOR_NOT_IMPLEMENTED,
            "Non-ASCII separator arguments are not fully supported",
        ));
    }
    Ok(FileFormat {
        fields_terminated: given.fields_terminated.clone().unwrap_or_else(|| b"\t".to_vec()),
        enclosed,
        optionally_enclosed: given.optionally_enclosed,
        escaped,
        lines_starting: given.lines_starting.clone().unwrap_or_default(),
        lines_terminated: given.lines_terminated.clone().unwrap_or_else(|| b"\n".to_vec()),
    })
}

/// SET, and the subqueries of its values, whose columns follow those of the table.
fn load_assignments(
    binder: &Binder<'_>,
    load: &ast::LoadData,
    relation: &Relation,
) -> Result<(Vec<Assignment>, Vec<AssignedSubqueries>)> {
    let scope = Scope::of(relation.clone());
    let names = ScopeNames {
        scope: &scope,
        clause: FIELD_LIST,
        outer: None,
        in_aggregate: false,
    };
    let mut assignments = Vec::with_capacity(load.assignments.len());
    let mut subqueries = Vec::new();
    for assignment in &load.assignments {
        let column = assigned_column(relation, &assignment.column)?;
        let of_value = Subqueries::default();
        let context = Context {
            subqueries: Some(&of_value),
            ..Context::of(&names)
        };
        if !is_written(relation, column) {
            continue;
        }
        let value = write::bind_assigned(binder, assignment.value.as_ref(), relation, column, &context)?;
        if !of_value.is_empty() {
            subqueries.push(AssignedSubqueries {
                assignment: assignments.len(),
                query: of_value.applied_to(Logical::OneRow).into(),
            });
        }
        assignments.push(Assignment { column, value });
    }
    let own = relation.table().map_or(0, |table| table.columns.len());
    let made = subqueries.iter().flat_map(|subqueries| &subqueries.query.columns);
    let places: HashMap<usize, usize> = made.map(|id| id.0).zip(own..).collect();
    for value in assignments
        .iter_mut()
        .filter_map(|assignment| assignment.value.as_mut())
    {
        value.map_columns(&|index| places.get(&index).copied().unwrap_or(index));
    }
    Ok((assignments, subqueries))
}

/// Where the fields of a line go.
fn field_targets(load: &ast::LoadData, target: &InsertTarget) -> Result<Vec<FieldTarget>> {
    let to_column = |column: usize| match is_written(&target.relation, column) {
        true => FieldTarget::Column(column),
        false => FieldTarget::Nowhere,
    };
    if load.fields.is_empty() {
        return Ok(target.columns.iter().copied().map(to_column).collect());
    }
    let field = |field: &LoadField| match field {
        LoadField::Column(name) => assigned_column(&target.relation, name).map(to_column),
        LoadField::Variable(name) => Ok(FieldTarget::Variable(name.to_lowercase())),
    };
    load.fields.iter().map(field).collect()
}

/// The columns that fields or assignments give values for, each once.
fn given_columns(fields: &[FieldTarget], assignments: &[Assignment]) -> Vec<usize> {
    let of_fields = fields.iter().filter_map(|field| match field {
        FieldTarget::Column(column) => Some(*column),
        FieldTarget::Variable(_) | FieldTarget::Nowhere => None,
    });
    let assigned = assignments.iter().map(|assignment| assignment.column);
    let all: BTreeSet<usize> = of_fields.chain(assigned).collect();
    all.into_iter().collect()
}

/// What rows of a fixed length cannot hold.
///
/// # Errors
/// 1084 for BLOBs without any terminator, 1409 for variables.
fn check_format(
    format: &FileFormat,
    target: &InsertTarget,
    fields: &[FieldTarget],
    has_variables: bool,
) -> Result<()> {
    if !format.has_fixed_rows() {
        return Ok(());
    }
    let is_blob = |field: &FieldTarget| match field {
        FieldTarget::Column(column) => matches!(
            target.table.columns[*column].ty.kind,
            TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText | TypeKind::Json
        ),
        FieldTarget::Variable(_) | FieldTarget::Nowhere => false,
    };
    if format.lines_terminated.is_empty() && fields.iter().any(is_blob) {
        return Err(Error::new(
            errno::ER_BLOBS_AND_NO_TERMINATED,
            "You can't use fixed rowlength with BLOBs; please use 'fields terminated by'",
        ));
    }
    if has_variables {
        return Err(Error::new(
            ER_LOAD_FROM_FIXED_SIZE_ROWS_TO_VAR,
            "Can't load value from file with fixed size rows to variable",
        ));
    }
    Ok(())
}
