//! Texts that a session has run lately, with their plans. The next of the same shape, which differs in its literals, is neither
//! normalised nor looked up among all connections' plans.

use std::sync::Arc;

use planner::CachedPlan;
use syntax::Template;
use types::{SqlMode, Value};

/// Applications repeat a few statements; each is tried in turn.
const TEXTS_MAX: usize = 8;

/// Longer ones are not kept: 5,000 connections may each have some.
const TEXT_BYTES_MAX: usize = 1 << 10;

/// See the module.
#[derive(Default)]
pub struct KnownTexts {
    texts: Vec<Option<Box<KnownText>>>,
    /// Which is to go next.
    next: usize,
}

pub struct KnownText {
    pub template: Template,
    pub plan: Arc<CachedPlan>,
    pub settled_by: SettledBy,
}

/// What decides a text's plan beside the text, the schema, and the types of its literals.
#[derive(Clone, PartialEq, Eq)]
pub struct SettledBy {
    pub database: Option<Arc<str>>,
    pub environment: u64,
}

impl KnownTexts {
    /// A text's shape and plan, which may be out of date, and its literals. Gone from here until it is kept again: to count
    /// one more of its plan's owners would cost all connections something, who share it.
    pub fn take(
        &mut self,
        text: &str,
        mode: &SqlMode,
        settled_by: &SettledBy,
    ) -> Option<(Box<KnownText>, Vec<Value>)> {
        self.texts.iter_mut().find_map(|slot| {
            let known = slot.as_ref().filter(|known| known.settled_by == *settled_by)?;
            let values = known.template.read(text, mode)?;
            Some((slot.take()?, values))
        })
    }

    pub fn keep(&mut self, known: Box<KnownText>) {
        if known.template.text.len() > TEXT_BYTES_MAX {
            return;
        }
        if let Some(free) = self.texts.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(known);
        } else if self.texts.len() < TEXTS_MAX {
            self.texts.push(Some(known));
        } else if let Some(slot) = self.texts.get_mut(self.next) {
            *slot = Some(known);
            self.next = (self.next + 1) % TEXTS_MAX;
        }
    }
}
