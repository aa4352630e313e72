//! Assignments as MySQL 8.0.33 made them, strict and not.

use types::{Collation, SqlMode, SqlType, TypeKind, Value};

use super::*;
use crate::EvalContext;

fn int(kind: TypeKind, unsigned: bool) -> SqlType {
    SqlType {
        kind,
        unsigned,
        ..SqlType::BIGINT
    }
}

fn column(name: &str) -> SqlType {
    let text = SqlType::varchar(3, Collation::DEFAULT);
    match name {
        "ti" => int(TypeKind::TinyInt, false),
        "tu" => int(TypeKind::TinyInt, true),
        "i" => int(TypeKind::Int, false),
        "b" => int(TypeKind::BigInt, false),
        "bu" => int(TypeKind::BigInt, true),
        "d" => SqlType::decimal(5, 2),
        "f" => SqlType::FLOAT,
        "f2" => SqlType {
            length: 5,
            decimals: 2,
            ..SqlType::FLOAT
        },
        "db" => SqlType::DOUBLE,
        "c" => SqlType {
            kind: TypeKind::Char,
            ..text
        },
        "v" => text,
        "vb" => SqlType::varchar(3, Collation::Binary),
        "bn" => SqlType {
            kind: TypeKind::Char,
            ..SqlType::varchar(3, Collation::Binary)
        },
        "l" => SqlType::varchar(3, Collation::Latin1SwedishCi),
        "da" => SqlType::DATE,
        "dt" => SqlType::datetime(0),
        "dt3" => SqlType::datetime(3),
        "ts" => SqlType::timestamp(0),
        "tm" => SqlType::time(0),
        "y" => SqlType::YEAR,
        _ => SqlType::JSON,
    }
}

/// A literal: quoted text, or a number with a point (DECIMAL), an `e` (DOUBLE) or neither.
fn literal(text: &str) -> (Value, SqlType) {
    if let Some(inner) = text.strip_prefix('\'') {
        let inner = inner.strip_suffix('\'').unwrap();
        return (
            Value::from(inner),
            crate::bind::literal_type(inner.len(), Collation::DEFAULT),
        );
    }
    if text.contains('e') {
        return (Value::Double(text.parse().unwrap()), SqlType::DOUBLE);
    }
    if text.contains('.') {
        let d = types::Decimal::parse(text).unwrap();
        return (Value::Decimal(d), SqlType::decimal(20, d.scale));
    }
    (Value::Int(text.parse().unwrap()), SqlType::BIGINT)
}

/// The value stored, then the warnings; or the error.
fn assign(name: &str, text: &str, strict: bool) -> String {
    let ctx = EvalContext {
        sql_mode: if strict {
            SqlMode::default()
        } else {
            SqlMode {
                strict: false,
                no_zero_date: false,
                no_zero_in_date: false,
                ..SqlMode::default()
            }
        },
        strictness: if strict {
            Strictness::Error
        } else {
            Strictness::Warn
        },
        ..EvalContext::default()
    };
    let (value, from) = literal(text);
    let to = column(name);
    let result = match super::value(value, &from, &to, name, 1, &ctx) {
        Ok(value) => value.display_text(&to),
        Err(e) => return format!("{} {}", e.code, e.message),
    };
    let (warnings, _) = ctx.warnings.take();
    warnings.iter().fold(result, |text, w| {
        format!("{text} | {} {} {}", w.level.name(), w.code, w.message)
    })
}

