//! Statements through the runner alone: on the memory engine, without a connection.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cluster::Cluster;
use ddl::{DdlContext, SchemaChanger};
use executor::{NoVirtualTables, RowSink};
use functions::{EvalContext, Strictness, TimeZone, Warnings};
use kv::{Interrupt, Store};
use optimizer::{Planned, Surroundings};
use planner::object_access::LockMode;
use planner::plan::{Plan, Route};
use planner::{BindEnv, Bound, CachedPlan};
use runner::{
    BeginOptions, Collected, Engine, Environment, Evaluation, Isolation, Outcome, Runner, Settings,
    TransactionContext,
};
use schema::privilege::PrivilegeSet;
use types::{Collation, Result, SqlMode};

const DUPLICATE: u16 = 1062;

/// A program of statements, as an event or a routine will be.
struct Program {
    engine: Engine,
    changer: Arc<SchemaChanger>,
    settings: Settings,
    interrupt: Arc<Interrupt>,
    transaction: TransactionContext,
    /// How many rows the optimizer takes a table to have.
    estimated_rows: u64,
}

impl Program {
    fn new() -> Self {
        let store = Store::memory();
        let cluster = Cluster::open(store.clone(), system::databases().unwrap()).unwrap();
        let program = Self {
            transaction: TransactionContext::new(cluster.metadata_locks().clone()),
            changer: SchemaChanger::open(cluster.clone()).unwrap(),
            engine: Engine::new(store, cluster, std::env::temp_dir()),
            settings: settings(),
            interrupt: Interrupt::new(),
            estimated_rows: 0,
        };
        program.define("CREATE DATABASE d");
        program.define("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
        program
    }

    fn bind(&self, sql: &str) -> Bound {
        let parsed = syntax::parse(sql, &SqlMode::default()).unwrap();
        let env = BindEnv {
            schema: self.engine.cluster.schema(),
            temporary: &schema::temporary_tables::NO_TEMPORARY_TABLES,
            database: Some("d"),
            params: &[],
            planned_for: planner::PlannedFor::Text,
            params_known: true,
            places: None,
            literal_params: false,
            sql_mode: SqlMode::default(),
            charset_client: types::Charset::Utf8mb4,
            collation_connection: Collation::DEFAULT,
            collation_server: Collation::DEFAULT,
            div_precision_increment: 4,
            default_week_format: 0,
            group_concat_max_len: 1024,
            time_zone: TimeZone::UTC,
            system_variable: &|_, name| {
                Err(types::Error::internal(format!(
                    "there is no variable @@{name} in this context"
                )))
            },
            user_variables: &HashMap::new(),
            check_table: &|_, _, _| Ok(()),
            denied_column: &|_, _, _| None,
            thread: 0,
            check_accesses: &|_| Ok(()),
            denied: &|database| panic!("no access to {database}"),
            warnings: &Warnings::default(),
            foreign_key_checks: true,
        };
        planner::bind(&parsed[0], &env).unwrap()
    }

    fn define(&self, sql: &str) {
        let Bound::Ddl(ddl) = self.bind(sql) else {
            panic!("{sql} is no definition");
        };
        let context = DdlContext {
            interrupt: Interrupt::new(),
            lock_wait: Duration::from_secs(1),
            now_us: 0,
            time_zone: TimeZone::UTC,
            sql_mode: SqlMode::default(),
            server_collation: Collation::DEFAULT,
            user: "'root'@'localhost'".into(),
            foreign_key_checks: true,
            auto_increment: (1, 1),
            require_primary_key: false,
            progress: std::default::Default::default(),
            warned: std::default::Default::default(),
        };
        self.changer.execute(&ddl, &context).unwrap();
    }

    fn plan(&self, sql: &str) -> CachedPlan {
        let surroundings = Surroundings {
            route: None,
            switches: optimizer::Switches::default(),
            estimates: &optimizer::RowCounts(|_| self.estimated_rows),
        };
        match optimizer::plan(self.bind(sql), &surroundings).unwrap() {
            Planned::Plan(planned) => {
                let version = self.engine.cluster.schema_version();
                CachedPlan::new(planned.plan, planned.accesses, version, 0, true)
            }
            other => panic!("{sql} is no plan: {other:?}"),
        }
    }

    fn runner(&mut self) -> Runner<'_> {
        Runner {
            env: Environment {
                engine: &self.engine,
                settings: &self.settings,
                interrupt: &self.interrupt,
            },
            transaction: &mut self.transaction,
        }
    }

