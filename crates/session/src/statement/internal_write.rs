//! Writes that other statements are made of.

use executor::LoadedFile;
use functions::Strictness;
use planner::plan::Plan;
use runner::Evaluation;
use types::Result;

use crate::reply::Done;
use crate::session::Session;
use crate::virtual_tables::ServerTables;

/// Runs a write that a definition is made of.
pub fn write(session: &mut Session, plan: &Plan, strict: bool) -> Result<Done> {
    run(session, plan, strict, None)
}

/// Runs a write of the rows of a file.
pub fn write_file(session: &mut Session, plan: &Plan, strict: bool, file: &dyn LoadedFile) -> Result<Done> {
    run(session, plan, strict, Some(file))
}

fn run(session: &mut Session, plan: &Plan, strict: bool, file: Option<&dyn LoadedFile>) -> Result<Done> {
    let strictness = match plan {
        Plan::Insert(insert) if insert.ignore => Strictness::Ignore,
        _ if strict => Strictness::Error,
        _ => Strictness::Warn,
    };
    let eval = session.command_context(strictness);
    let parts = session.parts();
    let mut runner = parts.runner;
    let with = Evaluation {
        context: &eval,
        tables: &ServerTables { view: parts.view },
        file,
    };
    let result = runner.statement(|runner| runner.write(plan, with));
    session.end_of_evaluation(&eval);
    Ok(session.write_done(plan, &result?))
}
