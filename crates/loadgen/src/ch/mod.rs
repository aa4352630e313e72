//! CH-benCHmark (Cole and others, "The mixed workload CH-benCHmark", 2011): TPC-C's terminals, and at the
//! same time 22 analytical queries on the same tables, which are TPC-H's in TPC-C's schema.
//!
//! It adds TPC-H's suppliers, nations and regions to TPC-C's tables. Some connections are analysts, which
//! send the queries in turn; all others are terminals. TPC-C's consistency conditions hold here, too. The
//! results of queries change as terminals write, so they are checked when nothing runs: on StemDB, both
//! executors must return the same rows.

mod population;

use crate::client::{Connection, Row};
use crate::error::{Error, Result};
use crate::options::{OptionSpec, Options};
use crate::result::{Figure, Rung};
use crate::tables::Tables;
use crate::tpcc;
use crate::workload::{Checks, Context, Next, Worker, Workload, WorkloadSpec};

/// The tables that TPC-C does not have.
const TABLES: Tables = Tables(include_str!("schema.sql"));

const QUERIES: [&str; 22] = [
    include_str!("queries/01.sql"),
    include_str!("queries/02.sql"),
    include_str!("queries/03.sql"),
    include_str!("queries/04.sql"),
    include_str!("queries/05.sql"),
    include_str!("queries/06.sql"),
    include_str!("queries/07.sql"),
    include_str!("queries/08.sql"),
    include_str!("queries/09.sql"),
    include_str!("queries/10.sql"),
    include_str!("queries/11.sql"),
    include_str!("queries/12.sql"),
    include_str!("queries/13.sql"),
    include_str!("queries/14.sql"),
    include_str!("queries/15.sql"),
    include_str!("queries/16.sql"),
    include_str!("queries/17.sql"),
    include_str!("queries/18.sql"),
    include_str!("queries/19.sql"),
    include_str!("queries/20.sql"),
    include_str!("queries/21.sql"),
    include_str!("queries/22.sql"),
];

pub const WORKLOADS: &[WorkloadSpec] = &[WorkloadSpec {
    name: "ch",
    summary: "CH-benCHmark: TPC-C's terminals and 22 analytical queries at the same time",
    options: OPTIONS,
    build,
}];

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "analysts",
        "1",
        "connections that send queries; the others are terminals",
    ),
    tpcc::OPTIONS[0],
    tpcc::OPTIONS[1],
];

fn build(options: &Options) -> Result<Box<dyn Workload>> {
    Ok(Box::new(Ch {
        analysts: options.integer("analysts", 0..=1_000)? as usize,
        tpcc: tpcc::build(options)?,
    }))
}

struct Ch {
    analysts: usize,
    tpcc: Box<dyn Workload>,
}

impl Workload for Ch {
    fn operations(&self) -> Vec<String> {
        let queries = (1..=QUERIES.len()).map(|number| format!("q{number}"));
        self.tpcc.operations().into_iter().chain(queries).collect()
    }

    fn prepare(&self, context: &Context) -> Result<()> {
        self.tpcc.prepare(context)?;
        let mut connection = Connection::open(&context.target)?;
        TABLES.drop(&mut connection)?;
        TABLES.create(&mut connection)?;
        population::load(&mut connection, context.seed)?;
        TABLES.analyze(&mut connection)?;
        tpcc::TABLES.analyze(&mut connection)
    }

    fn open(&self, context: &Context) -> Result<()> {
        self.tpcc.open(context)
    }

    fn worker(&self, context: &Context, number: usize, threads: usize) -> Result<Box<dyn Worker + '_>> {
        match number.checked_sub(self.analysts) {
            Some(number) => self.tpcc.worker(context, number, threads),
            None => Ok(Box::new(Analyst {
                connection: Connection::open(&context.target)?,
                first: self.tpcc.operations().len(),
                // Each analyst starts with another query.
                turn: number,
            })),
        }
    }

    fn figures(&self, rung: &Rung) -> Vec<Figure> {
        let queries = rung.operations.iter().skip(self.tpcc.operations().len());
        let count: u64 = queries.map(|operation| operation.count).sum();
        let mut figures = self.tpcc.figures(rung);
        figures.push(Figure {
            name: "queries an hour".to_owned(),
            value: count as f64 * 3600.0 / rung.elapsed_seconds.max(0.001),
        });
        figures
    }

    fn check(&self, context: &Context, checks: &mut Checks) -> Result<()> {
        self.tpcc.check(context, checks)?;
        let mut connection = Connection::open(&context.target)?;
        for (number, sql) in (1..).zip(QUERIES) {
            check_query(&mut connection, number, sql, checks)?;
        }
        Ok(())
    }

    fn cleanup(&self, context: &Context) -> Result<()> {
        TABLES.drop(&mut Connection::open(&context.target)?)?;
        self.tpcc.cleanup(context)
    }
}

/// Checks that both executors of StemDB return the same rows for a query. Other servers only have to run it.
fn check_query(connection: &mut Connection, number: usize, sql: &str, checks: &mut Checks) -> Result<()> {
    let name = format!("q{number}");
    if !connection.server_version().contains("StemDB") {
        let rows = connection.fetch_query(sql)?.len();
        checks.add(name, true, format!("{rows} rows"));
        return Ok(());
    }
    let mut answer = |route: &str| -> Result<Vec<Row>> {
        connection.query(&format!("SET stemdb_route = '{route}'"))?;
        let mut rows = connection.fetch_query(sql)?;
        // Rows that tie in the ORDER BY may come in any order.
        rows.sort_by_cached_key(|row| format!("{row:?}"));
        Ok(rows)
    };
    let small = answer("transactional")?;
    let large = answer("analytical")?;
    connection.query("SET stemdb_route = 'auto'")?;
    let detail = match small == large {
        true => format!("{} rows by both executors", small.len()),
        false => format!("the executors differ: {} rows and {}", small.len(), large.len()),
    };
    checks.add(name, small == large, detail);
    Ok(())
}

struct Analyst {
    connection: Connection,
    /// The operation of the first query.
    first: usize,
    turn: usize,
}

impl Worker for Analyst {
    fn next(&mut self) -> Next {
        let query = self.turn % QUERIES.len();
        self.turn += 1;
        Next::now(self.first + query)
    }

    fn run(&mut self, operation: usize) -> Result<()> {
        let query = operation
            .checked_sub(self.first)
            .and_then(|query| QUERIES.get(query));
        let Some(sql) = query else {
            return Err(Error::Unexpected(format!("no query {operation}")));
        };
        self.connection.fetch_query(sql).map(drop)
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
