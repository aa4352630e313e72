//! TPC-H: eight tables of a wholesaler's orders, and 22 queries on them.
//!
//! The queries are those of the standard's power test, with its validation parameters, each as one operation
//! and in the order of their numbers. The rows are those of its generator, so that answers can be compared
//! with the published ones. Each answer of each run is checked, and a wrong one counts as an error. There are
//! no refresh functions and no audit. So the figures compare servers with each other, and are not QphH.
//!
//! - [`TABLES`], [`data`]: the tables and their rows. [`queries`]: the queries. [`answers`]: the expected
//!   answers.

pub mod answers;
pub mod data;
pub mod queries;

use std::path::PathBuf;
use std::time::Instant;

use crate::client::Connection;
use crate::error::{Error, Result};
use crate::load;
use crate::options::{OptionSpec, Options};
use crate::result::{Figure, Operation, Rung};
use crate::tables::Tables;
use crate::workload::{Checks, Context, Next, Worker, Workload, WorkloadSpec, check_indexes};
use answers::Answers;
use queries::Query;

/// The eight tables of the standard (clause 1.4) in MySQL's types, small ones first, with their primary keys
/// and the indexes that its foreign keys make in MySQL. The foreign keys themselves are left out.
const TABLES: Tables = Tables(include_str!("schema.sql"));

pub const WORKLOADS: &[WorkloadSpec] = &[WorkloadSpec {
    name: "tpch",
    summary: "TPC-H: 22 analytical queries on eight tables, answers checked",
    options: OPTIONS,
    build,
}];

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "scale",
        "0.1",
        "the scale factor; 1 is 8.7 million rows. Answers are known for 0.01, 0.1 and 1",
    ),
    OptionSpec::new(
        "answers",
        "",
        "a file of answers to compare with, in place of the known ones",
    ),
    OptionSpec::new("record", "", "check writes the server's answers to this file"),
];

fn build(options: &Options) -> Result<Box<dyn Workload>> {
    let scale = options.float("scale")?;
    if !(0.001..=300.0).contains(&scale) {
        return Err(Error::Arguments(format!(
            "scale must be from 0.001 to 300, not {scale}"
        )));
    }
    let answers = match options.text("answers")? {
        "" => Answers::of_scale(scale)?,
        path => {
            let path = PathBuf::from(path);
            let text = std::fs::read_to_string(&path).map_err(|source| Error::File { path, source })?;
            Answers::parse(&text)?
        }
    };
    let record = Some(options.text("record")?).filter(|path| !path.is_empty());
    Ok(Box::new(Tpch {
        scale,
        queries: queries::queries(scale),
        answers,
        record: record.map(PathBuf::from),
    }))
}

struct Tpch {
    scale: f64,
    queries: Vec<Query>,
    answers: Answers,
    record: Option<PathBuf>,
}

impl Workload for Tpch {
    fn operations(&self) -> Vec<String> {
        self.queries.iter().map(Query::name).collect()
    }

    fn prepare(&self, context: &Context) -> Result<()> {
        let mut connection = Connection::open(&context.target)?;
        TABLES.drop(&mut connection)?;
        TABLES.create(&mut connection)?;
        let parts = data::parts(self.scale);
        load::in_parallel(
            context,
            "ranges of rows",
            parts.len() as u64,
            |connection, part| parts[part as usize].load(connection, self.scale),
        )?;
        TABLES.analyze(&mut connection)
    }

    fn worker(&self, context: &Context, number: usize, _threads: usize) -> Result<Box<dyn Worker + '_>> {
        Ok(Box::new(Analyst {
            connection: Connection::open(&context.target)?,
            workload: self,
            // Each client starts with another query.
            turn: number,
        }))
    }

    fn figures(&self, rung: &Rung) -> Vec<Figure> {
        query_times(&rung.operations)
    }

    fn check(&self, context: &Context, checks: &mut Checks) -> Result<()> {
        let mut connection = Connection::open(&context.target)?;
        for table in TABLES.names() {
            check_indexes(&mut connection, table, checks)?;
        }
        let mut found = Answers::default();
        for query in &self.queries {
            let began = Instant::now();
            let rows = connection.fetch_query(&query.sql)?;
            let time = began.elapsed().as_secs_f64();
            let mistake = self.answers.mistake(query, &rows);
            let detail = match &mistake {
                Some(what) => what.clone(),
                None if self.answers.are_known() => format!("right, {} rows, {time:.3} s", rows.len()),
                None => format!("{} rows, {time:.3} s; the answer is not known", rows.len()),
            };
            checks.add(query.name(), mistake.is_none(), detail);
            found.add(query, &rows);
        }
        if let Some(path) = &self.record {
            let path = path.clone();
            std::fs::write(&path, found.print()).map_err(|source| Error::File { path, source })?;
        }
        Ok(())
    }

    fn cleanup(&self, context: &Context) -> Result<()> {
        TABLES.drop(&mut Connection::open(&context.target)?)
    }
}

/// The sum and the geometric mean of the queries' median times; nothing if a query has failed.
pub fn query_times(operations: &[Operation]) -> Vec<Figure> {
    if operations.is_empty() || operations.iter().any(|operation| operation.count == 0) {
        return Vec::new();
    }
    let seconds = |operation: &Operation| operation.latency.p50_us / 1e6;
    let total = operations.iter().map(seconds).sum();
    let logarithms: f64 = operations.iter().map(|operation| seconds(operation).ln()).sum();
    let figure = |name: &str, value| Figure {
        name: name.to_owned(),
        value,
    };
    vec![
        figure("all queries, seconds", total),
        figure(
            "geometric mean, seconds",
            (logarithms / operations.len() as f64).exp(),
        ),
    ]
}

struct Analyst<'a> {
    connection: Connection,
    workload: &'a Tpch,
    turn: usize,
}

impl Worker for Analyst<'_> {
    fn next(&mut self) -> Next {
        let operation = self.turn % self.workload.queries.len();
        self.turn += 1;
        Next::now(operation)
    }

    fn run(&mut self, operation: usize) -> Result<()> {
        let Some(query) = self.workload.queries.get(operation) else {
            return Err(Error::Unexpected(format!("no query {operation}")));
        };
        let rows = self.connection.fetch_query(&query.sql)?;
        match self.workload.answers.mistake(query, &rows) {
            None => Ok(()),
            Some(what) => Err(Error::Unexpected(format!("wrong answer to {what}"))),
        }
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Latency;

    #[test]
    fn times_of_queries_add_up_once_all_were_answered() {
        let operation = |count, p50_us| Operation {
            count,
            latency: Latency {
                p50_us,
                ..Latency::default()
            },
            ..Operation::default()
        };
        let figures = query_times(&[operation(1, 1e6), operation(2, 4e6)]);
        assert!((figures[0].value - 5.0).abs() < 1e-9 && (figures[1].value - 2.0).abs() < 1e-9);
        assert!(query_times(&[operation(1, 1e6), operation(0, 0.0)]).is_empty());
    }

    #[test]
    fn wrong_scales_are_refused() {
        for scale in ["0", "1000", "x"] {
            let given = [("scale".to_owned(), scale.to_owned())];
            let options = Options::resolve("tpch", OPTIONS, &given).unwrap();
            assert!(build(&options).is_err(), "{scale}");
        }
    }
}