    /// Locks the tables of a statement and runs it.
    fn run(&mut self, sql: &str, sink: &mut dyn RowSink) -> Result<Outcome> {
        let plan = self.plan(sql);
        let mut runner = self.runner();
        runner.rely_on_lease().unwrap();
        assert!(
            runner
                .lock_tables(&plan.accesses, plan.schema_version, false)
                .unwrap()
        );
        runner.run(&plan.plan, evaluation(&context()), sink)
    }

    fn write(&mut self, sql: &str) -> Result<u64> {
        match self.run(sql, &mut rows())? {
            Outcome::Changed(result) => Ok(result.affected),
            Outcome::Rows(_) => panic!("{sql} has rows"),
        }
    }

    /// The number of rows of a query.
    fn count(&mut self, sql: &str) -> usize {
        let mut sink = rows();
        self.run(sql, &mut sink).unwrap();
        sink.rows
    }
}

fn settings() -> Settings {
    Settings {
        autocommit: true,
        isolation: Isolation::RepeatableRead,
        read_only: false,
        optimistic: false,
        row_lock_wait: Duration::from_millis(200),
        metadata_lock_wait: Duration::from_secs(1),
        memory_limit_bytes: 64 << 20,
        auto_increment: (1, 1),
        explicit_auto_random: false,
        cte_max_recursion_depth: 1000,
        select_limit: u64::MAX,
        safe_updates: false,
        max_join_size: None,
        is_admin: false,
    }
}

fn context() -> Arc<EvalContext> {
    Arc::new(EvalContext {
        strictness: Strictness::Error,
        ..EvalContext::default()
    })
}

fn evaluation(context: &Arc<EvalContext>) -> Evaluation<'_> {
    Evaluation {
        context,
        tables: &NoVirtualTables,
        file: None,
    }
}

fn rows() -> Collected {
    Collected::limited(memory::Broker::unlimited(), 64 << 20)
}

#[test]
fn statements_commit_or_undo_themselves() {
    let mut program = Program::new();
    assert_eq!(program.write("INSERT INTO t VALUES (1, 10), (2, 20)").unwrap(), 2);
    let failed = program.write("INSERT INTO t VALUES (3, 30), (1, 11)");
    assert_eq!(failed.unwrap_err().code, DUPLICATE);
    assert_eq!(program.count("SELECT * FROM t"), 2);
    assert_eq!(program.write("UPDATE t SET a = a + 1 WHERE id = 2").unwrap(), 1);
    assert_eq!(program.count("SELECT * FROM t WHERE a = 21"), 1);
    assert!(!program.transaction.is_open());
    let counters = &program.engine.counters;
    assert_eq!(
        (
            counters.committed.load(Ordering::Relaxed),
            counters.rolled_back.load(Ordering::Relaxed)
        ),
        (2, 1)
    );
}

#[test]
fn a_query_that_turns_out_large_changes_its_executor() {
    let mut program = Program::new();
    for start in (0..40_000).step_by(8_000) {
        let rows = (start..start + 8_000).map(|id| format!("({id}, {})", id % 7));
        let rows: Vec<String> = rows.collect();
        let insert = format!("INSERT INTO t VALUES {}", rows.join(", "));
        assert_eq!(program.write(&insert).unwrap(), 8_000);
    }
    program.estimated_rows = 10_000;
    let large = "SELECT a, COUNT(*) FROM t WHERE id > 5 GROUP BY a";
    let plan = program.plan(large).plan;
    assert!(
        matches!(&plan, Plan::Query(query) if query.route == Route::Transactional && query.larger.is_some())
    );
    let analytical = |program: &Program| program.engine.counters.analytical.load(Ordering::Relaxed);
    assert_eq!(
        program.count("SELECT a, COUNT(*) FROM t WHERE id > 39990 GROUP BY a"),
        7
    );
    assert_eq!(analytical(&program), 0, "few rows are read");
    assert_eq!(program.count(large), 7);
    assert_eq!(analytical(&program), 1, "more rows than were expected");
    // Rows that have left cannot be taken back.
    assert_eq!(program.count("SELECT a FROM t WHERE id > 5 AND a < 9"), 39_994);
    assert_eq!(analytical(&program), 1);
    let runner = program.runner();
    runner
        .transaction
        .begin(runner.env, BeginOptions::default())
        .unwrap();
    assert_eq!(program.count(large), 7);
    assert_eq!(analytical(&program), 2, "at the transaction's snapshot");
    program.write("INSERT INTO t VALUES (40000, 7)").unwrap();
    assert_eq!(program.count(large), 8);
    assert_eq!(
        analytical(&program),
        2,
        "the other executor does not see the transaction's rows"
    );
    program.runner().rollback();
}

