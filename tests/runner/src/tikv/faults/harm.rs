//! Faults during the load: through the stand-in's control port, or, on a real cluster, by splitting regions
//! through SQL and by shell commands.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use loadgen::random::Random;
use mysql::prelude::Queryable;

use super::super::cluster::{Cluster, FIRST_ID, row_key, table_key};
use super::DATABASE;
use super::load::ACCOUNTS;
use crate::server::Address;
use crate::{code, text};

/// On the stand-in, the tables have ids below this one.
const IDS: u64 = 30;
/// Faults in one round, with a pause after each.
const FAULTS: u64 = 12;
const PAUSE: Duration = Duration::from_millis(150);
/// Regions split per round on a real cluster.
const SPLITS: u64 = 3;

pub struct Harm<'a> {
    cluster: &'a Cluster,
    commands: &'a [String],
    random: Random,
}

impl<'a> Harm<'a> {
    pub fn new(cluster: &'a Cluster, commands: &'a [String]) -> Self {
        let random = Random::new(1);
        Self {
            cluster,
            commands,
            random,
        }
    }

    /// One round. At its end all faults are repaired.
    pub fn round(&mut self, address: &Address, round: u64) -> Result<(), String> {
        if self.cluster.is_real() {
            return self.split_and_run(address, round);
        }
        let disturbed = (0..FAULTS).try_for_each(|_| {
            let done = disturb(self.cluster, &mut self.random);
            thread::sleep(PAUSE);
            done
        });
        // Ends all faults.
        disturbed.and(self.cluster.control("/clear").map(drop))
    }

    /// The commands take turns.
    fn split_and_run(&mut self, address: &Address, round: u64) -> Result<(), String> {
        let mut conn = address.connect_to(DATABASE).map_err(text)?;
        for _ in 0..SPLITS {
            let (row, name) = (self.random.below(ACCOUNTS), self.random.below(1_000));
            let row = format!("SPLIT TABLE accounts BY ({row})");
            let name = format!("SPLIT TABLE names INDEX name BY ('name {name:06}')");
            for split in [row, name] {
                match conn.query_drop(&split) {
                    // The cluster is still busy with the last round.
                    Err(error) if matches!(code(&error), 9001..=9005 | 8027) => {}
                    other => other.map_err(|error| format!("{split}: {error}"))?,
                }
            }
            thread::sleep(PAUSE);
        }
        let turn = round.checked_rem(self.commands.len() as u64);
        turn.map_or(Ok(()), |turn| shell(&self.commands[turn as usize]))
    }
}

/// Runs a command. Processes that it starts may outlive it, and print nothing.
fn shell(command: &str) -> Result<(), String> {
    let status = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("sh: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{command}: {status}")),
    }
}

/// Injects one fault.
fn disturb(cluster: &Cluster, random: &mut Random) -> Result<(), String> {
    let key = somewhere(random);
    let store = random.below(3) + 1;
    let lost = [
        "Prewrite",
        "Commit",
        "PessimisticLock",
        "Get",
        "BatchGet",
        "Scan",
        "CheckTxnStatus",
    ];
    let lost = lost[random.below(lost.len() as u64) as usize];
    let control = |path: String| cluster.control(&path).map(drop);
    match random.below(10) {
        0..3 => cluster.split(&key),
        // There may be no such store at the moment.
        3..5 => cluster.move_leader(&key, store).or(Ok(())),
        5 => {
            control(format!("/stop?store={store}"))?;
            thread::sleep(PAUSE);
            control(format!("/start?store={store}"))
        }
        6 => {
            // The stores do not notice at first.
            control(format!("/stop?store={store}&leaders=stay"))?;
            thread::sleep(PAUSE);
            control("/elect".to_owned())?;
            control(format!("/start?store={store}"))
        }
        7 => control(format!("/drop-next?rpc={lost}&count={}", random.below(3) + 1)),
        8 => {
            let errors = ["not-leader", "epoch-not-match", "server-is-busy", "stale-command"];
            let error = errors[random.below(errors.len() as u64) as usize];
            control(format!("/region-error-next?rpc={lost}&error={error}&count=3"))
        }
        _ => {
            control("/pd/stop".to_owned())?;
            thread::sleep(PAUSE);
            control("/pd/start".to_owned())
        }
    }
}

/// A key within the tables: of a row, or of an entry in one of the first indexes.
fn somewhere(random: &mut Random) -> Vec<u8> {
    let table = FIRST_ID + random.below(IDS) as i64;
    if random.below(2) == 0 {
        return row_key(table, random.below(300) as i64);
    }
    let mut rest = b"_i\x80\0\0\0\0\0\0".to_vec();
    rest.push(random.below(4) as u8);
    rest.push(random.below(256) as u8);
    table_key(table, &rest)
}
