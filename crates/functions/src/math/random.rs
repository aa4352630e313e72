//! RAND, with MySQL's generator, so that `RAND(seed)` gives the same numbers as MySQL.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use types::{Result, SqlType, Value};

use super::sequence::Sequence;
use crate::Expr;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[function("rand", 0, 1, resolve, rand)
    .sees_null()
    .nullability(Nullability::AnyArgument)
    .volatile()];

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
        // A seed that is not constant starts a new sequence in each row.
        return Ok(Value::Double(Sequence::seeded(seed).next()));
    }
    let key = call.args.as_ptr() as usize;
    let mut sequences = call.ctx.state.random.lock().unwrap_or_else(|e| e.into_inner());
    let sequence = sequences.entry(key).or_insert_with(|| Sequence::seeded(seed));
    Ok(Value::Double(sequence.next()))
}

/// A number of a sequence without a given seed.
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
