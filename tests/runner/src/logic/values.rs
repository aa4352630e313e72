//! Results in the form of the corpus: one line per value, or the number of values and an MD5 hash of these lines.

use md5::{Digest, Md5};
use mysql::Value;

use super::format::Sort;

/// The lines that the corpus has for these rows. `hashed`: as number and hash.
pub fn lines(rows: &[Vec<Value>], types: &str, sort: Sort, hashed: bool) -> Vec<String> {
    let row = |row: &Vec<Value>| -> Vec<String> {
        row.iter()
            .zip(types.chars())
            .map(|(value, kind)| printed(value, kind))
            .collect()
    };
    let mut rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    if sort == Sort::Rows {
        rows.sort();
    }
    let mut values = rows.concat();
    if sort == Sort::Values {
        values.sort();
    }
    match hashed {
        true => vec![hash(&values)],
        false => values,
    }
}

/// Whether the lines are number and hash.
pub fn is_hash(lines: &[String]) -> bool {
    matches!(lines, [line] if line.contains(" values hashing to "))
}

fn hash(values: &[String]) -> String {
    let mut md5 = Md5::new();
    for value in values {
        md5.update(value);
        md5.update("\n");
    }
    let digits: String = md5.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} values hashing to {digits}", values.len())
}

/// As C prints a value of the column's letter: `%d`, `%.3f` or `%s`.
fn printed(value: &Value, kind: char) -> String {
    let Value::Bytes(bytes) = value else {
        return "NULL".to_string();
    };
    let text = String::from_utf8_lossy(bytes);
    match kind {
        'I' => integer(&text),
        'R' => format!("{:.3}", text.parse::<f64>().unwrap_or(0.0)),
        _ if text.is_empty() => "(empty)".to_string(),
        _ => text
            .chars()
            .map(|c| if (' '..='~').contains(&c) { c } else { '@' })
            .collect(),
    }
}

fn integer(text: &str) -> String {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_string();
    }
    let number = text.parse::<f64>().unwrap_or(0.0).trunc();
    // Adding zero makes -0 a 0.
    format!("{:.0}", number + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn values_are_printed_by_the_letter_of_their_column() {
        for (text, kind, expected) in [
            ("-12", 'I', "-12"),
            ("-12.75", 'I', "-12"),
            ("-0.5", 'I', "0"),
            ("1e3", 'I', "1000"),
            ("abc", 'I', "0"),
            ("1.23456", 'R', "1.235"),
            ("", 'T', "(empty)"),
            ("a\tb", 'T', "a@b"),
        ] {
            assert_eq!(printed(&value(text), kind), expected);
        }
        assert_eq!(printed(&Value::NULL, 'T'), "NULL");
    }

    #[test]
    fn rows_or_values_are_sorted_as_texts_and_hashed() {
        let rows = [vec![value("9"), value("1")], vec![value("10"), value("5")]];
        assert_eq!(lines(&rows, "II", Sort::No, false), ["9", "1", "10", "5"]);
        assert_eq!(lines(&rows, "II", Sort::Rows, false), ["10", "5", "9", "1"]);
        assert_eq!(lines(&rows, "II", Sort::Values, false), ["1", "10", "5", "9"]);
        let hashed = lines(&rows, "II", Sort::Values, true);
        assert_eq!(hashed, ["4 values hashing to 0141ada9ae88f6c0d57489838b4791e2"]);
        assert!(is_hash(&hashed));
    }
}
