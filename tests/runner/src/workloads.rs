//! Workloads of `stemdb bench` with known results, at the smallest scale. TPC-H's queries run a second time
//! with so little memory that their joins, groups and sorts must spill.

use loadgen::options::Options;
use loadgen::registry;
use loadgen::target::Target;
use loadgen::workload::{Checks, Context, Workload};

use crate::report::Report;
use crate::server::Address;
use crate::text;

const WORKLOADS: [(&str, &[(&str, &str)]); 2] = [("tpch", &[("scale", "0.01")]), ("ch", &[])];

/// With this limit and the analytical executor, a hash table of any of TPC-H's larger tables is too large.
const SMALL_LIMIT: &[(&str, &str)] = &[
    ("stemdb_memory_limit", "1572864"),
    ("stemdb_route", "'analytical'"),
];

pub fn check(address: &Address, report: &mut Report) {
    report.set_place("workloads");
    for (name, options) in WORKLOADS {
        match run(address, name, options) {
            Ok(lists) => {
                for (how, checks) in lists {
                    for check in checks.list {
                        let result = if check.passed { Ok(()) } else { Err(check.detail) };
                        report.check(&format!("{name}{how}: {}", check.name), result);
                    }
                }
            }
            Err(error) => report.fail(name, &error),
        }
    }
}

/// Lists of checks, each with a label for how they were run.
type Lists = Vec<(&'static str, Checks)>;

fn run(address: &Address, name: &str, options: &[(&str, &str)]) -> Result<Lists, String> {
    let spec = registry::find(name).map_err(text)?;
    let given: Vec<(String, String)> = options
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let options = Options::resolve(name, spec.options, &given).map_err(text)?;
    let workload = (spec.build)(&options).map_err(text)?;
    let database = format!("stemdb_tests_{name}");
    let mut connection = address.connect().map_err(text)?;
    let mut run = |sql: String| mysql::prelude::Queryable::query_drop(&mut connection, sql).map_err(text);
    run(format!("DROP DATABASE IF EXISTS {database}"))?;
    run(format!("CREATE DATABASE {database}"))?;
    let dsn = format!("mysql://root@{}:{}/{database}", address.host, address.port);
    let context = Context {
        target: Target::parse(&dsn, &database).map_err(text)?,
        options,
        seed: 1,
        load_threads: 2,
    };
    let mut lists = vec![("", prepared(workload.as_ref(), &context)?)];
    if name == "tpch" {
        // The workload's connections take the server's settings.
        for (variable, value) in SMALL_LIMIT {
            run(format!("SET GLOBAL {variable} = {value}"))?;
        }
        let small = checked(workload.as_ref(), &context);
        for (variable, _) in SMALL_LIMIT {
            run(format!("SET GLOBAL {variable} = DEFAULT"))?;
        }
        lists.push((" with little memory", small?));
    }
    run(format!("DROP DATABASE {database}"))?;
    Ok(lists)
}

fn prepared(workload: &dyn Workload, context: &Context) -> Result<Checks, String> {
    workload.prepare(context).map_err(text)?;
    checked(workload, context)
}

fn checked(workload: &dyn Workload, context: &Context) -> Result<Checks, String> {
    let mut checks = Checks::default();
    workload.check(context, &mut checks).map_err(text)?;
    Ok(checks)
}
