//! Prepares a statement: checks it, and finds the columns of its result and the types of its parameters.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use functions::Strictness;
use planner::command::Command;
use planner::plan::ResultColumn;
use planner::{MomentUse, Place};
use syntax::Parsed;
use syntax::ast::{
    Maintenance, ProgramAction, ServerShow, ShowStatement, TransactionStatement, UserStatement, ViewVerb,
};
use types::Value;
use types::{Collation, Error, Result, SqlType, errno};
use wire::connection::PacketSink;

use super::Statement;
use super::parameter_types::{Expected, RowCount, untyped};
use super::{ParameterTypes, parameter_types};
use crate::client_charset;
use crate::compile::{self, Parameters};
use crate::compiled::Compiled;
use crate::counters::StatusCounter;
use crate::events::event_name::ProtocolCommand;
use crate::events::general_log;
use crate::events::observe;
use crate::query::plan_columns;
use crate::reply;
use crate::session::Session;
use crate::statement::{self, absent_program};
use crate::statistics::Kind;
use crate::transaction_rules;

/// A statement that has been checked.
pub struct Checked {
    text: Arc<str>,
    parsed: Parsed,
    columns: Vec<ResultColumn>,
    places: Vec<Place>,
}

impl Checked {
    /// `database`: the one that is selected at present.
    pub fn into_statement(self, database: Option<Arc<str>>) -> Statement {
        let has_types = self
            .places
            .iter()
            .any(|place| place.converted.is_some() || place.moment == MomentUse::Compared);
        let of_limit = |position: usize| self.parsed.row_counts.contains(&position);
        let expected = |(position, place): (usize, &Place)| {
            (!of_limit(position)).then(|| Expected {
                ty: place.converted.or(place.announced).unwrap_or_else(untyped),
                converts: place.converted.is_some(),
                moment: place.moment,
            })
        };
        let parameter_types: ParameterTypes = match has_types {
            true => self.places.iter().enumerate().map(expected).collect(),
            false => Arc::default(),
        };
        let of_limits = self.parsed.row_counts.iter().copied().map(RowCount::OfLimit);
        let places = self.places.iter().enumerate();
        let of_windows = places.filter(|(_, place)| place.counts_rows);
        let of_windows = of_windows.map(|(position, _)| RowCount::OfWindow(position));
        let row_counts: Arc<[RowCount]> = of_limits.chain(of_windows).collect();
        Statement {
            parameters: self.parsed.parameters,
            is_plain: !has_types && row_counts.is_empty() && self.parsed.set_vars.is_empty(),
            row_counts,
            text: self.text,
            parsed: Arc::new(self.parsed),
            database,
            parameter_types,
            types_of_values: None,
        }
    }
}

/// COM_STMT_PREPARE.
pub fn run(session: &mut Session, text: &[u8], out: &mut dyn PacketSink) -> io::Result<Result<()>> {
    let started = Instant::now();
    session.begin_statement();
    session.process.counters.add(StatusCounter::StmtPrepare, 1);
    let checked = client_charset::decode_statement(session, text).and_then(|text| {
        general_log::log_command(session, "Prepare", &text);
        check(session, &text)
    });
    session.event.name = ProtocolCommand::Prepare.into();
    observe::end(session, Kind::Prepare, started, checked.is_err());
    let mut checked = match checked {
        Ok(checked) => checked,
        Err(error) => return Ok(Err(error)),
    };
    let columns = std::mem::take(&mut checked.columns);
    let collation = session.settings.collation_connection;
    let announced = checked.places.iter().map(|place| place.announced);
    let parameters: Vec<ResultColumn> = announced.map(|ty| parameter_column(ty, collation)).collect();
    let statement = checked.into_statement(session.database.clone());
    let id = match session.prepared.add(statement, session.prepared_max()) {
        Ok(id) => id,
        Err(error) => return Ok(Err(error)),
    };
    let ok = wire::prepare_ok::PrepareOk {
        statement_id: id,
        columns: columns.len() as u16,
        parameters: parameters.len() as u16,
        warnings: u16::try_from(session.diagnostics.count).unwrap_or(u16::MAX),
    };
    out.send_with(&mut |packet| ok.encode(packet))?;
    let reply = reply::context(session);
    for definitions in [parameters, columns].iter().filter(|all| !all.is_empty()) {
        reply.send_definitions(definitions, out)?;
        reply.send_metadata_end(0, out)?;
    }
    Ok(Ok(()))
}

