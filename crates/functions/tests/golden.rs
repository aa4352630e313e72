//! Expressions as MySQL 8.0.33 answered them: value or error, type, warnings.
//!
//! `tests/data/*.tsv` hold one expression a line with MySQL's answer; a line that begins with `!` sets
//! `sql_mode` or `time_zone` for those below it. The expressions are parsed and bound by the planner. Each is
//! evaluated three ways, which must agree: over a row of values, over a batch of one row, and over a batch
//! long enough for the columnar kernels.
//!
//! `tests/data/differences.txt` lists, with reasons, the answers that are meant to differ.

mod common;

use std::fmt::Write as _;

use arrow::record_batch::RecordBatch;
use common::{batch, bind_text, context, row};
use functions::{EvalContext, TimeZone};
use types::{Result, SqlMode, SqlType, TypeKind, Value};

/// One way of evaluating an expression.
type Way<'a> = Box<dyn Fn(&EvalContext) -> Result<Value> + 'a>;

/// An answer as the files hold it.
#[derive(Debug, Clone, PartialEq)]
struct Answer {
    value: String,
    ty: String,
    warnings: String,
}

fn escape(text: &[u8]) -> String {
    match std::str::from_utf8(text) {
        Ok(text) => text
            .replace('\\', "\\\\")
            .replace('\t', "\\t")
            .replace('\n', "\\n")
            .replace('\r', "\\r")
            .replace('\0', "\\0"),
        Err(_) => text.iter().fold("0x".to_owned(), |mut out, b| {
            let _ = write!(out, "{b:02x}");
            out
        }),
    }
}

/// Kind, decimals and sign as the protocol names them; lengths and nullability are left out.
fn type_text(ty: &SqlType) -> String {
    use TypeKind::*;
    let name = match ty.kind {
        Null => "NULL",
        TinyInt => "TINY",
        SmallInt => "SHORT",
        MediumInt => "INT24",
        Int => "LONG",
        BigInt => "LONGLONG",
        Year => "YEAR",
        Decimal => "NEWDECIMAL",
        Float => "FLOAT",
        Double => "DOUBLE",
        Date => "DATE",
        DateTime => "DATETIME",
        Timestamp => "TIMESTAMP",
        Time => "TIME",
        Json => "JSON",
        Enum(_) | Set(_) => "STRING",
        Bit => "BIT",
        Char | VarChar | TinyText | Text | MediumText | LongText => "text",
    };
    let decimals = match ty.kind {
        Decimal | DateTime | Timestamp | Time | Float | Double => ty.decimals.to_string(),
        _ => String::new(),
    };
    let unsigned = if ty.is_integer() && ty.unsigned { " u" } else { "" };
    let binary = if ty.is_string() && ty.is_binary() {
        " b"
    } else {
        ""
    };
    format!("{name}({decimals}){unsigned}{binary}")
}

/// The part of a recorded type that [`type_text`] makes.
fn recorded_type(text: &str) -> String {
    let Some((name, rest)) = text.split_once('(') else {
        return String::new();
    };
    let (sizes, flags) = rest.split_once(')').unwrap_or((rest, ""));
    let decimals = sizes.split(',').nth(1).unwrap_or_default();
    let string = matches!(
        name,
        "VAR_STRING" | "STRING" | "VARCHAR" | "CHAR" | "BLOB" | "TINY_BLOB" | "MEDIUM_BLOB" | "LONG_BLOB"
    );
    let is = |flag: &str| flags.split(' ').any(|f| f == flag);
    let decimals = match name {
        "NEWDECIMAL" | "DATETIME" | "TIMESTAMP" | "TIME" | "FLOAT" | "DOUBLE" => decimals,
        _ => "",
    };
    let shown = if string { "text" } else { name };
    let unsigned = if is("u") && !string && !matches!(name, "DATE" | "DATETIME") {
        " u"
    } else {
        ""
    };
    let binary = if string && is("b") { " b" } else { "" };
    format!("{shown}({decimals}){unsigned}{binary}")
}

fn error_text(error: &types::Error) -> String {
    format!("ERROR {}: {}", error.code, error.message)
}

/// In the character set that the expression says its text has; the client asked for utf8mb4.
fn value_text(value: &Value, ty: &SqlType) -> String {
    match value.to_text(ty) {
        None => "\\N".into(),
        Some(text) => escape(&text),
    }
}

