//! Compiles a statement's text to a plan, a definition or a command: by the plan cache, or by `planner` and
//! `optimizer`.

use std::cell::{Cell, RefCell};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use optimizer::{Estimates, Planned, PlannedStatement, Surroundings};
use planner::object_access::TableNeeds;
use planner::plan::ResultColumn;
use planner::{BindEnv, Bound, CachedPlan, Place, PlanKey, PlannedFor, TableKnowledge};
use runner::{await_lease_to_plan, interruption};
use schema::model::{Column, Schema, Table};
use schema::privilege::Privilege;
use schema::statistics::TableStatistics;
use schema::temporary;
use syntax::ast::{SelectInto, Statement, VariableScope};
use syntax::{Parsed, Template};
use types::{Result, SqlType, Value};

use crate::compiled::Compiled;
use crate::errors;
use crate::listing::Listing;
use crate::prepared;
use crate::profiles::stage;
use crate::server_files;
use crate::session::Session;
use crate::temporary_tables;
use crate::variables::notices;

/// What is known about a statement's parameters when it is compiled.
#[derive(Clone, Copy)]
pub(crate) enum Parameters<'a> {
    /// Their types, and those that they have in the statement if these come from values
    /// ([`PlannedFor::ExecuteByValues`]).
    Typed(&'a [SqlType], Option<&'a [Option<SqlType>]>),
    /// The types of literals that were taken out of the text.
    Literals(&'a [SqlType]),
    /// Nothing is known. Receives the types that the parameters have by their position in the statement.
    Untyped(Option<&'a RefCell<Vec<Place>>>),
}

fn key<'a>(session: &'a Session, text: &'a str, params: &'a [SqlType]) -> PlanKey<'a> {
    PlanKey {
        text,
        database: session.database.as_deref(),
        params,
        environment: session.settings.plan_environment,
    }
}

/// The key of a prepared statement. Its text may be that of a statement whose literals have become parameters, and
/// comparisons take a literal otherwise than a parameter: as a date that must be valid, for example.
fn prepared_key<'a>(
    session: &'a Session,
    statement: &'a prepared::Statement,
    params: &'a [SqlType],
) -> PlanKey<'a> {
    const PREPARED: u64 = 1 << 63;
    let key = key(session, &statement.text, params);
    let kind = match &statement.types_of_values {
        _ if params.is_empty() => 0,
        None => PREPARED,
        Some(types) => PREPARED | hash_of(types),
    };
    PlanKey {
        environment: key.environment ^ kind,
        ..key
    }
}

