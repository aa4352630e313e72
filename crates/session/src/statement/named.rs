//! PREPARE, EXECUTE and DEALLOCATE PREPARE.

use std::io;

use syntax::ast::PrepareSource;
use types::{Error, Result, SqlType, Value, errno};
use wire::connection::PacketSink;
use wire::row::Format;

use crate::counters::StatusCounter;
use crate::prepared::parameter_types::{Protocol, convert_row_counts};
use crate::reply::Outcome;
use crate::session::Session;
use crate::statistics::Kind;

/// PREPARE name FROM ...
pub fn prepare(session: &mut Session, name: &str, source: &PrepareSource) -> Result<()> {
    let text = match source {
        PrepareSource::Text(text) => text.clone(),
        PrepareSource::Variable(variable) => match session.user_variables.get(variable) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bytes(bytes)) => session.decode_text(bytes)?,
            Some(Value::Int(i)) => i.to_string(),
            _ => "NULL".to_owned(),
        },
    };
    session.named.remove(name);
    session.process.counters.add(StatusCounter::StmtPrepare, 1);
    let checked = session.prepare(&text)?;
    session.prepared.check_room(session.prepared_max())?;
    let statement = checked.into_statement(session.database.clone());
    session.named.put(name, statement);
    session.state_changed();
    Ok(())
}

/// EXECUTE name USING @a, @b
pub fn execute(
    session: &mut Session,
    name: &str,
    using: &[String],
    out: &mut dyn PacketSink,
) -> io::Result<(Kind, Result<Outcome>)> {
    let Some(statement) = session.named.get(name).cloned() else {
        return Ok((Kind::Other, Err(unknown_name(name, "EXECUTE"))));
    };
    if statement.parsed.parameters != using.len() {
        let error = Error::new(errno::ER_WRONG_ARGUMENTS, "Incorrect arguments to EXECUTE");
        return Ok((Kind::Other, Err(error)));
    }
    // EXECUTE counts, and so does what it executes.
    let counters = &session.process.counters;
    counters.add(StatusCounter::StmtExecute, 1);
    if let Some(command) = statement.parsed.statement.command() {
        counters.count_beside(command);
    }
    let value = |name: &String| session.user_variables.get(name).cloned().unwrap_or(Value::Null);
    let mut values: Vec<Value> = using.iter().map(value).collect();
    let collation = session.settings.collation_connection;
    let mut types: Vec<SqlType> = values
        .iter()
        .map(|v| functions::bind::type_of_value(v, collation))
        .collect();
    let row_counts = &statement.parsed.row_counts;
    if let Err(error) = convert_row_counts(row_counts, Protocol::Sql, &mut values, &mut types) {
        return Ok((Kind::Other, Err(error)));
    }
    session.convert_parameters(&statement.parameter_types, &mut values, &mut types);
    let current = std::mem::replace(&mut session.database, statement.database.clone());
    let compile = |session: &mut Session, values: &[Value]| {
        session.compile_prepared(&statement.parsed, &statement.text, &types, values)
    };
    let replan = |session: &mut Session| compile(session, &[]);
    let result = session.with_hinted_variables(&statement.parsed.set_vars, |session| {
        let compiled = match session.enter_statement(&statement.parsed.statement) {
            Ok(()) => compile(session, &values),
            Err(error) => Err(error),
        };
        match compiled {
            Ok(mut compiled) => session.run_compiled(&mut compiled, values, Format::Text, &replan, out),
            Err(error) => Ok((Kind::Other, Err(error))),
        }
    });
    session.restore_database(current, &statement.database);
    result
}

/// DEALLOCATE PREPARE
pub fn deallocate(session: &mut Session, name: &str) -> Result<()> {
    if !session.named.remove(name) {
        return Err(unknown_name(name, "DEALLOCATE PREPARE"));
    }
    session.state_changed();
    Ok(())
}

fn unknown_name(name: &str, statement: &str) -> Error {
    Error::new(
        errno::ER_UNKNOWN_STMT_HANDLER,
        format!("Unknown prepared statement handler ({name}) given to {statement}"),
    )
}
