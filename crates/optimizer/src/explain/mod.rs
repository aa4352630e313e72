//! EXPLAIN: a plan in the two formats that clients use.

mod blocks;
mod key_length;
mod names;
mod traditional;

use types::{Collation, Error, Result, SqlType, Value};

use crate::{PlannedStatement, dump};
use syntax::ast::ExplainFormat;

/// Columns, and rows with a value for each.
pub type Listing = (Vec<(String, SqlType)>, Vec<Vec<Value>>);

/// The columns and rows of an EXPLAIN.
///
/// # Errors
/// 1235 for FORMAT=JSON.
pub fn explain(planned: &PlannedStatement, format: ExplainFormat) -> Result<Listing> {
    match format {
        ExplainFormat::Traditional => Ok((traditional::columns(), traditional::rows(planned))),
        ExplainFormat::Tree => {
            let tree = tree(&dump::plan(&planned.plan));
            let column = ("EXPLAIN".to_owned(), text_type(65_535));
            Ok((vec![column], vec![vec![Value::String(tree)]]))
        }
        ExplainFormat::Json => Err(Error::not_supported("EXPLAIN FORMAT=JSON", "use FORMAT=TREE")),
    }
}

fn text_type(length: u32) -> SqlType {
    SqlType::varchar(length, Collation::DEFAULT)
}

/// The dump with MySQL's arrows.
fn tree(dump: &str) -> String {
    dump.lines()
        .map(|line| {
            let text = line.trim_start();
            let indent = &line[..line.len() - text.len()];
            format!("{indent}{indent}-> {text}\n")
        })
        .collect()
}
