//! Ranges of a table's key, so that a table is copied in parts and compared in parts.

use crate::Result;
use crate::endpoint::{Client, literal, quoted};
use crate::inventory::{Column, Table};

/// A chunk has about this many bytes and rows, whichever is reached first.
const CHUNK_BYTES: u64 = 8 << 20;
const CHUNK_ROWS: std::ops::RangeInclusive<u64> = 500..=50_000;
const MOST_CHUNKS: u64 = 100_000;

/// The end of a chunk: a SQL literal for each column that orders the chunks. The next chunk begins after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bound(Vec<String>);

impl Bound {
    /// The text that [`Bound::parse`] reads. Literals have no tabs.
    pub(crate) fn text(&self) -> String {
        self.0.join("\t")
    }

    pub(crate) fn parse(text: &str) -> Self {
        Self(text.split('\t').map(str::to_owned).collect())
    }
}

/// Rows after `lower` up to and including `upper`; `None` is the end of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) number: u64,
    pub(crate) lower: Option<Bound>,
    pub(crate) upper: Option<Bound>,
}

impl Chunk {
    /// A condition for the rows of the chunk.
    pub(crate) fn condition(&self, table: &Table) -> String {
        let columns: Vec<String> = ordering(table).map(|column| quoted(&column.name)).collect();
        let mut conditions = Vec::new();
        if let Some(lower) = &self.lower {
            conditions.push(beyond(&columns, &lower.0, ">", ">"));
        }
        if let Some(upper) = &self.upper {
            conditions.push(beyond(&columns, &upper.0, "<", "<="));
        }
        if conditions.is_empty() {
            return "TRUE".to_owned();
        }
        conditions.join(" AND ")
    }
}

/// The chunks that end at these bounds, and the one after the last.
pub(crate) fn chunks(bounds: &[Bound]) -> Vec<Chunk> {
    let ends = bounds.iter().cloned().map(Some).chain([None]);
    let mut lower = None;
    ends.enumerate()
        .map(|(number, upper)| Chunk {
            number: number as u64,
            lower: std::mem::replace(&mut lower, upper.clone()),
            upper,
        })
        .collect()
}

/// `(a, b) > (x, y)` in a form that optimizers make a range of.
fn beyond(columns: &[String], values: &[String], operator: &str, last: &str) -> String {
    match (columns, values) {
        ([column], [value, ..]) => format!("{column} {last} {value}"),
        ([column, columns @ ..], [value, values @ ..]) => {
            let rest = beyond(columns, values, operator, last);
            format!("({column} {operator}= {value} AND ({column} {operator} {value} OR {rest}))")
        }
        _ => "TRUE".to_owned(),
    }
}

/// The columns of the key that order chunks: up to the first one whose literals compare in another way than
/// its index is ordered (ENUM, SET, BIT, FLOAT).
fn ordering(table: &Table) -> impl Iterator<Item = &Column> {
    table.key_columns().take_while(|column| {
        let name = column.data_type.as_str();
        is_integer(column)
            || matches!(
                name,
                "decimal"
                    | "char"
                    | "varchar"
                    | "binary"
                    | "varbinary"
                    | "date"
                    | "datetime"
                    | "timestamp"
                    | "time"
            )
    })
}

pub(crate) fn is_integer(column: &Column) -> bool {
    matches!(
        column.data_type.as_str(),
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint"
    )
}

/// Where the chunks of a table end.
pub(crate) fn plan(source: &mut Client, table: &Table) -> Result<Vec<Bound>> {
    let columns: Vec<&Column> = ordering(table).collect();
    let rows = (CHUNK_BYTES / table.row_bytes.max(1)).clamp(*CHUNK_ROWS.start(), *CHUNK_ROWS.end());
    match columns.as_slice() {
        [] => Ok(Vec::new()),
        [column] if is_integer(column) => even(source, table, column, rows),
        columns => walk(source, table, columns, rows),
    }
}

