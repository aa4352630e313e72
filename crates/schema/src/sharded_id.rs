//! Ids that are distributed over a table, so that new rows are not all at its end: values of AUTO_RANDOM and,
//! with SHARD_ROW_ID_BITS, the hidden ids of rows without a primary key.
//!
//! The layout is the one that TiDB documents, from the top: a sign bit (0; none in BIGINT UNSIGNED), reserved
//! bits (0), the shard, the sequence. The sequence alone makes ids different; it is a counter in the store.
//! The shard is a hash of the transaction's start timestamp, so that the rows of one transaction are
//! neighbours and those of two transactions are not.

use serde::{Deserialize, Serialize};
use types::Error;

/// TiDB's number for everything about AUTO_RANDOM.
pub const ER_INVALID_AUTO_RANDOM: u16 = 8216;

/// `AUTO_RANDOM(shard_bits, range_bits)` of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutoRandom {
    pub shard_bits: u8,
    /// How many bits an id has, with the sign bit.
    pub range_bits: u8,
}

impl AutoRandom {
    pub const SHARD_BITS_DEFAULT: u64 = 5;
    pub const RANGE_BITS_DEFAULT: u64 = 64;
    const RANGE_BITS_MIN: u64 = 32;
    /// With fewer bits the sequence would soon be used up.
    const SEQUENCE_BITS_MIN: u8 = 27;

    /// Checks what a statement says about `column`.
    ///
    /// # Errors
    /// 8216, with TiDB's texts.
    pub fn new(shard_bits: u64, range_bits: u64, unsigned: bool, column: &str) -> Result<Self, Error> {
        if shard_bits == 0 {
            return Err(invalid("the value of auto_random should be positive"));
        }
        if shard_bits > u64::from(SHARD_BITS_MAX) {
            return Err(too_many_shard_bits(SHARD_BITS_MAX, shard_bits, column));
        }
        if !(Self::RANGE_BITS_MIN..=Self::RANGE_BITS_DEFAULT).contains(&range_bits) {
            return Err(invalid(format!(
                "auto_random range bits must be between {} and {}, but got {range_bits}",
                Self::RANGE_BITS_MIN,
                Self::RANGE_BITS_DEFAULT
            )));
        }
        let made = Self {
            shard_bits: shard_bits as u8,
            range_bits: range_bits as u8,
        };
        if made.layout(unsigned).sequence_bits < Self::SEQUENCE_BITS_MIN {
            return Err(invalid(
                "auto_random ID space is too small, please decrease the shard bits or increase the range bits",
            ));
        }
        Ok(made)
    }

    pub fn layout(self, unsigned: bool) -> IdLayout {
        let shard_bits = self.shard_bits.min(SHARD_BITS_MAX);
        IdLayout {
            shard_bits,
            sequence_bits: self
                .range_bits
                .saturating_sub(u8::from(!unsigned))
                .saturating_sub(shard_bits),
        }
    }
}

/// The most shards there can be, in bits.
pub const SHARD_BITS_MAX: u8 = 15;

/// Hidden row ids are signed.
const ROW_ID_BITS: u8 = 63;

/// How an id is composed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdLayout {
    pub shard_bits: u8,
    sequence_bits: u8,
}

impl IdLayout {
    /// Of hidden row ids, with SHARD_ROW_ID_BITS = `shard_bits`.
    pub fn of_row_ids(shard_bits: u8) -> Self {
        let shard_bits = shard_bits.min(SHARD_BITS_MAX);
        Self {
            shard_bits,
            sequence_bits: ROW_ID_BITS - shard_bits,
        }
    }

    /// The largest sequence number.
    pub fn last(self) -> u64 {
        ones(self.sequence_bits)
    }

    /// The id of a sequence number, which is at most [`Self::last`], in a transaction that began at
    /// `start_ts`.
    pub fn id(self, start_ts: u64, sequence: u64) -> u64 {
        let shard = mixed(start_ts) & ones(self.shard_bits);
        self.at_shard(shard) | sequence
    }

    /// The sequence number in an id.
    pub fn sequence_of(self, id: u64) -> u64 {
        id & self.last()
    }

    /// The first ids of the parts, except for the first part, if all ids are divided into 2^`bits` parts of
    /// equal size.
    pub fn boundaries(self, bits: u8) -> impl Iterator<Item = u64> {
        let bits = bits.min(self.shard_bits);
        let step = 1u64 << (self.shard_bits - bits);
        (1..1u64 << bits).map(move |part| self.at_shard(part * step))
    }

