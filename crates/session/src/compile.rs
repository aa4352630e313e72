//! From text to something that can be run: by the plan cache, or by `planner`.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use optimizer::{Estimates, Planned, PlannedStatement, Surroundings};
use planner::object_access::TableNeeds;
use planner::{BindEnv, Bound, CachedPlan, PlanKey, TableKnowledge};
use runner::{await_lease_to_plan, interruption};
use schema::model::Schema;
use schema::statistics::TableStatistics;
use schema::temporary;
use syntax::ast::{Statement, VariableScope};
use syntax::{Parsed, Template};
use types::{Result, SqlType, Value};

use crate::compiled::Compiled;
use crate::errors;
use crate::session::Session;

/// What is there of a statement's parameters when it is compiled.
#[derive(Clone, Copy)]
pub(crate) enum Parameters<'a> {
    /// Their types.
    Typed(&'a [SqlType]),
    /// The types of literals that were taken out of the text.
    Literals(&'a [SqlType]),
    /// Nothing. Takes the types that follow from where the parameters stand.
    Untyped(Option<&'a RefCell<Vec<Option<SqlType>>>>),
}

impl Session {
    fn key<'a>(&'a self, text: &'a str, params: &'a [SqlType]) -> PlanKey<'a> {
        PlanKey {
            text,
            database: self.database.as_deref(),
            params,
            environment: self.settings.plan_environment,
        }
    }

    /// Finds the shared plan of a text statement whose literals have become parameters. `None`: the text is
    /// not of a kind that is shared, or has to be planned as it stands.
    pub(crate) fn find_normalized(&self, template: &Template) -> Result<Option<Arc<CachedPlan>>> {
        let key = self.key(&template.text, &template.types);
        if let Some(found) = self.cached(&key) {
            return Ok(Some(found));
        }
        if self.shared.plans.is_unshareable(&key) {
            return Ok(None);
        }
        if self.varies(&key) {
            self.shared.plans.mark_unshareable(&key);
            return Ok(None);
        }
        // An error would quote the text with its literals taken out: let the original give it.
        let Ok(parsed) = syntax::parse(&template.text, &self.settings.sql_mode) else {
            return Ok(None);
        };
        let [parsed] = parsed.as_slice() else {
            return Ok(None);
        };
        let generation = self.shared.catalog.statistics.generation();
        let schema = self.shared.engine.cluster.schema();
        match self.plan(&schema, parsed, Parameters::Literals(&template.types)) {
            Ok(Planned::Plan(statement)) if statement.cacheable => {
                let plan = Arc::new(self.cacheable(statement, &schema, parsed, generation));
                self.share(&key, &plan);
                Ok(Some(plan))
            }
            Ok(_) => {
                // They come again when the text is bound as it stands.
                self.diagnostics.planning.take();
                if self.temporary.is_empty() {
                    self.shared.plans.mark_unshareable(&key);
                }
                Ok(None)
            }
            Err(error) if ends_planning(&error) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Compiles a statement as it stands.
    pub(crate) fn compile(&self, parsed: &Parsed, params: Parameters<'_>) -> Result<Compiled> {
        let generation = self.shared.catalog.statistics.generation();
        let schema = self.shared.engine.cluster.schema();
        Ok(match self.plan(&schema, parsed, params)? {
            Planned::Plan(statement) => {
                Compiled::Plan(Arc::new(self.cacheable(statement, &schema, parsed, generation)))
            }
            Planned::Ddl(ddl) => Compiled::Ddl(Box::new(ddl)),
            Planned::Command(command) => Compiled::Command(Box::new(command)),
        })
    }

    fn varies(&self, key: &PlanKey) -> bool {
        self.shared.plans.get(key).is_some_and(|plan| plan.varies())
    }

    /// The plan of a prepared statement for parameters of these types: shared by all connections, unless plans for
    /// its `values` vary.
    pub(crate) fn compile_prepared(
        &self,
        parsed: &Parsed,
        text: &str,
        params: &[SqlType],
        values: &[Value],
    ) -> Result<Compiled> {
        let key = self.key(text, params);
        if let Some(found) = self.cached(&key) {
            return Ok(Compiled::Plan(found));
        }
        let generation = self.shared.catalog.statistics.generation();
        let schema = self.shared.engine.cluster.schema();
        let varies = self.varies(&key);
        let bound = self.bind(&schema, parsed, Parameters::Typed(params))?;
        let is_query = matches!(parsed.statement, Statement::Query(_));
        let planned = match varies {
            true => self.optimized_for(bound, is_query, values)?,
            false => self.optimized(bound, is_query)?,
        };
        match planned {
            Planned::Plan(statement) => {
                let plan = self.cacheable(statement, &schema, parsed, generation);
                if varies {
                    return Ok(Compiled::Plan(Arc::new(plan.of_one_execution())));
                }
                let plan = Arc::new(plan);
                if plan.cacheable {
                    self.share(&key, &plan);
                }
                Ok(Compiled::Plan(plan))
            }
            Planned::Ddl(ddl) => Ok(Compiled::Ddl(Box::new(ddl))),
            Planned::Command(command) => Ok(Compiled::Command(Box::new(command))),
        }
    }

    /// Compiles a single statement of our own making.
    pub(crate) fn compile_one(&self, text: &str) -> Result<Compiled> {
        let parsed = syntax::parse(text, &self.settings.sql_mode)?;
        match parsed.as_slice() {
            [parsed] => self.compile(parsed, Parameters::Untyped(None)),
            _ => Err(types::Error::internal("one statement was expected")),
        }
    }

    /// Puts a plan into the plan cache, unless it is about tables that no other session has.
    fn share(&self, key: &PlanKey, plan: &Arc<CachedPlan>) {
        if !plan.uses_temporary {
            self.shared.plans.insert(key, plan.clone());
        }
    }

    fn cached(&self, key: &PlanKey) -> Option<Arc<CachedPlan>> {
        let found = self.shared.plans.get(key);
        let current = found.filter(|plan| self.is_current(plan));
        if current.is_none() {
            let misses = &self.shared.statistics.plan_cache_misses;
            misses.fetch_add(1, Ordering::Relaxed);
        }
        current
    }

    /// Whether a cached plan may be used; counts the hit.
    pub(crate) fn is_current(&self, plan: &CachedPlan) -> bool {
        let generation = || self.shared.catalog.statistics.generation();
        let version = self.shared.engine.cluster.schema_version();
        let current = plan.resolves_with(&self.temporary)
            && plan.is_current(version, generation, |table| self.knowledge_of(table));
        if current {
            let hits = &self.shared.statistics.plan_cache_hits;
            hits.fetch_add(1, Ordering::Relaxed);
        }
        current
    }

    /// What plans of a table depend on.
    fn knowledge_of(&self, table: i64) -> TableKnowledge {
        if temporary::is_id(table) {
            return TableKnowledge {
                rows: self.row_estimate(table),
                statistics_version: 0,
            };
        }
        let statistics = &self.shared.catalog.statistics;
        let collected = statistics.collected(table, &self.process.interrupt);
        TableKnowledge {
            rows: self.row_estimate(table),
            statistics_version: collected.map_or(0, |statistics| statistics.version),
        }
    }

    /// `generation`: of the statistics before the statement was planned.
    fn cacheable(
        &self,
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
        plan.made_from(generation, |table| {
            let known = self.knowledge_of(table);
            // Statistics that have changed meanwhile are not those of the plan: its next use makes it anew.
            if self.shared.catalog.statistics.generation() == generation {
                known
            } else {
                TableKnowledge {
                    statistics_version: u64::MAX,
                    ..known
                }
            }
        })
    }

    fn plan(&self, schema: &Arc<Schema>, parsed: &Parsed, params: Parameters<'_>) -> Result<Planned> {
        let bound = self.bind(schema, parsed, params)?;
        self.optimized(bound, matches!(parsed.statement, Statement::Query(_)))
    }

    /// The physical plan of a bound statement. `is_query`: `max_execution_time` is about it.
    pub(crate) fn optimized(&self, bound: Bound, is_query: bool) -> Result<Planned> {
        self.optimized_for(bound, is_query, &[])
    }

    /// The same for one execution with these parameters.
    fn optimized_for(&self, bound: Bound, is_query: bool, params: &[Value]) -> Result<Planned> {
        let without_lease = Cell::new(None);
        let max_execution = Some(self.settings.max_execution).filter(|limit| is_query && !limit.is_zero());
        let estimates = SessionEstimates {
            session: self,
            max_execution,
            without_lease: &without_lease,
            params,
        };
        let surroundings = Surroundings {
            route: self.settings.route,
            switches: self.settings.switches,
            estimates: &estimates,
        };
        let planned = optimizer::plan(bound, &surroundings)?;
        // A plan whose estimates were cut short is not cached.
        if let Some(error) = without_lease.take() {
            return Err(error);
        }
        let interrupted = self.process.interrupt.check();
        interrupted.map_err(|error| interruption(&self.process.interrupt, error.into()))?;
        Ok(planned)
    }

    fn bind(&self, schema: &Arc<Schema>, parsed: &Parsed, params: Parameters<'_>) -> Result<Bound> {
        let system_variable = |scope: Option<VariableScope>, name: &str| -> Result<Value> {
            self.view().system_variable(scope, name)
        };
        let check_table =
            |database: &str, table: &str, needs: TableNeeds| self.client.check_needs(database, table, needs);
        let denied_column =
            |database: &str, table: &str, column: &str| self.client.denied_column(database, table, column);
        let denied = |name: &str| errors::database_access(&self.client.account.name(), name);
        planner::bind(
            parsed,
            &BindEnv {
                check_table: &check_table,
                denied_column: &denied_column,
                check_accesses: &|accesses| self.client.check_privileges(accesses),
                denied: &denied,
                ..self.bind_env(schema, params, &system_variable)
            },
        )
    }

    pub(crate) fn row_estimate(&self, table: i64) -> u64 {
        if temporary::is_id(table) {
            return self.temporary_rows(table);
        }
        self.shared
            .catalog
            .statistics
            .rows(table, &self.process.interrupt)
    }

    fn bind_env<'a>(
        &'a self,
        schema: &Arc<Schema>,
        params: Parameters<'a>,
        system_variable: &'a dyn Fn(Option<VariableScope>, &str) -> Result<Value>,
    ) -> BindEnv<'a> {
        BindEnv {
            schema: schema.clone(),
            temporary: &self.temporary,
            database: self.database.as_deref(),
            params: match params {
                Parameters::Typed(types) | Parameters::Literals(types) => types,
                Parameters::Untyped(_) => &[],
            },
            params_known: !matches!(params, Parameters::Untyped(_)),
            literal_params: matches!(params, Parameters::Literals(_)),
            places: match params {
                Parameters::Untyped(places) => places,
                Parameters::Typed(_) | Parameters::Literals(_) => None,
            },
            sql_mode: self.settings.sql_mode,
            charset_client: self.settings.charset_client,
            collation_connection: self.settings.collation_connection,
            collation_server: self.settings.collation_server,
            system_variable,
            user_variables: self.user_variables.shared(),
            check_table: &|_, _, _| Ok(()),
            denied_column: &|_, _, _| None,
            check_accesses: &|_| Ok(()),
            denied: &|name| errors::unknown_database(name),
            time_zone: self.settings.time_zone,
            div_precision_increment: self.settings.div_precision_increment,
            warnings: &self.diagnostics.planning,
            foreign_key_checks: self.settings.foreign_key_checks,
        }
    }

    /// The WHERE of a SHOW statement, over the statement's own columns.
    pub(crate) fn bind_show_filter(
        &self,
        condition: &syntax::ast::Expr,
        columns: &[(String, SqlType)],
    ) -> Result<functions::Expr> {
        let system_variable = |scope: Option<VariableScope>, name: &str| -> Result<Value> {
            self.view().system_variable(scope, name)
        };
        planner::bind_filter(
            condition,
            columns,
            &self.bind_env(
                &self.shared.engine.cluster.schema(),
                Parameters::Untyped(None),
                &system_variable,
            ),
        )
    }
}

/// What the server knows of tables, for one statement.
struct SessionEstimates<'a> {
    session: &'a Session,
    max_execution: Option<Duration>,
    /// The error of a wait for the node's lease.
    without_lease: &'a Cell<Option<types::Error>>,
    params: &'a [Value],
}

impl Estimates for SessionEstimates<'_> {
    fn parameters(&self) -> &[Value] {
        self.params
    }

    fn rows(&self, table: i64) -> u64 {
        match await_lease_to_plan(self.session.environment(), self.max_execution) {
            Ok(()) => self.session.row_estimate(table),
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

    fn keys_in(&self, range: std::ops::Range<Vec<u8>>) -> Option<u64> {
        if range.start >= temporary::keys().start {
            return Some(self.session.temporary_keys_in(&range.into()));
        }
        let statistics = &self.session.shared.catalog.statistics;
        statistics.keys_in(&range.into(), &self.session.process.interrupt)
    }
}

/// Whether planning was ended, and has not failed at what the text says.
fn ends_planning(error: &types::Error) -> bool {
    matches!(
        error.code,
        types::errno::ER_SCHEMA_OUT_OF_DATE
            | types::errno::ER_QUERY_INTERRUPTED
            | types::errno::ER_QUERY_TIMEOUT
    )
}
