//! Definitions of temporary tables. They are the session's own, so nothing waits for a lock, no schema version changes,
//! and no transaction is committed by a statement that says TEMPORARY (manual 13.3.3).

use std::sync::Arc;

use runner::TemporaryChanges;
use schema::default_value::implicit;
use schema::definition::{AlterChange, AlterWay, Ddl, TableName};
use schema::model::{Column, Default, INFORMATION_SCHEMA, Table};
use schema::privilege::{Privilege, PrivilegeSet};
use types::{Error, Result, TypeKind, Warning, errno};

use super::definition_context::context;
use super::inner_plan::write;
use super::lock_tables::unlocked;
use crate::compile;
use crate::compiled::Compiled;
use crate::errors;
use crate::instance_lock;
use crate::lock;
use crate::reply::Done;
use crate::session::Session;
use crate::temporary_tables::{self, with_partitions};
use crate::transaction_rules;

/// The name of a table while its rows are copied. No statement would use it by mistake.
const COPIED: &str = "#sql-altered";

/// CREATE TEMPORARY TABLE and DROP TEMPORARY TABLE.
pub fn run(session: &mut Session, ddl: &Ddl) -> Result<Done> {
    match ddl {
        Ddl::CreateTable { name, .. } => may_create(session, name)?,
        Ddl::CreateTableLike { name, source, .. } => {
            may_create(session, name)?;
            session.check_table(source, PrivilegeSet::SELECT)?;
        }
        _ => {}
    }
    match ddl {
        Ddl::DropTable { names, if_exists } => drop_only(session, names, *if_exists)?,
        _ => drop(create(session, ddl)?),
    }
    Ok(Done::default())
}

fn may_create(session: &Session, name: &TableName) -> Result<()> {
    session
        .client
        .check_on_database(&name.database, Privilege::CreateTemporaryTables)
}

/// A definition without the word TEMPORARY that may name temporary tables. `None`: it names none.
pub fn run_named(session: &mut Session, ddl: &Ddl) -> Option<Result<Done>> {
    let find = |name: &TableName| session.temporary.find(&name.database, &name.name).cloned();
    match ddl {
        Ddl::TruncateTable { name } => {
            let table = find(name)?;
            Some(truncate(session, &table).map(|()| Done::default()))
        }
        Ddl::AlterTable { name, changes, way } => {
            let table = find(name)?;
            if changes
                .iter()
                .any(|change| matches!(change, AlterChange::Repartition(_)))
            {
                return Some(Err(with_partitions()));
            }
            Some(alter(session, &table, changes, *way))
        }
        Ddl::AlterPartitions { name, .. } | Ddl::ExchangePartition { name, .. } => {
            find(name)?;
            Some(Err(with_partitions()))
        }
        Ddl::CreateTableLike { name, source, .. } => {
            let source = find(source)?;
            if let Err(error) = session.client.check_table(name, Privilege::Create.into()) {
                return Some(Err(error));
            }
            Some(create_permanent_like(session, ddl, &source).map(|()| Done::default()))
        }
        Ddl::DropTable { names, if_exists } => {
            let (temporary, permanent): (Vec<_>, Vec<_>) =
                names.iter().cloned().partition(|name| find(name).is_some());
            if temporary.is_empty() {
                return None;
            }
            let mut checked = permanent.iter();
            if let Err(error) =
                checked.try_for_each(|name| session.client.check_table(name, Privilege::Drop.into()))
            {
                return Some(Err(error));
            }
            let dropped = drop_both(session, &temporary, permanent, *if_exists);
            Some(dropped.map(|()| Done::default()))
        }
        _ => None,
    }
}

/// Warns about changes of temporary tables that a rollback does not undo.
pub fn warn_of_rollback(session: &mut Session, changes: TemporaryChanges) {
    const ER_WARN_CREATED: u16 = 1751;
    const ER_WARN_DROPPED: u16 = 1752;
    if changes.created {
        let message = "The creation of some temporary tables could not be rolled back.";
        note(session, vec![Warning::warning(ER_WARN_CREATED, message)]);
    }
    if changes.dropped {
        let message = "Some temporary tables were dropped, but these operations could not be rolled back.";
        note(session, vec![Warning::warning(ER_WARN_DROPPED, message)]);
    }
}

fn note(session: &mut Session, warnings: Vec<Warning>) {
    let count = warnings.len() as u64;
    let limits = session.settings.warnings;
    session.diagnostics.add_limited((warnings, count), limits);
}

