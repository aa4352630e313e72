//! How the process' memory is divided when it starts.

use std::time::Duration;

use crate::pressure::Process;

/// A part of a fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// For `/metrics`.
    pub name: &'static str,
    pub bytes: usize,
}

/// What a broker is started with.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Bytes that the process may use.
    pub limit: usize,
    /// Fixed parts, which are subtracted first.
    pub parts: Vec<Part>,
    /// The most connections. Each may hold a small amount without the broker.
    pub connections: usize,
    /// The longest wait of a statement for memory.
    pub wait_max: Duration,
    pub process: Process,
}

/// The least that has to be left to statements.
const STATEMENTS_MIN_BYTES: usize = 32 << 20;

/// How much each statement may hold without asking the broker.
const FREE_BYTES: std::ops::RangeInclusive<usize> = 16 << 10..=256 << 10;

impl Plan {
    /// The part of the limit for memory that is not counted: rows on their way to clients, stacks, and memory
    /// that the allocator holds unused.
    fn uncounted(&self) -> usize {
        self.limit / 10
    }

    /// What all connections together may hold without the broker.
    fn connections_bytes(&self) -> usize {
        self.free_bytes().saturating_mul(self.connections)
    }

    /// What each statement may hold without the broker.
    pub(crate) fn free_bytes(&self) -> usize {
        (self.limit / 32 / self.connections.max(1)).clamp(*FREE_BYTES.start(), *FREE_BYTES.end())
    }

    /// All fixed parts.
    pub(crate) fn all_parts(&self) -> Vec<Part> {
        let mut parts = self.parts.clone();
        parts.push(Part {
            name: "connections",
            bytes: self.connections_bytes(),
        });
        parts.push(Part {
            name: "uncounted",
            bytes: self.uncounted(),
        });
        parts
    }

    /// What is left to statements and transactions.
    ///
    /// # Errors
    /// A message for the terminal, if it is too little.
    pub(crate) fn statements_bytes(&self) -> Result<usize, String> {
        let parts = self.all_parts();
        let fixed = parts.iter().map(|part| part.bytes).fold(0, usize::saturating_add);
        let left = self.limit.saturating_sub(fixed);
        if left >= STATEMENTS_MIN_BYTES {
            return Ok(left);
        }
        let parts: Vec<String> = parts
            .iter()
            .map(|part| format!("{} {}", part.name, part.bytes))
            .collect();
        Err(format!(
            "of a memory limit of {} bytes, {left} would be left to statements, which need at least {STATEMENTS_MIN_BYTES}; \
             fixed parts are: {}. Raise memory.limit_bytes, or lower the sizes in [storage]",
            self.limit,
            parts.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(limit: usize, cache: usize) -> Plan {
        Plan {
            limit,
            parts: vec![Part {
                name: "block_cache",
                bytes: cache,
            }],
            connections: 1_000,
            wait_max: Duration::ZERO,
            process: Process::plain(),
        }
    }

    #[test]
    fn statements_have_what_the_parts_leave() {
        let gib = 1 << 30;
        let plan_of = plan(2 * gib, gib);
        let left = plan_of.statements_bytes().unwrap();
        assert!(left > gib / 2 && left < gib, "{left}");
        assert!(plan_of.free_bytes() > 64 << 10);
    }

    #[test]
    fn parts_that_leave_nothing_are_named() {
        let error = plan(256 << 20, 220 << 20).statements_bytes().unwrap_err();
        assert!(
            error.contains("block_cache 230686720") && error.contains("limit_bytes"),
            "{error}"
        );
    }
}
