//! FORMAT_BYTES and FORMAT_PICO_TIME: sizes and times in readable units.
//!
//! Source: manual 12.22 "Performance Schema Functions".

use types::{Collation, Result, SqlType, Value};

use crate::datum::{Datum, to_double};
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("format_bytes", 1, 1, resolve, format_bytes).nullability(Nullability::Always),
    function("format_pico_time", 1, 1, resolve, format_pico_time).nullability(Nullability::Always),
];

/// Units, the largest first.
const BYTES: &[(f64, &str)] = &[
    (1_152_921_504_606_846_976.0, "EiB"),
    (1_125_899_906_842_624.0, "PiB"),
    (1_099_511_627_776.0, "TiB"),
    (1_073_741_824.0, "GiB"),
    (1_048_576.0, "MiB"),
    (1024.0, "KiB"),
];

const TIMES: &[(f64, &str)] = &[
    (86_400e12, "d"),
    (3_600e12, "h"),
    (60e12, "min"),
    (1e12, "s"),
    (1e9, "ms"),
    (1e6, "us"),
    (1e3, "ns"),
];

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.double(0);
    Ok(SqlType::varchar(11, Collation::Utf8mb3GeneralCi))
}

fn format_bytes(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let amount = args.first().map_or(0.0, to_double);
    Ok(Value::String(match in_unit(amount, BYTES) {
        Some(text) => text,
        None => format!("{:4} bytes", amount as i64),
    }))
}

fn format_pico_time(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let amount = args.first().map_or(0.0, to_double);
    Ok(Value::String(match in_unit(amount, TIMES) {
        Some(text) => text,
        None => format!("{:3} ps", amount as i64),
    }))
}

/// The amount in the largest unit of which it is at least one.
fn in_unit(amount: f64, units: &[(f64, &str)]) -> Option<String> {
    let (size, unit) = units.iter().find(|(size, _)| amount.abs() >= *size)?;
    let count = amount / size;
    if count.abs() < 100_000.0 {
        return Some(format!("{count:4.2} {unit}"));
    }
    // As C writes an exponent: with a sign and at least two digits.
    let text = format!("{count:.2e}");
    let (digits, exponent) = text.split_once('e')?;
    Some(format!("{digits}e+{exponent:0>2} {unit}"))
}