/// Creates the table. `None`: a table of this name exists, which IF NOT EXISTS allows; a note says so.
pub fn create(session: &mut Session, ddl: &Ddl) -> Result<Option<Arc<Table>>> {
    let (name, if_not_exists) = match ddl {
        Ddl::CreateTable {
            name, if_not_exists, ..
        }
        | Ddl::CreateTableLike {
            name, if_not_exists, ..
        } => (name, *if_not_exists),
        _ => return Err(Error::internal("the statement is not CREATE TABLE")),
    };
    let context = context(session);
    let schema = session.shared.engine.cluster.schema();
    let source = match ddl {
        Ddl::CreateTableLike { source, .. } => Some(source),
        _ => None,
    };
    ddl::check_temporary_name(&schema, name, &context)?;
    // The source of LIKE is opened first.
    let source = match source {
        Some(source) => Some(match session.temporary.find(&source.database, &source.name) {
            Some(source) => Table::clone(source),
            None => Table::clone(schema.require_base_table(&source.database, &source.name)?),
        }),
        None => None,
    };
    let exists = session.temporary.find(&name.database, &name.name).is_some();
    if exists && if_not_exists {
        let message = table_exists(name).message;
        note(
            session,
            vec![Warning::note(errno::ER_TABLE_EXISTS_ERROR, message)],
        );
        return Ok(None);
    }
    let (table, warnings) = match (ddl, source) {
        (_, Some(source)) => (ddl::temporary_like(name, &source, &context)?, Vec::new()),
        (Ddl::CreateTable { definition, .. }, _) => ddl::new_temporary(name, definition, &context)?,
        _ => return Err(Error::internal("CREATE TABLE without a definition")),
    };
    if exists {
        return Err(table_exists(name));
    }
    let table = temporary_tables::add(session, table)?;
    note(session, warnings);
    if session.transaction.in_transaction() {
        session.transaction.temporary_changes.created = true;
    }
    Ok(Some(table))
}

fn table_exists(name: &TableName) -> Error {
    Error::new(
        errno::ER_TABLE_EXISTS_ERROR,
        format!("Table '{}' already exists", name.name),
    )
}

/// A permanent table with the definition of a temporary one.
fn create_permanent_like(session: &mut Session, ddl: &Ddl, source: &Table) -> Result<()> {
    session.table_locks.check_ddl(ddl)?;
    session.check_writable()?;
    let _entered = instance_lock::enter(session)?;
    let (context, shared) = (context(session), session.shared.clone());
    let executed = unlocked(session, |_| {
        shared
            .catalog
            .changer
            .create_like_temporary(ddl, source, &context)
    })?;
    note(session, executed.warnings);
    Ok(())
}

/// DROP TEMPORARY TABLE.
fn drop_only(session: &mut Session, names: &[TableName], if_exists: bool) -> Result<()> {
    check_unique(names)?;
    if let Some(name) = names.iter().find(|name| name.database == INFORMATION_SCHEMA) {
        return Err(session.client.account.denied_database(&name.database));
    }
    let is_missing = |name: &&TableName| session.temporary.find(&name.database, &name.name).is_none();
    let missing: Vec<String> = names
        .iter()
        .filter(is_missing)
        .map(|name| format!("{}.{}", name.database, name.name))
        .collect();
    if missing.len() < names.len() {
        lock::check_no_xa(session)?;
    }
    let unknown = |names: &str| format!("Unknown table '{names}'");
    if !missing.is_empty() && !if_exists {
        return Err(Error::new(errno::ER_BAD_TABLE_ERROR, unknown(&missing.join(","))));
    }
    drop_all(session, names);
    let notes = missing
        .iter()
        .map(|name| Warning::note(errno::ER_BAD_TABLE_ERROR, unknown(name)));
    note(session, notes.collect());
    Ok(())
}

/// DROP TABLE. Permanent tables are dropped first: if one of them cannot be dropped, none is.
fn drop_both(
    session: &mut Session,
    temporary: &[TableName],
    permanent: Vec<TableName>,
    if_exists: bool,
) -> Result<()> {
    check_unique(temporary)?;
    if !permanent.is_empty() {
        let names = permanent;
        super::definition::run(session, &Ddl::DropTable { names, if_exists })?;
    }
    drop_all(session, temporary);
    Ok(())
}

fn drop_all(session: &mut Session, names: &[TableName]) {
    for name in names {
        if let Some(table) = session.temporary.find(&name.database, &name.name).cloned() {
            temporary_tables::remove(session, &table);
            if session.transaction.in_transaction() {
                session.transaction.temporary_changes.dropped = true;
            }
        }
    }
}

/// Error 1066 for a table that is named twice.
fn check_unique(names: &[TableName]) -> Result<()> {
    let is_repeated = |(at, name): &(usize, &TableName)| names[..*at].contains(name);
    match names.iter().enumerate().find(is_repeated) {
        Some((_, name)) => Err(errors::not_unique(&name.name)),
        None => Ok(()),
    }
}

fn truncate(session: &mut Session, table: &Table) -> Result<()> {
    temporary_tables::remove_rows(session, table);
    let emptied = Table {
        auto_increment_start: 1,
        temporary: Some(Arc::default()),
        ..table.clone()
    };
    planner::expressions(&emptied)?;
    session.temporary.insert(Arc::new(emptied));
    Ok(())
}

