//! The live snapshots, and the garbage-collection safe point, which stays at or below the oldest of them.

use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::timestamp::Timestamp;
use std::sync::Arc;

/// Enough that connections rarely contend for one.
const SHARDS: usize = 16;

/// The live snapshots, sharded by timestamp.
pub struct Pins {
    shards: [Shard; SHARDS],
    /// Shared with storages that drop old versions while they compact.
    safe_point: Arc<AtomicU64>,
}

/// How often each timestamp is pinned, in their order. There are few at a time, and nearly each new one is
/// the newest, so a vector is better than a tree. Aligned to cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<Vec<(Timestamp, usize)>>);

impl Pins {
    /// `safe_point`: where compactions read it.
    pub fn new(safe_point: Arc<AtomicU64>) -> Self {
        Self {
            shards: std::array::from_fn(|_| Shard::default()),
            safe_point,
        }
    }

    /// Where it is: pins below it are refused.
    pub fn safe_point(&self) -> Timestamp {
        self.safe_point.load(Ordering::SeqCst)
    }

    fn shard(&self, ts: Timestamp) -> &Mutex<Vec<(Timestamp, usize)>> {
        // Timestamps of one millisecond differ in their low bits only; of idle times, in their high bits
        // only.
        let spread = ts.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
        &self.shards[usize::try_from(spread).unwrap_or(0) % SHARDS].0
    }

    /// The safe point is read under the shard's lock, which [`Pins::advance`] holds while it moves it: either
    /// the pin is counted or it is refused.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`].
    pub fn pin(&self, ts: Timestamp) -> Result<()> {
        let mut shard = self.shard(ts).lock();
        let safe_point = self.safe_point();
        if ts < safe_point {
            return Err(Error::SnapshotTooOld { ts, safe_point });
        }
        match position(&shard, ts) {
            Ok(at) => shard[at].1 += 1,
            Err(at) => shard.insert(at, (ts, 1)),
        }
        Ok(())
    }

    /// Ends one [`Pins::pin`].
    pub fn unpin(&self, ts: Timestamp) {
        let mut shard = self.shard(ts).lock();
        if let Ok(at) = position(&shard, ts) {
            shard[at].1 -= 1;
            if shard[at].1 == 0 {
                shard.remove(at);
            }
        }
    }

    /// Moves the safe point up to `wanted`, or as far as the oldest pin lets it, and returns where it is.
    pub fn advance(&self, wanted: Timestamp) -> Timestamp {
        let shards: Vec<_> = self.shards.iter().map(|shard| shard.0.lock()).collect();
        let oldest = shards
            .iter()
            .filter_map(|shard| shard.first().map(|(ts, _)| *ts))
            .fold(wanted, Timestamp::min);
        self.safe_point.fetch_max(oldest, Ordering::SeqCst).max(oldest)
    }

    /// How many snapshots live, and the oldest one's timestamp.
    pub fn live(&self) -> (usize, Option<Timestamp>) {
        let mut count = 0;
        let mut oldest = None::<Timestamp>;
        for shard in &self.shards {
            let shard = shard.0.lock();
            count += shard.iter().map(|(_, pins)| pins).sum::<usize>();
            if let Some((ts, _)) = shard.first() {
                oldest = Some(oldest.map_or(*ts, |other| other.min(*ts)));
            }
        }
        (count, oldest)
    }
}

/// The position of a timestamp, or where it would be inserted.
fn position(pins: &[(Timestamp, usize)], ts: Timestamp) -> std::result::Result<usize, usize> {
    pins.binary_search_by_key(&ts, |(pinned, _)| *pinned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_end_in_any_order() {
        let pins = Pins::new(Arc::default());
        let all = || (1..500_u64).map(|n| n * 7919 % 500 + 1);
        all().for_each(|ts| pins.pin(ts).unwrap());
        for (n, ts) in all().enumerate() {
            pins.unpin(ts);
            let oldest = all().skip(n + 1).min();
            assert_eq!(pins.live(), (498 - n, oldest));
        }
    }

    #[test]
    fn the_oldest_pin_holds_back_the_safe_point() {
        let pins = Pins::new(Arc::default());
        pins.pin(100).unwrap();
        pins.pin(100).unwrap();
        pins.pin(200).unwrap();
        assert_eq!(pins.advance(300), 100);
        pins.unpin(100);
        assert_eq!(pins.advance(300), 100, "pinned twice");
        pins.unpin(100);
        assert_eq!(pins.live(), (1, Some(200)));
        assert_eq!(pins.advance(300), 200);
        assert_eq!(pins.advance(50), 200, "never goes back");
        assert_eq!(
            pins.pin(199),
            Err(Error::SnapshotTooOld {
                ts: 199,
                safe_point: 200
            })
        );
        assert!(pins.pin(200).is_ok());
    }
}
