//! EXPLAIN: a plan in MySQL's three formats.
//!
//! - [`traditional`]: a row for each table, in query [`blocks`]. [`tree`]: operators, as lines of [`node`]s;
//!   also for EXPLAIN ANALYZE. [`json`]: query blocks, nested.
//! - [`expression`], [`access_text`], [`names`], [`key_length`]: what they have in common.

mod access_text;
mod blocks;
mod expression;
mod json;
mod json_text;
mod key_length;
mod names;
mod node;
mod row;
mod traditional;
mod tree;

use planner::plan::{Plan, ResultColumn};
use types::{Collation, SqlType, Value};

use crate::PlannedStatement;
use syntax::ast::ExplainFormat;

/// Columns, and rows with a value for each.
pub type Listing = (Vec<ResultColumn>, Vec<Vec<Value>>);

/// The columns and rows of an EXPLAIN.
pub fn explain(planned: &PlannedStatement, format: ExplainFormat) -> Listing {
    match format {
        ExplainFormat::Traditional => (traditional::columns(), traditional::rows(planned)),
        ExplainFormat::Tree => one_text(tree::tree(&planned.plan, false)),
        ExplainFormat::Json => one_text(json::json(planned)),
    }
}

/// The row of EXPLAIN ANALYZE, after a plan with measures ([`planner::plan::measured`]) has run.
pub fn analyzed(plan: &Plan) -> Listing {
    one_text(tree::tree(plan, true))
}

fn one_text(text: String) -> Listing {
    // As in MySQL, whatever the text's length.
    let column = ResultColumn::unnamed("EXPLAIN", text_type(78), false);
    (vec![column], vec![vec![Value::String(text)]])
}

fn text_type(length: u32) -> SqlType {
    SqlType::varchar(length, Collation::DEFAULT)
}
