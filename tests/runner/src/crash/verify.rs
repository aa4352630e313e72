//! Compares a restarted server with the writers' models, and its indexes with its rows.

use std::collections::BTreeMap;

use mysql::Conn;
use mysql::prelude::Queryable;

use super::model::{Known, Model, Order, Transfer};
use super::writer::ITEMS;
use super::{ACCOUNTS, DATABASE, START_BALANCE, text};
use crate::server::Address;

/// Also resolves the changes in flight: the models continue with what was found.
pub fn verify(address: &Address, models: &mut [Model]) -> Result<(), String> {
    let mut conn = address.connect_to(DATABASE).map_err(text)?;
    let orders = orders(&mut conn)?;
    let transfers = transfers(&mut conn)?;
    balances(&mut conn, &transfers)?;
    let mut known_orders = 0;
    let mut known_transfers = 0;
    for model in models.iter_mut() {
        for (name, known) in &mut model.orders {
            let found = orders.get(name).copied().unwrap_or(Order::Absent);
            settle(name, known, found)?;
            known_orders += usize::from(found != Order::Absent);
        }
        for (name, known) in &mut model.transfers {
            let found = transfers.get(name).copied();
            settle(name, known, found)?;
            known_transfers += usize::from(found.is_some());
        }
        model.transfers.retain(|_, known| known.acknowledged.is_some());
        model
            .orders
            .retain(|_, known| known.acknowledged != Order::Absent);
    }
    if orders.len() != known_orders || transfers.len() != known_transfers {
        return Err(format!(
            "rows nobody wrote: {} orders of which {known_orders} known, {} transfers of which {known_transfers} known",
            orders.len(),
            transfers.len()
        ));
    }
    check_tables(&mut conn, address.stemdb)?;
    indexes(&mut conn)
}

fn settle<T: PartialEq + Copy + std::fmt::Debug>(
    name: &str,
    known: &mut Known<T>,
    found: T,
) -> Result<(), String> {
    if found != known.acknowledged && Some(found) != known.in_flight {
        return Err(format!(
            "{name}: acknowledged {:?}, in flight {:?}, found {found:?}",
            known.acknowledged, known.in_flight
        ));
    }
    known.acknowledged = found;
    known.in_flight = None;
    Ok(())
}

/// Each order with its version, provided that all its rows agree on it.
fn orders(conn: &mut Conn) -> Result<BTreeMap<String, Order>, String> {
    let rows: Vec<(String, u32)> = conn.query("SELECT name, version FROM orders").map_err(text)?;
    let items: Vec<(String, u32, u32, u32)> = conn
        .query("SELECT name, COUNT(*), MIN(version), MAX(version) FROM items GROUP BY name")
        .map_err(text)?;
    let mut items: BTreeMap<String, (u32, u32, u32)> = items
        .into_iter()
        .map(|(name, n, min, max)| (name, (n, min, max)))
        .collect();
    let mut orders = BTreeMap::new();
    for (name, version) in rows {
        match items.remove(&name) {
            Some(found) if found == (ITEMS, version, version) => {}
            other => return Err(format!("half of {name}: version {version}, items {other:?}")),
        }
        orders.insert(name, Order::Version(version));
    }
    match items.first_key_value() {
        Some((name, found)) => Err(format!("half of {name}: no order, items {found:?}")),
        None => Ok(orders),
    }
}

fn transfers(conn: &mut Conn) -> Result<BTreeMap<String, Transfer>, String> {
    let rows: Vec<(String, u64, u64, i64)> = conn
        .query("SELECT name, source, target, amount FROM transfers")
        .map_err(text)?;
    Ok(rows
        .into_iter()
        .map(|(name, source, target, amount)| {
            let transfer = Transfer {
                source,
                target,
                amount,
            };
            (name, transfer)
        })
        .collect())
}

/// Every account has the balance that its transfers lead to.
fn balances(conn: &mut Conn, transfers: &BTreeMap<String, Transfer>) -> Result<(), String> {
    let mut expected: BTreeMap<u64, i64> = (0..ACCOUNTS).map(|id| (id, START_BALANCE)).collect();
    for transfer in transfers.values() {
        *expected.entry(transfer.source).or_default() -= transfer.amount;
        *expected.entry(transfer.target).or_default() += transfer.amount;
    }
    let found: BTreeMap<u64, i64> = conn
        .query("SELECT id, balance FROM accounts")
        .map_err(text)?
        .into_iter()
        .collect();
    if found != expected {
        return Err(format!("balances are {found:?}, expected {expected:?}"));
    }
    Ok(())
}

/// The server's own check that every index entry has its row and the other way round.
pub fn check_tables(conn: &mut Conn, stemdb: bool) -> Result<(), String> {
    for table in ["orders", "items", "accounts", "transfers"] {
        if stemdb {
            conn.query_drop(format!("ADMIN CHECK TABLE {table}"))
                .map_err(|e| format!("ADMIN CHECK TABLE {table}: {e}"))?;
        }
        let lines: Vec<(String, String, String, String)> =
            conn.query(format!("CHECK TABLE {table}")).map_err(text)?;
        if lines.iter().any(|(_, _, _, message)| message != "OK") {
            return Err(format!("CHECK TABLE {table}: {lines:?}"));
        }
    }
    Ok(())
}

/// Every index returns the same rows.
fn indexes(conn: &mut Conn) -> Result<(), String> {
    for (table, column, indexes) in [
        ("orders", "id", &["PRIMARY", "name", "writer"][..]),
        ("items", "name, n", &["PRIMARY", "version"][..]),
        ("accounts", "id", &["PRIMARY", "balance"][..]),
        ("transfers", "id", &["PRIMARY", "name", "source", "target"][..]),
    ] {
        let mut first: Option<Vec<String>> = None;
        for index in indexes {
            let rows: Vec<mysql::Row> = conn
                .query(format!(
                    "SELECT {column} FROM {table} FORCE INDEX ({index}) WHERE {} ORDER BY {column}",
                    everything(index)
                ))
                .map_err(text)?;
            let rows: Vec<String> = rows
                .into_iter()
                .map(|row| format!("{:?}", row.unwrap()))
                .collect();
            match &first {
                None => first = Some(rows),
                Some(first) if *first == rows => {}
                Some(first) => {
                    return Err(format!(
                        "{table}: {} rows by its primary key, {} by {index}, or others",
                        first.len(),
                        rows.len()
                    ));
                }
            }
        }
    }
    Ok(())
}

/// A condition that every row meets and that the index can answer.
fn everything(index: &str) -> &'static str {
    match index {
        "name" => "name >= ''",
        "writer" => "writer >= 0",
        "version" => "version >= 0",
        "balance" => "balance > -1000000000",
        "source" => "source >= 0",
        "target" => "target >= 0",
        _ => "1 = 1",
    }
}
