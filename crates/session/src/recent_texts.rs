//! Texts that a session has run recently, with their plans. The next text that differs only in its literals
//! is neither normalised nor looked up in the plan cache of all connections.

use std::sync::Arc;

use planner::CachedPlan;
use syntax::Template;
use types::{SqlMode, Value};

/// Applications repeat a few statements. All entries are tried in turn.
const TEXTS_MAX: usize = 8;

/// Longer texts are not kept, because 5,000 connections may each have some.
const TEXT_BYTES_MAX: usize = 1 << 10;

/// See the module.
#[derive(Default)]
pub struct RecentTexts {
    texts: Vec<Option<Box<RecentText>>>,
    /// The position that is replaced next.
    next: usize,
}

pub struct RecentText {
    pub template: Template,
    pub plan: Arc<CachedPlan>,
    pub scope: PlanScope,
}

/// What the plan of a text depends on besides the text, the schema, and the types of its literals.
#[derive(Clone, PartialEq, Eq)]
pub struct PlanScope {
    pub database: Option<Arc<str>>,
    pub environment: u64,
}

impl RecentTexts {
    /// The template and plan for a text, and its literals. The plan may be out of date. It is moved out while
    /// it runs, because a second reference would change a count in a cache line that all connections share.
    pub fn take(
        &mut self,
        text: &str,
        mode: &SqlMode,
        scope: &PlanScope,
    ) -> Option<(Box<RecentText>, Vec<Value>)> {
        self.texts.iter_mut().find_map(|entry| {
            let recent = entry.as_ref().filter(|recent| recent.scope == *scope)?;
            let values = recent.template.read(text, mode)?;
            Some((entry.take()?, values))
        })
    }

    pub fn put(&mut self, recent: Box<RecentText>) {
        if recent.template.text.len() > TEXT_BYTES_MAX {
            return;
        }
        if let Some(free) = self.texts.iter_mut().find(|entry| entry.is_none()) {
            *free = Some(recent);
        } else if self.texts.len() < TEXTS_MAX {
            self.texts.push(Some(recent));
        } else if let Some(oldest) = self.texts.get_mut(self.next) {
            *oldest = Some(recent);
            self.next = (self.next + 1) % TEXTS_MAX;
        }
    }
}
