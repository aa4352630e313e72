//! Twelve point SELECTs by primary or secondary key, prepared once per connection.

use super::data::{Field, Keys};
use crate::client::{Connection, Statement};
use crate::error::{Error, Result};

/// The key of an order that a SELECT looks for.
type Key = fn(&Keys) -> Field;

const ORDER_COLUMNS: &str =
    "id, order_number, customer_id, status, total_amount, currency, shipping_address, created_at";

/// Name, table, column, and the key.
const READS: [(&str, &str, &str, Key); 12] = [
    ("order by id", "orders", "id", |k| k.order_id().into()),
    ("order by number", "orders", "order_number", |k| {
        k.order_number().into()
    }),
    ("order by customer", "orders", "customer_id", |k| {
        k.customer_id().into()
    }),
    ("order by cart", "orders", "cart_id", |k| k.cart_id().into()),
    ("order by invoice", "orders", "invoice_number", |k| {
        k.invoice_number().into()
    }),
    ("order by session", "orders", "session_token", |k| {
        k.session_token().into()
    }),
    ("item by id", "order_items", "id", |k| k.item_id().into()),
    ("items of order", "order_items", "order_id", |k| {
        k.order_id().into()
    }),
    ("payment by reference", "payments", "reference", |k| {
        k.payment_reference().into()
    }),
    ("payment of order", "payments", "order_id", |k| {
        k.order_id().into()
    }),
    ("shipment by tracking", "shipments", "tracking_number", |k| {
        k.tracking_number(0).into()
    }),
    ("events of order", "order_events", "order_id", |k| {
        k.order_id().into()
    }),
];

/// The number of reads.
pub const COUNT: usize = READS.len();

pub fn operations() -> impl Iterator<Item = &'static str> {
    READS.iter().map(|(operation, ..)| *operation)
}

/// The prepared SELECTs of one connection.
pub struct Reads {
    list: Vec<(&'static str, Statement, Key)>,
}

impl Reads {
    pub fn prepare(connection: &mut Connection) -> Result<Self> {
        let mut list = Vec::new();
        for (operation, table, column, key) in READS {
            let columns = if table == "orders" { ORDER_COLUMNS } else { "*" };
            let sql = format!("SELECT {columns} FROM {table} WHERE {column} = ?");
            list.push((operation, connection.prepare(&sql)?, key));
        }
        Ok(Self { list })
    }

    /// Reads one order's row or rows. Finding none is an error: they were committed before the run.
    pub fn run(&self, connection: &mut Connection, number: usize, keys: &Keys) -> Result<()> {
        let Some((operation, statement, key)) = self.list.get(number) else {
            return Ok(());
        };
        let key = key(keys);
        if connection.execute(*statement, &[key.param()])?.rows == 0 {
            return Err(Error::Missing {
                operation,
                key: format!("{key:?}"),
            });
        }
        Ok(())
    }
}
