//! One writer: transactions over several tables until the server dies. Each is recorded in the model before
//! and after.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use loadgen::random::Random;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::model::{Model, Order, Transfer};
use super::{ACCOUNTS, DATABASE, text};
use crate::server::Address;

pub const ITEMS: u32 = 3;

/// How one transaction ended.
enum End {
    Acknowledged,
    /// Refused with a deadlock, a lock wait time-out or a new definition, so certainly not done.
    Refused,
    /// The connection broke: the outcome is unknown.
    Gone,
}

/// Writes until the connection breaks, which must not happen before `killed`. Counts acknowledged
/// transactions.
pub fn write(
    address: &Address,
    model: &mut Model,
    round: u64,
    killed: &AtomicBool,
    acknowledged: &AtomicU64,
) -> Result<(), String> {
    let mut random = Random::new(round * 1000 + model.writer);
    let mut conn = match address.connect_to(DATABASE) {
        Ok(conn) => conn,
        Err(_) if killed.load(Ordering::SeqCst) => return Ok(()),
        Err(e) => return Err(text(e)),
    };
    loop {
        let result = match random.below(10) {
            0..4 => insert_order(&mut conn, model, &mut random),
            4..6 => update_order(&mut conn, model, &mut random),
            6 => delete_order(&mut conn, model, &mut random),
            _ => transfer(&mut conn, model, &mut random),
        };
        match result {
            Ok(End::Acknowledged) => {
                acknowledged.fetch_add(1, Ordering::SeqCst);
            }
            Ok(End::Refused) => {}
            Ok(End::Gone) | Err(_) if killed.load(Ordering::SeqCst) => return Ok(()),
            Ok(End::Gone) => return Err("the connection broke before the server was killed".to_string()),
            Err(e) => return Err(e),
        }
    }
}

/// Runs the statements of one transaction, commits, and classifies the outcome.
fn transaction(conn: &mut Conn, run: impl FnOnce(&mut Conn) -> mysql::Result<()>) -> Result<End, String> {
    let result = conn
        .query_drop("BEGIN")
        .and_then(|()| run(conn))
        .and_then(|()| conn.query_drop("COMMIT"));
    match result {
        Ok(()) => Ok(End::Acknowledged),
        // 1412: the table has been rewritten since the transaction began.
        Err(mysql::Error::MySqlError(e)) if matches!(e.code, 1205 | 1213 | 1412) => {
            conn.query_drop("ROLLBACK").map_err(text)?;
            Ok(End::Refused)
        }
        // Shutting down (1053), outcome unknown (8501): as if the connection broke.
        Err(mysql::Error::MySqlError(e)) if matches!(e.code, 1053 | 8501) => Ok(End::Gone),
        Err(mysql::Error::MySqlError(e)) => Err(e.to_string()),
        Err(_) => Ok(End::Gone),
    }
}

fn order(
    conn: &mut Conn,
    model: &mut Model,
    name: &str,
    new: Order,
    run: impl FnOnce(&mut Conn) -> mysql::Result<()>,
) -> Result<End, String> {
    model.order_sent(name, new);
    let end = transaction(conn, run)?;
    match end {
        End::Acknowledged => model.order_acknowledged(name),
        End::Refused => model.order_refused(name),
        End::Gone => {}
    }
    Ok(end)
}

fn insert_order(conn: &mut Conn, model: &mut Model, random: &mut Random) -> Result<End, String> {
    let name = model.new_name();
    let writer = model.writer;
    let note = random_text(random);
    let payload = random.text(100);
    order(conn, model, &name, Order::Version(1), |conn| {
        conn.exec_drop(
            "INSERT INTO orders (name, writer, version, note) VALUES (?, ?, 1, ?)",
            (&name, writer, note),
        )?;
        for n in 0..ITEMS {
            conn.exec_drop(
                "INSERT INTO items VALUES (?, ?, 1, ?)",
                (&name, n, format!("{payload}{n}")),
            )?;
        }
        Ok(())
    })
}

fn update_order(conn: &mut Conn, model: &mut Model, random: &mut Random) -> Result<End, String> {
    let Some((name, version)) = model.some_order(random.below(u64::MAX)) else {
        return Ok(End::Refused);
    };
    let note = random_text(random);
    order(conn, model, &name, Order::Version(version + 1), |conn| {
        conn.exec_drop(
            "UPDATE orders SET version = version + 1, note = ? WHERE name = ?",
            (note, &name),
        )?;
        conn.exec_drop(
            "UPDATE items SET version = version + 1, payload = CONCAT(LEFT(payload, 50), ?) WHERE name = ?",
            (version, &name),
        )
    })
}

fn delete_order(conn: &mut Conn, model: &mut Model, random: &mut Random) -> Result<End, String> {
    let Some((name, _)) = model.some_order(random.below(u64::MAX)) else {
        return Ok(End::Refused);
    };
    order(conn, model, &name, Order::Absent, |conn| {
        conn.exec_drop("DELETE FROM items WHERE name = ?", (&name,))?;
        conn.exec_drop("DELETE FROM orders WHERE name = ?", (&name,))
    })
}

fn transfer(conn: &mut Conn, model: &mut Model, random: &mut Random) -> Result<End, String> {
    let transfer = Transfer {
        source: random.below(ACCOUNTS),
        target: random.below(ACCOUNTS),
        amount: random.below(50) as i64 + 1,
    };
    if transfer.source == transfer.target {
        return Ok(End::Refused);
    }
    let name = model.new_name();
    model.transfer_sent(&name, transfer);
    let end = transaction(conn, |conn| {
        conn.exec_drop(
            "UPDATE accounts SET balance = balance - ? WHERE id = ?",
            (transfer.amount, transfer.source),
        )?;
        conn.exec_drop(
            "UPDATE accounts SET balance = balance + ? WHERE id = ?",
            (transfer.amount, transfer.target),
        )?;
        conn.exec_drop(
            "INSERT INTO transfers (name, source, target, amount) VALUES (?, ?, ?, ?)",
            (&name, transfer.source, transfer.target, transfer.amount),
        )
    })?;
    match end {
        End::Acknowledged => model.transfer_acknowledged(&name),
        End::Refused => model.transfer_refused(&name),
        End::Gone => {}
    }
    Ok(end)
}

fn random_text(random: &mut Random) -> String {
    let length = random.below(150) as usize;
    random.text(length)
}
