//! On a TiKV cluster: all suites that make sense there, and faults of a cluster.
//!
//! The cluster is the stand-in (`tests/tikv-stand-in`), with three stores and regions that start within
//! tables. A real one (`stemdb-tests --store tikv://... tikv SUITE...`) runs the suites that do not use the
//! stand-in's control port.
//!
//! - [`backfill`]: servers killed while they fill an index.
//! - [`coprocessor`]: queries with and without pushdown to the stores.
//! - [`cost`]: how many requests each kind of statement sends.
//! - [`errors`]: the errors of clients while the cluster does not serve.
//! - [`faults`]: splits, moves and stopped stores under load.
//! - [`ids`]: explicit ids that another server has leased.
//! - [`lease`]: what a server without a lease refuses.
//! - [`nodes`]: two servers of one cluster: shared state, messages, takeover.
//! - [`regions`]: tables created as several regions, and split.
//! - [`rolling`]: two servers behind HAProxy, stopped one after the other.
//! - [`table_locks`]: LOCK TABLES on one server and statements on another.
//! - [`xa`]: prepared XA transactions, ended by other servers; servers killed at each step.

mod backfill;
mod cluster;
mod coprocessor;
mod cost;
mod errors;
mod faults;
mod ids;
mod lease;
mod nodes;
mod regions;
mod rolling;
mod table_locks;
mod xa;

use std::path::{Path, PathBuf};
use std::process::Command;

use mysql::Conn;
use mysql::prelude::Queryable;
use testkit::StandIn;

use crate::report::Report;
use crate::server::{Program, Server};
use crate::sql::corpus::{self, Selection};
use crate::sql::play::Route;
use crate::{clients, concurrency, limits};
use cluster::Cluster;

/// Real clients that also run on a cluster: a driver and all of sysbench's OLTP scripts.
const CLIENTS: [&str; 2] = ["go", "sysbench"];

type Suite = fn(&Setting, &mut Report) -> Result<(), String>;

/// The suites: name, whether it also runs on a real cluster, and the function.
const SUITES: [(&str, bool, Suite); 16] = [
    ("cost", false, |s, report| cost::check(&s.cluster()?, report)),
    ("coprocessor", true, |s, report| {
        coprocessor::check(&s.cluster()?, report)
    }),
    ("errors", false, |s, report| errors::check(&s.cluster()?, report)),
    ("sql", true, sql),
    ("concurrency", true, |s, report| {
        let (_cluster, server) = s.server()?;
        concurrency::check(&server.address, report);
        Ok(())
    }),
    ("clients", true, with_clients),
    ("demo", true, demo),
    ("limits", true, |s, report| {
        let cluster = s.cluster()?;
        limits::check(&cluster.program(), report);
        Ok(())
    }),
    ("faults", true, |s, report| {
        faults::check(&s.cluster()?, s.harms, report)
    }),
    ("backfill", true, |s, report| {
        backfill::check(&s.cluster()?, report)
    }),
    ("ids", true, |s, report| ids::check(&s.cluster()?, report)),
    ("lease", false, |s, report| lease::check(&s.cluster()?, report)),
    ("nodes", true, |s, report| nodes::check(&s.cluster()?, report)),
    ("regions", true, |s, report| regions::check(&s.cluster()?, report)),
    ("rolling", true, |s, report| rolling::check(&s.cluster()?, report)),
    ("xa", true, |s, report| xa::check(&s.cluster()?, report)),
];

pub struct Setting<'a> {
    pub binary: &'a Path,
    /// Where clients are built.
    pub clients_out: &'a Path,
    /// A real cluster's URL; `None`: the stand-in, a new one for each suite.
    pub store: Option<&'a str>,
    /// Shell commands, each of which harms the real cluster and repairs it again.
    pub harms: &'a [String],
}

impl Setting<'_> {
    fn cluster(&self) -> Result<Cluster, String> {
        match self.store {
            Some(url) => Ok(Cluster::real(self.binary, url)),
            None => Cluster::start(self.binary),
        }
    }

    /// A server on a cluster of its own.
    fn server(&self) -> Result<(Cluster, Server), String> {
        let cluster = self.cluster()?;
        let server = Server::start(cluster.program(), &[])?;
        Ok((cluster, server))
    }
}

/// Runs the suites, or those named.
pub fn check(setting: &Setting, names: &[String], report: &mut Report) {
    if setting.store.is_none() && !StandIn::can_run() {
        return report.skip("tikv", testkit::NEEDS);
    }
    for name in names {
        if !SUITES.iter().any(|(known, ..)| known == name) {
            report.fail(&format!("tikv: {name}"), "there is no such suite");
        }
    }
    for (name, on_real, suite) in SUITES {
        if !names.is_empty() && !names.iter().any(|n| n == name) {
            continue;
        }
        report.set_place("tikv");
        if setting.store.is_some() && !on_real {
            report.skip(name, "only the stand-in can do that");
        } else if let Err(why) = suite(setting, report) {
            report.fail(name, &why);
        }
        report.set_place("");
    }
}

/// One pass is enough: the three settings of the executor are compared without a cluster.
fn sql(setting: &Setting, report: &mut Report) -> Result<(), String> {
    let (_cluster, server) = setting.server()?;
    let selection = Selection {
        directory: PathBuf::from("tests/sql"),
        filters: Vec::new(),
    };
    corpus::check(
        &selection,
        &server.address.opts(),
        true,
        &[Route::Planner],
        report,
    );
    Ok(())
}

fn with_clients(setting: &Setting, report: &mut Report) -> Result<(), String> {
    let (_cluster, server) = setting.server()?;
    let names = CLIENTS.map(str::to_owned);
    let sources = Path::new(clients::CLIENTS);
    clients::check(&server.address, sources, setting.clients_out, &names, report);
    Ok(())
}

/// The workload of `stemdb demo`, small.
fn demo(setting: &Setting, report: &mut Report) -> Result<(), String> {
    let (_cluster, server) = setting.server()?;
    report.check(
        "the demo's workload",
        run_demo(setting.binary, server.address.port),
    );
    Ok(())
}

/// Some operations must succeed, and none may fail.
fn run_demo(binary: &Path, port: u16) -> Result<(), String> {
    let output = Command::new(binary)
        .args(["demo", "--dsn", &format!("mysql://root@127.0.0.1:{port}")])
        .args(["--orders", "200", "--seconds", "3", "--threads", "4"])
        .output()
        .map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let has_failures = said.lines().any(|line| line.starts_with("error "));
    if !output.status.success() || has_failures {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {said}{errors}", output.status));
    }
    Ok(())
}

/// An empty database, as on a new cluster.
fn new_database(conn: &mut Conn, name: &str) -> Result<(), String> {
    for statement in [
        format!("DROP DATABASE IF EXISTS {name}"),
        format!("CREATE DATABASE {name}"),
        format!("USE {name}"),
    ] {
        conn.query_drop(&statement)
            .map_err(|error| format!("{statement}: {error}"))?;
    }
    Ok(())
}

/// The program that serves a cluster.
fn program(binary: &Path, store: &str) -> Program {
    Program::StemDb {
        binary: binary.to_owned(),
        store: Some(store.to_owned()),
    }
}
