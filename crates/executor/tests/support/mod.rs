//! SQL on the memory engine, without a server: what the tests of this crate are written in.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "tests")]

pub mod rel;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arrow::record_batch::RecordBatch;
use cluster::Cluster;
use cluster::node::NodeOptions;
use ddl::{DdlContext, SchemaChanger};
use executor::{DmlResult, ExecContext, NoVirtualTables, ReadSource, RowSink};
use functions::{EvalContext, Strictness, TimeZone, Warnings};
use kv::{Durability, Interrupt, Store, Transaction, TxnOptions};
use optimizer::{Planned, Surroundings};
use planner::plan::{Plan, QueryPlan, Route};
use planner::{BindEnv, Bound};
use types::array::ColumnView;
use types::{Collation, Result, SqlMode, SqlType, Value};
use wire::row::RowEncoder;

/// A database `d` in memory.
pub struct Db {
    pub store: Store,
    pub cluster: Arc<Cluster>,
    pub changer: Arc<SchemaChanger>,
}

/// One connection to it.
pub struct Conn<'d> {
    pub db: &'d Db,
    pub txn: Option<Transaction>,
    pub sql_mode: SqlMode,
    pub time_zone: TimeZone,
    pub lock_wait: Duration,
    pub memory_limit_bytes: usize,
    pub spill_directory: PathBuf,
    pub auto_increment: (u64, u64),
    pub explicit_auto_random: bool,
    pub cte_max_recursion_depth: u64,
    pub interrupt: Arc<Interrupt>,
    pub last_insert_id: u64,
    /// What the last statement warned of: `code message`.
    pub warnings: Vec<String>,
    /// How many warnings it had.
    pub warning_count: u64,
}

pub enum Answer {
    Rows(Vec<Vec<String>>),
    Done(DmlResult),
}

/// A batch's rows as the payloads of their packets.
pub fn packets(encoder: &RowEncoder, batch: &RecordBatch) -> Result<Vec<Vec<u8>>> {
    let rows = encoder.batch(batch)?;
    let payload = |row| {
        let mut payload = Vec::new();
        rows.encode(row, &mut payload);
        payload
    };
    Ok((0..rows.len()).map(payload).collect())
}

/// Collects rows as text; NULL as `NULL`.
struct Text<'p> {
    plan: &'p QueryPlan,
    rows: Vec<Vec<String>>,
    batches: Vec<usize>,
}

impl RowSink for Text<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        self.batches.push(batch.num_rows());
        // Batches of several rows are bounded, whatever the rows are made of.
        let bytes = batch
            .columns()
            .iter()
            .map(|column| column.to_data().get_slice_memory_size().unwrap());
        assert!(bytes.sum::<usize>() < 16 << 20 || batch.num_rows() == 1);
        assert_eq!(batch.num_columns(), self.plan.columns.len());
        for (array, column) in batch.columns().iter().zip(&self.plan.columns) {
            assert_eq!(array.data_type(), &column.ty.arrow_type(), "{}", column.name);
        }
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().zip(&self.plan.columns);
            let text = values.map(|(array, column)| {
                ColumnView::new(array, &column.ty)
                    .value(row)
                    .display_text(&column.ty)
            });
            self.rows.push(text.collect());
        }
        Ok(())
    }
}

impl Db {
    pub fn new() -> Self {
        let store = Store::memory();
        let db = Self::on(store.clone(), Cluster::open(store, Vec::new()).unwrap());
        db.conn().exec("create database d");
        db
    }

    /// One of several servers on a store. On the first, the test has to create the database.
    pub fn node(store: &Store) -> Self {
        let options = NodeOptions {
            lease: Duration::from_secs(3_600),
            ..NodeOptions::default()
        };
        let cluster = Cluster::join(store.clone(), Vec::new(), options).unwrap();
        Self::on(store.clone(), cluster)
    }

    fn on(store: Store, cluster: Arc<Cluster>) -> Self {
        Self {
            store,
            changer: SchemaChanger::open(cluster.clone()).unwrap(),
            cluster,
        }
    }

    pub fn with(statements: &str) -> Self {
        let db = Self::new();
        db.conn().exec_all(statements);
        db
    }

