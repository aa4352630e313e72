//! The payment transaction (clause 2.5), and how a customer is found by number or by last name.

use super::choices::money;
use super::input::{Customer, Payment};
use super::one;
use crate::client::{Connection, Param, Statement};
use crate::error::{Error, Result};

const NAME: &str = "payment";
const DATA_BYTES_MAX: usize = 500;

pub struct Statements {
    pay_warehouse: Statement,
    warehouse: Statement,
    pay_district: Statement,
    district: Statement,
    find: FindCustomer,
    customer: Statement,
    customer_data: Statement,
    pay: Statement,
    pay_with_data: Statement,
    history: Statement,
}

impl Statements {
    pub fn prepare(connection: &mut Connection) -> Result<Self> {
        Ok(Self {
            find: FindCustomer::prepare(connection)?,
            pay_warehouse: connection.prepare("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?")?,
            warehouse: connection.prepare(
                "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?",
            )?,
            pay_district: connection
                .prepare("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?")?,
            district: connection.prepare(
                "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
                 WHERE d_w_id = ? AND d_id = ?",
            )?,
            customer: connection.prepare(
                "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, \
                 c_credit, c_credit_lim, c_discount, c_balance FROM customer \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
            )?,
            customer_data: connection
                .prepare("SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?")?,
            pay: connection.prepare(
                "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
                 c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
            pay_with_data: connection.prepare(
                "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
                 c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            )?,
            history: connection.prepare(
                "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
                 VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
            )?,
        })
    }

    pub fn run(&self, connection: &mut Connection, home: u64, input: &Payment) -> Result<()> {
        let (warehouse, district) = (Param::Int(home as i64), Param::Int(input.district as i64));
        let amount_text = money(input.cents);
        let amount = Param::from(&amount_text);
        connection.query("BEGIN")?;
        connection.execute(self.pay_warehouse, &[amount, warehouse])?;
        let warehouse_name = one(connection, self.warehouse, &[warehouse], NAME)?.text(0)?;
        connection.execute(self.pay_district, &[amount, warehouse, district])?;
        let district_name = one(connection, self.district, &[warehouse, district], NAME)?.text(0)?;

        let place = [
            Param::Int(input.customer_warehouse as i64),
            Param::Int(input.customer_district as i64),
        ];
        let number = self.find.number(connection, place, &input.customer, NAME)?;
        let key = [place[0], place[1], number.into()];
        let bad_credit = one(connection, self.customer, &key, NAME)?.text(10)? == "BC";
        if bad_credit {
            let old = one(connection, self.customer_data, &key, NAME)?.text(0)?;
            let data = data_of_bad_credit(number, input, home, &amount_text, &old);
            connection.execute(
                self.pay_with_data,
                &[amount, amount, (&data).into(), key[0], key[1], key[2]],
            )?;
        } else {
            connection.execute(self.pay, &[amount, amount, key[0], key[1], key[2]])?;
        }
        let history_data = format!("{warehouse_name}    {district_name}");
        connection.execute(
            self.history,
            &[
                key[2],
                key[1],
                key[0],
                district,
                warehouse,
                amount,
                (&history_data).into(),
            ],
        )?;
        connection.query("COMMIT")?;
        Ok(())
    }
}

/// The payment, followed by as much of the old data as fits.
fn data_of_bad_credit(number: i64, input: &Payment, home: u64, amount: &str, old: &str) -> String {
    let mut data = format!(
        "{number} {} {} {} {home} {amount}|{old}",
        input.customer_district, input.customer_warehouse, input.district
    );
    // All of it is ASCII, unless another program wrote it. In that case it is cut between characters.
    let mut end = data.len().min(DATA_BYTES_MAX);
    while !data.is_char_boundary(end) {
        end -= 1;
    }
    data.truncate(end);
    data
}

/// Finds a customer's number.
pub struct FindCustomer {
    by_last_name: Statement,
}

impl FindCustomer {
    pub fn prepare(connection: &mut Connection) -> Result<Self> {
        Ok(Self {
            by_last_name: connection.prepare(
                "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
            )?,
        })
    }

    /// `place` is the warehouse and district. Of several customers with the name, it is the one in the
    /// middle, by first name.
    pub fn number(
        &self,
        connection: &mut Connection,
        place: [Param<'_>; 2],
        customer: &Customer,
        operation: &'static str,
    ) -> Result<i64> {
        let name = match customer {
            Customer::Number(number) => return Ok(*number as i64),
            Customer::LastName(name) => name,
        };
        let rows = connection.fetch(self.by_last_name, &[place[0], place[1], name.into()])?;
        match rows.get(rows.len().saturating_sub(1) / 2) {
            Some(row) => row.int(0),
            None => Err(Error::Missing {
                operation,
                key: name.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_grows_at_the_front_and_is_cut_at_the_end() {
        let input = Payment {
            district: 3,
            customer_warehouse: 1,
            customer_district: 2,
            customer: Customer::Number(7),
            cents: 1234,
        };
        assert_eq!(
            data_of_bad_credit(7, &input, 4, "12.34", "old"),
            "7 2 1 3 4 12.34|old"
        );
        let long = data_of_bad_credit(7, &input, 4, "12.34", &"é".repeat(300));
        assert!(long.len() >= 499 && long.len() <= 500);
    }
}
