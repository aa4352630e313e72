//! The order-status transaction (clause 2.6): a customer's last order and its lines. Reads only.

use super::input::Customer;
use super::one;
use super::payment::FindCustomer;
use crate::client::{Connection, Param, Statement};
use crate::error::Result;

const NAME: &str = "order status";

pub struct Statements {
    find: FindCustomer,
    customer: Statement,
    last_order: Statement,
    lines: Statement,
}

impl Statements {
    pub fn prepare(connection: &mut Connection) -> Result<Self> {
        Ok(Self {
            find: FindCustomer::prepare(connection)?,
            customer: connection.prepare(
                "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
            last_order: connection.prepare(
                "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
                 ORDER BY o_id DESC LIMIT 1",
            )?,
            lines: connection.prepare(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            )?,
        })
    }

    pub fn run(
        &self,
        connection: &mut Connection,
        home: u64,
        district: u64,
        customer: &Customer,
    ) -> Result<()> {
        let place = [Param::Int(home as i64), Param::Int(district as i64)];
        connection.query("BEGIN")?;
        let number = Param::Int(self.find.number(connection, place, customer, NAME)?);
        one(connection, self.customer, &[place[0], place[1], number], NAME)?;
        let order = one(connection, self.last_order, &[place[0], place[1], number], NAME)?.int(0)?;
        connection.fetch(self.lines, &[place[0], place[1], order.into()])?;
        connection.query("COMMIT")?;
        Ok(())
    }
}
