//! The tables before the run: creating, filling, checking and dropping them.

use super::data::{self, EVENTS, Field, ITEMS, Keys, PARCELS};
use super::schema::TABLES;
use crate::client::{Connection, Param};
use crate::error::Result;
use crate::load::{MultiInsert, in_parallel};
use crate::workload::{Checks, Context, check_indexes};

/// Orders per loading transaction of one connection.
const PART_ORDERS: u64 = 500;
/// Orders that a check looks up one by one.
const SAMPLE: u64 = 100;

pub fn prepare(orders: u64, context: &Context) -> Result<()> {
    let mut connection = Connection::open(&context.target)?;
    for table in &TABLES {
        connection.query(&format!("DROP TABLE IF EXISTS {}", table.name))?;
        connection.query(table.create)?;
    }
    in_parallel(
        context,
        "filling",
        orders.div_ceil(PART_ORDERS),
        |connection, part| {
            fill(
                connection,
                part * PART_ORDERS..orders.min((part + 1) * PART_ORDERS),
            )
        },
    )
}

/// Rows of one table that are being sent, with ids computed from the order's sequence number.
struct Rows {
    insert: MultiInsert,
}

impl Rows {
    fn add(&mut self, connection: &mut Connection, id: i64, values: &[Field]) -> Result<()> {
        let values: Vec<Param<'_>> = std::iter::once(Param::Int(id))
            .chain(values.iter().map(Field::param))
            .collect();
        self.insert.row(connection, &values)
    }
}

fn fill(connection: &mut Connection, sequences: std::ops::Range<u64>) -> Result<()> {
    let [mut orders, mut items, mut payments, mut shipments, mut events] =
        TABLES.each_ref().map(|table| Rows {
            insert: MultiInsert::new(format!(
                "INSERT INTO {} (id, {}) VALUES ",
                table.name, table.columns
            )),
        });
    for sequence in sequences {
        let keys = Keys::of(sequence);
        let mut random = keys.random();
        let order_id = keys.order_id();
        orders.add(connection, order_id, &data::order(&keys))?;
        for item in 0..ITEMS as i64 {
            items.add(
                connection,
                keys.item_id() + item,
                &data::item(order_id, &mut random),
            )?;
        }
        payments.add(connection, order_id, &data::payment(order_id, &keys, &mut random))?;
        for parcel in 0..PARCELS {
            let id = (sequence * PARCELS + parcel) as i64 + 1;
            let values = data::shipment(order_id, parcel, &keys, &mut random);
            shipments.add(connection, id, &values)?;
        }
        for (position, kind) in EVENTS.into_iter().enumerate() {
            let id = (sequence as usize * EVENTS.len() + position) as i64 + 1;
            events.add(connection, id, &data::event(order_id, kind, &mut random))?;
        }
    }
    for rows in [
        &mut orders,
        &mut items,
        &mut payments,
        &mut shipments,
        &mut events,
    ] {
        rows.insert.flush(connection)?;
    }
    Ok(())
}

pub fn check(orders: u64, context: &Context, checks: &mut Checks) -> Result<()> {
    let mut connection = Connection::open(&context.target)?;
    let count = connection.fetch_int("SELECT COUNT(*) FROM orders")?;
    checks.add(
        "orders",
        count >= orders as i64,
        format!("{count}, of which {orders} were loaded"),
    );
    // Transactions are atomic, so the tables' sizes have fixed ratios.
    for (table, each) in [
        ("order_items", ITEMS as i64),
        ("payments", 1),
        ("shipments", PARCELS as i64),
        ("order_events", EVENTS.len() as i64),
    ] {
        let rows = connection.fetch_int(&format!("SELECT COUNT(*) FROM {table}"))?;
        checks.equal(format!("rows of {table}, {each} an order"), rows, count * each);
        let of_orders = connection.fetch_int(&format!("SELECT COUNT(DISTINCT order_id) FROM {table}"))?;
        checks.equal(format!("orders that {table} has rows of"), of_orders, count);
    }
    let number = connection.prepare("SELECT id, total_amount FROM orders WHERE order_number = ?")?;
    let mut wrong = 0;
    let step = orders.div_ceil(SAMPLE).max(1);
    for sequence in (0..orders).step_by(step as usize) {
        let keys = Keys::of(sequence);
        let rows = connection.fetch(number, &[(&keys.order_number()).into()])?;
        let expected = data::order(&keys).get(12).cloned();
        let right = match rows.as_slice() {
            [row] => row.int(0)? == keys.order_id() && expected == Some(Field::Text(row.text(1)?)),
            _ => false,
        };
        wrong += i64::from(!right);
    }
    checks.equal("sampled orders whose id or amount is wrong", wrong, 0);
    for table in &TABLES {
        check_indexes(&mut connection, table.name, checks)?;
    }
    Ok(())
}

pub fn cleanup(context: &Context) -> Result<()> {
    let mut connection = Connection::open(&context.target)?;
    for table in &TABLES {
        connection.query(&format!("DROP TABLE IF EXISTS {}", table.name))?;
    }
    Ok(())
}
