//! The storage engines: one, with the name that clients expect.

use schema::model::SystemTraits;
use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct Engines;

impl SystemTable for Engines {
    fn name(&self) -> &'static str {
        "information_schema.ENGINES"
    }

    fn columns(&self) -> &'static str {
        r#"
ENGINE varchar(64) ci NOT ""
SUPPORT varchar(8) ci NOT ""
COMMENT varchar(80) ci NOT ""
TRANSACTIONS varchar(3) ci NULL ""
XA varchar(3) ci NULL ""
SAVEPOINTS varchar(3) ci NULL ""
"#
    }

    fn traits(&self) -> SystemTraits {
        // MySQL fills it when it is read.
        SystemTraits::default()
    }

    fn rows(&self, _: &Context<'_>) -> Result<Vec<Row>> {
        Ok(vec![
            [
                "InnoDB",
                "DEFAULT",
                "StemDB: transactions, row-level locking",
                "YES",
                "YES",
                "YES",
            ]
            .map(text)
            .to_vec(),
        ])
    }
}
