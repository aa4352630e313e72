//! The files of the sqllogictest corpus: records, which are statements and queries with what must come of them.
//!
//! A record is some lines up to an empty one. `skipif NAME` and `onlyif NAME` before it say for which database it is; here
//! that is MySQL. The files are described in `about.wiki` of SQLite's repository.

/// The name of the database whose records are for us.
const WE: &str = "mysql";

/// How the values of a result are sorted before they are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    No,
    Rows,
    Values,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Expected {
    /// A statement that works, or fails.
    Done(bool),
    Query {
        /// A letter for each column: I, R or T.
        types: String,
        sort: Sort,
        /// The values, one each, or one line with their number and hash.
        lines: Vec<String>,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// The line of `statement` or `query`, from 1.
    pub line: usize,
    pub sql: String,
    pub expected: Expected,
}

/// The records of a file that are for MySQL, in order.
pub fn parse(text: &str) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    let mut block = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        if !line.is_empty() {
            block.push((number + 1, line));
            continue;
        }
        if end_of(&mut block, &mut records)? {
            return Ok(records);
        }
    }
    end_of(&mut block, &mut records)?;
    Ok(records)
}

/// Empties the block into the records. Returns whether the file ends here.
fn end_of(block: &mut Vec<(usize, &str)>, records: &mut Vec<Record>) -> Result<bool, String> {
    let lines = std::mem::take(block);
    let is_condition = |line: &str| line.starts_with("skipif ") || line.starts_with("onlyif ");
    let conditions = lines.iter().take_while(|(_, line)| is_condition(line)).count();
    let (conditions, record) = lines.split_at(conditions);
    let Some(((line, head), body)) = record.split_first() else {
        return Ok(false);
    };
    if !conditions.iter().all(|(_, condition)| is_for_us(condition)) {
        return Ok(false);
    }
    let words: Vec<&str> = head.split_whitespace().collect();
    let body: Vec<&str> = body.iter().map(|(_, line)| *line).collect();
    let (sql, expected) = match words.as_slice() {
        ["halt", ..] => return Ok(true),
        // Only the files' makers need it: a result's own form says whether it is a hash.
        ["hash-threshold", ..] => return Ok(false),
        ["statement", "ok", ..] => (body.join("\n"), Expected::Done(true)),
        ["statement", "error", ..] => (body.join("\n"), Expected::Done(false)),
        ["query", types, rest @ ..] => query(&body, types, rest).ok_or(format!("line {line}: {head}"))?,
        _ => return Err(format!("line {line}: {head}")),
    };
    records.push(Record {
        line: *line,
        sql,
        expected,
    });
    Ok(false)
}

/// A condition may have a comment behind it: `skipif mysql # not compatible`.
fn is_for_us(condition: &str) -> bool {
    let mut words = condition.split_whitespace();
    let only = words.next() == Some("onlyif");
    (words.next() == Some(WE)) == only
}

fn query(body: &[&str], types: &str, rest: &[&str]) -> Option<(String, Expected)> {
    let sort = match rest.first() {
        None | Some(&"nosort") => Sort::No,
        Some(&"rowsort") => Sort::Rows,
        Some(&"valuesort") => Sort::Values,
        Some(_) => return None,
    };
    let end = body.iter().position(|line| *line == "----");
    let (sql, lines) = body.split_at(end.unwrap_or(body.len()));
    let expected = Expected::Query {
        types: types.to_string(),
        sort,
        lines: lines.iter().skip(1).map(|line| line.to_string()).collect(),
    };
    Some((sql.join("\n"), expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_other_databases_are_left_out() {
        let text = "hash-threshold 8\n\n# a comment\nstatement ok\nCREATE TABLE t(a INTEGER)\n\n\
                    skipif mysql # not compatible\nquery I nosort\nSELECT 1\n----\n1\n\n\
                    onlyif mysql # DIV\nstatement error\nSELECT\n1 DIV\n\nonlyif mssql\nhalt\n\n\
                    skipif oracle\nquery IT rowsort label-1\nSELECT a,\n a FROM t\n----\n1\n(empty)\n\n\
                    query I\nSELECT 1\n\nskipif sqlite\nhalt\n\nquery I\nSELECT 3\n";
        let query = |line, sql: &str, types: &str, sort, lines: &[&str]| Record {
            line,
            sql: sql.to_string(),
            expected: Expected::Query {
                types: types.to_string(),
                sort,
                lines: lines.iter().map(|line| line.to_string()).collect(),
            },
        };
        let statement = |line, sql: &str, ok| Record {
            line,
            sql: sql.to_string(),
            expected: Expected::Done(ok),
        };
        let expected = vec![
            statement(4, "CREATE TABLE t(a INTEGER)", true),
            statement(14, "SELECT\n1 DIV", false),
            query(22, "SELECT a,\n a FROM t", "IT", Sort::Rows, &["1", "(empty)"]),
            query(29, "SELECT 1", "I", Sort::No, &[]),
        ];
        assert_eq!(parse(text), Ok(expected));
        assert_eq!(parse("loop 3\n"), Err("line 1: loop 3".to_string()));
    }
}
