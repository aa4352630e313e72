//! RAND: MySQL's own generator, so that `RAND(seed)` gives MySQL's numbers.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use types::{Result, SqlType, Value};

use crate::Expr;
use crate::bind::Binding;
use crate::datum::Datum;
use crate::eval::Call;
use crate::registry::{Family, FunctionDef, Nullability, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[function("rand", 0, 1, resolve, rand)
    .sees_null()
    .nullability(Nullability::Never)
    .volatile()];

/// Both halves of the generator's state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sequence {
    first: u64,
    second: u64,
}

const MAX: u64 = 0x3fff_ffff;

impl Sequence {
    fn new(first: u64, second: u64) -> Self {
        Self {
            first: first % MAX,
            second: second % MAX,
        }
    }

    /// As `RAND(seed)` begins. MySQL computes the halves in 32 bits.
    pub fn seeded(seed: u32) -> Self {
        Self::new(
            u64::from(seed.wrapping_mul(0x10001).wrapping_add(55_555_555)),
            u64::from(seed.wrapping_mul(0x1000_0001)),
        )
    }

    fn next(&mut self) -> f64 {
        self.first = (self.first * 3 + self.second) % MAX;
        self.second = (self.first + self.second + 33) % MAX;
        self.first as f64 / MAX as f64
    }
}

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    if !binding.args.is_empty() {
        binding.integer(0);
    }
    Ok(SqlType::COMPUTED_DOUBLE)
}

fn rand(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(seed) = args.first() else {
        return Ok(Value::Double(unseeded()));
    };
    let seed = match seed {
        Datum::Int(v) => *v as u32,
        Datum::UInt(v) => *v as u32,
        _ => 0,
    };
    if !call.args.first().is_some_and(Expr::is_constant) {
        // A seed that varies starts anew in each row.
        return Ok(Value::Double(Sequence::seeded(seed).next()));
    }
    let key = call.args.as_ptr() as usize;
    let mut sequences = call.ctx.state.random.lock().unwrap_or_else(|e| e.into_inner());
    let sequence = sequences.entry(key).or_insert_with(|| Sequence::seeded(seed));
    Ok(Value::Double(sequence.next()))
}

/// A number that nobody asked to see again.
pub(crate) fn unseeded() -> f64 {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static SEQUENCE: RefCell<Option<Sequence>> = const { RefCell::new(None) };
    }
    SEQUENCE.with_borrow_mut(|sequence| {
        sequence
            .get_or_insert_with(|| {
                let entropy = entropy() ^ STARTED.fetch_add(0x9e37_79b9, Ordering::Relaxed);
                Sequence::new(entropy >> 32, entropy & 0xffff_ffff)
            })
            .next()
    })
}

/// 64 bits that differ between processes and calls.
pub(crate) fn entropy() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u64(0);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 8.0.33 answers `RAND(3)` for three rows, and `RAND(1)`.
    #[test]
    fn seeded_sequences_are_mysqls() {
        let mut three = Sequence::seeded(3);
        let got: Vec<f64> = (0..3).map(|_| three.next()).collect();
        assert_eq!(
            got,
            [0.9057697559760601, 0.37307905813034536, 0.14808605345719125]
        );
        assert_eq!(Sequence::seeded(1).next(), 0.40540353712197724);
    }
}