/// Checks a statement and finds its result's columns.
pub fn check(session: &mut Session, text: &str) -> Result<Checked> {
    if let Some(guard) = &session.client.guard {
        guard.check_password()?;
    }
    let (text, parsed) = parse_single(session, text)?;
    if parsed.parameters > usize::from(u16::MAX) {
        return Err(Error::new(
            errno::ER_PS_MANY_PARAM,
            "Prepared statement contains too many placeholders",
        ));
    }
    if is_unpreparable(&parsed.statement) {
        return Err(unpreparable());
    }
    if !parsed.statement.commits_implicitly() {
        transaction_rules::check_read_write(session, &parsed.statement)?;
    }
    if parsed.reads_diagnostics {
        return Err(unpreparable());
    }
    let places = RefCell::new(vec![Place::default(); parsed.parameters]);
    let columns = match compile::compile(session, &parsed, Parameters::Untyped(Some(&places)))? {
        Compiled::Plan(plan) => {
            session.client.check_privileges(&plan.accesses)?;
            plan_columns(&plan.plan).to_vec()
        }
        Compiled::Ddl(_) => Vec::new(),
        Compiled::Command(command) => {
            refuse_unpreparable(session, &command)?;
            command_columns(session, &command)
        }
    };
    session.diagnostics.collect_planning(session.settings.warnings);
    if columns.len() > usize::from(u16::MAX) {
        // A result may have more columns, but the packet that announces it counts them with 16 bits.
        return Err(Error::new(errno::ER_TOO_MANY_FIELDS, "Too many columns"));
    }
    Ok(Checked {
        text,
        parsed,
        columns,
        places: places.into_inner(),
    })
}

/// The result columns of a SHOW or EXPLAIN. They do not depend on its rows, so they are found by running it.
fn command_columns(session: &mut Session, command: &Command) -> Vec<ResultColumn> {
    let listing = match command {
        Command::Show(show) => {
            let eval = session.eval_context(Vec::new(), Strictness::Warn);
            statement::show::listing(session, show, &eval)
        }
        Command::Explain(explained) => statement::explain::listing(session, explained),
        _ => return Vec::new(),
    };
    listing.map(|listing| listing.columns).unwrap_or_default()
}

/// Semicolons at the end are no part of the text, also if a comment has begun before them.
fn parse_single(session: &Session, text: &str) -> Result<(Arc<str>, Parsed)> {
    let text = text.trim_end_matches(|c: char| c.is_ascii_whitespace() || c == ';');
    let mut parsed = syntax::parse(text, &session.settings.sql_mode)?;
    if parsed.len() > 1 {
        return Err(syntax::syntax_error(text, parsed[1].text.start));
    }
    let parsed = parsed
        .pop()
        .ok_or_else(|| Error::new(errno::ER_EMPTY_QUERY, "Query was empty"))?;
    Ok((text.into(), parsed))
}

/// The definition of a parameter, as the client gets it.
fn parameter_column(ty: Option<SqlType>, collation: Collation) -> ResultColumn {
    let ty = ty.unwrap_or_else(|| SqlType {
        collation,
        ..untyped()
    });
    ResultColumn {
        // MySQL announces a date or time as the text that it may be sent as.
        is_chosen_time: ty.is_temporal(),
        ..ResultColumn::unnamed("?", ty, true)
    }
}

/// Statements that MySQL does not prepare either (manual 13.5 "SQL Syntax Permitted in Prepared Statements").
fn refuse_unpreparable(session: &Session, command: &Command) -> Result<()> {
    use planner::command::Command::*;
    match command {
        OfProgram {
            action: ProgramAction::Call,
            kind,
            name,
        } => Err(absent_program::failure(session, ProgramAction::Call, *kind, name)),
        OfProgram {
            action: ProgramAction::ShowCreate,
            ..
        } => Ok(()),
        Transaction(TransactionStatement::Commit(_) | TransactionStatement::Rollback(_)) => Ok(()),
        Transaction(_)
        | ExplainConnection { .. }
        | Use { .. }
        | Prepare { .. }
        | Execute { .. }
        | Deallocate { .. }
        | LockTables { .. }
        | UnlockTables
        | LockInstance
        | UnlockInstance
        | GetDiagnostics(_)
        | Signal(_)
        | Resignal
        | DropAbsent { .. }
        | OfProgram { .. } => Err(unpreparable()),
        _ => Ok(()),
    }
}

/// Those that MySQL refuses before it looks at anything that they name.
fn is_unpreparable(statement: &syntax::ast::Statement) -> bool {
    use syntax::ast::Statement::*;
    match statement {
        Show(show) => matches!(
            show,
            ShowStatement::OfServer(
                ServerShow::Warnings { .. } | ServerShow::CountWarnings { .. } | ServerShow::Help
            )
        ),
        CreateView(create) => create.verb == ViewVerb::Alter,
        User(user) => matches!(
            user,
            UserStatement::CreateRole { .. } | UserStatement::DropRole { .. }
        ),
        TableMaintenance { action, .. } => *action == Maintenance::Check,
        AlterDatabase { .. } | LoadData(_) | Xa(_) => true,
        _ => false,
    }
}

fn unpreparable() -> Error {
    Error::new(
        errno::ER_UNSUPPORTED_PS,
        "This command is not supported in the prepared statement protocol yet",
    )
}

/// Converts values to the types of their parameters. Returns whether all are of their parameters' kinds.
pub fn convert_parameters(
    session: &mut Session,
    expected: &ParameterTypes,
    values: &mut [Value],
    types: &mut [SqlType],
) -> bool {
    let eval = session.eval_context(Vec::new(), Strictness::Warn);
    parameter_types::convert(expected, values, types, &eval)
}
