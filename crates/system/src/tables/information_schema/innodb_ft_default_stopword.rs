//! The words that full-text indexes leave out.

use functions::full_text::STOPWORDS;
use schema::model::SystemTraits;
use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct InnodbFtDefaultStopword;

impl SystemTable for InnodbFtDefaultStopword {
    fn name(&self) -> &'static str {
        "information_schema.INNODB_FT_DEFAULT_STOPWORD"
    }

    fn columns(&self) -> &'static str {
        r#"
value varchar(18) ci NOT ""
"#
    }

    fn traits(&self) -> SystemTraits {
        // MySQL fills it when it is read.
        SystemTraits::default()
    }

    fn rows(&self, _: &Context<'_>) -> Result<Vec<Row>> {
        Ok(STOPWORDS.iter().map(|word| vec![text(*word)]).collect())
    }
}
