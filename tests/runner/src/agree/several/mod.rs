//! Random queries over several tables: joins, subqueries, set operations, common table expressions, groups
//! and windows, over small random tables with many NULLs.
//!
//! Both executors run each query, also without rules of the optimizer, one at a time, and MySQL does if there is one
//! (`--judge`). Each round turns other rules off, or all in turn (`--every-rule`). A query with a difference is
//! reduced to a small one, and is shown as a script that can be added to the corpus. [`schema`] makes the
//! tables; [`queries`] makes the queries from the parts in [`from`] and [`expressions`]; [`tree`] is the text
//! of a query, and reduces it. Some queries run as prepared statements ([`parameters`]). [`writes`] makes statements
//! that change rows: they are compared by what the tables have afterwards, and rolled back.

mod expressions;
mod from;
mod parameters;
mod queries;
mod schema;
mod tree;
mod writes;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use super::compare::{self, Answer, Sides};
use super::random::Random;
use super::{ANSWER_MAX, Several};
use crate::report::Report;
use crate::server::Address;
use crate::text;
use queries::{Generator, Statement};
use schema::Relation;
use tree::{Node, minimise};

const DATABASE: &str = "agree_several";

/// Queries over each set of tables.
const QUERIES: usize = 40;

/// Statements that change rows, over each set of tables.
const CHANGES: usize = 15;

/// One of so many queries runs as a prepared statement.
const PREPARED_IN: usize = 4;

/// How often a query with a difference is run while it is reduced.
const TRIES: usize = 400;

/// How many differences are reduced and shown. Further ones are only counted.
const DIFFERENCES_SHOWN: usize = 5;

/// Time limit of a query on all servers: some have many cross joins.
const QUERY_MILLISECONDS_MAX: u64 = 2000;

/// ER_QUERY_TIMEOUT
const TIMEOUT: u16 = 3024;

/// ER_NOT_SUPPORTED_YET: MySQL returns it for windows within `ANY` and `ALL`.
const NOT_SUPPORTED: u16 = 1235;

/// The executors.
const ROUTES: [&str; 2] = ["transactional", "analytical"];

/// How many rules of the optimizer a round turns off, each alone, unless it is all of them.
const RULES_OF_ROUND: usize = 3;

/// Runs the queries of `rounds` schemas, the first made from `seed`.
pub fn check(address: &Address, several: &Several, report: &mut Report) {
    let mut servers = match Servers::connect(address, several) {
        Ok(servers) => servers,
        Err(why) => return report.fail("agree: several tables: set up", &why),
    };
    let mut found = Found::default();
    for round in 0..several.rounds {
        let result = servers
            .turn_rules_off(round)
            .and_then(|()| servers.round(several.seed.wrapping_add(round), &mut found));
        if let Err(why) = result {
            found.differences.push(format!("round {round}: {why}"));
        }
    }
    report.note(&format!("{} queries over several tables", found.queries));
    report.check("agree: several tables", found.result());
}

/// The result of all rounds.
#[derive(Default)]
struct Found {
    queries: usize,
    count: usize,
    differences: Vec<String>,
}

impl Found {
    fn result(self) -> Result<(), String> {
        if self.differences.is_empty() {
            return Ok(());
        }
        let shown = self.differences.join("\n");
        Err(format!(
            "{} of {} queries differ:\n{shown}",
            self.count, self.queries
        ))
    }
}

/// Connections that must return the same results. The first one is right.
struct Servers {
    connections: Vec<(String, Conn)>,
    /// Connections that run without some rule of the optimizer, and their executors.
    without: Vec<(&'static str, Conn)>,
    /// The names of these rules at present.
    off: Vec<String>,
    /// The optimizer's rules.
    rules: Vec<String>,
    /// One connection for each server, which creates the tables.
    writers: Vec<Conn>,
    /// Whether the first is MySQL, whose column types may differ.
    judged: bool,
}

impl Servers {
    fn connect(address: &Address, several: &Several) -> Result<Self, String> {
        let mut writer = open(address.builder(), &[])?;
        let rules = rules(&mut writer)?;
        let mut servers = Self {
            connections: Vec::new(),
            without: Vec::new(),
            off: Vec::new(),
            writers: vec![writer],
            judged: several.judge.is_some(),
            rules,
        };
        if let Some(judge) = &several.judge {
            let builder = || OptsBuilder::from_opts(judge.clone());
            servers.writers.push(open(builder(), &[])?);
            servers.connections.push(("MySQL".into(), open(builder(), &[])?));
        }
        let ours = |route: &str| open(address.builder(), &[&format!("SET stemdb_route = '{route}'")]);
        for route in ROUTES.into_iter().chain(["auto"]) {
            servers.connections.push((route.into(), ours(route)?));
        }
        let rules_at_once = match several.every_rule {
            true => servers.rules.len(),
            false => RULES_OF_ROUND.min(servers.rules.len()),
        };
        for route in ROUTES {
            for _ in 0..rules_at_once {
                servers.without.push((route, ours(route)?));
            }
        }
        Ok(servers)
    }

