//! Transfers between accounts preserve the sum of all accounts, for every reader at any time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use mysql::prelude::Queryable;
use mysql::{Conn, TxOpts};

use super::{connect, text, threads, try_again};
use crate::server::Address;
use loadgen::random::Random;

const ACCOUNTS: u64 = 20;
const START: i64 = 1000;
const WRITERS: u64 = 6;
const TRANSFERS: u64 = 150;

pub fn check(address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    conn.query_drop(
        "CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, KEY balance (balance))",
    )
    .map_err(text)?;
    for id in 0..ACCOUNTS {
        conn.exec_drop("INSERT INTO accounts VALUES (?, ?)", (id, START))
            .map_err(text)?;
    }
    let stop = AtomicBool::new(false);
    let reads = thread::scope(|scope| {
        let readers: Vec<_> = ["id", "balance"]
            .into_iter()
            .map(|index| {
                let stop = &stop;
                scope.spawn(move || read(address, index, stop))
            })
            .collect();
        let written = threads(WRITERS, |number| transfer_many(address, number));
        stop.store(true, Ordering::Relaxed);
        let mut reads = 0;
        for reader in readers {
            reads += reader.join().map_err(|_| "a reader panicked")??;
        }
        written.map(|_| reads)
    })?;
    if reads == 0 {
        return Err("no reader read anything".to_string());
    }
    let negative: Option<i64> = conn
        .query_first("SELECT COUNT(*) FROM accounts WHERE balance < 0")
        .map_err(text)?;
    if negative != Some(0) {
        return Err(format!("{negative:?} accounts are below zero"));
    }
    expect_sum(&mut conn, "SELECT CAST(SUM(balance) AS SIGNED) FROM accounts")
}

fn expect_sum(conn: &mut Conn, query: &str) -> Result<(), String> {
    let expected = ACCOUNTS as i64 * START;
    match conn.query_first::<i64, _>(query).map_err(text)? {
        Some(sum) if sum == expected => Ok(()),
        other => Err(format!("{query}: {other:?}, expected {expected}")),
    }
}

/// Sums in one statement, and row by row within one transaction.
fn read(address: &Address, order: &str, stop: &AtomicBool) -> Result<u64, String> {
    let mut conn = connect(address)?;
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        expect_sum(&mut conn, "SELECT CAST(SUM(balance) AS SIGNED) FROM accounts")?;
        let mut transaction = conn.start_transaction(TxOpts::default()).map_err(text)?;
        let mut sum = 0;
        for id in 0..ACCOUNTS {
            let balance: Option<i64> = transaction
                .exec_first("SELECT balance FROM accounts WHERE id = ?", (id,))
                .map_err(text)?;
            sum += balance.ok_or_else(|| format!("account {id} is gone"))?;
        }
        let rows: Vec<i64> = transaction
            .query(format!("SELECT balance FROM accounts ORDER BY {order}"))
            .map_err(text)?;
        transaction.commit().map_err(text)?;
        if sum != ACCOUNTS as i64 * START || rows.iter().sum::<i64>() != sum {
            return Err(format!(
                "one transaction read {sum} and then {}",
                rows.iter().sum::<i64>()
            ));
        }
        count += 1;
    }
    Ok(count)
}

fn transfer_many(address: &Address, number: u64) -> Result<(), String> {
    let mut conn = connect(address)?;
    let mut random = Random::new(number);
    for _ in 0..TRANSFERS {
        let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
        let amount = random.below(100) as i64 + 1;
        if from == to {
            continue;
        }
        loop {
            // Locked in random order, because the test wants deadlocks.
            match transfer(&mut conn, from, to, amount) {
                Err(e) if try_again(&e) => {}
                other => break other.map_err(text)?,
            }
        }
    }
    Ok(())
}

fn transfer(conn: &mut Conn, from: u64, to: u64, amount: i64) -> mysql::Result<()> {
    let mut transaction = conn.start_transaction(TxOpts::default())?;
    let has: Option<i64> =
        transaction.exec_first("SELECT balance FROM accounts WHERE id = ? FOR UPDATE", (from,))?;
    if has.is_none_or(|has| has < amount) {
        return transaction.rollback();
    }
    transaction.exec_drop(
        "UPDATE accounts SET balance = balance - ? WHERE id = ?",
        (amount, from),
    )?;
    transaction.exec_drop(
        "UPDATE accounts SET balance = balance + ? WHERE id = ?",
        (amount, to),
    )?;
    transaction.commit()
}
