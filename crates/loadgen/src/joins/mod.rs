//! A prepared join of three tables by their indexes, for one customer: its orders, and their lines.
//!
//! The customer is found by the primary key, the orders and the lines by secondary indexes. A customer's orders, and an
//! order's lines, lie anywhere in their tables, as they would after years.

use std::ops::Range;

use crate::client::{Connection, Param, Statement};
use crate::error::{Error, Result};
use crate::load::{MultiInsert, in_parallel};
use crate::options::{OptionSpec, Options};
use crate::random::{Random, mix};
use crate::tables::Tables;
use crate::workload::{Checks, Context, Next, Worker, Workload, WorkloadSpec, check_indexes};

const TABLES: Tables = Tables(include_str!("schema.sql"));

const QUERY: &str = "SELECT c.name, c.city, o.id, o.placed, o.total, l.product, l.quantity, l.price \
                     FROM join_customers c JOIN join_orders o ON o.customer = c.id JOIN join_lines l ON l.purchase = o.id \
                     WHERE c.id = ?";

/// Rows that one connection loads at a time.
const PART_ROWS: u64 = 2_000;

pub const WORKLOADS: &[WorkloadSpec] = &[WorkloadSpec {
    name: "lookup-join",
    summary: "a prepared join of three tables by their indexes, of which each answer is counted",
    options: OPTIONS,
    build,
}];

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("customers", "10000", "customers there are"),
    OptionSpec::new("orders", "10", "orders of each of them"),
    OptionSpec::new("lines", "2", "lines of each order"),
];

fn build(options: &Options) -> Result<Box<dyn Workload>> {
    Ok(Box::new(Joins {
        customers: options.integer("customers", 1..=10_000_000)?,
        orders: options.integer("orders", 1..=100)?,
        lines: options.integer("lines", 1..=100)?,
    }))
}

struct Joins {
    customers: u64,
    orders: u64,
    lines: u64,
}

impl Joins {
    fn all_orders(&self) -> u64 {
        self.customers * self.orders
    }

    fn rows(&self) -> [(&'static str, u64); 3] {
        let orders = self.all_orders();
        [
            ("join_customers", self.customers),
            ("join_orders", orders),
            ("join_lines", orders * self.lines),
        ]
    }

    fn load(&self, table: &str, rows: Range<u64>, connection: &mut Connection, seed: u64) -> Result<()> {
        let mut insert = MultiInsert::new(format!("INSERT INTO {table} VALUES "));
        for number in rows {
            let mut random = Random::new(mix(seed ^ mix(number + 1)));
            let id = Param::Int(number as i64);
            match table {
                "join_customers" => {
                    let [name, city, comment] = [30, 20, 80].map(|length| random.text(length));
                    insert.row(
                        connection,
                        &[id, (&name).into(), (&city).into(), (&comment).into()],
                    )?;
                }
                "join_orders" => {
                    let customer = Param::Int((number % self.customers) as i64);
                    let placed = format!(
                        "2024-{:02}-{:02} {:02}:30:00",
                        1 + random.below(12),
                        1 + random.below(28),
                        random.below(24)
                    );
                    let (total, comment) = (amount(&mut random, 1_000_000), random.text(60));
                    let values = [id, customer, (&placed).into(), (&total).into(), (&comment).into()];
                    insert.row(connection, &values)?;
                }
                _ => {
                    let order = Param::Int((number % self.all_orders()) as i64);
                    let (product, comment) = (random.text(25), random.text(30));
                    let quantity = Param::Int(1 + random.below(50) as i64);
                    let price = amount(&mut random, 100_000);
                    let texts = [&product, &price, &comment].map(Param::from);
                    insert.row(connection, &[id, order, texts[0], quantity, texts[1], texts[2]])?;
                }
            }
        }
        insert.flush(connection)
    }
}

fn amount(random: &mut Random, most_cents: u64) -> String {
    let cents = random.below(most_cents);
    format!("{}.{:02}", cents / 100, cents % 100)
}

impl Workload for Joins {
    fn operations(&self) -> Vec<String> {
        vec!["join".to_owned()]
    }

    fn prepare(&self, context: &Context) -> Result<()> {
        let mut connection = Connection::open(&context.target)?;
        TABLES.drop(&mut connection)?;
        TABLES.create(&mut connection)?;
        for (table, rows) in self.rows() {
            in_parallel(context, table, rows.div_ceil(PART_ROWS), |connection, part| {
                let first = part * PART_ROWS;
                self.load(
                    table,
                    first..rows.min(first + PART_ROWS),
                    connection,
                    context.seed,
                )
            })?;
        }
        TABLES.analyze(&mut connection)
    }

    fn worker(&self, context: &Context, number: usize, _threads: usize) -> Result<Box<dyn Worker + '_>> {
        let mut connection = Connection::open(&context.target)?;
        Ok(Box::new(Client {
            query: connection.prepare(QUERY)?,
            connection,
            workload: self,
            random: Random::new(mix(context.seed ^ mix(number as u64 + 1))),
            customer: 0,
        }))
    }

    fn check(&self, context: &Context, checks: &mut Checks) -> Result<()> {
        let mut connection = Connection::open(&context.target)?;
        for (table, rows) in self.rows() {
            let found = connection.fetch_int(&format!("SELECT COUNT(*) FROM {table}"))?;
            checks.equal(table, found, rows as i64);
            check_indexes(&mut connection, table, checks)?;
        }
        Ok(())
    }

    fn cleanup(&self, context: &Context) -> Result<()> {
        TABLES.drop(&mut Connection::open(&context.target)?)
    }
}

struct Client<'a> {
    workload: &'a Joins,
    connection: Connection,
    query: Statement,
    random: Random,
    customer: i64,
}

impl Worker for Client<'_> {
    fn next(&mut self) -> Next {
        self.customer = self.random.below(self.workload.customers) as i64;
        Next::now(0)
    }

    fn run(&mut self, _operation: usize) -> Result<()> {
        let rows = self.connection.execute(self.query, &[self.customer.into()])?.rows;
        let expected = self.workload.orders * self.workload.lines;
        if rows != expected {
            return Err(Error::Unexpected(format!(
                "{rows} rows of customer {}, not {expected}",
                self.customer
            )));
        }
        Ok(())
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
