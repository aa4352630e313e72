//! The stock-level transaction (clause 2.8): how many items of a district's last 20 orders are low on
//! stock. It is the workload's only join outside of its checks.

use super::one;
use crate::client::{Connection, Param, Statement};
use crate::error::Result;

const NAME: &str = "stock level";
const ORDERS: i64 = 20;

/// Counts the items in a district's last orders whose stock is below a threshold.
pub const JOIN: &str = "SELECT COUNT(DISTINCT s_i_id) FROM order_line \
     JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
     WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < ?";

pub struct Statements {
    next_order: Statement,
    low: Statement,
}

impl Statements {
    pub fn prepare(connection: &mut Connection) -> Result<Self> {
        Ok(Self {
            next_order: connection
                .prepare("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?")?,
            low: connection.prepare(JOIN)?,
        })
    }

    pub fn run(&self, connection: &mut Connection, home: u64, district: u64, threshold: u64) -> Result<()> {
        let place = [Param::Int(home as i64), Param::Int(district as i64)];
        connection.query("BEGIN")?;
        let next = one(connection, self.next_order, &place, NAME)?.int(0)?;
        one(
            connection,
            self.low,
            &[
                place[0],
                place[1],
                (next - ORDERS).into(),
                next.into(),
                (threshold as i64).into(),
            ],
            NAME,
        )?;
        connection.query("COMMIT")?;
        Ok(())
    }
}
