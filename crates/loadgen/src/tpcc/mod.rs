//! TPC-C: a wholesaler's warehouses, districts and customers, and five kinds of transactions on nine
//! tables.
//!
//! It follows the standard, revision 5.11, with these liberties: deliveries are not deferred; terminals are
//! connections, and wait only if asked to (`think`); any number of them may belong to a warehouse; there is
//! no audit. So its figures compare servers with each other, and are not tpmC as the council publishes it.
//!
//! Two things need joins: the stock-level transaction and the checks. A server that refuses joins (error
//! 1235) is refused before anything is loaded or measured.
//!
//! - [`TABLES`], [`population`]: the tables and their first rows; [`choices`]: the standard's random
//!   numbers and names.
//! - [`input`]: the input of terminals; [`terminal`]: a terminal; [`new_order`], [`payment`],
//!   [`order_status`], [`delivery`], [`stock_level`]: the transactions.
//! - [`consistency`]: what must hold afterwards.

pub mod choices;
pub mod consistency;
pub mod delivery;
pub mod input;
pub mod new_order;
pub mod order_status;
pub mod payment;
pub mod population;
pub mod stock_level;
pub mod terminal;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::client::{Connection, Param, Row, Statement};
use crate::error::{Error, Result};
use crate::load;
use crate::options::{OptionSpec, Options};
use crate::result::{Figure, Rung};
use crate::tables::Tables;
use crate::workload::WorkloadSpec;
use crate::workload::{Checks, Context, Worker, Workload};
use choices::Constants;
use input::{Company, Kind};
use terminal::Terminal;

/// The nine tables of the standard (clause 1.3) in MySQL's types, with the two customary secondary indexes:
/// customers by last name, orders by customer. History has no key, as in the standard. Foreign keys are left
/// out.
pub(crate) const TABLES: Tables = Tables(include_str!("schema.sql"));

pub const WORKLOADS: &[WorkloadSpec] = &[WorkloadSpec {
    name: "tpcc",
    summary: "TPC-C: five transactions on nine tables (needs joins)",
    options: OPTIONS,
    build,
}];

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "warehouses",
        "1",
        "warehouses that prepare makes; about 100 MB each",
    ),
    OptionSpec::new(
        "think",
        "off",
        "on: terminals key and think as long as the standard says",
    ),
];

/// MySQL's "not supported yet".
const NOT_SUPPORTED: u16 = 1235;

pub(crate) fn build(options: &Options) -> Result<Box<dyn Workload>> {
    Ok(Box::new(Tpcc {
        warehouses: options.integer("warehouses", 1..=1_000_000)?,
        think: options.switch("think")?,
        warehouses_found: AtomicU64::new(0),
    }))
}

struct Tpcc {
    /// The number to prepare.
    warehouses: u64,
    think: bool,
    /// The number in the tables that a run found.
    warehouses_found: AtomicU64,
}

impl Workload for Tpcc {
    fn operations(&self) -> Vec<String> {
        Kind::NAMES.map(str::to_owned).to_vec()
    }

    fn prepare(&self, context: &Context) -> Result<()> {
        let mut connection = Connection::open(&context.target)?;
        TABLES.drop(&mut connection)?;
        TABLES.create(&mut connection)?;
        if let Err(error) = needs_joins(&mut connection) {
            TABLES.drop(&mut connection)?;
            return Err(error);
        }
        load::in_parallel(
            context,
            "warehouses",
            population::parts(self.warehouses),
            |connection, part| population::load(connection, context.seed, part),
        )
    }

    fn open(&self, context: &Context) -> Result<()> {
        let mut connection = Connection::open(&context.target)?;
        needs_joins(&mut connection)?;
        let warehouses = warehouses(&mut connection)?;
        self.warehouses_found.store(warehouses, Ordering::Relaxed);
        Ok(())
    }

