//! The collations.

use types::Result;

use crate::charsets::sorted_collations;
use crate::table::{Context, Row, SystemTable};
use crate::values::{number, text};

pub(crate) struct Collations;

impl SystemTable for Collations {
    fn name(&self) -> &'static str {
        "information_schema.COLLATIONS"
    }

    fn columns(&self) -> &'static str {
        r#"
COLLATION_NAME varchar(64) ci NOT
CHARACTER_SET_NAME varchar(64) ci NOT
ID bigint_unsigned - NOT 0
IS_DEFAULT varchar(3) ci NOT ""
IS_COMPILED varchar(3) ci NOT ""
SORTLEN int_unsigned - NOT
PAD_ATTRIBUTE enum('PAD SPACE','NO PAD') bin NOT
"#
    }

    fn rows(&self, _: &Context<'_>) -> Result<Vec<Row>> {
        Ok(sorted_collations()
            .into_iter()
            .map(|c| {
                let is_default = c.charset().default_collation() == c;
                vec![
                    text(c.name()),
                    text(c.charset().name()),
                    number(u64::from(c.id())),
                    text(if is_default { "Yes" } else { "" }),
                    text("Yes"),
                    number(c.sort_length()),
                    text(if c.pads_space() { "PAD SPACE" } else { "NO PAD" }),
                ]
            })
            .collect())
    }
}
