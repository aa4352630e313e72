//! Workloads of `stemdb bench` whose answers can be checked, at the smallest scale.

use loadgen::options::Options;
use loadgen::registry;
use loadgen::target::Target;
use loadgen::workload::{Checks, Context, Workload};

use crate::report::Report;
use crate::server::Address;
use crate::text;

const WORKLOADS: [(&str, &[(&str, &str)]); 2] = [("tpch", &[("scale", "0.01")]), ("ch", &[])];

pub fn check(address: &Address, report: &mut Report) {
    report.set_place("workloads");
    for (name, options) in WORKLOADS {
        match run(address, name, options) {
            Ok(checks) => {
                for check in checks.list {
                    let result = if check.passed { Ok(()) } else { Err(check.detail) };
                    report.check(&format!("{name}: {}", check.name), result);
                }
            }
            Err(error) => report.fail(name, &error),
        }
    }
}

fn run(address: &Address, name: &str, options: &[(&str, &str)]) -> Result<Checks, String> {
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
    let checks = checked(workload.as_ref(), &context);
    run(format!("DROP DATABASE {database}"))?;
    checks
}

fn checked(workload: &dyn Workload, context: &Context) -> Result<Checks, String> {
    let mut checks = Checks::default();
    workload.prepare(context).map_err(text)?;
    workload.check(context, &mut checks).map_err(text)?;
    Ok(checks)
}