    /// Turns the rules of a round off. No result may depend on one.
    fn turn_rules_off(&mut self, round: u64) -> Result<(), String> {
        let at_once = self.without.len() / ROUTES.len();
        let first = usize::try_from(round).unwrap_or_default().wrapping_mul(at_once);
        self.off.clear();
        for (number, (_, conn)) in self.without.iter_mut().enumerate() {
            let at = first.wrapping_add(number % at_once) % self.rules.len();
            let rule = &self.rules[at];
            conn.query_drop(format!("SET stemdb_optimizer_rules = 'default,{rule}=off'"))
                .map_err(text)?;
            self.off.push(rule.clone());
        }
        Ok(())
    }

    /// All connections with their names, the one that is right first.
    fn all(&mut self) -> impl Iterator<Item = (String, &mut Conn)> {
        let plain = self.connections.iter_mut();
        let plain = plain.map(|(name, conn)| (name.clone(), conn));
        let without = self.without.iter_mut().zip(&self.off);
        plain.chain(without.map(|((route, conn), rule)| (format!("{route} without {rule}"), conn)))
    }

    /// Makes a schema, and compares its queries. The error is a lost connection, or a schema that a server
    /// does not accept.
    fn round(&mut self, seed: u64, found: &mut Found) -> Result<(), String> {
        let mut random = Random::new(seed);
        let (tables, mut setup) = schema::tables(&mut random);
        self.set_up(&setup)?;
        for number in 0..QUERIES {
            let Statement { query, ordered } = queries::statement(&tables, &mut random);
            let how = match number % PREPARED_IN {
                0 => Run::Prepared { ordered },
                _ => Run::Query { ordered },
            };
            self.compare(&query, &how, (seed, &setup), found)?;
        }
        let mut generator = Generator::new(&tables, &mut random);
        let (view, shown) = writes::view(&tables, &mut generator);
        for conn in &mut self.writers {
            conn.query_drop(&view).map_err(|e| format!("{e} in {view}"))?;
        }
        setup.push(view);
        let how = Run::Change {
            checks: tables.iter().map(writes::rows_of).collect(),
        };
        let targets: Vec<Relation> = tables.iter().cloned().chain([shown]).collect();
        for _ in 0..CHANGES {
            let change = Generator::new(&tables, &mut random).change(&targets);
            self.compare(&change, &how, (seed, &setup), found)?;
        }
        Ok(())
    }

    /// Runs a statement everywhere, and shows the smallest one that has a difference.
    fn compare(
        &mut self,
        statement: &Node,
        how: &Run,
        (seed, setup): (u64, &[String]),
        found: &mut Found,
    ) -> Result<(), String> {
        found.queries += 1;
        let Some(difference) = self.difference(&statement.to_string(), how)? else {
            return Ok(());
        };
        found.count += 1;
        if found.differences.len() < DIFFERENCES_SHOWN {
            let shown = self.smallest(statement, how, difference)?;
            let script = script(setup, &shown.query);
            found
                .differences
                .push(format!("seed {seed}: {}\n{script}", shown.text));
        }
        Ok(())
    }

    fn set_up(&mut self, setup: &[String]) -> Result<(), String> {
        let database = [
            format!("DROP DATABASE IF EXISTS {DATABASE}"),
            format!("CREATE DATABASE {DATABASE}"),
            format!("USE {DATABASE}"),
        ];
        for conn in &mut self.writers {
            for statement in database.iter().chain(setup) {
                conn.query_drop(statement)
                    .map_err(|e| format!("{e} in {statement:.300}"))?;
            }
        }
        for (_, conn) in self.all() {
            conn.query_drop(format!("USE {DATABASE}")).map_err(text)?;
        }
        Ok(())
    }

