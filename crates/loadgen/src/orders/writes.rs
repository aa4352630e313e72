//! The write transaction: ten INSERTs over the five tables.

use mysql::prelude::Queryable;
use mysql::{Conn, Statement, Value};

use super::data::{self, Keys};
use crate::error::Result;

pub const OPERATION: &str = "new order (10 INSERTs)";

const ITEMS: usize = 4;
const PARCELS: usize = 2;
const EVENTS: [&str; 2] = ["created", "paid"];

/// What readers need of an order that was committed.
#[derive(Debug, Clone)]
pub struct Written {
    pub sequence: u64,
    pub order_id: u64,
    /// One of its items.
    pub item_id: u64,
}

/// The prepared INSERTs of one connection.
pub struct Writes {
    order: Statement,
    item: Statement,
    payment: Statement,
    shipment: Statement,
    event: Statement,
}

impl Writes {
    pub fn prepare(conn: &mut Conn) -> Result<Self> {
        Ok(Self {
            order: conn.prep(
                "INSERT INTO orders (order_number, customer_id, seller_id, warehouse_id, cart_id, invoice_number, \
                 payment_reference, coupon_code, customer_email, customer_phone, session_token, status, \
                 total_amount, tax_amount, shipping_address, billing_address, attributes, promised_at) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?,
            item: conn.prep(
                "INSERT INTO order_items (order_id, product_id, title, quantity, unit_price) VALUES (?, ?, ?, ?, ?)",
            )?,
            payment: conn.prep(
                "INSERT INTO payments (order_id, provider, reference, amount, paid_at) \
                 VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP(3))",
            )?,
            shipment: conn.prep(
                "INSERT INTO shipments (order_id, tracking_number, carrier, weight_grams) VALUES (?, ?, ?, ?)",
            )?,
            event: conn.prep("INSERT INTO order_events (order_id, kind, detail) VALUES (?, ?, ?)")?,
        })
    }

    /// The orders of these sequence numbers in one transaction.
    pub fn transaction(&self, conn: &mut Conn, sequences: &[u64]) -> Result<Vec<Written>> {
        conn.query_drop("BEGIN")?;
        let mut written = Vec::with_capacity(sequences.len());
        for &sequence in sequences {
            written.push(self.order(conn, sequence)?);
        }
        conn.query_drop("COMMIT")?;
        Ok(written)
    }

    fn order(&self, conn: &mut Conn, sequence: u64) -> Result<Written> {
        let keys = Keys::of(sequence);
        let mut random = keys.random();
        let order_id = insert(conn, &self.order, data::order(&keys))?;
        let mut item_id = 0;
        for _ in 0..ITEMS {
            item_id = insert(conn, &self.item, data::item(order_id, &mut random))?;
        }
        insert(conn, &self.payment, data::payment(order_id, &keys, &mut random))?;
        for parcel in 0..PARCELS {
            let values = data::shipment(order_id, parcel, &keys, &mut random);
            insert(conn, &self.shipment, values)?;
        }
        for kind in EVENTS {
            insert(conn, &self.event, data::event(order_id, kind, &mut random))?;
        }
        Ok(Written {
            sequence,
            order_id,
            item_id,
        })
    }
}

/// The id the row was given.
fn insert(conn: &mut Conn, statement: &Statement, values: Vec<Value>) -> Result<u64> {
    conn.exec_drop(statement, values)?;
    Ok(conn.last_insert_id())
}