    pub fn conn(&self) -> Conn<'_> {
        Conn {
            db: self,
            txn: None,
            sql_mode: SqlMode::default(),
            time_zone: TimeZone::UTC,
            lock_wait: Duration::from_millis(200),
            memory_limit_bytes: 64 << 20,
            spill_directory: std::env::temp_dir(),
            auto_increment: (1, 1),
            explicit_auto_random: false,
            cte_max_recursion_depth: 1000,
            interrupt: Interrupt::new(),
            last_insert_id: 0,
            warnings: Vec::new(),
            warning_count: 0,
        }
    }

    /// Fails unless the indexes of a table agree with its rows.
    pub fn check(&self, table: &str) {
        let schema = self.cluster.schema();
        let table = schema.table("d", table).unwrap();
        ddl::check::check_table(&self.store, table, &Interrupt::new()).unwrap();
    }
}

impl Conn<'_> {
    pub fn plan(&self, sql: &str, params: &[Value]) -> Result<Plan> {
        match self.planned(sql, params)? {
            Planned::Plan(planned) => Ok(planned.plan),
            other => panic!("{sql} is no plan: {other:?}"),
        }
    }

    fn planned(&self, sql: &str, params: &[Value]) -> Result<Planned> {
        let surroundings = Surroundings {
            route: Some(Route::Transactional),
            switches: optimizer::Switches::default(),
            estimates: &optimizer::RowCounts(|_| 1_000_000),
        };
        optimizer::plan(self.bind(sql, params)?, &surroundings)
    }

    fn bind(&self, sql: &str, params: &[Value]) -> Result<Bound> {
        let parsed = syntax::parse(sql, &self.sql_mode)?;
        let types: Vec<SqlType> = params
            .iter()
            .map(|v| functions::bind::type_of_value(v, Collation::DEFAULT))
            .collect();
        let env = BindEnv {
            schema: self.db.cluster.schema(),
            temporary: &schema::temporary_tables::NO_TEMPORARY_TABLES,
            database: Some("d"),
            params: &types,
            planned_for: planner::PlannedFor::Text,
            params_known: true,
            places: None,
            literal_params: false,
            sql_mode: self.sql_mode,
            charset_client: types::Charset::Utf8mb4,
            collation_connection: Collation::DEFAULT,
            collation_server: Collation::DEFAULT,
            div_precision_increment: 4,
            default_week_format: 0,
            group_concat_max_len: 1024,
            time_zone: self.time_zone,
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
        planner::bind(&parsed[0], &env)
    }

    pub fn eval(&self, params: &[Value], strict: bool) -> EvalContext {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        EvalContext {
            params: params.to_vec(),
            sql_mode: self.sql_mode,
            strictness: if strict {
                Strictness::Error
            } else {
                Strictness::Warn
            },
            time_zone: self.time_zone,
            now_us: now.as_micros() as i64,
            last_insert_id: self.last_insert_id,
            database: Some("d".into()),
            ..EvalContext::default()
        }
    }

    pub fn context<'a>(&'a self, eval: &'a EvalContext) -> ExecContext<'a> {
        ExecContext {
            eval,
            store: &self.db.store,
            cluster: &self.db.cluster,
            virtual_tables: &NoVirtualTables,
            interrupt: &self.interrupt,
            lock_wait: self.lock_wait,
            memory_limit_bytes: self.memory_limit_bytes,
            spill: executor::SpillSpace::new(&self.spill_directory),
            memory: memory::Broker::unlimited(),
            auto_increment: self.auto_increment,
            insert_select: None,
            alone_wait: None,
            explicit_auto_random: self.explicit_auto_random,
            file: None,
            cte_max_recursion_depth: self.cte_max_recursion_depth,
        }
    }

    pub fn run(&mut self, sql: &str, params: &[Value]) -> Result<Answer> {
        self.warnings.clear();
        let plan = match self.planned(sql, params)? {
            Planned::Plan(planned) => planned.plan,
            Planned::Ddl(ddl) => {
                self.db.changer.execute(&ddl, &self.ddl_context())?;
                return Ok(Answer::Done(DmlResult::default()));
            }
            Planned::Command(command) => panic!("{sql} is a command: {command:?}"),
        };
        self.run_made(&plan, params)
    }

    /// Runs a plan, for the first time or again.
    pub fn run_made(&mut self, plan: &Plan, params: &[Value]) -> Result<Answer> {
        let ignore = match plan {
            Plan::Insert(p) => p.ignore,
            Plan::Update(p) => p.ignore,
            Plan::Delete(p) => p.ignore,
            Plan::FoundWrite(p) => p.ignore,
            Plan::Query(_) => true,
        };
        let eval = self.eval(params, self.sql_mode.strict && !ignore);
        let mut txn = self.txn.take();
        let result = self.run_plan(plan, &mut txn, &eval);
        self.txn = txn;
        let (warnings, count) = eval.warnings.take();
        self.warning_count = count;
        self.warnings = warnings
            .iter()
            .map(|w| format!("{} {}", w.code, w.message))
            .collect();
        if let Some(id) = *eval.set_last_insert_id.lock().unwrap() {
            self.last_insert_id = id;
        }
        if let Ok(Answer::Done(done)) = &result
            && let Some(id) = done.generated_id
        {
            self.last_insert_id = id;
        }
        result
    }

    fn run_plan(&self, plan: &Plan, txn: &mut Option<Transaction>, eval: &EvalContext) -> Result<Answer> {
        let ctx = self.context(eval);
        if let Plan::Query(query) = plan {
            let mut sink = Text {
                plan: query,
                rows: Vec::new(),
                batches: Vec::new(),
            };
            match txn {
                Some(txn) => executor::query(query, ReadSource::Transaction(txn), &ctx, &mut sink)?,
                None if query.locking.is_some() => {
                    let mut txn = self.db.store.begin(TxnOptions::default())?;
                    executor::query(query, ReadSource::Transaction(&mut txn), &ctx, &mut sink)?;
                }
                None => {
                    let snapshot = match executor::reads_one_moment(query) {
                        true => self.db.store.latest(),
                        false => self.db.store.snapshot_now()?,
                    };
                    executor::query(query, ReadSource::Snapshot(&snapshot), &ctx, &mut sink)?;
                }
            }
            return Ok(Answer::Rows(sink.rows));
        }
        let mut own = None;
        let txn = match txn {
            Some(txn) => txn,
            None => own.insert(self.db.store.begin(TxnOptions::default())?),
        };
        let savepoint = txn.savepoint();
        let result = match plan {
            Plan::Insert(plan) => executor::insert(plan, txn, &ctx),
            Plan::Update(plan) => executor::update(plan, txn, &ctx),
            Plan::Delete(plan) => executor::delete(plan, txn, &ctx),
            Plan::FoundWrite(plan) => executor::write_found(plan, txn, &ctx),
            Plan::Query(_) => unreachable!(),
        };
        if result.is_err() {
            txn.rollback_to(savepoint);
        }
        txn.release(savepoint);
        if let Some(own) = own {
            own.commit(Durability::Sync)?;
        }
        result.map(Answer::Done)
    }

    fn ddl_context(&self) -> DdlContext {
        DdlContext {
            interrupt: Interrupt::new(),
            lock_wait: Duration::from_secs(1),
            now_us: 0,
            time_zone: self.time_zone,
            sql_mode: self.sql_mode,
            server_collation: Collation::DEFAULT,
            user: "'root'@'localhost'".into(),
            foreign_key_checks: true,
            auto_increment: (1, 1),
            require_primary_key: false,
            progress: std::default::Default::default(),
            warned: std::default::Default::default(),
        }
    }

    pub fn exec(&mut self, sql: &str) -> DmlResult {
        self.exec_with(sql, &[])
    }

    pub fn exec_with(&mut self, sql: &str, params: &[Value]) -> DmlResult {
        match self.run(sql, params) {
            Ok(Answer::Done(done)) => done,
            Ok(Answer::Rows(_)) => panic!("{sql} gives rows"),
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// Statements separated by semicolons.
    pub fn exec_all(&mut self, statements: &str) {
        for sql in statements.split(';').map(str::trim).filter(|s| !s.is_empty()) {
            self.exec(sql);
        }
    }

    /// `affected matched records duplicates`.
    pub fn counts(&mut self, sql: &str) -> [u64; 4] {
        let r = self.exec(sql);
        [r.affected, r.matched, r.records, r.duplicates]
    }

    /// Rows as lines, columns separated by spaces.
    pub fn rows(&mut self, sql: &str) -> Vec<String> {
        self.rows_with(sql, &[])
    }

    pub fn rows_with(&mut self, sql: &str, params: &[Value]) -> Vec<String> {
        match self.run(sql, params) {
            Ok(Answer::Rows(rows)) => rows.iter().map(|row| row.join(" ")).collect(),
            Ok(Answer::Done(_)) => panic!("{sql} gives no rows"),
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// `code message`.
    pub fn error(&mut self, sql: &str) -> String {
        match self.run(sql, &[]) {
            Err(error) => format!("{} {}", error.code, error.message),
            Ok(_) => panic!("{sql} does not fail"),
        }
    }

    pub fn begin(&mut self) {
        assert!(self.txn.is_none());
        self.txn = Some(self.db.store.begin(TxnOptions::default()).unwrap());
    }

    pub fn commit(&mut self) {
        self.txn.take().unwrap().commit(Durability::Sync).unwrap();
    }

    pub fn rollback(&mut self) {
        self.txn.take().unwrap().rollback();
    }
}
