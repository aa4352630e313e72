//! From text to something that can be run: by the plan cache, or by `planner`.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use planner::command::Command;
use planner::plan::Plan;
use planner::{BindEnv, Bound, CachedPlan, PlanKey};
use schema::definition::Ddl;
use schema::model::Schema;
use syntax::ast::{Statement, VariableScope};
use syntax::{Parsed, Template};
use types::{Result, SqlType, Value};

use crate::session::Session;

/// A statement, ready to run.
pub enum Compiled {
    Plan(Arc<CachedPlan>),
    Ddl(Box<Ddl>),
    Command(Box<Command>),
}

/// What is known of a statement's parameters when it is compiled.
#[derive(Clone, Copy)]
pub(crate) enum Parameters<'a> {
    /// Their types.
    Known(&'a [SqlType]),
    /// The types of literals that were taken out of the text.
    Literals(&'a [SqlType]),
    /// Nothing. Takes their types where they follow from where they stand.
    Unknown(Option<&'a RefCell<Vec<Option<SqlType>>>>),
}

impl Compiled {
    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Plan(cached) => Some(&cached.plan),
            Self::Ddl(_) | Self::Command(_) => None,
        }
    }
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

    /// Finds the shared plan of a text statement whose literals have become parameters. `None`: the text is not of a
    /// kind that is shared, or has to be planned as it stands.
    pub(crate) fn find_normalized(&self, template: &Template) -> Result<Option<Arc<CachedPlan>>> {
        let key = self.key(&template.text, &template.types);
        if let Some(found) = self.cached(&key) {
            return Ok(Some(found));
        }
        if self.shared.plans.is_unshareable(&key) {
            return Ok(None);
        }
        // An error would quote the text with its literals taken out: let the original give it.
        let Ok(parsed) = syntax::parse(&template.text, &self.settings.sql_mode) else {
            return Ok(None);
        };
        let [parsed] = parsed.as_slice() else {
            return Ok(None);
        };
        let schema = self.visible_schema();
        match self.bind(&schema, parsed, Parameters::Literals(&template.types)) {
            Ok(Bound::Plan {
                plan,
                cacheable: true,
            }) => {
                let plan = Arc::new(planned(plan, true, &schema, parsed));
                self.shared.plans.insert(&key, plan.clone());
                Ok(Some(plan))
            }
            Ok(_) => {
                // They are said again when the text is bound as it stands.
                self.planning_warnings.take();
                self.shared.plans.mark_unshareable(&key);
                Ok(None)
            }
            Err(error) if ends_planning(&error) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Compiles a statement as it stands.
    pub(crate) fn compile(&self, parsed: &Parsed, params: Parameters<'_>) -> Result<Compiled> {
        let schema = self.visible_schema();
        Ok(match self.bind(&schema, parsed, params)? {
            Bound::Plan { plan, cacheable } => {
                Compiled::Plan(Arc::new(planned(plan, cacheable, &schema, parsed)))
            }
            Bound::Ddl(ddl) => Compiled::Ddl(Box::new(ddl)),
            Bound::Command(command) => Compiled::Command(Box::new(command)),
        })
    }

    /// The plan of a prepared statement for parameters of these types: shared by all connections.
    pub(crate) fn compile_prepared(
        &self,
        parsed: &Parsed,
        text: &str,
        params: &[SqlType],
    ) -> Result<Compiled> {
        let key = self.key(text, params);
        if let Some(found) = self.cached(&key) {
            return Ok(Compiled::Plan(found));
        }
        let schema = self.visible_schema();
        match self.bind(&schema, parsed, Parameters::Known(params))? {
            Bound::Plan { plan, cacheable } => {
                let plan = Arc::new(planned(plan, cacheable, &schema, parsed));
                if cacheable {
                    self.shared.plans.insert(&key, plan.clone());
                }
                Ok(Compiled::Plan(plan))
            }
            Bound::Ddl(ddl) => Ok(Compiled::Ddl(Box::new(ddl))),
            Bound::Command(command) => Ok(Compiled::Command(Box::new(command))),
        }
    }

    /// Compiles a single statement of our own making.
    pub(crate) fn compile_one(&self, text: &str) -> Result<Compiled> {
        let parsed = syntax::parse(text, &self.settings.sql_mode)?;
        match parsed.as_slice() {
            [parsed] => self.compile(parsed, Parameters::Unknown(None)),
            _ => Err(types::Error::internal("one statement was expected")),
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

    /// Whether a plan that was kept may be used; counts the hit.
    pub(crate) fn is_current(&self, plan: &CachedPlan) -> bool {
        let current = plan.is_current(self.shared.catalog.cluster.schema_version());
        if current {
            let hits = &self.shared.statistics.plan_cache_hits;
            hits.fetch_add(1, Ordering::Relaxed);
        }
        current
    }

    /// The databases the account may use: names in others are not told apart from names that do not exist.
    fn visible_schema(&self) -> Arc<Schema> {
        let schema = self.shared.catalog.cluster.schema();
        if self.account.privileges.everything {
            return schema;
        }
        let visible = schema
            .databases
            .iter()
            .filter(|(name, _)| self.account.may_use(name));
        let databases = visible
            .map(|(name, database)| (name.clone(), database.clone()))
            .collect();
        Arc::new(Schema {
            version: schema.version,
            databases,
        })
    }

    /// Error 1044 in place of 1049 where the database may be there, but is not for this account; and with the account's
    /// name where the planner, which does not know it, refuses to write to a system database.
    fn hide_database(&self, error: types::Error) -> types::Error {
        if error.code == types::errno::ER_DBACCESS_DENIED_ERROR
            && error.message.starts_with("Access denied to")
        {
            let name = error.message.split('\'').nth(1).unwrap_or_default();
            let message = format!(
                "Access denied for user {} to database '{name}'",
                self.account.name()
            );
            return types::Error::new(error.code, message);
        }
        if error.code != types::errno::ER_BAD_DB_ERROR {
            return error;
        }
        let name = error.message.split('\'').nth(1).unwrap_or_default();
        self.account.check_database(name).err().unwrap_or(error)
    }

    fn bind(&self, schema: &Arc<Schema>, parsed: &Parsed, params: Parameters<'_>) -> Result<Bound> {
        let without_lease = Cell::new(None);
        let is_query = matches!(parsed.statement, Statement::Select(_));
        let row_estimate = |table: i64| match self.await_lease_to_plan(is_query) {
            Ok(()) => self.row_estimate(table),
            Err(error) => {
                without_lease.set(Some(error));
                0
            }
        };
        let system_variable =
            |scope: Option<VariableScope>, name: &str| -> Result<Value> { self.system_variable(scope, name) };
        let bound = planner::bind(
            parsed,
            &self.bind_env(schema, params, &row_estimate, &system_variable),
        )
        .map_err(|error| self.hide_database(error))?;
        // Nobody keeps a plan whose estimates were cut short.
        if let Some(error) = without_lease.take() {
            return Err(error);
        }
        let interrupted = self.process.interrupt.check();
        interrupted.map_err(|error| self.interruption(error.into()))?;
        Ok(bound)
    }

    pub(crate) fn row_estimate(&self, table: i64) -> u64 {
        self.shared
            .catalog
            .statistics
            .rows(table, &self.process.interrupt)
    }

    fn bind_env<'a>(
        &'a self,
        schema: &Arc<Schema>,
        params: Parameters<'a>,
        row_estimate: &'a dyn Fn(i64) -> u64,
        system_variable: &'a dyn Fn(Option<VariableScope>, &str) -> Result<Value>,
    ) -> BindEnv<'a> {
        BindEnv {
            schema: schema.clone(),
            database: self.database.as_deref(),
            params: match params {
                Parameters::Known(types) | Parameters::Literals(types) => types,
                Parameters::Unknown(_) => &[],
            },
            params_known: !matches!(params, Parameters::Unknown(_)),
            literal_params: matches!(params, Parameters::Literals(_)),
            places: match params {
                Parameters::Unknown(places) => places,
                Parameters::Known(_) | Parameters::Literals(_) => None,
            },
            sql_mode: self.settings.sql_mode,
            charset_client: self.settings.charset_client,
            collation_connection: self.settings.collation_connection,
            collation_server: self.settings.collation_server,
            route: self.settings.route,
            row_estimate,
            system_variable,
            user_variables: &self.user_variables,
            time_zone: self.settings.time_zone,
            div_precision_increment: self.settings.div_precision_increment,
            warnings: &self.planning_warnings,
        }
    }

    /// The WHERE of a SHOW statement, over the statement's own columns.
    pub(crate) fn bind_show_filter(
        &self,
        condition: &syntax::ast::Expr,
        columns: &[(String, SqlType)],
    ) -> Result<functions::Expr> {
        let row_estimate = |_| 0;
        let system_variable =
            |scope: Option<VariableScope>, name: &str| -> Result<Value> { self.system_variable(scope, name) };
        planner::bind_filter(
            condition,
            columns,
            &self.bind_env(
                &self.shared.catalog.cluster.schema(),
                Parameters::Unknown(None),
                &row_estimate,
                &system_variable,
            ),
        )
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

fn planned(plan: Plan, cacheable: bool, schema: &Schema, parsed: &Parsed) -> CachedPlan {
    CachedPlan::new(plan, schema.version, parsed.parameters, cacheable)
}
