//! The expected answers of the queries, and their comparison with a server's answers.
//!
//! At scale 1 these are the answers that the standard publishes, with two digits after the point. At the
//! small scales they were recorded from MySQL 8.0.33 (`check tpch -o record=FILE`). A file of answers has a
//! line `-- q1` before the rows of each query; values are separated by tabs, and `\N` is NULL.

use std::collections::BTreeMap;
use std::fmt::Write;

use tpchgen::q_and_a::QueryAndAnswer;

use super::queries::Query;
use crate::client::{Row, Value};
use crate::error::{Error, Result};

/// Recorded answers by scale.
const RECORDED: [(f64, &str); 2] = [
    (0.01, include_str!("answers/0.01.tsv")),
    (0.1, include_str!("answers/0.1.tsv")),
];
const NULL: &str = "\\N";

/// A query's rows.
pub type Rows = Vec<Vec<String>>;

/// The answers of the queries, by number. Unknown answers are absent.
#[derive(Debug, Default, PartialEq)]
pub struct Answers(BTreeMap<usize, Rows>);

impl Answers {
    /// The known answers for this scale.
    pub fn of_scale(scale: f64) -> Result<Self> {
        if scale == 1.0 {
            return Self::published();
        }
        match RECORDED.iter().find(|(recorded, _)| *recorded == scale) {
            Some((_, text)) => Self::parse(text),
            None => Ok(Self::default()),
        }
    }

    fn published() -> Result<Self> {
        let answer = |number: usize| {
            let both = QueryAndAnswer::new(number as i32, 1.0).map_err(Error::Unexpected)?;
            // The first line that is not empty names the columns.
            let lines = both.answer().lines().filter(|line| !line.is_empty()).skip(1);
            let row = |line: &str| line.split('|').map(|value| value.trim().to_owned()).collect();
            Ok((number, lines.map(row).collect()))
        };
        (1..=22).map(answer).collect::<Result<_>>().map(Self)
    }

    /// Reads a file that [`Self::print`] has written.
    pub fn parse(text: &str) -> Result<Self> {
        let mut all = BTreeMap::new();
        let mut current: Option<&mut Rows> = None;
        for line in text.lines() {
            if let Some(number) = line.strip_prefix("-- q") {
                let number = number.parse().map_err(|_| not_answers(line))?;
                current = Some(all.entry(number).or_default());
            } else {
                let rows = current.as_deref_mut().ok_or_else(|| not_answers(line))?;
                rows.push(line.split('\t').map(str::to_owned).collect());
            }
        }
        Ok(Self(all))
    }

    pub fn add(&mut self, query: &Query, rows: &[Row]) {
        let texts = |row: &Row| row.0.iter().map(text).collect();
        self.0.insert(query.number, rows.iter().map(texts).collect());
    }

    pub fn print(&self) -> String {
        let mut out = String::new();
        for (number, rows) in &self.0 {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "-- q{number}");
            for row in rows {
                let _ = writeln!(out, "{}", row.join("\t"));
            }
        }
        out
    }

    /// Describes what is wrong with a server's rows; `None` if they are right, or if the answer is not known.
    pub fn mistake(&self, query: &Query, rows: &[Row]) -> Option<String> {
        let expected = self.0.get(&query.number)?;
        let found: Rows = rows.iter().map(|row| row.0.iter().map(text).collect()).collect();
        compare(expected, &found, query.order).map(|what| format!("{}: {what}", query.name()))
    }

    pub fn are_known(&self) -> bool {
        !self.0.is_empty()
    }
}

fn not_answers(line: &str) -> Error {
    Error::Unexpected(format!("not a file of answers: {line}"))
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => NULL.to_owned(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).trim().to_owned(),
    }
}

/// Describes where two answers differ. Rows that are equal in the `order` columns may come in any order.
fn compare(expected: &Rows, found: &Rows, order: &[usize]) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!("{} rows, not {}", found.len(), expected.len()));
    }
    let mut begin = 0;
    while begin < expected.len() {
        let tied = |row: &&Vec<String>| {
            order
                .iter()
                .all(|&column| row.get(column) == expected[begin].get(column))
        };
        let end = begin + expected[begin..].iter().take_while(tied).count().max(1);
        let mut left: Vec<&Vec<String>> = expected[begin..end].iter().collect();
        for (position, row) in found.iter().enumerate().take(end).skip(begin) {
            match left.iter().position(|expected| same_row(expected, row)) {
                Some(at) => drop(left.swap_remove(at)),
                // A LIMIT may cut between rows that tie. Any of these rows are right.
                None if end == expected.len() && tied(&row) && expected.len() > 1 => {}
                None => {
                    let (row, expected) = (row.join("|"), left[0].join("|"));
                    return Some(format!("row {} is {row}, not {expected}", position + 1));
                }
            }
        }
        begin = end;
    }
    None
}

fn same_row(expected: &[String], found: &[String]) -> bool {
    expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| same(a, b))
}

/// Whether two values are equal, up to one in the last digit of a number with a fraction: servers divide with
/// different precisions, and published answers are rounded.
fn same(expected: &str, found: &str) -> bool {
    if expected == found {
        return true;
    }
    let Some((_, digits)) = expected.split_once('.') else {
        return false;
    };
    match (expected.parse::<f64>(), found.parse::<f64>()) {
        // A little more than one, because neither number has an exact binary form.
        (Ok(a), Ok(b)) => (a - b).abs() <= 1.01 * 0.1_f64.powi(digits.len() as i32),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lines: &[&str]) -> Rows {
        let row = |line: &&str| line.split('|').map(str::to_owned).collect();
        lines.iter().map(row).collect()
    }

    #[test]
    fn numbers_may_differ_in_the_last_digit_only() {
        assert!(same("25.52", "25.522006") && same("0.03", "0.0344") && same("12", "12"));
        assert!(!same("25.52", "25.54") && !same("12", "12.0001") && !same("a.1", "a.2"));
    }

    #[test]
    fn only_rows_that_tie_may_change_places() {
        let expected = rows(&["a|1", "b|1", "c|2", "d|3"]);
        assert_eq!(compare(&expected, &expected, &[1]), None);
        assert_eq!(
            compare(&expected, &rows(&["b|1", "a|1", "c|2", "d|3"]), &[1]),
            None
        );
        for wrong in [
            &["a|1", "c|2", "b|1", "d|3"][..],
            &["a|1", "b|1", "c|2"],
            &["a|1", "a|1", "c|2", "d|3"],
        ] {
            assert!(compare(&expected, &rows(wrong), &[1]).is_some(), "{wrong:?}");
        }
    }

    #[test]
    fn answers_of_every_scale_are_complete() {
        for scale in [0.01, 0.1, 1.0] {
            let answers = Answers::of_scale(scale).unwrap();
            assert_eq!(answers.0.len(), 22, "{scale}");
            assert_eq!(Answers::parse(&answers.print()).unwrap(), answers);
        }
        assert!(!Answers::of_scale(3.0).unwrap().are_known());
        assert!(Answers::parse("1\t2").is_err());
    }
}
