//! INSERT, REPLACE, UPDATE and DELETE.
//!
//! [`mod@insert`], [`mod@update`] and [`mod@delete`] run the statements. [`writer`] locks, finds duplicates,
//! and writes rows with their index entries. [`foreign_key`] checks and changes rows of other tables.
//! [`shadow`] writes the rows of a table that an ALTER TABLE is building. [`image`] computes the key, the
//! index entries and the value of a row. [`defaults`] and [`assign`] make values for columns. A failing
//! statement does not undo its writes: the session does, with a savepoint.

mod assign;
mod auto_increment;
mod computed;
mod defaults;
mod delete;
mod duplicate;
mod foreign_key;
mod found;
mod functional_index;
mod image;
mod insert;
mod locked_values;
mod mirror;
mod row_check;
mod shadow;
mod table_codec;
mod target;
mod touched;
mod update;
mod writer;

pub use delete::delete;
pub use found::write_found;
pub use insert::insert;
pub use update::update;

/// Leaves a warning for SHOW WARNINGS.
fn warn(eval: &functions::EvalContext, code: u16, message: impl Into<String>) {
    eval.warnings.push(types::Warning::warning(code, message));
}

/// What `LAST_INSERT_ID(expr)` has set in this statement, for the OK packet.
fn last_insert_id_set(eval: &functions::EvalContext) -> Option<u64> {
    *eval.set_last_insert_id.lock().unwrap_or_else(|e| e.into_inner())
}