#[test]
fn strict() {
    for (name, text, expected) in [
        ("ti", "200", "1264 Out of range value for column 'ti' at row 1"),
        ("ti", "'300'", "1264 Out of range value for column 'ti' at row 1"),
        ("tu", "-1", "1264 Out of range value for column 'tu' at row 1"),
        (
            "ti",
            "'abc'",
            "1366 Incorrect integer value: 'abc' for column 'ti' at row 1",
        ),
        ("ti", "'12abc'", "1265 Data truncated for column 'ti' at row 1"),
        (
            "ti",
            "'300abc'",
            "1264 Out of range value for column 'ti' at row 1",
        ),
        (
            "ti",
            "''",
            "1366 Incorrect integer value: '' for column 'ti' at row 1",
        ),
        ("ti", "1.5", "2"),
        ("ti", "'1e1'", "10"),
        ("ti", "127.5", "1264 Out of range value for column 'ti' at row 1"),
        ("ti", "2.5e0", "2"),
        ("ti", "3.5e0", "4"),
        ("tu", "-0.4", "1264 Out of range value for column 'tu' at row 1"),
        ("tu", "-0.4e0", "0"),
        ("tu", "'-0.4'", "0"),
        ("b", "1e30", "1264 Out of range value for column 'b' at row 1"),
        ("bu", "-1.5", "1264 Out of range value for column 'bu' at row 1"),
        (
            "bu",
            "'18446744073709551616'",
            "1264 Out of range value for column 'bu' at row 1",
        ),
        ("d", "1234.5", "1264 Out of range value for column 'd' at row 1"),
        (
            "d",
            "1.555",
            "1.56 | Note 1265 Data truncated for column 'd' at row 1",
        ),
        (
            "d",
            "'abc'",
            "1366 Incorrect decimal value: 'abc' for column 'd' at row 1",
        ),
        (
            "d",
            "'1.5x'",
            "1366 Incorrect decimal value: '1.5x' for column 'd' at row 1",
        ),
        ("d", "'1e2'", "100.00"),
        ("f", "1e40", "1264 Out of range value for column 'f' at row 1"),
        ("f", "'abc'", "1265 Data truncated for column 'f' at row 1"),
        ("f2", "1234.5", "1264 Out of range value for column 'f2' at row 1"),
        ("f2", "1.239", "1.24"),
        (
            "db",
            "'1e400'",
            "1264 Out of range value for column 'db' at row 1",
        ),
        ("db", "''", "1265 Data truncated for column 'db' at row 1"),
        ("c", "'abcd'", "1406 Data too long for column 'c' at row 1"),
        ("c", "'abc   '", "abc"),
        ("c", "'a  '", "a"),
        ("v", "'abcd'", "1406 Data too long for column 'v' at row 1"),
        (
            "v",
            "'abc  '",
            "abc | Note 1265 Data truncated for column 'v' at row 1",
        ),
        ("vb", "'abc '", "1406 Data too long for column 'vb' at row 1"),
        ("bn", "'a'", "a\\x00\\x00"),
        ("v", "12345", "1406 Data too long for column 'v' at row 1"),
        (
            "l",
            "'Ł'",
            "1366 Incorrect string value: '\\xC5\\x81' for column 'l' at row 1",
        ),
        ("l", "'é'", "é"),
        (
            "da",
            "'2024-02-30'",
            "1292 Incorrect date value: '2024-02-30' for column 'da' at row 1",
        ),
        (
            "da",
            "''",
            "1292 Incorrect date value: '' for column 'da' at row 1",
        ),
        (
            "da",
            "'2024-01-01 10:11:12'",
            "2024-01-01 | Note 1292 Incorrect date value: '2024-01-01 10:11:12' for column 'da' at row 1",
        ),
        (
            "da",
            "'2024-01-01x'",
            "1292 Incorrect date value: '2024-01-01x' for column 'da' at row 1",
        ),
        ("da", "20240101", "2024-01-01"),
        (
            "da",
            "20240199",
            "1292 Incorrect date value: '20240199' for column 'da' at row 1",
        ),
        (
            "da",
            "'0000-00-00'",
            "1292 Incorrect date value: '0000-00-00' for column 'da' at row 1",
        ),
        (
            "da",
            "1.5",
            "1292 Incorrect date value: '1.5' for column 'da' at row 1",
        ),
        ("dt", "'2024-01-01 10:11:12.6'", "2024-01-01 10:11:13"),
        ("dt3", "'2024-01-01 10:11:12.6789'", "2024-01-01 10:11:12.679"),
        (
            "ts",
            "'1970-01-01 00:00:00'",
            "1292 Incorrect datetime value: '1970-01-01 00:00:00' for column 'ts' at row 1",
        ),
        ("ts", "'1970-01-01 00:00:01'", "1970-01-01 00:00:01"),
        ("ts", "'2038-01-19 03:14:07'", "2038-01-19 03:14:07"),
        (
            "ts",
            "'2038-01-19 03:14:08'",
            "1292 Incorrect datetime value: '2038-01-19 03:14:08' for column 'ts' at row 1",
        ),
        (
            "tm",
            "'abc'",
            "1292 Incorrect time value: 'abc' for column 'tm' at row 1",
        ),
        (
            "tm",
            "'900:00:00'",
            "1292 Incorrect time value: '900:00:00' for column 'tm' at row 1",
        ),
        ("tm", "'10:11:12.6'", "10:11:13"),
        ("tm", "101112", "10:11:12"),
        (
            "tm",
            "'2024-01-01 10:11:12'",
            "10:11:12 | Note 1292 Incorrect time value: '2024-01-01 10:11:12' for column 'tm' at row 1",
        ),
        ("y", "24", "2024"),
        ("y", "'0'", "2000"),
        ("y", "0", "0000"),
        ("y", "1900", "1264 Out of range value for column 'y' at row 1"),
        ("y", "'2024x'", "1265 Data truncated for column 'y' at row 1"),
        ("js", "'[1,2.0]'", "[1, 2.0]"),
        (
            "js",
            "'{\"a\":1'",
            "3140 Invalid JSON text: \"Missing a comma or '}' after an object member.\" at position 6 in value for column 'js'.",
        ),
        (
            "js",
            "1",
            "3140 Invalid JSON text: \"not a JSON text, may need CAST\" at position 0 in value for column 'js'.",
        ),
    ] {
        assert_eq!(assign(name, text, true), expected, "{name} = {text}");
    }
}