    /// Whether another result differs from the first.
    fn difference(&mut self, query: &str, how: &Run) -> Result<Option<Difference>, String> {
        let judged = self.judged;
        let mut answers = Vec::new();
        for (name, conn) in self.all() {
            let results = how
                .results(conn, query)
                .map_err(|e| format!("{name}: {e} in {query}"))?;
            let code = results.first().and_then(Answer::error_code);
            let unsupported = judged && answers.is_empty() && code == Some(NOT_SUPPORTED);
            if unsupported || code == Some(TIMEOUT) {
                return Ok(None);
            }
            answers.push((name, results));
        }
        let Some(((expected_name, expected), others)) = answers.split_first() else {
            return Ok(None);
        };
        for (name, answer) in others {
            let sides = Sides {
                names: [expected_name, name],
                types: !judged,
                ordered: how.is_ordered(),
            };
            for (expected, answer) in expected.iter().zip(answer) {
                if let Err(text) = compare::same(expected, answer, &sides) {
                    return Ok(Some(Difference {
                        query: query.to_string(),
                        text,
                        codes: [expected.error_code(), answer.error_code()],
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Reduces the query, as long as the errors stay the same.
    fn smallest(&mut self, statement: &Node, how: &Run, first: Difference) -> Result<Difference, String> {
        let mut smallest = first;
        minimise(statement, TRIES, |query| match self.difference(query, how)? {
            Some(difference) if difference.codes == smallest.codes => {
                smallest = difference;
                Ok(true)
            }
            _ => Ok::<_, String>(false),
        })?;
        Ok(smallest)
    }
}

/// How a statement is run.
enum Run {
    Query {
        ordered: bool,
    },
    /// With the numbers of rows as parameters, if it has some.
    Prepared {
        ordered: bool,
    },
    /// In a transaction that is rolled back. `checks`: queries that show what it has changed.
    Change {
        checks: Vec<String>,
    },
}

impl Run {
    fn is_ordered(&self) -> bool {
        match self {
            Self::Query { ordered } | Self::Prepared { ordered } => *ordered,
            Self::Change { .. } => true,
        }
    }

    /// The result of the statement, and those of the checks. The error is a lost connection.
    fn results(&self, conn: &mut Conn, statement: &str) -> Result<Vec<Answer>, String> {
        let prepared = match self {
            Self::Prepared { .. } => parameters::prepared(statement),
            _ => None,
        };
        if let Some(statements) = prepared {
            return executed(conn, &statements);
        }
        let Self::Change { checks } = self else {
            return Ok(vec![Answer::of(conn, statement)?]);
        };
        conn.query_drop("START TRANSACTION").map_err(text)?;
        let mut results = vec![Answer::of_change(conn, statement)?];
        for check in checks {
            results.push(Answer::of(conn, check)?);
        }
        conn.query_drop("ROLLBACK").map_err(text)?;
        Ok(results)
    }
}

/// The result of the last of the statements, or the error of an earlier one.
fn executed(conn: &mut Conn, statements: &[String]) -> Result<Vec<Answer>, String> {
    let mut result = Vec::new();
    for statement in statements {
        result = vec![Answer::of(conn, statement)?];
        if result.iter().any(|answer| answer.error_code().is_some()) {
            break;
        }
    }
    Ok(result)
}

/// The names of the optimizer's rules, as the server lists them.
fn rules(conn: &mut Conn) -> Result<Vec<String>, String> {
    let flags: Option<String> = conn
        .query_first("SELECT @@stemdb_optimizer_rules")
        .map_err(text)?;
    let flags = flags.unwrap_or_default();
    let names = flags.split(',').filter_map(|flag| flag.split_once('='));
    let names: Vec<String> = names.map(|(name, _)| name.to_owned()).collect();
    match names.is_empty() {
        true => Err("the optimizer has no rules".into()),
        false => Ok(names),
    }
}

struct Difference {
    query: String,
    /// How the answers differ.
    text: String,
    /// The errors of the expected and of the other answer.
    codes: [Option<u16>; 2],
}

/// The reduced query as a script of the corpus, without results.
fn script(setup: &[String], query: &str) -> String {
    let mut lines: Vec<String> = setup.iter().map(|statement| format!("{statement};")).collect();
    lines.push(format!("{query};"));
    lines.join("\n")
}

fn open(builder: OptsBuilder, setup: &[&str]) -> Result<Conn, String> {
    let mut conn = Conn::new(builder.read_timeout(Some(ANSWER_MAX))).map_err(text)?;
    for statement in ["SET NAMES utf8mb4", "SET time_zone = '+00:00'"]
        .iter()
        .chain(setup)
    {
        conn.query_drop(statement).map_err(text)?;
    }
    conn.query_drop(format!("SET max_execution_time = {QUERY_MILLISECONDS_MAX}"))
        .map_err(text)?;
    Ok(conn)
}
