//! The words of the SQL language. Drivers read them to know which names to quote.
//!
//! The list is MySQL's, also for statements that StemDB does not support: names that are quoted for MySQL are
//! quoted right for StemDB. It is the parser's own table.

use schema::model::SystemTraits;
use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::text;

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
        let mut words: Vec<_> = syntax::keywords::of_mysql().collect();
        words.sort_unstable();
        let row = |(word, reserved): (&str, bool)| vec![text(word), Value::Int(i64::from(reserved))];
        Ok(words.into_iter().map(row).collect())
    }
}
