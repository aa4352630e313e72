//! The result of compiling a statement's text.

use std::sync::Arc;

use planner::CachedPlan;
use planner::command::Command;
use planner::plan::Plan;
use schema::definition::Ddl;

/// A statement, ready to run.
pub enum Compiled {
    Plan(Arc<CachedPlan>),
    Ddl(Box<Ddl>),
    Command(Box<Command>),
}

impl Compiled {
    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Plan(cached) => Some(&cached.plan),
            Self::Ddl(_) | Self::Command(_) => None,
        }
    }
}
