//! ADMIN SHOW DDL JOBS and ADMIN CANCEL DDL JOBS: definition statements of all servers, running and finished,
//! in TiDB's format.

use types::{Result, SqlType, Value};

use crate::listing::{Listing, text, text_type};
use crate::session::Session;

/// How many finished jobs are shown by default.
const PAST: u64 = 10;

pub fn show(session: &Session, past: Option<u64>) -> Result<Listing> {
    session
        .client
        .check_any("SUPER", &[schema::privilege::Privilege::Super], &[])?;
    let past = usize::try_from(past.unwrap_or(PAST)).unwrap_or(usize::MAX);
    let mut listing = Listing::new(&[
        ("JOB_ID", SqlType::BIGINT),
        ("DB_NAME", text_type(64)),
        ("TABLE_NAME", text_type(64)),
        ("JOB_TYPE", text_type(64)),
        ("SCHEMA_STATE", text_type(64)),
        ("SCHEMA_ID", SqlType::BIGINT),
        ("TABLE_ID", SqlType::BIGINT),
        ("ROW_COUNT", SqlType::BIGINT),
        ("CREATE_TIME", SqlType::datetime(0)),
        ("START_TIME", SqlType::datetime(0)),
        ("END_TIME", SqlType::datetime(0)),
        ("STATE", text_type(64)),
    ]);
    let time = |us: i64| Value::UInt(session.settings.time_zone.from_unix_us(us).truncate(0).pack());
    for job in session.shared.catalog.changer.history(past)? {
        listing.push(vec![
            Value::Int(job.id),
            text(job.database),
            text(job.table),
            text(job.kind),
            text(job.schema_state),
            Value::Int(job.database_id),
            Value::Int(job.table_id),
            Value::Int(i64::try_from(job.rows).unwrap_or(i64::MAX)),
            time(job.created_us),
            time(job.created_us),
            job.ended_us.map_or(Value::Null, time),
            text(job.state),
        ]);
    }
    Ok(listing)
}

/// Cancels jobs. Returns one row for each: whether it will stop.
pub fn cancel(session: &Session, jobs: &[u64]) -> Result<Listing> {
    session
        .client
        .check_any("SUPER", &[schema::privilege::Privilege::Super], &[])?;
    let mut listing = Listing::new(&[("JOB_ID", text_type(64)), ("RESULT", text_type(128))]);
    for &job in jobs {
        let id = i64::try_from(job).unwrap_or(i64::MAX);
        let result = match session.shared.catalog.changer.cancel(id) {
            Ok(()) => "successful".to_owned(),
            Err(error) => format!("error: [ddl:{}]{}", error.code, error.message),
        };
        listing.push(vec![text(job.to_string()), text(result)]);
    }
    Ok(listing)
}
