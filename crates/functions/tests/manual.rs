//! `docs/functions.md`: which functions and operators of MySQL's manual there are.
//!
//! `tests/data/manual.txt` lists all of them with an example each. What can be bound works; what is refused
//! with error 1235 does not. `UPDATE_GOLDEN=1` writes the document again.

#![allow(clippy::unwrap_used)]

mod common;

use std::fmt::Write as _;

use common::bind_text;
use functions::aggregate;
use functions::bind::TypeEnv;
use functions::{Expr, TimeZone};
use types::{SqlMode, SqlType, Value, errno};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/functions.md");

const INTRODUCTION: &str = "# Functions and operators

All functions and operators of chapter 12 of MySQL 8.0's manual, by its sections, and whether StemDB has them.
Those that work return MySQL 8.0.33's values, types, errors and warnings. The [golden
tests](../crates/functions/tests/golden.rs) and the [SQL corpus](../tests/sql/README.md) compare them with answers of
MySQL; [differences.txt](../crates/functions/tests/data/differences.txt) lists the intended differences. All others
are refused with error 1235.

A test writes this file from [a list](../crates/functions/tests/data/manual.txt): `UPDATE_GOLDEN=1 cargo test -p
stemdb-functions --test manual`.
";

#[test]
fn the_document_says_what_there_is() {
    let mut wanted = INTRODUCTION.to_owned();
    for line in include_str!("data/manual.txt").lines() {
        if let Some(section) = line.strip_prefix("## ") {
            let _ = write!(wanted, "\n## {section}\n\n| name | example | |\n|---|---|---|\n");
        } else if let Some((name, example)) = line.split_once('\t') {
            let cell = |text: &str| text.replace('|', "\\|");
            let (example, state) = entry(example);
            let _ = writeln!(wanted, "| {} | {} | {state} |", cell(name), cell(&example));
        }
    }
    let found = std::fs::read_to_string(DOCUMENT).unwrap_or_default();
    if found != wanted && std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(DOCUMENT, wanted).unwrap();
        return;
    }
    assert!(
        found == wanted,
        "docs/functions.md is not what the functions are; UPDATE_GOLDEN=1 writes it"
    );
}

/// An entry's example, and whether it works.
fn entry(text: &str) -> (String, String) {
    if let Some(state) = text.strip_prefix("= ") {
        return (String::new(), state.to_owned());
    }
    let env = TypeEnv::default();
    let column = || Expr::column(0, SqlType::BIGINT, true);
    if let Some(name) = text.strip_prefix("@aggregate ") {
        let args = 1 + usize::from(name == "json_objectagg");
        aggregate::bind(name, vec![column(); args], false, &env).unwrap();
        return (String::new(), "works".into());
    }
    if let Some(name) = text.strip_prefix("@window ") {
        let one = || Expr::literal(Value::Int(1), SqlType::BIGINT);
        let args = match name {
            "ntile" => vec![one()],
            "lead" | "lag" | "nth_value" => vec![column(), one()],
            "first_value" | "last_value" => vec![column()],
            _ => Vec::new(),
        };
        functions::window::bind(name, args, &env).unwrap();
        return (String::new(), "works".into());
    }
    let state = match bind_text(text, SqlMode::default(), TimeZone::UTC) {
        Ok(_) => "works",
        Err(error) => {
            assert_eq!(error.code, errno::ER_NOT_SUPPORTED_YET, "{text}: {error}");
            "no"
        }
    };
    let example = format!("`{text}`");
    (example, state.to_owned())
}
