//! GET_LOCK() and the other functions of user-level locks.

use std::time::Duration;

use types::{Error, Result, SqlType, Value, errno};

use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};

/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 64;

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("get_lock", 2, 2, resolve_get_lock, get_lock)
        .sees_null()
        .nullability(Nullability::Always)
        .effects(),
    of_name("release_lock", resolve_truth, release_lock).effects(),
    of_name("is_free_lock", resolve_truth, is_free_lock),
    of_name("is_used_lock", resolve_connection, is_used_lock),
    function("release_all_locks", 0, 0, |_| Ok(count()), release_all_locks)
        .nullability(Nullability::Never)
        .effects(),
];

const fn of_name(
    name: &'static str,
    resolve: crate::expr::ResolveFn,
    eval: crate::expr::ScalarFn,
) -> FunctionDef {
    function(name, 1, 1, resolve, eval)
        .sees_null()
        .nullability(Nullability::Always)
        .volatile()
}

fn integer(length: u32) -> SqlType {
    SqlType {
        length,
        ..SqlType::BIGINT
    }
}

fn count() -> SqlType {
    SqlType {
        length: 21,
        ..SqlType::BIGINT_UNSIGNED
    }
}

fn resolve_get_lock(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    binding.integer(1);
    Ok(integer(1))
}

fn resolve_truth(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(integer(1))
}

fn resolve_connection(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(count())
}

/// A lock's name as locks are compared: without regard to case.
fn name_of(args: &[Datum<'_>]) -> Result<String> {
    let wrong = |name: &str| {
        Error::new(
            errno::ER_USER_LOCK_WRONG_NAME,
            format!("Incorrect user-level lock name '{name}'."),
        )
    };
    let name = match args.first() {
        None | Some(Datum::Null) => return Err(wrong("NULL")),
        Some(Datum::String(name)) => (*name).to_owned(),
        Some(Datum::Bytes(name)) => String::from_utf8_lossy(name).into_owned(),
        Some(_) => return Err(Error::internal("the name of a user-level lock is not text")),
    };
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
        return Err(wrong(&name));
    }
    Ok(name.to_lowercase())
}

/// Returns 1, or 0 after the time-out. A negative time-out means no limit.
fn get_lock(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let name = name_of(args)?;
    let seconds = args.get(1).filter(|d| !d.is_null()).map_or(0, Datum::int);
    let longest = u64::from(i32::MAX.unsigned_abs());
    let timeout = Duration::from_secs(u64::try_from(seconds).map_or(longest, |s| s.min(longest)));
    let got = call
        .ctx
        .user_locks
        .acquire(&name, timeout, &|| call.ctx.check_interrupted())?;
    Ok(answer(Some(got)))
}

fn answer(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, |truth| Value::Int(i64::from(truth)))
}

fn release_lock(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(answer(call.ctx.user_locks.release(&name_of(args)?)?))
}

fn is_free_lock(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let owner = call.ctx.user_locks.owner(&name_of(args)?)?;
    Ok(Value::Int(i64::from(owner.is_none())))
}

fn is_used_lock(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let owner = call.ctx.user_locks.owner(&name_of(args)?)?;
    Ok(owner.map_or(Value::Null, Value::UInt))
}

fn release_all_locks(call: &Call<'_>, _: &[Datum<'_>]) -> Result<Value> {
    Ok(Value::UInt(call.ctx.user_locks.release_all()))
}
