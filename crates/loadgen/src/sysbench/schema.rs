//! The tables `sbtest1`, `sbtest2` and so on: creating, filling, checking and dropping them.

use super::Sysbench;
use crate::client::{Connection, Param};
use crate::error::Result;
use crate::load::{MultiInsert, in_parallel};
use crate::random::{Random, mix};
use crate::workload::{Checks, Context, check_indexes};

/// Rows per loading transaction of one connection.
const PART_ROWS: u64 = 10_000;

pub(super) fn prepare(workload: &Sysbench, context: &Context) -> Result<()> {
    let mut connection = Connection::open(&context.target)?;
    for table in 1..=workload.tables {
        connection.query(&format!("DROP TABLE IF EXISTS sbtest{table}"))?;
        connection.query(&format!(
            "CREATE TABLE sbtest{table} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) \
             /*! ENGINE = innodb */"
        ))?;
    }
    let parts = workload.table_size.div_ceil(PART_ROWS);
    in_parallel(context, "filling", parts * workload.tables, |connection, part| {
        fill(workload, context.seed, connection, part / parts + 1, part % parts)
    })?;
    // After the rows, as sysbench does: the server may build the index in one pass.
    for table in 1..=workload.tables {
        connection.query(&format!("CREATE INDEX k_{table} ON sbtest{table} (k)"))?;
    }
    Ok(())
}

fn fill(workload: &Sysbench, seed: u64, connection: &mut Connection, table: u64, part: u64) -> Result<()> {
    let mut random = Random::new(mix(seed ^ mix(table << 32 | part)));
    let mut insert = MultiInsert::new(format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES "));
    let (mut c, mut pad) = (String::new(), String::new());
    let end = workload.table_size.min((part + 1) * PART_ROWS);
    for id in part * PART_ROWS + 1..=end {
        let k = workload.ids.choose(&mut random) + 1;
        digits(&mut random, C_GROUPS, &mut c);
        digits(&mut random, PAD_GROUPS, &mut pad);
        insert.row(
            connection,
            &[
                Param::Int(id as i64),
                Param::Int(k as i64),
                (&c).into(),
                (&pad).into(),
            ],
        )?;
    }
    insert.flush(connection)
}

pub(super) const C_GROUPS: usize = 10;
pub(super) const PAD_GROUPS: usize = 5;

/// Replaces `out` by groups of eleven random digits with dashes between: the values of sysbench's `c` and
/// `pad`.
pub(super) fn digits(random: &mut Random, groups: usize, out: &mut String) {
    out.clear();
    for group in 0..groups {
        if group > 0 {
            out.push('-');
        }
        let mut number = random.below(100_000_000_000);
        for _ in 0..11 {
            out.push(char::from(b'0' + (number % 10) as u8));
            number /= 10;
        }
    }
}

pub(super) fn check(workload: &Sysbench, context: &Context, checks: &mut Checks) -> Result<()> {
    let mut connection = Connection::open(&context.target)?;
    for table in 1..=workload.tables {
        let name = format!("sbtest{table}");
        let rows = connection.fetch_int(&format!("SELECT COUNT(*) FROM {name}"))?;
        checks.add(format!("rows of {name}"), rows > 0, rows.to_string());
        let by_index =
            connection.fetch_int(&format!("SELECT COUNT(k) FROM {name} WHERE k >= -2147483648"))?;
        checks.equal(format!("rows of {name} by the index of k"), by_index, rows);
        let ids = connection.fetch_int(&format!("SELECT COUNT(DISTINCT id) FROM {name}"))?;
        checks.equal(format!("ids of {name}, each once"), ids, rows);
        checks.none(
            format!("values of {name} of another form"),
            &mut connection,
            &format!(
                "SELECT COUNT(*) FROM {name} WHERE LENGTH(c) <> {} OR LENGTH(pad) <> {} OR c NOT LIKE \
                 '___________-___________-%'",
                C_GROUPS * 12 - 1,
                PAD_GROUPS * 12 - 1
            ),
        )?;
        check_indexes(&mut connection, &name, checks)?;
    }
    Ok(())
}

pub(super) fn cleanup(workload: &Sysbench, context: &Context) -> Result<()> {
    let mut connection = Connection::open(&context.target)?;
    for table in 1..=workload.tables {
        connection.query(&format!("DROP TABLE IF EXISTS sbtest{table}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_look_as_sysbench_makes_them() {
        let mut random = Random::new(1);
        let mut out = "x".to_owned();
        for (groups, length) in [(C_GROUPS, 119), (PAD_GROUPS, 59)] {
            digits(&mut random, groups, &mut out);
            assert_eq!(out.len(), length);
            for (position, byte) in out.bytes().enumerate() {
                let dash = position % 12 == 11;
                assert!(if dash { byte == b'-' } else { byte.is_ascii_digit() }, "{out}");
            }
        }
    }
}
