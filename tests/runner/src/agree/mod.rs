//! Both executors agree: random queries run in the transactional and in the analytical executor, which must
//! return the same rows, or the same error.
//!
//! The queries are random, but the same in every run, unless a seed is given. The SQL corpus
//! ([`crate::sql`]) checks what the results should be. Over one table with every type, [`generate`] makes
//! the queries and [`table`] the rows; [`several`] makes queries over several tables. [`compare`] decides
//! which results are equal.

mod compare;
mod generate;
mod random;
mod several;
mod special;
mod table;

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

use crate::report::Report;
use crate::server::Address;
use crate::text;
use compare::{Answer, Sides};
use random::Random;

const DATABASE: &str = "agree";
const QUERIES: usize = 600;
const SEED: u64 = 0x5eed;

/// How many differences are printed. Further ones are only counted.
const DIFFERENCES_SHOWN: usize = 10;

/// The tables are small, so a query that takes longer is a hang.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// The queries over several tables.
#[derive(Debug, Clone)]
pub struct Several {
    /// A running MySQL that must return the same results.
    pub judge: Option<Opts>,
    pub seed: u64,
    /// How many schemas to make. Each gets a number of queries.
    pub rounds: u64,
    /// Each query runs without each rule of the optimizer in turn, not without a few.
    pub every_rule: bool,
}

impl Default for Several {
    fn default() -> Self {
        Self {
            judge: None,
            seed: SEED,
            rounds: 8,
            every_rule: false,
        }
    }
}

/// Runs all queries on a running server. MySQL has only one executor, so there is nothing to compare.
pub fn check(address: &Address, several: &Several, report: &mut Report) {
    if !address.stemdb {
        report.skip("agree", "only StemDB has two executors");
        return;
    }
    let mut both = match Both::connect(address) {
        Ok(both) => both,
        Err(why) => return report.fail("agree: set up", &why),
    };
    let special: Vec<String> = special::queries();
    report.check("agree: special queries", both.compare_all(&special));
    let mut random = Random::new(SEED);
    let queries: Vec<String> = (0..QUERIES).map(|_| generate::query(&mut random)).collect();
    report.check("agree: random queries", both.compare_all(&queries));
    report.check("agree: little memory", both.little_memory());
    several::check(address, several, report);
}

/// Compares the results with and without pushdown to the stores, in each executor.
pub fn check_pushed(address: &Address, report: &mut Report) {
    let both = match Both::connect(address) {
        Ok(both) => both,
        Err(why) => return report.fail("agree: set up", &why),
    };
    let mut random = Random::new(SEED);
    let queries: Vec<String> = (0..QUERIES / 2).map(|_| generate::query(&mut random)).collect();
    for (name, conn) in both.names.into_iter().zip([both.expected, both.got]) {
        let check = || -> Result<(), String> {
            let mut without = connect_to(address, name)?;
            without
                .query_drop("SET optimizer_switch = 'engine_condition_pushdown=off'")
                .map_err(text)?;
            Both {
                names: ["computed here", "pushed down"],
                expected: without,
                got: conn,
            }
            .compare_all(&queries)
        };
        report.check(&format!("agree: pushed down, {name}"), check());
    }
}

/// Two connections that must return the same results.
struct Both {
    /// The names of the two connections in messages.
    names: [&'static str; 2],
    expected: Conn,
    got: Conn,
}

impl Both {
    fn connect(address: &Address) -> Result<Self, String> {
        let mut admin = address.connect().map_err(text)?;
        for statement in [
            format!("DROP DATABASE IF EXISTS {DATABASE}"),
            format!("CREATE DATABASE {DATABASE}"),
        ] {
            admin.query_drop(statement).map_err(text)?;
        }
        let mut writer = address.connect_to(DATABASE).map_err(text)?;
        writer
            .query_drop("SET NAMES utf8mb4, time_zone = '+00:00'")
            .map_err(text)?;
        for statement in table::statements(&mut Random::new(SEED)) {
            writer
                .query_drop(&statement)
                .map_err(|e| format!("{e} in {statement:.300}"))?;
        }
        let names = ["transactional", "analytical"];
        Ok(Self {
            names,
            expected: connect_to(address, names[0])?,
            got: connect_to(address, names[1])?,
        })
    }

    fn compare_all(&mut self, queries: &[String]) -> Result<(), String> {
        let mut differences = Vec::new();
        for query in queries {
            if let Err(difference) = self.compare(query)? {
                differences.push(format!("{query}\n  {difference}"));
            }
        }
        if differences.is_empty() {
            return Ok(());
        }
        let count = differences.len();
        differences.truncate(DIFFERENCES_SHOWN);
        Err(format!(
            "{count} of {} queries differ:\n{}",
            queries.len(),
            differences.join("\n")
        ))
    }

    /// The outer error is a lost connection.
    fn compare(&mut self, query: &str) -> Result<Result<(), String>, String> {
        let names = self.names;
        let lost = |name: &str, e: String| format!("{name}: {e} in {query}");
        let expected = Answer::of(&mut self.expected, query).map_err(|e| lost(names[0], e))?;
        let got = Answer::of(&mut self.got, query).map_err(|e| lost(names[1], e))?;
        Ok(same(names, &expected, &got, query))
    }

    /// A query that cannot get the memory that it needs spills or fails, and later queries are not affected.
    fn little_memory(&mut self) -> Result<(), String> {
        let queries = [
            "SELECT v, c, l, COUNT(*), MAX(tx) FROM t GROUP BY id, v, c, l",
            "SELECT * FROM t ORDER BY tx, v, id",
            "SELECT COUNT(DISTINCT id, v, tx) FROM t",
        ];
        self.got
            .query_drop("SET stemdb_memory_limit = 65536")
            .map_err(text)?;
        for query in queries {
            let expected = Answer::of(&mut self.expected, query)?;
            let got = Answer::of(&mut self.got, query)?;
            if got.error_code() != Some(OUT_OF_MEMORY) {
                same(self.names, &expected, &got, query).map_err(|d| format!("{query}\n  {d}"))?;
            }
        }
        self.got
            .query_drop("SET stemdb_memory_limit = DEFAULT")
            .map_err(text)?;
        self.compare("SELECT COUNT(*), SUM(i) FROM t")?
    }
}

fn same(names: [&str; 2], expected: &Answer, got: &Answer, query: &str) -> Result<(), String> {
    let sides = Sides {
        names,
        types: true,
        ordered: generate::is_ordered(query),
    };
    compare::same(expected, got, &sides)
}

/// ER_MEMORY_EXCEEDED of StemDB.
const OUT_OF_MEMORY: u16 = 8175;

fn connect_to(address: &Address, route: &str) -> Result<Conn, String> {
    let opts: OptsBuilder = address
        .builder()
        .db_name(Some(DATABASE))
        .read_timeout(Some(ANSWER_MAX));
    let mut conn = Conn::new(opts).map_err(text)?;
    for statement in [
        "SET NAMES utf8mb4".to_string(),
        "SET time_zone = '+00:00'".to_string(),
        format!("SET stemdb_route = '{route}'"),
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    Ok(conn)
}
