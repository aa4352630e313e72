//! Twelve point SELECTs by primary or secondary key, prepared once per connection.

use mysql::prelude::Queryable;
use mysql::{Conn, Row, Statement, Value};

use super::data::Keys;
use super::writes::Written;
use crate::error::{Error, Result};

/// What a SELECT is asked for, of one order.
type Key = fn(&Written, &Keys) -> Value;

const ORDER_COLUMNS: &str =
    "id, order_number, customer_id, status, total_amount, currency, shipping_address, created_at";

/// Name, table and columns, where, and the key.
const READS: [(&str, &str, &str, Key); 12] = [
    ("order by id", "orders", "id", |w, _| w.order_id.into()),
    ("order by number", "orders", "order_number", |_, k| {
        k.order_number().into()
    }),
    ("order by customer", "orders", "customer_id", |_, k| {
        k.customer_id().into()
    }),
    ("order by cart", "orders", "cart_id", |_, k| k.cart_id().into()),
    ("order by invoice", "orders", "invoice_number", |_, k| {
        k.invoice_number().into()
    }),
    ("order by session", "orders", "session_token", |_, k| {
        k.session_token().into()
    }),
    ("item by id", "order_items", "id", |w, _| w.item_id.into()),
    ("items of order", "order_items", "order_id", |w, _| {
        w.order_id.into()
    }),
    ("payment by reference", "payments", "reference", |_, k| {
        k.payment_reference().into()
    }),
    ("payment of order", "payments", "order_id", |w, _| {
        w.order_id.into()
    }),
    ("shipment by tracking", "shipments", "tracking_number", |_, k| {
        k.tracking_number(0).into()
    }),
    ("events of order", "order_events", "order_id", |w, _| {
        w.order_id.into()
    }),
];

pub fn operations() -> impl Iterator<Item = &'static str> {
    READS.iter().map(|(operation, ..)| *operation)
}

/// The prepared SELECTs of one connection.
pub struct Reads {
    pub list: Vec<Read>,
}

pub struct Read {
    pub operation: &'static str,
    statement: Statement,
    key: Key,
}

impl Reads {
    pub fn prepare(conn: &mut Conn) -> Result<Self> {
        let mut list = Vec::new();
        for (operation, table, column, key) in READS {
            let columns = if table == "orders" { ORDER_COLUMNS } else { "*" };
            let sql = format!("SELECT {columns} FROM {table} WHERE {column} = ?");
            list.push(Read {
                operation,
                statement: conn.prep(sql)?,
                key,
            });
        }
        Ok(Self { list })
    }
}

impl Read {
    /// Asks for one order's row or rows. Finding none is an error: they were committed before the clock started.
    pub fn run(&self, conn: &mut Conn, order: &Written) -> Result<()> {
        let key = (self.key)(order, &Keys::of(order.sequence));
        let rows: Vec<Row> = conn.exec(&self.statement, (key.clone(),))?;
        if rows.is_empty() {
            return Err(Error::Missing {
                operation: self.operation,
                key: key.as_sql(false),
            });
        }
        Ok(())
    }
}
