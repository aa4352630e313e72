//! The character sets.

use types::{Charset, Result};

use crate::table::{Context, Row, SystemTable};
use crate::values::{number, text};

pub(crate) struct CharacterSets;

impl SystemTable for CharacterSets {
    fn name(&self) -> &'static str {
        "information_schema.CHARACTER_SETS"
    }

    fn columns(&self) -> &'static str {
        r#"
CHARACTER_SET_NAME varchar(64) ci NOT
DEFAULT_COLLATE_NAME varchar(64) ci NOT
DESCRIPTION varchar(2048) ci NOT
MAXLEN int_unsigned - NOT
"#
    }

    fn rows(&self, _: &Context<'_>) -> Result<Vec<Row>> {
        let mut charsets = Charset::ALL;
        charsets.sort_by_key(|c| c.name());
        Ok(charsets
            .into_iter()
            .map(|c| {
                vec![
                    text(c.name()),
                    text(c.default_collation().name()),
                    text(c.description()),
                    number(u64::from(c.max_bytes_per_char())),
                ]
            })
            .collect())
    }
}
