//! The delivery transaction (clause 2.7): the oldest undelivered order of each district. All are in one
//! transaction and, unlike the standard's, the terminal waits for it.

use super::choices::DISTRICTS;
use super::one;
use crate::client::{Connection, Param, Statement};
use crate::error::{Error, Result};

const NAME: &str = "delivery";

pub struct Statements {
    oldest: Statement,
    take: Statement,
    customer: Statement,
    deliver: Statement,
    deliver_lines: Statement,
    amount: Statement,
    charge: Statement,
}

impl Statements {
    pub fn prepare(connection: &mut Connection) -> Result<Self> {
        Ok(Self {
            oldest: connection.prepare(
                "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
            )?,
            take: connection
                .prepare("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?")?,
            customer: connection
                .prepare("SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?")?,
            deliver: connection
                .prepare("UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?")?,
            deliver_lines: connection.prepare(
                "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            )?,
            amount: connection.prepare(
                "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            )?,
            charge: connection.prepare(
                "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
        })
    }

    pub fn run(&self, connection: &mut Connection, home: u64, carrier: u64) -> Result<()> {
        connection.query("BEGIN")?;
        for district in 1..=DISTRICTS {
            self.district(connection, home, district, carrier)?;
        }
        connection.query("COMMIT")?;
        Ok(())
    }

    /// A district without undelivered orders is skipped (2.7.4.2).
    fn district(&self, connection: &mut Connection, home: u64, district: u64, carrier: u64) -> Result<()> {
        let place = [Param::Int(home as i64), Param::Int(district as i64)];
        let oldest = connection.fetch(self.oldest, &place)?;
        let Some(oldest) = oldest.first() else {
            return Ok(());
        };
        let order = oldest.int(0)?;
        let key = [place[0], place[1], order.into()];
        let taken = connection.execute(self.take, &key)?.affected_rows;
        if taken != 1 {
            return Err(Error::Unexpected(format!(
                "{NAME}: order {order} of district {district} was locked, and {taken} rows of it were deleted"
            )));
        }
        let customer = one(connection, self.customer, &key, NAME)?.int(0)?;
        connection.execute(
            self.deliver,
            &[Param::Int(carrier as i64), key[0], key[1], key[2]],
        )?;
        connection.execute(self.deliver_lines, &key)?;
        let amount = one(connection, self.amount, &key, NAME)?.text(0)?;
        connection.execute(
            self.charge,
            &[(&amount).into(), place[0], place[1], customer.into()],
        )?;
        Ok(())
    }
}
