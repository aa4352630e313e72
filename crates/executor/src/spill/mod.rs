//! What a statement holds beyond its memory limit: rows in temporary files.
//!
//! - [`mod@file`]: the rows of one file.
//! - [`held_rows`]: rows that are read again, in memory or in a file.
//! - [`set_aside`]: rows that wait until there is memory for their keys.
//! - [`space`]: where the files are, and what they leave free there.
//!
//! The files have no names: the system removes them when they are closed, even if the process is killed. What is
//! in memory while files are written and merged is a batch of each: it is counted while the statement's limit has
//! room for it, and goes on without.
//!
//! Not here: which rows go to files (the operators).

mod file;
mod held_rows;
mod set_aside;
mod space;

pub use file::io_failed;
pub(crate) use file::{RowFile, RowReader, RowWriter};
pub(crate) use held_rows::{HeldRows, HeldRowsBuilder, HeldRowsReader};
pub(crate) use set_aside::{PARTS, SetAside};
pub use space::{SpillSpace, count_spill_files, spill_files};
