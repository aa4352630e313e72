//! `AS OF TIMESTAMP`: a read of the past, as far back as old versions are retained.

use functions::{Expr, eval_value};
use kv::Snapshot;
use types::temporal::DateTime;
use types::{Error, Result, Value};

use crate::env::Env;
use crate::source::ReadSource;

/// TiDB's ErrAsOf: MySQL has no such read.
const ER_AS_OF: u16 = 8135;

/// The state of a table at the moment that `expr` names, a DATETIME(6) in the session's time zone.
///
/// # Errors
/// 8135 inside a transaction, for NULL and for moments in the future; 9006 for moments before the oldest
/// retained version.
pub(super) fn snapshot(expr: &Expr, table: i64, env: &Env<'_, '_>) -> Result<Snapshot> {
    if !matches!(env.source, ReadSource::Snapshot(_)) {
        return Err(invalid("as of timestamp can't be set in transaction."));
    }
    let eval = env.eval();
    let Value::UInt(moment) = eval_value(expr, eval)? else {
        return Err(invalid("as of timestamp cannot be NULL"));
    };
    let Some(us) = eval
        .time_zone
        .to_unix_us(&DateTime::unpack(moment))
        .filter(|us| *us >= 0)
    else {
        return Err(invalid("as of timestamp is no moment in the session's time zone"));
    };
    let ms = us.unsigned_abs() / 1000;
    let ts = env.ctx.cluster.fills().read_at(table, kv::timestamp_from_ms(ms));
    Ok(env.ctx.store.snapshot(ts)?)
}

fn invalid(why: &str) -> Error {
    Error::new(ER_AS_OF, format!("invalid as of timestamp: {why}"))
}
