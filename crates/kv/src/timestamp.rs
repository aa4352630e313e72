//! Timestamps: 46 bits of milliseconds and an 18-bit counter, as in TiDB.
//!
//! Not here: where they come from. That is [`crate::oracle`] for embedded engines, and PD for TiKV.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Strictly increasing; the upper 46 bits are milliseconds since 1970 (UTC), the lower 18 a counter.
pub type Timestamp = u64;

/// In place of a timestamp: the newest committed version, whatever its timestamp.
pub const LATEST: Timestamp = Timestamp::MAX;

/// Bits of the counter below the milliseconds.
pub const LOGICAL_BITS: u32 = 18;

/// How many timestamps a millisecond holds.
pub const PER_MILLISECOND: u64 = 1 << LOGICAL_BITS;

/// The first timestamp of a millisecond since 1970.
pub fn timestamp_from_ms(ms: u64) -> Timestamp {
    ms.saturating_mul(PER_MILLISECOND)
}

/// The milliseconds since 1970 in which a timestamp lies.
pub fn timestamp_to_ms(ts: Timestamp) -> u64 {
    ts >> LOGICAL_BITS
}

/// Where wall-clock time comes from. Tests have clocks of their own.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970. May go backwards; timestamps made from it do not.
    fn now_ms(&self) -> u64;
}

/// The machine's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| {
            u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
        })
    }
}

/// A clock that only moves when it is set.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    pub fn new(ms: u64) -> Self {
        Self(AtomicU64::new(ms))
    }

    pub fn set_ms(&self, ms: u64) {
        self.0.store(ms, Ordering::SeqCst);
    }

    pub fn advance_ms(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_survive_the_round_trip() {
        let ts = timestamp_from_ms(1_700_000_000_123) + 77;
        assert_eq!(timestamp_to_ms(ts), 1_700_000_000_123);
        assert!(timestamp_from_ms(SystemClock.now_ms()) > timestamp_from_ms(1_600_000_000_000));
    }
}
