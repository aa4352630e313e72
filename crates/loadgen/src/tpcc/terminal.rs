//! A terminal: one connection with its home warehouse, which runs one transaction after another.

use std::time::Duration;

use super::choices::DISTRICTS;
use super::input::{Company, Input, Kind};
use super::{delivery, new_order, order_status, payment, stock_level};
use crate::client::Connection;
use crate::error::{Error, Result};
use crate::random::{Random, mix};
use crate::workload::{Next, Worker};

pub struct Terminal {
    connection: Connection,
    new_order: new_order::Statements,
    payment: payment::Statements,
    order_status: order_status::Statements,
    delivery: delivery::Statements,
    stock_level: stock_level::Statements,
    company: Company,
    random: Random,
    home: u64,
    /// The district whose stock it watches.
    district: u64,
    /// Whether its user keys and thinks.
    think: bool,
    entered: Option<(Kind, Input)>,
}

impl Terminal {
    /// `number` decides the terminal's home: warehouses in turn, then their districts in turn.
    pub fn new(
        mut connection: Connection,
        company: Company,
        think: bool,
        seed: u64,
        number: usize,
    ) -> Result<Self> {
        let number = number as u64;
        let warehouses = company.warehouses.max(1);
        Ok(Self {
            new_order: new_order::Statements::prepare(&mut connection)?,
            payment: payment::Statements::prepare(&mut connection)?,
            order_status: order_status::Statements::prepare(&mut connection)?,
            delivery: delivery::Statements::prepare(&mut connection)?,
            stock_level: stock_level::Statements::prepare(&mut connection)?,
            connection,
            company,
            random: Random::new(mix(seed ^ mix(number))),
            home: number % warehouses + 1,
            district: number / warehouses % DISTRICTS + 1,
            think,
            entered: None,
        })
    }
}

impl Worker for Terminal {
    fn next(&mut self) -> Next {
        let before = self.entered.take();
        let kind = Kind::choose(&mut self.random);
        let wait = match (self.think, before) {
            (false, _) => Duration::ZERO,
            (true, None) => kind.keying(),
            (true, Some((before, _))) => before.thinking(&mut self.random) + kind.keying(),
        };
        let input = self.company.input(kind, self.home, &mut self.random);
        self.entered = Some((kind, input));
        Next {
            operation: kind as usize,
            wait,
        }
    }

    fn run(&mut self, _operation: usize) -> Result<()> {
        let Some((_, input)) = &self.entered else {
            return Err(Error::Unexpected(
                "nothing was entered at the terminal".to_owned(),
            ));
        };
        let (connection, home) = (&mut self.connection, self.home);
        match input {
            Input::NewOrder(input) => self.new_order.run(connection, home, input),
            Input::Payment(input) => self.payment.run(connection, home, input),
            Input::OrderStatus { district, customer } => {
                self.order_status.run(connection, home, *district, customer)
            }
            Input::Delivery { carrier } => self.delivery.run(connection, home, *carrier),
            Input::StockLevel { threshold } => {
                self.stock_level.run(connection, home, self.district, *threshold)
            }
        }
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