/// ALTER TABLE: all rows are copied into a table with the new definition, as MySQL does. CREATE and DROP INDEX as well.
fn alter(session: &mut Session, base: &Arc<Table>, changes: &[AlterChange], way: AlterWay) -> Result<Done> {
    let context = context(session);
    let altered = ddl::alter_temporary(base, changes, way, &context)?;
    let target = altered.table;
    let name = TableName::of(&target);
    if name != TableName::of(base) {
        let schema = session.shared.engine.cluster.schema();
        ddl::check_temporary_name(&schema, &name, &context)?;
        if session.temporary.find(&name.database, &name.name).is_some() {
            return Err(table_exists(&name));
        }
    }
    session.temporary.remove(&base.database, &base.name);
    let aside = Table {
        name: COPIED.to_owned(),
        ..Table::clone(base)
    };
    session.temporary.insert(Arc::new(aside));
    let copied = copy(session, base, &target);
    session.temporary.remove(&base.database, COPIED);
    let (made, mut done) = match copied {
        Ok(copied) => copied,
        Err(error) => {
            session.temporary.insert(Arc::clone(base));
            return Err(error);
        }
    };
    temporary_tables::remove_rows(session, base);
    let ids = session.shared.clone();
    let ids = ids.engine.cluster.ids();
    // It only grows, and it must be above the ids of the rows.
    let next = match altered.auto_increment {
        Some(next) => next,
        None => ids.next(base)?,
    };
    if target.auto_increment_column().is_some() && next > 1 {
        ids.raise_to(&made, next - 1)?;
    }
    let finished = Table {
        columns: target.columns,
        ..Table::clone(&made)
    };
    planner::expressions(&finished)?;
    session.temporary.insert(Arc::new(finished));
    note(session, altered.warnings);
    done.info = format!(
        "Records: {}  Duplicates: 0  Warnings: {}",
        done.affected, session.diagnostics.count
    )
    .into();
    done.insert_id = 0;
    Ok(done)
}

/// Makes a table with the definition of `target`, and the rows of `base`, which is called [`COPIED`] now.
fn copy(session: &mut Session, base: &Table, target: &Table) -> Result<(Arc<Table>, Done)> {
    let made = temporary_tables::add(
        session,
        Table {
            columns: target.columns.iter().map(with_implicit_default).collect(),
            ..target.clone()
        },
    )?;
    let mode = session.settings.sql_mode;
    // An existing zero stays, and a new column has no zeros.
    let counted = base.auto_increment_column().map(|at| base.columns[at].id);
    if let Some(at) = made.auto_increment_column() {
        let id = made.columns[at].id;
        let is_new = base.columns.iter().all(|column| column.id != id);
        let keeps = &mut session.settings.sql_mode.no_auto_value_on_zero;
        *keeps = (*keeps && !is_new) || counted == Some(id);
    }
    let copied = copy_rows(session, base, &made);
    session.settings.sql_mode = mode;
    let copied = copied.and_then(|done| transaction_rules::commit_implicitly(session).map(|()| done));
    match copied {
        Ok(done) => Ok((made, done)),
        Err(error) => {
            session.runner().rollback();
            temporary_tables::remove(session, &made);
            Err(error)
        }
    }
}

/// In existing rows a new column gets its type's implicit default, regardless of sql_mode.
fn with_implicit_default(column: &Column) -> Column {
    let has_none = matches!(column.default, Default::None | Default::Dropped) && !column.nullable;
    match has_none && !column.makes_ids() && column.generated.is_none() {
        true => Column {
            default: Default::Literal(implicit(&column.ty)),
            ..column.clone()
        },
        false => column.clone(),
    }
}

fn copy_rows(session: &mut Session, base: &Table, made: &Table) -> Result<Done> {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let given = made.columns.iter().filter(|column| column.generated.is_none());
    let (names, values): (Vec<String>, Vec<String>) = given
        .filter_map(|new| {
            let old = base.columns.iter().find(|old| old.id == new.id);
            let value = match old {
                Some(old) => quoted(&old.name),
                // Zero dates are refused like other values.
                None if is_date(new) => literal_default(new)?,
                None => return None,
            };
            Some((quoted(&new.name), value))
        })
        .unzip();
    if names.is_empty() {
        return match temporary_tables::rows(session, base.id) {
            0 => Ok(Done::default()),
            _ => Err(Error::not_supported(
                "ALTER TABLE of a temporary table with rows that keeps none of its columns",
                "drop it and create a new one",
            )),
        };
    }
    let text = format!(
        "INSERT INTO {}.{} ({}) SELECT {} FROM {}.{}",
        quoted(&made.database),
        quoted(&made.name),
        names.join(", "),
        values.join(", "),
        quoted(&base.database),
        quoted(COPIED),
    );
    let compiled = compile::compile_one(session, &text)?;
    let Compiled::Plan(plan) = compiled else {
        return Err(Error::internal("the statement is not INSERT"));
    };
    let strict = session.settings.sql_mode.strict;
    session.runner().rely_on_lease()?;
    write(session, &plan.plan, strict)
}

fn is_date(column: &Column) -> bool {
    matches!(
        column.ty.kind,
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp
    )
}

/// The default in the statement that copies the rows.
fn literal_default(column: &Column) -> Option<String> {
    match &column.default {
        Default::Literal(text) => Some(format!("'{text}'")),
        _ => None,
    }
}
