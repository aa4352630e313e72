//! The character set of each collation.

use types::Result;

use crate::charsets::sorted_collations;
use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct CollationCharacterSetApplicability;

impl SystemTable for CollationCharacterSetApplicability {
    fn name(&self) -> &'static str {
        "information_schema.COLLATION_CHARACTER_SET_APPLICABILITY"
    }

    fn columns(&self) -> &'static str {
        r#"
COLLATION_NAME varchar(64) ci NOT
CHARACTER_SET_NAME varchar(64) ci NOT
"#
    }

    fn rows(&self, _: &Context<'_>) -> Result<Vec<Row>> {
        Ok(sorted_collations()
            .into_iter()
            .map(|c| vec![text(c.name()), text(c.charset().name())])
            .collect())
    }
}
