//! The first rows of the nine tables (clause 4.3.3), the same for the same seed.
//!
//! The population is divided into `Part`s, which can be loaded in any order over any number of connections.

use super::choices::{self, CUSTOMERS, DISTRICTS, ITEMS, between, money, rate, text, zip};
use crate::client::Param::Text;
use crate::client::{Connection, Param};
use crate::error::Result;
use crate::load::MultiInsert;
use crate::random::{Random, mix};

/// This order and later ones are not delivered yet.
const FIRST_UNDELIVERED: u64 = 2101;
/// Rows of item and stock in one part.
const ITEMS_A_PART: u64 = 1_000;
const ITEM_PARTS: u64 = ITEMS / ITEMS_A_PART;
/// The warehouse and its districts, its stock, its districts' customers, its districts' orders.
const PARTS_A_WAREHOUSE: u64 = 1 + ITEM_PARTS + 2 * DISTRICTS;
/// The time of all events before the first run.
const THEN: &str = "2026-01-01 00:00:00";

/// A piece of the population.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Starting at this item.
    Items(u64),
    Warehouse(u64),
    /// Of a warehouse, starting at this item.
    Stock(u64, u64),
    /// Of a warehouse and district, with each customer's first payment.
    Customers(u64, u64),
    /// Of a warehouse and district, with their lines.
    Orders(u64, u64),
}

/// The number of parts for this number of warehouses.
pub fn parts(warehouses: u64) -> u64 {
    ITEM_PARTS + warehouses * PARTS_A_WAREHOUSE
}

impl Part {
    fn of(number: u64) -> Self {
        let Some(rest) = number.checked_sub(ITEM_PARTS) else {
            return Self::Items(number * ITEMS_A_PART + 1);
        };
        let warehouse = rest / PARTS_A_WAREHOUSE + 1;
        match rest % PARTS_A_WAREHOUSE {
            0 => Self::Warehouse(warehouse),
            n if n <= ITEM_PARTS => Self::Stock(warehouse, (n - 1) * ITEMS_A_PART + 1),
            n if n <= ITEM_PARTS + DISTRICTS => Self::Customers(warehouse, n - ITEM_PARTS),
            n => Self::Orders(warehouse, n - ITEM_PARTS - DISTRICTS),
        }
    }
}

/// Inserts the part with this number, which is below [`parts`].
pub fn load(connection: &mut Connection, seed: u64, number: u64) -> Result<()> {
    let random = &mut Random::new(mix(seed ^ mix(number)));
    match Part::of(number) {
        Part::Items(first) => items(connection, random, first),
        Part::Warehouse(warehouse) => {
            warehouse_row(connection, random, warehouse)?;
            districts(connection, random, warehouse)
        }
        Part::Stock(warehouse, first) => stock(connection, random, warehouse, first),
        Part::Customers(warehouse, district) => customers(connection, random, warehouse, district),
        Part::Orders(warehouse, district) => orders(connection, random, warehouse, district),
    }
}

fn int(value: u64) -> Param<'static> {
    Param::Int(value as i64)
}

fn items(connection: &mut Connection, random: &mut Random, first: u64) -> Result<()> {
    let mut insert = MultiInsert::new("INSERT INTO item (i_id, i_im_id, i_name, i_price, i_data) VALUES ");
    for item in first..first + ITEMS_A_PART {
        let image = between(random, 1, 10_000);
        let name = text(random, 14, 24);
        let price = money(between(random, 100, 10_000) as i64);
        let data = choices::data(random);
        insert.row(
            connection,
            &[
                int(item),
                int(image),
                (&name).into(),
                (&price).into(),
                (&data).into(),
            ],
        )?;
    }
    insert.flush(connection)
}

/// Two streets, city, state, zip.
fn address(random: &mut Random) -> [String; 5] {
    [
        text(random, 10, 20),
        text(random, 10, 20),
        text(random, 10, 20),
        text(random, 2, 2).to_uppercase(),
        zip(random),
    ]
}

fn warehouse_row(connection: &mut Connection, random: &mut Random, warehouse: u64) -> Result<()> {
    let mut insert = MultiInsert::new(
        "INSERT INTO warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd) VALUES ",
    );
    let name = text(random, 6, 10);
    let address = address(random);
    let tax = rate(random, 2000);
    let mut values = vec![int(warehouse), (&name).into()];
    values.extend(address.iter().map(Param::from));
    values.extend([Text(&tax), Text("300000.00")]);
    insert.row(connection, &values)?;
    insert.flush(connection)
}

fn districts(connection: &mut Connection, random: &mut Random, warehouse: u64) -> Result<()> {
    let mut insert = MultiInsert::new(
        "INSERT INTO district (d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, \
         d_next_o_id) VALUES ",
    );
    for district in 1..=DISTRICTS {
        let name = text(random, 6, 10);
        let address = address(random);
        let tax = rate(random, 2000);
        let mut values = vec![int(district), int(warehouse), (&name).into()];
        values.extend(address.iter().map(Param::from));
        values.extend([Text(&tax), Text("30000.00"), int(CUSTOMERS + 1)]);
        insert.row(connection, &values)?;
    }
    insert.flush(connection)
}

