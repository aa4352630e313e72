//! The load, and its clients' records.
//!
//! A client counts acknowledged changes, and separately those with an unknown outcome (8501). Any other error
//! is a refusal, after which the change must not be there.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use loadgen::random::Random;
use mysql::prelude::Queryable;
use mysql::{Conn, TxOpts};

use super::{DATABASE, text};
use crate::code;
use crate::server::Address;

pub const ACCOUNTS: u64 = 200;
const START_BALANCE: i64 = 1_000;
const COUNTERS: u64 = 5;

/// Clients of each kind.
const TELLERS: u64 = 3;
const COUNTING: u64 = 2;
const RACING: u64 = 2;

const UNDETERMINED: u16 = 8501;

/// The record of one counter.
#[derive(Default)]
struct Counter {
    acknowledged: AtomicU64,
    unknown: AtomicU64,
}

/// The client that was told that it owns a name. No other client may own it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Claim {
    Owner(u64),
    /// A client got an unknown outcome.
    Unknown,
}

#[derive(Default)]
pub struct Load {
    counters: [Counter; COUNTERS as usize],
    names: Mutex<BTreeMap<String, Vec<Claim>>>,
    transfers: AtomicU64,
    refusals: AtomicU64,
}

impl Load {
    /// Fills the tables.
    pub fn set_up(conn: &mut Conn) -> Result<Self, String> {
        let rows = |count: u64, value: i64| {
            let rows: Vec<String> = (0..count).map(|id| format!("({id}, {value})")).collect();
            rows.join(", ")
        };
        for (table, rows) in [
            ("accounts", rows(ACCOUNTS, START_BALANCE)),
            ("counters", rows(COUNTERS, 0)),
        ] {
            conn.query_drop(format!("INSERT INTO {table} VALUES {rows}"))
                .map_err(text)?;
        }
        Ok(Self::default())
    }