/// Ranges of equal width: no row has to be read to find them.
fn even(source: &mut Client, table: &Table, column: &Column, chunk_rows: u64) -> Result<Vec<Bound>> {
    let name = quoted(&column.name);
    let ends = source.rows(&format!(
        "SELECT MIN({name}), MAX({name}) FROM {}",
        table.quoted()
    ))?;
    let end = |position| {
        let row = ends.first()?;
        row.get(position)?.parse::<i128>().ok()
    };
    let (Some(first), Some(last)) = (end(0), end(1)) else {
        return Ok(Vec::new());
    };
    let count = (table.rows / chunk_rows).min(MOST_CHUNKS) as i128 + 1;
    let width = (last - first) / count + 1;
    let bounds = (1..count).map(|number| first + width * number - 1);
    Ok(bounds
        .filter(|bound| *bound < last)
        .map(|bound| Bound(vec![bound.to_string()]))
        .collect())
}

/// Every `rows`th key, read from the index.
fn walk(source: &mut Client, table: &Table, columns: &[&Column], rows: u64) -> Result<Vec<Bound>> {
    let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    let shown: Vec<String> = columns
        .iter()
        .map(|column| match column.charset {
            None if column.data_type.ends_with("binary") => format!("HEX({})", quoted(&column.name)),
            _ => quoted(&column.name),
        })
        .collect();
    let mut bounds: Vec<Bound> = Vec::new();
    loop {
        let after = bounds
            .last()
            .map_or_else(|| "TRUE".to_owned(), |bound| beyond(&names, &bound.0, ">", ">"));
        let found = source.rows(&format!(
            "SELECT {} FROM {} WHERE {after} ORDER BY {} LIMIT 1 OFFSET {}",
            shown.join(", "),
            table.quoted(),
            names.join(", "),
            rows - 1
        ))?;
        let Some(row) = found.first() else {
            return Ok(bounds);
        };
        let values = columns.iter().enumerate().map(|(position, column)| {
            let text = row.text(position);
            match column.data_type.as_str() {
                "binary" | "varbinary" => format!("x'{text}'"),
                "decimal" => text,
                _ if is_integer(column) => text,
                _ => literal(&text),
            }
        });
        bounds.push(Bound(values.collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(types: &[&str]) -> Table {
        let column = |(position, name): (usize, &&str)| Column {
            name: format!("c{position}"),
            data_type: (*name).to_owned(),
            column_type: (*name).to_owned(),
            charset: None,
            is_generated: false,
        };
        Table {
            database: "d".to_owned(),
            name: "t".to_owned(),
            columns: types.iter().enumerate().map(column).collect(),
            key: (0..types.len()).collect(),
            create: String::new(),
            rows: 0,
            row_bytes: 0,
        }
    }

    fn bound(values: &[&str]) -> Bound {
        Bound(values.iter().map(|value| (*value).to_owned()).collect())
    }

    #[test]
    fn chunks_cover_everything_once() {
        let found = chunks(&[bound(&["3"]), bound(&["9"])]);
        let conditions: Vec<String> = found
            .iter()
            .map(|chunk| chunk.condition(&table(&["int"])))
            .collect();
        assert_eq!(conditions, ["`c0` <= 3", "`c0` > 3 AND `c0` <= 9", "`c0` > 9"]);
        assert_eq!(
            chunks(&[]).first().map(|chunk| chunk.condition(&table(&["int"]))),
            Some("TRUE".to_owned())
        );
    }

    #[test]
    fn several_columns_compare_one_after_the_other() {
        let chunk = Chunk {
            number: 0,
            lower: Some(bound(&["1", "'x'"])),
            upper: None,
        };
        assert_eq!(
            chunk.condition(&table(&["int", "char"])),
            "(`c0` >= 1 AND (`c0` > 1 OR `c1` > 'x'))"
        );
        // An ENUM's index is ordered by number, its literals compare as texts.
        assert_eq!(chunk.condition(&table(&["int", "enum"])), "`c0` > 1");
    }

    #[test]
    fn bounds_survive_as_text() {
        let literals = bound(&["1", &literal("a\tb'\\\n"), "x'00'"]);
        assert_eq!(Bound::parse(&literals.text()), literals);
    }
}
