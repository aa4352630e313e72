//! SHOW ENGINE INNODB STATUS: the sections of MySQL's report that mean something here.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::UNIX_EPOCH;

use functions::{EvalContext, TimeZone};
use kv::LockMode;

use crate::condition::Conditions;
use crate::locks::{Locks, Place};
use crate::table::{Context, Sources};

/// The report.
pub fn engine_status(sources: Sources<'_>, eval: &EvalContext) -> String {
    let schema = sources.cluster.schema();
    let ctx = Context {
        sources,
        schema: &schema,
        conditions: Conditions::new(&[], 0, eval),
        wanted: &[],
    };
    let locks = Locks::now(&ctx);
    let now = moment(cluster::now_us(), &sources.server.time_zone());
    let mut out = String::from("\n");
    // Writing to a string does not fail.
    let _ = title(&mut out, &format!("{now} INNODB MONITOR OUTPUT"), '=')
        .and_then(|()| deadlock(&ctx, &locks, &mut out))
        .and_then(|()| transactions(&ctx, &locks, &mut out))
        .and_then(|()| counted(&ctx, &mut out))
        .and_then(|()| title(&mut out, "END OF INNODB MONITOR OUTPUT", '='));
    out
}

fn title(out: &mut String, text: &str, line: char) -> std::fmt::Result {
    let line: String = std::iter::repeat_n(line, text.len()).collect();
    writeln!(out, "{line}\n{text}\n{line}")
}

fn moment(us: i64, zone: &TimeZone) -> String {
    let at = zone.from_unix_us(us);
    at.datetime_text(0)
}

fn mode(mode: LockMode) -> &'static str {
    match mode {
        LockMode::Shared => "S",
        LockMode::Exclusive => "X",
    }
}

fn described(place: &Place<'_>, owner: u64, locked: LockMode) -> String {
    format!(
        "RECORD LOCKS index {} of table `{}`.`{}` trx id {owner} lock_mode {} locks rec but not gap: {}",
        place.index,
        place.table.database,
        place.table.name,
        mode(locked),
        place.data,
    )
}

fn deadlock(ctx: &Context<'_>, locks: &Locks<'_>, out: &mut String) -> std::fmt::Result {
    let Some(report) = ctx.sources.cluster.store().last_deadlock() else {
        return Ok(());
    };
    let since = report.at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let at_us = i64::try_from(since.as_micros()).unwrap_or(0);
    title(out, "LATEST DETECTED DEADLOCK", '-')?;
    writeln!(out, "{}", moment(at_us, &ctx.sources.server.time_zone()))?;
    for (number, (owner, key, locked)) in (1..).zip(&report.members) {
        writeln!(out, "*** ({number}) TRANSACTION:\nTRANSACTION {owner}")?;
        writeln!(out, "*** ({number}) WAITING FOR THIS LOCK TO BE GRANTED:")?;
        match locks.place(key) {
            Some(place) => writeln!(out, "{} waiting", described(&place, *owner, *locked))?,
            None => writeln!(out, "a key of no table, lock_mode {} waiting", mode(*locked))?,
        }
    }
    let victim = report
        .members
        .iter()
        .position(|(owner, ..)| *owner == report.victim);
    writeln!(
        out,
        "*** WE ROLL BACK TRANSACTION ({})",
        victim.map_or(0, |at| at + 1)
    )
}

/// The locks of one transaction.
#[derive(Default)]
struct OfTransaction {
    locked: usize,
    waits: Vec<String>,
}

fn transactions(ctx: &Context<'_>, locks: &Locks<'_>, out: &mut String) -> std::fmt::Result {
    let mut found: BTreeMap<u64, OfTransaction> = BTreeMap::new();
    for locked in &locks.keys {
        for owner in &locked.owners {
            found.entry(*owner).or_default().locked += 1;
        }
        for waiter in &locked.waiting {
            let place = locks.place(&locked.key);
            let what = place.map(|place| described(&place, waiter.owner, waiter.mode));
            found.entry(waiter.owner).or_default().waits.push(format!(
                "------- TRX HAS BEEN WAITING {} SEC FOR THIS LOCK TO BE GRANTED:\n{} waiting",
                waiter.since.as_secs(),
                what.unwrap_or_default()
            ));
        }
    }
    title(out, "TRANSACTIONS", '-')?;
    writeln!(out, "LIST OF TRANSACTIONS FOR EACH SESSION:")?;
    let now_us = cluster::now_us();
    for (owner, held) in &found {
        let transaction = locks.transactions.get(owner);
        let active = match ctx.sources.cluster.is_shared() {
            // An embedded engine's owners are the timestamps of their beginnings.
            false => {
                let began_us = i64::try_from(kv::timestamp_to_ms(*owner))
                    .unwrap_or(0)
                    .saturating_mul(1000);
                Some((now_us - began_us).max(0) / 1_000_000)
            }
            true => None,
        };
        write!(out, "---TRANSACTION {owner}, ACTIVE")?;
        match active {
            Some(seconds) => writeln!(out, " {seconds} sec")?,
            None => writeln!(out)?,
        }
        let waits = if held.waits.is_empty() { "" } else { "LOCK WAIT " };
        writeln!(out, "{waits}{} row lock(s)", held.locked)?;
        match transaction {
            Some(found) => {
                writeln!(out, "MySQL thread id {}", found.session)?;
                if let Some(statement) = &found.statement {
                    writeln!(out, "{statement}")?;
                }
            }
            None => writeln!(out, "no session: a prepared XA transaction, or one of the server")?,
        }
        for wait in &held.waits {
            writeln!(out, "{wait}\n------------------")?;
        }
    }
    Ok(())
}

/// The sections of counters.
fn counted(ctx: &Context<'_>, out: &mut String) -> std::fmt::Result {
    let status = ctx.sources.server.status(true);
    let of = |name: &str| {
        let found = status.iter().find(|(known, _)| known == name);
        found.map_or("0", |(_, value)| value.as_str())
    };
    title(out, "FILE I/O", '-')?;
    writeln!(
        out,
        "{} OS file reads, {} OS file writes, {} OS fsyncs",
        of("Innodb_data_reads"),
        of("Innodb_data_writes"),
        of("Innodb_data_fsyncs"),
    )?;
    title(out, "LOG", '-')?;
    writeln!(
        out,
        "Pending flushes {}\n{} log i/o's done",
        of("Innodb_os_log_pending_fsyncs"),
        of("Innodb_log_writes"),
    )?;
    title(out, "BUFFER POOL AND MEMORY", '-')?;
    writeln!(
        out,
        "Buffer pool size   {}\nFree buffers       {}\nDatabase pages     {}\nModified db pages  {}\nPages read {}, \
         created {}, written {}",
        of("Innodb_buffer_pool_pages_total"),
        of("Innodb_buffer_pool_pages_free"),
        of("Innodb_buffer_pool_pages_data"),
        of("Innodb_buffer_pool_pages_dirty"),
        of("Innodb_pages_read"),
        of("Innodb_pages_created"),
        of("Innodb_pages_written"),
    )?;
    title(out, "ROW OPERATIONS", '-')?;
    writeln!(
        out,
        "Number of rows inserted {}, updated {}, deleted {}, read {}",
        of("Innodb_rows_inserted"),
        of("Innodb_rows_updated"),
        of("Innodb_rows_deleted"),
        of("Innodb_rows_read"),
    )
}
