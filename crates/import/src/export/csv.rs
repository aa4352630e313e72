//! Files of CSV: a header, fields between commas, texts in double quotes that are doubled within. Beside each
//! is the LOAD DATA statement that reads it.

use mysql::Value;

use super::RowWriter;
use super::output::{Output, Part};
use super::sql::HEADER;
use super::value::{Kind, hexadecimal, kind, text};
use crate::Result;
use crate::endpoint::{literal, quoted};
use crate::inventory::{Column, Table};

pub(super) struct Rows {
    kinds: Vec<Kind>,
    line: Vec<u8>,
    output: Output,
}

impl Rows {
    pub(super) fn new(table: &Table, columns: &[&Column], part: Part) -> Result<Self> {
        let mut output = part.open("csv")?;
        let kinds: Vec<Kind> = columns.iter().map(|column| kind(column)).collect();
        let mut statement = part.open("sql")?;
        statement.write(HEADER.as_bytes())?;
        statement.write(load(output.name(), table, columns, &kinds).as_bytes())?;
        statement.finish()?;
        let names = columns
            .iter()
            .map(|column| format!("\"{}\"", column.name.replace('"', "\"\"")));
        output.write(format!("{}\n", names.collect::<Vec<_>>().join(",")).as_bytes())?;
        Ok(Self {
            kinds,
            line: Vec::new(),
            output,
        })
    }
}

/// The statement that reads a file.
fn load(path: &str, table: &Table, columns: &[&Column], kinds: &[Kind]) -> String {
    let file = std::path::Path::new(path)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut fields = Vec::new();
    let mut sets = Vec::new();
    for (position, (column, kind)) in columns.iter().zip(kinds).enumerate() {
        let name = quoted(&column.name);
        let computed = match (kind, column.data_type.as_str()) {
            (Kind::Binary, _) => format!("UNHEX(@v{position})"),
            (_, "bit") => format!("CAST(@v{position} AS UNSIGNED)"),
            _ => {
                fields.push(name);
                continue;
            }
        };
        fields.push(format!("@v{position}"));
        sets.push(format!("{name} = {computed}"));
    }
    let mut sql = format!(
        "LOAD DATA LOCAL INFILE {} INTO TABLE {} CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' \
         OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' LINES TERMINATED BY '\\n' IGNORE 1 LINES ({})",
        literal(&file),
        quoted(&table.name),
        fields.join(", ")
    );
    if !sets.is_empty() {
        sql += &format!(" SET {}", sets.join(", "));
    }
    sql + ";\n"
}

impl RowWriter for Rows {
    fn row(&mut self, row: Vec<Value>) -> Result<()> {
        self.line.clear();
        for (position, (value, kind)) in row.iter().zip(&self.kinds).enumerate() {
            if position > 0 {
                self.line.push(b',');
            }
            field(value, *kind, &mut self.line);
        }
        self.line.push(b'\n');
        self.output.write(&self.line)
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>> {
        self.output.finish()?;
        Ok(Vec::new())
    }
}

/// NULL is the bare word: a text is always in quotes.
fn field(value: &Value, kind: Kind, out: &mut Vec<u8>) {
    let Some(bytes) = text(value) else {
        return out.extend_from_slice(b"NULL");
    };
    match kind {
        Kind::Number => out.extend_from_slice(&bytes),
        Kind::Binary => hexadecimal(&bytes, out),
        Kind::Text => {
            out.push(b'"');
            for part in bytes.split_inclusive(|byte| *byte == b'"') {
                out.extend_from_slice(part);
                if part.last() == Some(&b'"') {
                    out.push(b'"');
                }
            }
            out.push(b'"');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let mut out = Vec::new();
        field(&Value::NULL, Kind::Text, &mut out);
        field(&Value::from("NULL"), Kind::Text, &mut out);
        field(&Value::from("a\"b\n\""), Kind::Text, &mut out);
        field(&Value::Bytes(vec![0, 255]), Kind::Binary, &mut out);
        assert_eq!(out, b"NULL\"NULL\"\"a\"\"b\n\"\"\"00FF");
    }
}
