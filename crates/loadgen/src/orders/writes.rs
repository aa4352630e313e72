//! The write transaction: ten INSERTs over the five tables.

use super::data::{self, EVENTS, Field, ITEMS, Keys, PARCELS};
use super::schema::TABLES;
use crate::client::{Connection, Param, Statement};
use crate::error::Result;

pub const OPERATION: &str = "new order (10 INSERTs)";

/// The prepared INSERTs of one connection, in the order of [`TABLES`].
pub struct Writes {
    statements: [Statement; 5],
    commit: Statement,
}

impl Writes {
    pub fn prepare(connection: &mut Connection) -> Result<Self> {
        let [order, item, payment, shipment, event] = &TABLES;
        let mut insert = |table: &super::schema::Table| {
            let marks = vec!["?"; table.columns.split(',').count()].join(", ");
            connection.prepare(&format!(
                "INSERT INTO {} ({}) VALUES ({marks})",
                table.name, table.columns
            ))
        };
        let statements = [
            insert(order)?,
            insert(item)?,
            insert(payment)?,
            insert(shipment)?,
            insert(event)?,
        ];
        Ok(Self {
            statements,
            commit: connection.prepare("COMMIT")?,
        })
    }

    /// Inserts a new order. The server assigns its ids.
    pub fn transaction(&self, connection: &mut Connection, sequence: u64) -> Result<()> {
        let [order, item, payment, shipment, event] = self.statements;
        connection.query("BEGIN")?;
        let keys = Keys::of(sequence);
        let mut random = keys.random();
        let order_id = insert(connection, order, &data::order(&keys))? as i64;
        for _ in 0..ITEMS {
            insert(connection, item, &data::item(order_id, &mut random))?;
        }
        insert(connection, payment, &data::payment(order_id, &keys, &mut random))?;
        for parcel in 0..PARCELS {
            let values = data::shipment(order_id, parcel, &keys, &mut random);
            insert(connection, shipment, &values)?;
        }
        for kind in EVENTS {
            insert(connection, event, &data::event(order_id, kind, &mut random))?;
        }
        connection.execute(self.commit, &[])?;
        Ok(())
    }
}

/// Returns the id that the server assigned.
fn insert(connection: &mut Connection, statement: Statement, values: &[Field]) -> Result<u64> {
    let values: Vec<Param<'_>> = values.iter().map(Field::param).collect();
    Ok(connection.execute(statement, &values)?.last_insert_id)
}