    fn worker(&self, context: &Context, number: usize, _threads: usize) -> Result<Box<dyn Worker + '_>> {
        let company = Company {
            warehouses: self.warehouses_found.load(Ordering::Relaxed),
            constants: Constants::of_seed(context.seed),
        };
        let connection = Connection::open(&context.target)?;
        let terminal = Terminal::new(connection, company, self.think, context.seed, number)?;
        Ok(Box::new(terminal))
    }

    fn figures(&self, rung: &Rung) -> Vec<Figure> {
        vec![new_orders_a_minute(rung)]
    }

    fn check(&self, context: &Context, checks: &mut Checks) -> Result<()> {
        let mut connection = Connection::open(&context.target)?;
        needs_joins(&mut connection)?;
        warehouses(&mut connection)?;
        for (name, sql) in consistency::CONDITIONS {
            checks.none(name, &mut connection, sql)?;
        }
        Ok(())
    }

    fn cleanup(&self, context: &Context) -> Result<()> {
        TABLES.drop(&mut Connection::open(&context.target)?)
    }
}

/// The standard's measure. Orders that were rolled back count (2.4.1.4).
fn new_orders_a_minute(rung: &Rung) -> Figure {
    let count = rung
        .operations
        .get(Kind::NewOrder as usize)
        .map_or(0, |operation| operation.count);
    Figure {
        name: "tpmC".to_owned(),
        value: count as f64 * 60.0 / rung.elapsed_seconds.max(0.001),
    }
}

/// Fails with an explanation if the server does not support joins.
fn needs_joins(connection: &mut Connection) -> Result<()> {
    match connection.query(&stock_level::JOIN.replace('?', "0")) {
        Err(Error::Server {
            code: NOT_SUPPORTED,
            message,
        }) => Err(Error::Unexpected(format!(
            "tpcc needs joins, which this server does not have yet: {message} (error {NOT_SUPPORTED}); \
             it runs against MySQL and MariaDB"
        ))),
        other => other.map(drop),
    }
}

/// The number of warehouses.
fn warehouses(connection: &mut Connection) -> Result<u64> {
    match connection.fetch_int("SELECT COUNT(*) FROM warehouse")? {
        0 => Err(Error::Unexpected(
            "the table warehouse is empty: prepare it first".to_owned(),
        )),
        count => Ok(count.unsigned_abs()),
    }
}

/// A row that must exist.
fn one(
    connection: &mut Connection,
    statement: Statement,
    parameters: &[Param<'_>],
    operation: &'static str,
) -> Result<Row> {
    let mut rows = connection.fetch(statement, parameters)?;
    match rows.len() {
        1 => Ok(rows.swap_remove(0)),
        _ => Err(Error::Missing {
            operation,
            key: format!("{parameters:?}"),
        }),
    }
}

/// A decimal number of the result, in hundredths.
fn cents(row: &Row, column: usize) -> Result<i64> {
    let text = row.text(column)?;
    let (whole, part) = text.split_once('.').unwrap_or((&text, "0"));
    let parse = |digits: &str| digits.parse::<i64>().ok();
    match (parse(whole), part.len(), parse(part)) {
        (Some(whole), 1, Some(part)) if whole >= 0 => Ok(whole * 100 + part * 10),
        (Some(whole), 2, Some(part)) if whole >= 0 => Ok(whole * 100 + part),
        _ => Err(Error::Unexpected(format!("{text} is not an amount of money"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Value;
    use crate::result::Operation;

    #[test]
    fn money_is_read_exactly() {
        let read = |text: &str| cents(&Row(vec![Value::Bytes(text.into())]), 0);
        assert_eq!(read("12.34").unwrap(), 1234);
        assert_eq!(read("0.05").unwrap(), 5);
        assert_eq!(read("7").unwrap(), 700);
        for wrong in ["", "1.234", "x.10", "-1.00", "1,5"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_new_orders_are_counted_by_the_minute() {
        let operation = |count| Operation {
            count,
            ..Operation::default()
        };
        let rung = Rung {
            elapsed_seconds: 30.0,
            operations: vec![operation(100), operation(90)],
            ..Rung::default()
        };
        assert_eq!(new_orders_a_minute(&rung).value, 200.0);
    }

    #[test]
    fn wrong_options_are_refused() {
        for (name, value) in [("warehouses", "0"), ("think", "maybe")] {
            let given = [(name.to_owned(), value.to_owned())];
            let options = Options::resolve("tpcc", OPTIONS, &given).unwrap();
            assert!(build(&options).is_err(), "{name}");
        }
    }
}
