//! What statements run in.

use std::sync::Arc;

use kv::Interrupt;

use crate::engine::Engine;
use crate::settings::Settings;

/// What a statement runs in, except its transaction.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    pub engine: &'a Engine,
    pub settings: &'a Settings,
    /// Ends the statement when raised, its waits included.
    pub interrupt: &'a Arc<Interrupt>,
    /// Whether the account may write while `read_only` is on. Known only then.
    pub is_exempt: bool,
}
