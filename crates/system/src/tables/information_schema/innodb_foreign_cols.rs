//! The columns of foreign keys, as InnoDB names them.

use types::Result;

use super::innodb_foreign::id;
use crate::table::{Context, NO_COLUMN, Row, SystemTable};
use crate::values::{number, text};

pub(crate) struct InnodbForeignCols;

impl SystemTable for InnodbForeignCols {
    fn name(&self) -> &'static str {
        "information_schema.INNODB_FOREIGN_COLS"
    }

    fn columns(&self) -> &'static str {
        r#"
ID varchar(129) ci NULL
FOR_COL_NAME varchar(64) ci NOT
REF_COL_NAME varchar(64) ci NOT
POS int_unsigned - NOT
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for table in ctx.tables(NO_COLUMN, NO_COLUMN)? {
            for key in table.public_foreign_keys() {
                let columns = key.columns.iter().filter_map(|&at| table.columns.get(at));
                for (position, (own, parent)) in (1..).zip(columns.zip(&key.parent_columns)) {
                    rows.push(vec![
                        text(id(table, key)),
                        text(&own.name),
                        text(parent),
                        number(position),
                    ]);
                }
            }
        }
        Ok(rows)
    }
}
