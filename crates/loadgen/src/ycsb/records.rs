//! The table `usertable`: its keys and fields; creating, checking and dropping it.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::client::{Connection, Param};
use crate::error::{Error, Result};
use crate::load::{MultiInsert, in_parallel};
use crate::random::{Random, mix};
use crate::workload::{Checks, Context, check_indexes};

pub(super) const FIELDS: usize = 10;
const FIELD_BYTES: usize = 100;
/// Rows per loading transaction of one connection.
const PART_ROWS: u64 = 2_000;
/// Rows that a check looks up one by one.
const SAMPLE: u64 = 200;

/// The key of a record. Consecutive numbers have keys that are far apart, as in YCSB's "hashed" order.
pub(super) fn key(number: u64) -> String {
    format!("user{:020}", mix(number.wrapping_add(1)))
}

pub(super) fn field(random: &mut Random) -> String {
    random.text(FIELD_BYTES)
}

/// All fields of the record as it was loaded.
pub(super) fn fields(seed: u64, number: u64) -> Vec<String> {
    let mut random = Random::new(mix(seed ^ mix(number)));
    (0..FIELDS).map(|_| field(&mut random)).collect()
}

/// `FIELD0, FIELD1, ...`.
pub(super) fn field_list() -> String {
    let names: Vec<String> = (0..FIELDS).map(|field| format!("FIELD{field}")).collect();
    names.join(", ")
}

pub(super) fn prepare(records: u64, context: &Context) -> Result<()> {
    let mut connection = Connection::open(&context.target)?;
    connection.query("DROP TABLE IF EXISTS usertable")?;
    let columns: Vec<String> = (0..FIELDS)
        .map(|field| format!("FIELD{field} VARCHAR({FIELD_BYTES}) NOT NULL"))
        .collect();
    connection.query(&format!(
        "CREATE TABLE usertable (YCSB_KEY VARCHAR(64) NOT NULL, {}, PRIMARY KEY (YCSB_KEY))",
        columns.join(", ")
    ))?;
    in_parallel(
        context,
        "filling",
        records.div_ceil(PART_ROWS),
        |connection, part| {
            let mut insert = MultiInsert::new(format!(
                "INSERT INTO usertable (YCSB_KEY, {}) VALUES ",
                field_list()
            ));
            for number in part * PART_ROWS..records.min((part + 1) * PART_ROWS) {
                let (key, fields) = (key(number), fields(context.seed, number));
                let mut values: Vec<Param<'_>> = vec![(&key).into()];
                values.extend(fields.iter().map(Param::from));
                insert.row(connection, &values)?;
            }
            insert.flush(connection)
        },
    )
}

/// Fails if the table holds fewer records than the workers ask for.
pub(super) fn verify_size(records: u64, context: &Context) -> Result<()> {
    let mut connection = Connection::open(&context.target)?;
    let last = connection.prepare("SELECT YCSB_KEY FROM usertable WHERE YCSB_KEY = ?")?;
    if connection.execute(last, &[(&key(records - 1)).into()])?.rows == 0 {
        return Err(Error::Arguments(format!(
            "the table holds less than {records} records; prepare it with the same -o records"
        )));
    }
    Ok(())
}

pub(super) fn check(records: u64, context: &Context, checks: &mut Checks) -> Result<()> {
    let mut connection = Connection::open(&context.target)?;
    let count = connection.fetch_int("SELECT COUNT(*) FROM usertable")?;
    checks.add(
        "records",
        count >= records as i64,
        format!("{count}, of which {records} were loaded"),
    );
    let one = connection.prepare(&format!(
        "SELECT {} FROM usertable WHERE YCSB_KEY = ?",
        field_list()
    ))?;
    let mut wrong = 0;
    for number in (0..records).step_by(records.div_ceil(SAMPLE).max(1) as usize) {
        let rows = connection.fetch(one, &[(&key(number)).into()])?;
        let right = match rows.as_slice() {
            [row] => (0..FIELDS).all(|field| row.text(field).is_ok_and(|text| text.len() == FIELD_BYTES)),
            _ => false,
        };
        wrong += i64::from(!right);
    }
    checks.equal("sampled records that are missing or misshapen", wrong, 0);
    checks.none(
        "keys of another form",
        &mut connection,
        "SELECT COUNT(*) FROM usertable WHERE YCSB_KEY NOT LIKE 'user____________________'",
    )?;
    check_indexes(&mut connection, "usertable", checks)
}

pub(super) fn cleanup(context: &Context) -> Result<()> {
    Connection::open(&context.target)?
        .query("DROP TABLE IF EXISTS usertable")
        .map(drop)
}

/// The numbers of the records that a run inserts, and which of them can be read.
#[derive(Debug, Default)]
pub(super) struct Inserts {
    state: Mutex<InsertState>,
}

#[derive(Debug, Default)]
struct InsertState {
    first: u64,
    next: u64,
    /// Sent, without a reply yet.
    pending: BTreeSet<u64>,
}

impl Inserts {
    /// Starts a run. Its records have numbers that no earlier run used.
    pub(super) fn start(&self) {
        let millis = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_millis() as u64);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = InsertState {
            first: millis << 20,
            next: millis << 20,
            pending: BTreeSet::new(),
        };
    }

    pub(super) fn take(&self) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.next;
        state.next += 1;
        state.pending.insert(number);
        number
    }

    pub(super) fn answered(&self, number: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.pending.remove(&number);
    }

    /// The record that is `age` records older than the latest readable one, among these and the first
    /// `records`.
    pub(super) fn latest(&self, age: u64, records: u64) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let end = state.pending.first().copied().unwrap_or(state.next);
        let inserted = end - state.first;
        if age < inserted {
            return end - 1 - age;
        }
        records.saturating_sub(1 + (age - inserted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_fields_have_their_form() {
        assert_eq!(key(0).len(), 24);
        assert_ne!(key(0), key(1));
        let fields = fields(1, 7);
        assert_eq!(fields.len(), FIELDS);
        assert!(fields.iter().all(|field| field.len() == FIELD_BYTES));
    }

    #[test]
    fn the_latest_that_can_be_read() {
        let inserts = Inserts::default();
        inserts.start();
        assert_eq!(inserts.latest(0, 100), 99);
        assert_eq!(inserts.latest(500, 100), 0);
        let (one, two, three) = (inserts.take(), inserts.take(), inserts.take());
        // There is no reply yet, so the latest records are those that were loaded.
        assert_eq!(inserts.latest(0, 100), 99);
        inserts.answered(one);
        inserts.answered(three);
        assert_eq!(inserts.latest(0, 100), one);
        inserts.answered(two);
        assert_eq!(inserts.latest(0, 100), three);
        assert_eq!(inserts.latest(3, 100), 99);
    }
}
