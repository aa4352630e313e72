//! The table `ageing`: creating, checking and dropping it.
//!
//! Every write gives a row a new `version`, and all other columns follow from it: `note` starts with it,
//! `note_bytes` is the note's length, `bucket` its remainder. So [`check`] detects a row that mixes two
//! writes.

use crate::client::{Connection, Param};
use crate::error::Result;
use crate::load::{MultiInsert, in_parallel};
use crate::random::{Random, mix};
use crate::workload::{Checks, Context, check_indexes};

const PART_ROWS: u64 = 5_000;
pub(super) const BUCKETS: u64 = 1_000;
const NOTE_BYTES_MIN: u64 = 40;
const NOTE_BYTES_MAX: u64 = 300;

/// The values that one write gives a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Values {
    pub(super) version: i64,
    pub(super) bucket: i64,
    pub(super) name: String,
    pub(super) note: String,
}

impl Values {
    pub(super) fn random(random: &mut Random) -> Self {
        let version = random.below(1_000_000_000) as i64;
        let length = NOTE_BYTES_MIN + random.below(NOTE_BYTES_MAX - NOTE_BYTES_MIN);
        let mut note = format!("{version}:");
        note += &random.text(length as usize - note.len());
        Self {
            version,
            bucket: version % BUCKETS as i64,
            name: format!("{}-{version}", random.text(12)),
            note,
        }
    }

    /// In the order of the columns: version, bucket, name, note, note_bytes.
    pub(super) fn params(&self) -> [Param<'_>; 5] {
        [
            self.version.into(),
            self.bucket.into(),
            (&self.name).into(),
            (&self.note).into(),
            (self.note.len() as i64).into(),
        ]
    }
}

pub(super) fn prepare(rows: u64, context: &Context) -> Result<()> {
    let mut connection = Connection::open(&context.target)?;
    connection.query("DROP TABLE IF EXISTS ageing")?;
    connection.query(
        "CREATE TABLE ageing (id BIGINT NOT NULL AUTO_INCREMENT, version BIGINT NOT NULL, bucket INT NOT NULL, \
         name VARCHAR(40) NOT NULL, note VARCHAR(400) NOT NULL, note_bytes INT NOT NULL, \
         changed_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), \
         PRIMARY KEY (id), KEY bucket (bucket, version), KEY name (name), KEY changed_at (changed_at))",
    )?;
    in_parallel(
        context,
        "filling",
        rows.div_ceil(PART_ROWS),
        |connection, part| {
            let mut random = Random::new(mix(context.seed ^ mix(part)));
            let mut insert =
                MultiInsert::new("INSERT INTO ageing (id, version, bucket, name, note, note_bytes) VALUES ");
            for row in part * PART_ROWS..rows.min((part + 1) * PART_ROWS) {
                let values = Values::random(&mut random);
                let mut params = vec![Param::Int(row as i64 + 1)];
                params.extend(values.params());
                insert.row(connection, &params)?;
            }
            insert.flush(connection)
        },
    )
}

/// The ids of all rows.
pub(super) fn ids(context: &Context) -> Result<Vec<i64>> {
    let rows = Connection::open(&context.target)?.fetch_query("SELECT id FROM ageing")?;
    rows.iter().map(|row| row.int(0)).collect()
}

pub(super) fn check(context: &Context, checks: &mut Checks) -> Result<()> {
    let mut connection = Connection::open(&context.target)?;
    let rows = connection.fetch_int("SELECT COUNT(*) FROM ageing")?;
    checks.add("rows", rows > 0, rows.to_string());
    for (index, condition) in [("bucket", "bucket >= 0"), ("name", "name >= ''")] {
        let count = connection.fetch_int(&format!("SELECT COUNT({index}) FROM ageing WHERE {condition}"))?;
        checks.equal(format!("rows by the index {index}"), count, rows);
    }
    checks.none(
        "rows whose columns are of different writes",
        &mut connection,
        &format!(
            "SELECT COUNT(*) FROM ageing WHERE note NOT LIKE CONCAT(version, ':%') OR note_bytes <> LENGTH(note) OR \
             bucket <> version % {BUCKETS} OR name NOT LIKE CONCAT('%-', version)"
        ),
    )?;
    check_indexes(&mut connection, "ageing", checks)
}

pub(super) fn cleanup(context: &Context) -> Result<()> {
    Connection::open(&context.target)?
        .query("DROP TABLE IF EXISTS ageing")
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_follows_from_the_version() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            let values = Values::random(&mut random);
            assert!(values.note.starts_with(&format!("{}:", values.version)));
            assert!(values.name.ends_with(&format!("-{}", values.version)));
            assert!(values.name.len() <= 40);
            assert!((NOTE_BYTES_MIN..NOTE_BYTES_MAX).contains(&(values.note.len() as u64)));
        }
    }
}