fn hash_of(types: &[Option<SqlType>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    types.hash(&mut hasher);
    hasher.finish()
}

/// Finds the shared plan of a text whose literals have become parameters. `None`: plans of such texts are not
/// shared, or the text must be planned with its literals.
pub(crate) fn find_normalized(session: &Session, template: &Template) -> Result<Option<Arc<CachedPlan>>> {
    let key = key(session, &template.text, &template.types);
    if let Some(found) = cached(session, &key) {
        return Ok(Some(found));
    }
    if session.shared.plans.is_unshareable(&key) {
        return Ok(None);
    }
    if varies(session, &key) {
        session.shared.plans.mark_unshareable(&key);
        return Ok(None);
    }
    // An error would quote the text without its literals, so the original text is parsed instead.
    let Ok(parsed) = syntax::parse(&template.text, &session.settings.sql_mode) else {
        return Ok(None);
    };
    let [parsed] = parsed.as_slice() else {
        return Ok(None);
    };
    let generation = session.shared.catalog.statistics.generation();
    let schema = session.shared.engine.cluster.schema();
    drop(session.diagnostics.planning.take());
    match plan(session, &schema, parsed, Parameters::Literals(&template.types)) {
        Ok(Planned::Plan(statement)) if statement.cacheable => {
            let mut plan = cacheable(session, statement, &schema, parsed, generation);
            (plan.warnings, _) = session.diagnostics.planning.take();
            let plan = Arc::new(plan);
            share(session, &key, &plan);
            Ok(Some(plan))
        }
        Ok(_) => {
            // Binding the original text gives the same warnings again.
            session.diagnostics.planning.take();
            if session.temporary.is_empty() {
                session.shared.plans.mark_unshareable(&key);
            }
            Ok(None)
        }
        Err(error) if ends_planning(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Compiles a statement, without the plan cache.
pub(crate) fn compile(session: &Session, parsed: &Parsed, params: Parameters<'_>) -> Result<Compiled> {
    let generation = session.shared.catalog.statistics.generation();
    let schema = session.shared.engine.cluster.schema();
    Ok(match plan(session, &schema, parsed, params)? {
        Planned::Plan(statement) => Compiled::Plan(Arc::new(cacheable(
            session, statement, &schema, parsed, generation,
        ))),
        Planned::Ddl(ddl) => Compiled::Ddl(Box::new(ddl)),
        Planned::Command(command) => Compiled::Command(Box::new(command)),
    })
}

fn varies(session: &Session, key: &PlanKey) -> bool {
    session.shared.plans.get(key).is_some_and(|plan| plan.varies())
}

/// The plan of a prepared statement for parameters of these types. All connections share it, unless the best
/// plan depends on the `values`.
pub(crate) fn compile_prepared(
    session: &Session,
    statement: &prepared::Statement,
    params: &[SqlType],
    values: &[Value],
) -> Result<Compiled> {
    let parsed = &*statement.parsed;
    let key = prepared_key(session, statement, params);
    if let Some(found) = cached(session, &key) {
        return Ok(Compiled::Plan(found));
    }
    let generation = session.shared.catalog.statistics.generation();
    let schema = session.shared.engine.cluster.schema();
    let varies = varies(session, &key);
    let typed = Parameters::Typed(params, statement.types_of_values.as_deref());
    let bound = bind(session, &schema, parsed, typed)?;
    let is_query = matches!(parsed.statement, Statement::Query(_));
    let planned = match varies {
        true => optimized_for(session, bound, is_query, values)?,
        false => optimized(session, bound, is_query)?,
    };
    match planned {
        Planned::Plan(statement) => {
            let plan = cacheable(session, statement, &schema, parsed, generation);
            if varies {
                return Ok(Compiled::Plan(Arc::new(plan.of_one_execution())));
            }
            let plan = Arc::new(plan);
            if plan.cacheable {
                share(session, &key, &plan);
            }
            Ok(Compiled::Plan(plan))
        }
        Planned::Ddl(ddl) => Ok(Compiled::Ddl(Box::new(ddl))),
        Planned::Command(command) => Ok(Compiled::Command(Box::new(command))),
    }
}

/// Compiles a statement that StemDB itself has generated.
pub(crate) fn compile_one(session: &Session, text: &str) -> Result<Compiled> {
    let parsed = syntax::parse(text, &session.settings.sql_mode)?;
    match parsed.as_slice() {
        [parsed] => compile(session, parsed, Parameters::Untyped(None)),
        _ => Err(types::Error::internal("one statement was expected")),
    }
}

/// Puts a plan into the plan cache, unless it uses the session's temporary tables.
fn share(session: &Session, key: &PlanKey, plan: &Arc<CachedPlan>) {
    if !plan.uses_temporary {
        session.shared.plans.insert(key, plan.clone());
    }
}

fn cached(session: &Session, key: &PlanKey) -> Option<Arc<CachedPlan>> {
    let found = session.shared.plans.get(key);
    let current = found.filter(|plan| is_current(session, plan));
    if current.is_none() {
        let misses = &session.shared.statistics.plan_cache_misses;
        misses.fetch_add(1, Ordering::Relaxed);
    }
    current
}

/// Whether a cached plan may be used. If so, counts a hit.
pub(crate) fn is_current(session: &Session, plan: &CachedPlan) -> bool {
    let generation = || session.shared.catalog.statistics.generation();
    let version = session.shared.engine.cluster.schema_version();
    let current = plan.resolves_with(&session.temporary)
        && plan.is_current(version, generation, |table| knowledge_of(session, table));
    if current {
        session.shared.statistics.count_plan_cache_hit();
    }
    current
}

/// The properties of a table that plans depend on.
fn knowledge_of(session: &Session, table: i64) -> TableKnowledge {
    if temporary::is_id(table) {
        return TableKnowledge {
            rows: row_estimate(session, table),
            statistics_version: 0,
        };
    }
    let statistics = &session.shared.catalog.statistics;
    let collected = statistics.collected(table, &session.process.interrupt);
    TableKnowledge {
        rows: row_estimate(session, table),
        statistics_version: collected.map_or(0, |statistics| statistics.version),
    }
}

/// `generation`: that of the statistics before the statement was planned.
fn cacheable(
    session: &Session,
    statement: PlannedStatement,
    schema: &Schema,
    parsed: &Parsed,
    generation: u64,
) -> CachedPlan {
    let mut plan = CachedPlan::new(
        statement.plan,
        statement.accesses,
        schema.version,
        parsed.parameters,
        statement.cacheable,
    );
    plan.command = parsed.statement.command();
    plan.date_params = statement.date_params;
    plan.made_from(generation, |table| {
        let known = knowledge_of(session, table);
        // If the statistics have changed meanwhile, the plan was made from older ones. Then its next use
        // plans again.
        if session.shared.catalog.statistics.generation() == generation {
            known
        } else {
            TableKnowledge {
                statistics_version: u64::MAX,
                ..known
            }
        }
    })
}

fn plan(session: &Session, schema: &Arc<Schema>, parsed: &Parsed, params: Parameters<'_>) -> Result<Planned> {
    let bound = bind(session, schema, parsed, params)?;
    optimized(session, bound, matches!(parsed.statement, Statement::Query(_)))
}

/// The physical plan of a bound statement. `is_query`: `max_execution_time` applies.
pub(crate) fn optimized(session: &Session, bound: Bound, is_query: bool) -> Result<Planned> {
    optimized_for(session, bound, is_query, &[])
}

/// [`optimized`] for one execution with these parameters.
fn optimized_for(session: &Session, bound: Bound, is_query: bool, params: &[Value]) -> Result<Planned> {
    session.in_stage(stage::OPTIMIZING);
    let without_lease = Cell::new(None);
    let max_execution = Some(session.settings.max_execution).filter(|limit| is_query && !limit.is_zero());
    let estimates = SessionEstimates {
        session,
        max_execution,
        without_lease: &without_lease,
        params,
    };
    let surroundings = Surroundings {
        route: session.settings.route,
        switches: session.settings.switches,
        estimates: &estimates,
    };
    let planned = optimizer::plan(bound, &surroundings)?;
    // A plan whose estimates were interrupted is not cached.
    if let Some(error) = without_lease.take() {
        return Err(error);
    }
    let interrupted = session.process.interrupt.check();
    interrupted.map_err(|error| interruption(&session.process.interrupt, error.into()))?;
    Ok(planned)
}

/// Checks what a statement needs in order to use the server's files, before its tables are looked up, as in MySQL.
fn check_files(session: &Session, statement: &Statement) -> Result<()> {
    match statement {
        Statement::Query(query) if matches!(query.into.as_deref(), Some(SelectInto::File(_))) => {
            session.client.check_any("FILE", &[Privilege::File], &[])
        }
        Statement::LoadData(load) if !load.local => server_files::check_privilege(&session.view()),
        _ => Ok(()),
    }
}

fn bind(session: &Session, schema: &Arc<Schema>, parsed: &Parsed, params: Parameters<'_>) -> Result<Bound> {
    session.in_stage(stage::OPENING_TABLES);
    check_files(session, &parsed.statement)?;
    // PREPARE has warned of the text of a prepared statement.
    let is_execution = matches!(params, Parameters::Typed(..));
    if !is_execution {
        for warning in &parsed.warnings {
            session.diagnostics.planning.push(warning.clone());
        }
    }
    let system_variable = |scope: Option<VariableScope>, name: &str| -> Result<Value> {
        let value = session.view().system_variable(scope, name)?;
        if !is_execution && let Some(warning) = notices::deprecated(name) {
            session.diagnostics.planning.push(warning);
        }
        Ok(value)
    };
    let check_table =
        |database: &str, table: &str, needs: TableNeeds| session.client.check_needs(database, table, needs);
    let denied_column =
        |database: &str, table: &str, column: &str| session.client.denied_column(database, table, column);
    let denied = |name: &str| errors::database_access(&session.client.account.name(), name);
    let bound = planner::bind(
        parsed,
        &BindEnv {
            check_table: &check_table,
            denied_column: &denied_column,
            check_accesses: &|accesses| session.client.check_privileges(accesses),
            denied: &denied,
            ..bind_env(session, schema, params, &system_variable)
        },
    );
    bound.map_err(|error| match check_read_variables(session, parsed) {
        Err(of_variable) if !ends_planning(&error) => of_variable,
        _ => error,
    })
}

/// Fails for the first system variable that the statement reads and that is not there. MySQL finds it out while it
/// parses, before it looks for tables and columns.
fn check_read_variables(session: &Session, parsed: &Parsed) -> Result<()> {
    let mut read = parsed.read_variables.iter();
    read.try_for_each(|(scope, name)| session.view().system_variable(*scope, name).map(drop))
}

pub(crate) fn row_estimate(session: &Session, table: i64) -> u64 {
    if temporary::is_id(table) {
        return temporary_tables::rows(session, table);
    }
    session
        .shared
        .catalog
        .statistics
        .rows(table, &session.process.interrupt)
}

fn bind_env<'a>(
    session: &'a Session,
    schema: &Arc<Schema>,
    params: Parameters<'a>,
    system_variable: &'a dyn Fn(Option<VariableScope>, &str) -> Result<Value>,
) -> BindEnv<'a> {
    BindEnv {
        schema: schema.clone(),
        temporary: &session.temporary,
        database: session.database.as_deref(),
        params: match params {
            Parameters::Typed(types, _) | Parameters::Literals(types) => types,
            Parameters::Untyped(_) => &[],
        },
        planned_for: match params {
            Parameters::Typed(_, None) => PlannedFor::Execute,
            Parameters::Typed(_, Some(types)) => PlannedFor::ExecuteByValues(types),
            Parameters::Untyped(Some(_)) => PlannedFor::Prepare,
            Parameters::Untyped(None) | Parameters::Literals(_) => PlannedFor::Text,
        },
        params_known: !matches!(params, Parameters::Untyped(_)),
        literal_params: matches!(params, Parameters::Literals(_)),
        places: match params {
            Parameters::Untyped(places) => places,
            Parameters::Typed(..) | Parameters::Literals(_) => None,
        },
        sql_mode: session.settings.sql_mode,
        charset_client: session.settings.charset_client,
        collation_connection: session.settings.collation_connection,
        collation_server: session.settings.collation_server,
        system_variable,
        user_variables: session.user_variables.shared(),
        check_table: &|_, _, _| Ok(()),
        denied_column: &|_, _, _| None,
        thread: session.process.id,
        check_accesses: &|_| Ok(()),
        denied: &|name| errors::unknown_database(name),
        time_zone: session.settings.time_zone,
        div_precision_increment: session.settings.div_precision_increment,
        default_week_format: session.settings.default_week_format,
        group_concat_max_len: session.settings.group_concat_max_len as u64,
        warnings: &session.diagnostics.planning,
        foreign_key_checks: session.settings.foreign_key_checks,
    }
}

/// See [`planner::view_columns`].
pub(crate) fn view_columns(session: &Session, view: &Table) -> Result<Vec<Column>> {
    let schema = session.shared.engine.cluster.schema();
    let system_variable =
        |scope: Option<VariableScope>, name: &str| session.view().system_variable(scope, name);
    planner::view_columns(
        view,
        &bind_env(session, &schema, Parameters::Untyped(None), &system_variable),
    )
}

fn named_types(columns: &[ResultColumn]) -> Vec<(String, SqlType)> {
    columns.iter().map(|c| (c.name.clone(), c.ty)).collect()
}

/// The query for the positions of the rows that satisfy the WHERE of a SHOW statement.
pub(crate) fn bind_list_query(
    session: &Session,
    schema: &Arc<Schema>,
    condition: &syntax::ast::Expr,
    listing: &Listing,
) -> Result<Bound> {
    let columns = named_types(&listing.columns);
    let system_variable = |scope: Option<VariableScope>, name: &str| -> Result<Value> {
        session.view().system_variable(scope, name)
    };
    let env = bind_env(session, schema, Parameters::Untyped(None), &system_variable);
    planner::bind_list_query(condition, &columns, &listing.rows, &env)
}

/// The WHERE of a SHOW statement, over the statement's own columns; `None` if it has subqueries.
pub(crate) fn bind_show_filter(
    session: &Session,
    condition: &syntax::ast::Expr,
    columns: &[ResultColumn],
) -> Result<Option<functions::Expr>> {
    let columns = named_types(columns);
    let system_variable = |scope: Option<VariableScope>, name: &str| -> Result<Value> {
        session.view().system_variable(scope, name)
    };
    planner::bind_filter(
        condition,
        &columns,
        &bind_env(
            session,
            &session.shared.engine.cluster.schema(),
            Parameters::Untyped(None),
            &system_variable,
        ),
    )
}

/// The server's statistics of tables, for one statement.
struct SessionEstimates<'a> {
    session: &'a Session,
    max_execution: Option<Duration>,
    /// The error if waiting for the node's lease failed.
    without_lease: &'a Cell<Option<types::Error>>,
    params: &'a [Value],
}

impl Estimates for SessionEstimates<'_> {
    fn parameters(&self) -> &[Value] {
        self.params
    }

    fn rows(&self, table: i64) -> u64 {
        match await_lease_to_plan(self.session.environment(), self.max_execution) {
            Ok(()) => row_estimate(self.session, table),
            Err(error) => {
                self.without_lease.set(Some(error));
                0
            }
        }
    }

    fn statistics(&self, table: i64) -> Option<Arc<TableStatistics>> {
        if temporary::is_id(table) {
            return None;
        }
        let statistics = &self.session.shared.catalog.statistics;
        statistics.collected(table, &self.session.process.interrupt)
    }

    fn has_coprocessor(&self, table: i64) -> bool {
        !temporary::is_id(table) && self.session.shared.engine.store.has_coprocessor()
    }

    fn keys_in(&self, range: std::ops::Range<Vec<u8>>) -> Option<u64> {
        if range.start >= temporary::keys().start {
            return Some(temporary_tables::keys_in(self.session, &range.into()));
        }
        let statistics = &self.session.shared.catalog.statistics;
        statistics.keys_in(&range.into(), &self.session.process.interrupt)
    }
}

/// Whether planning was interrupted, rather than failed because of the statement itself.
fn ends_planning(error: &types::Error) -> bool {
    matches!(
        error.code,
        types::errno::ER_SCHEMA_OUT_OF_DATE
            | types::errno::ER_QUERY_INTERRUPTED
            | types::errno::ER_QUERY_TIMEOUT
    )
}