    fn at_shard(self, shard: u64) -> u64 {
        shard.checked_shl(u32::from(self.sequence_bits)).unwrap_or(0)
    }
}

fn ones(bits: u8) -> u64 {
    u64::MAX.checked_shr(64 - u32::from(bits.min(64))).unwrap_or(0)
}

/// Makes independent numbers of consecutive timestamps (splitmix64's finalizer).
fn mixed(ts: u64) -> u64 {
    let mut z = ts.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// `SHARD_ROW_ID_BITS = n`, reduced to the maximum as TiDB does.
pub fn limited_shard_bits(written: u64) -> u8 {
    u8::try_from(written).unwrap_or(u8::MAX).min(SHARD_BITS_MAX)
}

/// Error 8216.
pub fn invalid(message: impl std::fmt::Display) -> Error {
    Error::new(ER_INVALID_AUTO_RANDOM, format!("Invalid auto random: {message}"))
}

pub fn too_many_shard_bits(most: u8, given: u64, column: &str) -> Error {
    invalid(format!(
        "max allowed auto_random shard bits is {most}, but got {given} on column `{column}`"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn layout(shard_bits: u64, range_bits: u64, unsigned: bool) -> IdLayout {
        AutoRandom::new(shard_bits, range_bits, unsigned, "id")
            .unwrap()
            .layout(unsigned)
    }

    /// The figures of TiDB's documentation: AUTO_RANDOM(5) has 288230376151711743 ids, AUTO_RANDOM(5, 54)
    /// none above 2^53-1.
    #[test]
    fn the_layout_is_tidbs() {
        assert_eq!(layout(5, 64, false).last(), 288_230_376_151_711_743);
        assert_eq!(layout(5, 64, true).last(), (1 << 59) - 1);
        let largest = |layout: IdLayout| (0..1000).map(|ts| layout.id(ts, layout.last())).max();
        assert_eq!(largest(layout(5, 54, false)), Some((1 << 53) - 1));
        assert_eq!(largest(layout(5, 53, true)), Some((1 << 53) - 1));
        assert_eq!(largest(layout(5, 64, false)), Some(i64::MAX as u64));
        assert_eq!(largest(layout(5, 64, true)), Some(u64::MAX));
        assert_eq!(IdLayout::of_row_ids(4).last(), (1 << 59) - 1);
        assert_eq!(IdLayout::of_row_ids(0).id(77, 5), 5);
    }

    #[test]
    fn transactions_spread_over_all_shards_and_one_stays_in_its_own() {
        let layout = layout(5, 64, false);
        // As timestamps come: some milliseconds apart, 18 bits of counting below.
        let shards: HashSet<u64> = (0..1000u64).map(|ms| layout.id(ms << 18, 0) >> 58).collect();
        assert_eq!(shards.len(), 32);
        let ids: Vec<u64> = (1..=3).map(|sequence| layout.id(99 << 18, sequence)).collect();
        assert_eq!([ids[0] + 1, ids[0] + 2], [ids[1], ids[2]]);
        let sequences: Vec<u64> = ids.iter().map(|id| layout.sequence_of(*id)).collect();
        assert_eq!(sequences, [1, 2, 3]);
    }

    #[test]
    fn parts_are_of_equal_size() {
        let row_ids = IdLayout::of_row_ids(4);
        let cut: Vec<u64> = row_ids.boundaries(2).collect();
        assert_eq!(cut, [1 << 61, 2 << 61, 3 << 61]);
        assert_eq!(row_ids.boundaries(0).count(), 0);
        assert_eq!(row_ids.boundaries(9).count(), 15, "no more parts than shards");
    }

    #[test]
    fn bits_have_limits() {
        for (shard_bits, range_bits, said) in [
            (0, 64, "should be positive"),
            (
                16,
                64,
                "max allowed auto_random shard bits is 15, but got 16 on column `id`",
            ),
            (5, 31, "must be between 32 and 64, but got 31"),
            (5, 65, "must be between 32 and 64, but got 65"),
            (6, 32, "too small"),
        ] {
            let error = AutoRandom::new(shard_bits, range_bits, false, "id").unwrap_err();
            assert_eq!(error.code, ER_INVALID_AUTO_RANDOM);
            assert!(error.message.contains(said), "{}", error.message);
        }
        assert!(AutoRandom::new(15, 64, false, "id").is_ok());
        assert!(AutoRandom::new(5, 32, true, "id").is_ok());
    }
}
