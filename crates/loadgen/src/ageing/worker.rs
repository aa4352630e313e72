//! One connection. It changes only its own rows, so every update and delete must find its row.

use super::table::{BUCKETS, Values};
use super::{Ageing, OPERATIONS};
use crate::client::{Connection, Param, Statement};
use crate::error::{Error, Result};
use crate::random::{Random, mix};
use crate::workload::{Context, Next, Worker};

const INSERT: usize = 0;
const UPDATE: usize = 1;
const DELETE: usize = 2;
const READ: usize = 3;

struct Client<'a> {
    workload: &'a Ageing,
    connection: Connection,
    insert: Statement,
    update: Statement,
    delete: Statement,
    read: Statement,
    range: Statement,
    random: Random,
    /// Rows that only this worker changes. Returned when it ends, for the worker that takes its place.
    own: Vec<i64>,
    /// The position in `own` that the next operation uses.
    position: usize,
    values: Values,
}

pub(super) fn open<'a>(
    workload: &'a Ageing,
    context: &Context,
    number: usize,
    threads: usize,
) -> Result<Box<dyn Worker + 'a>> {
    let mut connection = Connection::open(&context.target)?;
    let mut random = Random::new(mix(context.seed ^ mix(number as u64 + 1)));
    let mut client = Client {
        workload,
        insert: connection
            .prepare("INSERT INTO ageing (version, bucket, name, note, note_bytes) VALUES (?, ?, ?, ?, ?)")?,
        update: connection.prepare(
            "UPDATE ageing SET version = ?, bucket = ?, name = ?, note = ?, note_bytes = ? WHERE id = ?",
        )?,
        delete: connection.prepare("DELETE FROM ageing WHERE id = ?")?,
        read: connection.prepare("SELECT * FROM ageing WHERE id = ?")?,
        range: connection
            .prepare("SELECT id, name FROM ageing WHERE bucket = ? ORDER BY version LIMIT 50")?,
        connection,
        values: Values::random(&mut random),
        random,
        own: Vec::new(),
        position: 0,
    };
    client.own = workload.live.lock().map_err(|_| Error::Worker)?.share(threads);
    Ok(Box::new(client))
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        if let Ok(mut live) = self.workload.live.lock() {
            live.ids.append(&mut self.own);
        }
    }
}

impl Worker for Client<'_> {
    fn next(&mut self) -> Next {
        let mut dice = self.random.below(100);
        let mut operation = INSERT;
        for (position, (_, share)) in OPERATIONS.iter().enumerate() {
            operation = position;
            if dice < *share {
                break;
            }
            dice -= share;
        }
        if self.own.is_empty() {
            operation = INSERT;
        }
        if matches!(operation, INSERT | UPDATE) {
            self.values = Values::random(&mut self.random);
        }
        self.position = self.random.below(self.own.len() as u64) as usize;
        Next::now(operation)
    }

    fn run(&mut self, operation: usize) -> Result<()> {
        let id = self.own.get(self.position).copied().unwrap_or_default();
        match operation {
            INSERT => {
                let done = self.connection.execute(self.insert, &self.values.params())?;
                self.own.push(done.last_insert_id as i64);
                Ok(())
            }
            UPDATE => {
                let [version, bucket, name, note, note_bytes] = self.values.params();
                let values = [version, bucket, name, note, note_bytes, id.into()];
                let done = self.connection.execute(self.update, &values)?;
                expect("update", id, done.affected_rows)
            }
            DELETE => {
                // Removed even if the response is lost, since it is unknown then whether the row exists.
                if self.position < self.own.len() {
                    self.own.swap_remove(self.position);
                }
                let done = self.connection.execute(self.delete, &[id.into()])?;
                expect("delete", id, done.affected_rows)
            }
            READ => {
                let done = self.connection.execute(self.read, &[id.into()])?;
                expect("read", id, done.rows)
            }
            _ => {
                let bucket = self.random.below(BUCKETS) as i64;
                self.connection
                    .execute(self.range, &[Param::Int(bucket)])
                    .map(drop)
            }
        }
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

fn expect(operation: &'static str, id: i64, rows: u64) -> Result<()> {
    if rows == 0 {
        return Err(Error::Missing {
            operation,
            key: id.to_string(),
        });
    }
    Ok(())
}