fn run(
    text: &str,
    sql_mode: SqlMode,
    time_zone: TimeZone,
    row: &[Value],
    batches: &[RecordBatch],
) -> Vec<Answer> {
    let failed = |error: &types::Error| Answer {
        value: error_text(error),
        ty: String::new(),
        warnings: String::new(),
    };
    let expr = match bind_text(text, sql_mode, time_zone) {
        Ok(expr) => expr,
        Err(error) => return vec![failed(&error)],
    };
    let ty = expr.ty();
    let ways: Vec<Way<'_>> = vec![
        Box::new(|ctx| functions::eval_row(&expr, row, ctx)),
        Box::new(|ctx| {
            Ok(types::array::value_at(
                &functions::eval_array(&expr, &batches[0], ctx)?,
                0,
                &ty,
            ))
        }),
        Box::new(|ctx| {
            let array = functions::eval_array(&expr, &batches[1], ctx)?;
            let last = array.len() - 1;
            Ok(types::array::value_at(&array, last, &ty))
        }),
    ];
    ways.iter()
        .map(|way| {
            let ctx = context(sql_mode, time_zone);
            match way(&ctx) {
                Err(error) => failed(&error),
                Ok(value) => {
                    let mut shown = Vec::new();
                    for warning in ctx.warnings.take().0 {
                        let line = format!("{} {}: {}", warning.level.name(), warning.code, warning.message);
                        // A long batch warns for each row; once is enough to compare.
                        if !shown.contains(&line) {
                            shown.push(line);
                        }
                    }
                    Answer {
                        value: value_text(&value, &ty),
                        ty: type_text(&ty),
                        warnings: shown.join(" | "),
                    }
                }
            }
        })
        .collect()
}

/// Errors name columns in full, which expressions outside a statement cannot.
fn without_labels(text: &str) -> String {
    let mut out = text.to_owned();
    while let Some(start) = out.find("`shop`.`t`.`") {
        let end = out[start + 12..].find('`').map_or(out.len(), |e| start + 13 + e);
        out.replace_range(start..end, "`column`");
    }
    while let Some(start) = out.find("`column ") {
        let end = out[start + 1..].find('`').map_or(out.len(), |e| start + 2 + e);
        out.replace_range(start..end, "`column`");
    }
    out
}

fn check(name: &str, data: &str) {
    let differences = include_str!("data/differences.txt");
    let known: Vec<&str> = differences
        .lines()
        .filter(|l| !l.starts_with('#') && !l.is_empty())
        .collect();
    let row = row();
    let batches = [batch(&row, 1), batch(&row, 50)];
    let (mut sql_mode, mut time_zone) = (SqlMode::default(), TimeZone::UTC);
    let mut wrong = String::new();
    let mut count = 0;
    for line in data.lines().filter(|l| !l.is_empty()) {
        if let Some(setting) = line.strip_prefix('!') {
            match setting {
                "set sql_mode=''" => {
                    sql_mode = SqlMode {
                        strict: false,
                        no_zero_date: false,
                        no_zero_in_date: false,
                        error_for_division_by_zero: false,
                        ..SqlMode::default()
                    };
                }
                _ if setting.starts_with("set sql_mode=") => sql_mode = SqlMode::default(),
                "set time_zone='+03:00'" => time_zone = TimeZone::Offset(10_800),
                _ if setting.starts_with("set time_zone=") => time_zone = TimeZone::UTC,
                _ => {}
            }
            continue;
        }
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        let (text, value, ty, warnings) = (next(), next(), next(), next());
        if known.contains(&text) {
            continue;
        }
        count += 1;
        let expected = Answer {
            value: without_labels(value),
            ty: recorded_type(ty),
            warnings: without_labels(warnings),
        };
        for (way, mut got) in ["row", "batch of one", "long batch"]
            .iter()
            .zip(run(text, sql_mode, time_zone, &row, &batches))
        {
            got.value = without_labels(&got.value);
            got.warnings = without_labels(&got.warnings);
            // A sequence goes on with every row.
            let goes_on = text.starts_with("rand(") && *way == "long batch";
            if got != expected && !goes_on {
                let _ = writeln!(
                    wrong,
                    "{text}   ({way})\n    MySQL: {} [{}] {}\n    ours:  {} [{}] {}",
                    expected.value, expected.ty, expected.warnings, got.value, got.ty, got.warnings
                );
                break;
            }
        }
    }
    assert!(count > 0, "{name}: no expressions");
    assert!(
        wrong.is_empty(),
        "{name}: of {count} expressions, these differ:\n{wrong}"
    );
}

macro_rules! golden {
    ($($name:ident),*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name), include_str!(concat!("data/", stringify!($name), ".tsv")));
            }
        )*
    };
}

golden!(
    operators,
    comparison,
    casts,
    temporal_text,
    json,
    patterns,
    strings,
    numbers,
    dates,
    miscellaneous,
    xml
);
