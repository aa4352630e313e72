//! The new-order transaction (clause 2.4): an order of 5 to 15 items. One of a hundred is rolled back at
//! its last item.

use super::choices::{DISTRICTS, money};
use super::input::NewOrder;
use super::{cents, one};
use crate::client::{Connection, Param, Row, Statement};
use crate::error::{Error, Result};

const NAME: &str = "new order";

pub struct Statements {
    warehouse: Statement,
    customer: Statement,
    district: Statement,
    take_number: Statement,
    order: Statement,
    new_order: Statement,
    item: Statement,
    /// One for each district: they read different columns.
    stock: Vec<Statement>,
    update_stock: Statement,
    line: Statement,
}

impl Statements {
    pub fn prepare(connection: &mut Connection) -> Result<Self> {
        let stock = (1..=DISTRICTS)
            .map(|district| {
                connection.prepare(&format!(
                    "SELECT s_quantity, s_data, s_dist_{district:02} FROM stock WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE"
                ))
            })
            .collect::<Result<Vec<Statement>>>()?;
        Ok(Self {
            stock,
            warehouse: connection.prepare("SELECT w_tax FROM warehouse WHERE w_id = ?")?,
            customer: connection.prepare(
                "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
            district: connection
                .prepare("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE")?,
            take_number: connection
                .prepare("UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?")?,
            order: connection.prepare(
                "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
                 VALUES (?, ?, ?, ?, NOW(), ?, ?)",
            )?,
            new_order: connection
                .prepare("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)")?,
            item: connection.prepare("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?")?,
            update_stock: connection.prepare(
                "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
                 s_remote_cnt = s_remote_cnt + ? WHERE s_i_id = ? AND s_w_id = ?",
            )?,
            line: connection.prepare(
                "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
                 ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?,
        })
    }

    pub fn run(&self, connection: &mut Connection, home: u64, input: &NewOrder) -> Result<()> {
        let (warehouse, district) = (Param::Int(home as i64), Param::Int(input.district as i64));
        let customer = Param::Int(input.customer as i64);
        connection.query("BEGIN")?;
        one(connection, self.warehouse, &[warehouse], NAME)?;
        one(connection, self.customer, &[warehouse, district, customer], NAME)?;
        let order = one(connection, self.district, &[warehouse, district], NAME)?.int(0)?;
        connection.execute(self.take_number, &[(order + 1).into(), warehouse, district])?;
        let place = [order.into(), district, warehouse];
        let all_local = input.lines.iter().all(|line| line.supply_warehouse == home);
        connection.execute(
            self.order,
            &[
                place[0],
                place[1],
                place[2],
                customer,
                (input.lines.len() as i64).into(),
                i64::from(all_local).into(),
            ],
        )?;
        connection.execute(self.new_order, &place)?;
        for number in 0..input.lines.len() {
            if !self.line(connection, home, input, order, number)? {
                // The user mistyped the last item. The transaction is rolled back, and it counts (2.4.1.4).
                connection.query("ROLLBACK")?;
                return Ok(());
            }
        }
        connection.query("COMMIT")?;
        Ok(())
    }

    /// Returns whether the item exists.
    fn line(
        &self,
        connection: &mut Connection,
        home: u64,
        input: &NewOrder,
        order: i64,
        number: usize,
    ) -> Result<bool> {
        let Some(line) = input.lines.get(number) else {
            return Ok(false);
        };
        let (item, supply) = (
            Param::Int(line.item as i64),
            Param::Int(line.supply_warehouse as i64),
        );
        let quantity = line.quantity as i64;
        let found = connection.fetch(self.item, &[item])?;
        let Some(found) = found.first() else {
            return Ok(false);
        };
        let amount = money(cents(found, 0)? * quantity);
        let (left, info) = self.take_stock(connection, input.district, item, supply, quantity)?;
        let remote = i64::from(line.supply_warehouse != home);
        connection.execute(
            self.update_stock,
            &[left.into(), quantity.into(), remote.into(), item, supply],
        )?;
        connection.execute(
            self.line,
            &[
                order.into(),
                (input.district as i64).into(),
                (home as i64).into(),
                (number as i64 + 1).into(),
                item,
                supply,
                quantity.into(),
                (&amount).into(),
                (&info).into(),
            ],
        )?;
        Ok(true)
    }

    /// Returns the remaining quantity, and the district's text.
    fn take_stock(
        &self,
        connection: &mut Connection,
        district: u64,
        item: Param<'_>,
        supply: Param<'_>,
        quantity: i64,
    ) -> Result<(i64, String)> {
        let statement = self
            .stock
            .get(district as usize - 1)
            .ok_or_else(|| Error::Unexpected(format!("no district {district}")))?;
        let row: Row = one(connection, *statement, &[item, supply], NAME)?;
        Ok((stock_left(row.int(0)?, quantity), row.text(2)?))
    }
}

/// If fewer than ten more than the ordered quantity are left, 91 are added.
fn stock_left(stock: i64, ordered: i64) -> i64 {
    if stock >= ordered + 10 {
        stock - ordered
    } else {
        stock - ordered + 91
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn stock_is_never_used_up() {
        let mut stock = 10;
        for ordered in (1..=10).cycle().take(1000) {
            stock = super::stock_left(stock, ordered);
            assert!((10..=100).contains(&stock), "{stock}");
        }
        assert_eq!(super::stock_left(20, 10), 10);
        assert_eq!(super::stock_left(19, 10), 100);
    }
}
