//! The diagnostics area: the warnings and errors of the last statement, for SHOW WARNINGS (manual 13.6.7.7).

use functions::EvalContext;
use syntax::ast::ConditionItem;
use types::{Error, Warning, WarningLevel};

/// What SIGNAL says about a condition beside its number and message.
pub struct Signalled {
    pub state: String,
    /// Other items that it sets.
    pub items: Vec<(ConditionItem, String)>,
    /// Where the condition is in [`Diagnostics::warnings`].
    pub place: usize,
}

/// See the module.
#[derive(Default)]
pub struct Diagnostics {
    pub warnings: Vec<Warning>,
    /// The number of all warnings and errors, listed or not.
    pub count: u64,
    /// The numbers of warnings and errors of the previous statement: `@@warning_count` and `@@error_count`.
    pub previous: (u64, u64),
    pub signalled: Option<Box<Signalled>>,
    /// Receives warnings while the current statement is planned.
    pub planning: functions::Warnings,
}

/// Which warnings are listed: `sql_notes` and `max_error_count`.
#[derive(Debug, Clone, Copy)]
pub struct WarningLimits {
    pub notes: bool,
    pub max_listed: usize,
}

/// The contents of the area at some moment.
#[derive(Clone, Copy)]
pub struct DiagnosticsMark {
    listed: usize,
    count: u64,
}

impl Diagnostics {
    pub fn clear(&mut self) {
        self.warnings.clear();
        self.count = 0;
        self.signalled = None;
    }

    /// What SIGNAL said about a condition, if it made the one at this place.
    pub fn signalled_at(&self, place: usize) -> Option<&Signalled> {
        self.signalled
            .as_deref()
            .filter(|signalled| signalled.place == place)
    }

    /// The SQLSTATE of an error that has been added.
    pub fn state_of(&self, error: &Error) -> &str {
        let last = self.warnings.len().checked_sub(1);
        match last.and_then(|place| self.signalled_at(place)) {
            Some(signalled) => &signalled.state,
            None => error.sqlstate(),
        }
    }

    /// Begins a statement: the last one becomes the previous one.
    pub fn begin(&mut self) {
        self.previous = (self.count, self.error_count());
        self.clear();
        drop(self.planning.take());
    }

    pub fn add(&mut self, warning: Warning) {
        self.count += 1;
        self.warnings.push(warning);
    }

    pub fn add_all(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        warnings.into_iter().for_each(|warning| self.add(warning));
    }

    pub fn add_error(&mut self, error: &Error) {
        self.add(Warning {
            level: WarningLevel::Error,
            code: error.code,
            message: error.message.clone(),
        });
    }

    /// Moves a statement's warnings here.
    pub fn collect(&mut self, eval: &EvalContext, limits: WarningLimits) {
        self.add_limited(eval.warnings.take(), limits);
    }

    /// Moves the warnings of planning here.
    pub fn collect_planning(&mut self, limits: WarningLimits) {
        let warnings = self.planning.take();
        self.add_limited(warnings, limits);
    }

    /// `count`: the number of all warnings, of which some may be missing in `warnings`.
    pub fn add_limited(&mut self, (warnings, count): (Vec<Warning>, u64), limits: WarningLimits) {
        if count == 0 {
            return;
        }
        let wanted: Vec<Warning> = warnings
            .into_iter()
            .filter(|w| limits.notes || w.level != WarningLevel::Note)
            .collect();
        let dropped = count.saturating_sub(wanted.len() as u64);
        self.count += wanted.len() as u64 + if limits.notes { dropped } else { 0 };
        let room = limits.max_listed.saturating_sub(self.warnings.len());
        self.warnings.extend(wanted.into_iter().take(room));
    }

    /// The error that ended the last statement.
    pub fn last_error(&self) -> Option<&Warning> {
        self.warnings.iter().rfind(|w| w.level == WarningLevel::Error)
    }

    pub fn error_count(&self) -> u64 {
        self.warnings
            .iter()
            .filter(|w| w.level == WarningLevel::Error)
            .count() as u64
    }

    pub fn mark(&self) -> DiagnosticsMark {
        DiagnosticsMark {
            listed: self.warnings.len(),
            count: self.count,
        }
    }

    /// Removes what was added since the mark.
    pub fn return_to(&mut self, mark: DiagnosticsMark) {
        self.warnings.truncate(mark.listed);
        self.count = mark.count;
    }
}
