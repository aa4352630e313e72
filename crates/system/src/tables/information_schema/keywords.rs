//! The words of the SQL language. Drivers read them to know which names to quote.
//!
//! The list is MySQL's, also for statements that StemDB does not support: names that are quoted for MySQL are quoted right for
//! StemDB. Which words the parser accepts as names is in `syntax`.

use schema::model::SystemTraits;
use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::text;

/// One word a line, `!` before those that are reserved.
const WORDS: &str = include_str!("keywords.txt");

pub(crate) struct Keywords;

impl SystemTable for Keywords {
    fn name(&self) -> &'static str {
        "information_schema.KEYWORDS"
    }

    fn columns(&self) -> &'static str {
        r#"
WORD varchar(128) ai NULL
RESERVED int - NULL
"#
    }

    fn traits(&self) -> SystemTraits {
        SystemTraits {
            is_view: true,
            is_transactional: false,
        }
    }

    fn rows(&self, _: &Context<'_>) -> Result<Vec<Row>> {
        Ok(WORDS
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let reserved = line.strip_prefix('!');
                vec![
                    text(reserved.unwrap_or(line)),
                    Value::Int(i64::from(reserved.is_some())),
                ]
            })
            .collect())
    }
}