fn stock(connection: &mut Connection, random: &mut Random, warehouse: u64, first: u64) -> Result<()> {
    let mut insert = MultiInsert::new(
        "INSERT INTO stock (s_i_id, s_w_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, \
         s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data) VALUES ",
    );
    for item in first..first + ITEMS_A_PART {
        let quantity = between(random, 10, 100);
        let districts: Vec<String> = (0..DISTRICTS).map(|_| text(random, 24, 24)).collect();
        let data = choices::data(random);
        let mut values = vec![int(item), int(warehouse), int(quantity)];
        values.extend(districts.iter().map(Param::from));
        values.extend([int(0), int(0), int(0), Text(&data)]);
        insert.row(connection, &values)?;
    }
    insert.flush(connection)
}

fn customers(connection: &mut Connection, random: &mut Random, warehouse: u64, district: u64) -> Result<()> {
    let mut insert = MultiInsert::new(
        "INSERT INTO customer (c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
         c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, \
         c_payment_cnt, c_delivery_cnt, c_data) VALUES ",
    );
    for customer in 1..=CUSTOMERS {
        let last = choices::last_name_to_load(random, customer);
        let first = text(random, 8, 16);
        let address = address(random);
        let phone = choices::digits(random, 16);
        let credit = if random.below(10) == 0 { "BC" } else { "GC" };
        let discount = rate(random, 5000);
        let data = text(random, 300, 500);
        let mut values = vec![int(customer), int(district), int(warehouse)];
        values.extend([Text(&first), Text("OE"), Text(&last)]);
        values.extend(address.iter().map(Param::from));
        values.extend([Text(&phone), Text(THEN), Text(credit), Text("50000.00")]);
        values.extend([Text(&discount), Text("-10.00"), Text("10.00")]);
        values.extend([int(1), int(0), Text(&data)]);
        insert.row(connection, &values)?;
    }
    insert.flush(connection)?;
    payments(connection, random, warehouse, district)
}

/// One payment of each customer.
fn payments(connection: &mut Connection, random: &mut Random, warehouse: u64, district: u64) -> Result<()> {
    let mut insert = MultiInsert::new(
        "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES ",
    );
    for customer in 1..=CUSTOMERS {
        let data = text(random, 12, 24);
        let (district, warehouse) = (int(district), int(warehouse));
        insert.row(
            connection,
            &[
                int(customer),
                district,
                warehouse,
                district,
                warehouse,
                THEN.into(),
                "10.00".into(),
                (&data).into(),
            ],
        )?;
    }
    insert.flush(connection)
}

fn orders(connection: &mut Connection, random: &mut Random, warehouse: u64, district: u64) -> Result<()> {
    let mut orders = MultiInsert::new(
        "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES ",
    );
    let mut lines = MultiInsert::new(
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
         ol_quantity, ol_amount, ol_dist_info) VALUES ",
    );
    let mut new_orders = MultiInsert::new("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ");
    let place = [int(district), int(warehouse)];
    for (order, customer) in (1..).zip(shuffled(random, CUSTOMERS)) {
        let delivered = order < FIRST_UNDELIVERED;
        let carrier = delivered.then(|| between(random, 1, 10) as i64);
        let count = between(random, 5, 15);
        let mut values = vec![int(order), place[0], place[1], int(customer)];
        values.extend([
            Text(THEN),
            carrier.map_or(Param::Null, Param::Int),
            int(count),
            int(1),
        ]);
        orders.row(connection, &values)?;
        for number in 1..=count {
            let item = between(random, 1, ITEMS);
            let cents = if delivered { 0 } else { between(random, 1, 999_999) };
            let amount = money(cents as i64);
            let info = text(random, 24, 24);
            let mut values = vec![int(order), place[0], place[1], int(number), int(item), place[1]];
            values.extend([Param::from(delivered.then_some(THEN)), int(5)]);
            values.extend([Text(&amount), Text(&info)]);
            lines.row(connection, &values)?;
        }
        if !delivered {
            new_orders.row(connection, &[int(order), place[0], place[1]])?;
        }
    }
    orders.flush(connection)?;
    lines.flush(connection)?;
    new_orders.flush(connection)
}

/// The numbers from 1 to `count` in random order (Fisher and Yates).
fn shuffled(random: &mut Random, count: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (1..=count).collect();
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, random.below(last as u64 + 1) as usize);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_two_warehouses_are_all_there_once() {
        let all: Vec<Part> = (0..parts(2)).map(Part::of).collect();
        for (i, part) in all.iter().enumerate() {
            assert!(!all[i + 1..].contains(part), "{part:?}");
        }
        let count = |matches: fn(&Part) -> bool| all.iter().filter(|part| matches(part)).count();
        assert_eq!(count(|part| matches!(part, Part::Items(_))), 100);
        assert_eq!(count(|part| matches!(part, Part::Warehouse(_))), 2);
        assert_eq!(count(|part| matches!(part, Part::Stock(2, _))), 100);
        assert_eq!(count(|part| matches!(part, Part::Customers(1, 1..=10))), 10);
        assert_eq!(count(|part| matches!(part, Part::Orders(2, 1..=10))), 10);
        assert!(all.contains(&Part::Items(99_001)) && all.contains(&Part::Stock(1, 99_001)));
    }

    #[test]
    fn a_shuffle_keeps_all_numbers() {
        let numbers = shuffled(&mut Random::new(3), CUSTOMERS);
        assert_ne!(numbers[..3], [1, 2, 3]);
        let mut sorted = numbers;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(1..=CUSTOMERS));
    }
}
