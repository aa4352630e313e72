//! Parts of the session that are borrowed separately while a statement runs: the runner changes the
//! transaction, while sinks and virtual tables read the rest.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use functions::{EvalContext, Strictness};
use runner::{Environment, Runner};
use types::Value;

use crate::commit::Deferral;
use crate::evaluation::EvalContexts;
use crate::session::Session;
use crate::view::SessionView;

/// Parts of a session that do not overlap.
pub struct Parts<'a> {
    pub runner: Runner<'a>,
    pub contexts: &'a mut EvalContexts,
    pub view: SessionView<'a>,
    pub deferral: Deferral<'a>,
}

/// A view of a session that borrows only the fields that it needs.
macro_rules! view {
    ($session:expr) => {
        SessionView {
            shared: &$session.shared,
            process: &$session.process,
            interrupted: &$session.interrupted,
            client: &$session.client,
            database: &$session.database,
            variables: &$session.variables,
            settings: &$session.settings,
            user_variables: &$session.user_variables,
            user_locks: &$session.user_locks,
            last: &$session.last,
            diagnostics: &$session.diagnostics,
            profiles: &$session.profiles,
        }
    };
}

/// The environment of statements, borrowed in the same way.
macro_rules! environment {
    ($session:expr) => {
        Environment {
            engine: &$session.shared.engine,
            settings: &$session.settings.run,
            interrupt: &$session.process.interrupt,
        }
    };
}

impl Session {
    pub(crate) fn parts(&mut self) -> Parts<'_> {
        Parts {
            runner: Runner {
                env: environment!(self),
                transaction: &mut self.transaction,
            },
            contexts: &mut self.contexts,
            view: view!(self),
            deferral: Deferral {
                is_allowed: !self.more_results,
                reply_waits: &mut self.reply_waits,
            },
        }
    }

    pub(crate) fn runner(&mut self) -> Runner<'_> {
        self.parts().runner
    }

    pub(crate) fn environment(&self) -> Environment<'_> {
        environment!(self)
    }

    pub(crate) fn view(&self) -> SessionView<'_> {
        view!(self)
    }

    /// The context of a statement that starts now.
    pub(crate) fn eval_context(&mut self, params: Vec<Value>, strictness: Strictness) -> Arc<EvalContext> {
        let parts = self.parts();
        parts.contexts.next(parts.view, params, strictness)
    }

    /// The context for a statement without a plan, with the parameters of its execution.
    pub(crate) fn command_context(&mut self, strictness: Strictness) -> Arc<EvalContext> {
        self.eval_context(self.command_params.clone(), strictness)
    }

    /// Takes over the effects of functions on the session: warnings, LAST_INSERT_ID(expr), assignments to
    /// variables.
    pub(crate) fn end_of_evaluation(&mut self, eval: &EvalContext) {
        self.diagnostics.collect(eval, self.settings.warnings);
        let set = eval
            .set_last_insert_id
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .take();
        let generated = eval.generated_id.load(Ordering::Relaxed);
        if let Some(id) = Some(generated).filter(|id| *id > 0).or(set) {
            self.last.insert_id = id;
        }
        if eval.insert_id.is_used.load(Ordering::Relaxed) {
            self.last.forced_id = 0;
        }
        let assigned = eval.state.take_assigned();
        if !assigned.is_empty() {
            self.user_variables.assign(assigned);
        }
    }
}