#[test]
fn not_strict() {
    for (name, text, expected) in [
        (
            "ti",
            "200",
            "127 | Warning 1264 Out of range value for column 'ti' at row 1",
        ),
        (
            "ti",
            "'abc'",
            "0 | Warning 1366 Incorrect integer value: 'abc' for column 'ti' at row 1",
        ),
        (
            "ti",
            "'12abc'",
            "12 | Warning 1265 Data truncated for column 'ti' at row 1",
        ),
        (
            "b",
            "1e30",
            "9223372036854775807 | Warning 1264 Out of range value for column 'b' at row 1",
        ),
        (
            "bu",
            "-1.5",
            "0 | Warning 1264 Out of range value for column 'bu' at row 1",
        ),
        (
            "d",
            "1234.5",
            "999.99 | Warning 1264 Out of range value for column 'd' at row 1",
        ),
        (
            "d",
            "'1.5x'",
            "1.50 | Note 1265 Data truncated for column 'd' at row 1",
        ),
        (
            "f",
            "1e40",
            "3.40282e38 | Warning 1264 Out of range value for column 'f' at row 1",
        ),
        (
            "f2",
            "1234.5",
            "999.99 | Warning 1264 Out of range value for column 'f2' at row 1",
        ),
        (
            "v",
            "'abcd'",
            "abc | Warning 1265 Data truncated for column 'v' at row 1",
        ),
        (
            "l",
            "'Ł'",
            "? | Warning 1366 Incorrect string value: '\\xC5\\x81' for column 'l' at row 1",
        ),
        (
            "da",
            "'2024-02-30'",
            "0000-00-00 | Warning 1264 Out of range value for column 'da' at row 1",
        ),
        (
            "da",
            "'abc'",
            "0000-00-00 | Warning 1265 Data truncated for column 'da' at row 1",
        ),
        (
            "da",
            "'2024-01-01x'",
            "2024-01-01 | Warning 1265 Data truncated for column 'da' at row 1",
        ),
        ("da", "'0000-00-00'", "0000-00-00"),
        ("da", "'2024-00-01'", "2024-00-01"),
        (
            "dt",
            "'2024-01-01 25:00:00'",
            "0000-00-00 00:00:00 | Warning 1265 Data truncated for column 'dt' at row 1",
        ),
        (
            "ts",
            "'1969-01-01'",
            "0000-00-00 00:00:00 | Warning 1264 Out of range value for column 'ts' at row 1",
        ),
        (
            "tm",
            "'900:00:00'",
            "838:59:59 | Warning 1264 Out of range value for column 'tm' at row 1",
        ),
        (
            "tm",
            "'2024-01-01 10:11:12'",
            "10:11:12 | Note 1265 Data truncated for column 'tm' at row 1",
        ),
        (
            "y",
            "'abc'",
            "0000 | Warning 1366 Incorrect integer value: 'abc' for column 'y' at row 1",
        ),
    ] {
        assert_eq!(assign(name, text, false), expected, "{name} = {text}");
    }
}