    /// Runs until `stop` is set.
    pub fn run(&self, address: &Address, round: u64, stop: &AtomicBool) -> Result<(), String> {
        type Work = fn(&Load, &mut Conn, u64, &mut Random) -> Result<(), String>;
        let clients: [(Work, u64); 4] = [
            (Self::transfer, TELLERS),
            (Self::count, COUNTING),
            (Self::claim, RACING),
            (|load, conn, _, _| load.look(conn), 1),
        ];
        let clients = clients
            .iter()
            .flat_map(|(work, count)| (0..*count).map(move |n| (*work, n)));
        thread::scope(|scope| {
            let threads: Vec<_> = clients
                .enumerate()
                .map(|(seed, (work, number))| {
                    scope.spawn(move || {
                        let mut random = Random::new(round * 100 + seed as u64);
                        let mut conn = address.connect_to(DATABASE).map_err(text)?;
                        while !stop.load(Ordering::SeqCst) {
                            work(self, &mut conn, number + 1, &mut random)?;
                        }
                        Ok::<(), String>(())
                    })
                })
                .collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().map_err(|_| "a client panicked".to_owned())?)
        })
    }

    /// Whether clients of a cluster must expect this error. If so, it is counted.
    fn expected(&self, what: &str, error: &mysql::Error) -> Result<u16, String> {
        let code = code(error);
        match code {
            // In order: lock wait, deadlock; PD, a store, a busy store, locks, a region; conflict, lease;
            // unknown outcome.
            1205 | 1213 | 9001..=9005 | 9007 | 8027 | UNDETERMINED => {
                self.refusals.fetch_add(1, Ordering::Relaxed);
                Ok(code)
            }
            _ => Err(format!("{what}: {error}")),
        }
    }

    fn transfer(&self, conn: &mut Conn, _: u64, random: &mut Random) -> Result<(), String> {
        let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
        let amount = random.below(50) as i64 + 1;
        let transfer = |conn: &mut Conn| -> mysql::Result<()> {
            let mut transaction = conn.start_transaction(TxOpts::default())?;
            for (id, change) in [(from, -amount), (to, amount)] {
                transaction.exec_drop(
                    "UPDATE accounts SET balance = balance + ? WHERE id = ?",
                    (change, id),
                )?;
            }
            transaction.commit()
        };
        match transfer(conn) {
            Ok(()) => self.transfers.fetch_add(1, Ordering::Relaxed),
            Err(error) => {
                self.expected("a transfer", &error)?;
                // After an error at the end no transaction is open. After an earlier one, the client rolls
                // back.
                conn.query_drop("ROLLBACK").map_err(text)?;
                0
            }
        };
        Ok(())
    }

    fn count(&self, conn: &mut Conn, _: u64, random: &mut Random) -> Result<(), String> {
        let id = random.below(COUNTERS);
        let counter = &self.counters[id as usize];
        match conn.exec_drop("UPDATE counters SET v = v + 1 WHERE id = ?", (id,)) {
            Ok(()) => counter.acknowledged.fetch_add(1, Ordering::SeqCst),
            Err(error) if self.expected("a counter", &error)? == UNDETERMINED => {
                counter.unknown.fetch_add(1, Ordering::SeqCst)
            }
            Err(_) => 0,
        };
        Ok(())
    }

    /// All clients try to insert the same names at the same time.
    fn claim(&self, conn: &mut Conn, owner: u64, random: &mut Random) -> Result<(), String> {
        let taken = self.names.lock().map_err(|e| e.to_string())?.len() as u64;
        let name = format!("name {:06}", taken.saturating_sub(2) + random.below(4));
        let outcome = conn.exec_drop("INSERT INTO names (name, owner) VALUES (?, ?)", (&name, owner));
        let claim = match outcome {
            Ok(()) => Claim::Owner(owner),
            Err(mysql::Error::MySqlError(error)) if error.code == 1062 => {
                return match error.message.contains("names.name") {
                    true => Ok(()),
                    false => Err(format!("a race for {name}: {}", error.message)),
                };
            }
            Err(error) if self.expected("a name", &error)? == UNDETERMINED => Claim::Unknown,
            Err(_) => return Ok(()),
        };
        let mut names = self.names.lock().map_err(|e| e.to_string())?;
        names.entry(name).or_default().push(claim);
        Ok(())
    }

    /// A reader sees all of the money at any time.
    fn look(&self, conn: &mut Conn) -> Result<(), String> {
        for query in [
            "SELECT CAST(SUM(balance) AS SIGNED) FROM accounts",
            "SELECT CAST(SUM(balance) AS SIGNED) FROM accounts WHERE balance > -1000000",
        ] {
            match conn.query_first::<i64, _>(query) {
                Ok(Some(sum)) if sum == ACCOUNTS as i64 * START_BALANCE => {}
                Ok(sum) => return Err(format!("{query}: {sum:?}")),
                Err(error) => {
                    self.expected(query, &error)?;
                }
            }
        }
        Ok(())
    }

    /// Compares the tables with the acknowledged changes.
    pub fn verify(&self, conn: &mut Conn) -> Result<(), String> {
        let sum: Option<i64> = conn
            .query_first("SELECT CAST(SUM(balance) AS SIGNED) FROM accounts")
            .map_err(text)?;
        if sum != Some(ACCOUNTS as i64 * START_BALANCE) {
            return Err(format!("the accounts' sum is {sum:?}"));
        }
        let counters: Vec<(u64, u64)> = conn.query("SELECT id, v FROM counters").map_err(text)?;
        for (id, value) in counters {
            let known = &self.counters[id as usize];
            let acknowledged = known.acknowledged.load(Ordering::SeqCst);
            let most = acknowledged + known.unknown.load(Ordering::SeqCst);
            if !(acknowledged..=most).contains(&value) {
                return Err(format!("counter {id} is {value}, not {acknowledged} to {most}"));
            }
        }
        let names: Vec<(String, u64)> = conn.query("SELECT name, owner FROM names").map_err(text)?;
        let names: BTreeMap<String, u64> = names.into_iter().collect();
        let claims = self.names.lock().map_err(|e| e.to_string())?;
        for (name, claims) in claims.iter() {
            let owners: Vec<&Claim> = claims.iter().filter(|claim| **claim != Claim::Unknown).collect();
            match (owners[..].first(), names.get(name)) {
                (Some(Claim::Owner(owner)), Some(found)) if owners.len() == 1 && owner == found => {}
                (None, _) => {}
                (_, found) => return Err(format!("{name} belongs to {found:?}; claims: {claims:?}")),
            }
        }
        match names.keys().find(|name| !claims.contains_key(*name)) {
            Some(name) => Err(format!("no client knows of {name}")),
            None => Ok(()),
        }
    }

    /// Acknowledged transfers so far.
    pub fn transfers(&self) -> u64 {
        self.transfers.load(Ordering::Relaxed)
    }

    /// Whether enough has happened for the test to mean something.
    pub fn was_worth_it(&self, rounds: u64) -> Result<(), String> {
        let counted: u64 = self
            .counters
            .iter()
            .map(|c| c.acknowledged.load(Ordering::SeqCst))
            .sum();
        let transfers = self.transfers();
        if transfers < rounds * 5 || counted < rounds * 5 {
            return Err(format!(
                "{transfers} transfers and {counted} counts in {rounds} rounds"
            ));
        }
        Ok(())
    }
}
