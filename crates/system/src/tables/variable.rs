//! Tables of names and values.

use crate::table::Row;
use crate::values::text;

pub(crate) fn named(list: Vec<(String, String)>) -> Vec<Row> {
    list.into_iter()
        .map(|(name, value)| vec![text(name), text(value)])
        .collect()
}
