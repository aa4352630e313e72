//! The current time: NOW, CURDATE, CURTIME, their UTC forms, and SYSDATE.

use std::time::{SystemTime, UNIX_EPOCH};

use types::temporal::{DateTime, Time};
use types::{Error, Result, SqlType, Value, errno};

use crate::Expr;
use crate::expr::{Binding, Call, FunctionDef, Nullability, ScalarFn};
use crate::registry::{Alias, Family, function};
use crate::timezone::TimeZone;

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[
        Alias {
            name: "current_timestamp",
            of: "now",
        },
        Alias {
            name: "localtime",
            of: "now",
        },
        Alias {
            name: "localtimestamp",
            of: "now",
        },
        Alias {
            name: "current_date",
            of: "curdate",
        },
        Alias {
            name: "current_time",
            of: "curtime",
        },
    ],
};

static FUNCTIONS: &[FunctionDef] = &[
    current("now", 1, |c, _| Ok(point(c, c.ctx.time_zone, c.ctx.now_us))),
    current("utc_timestamp", 1, |c, _| {
        Ok(point(c, TimeZone::UTC, c.ctx.now_us))
    }),
    current("sysdate", 1, |c, _| Ok(point(c, c.ctx.time_zone, clock_us()))).volatile(),
    current("curdate", 0, |c, _| Ok(day(c.ctx.time_zone, c.ctx.now_us))),
    current("utc_date", 0, |c, _| Ok(day(TimeZone::UTC, c.ctx.now_us))),
    current("curtime", 1, |c, _| Ok(time(c, c.ctx.time_zone))),
    current("utc_time", 1, |c, _| Ok(time(c, TimeZone::UTC))),
];

const fn current(name: &'static str, max_args: usize, eval: ScalarFn) -> FunctionDef {
    function(name, 0, max_args, resolve, eval)
        .nullability(Nullability::Never)
        .session()
        .infallible()
}

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    let digits = match binding.args.first() {
        None => 0,
        Some(Expr::Literal { value, .. }) => value.as_u64().unwrap_or(0),
        Some(_) => {
            return Err(Error::not_supported(
                "a precision that is not a literal",
                "write the number of digits, 0 to 6",
            ));
        }
    };
    if digits > 6 {
        return Err(Error::new(
            errno::ER_TOO_BIG_PRECISION,
            format!(
                "Too-big precision {digits} specified for '{}'. Maximum is 6.",
                binding.name
            ),
        ));
    }
    let fsp = digits as u8;
    Ok(match binding.name {
        "curdate" | "utc_date" => SqlType::DATE,
        "curtime" | "utc_time" => SqlType::time(fsp),
        _ => SqlType::datetime(fsp),
    })
}

fn clock_us() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_micros() as i64)
}

fn point(call: &Call<'_>, zone: TimeZone, us: i64) -> Value {
    Value::UInt(zone.from_unix_us(us).truncate(call.ty.decimals).pack())
}

fn day(zone: TimeZone, us: i64) -> Value {
    Value::UInt(zone.from_unix_us(us).date().pack())
}

fn time(call: &Call<'_>, zone: TimeZone) -> Value {
    let now: DateTime = zone.from_unix_us(call.ctx.now_us);
    Value::Int(Time::of_datetime(&now).truncate(call.ty.decimals).0)
}
