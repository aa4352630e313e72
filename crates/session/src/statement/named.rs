//! PREPARE and DEALLOCATE PREPARE. EXECUTE is in `execute`, because it runs another statement.

use syntax::ast::PrepareSource;
use types::{Error, Result, Value, errno};

use crate::client_charset;
use crate::counters::StatusCounter;
use crate::prepared;
use crate::session::Session;

/// PREPARE name FROM ...
pub fn prepare(session: &mut Session, name: &str, source: &PrepareSource) -> Result<()> {
    let text = match source {
        PrepareSource::Text(text) => text.clone(),
        PrepareSource::Variable(variable) => match session.user_variables.get(variable) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bytes(bytes)) => client_charset::decode_text(session, bytes)?,
            Some(Value::Int(i)) => i.to_string(),
            _ => "NULL".to_owned(),
        },
    };
    if session.named.remove(name) {
        session.process.counters.add_named(StatusCounter::StmtClose);
    }
    session.process.counters.add_named(StatusCounter::StmtPrepare);
    let checked = prepared::prepare::check(session, &text)?;
    let counted = session.prepared.count_named(session.prepared_max())?;
    let statement = checked.into_statement(session.database.clone());
    session.named.put(name, statement, counted);
    session.state_changed();
    Ok(())
}

/// DEALLOCATE PREPARE
pub fn deallocate(session: &mut Session, name: &str) -> Result<()> {
    if !session.named.remove(name) {
        return Err(unknown_name(name, "DEALLOCATE PREPARE"));
    }
    session.process.counters.add_named(StatusCounter::StmtClose);
    session.state_changed();
    Ok(())
}

pub fn unknown_name(name: &str, statement: &str) -> Error {
    Error::new(
        errno::ER_UNKNOWN_STMT_HANDLER,
        format!("Unknown prepared statement handler ({name}) given to {statement}"),
    )
}
