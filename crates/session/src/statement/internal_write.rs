//! Writes that other statements are made of.

use functions::Strictness;
use planner::plan::Plan;
use runner::Evaluation;
use types::Result;

use crate::reply::Done;
use crate::session::Session;
use crate::virtual_tables::ServerTables;

/// Runs a write that a definition is made of.
pub fn write(session: &mut Session, plan: &Plan, strict: bool) -> Result<Done> {
    let eval = session.command_context(if strict {
        Strictness::Error
    } else {
        Strictness::Warn
    });
    let parts = session.parts();
    let mut runner = parts.runner;
    let with = Evaluation {
        context: &eval,
        tables: &ServerTables { view: parts.view },
    };
    let result = runner.statement(|runner| runner.write(plan, with));
    session.end_of_evaluation(&eval);
    Ok(session.write_done(plan, &result?))
}
