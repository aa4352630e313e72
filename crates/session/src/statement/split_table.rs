//! SPLIT TABLE and SHOW TABLE ... REGIONS.
//!
//! Source: TiDB's documentation of both. If the store has no regions, nothing is split, and a note says so.

use std::sync::Arc;

use ddl::split::{Splitting, key_text, keys_of};
use functions::{EvalContext, Expr, assign, eval_value};
use schema::definition::TableName;
use schema::model::Table;
use schema::privilege::PrivilegeSet;
use syntax::ast::SplitPoints;
use types::{Error, Result, SqlType, Value, Warning, errno};

use crate::listing::{Listing, text, text_type};
use crate::session::Session;

/// SPLIT TABLE. The row shows how many regions were made, and which share of them has reached its store.
pub fn split(
    session: &mut Session,
    name: &TableName,
    index: Option<&str>,
    points: &SplitPoints<Expr>,
) -> Result<Listing> {
    let table = stored_table(session, name)?;
    let eval = session.command_context(functions::Strictness::Error);
    let splitting = Splitting::new(&table, index)?;
    let values = Values {
        table: &table,
        splitting: &splitting,
        eval: &eval,
    };
    let zone = session.settings.time_zone;
    let keys = match points {
        SplitPoints::By(rows) => {
            let rows = (1..).zip(rows).map(|(row, exprs)| values.of(exprs, row));
            splitting.by(&rows.collect::<Result<Vec<_>>>()?, zone)?
        }
        SplitPoints::Between {
            lower,
            upper,
            regions,
        } => splitting.between(&values.of(lower, 1)?, &values.of(upper, 2)?, *regions, zone)?,
    };
    session.diagnostics.collect(&eval, session.settings.warnings);
    let timeout = session.settings.split_wait;
    let report = session
        .shared
        .engine
        .store
        .split_at(&keys, timeout, Some(&session.process.interrupt))?;
    if report.split == 0 && !keys.is_empty() {
        session.diagnostics.add(Warning::note(
            errno::ER_UNKNOWN_ERROR,
            "Nothing was split: regions begin there already, or the store has only one",
        ));
    }
    let mut listing = Listing::new(&[
        ("TOTAL_SPLIT_REGION", SqlType::BIGINT),
        ("SCATTER_FINISH_RATIO", SqlType::DOUBLE),
    ]);
    let ratio = match report.split {
        0 => 0.0,
        split => report.scattered as f64 / split as f64,
    };
    listing.push(vec![Value::Int(report.split as i64), Value::Double(ratio)]);
    Ok(listing)
}

/// A table with rows in the store.
fn stored_table(session: &Session, name: &TableName) -> Result<Arc<Table>> {
    session.check_table(name, PrivilegeSet::INSERT)?;
    let table = session.table(name)?;
    if table.is_temporary() {
        return Err(Error::not_supported(
            "SPLIT TABLE of a temporary table",
            "leave it out: the table is in the session's memory",
        ));
    }
    if table.is_virtual() {
        return Err(crate::errors::database_access(
            &session.client.account.name(),
            &name.database,
        ));
    }
    Ok(table)
}

/// SHOW TABLE ... REGIONS.
pub fn show_regions(session: &Session, name: &TableName, index: Option<&str>) -> Result<Listing> {
    let table = stored_table(session, name)?;
    let ranges = keys_of(&table, index)?;
    let number = SqlType::BIGINT;
    let mut listing = Listing::new(&[
        ("REGION_ID", number),
        ("START_KEY", text_type(64)),
        ("END_KEY", text_type(64)),
        ("LEADER_ID", number),
        ("LEADER_STORE_ID", number),
        ("PEERS", text_type(64)),
        ("SCATTERING", number),
        ("WRITTEN_BYTES", number),
        ("READ_BYTES", number),
        ("APPROXIMATE_SIZE(MB)", number),
        ("APPROXIMATE_KEYS", number),
    ]);
    let (store, interrupt) = (&session.shared.engine.store, &session.process.interrupt);
    let mut regions = Vec::new();
    for range in &ranges {
        regions.extend(store.regions(range, Some(interrupt))?);
    }
    // Two partitions can share a region.
    regions.dedup_by_key(|region| region.id);
    for region in regions {
        let replicas: Vec<String> = region.replicas.iter().map(u64::to_string).collect();
        let megabytes = |bytes: u64| Value::Int(bytes.div_ceil(1 << 20) as i64);
        listing.push(vec![
            Value::Int(region.id as i64),
            text(key_text(&region.start)),
            text(key_text(&region.end)),
            Value::Int(region.leader as i64),
            Value::Int(region.leader_store as i64),
            text(replicas.join(", ")),
            Value::Int(i64::from(region.is_moving)),
            Value::Null,
            Value::Null,
            region.approximate_bytes.map_or(Value::Null, megabytes),
            Value::Null,
        ]);
    }
    Ok(listing)
}

/// Converts a statement's expressions to values of a key's columns.
struct Values<'a> {
    table: &'a Table,
    splitting: &'a Splitting<'a>,
    eval: &'a Arc<EvalContext>,
}

impl Values<'_> {
    /// `row`: the number of the list of values, for messages.
    fn of(&self, exprs: &[Expr], row: usize) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(exprs.len());
        for (part, expr) in exprs.iter().enumerate() {
            let column = self.splitting.column(part, row)?;
            let column = column.and_then(|at| self.table.columns.get(at));
            let (ty, name) = match column {
                Some(column) => (column.ty, column.name.as_str()),
                None => (SqlType::BIGINT, "_tidb_rowid"),
            };
            let value = eval_value(expr, self.eval)?;
            values.push(assign::value(
                value,
                &expr.ty(),
                &ty,
                name,
                row as u64,
                self.eval,
            )?);
        }
        Ok(values)
    }
}
