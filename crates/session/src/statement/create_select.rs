//! CREATE TABLE ... SELECT: the rows are written before the table is visible (`ddl::SchemaChanger::prepare_table`).

use std::sync::Arc;

use planner::Bound;
use planner::command::CreateTableSelect;
use planner::foreign_key::ForeignKeyPlan;
use planner::logical::{LogicalInsertMode, LogicalStatement};
use schema::definition::Ddl;
use schema::model::Table;
use schema::privilege::{Privilege, PrivilegeSet};
use types::{Error, Result, Warning};

use super::definition_context::{check_privileges, context};
use super::inner_plan;
use super::temporary;
use crate::compile;
use crate::instance_lock;
use crate::reply::Done;
use crate::session::Session;
use crate::temporary_tables;
use crate::transaction_rules;

pub fn run(session: &mut Session, command: &CreateTableSelect) -> Result<Done> {
    let Ddl::CreateTable {
        name,
        definition,
        if_not_exists,
    } = &command.ddl
    else {
        return Err(Error::internal("the statement is not CREATE TABLE"));
    };
    if command.temporary {
        session
            .client
            .check_on_database(&name.database, Privilege::CreateTemporaryTables)?;
        return run_temporary(session, command);
    }
    check_privileges(
        &session.client,
        &command.ddl,
        &session.shared.engine.cluster.schema(),
    )?;
    session.client.check_table(name, PrivilegeSet::INSERT)?;
    session.table_locks.check_ddl(&command.ddl)?;
    session.check_writable()?;
    let _entered = instance_lock::enter(session)?;
    let context = context(session);
    let shared = session.shared.clone();
    let changer = &shared.catalog.changer;
    let (table, warnings) = changer.prepare_table((name, definition, *if_not_exists), &context)?;
    note(session, warnings);
    let Some(table) = table else {
        return Ok(Done::default());
    };
    let loaded = load(session, command, &table).and_then(|done| {
        transaction_rules::commit_implicitly(session)?;
        Ok(done)
    });
    match loaded {
        Ok(done) => {
            changer.publish_table(table, &context)?;
            Ok(done)
        }
        Err(error) => {
            session.runner().rollback();
            changer.discard_table(table, &context);
            Err(error)
        }
    }
}

/// CREATE TEMPORARY TABLE ... SELECT.
fn run_temporary(session: &mut Session, command: &CreateTableSelect) -> Result<Done> {
    let Some(table) = temporary::create(session, &command.ddl)? else {
        return Ok(Done::default());
    };
    let loaded = load(session, command, &table);
    if loaded.is_err() {
        temporary_tables::remove(session, &table);
    }
    loaded
}

fn note(session: &mut Session, warnings: Vec<Warning>) {
    let count = warnings.len() as u64;
    let limits = session.settings.warnings;
    session.diagnostics.add_limited((warnings, count), limits);
}

/// Writes the rows of the query into the table.
fn load(session: &mut Session, command: &CreateTableSelect, table: &Table) -> Result<Done> {
    let mut bound = command.insert.clone();
    let Bound::Statement {
        statement: LogicalStatement::Insert(insert),
        ..
    } = &mut bound
    else {
        return Err(Error::internal("CREATE TABLE ... SELECT without its INSERT"));
    };
    let table = Arc::new(table.clone());
    planner::expressions(&table)?;
    if insert.foreign_keys.is_some() {
        let schema = session.shared.engine.cluster.schema();
        let replaces = matches!(insert.mode, LogicalInsertMode::Replace);
        insert.foreign_keys = ForeignKeyPlan::of_new(&schema, &table, replaces).map(Arc::new);
    }
    insert.table = table;
    let strict = session.settings.sql_mode.strict && !insert.ignore;
    let planned = compile::optimized(session, bound, false)?;
    let plan = inner_plan::lock(session, planned, command.schema_version)?;
    inner_plan::write(session, &plan.plan, strict)
}