#[test]
fn a_transaction_outlives_its_statements() {
    let mut program = Program::new();
    let runner = program.runner();
    runner
        .transaction
        .begin(runner.env, BeginOptions::default())
        .unwrap();
    program.write("INSERT INTO t VALUES (1, 10)").unwrap();
    let failed = program.write("INSERT INTO t VALUES (2, 20), (1, 11)");
    assert_eq!(failed.unwrap_err().code, DUPLICATE);
    // The statement that failed is undone alone.
    assert_eq!(program.count("SELECT * FROM t"), 1);
    program.runner().rollback();
    assert_eq!(program.count("SELECT * FROM t"), 0);
}

/// What a trigger does: statements inside another one, in its transaction, each with a rollback of its own.
#[test]
fn a_statement_inside_another_one_is_undone_alone_or_with_it() {
    let mut program = Program::new();
    let outer = program.plan("INSERT INTO t VALUES (1, 10)");
    let fails = program.plan("INSERT INTO t VALUES (2, 20), (1, 11)");
    let inner = program.plan("INSERT INTO t VALUES (3, 30)");
    let all = program.plan("SELECT * FROM t");
    for succeeds in [false, true] {
        let context = context();
        let with = evaluation(&context);
        let mut runner = program.runner();
        runner.rely_on_lease().unwrap();
        runner
            .lock_tables(&outer.accesses, outer.schema_version, false)
            .unwrap();
        let result = runner.statement(|runner| {
            runner.write(&outer.plan, with)?;
            let failed = runner.nested(&fails.plan, with, &mut rows());
            assert_eq!(failed.unwrap_err().code, DUPLICATE);
            let inner = runner.nested(&inner.plan, with, &mut rows())?;
            assert!(matches!(inner, Outcome::Changed(result) if result.affected == 1));
            // It sees what both have written, before any commit.
            let mut seen = rows();
            runner.nested(&all.plan, with, &mut seen)?;
            assert_eq!(seen.rows, 2);
            assert!(runner.transaction.is_open());
            match succeeds {
                true => Ok(()),
                false => Err(types::Error::new(1644, "SIGNAL")),
            }
        });
        assert_eq!(result.is_ok(), succeeds);
        assert!(!program.transaction.is_open());
        assert_eq!(program.count("SELECT * FROM t"), if succeeds { 2 } else { 0 });
    }
}

#[test]
fn a_plan_is_made_again_where_its_table_has_changed() {
    let mut program = Program::new();
    let plan = program.plan("SELECT * FROM t");
    assert!(matches!(plan.plan, Plan::Query(_)));
    program.define("ALTER TABLE t ADD COLUMN b INT");
    let mut runner = program.runner();
    runner.rely_on_lease().unwrap();
    let is_current = runner.lock_tables(&plan.accesses, plan.schema_version, false);
    assert!(!is_current.unwrap());
    runner.transaction.release_statement_locks();
    assert_eq!(program.count("SELECT b FROM t"), 0);
}

#[test]
fn a_plan_lists_the_privileges_and_locks_it_needs() {
    let program = Program::new();
    program.define("CREATE TABLE u (id INT PRIMARY KEY)");
    let needs = |sql: &str| -> Vec<(String, PrivilegeSet, Option<LockMode>)> {
        let accesses = program.plan(sql).accesses.into_iter();
        accesses.map(|a| (a.alias, a.needs.all, a.lock)).collect()
    };
    let entry = |alias: &str, privileges, lock| (alias.to_owned(), privileges, lock);
    let (select, insert) = (PrivilegeSet::SELECT, PrivilegeSet::INSERT);
    let (read, write) = (Some(LockMode::Read), Some(LockMode::Write));
    assert!(needs("SELECT 1").is_empty());
    assert_eq!(
        needs("SELECT * FROM t AS x FOR SHARE"),
        [entry("x", select, read)]
    );
    assert_eq!(needs("SELECT * FROM t FOR UPDATE"), [entry("t", select, write)]);
    // FOR UPDATE locks no rows of a derived table.
    assert_eq!(
        needs("SELECT * FROM (SELECT * FROM t) AS d FOR UPDATE"),
        [entry("t", select, read)]
    );
    assert_eq!(
        needs("INSERT INTO t (id) SELECT id FROM u"),
        [entry("t", insert, write), entry("u", select, read)]
    );
    assert_eq!(
        needs("REPLACE INTO t VALUES (1, 1)"),
        [entry("t", insert | PrivilegeSet::DELETE, write)]
    );
    assert_eq!(
        needs("UPDATE t SET a = 1"),
        [entry("t", PrivilegeSet::UPDATE, write)]
    );
    // The server makes the rows: there is nothing to lock.
    let tables = "information_schema.tables";
    assert_eq!(
        needs(&format!("SELECT * FROM {tables}")),
        [entry("tables", select, None)]
    );
}
