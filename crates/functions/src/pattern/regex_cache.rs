//! Regular expressions that a statement has compiled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::compiled::{Pattern, RegexFlags};

/// Compiled expressions of one statement, by pattern and flags.
#[derive(Debug, Default)]
pub(crate) struct RegexCache(pub(super) Mutex<HashMap<(String, RegexFlags), Arc<Pattern>>>);

impl RegexCache {
    pub fn clear(&mut self) {
        self.0.get_mut().unwrap_or_else(|e| e.into_inner()).clear();
    }
}

/// How many patterns are cached: a column of patterns must not fill the memory.
pub(super) const CACHE_LIMIT: usize = 256;
