//! The foreign keys, as InnoDB names them.

use schema::model::{ForeignKey, ReferenceAction, Table};
use types::Result;

use crate::table::{Context, NO_COLUMN, Row, SystemTable};
use crate::values::{number, signed, text};

pub(crate) struct InnodbForeign;

impl SystemTable for InnodbForeign {
    fn name(&self) -> &'static str {
        "information_schema.INNODB_FOREIGN"
    }

    fn columns(&self) -> &'static str {
        r#"
ID varchar(129) ci NULL
FOR_NAME varchar(129) ci NULL
REF_NAME varchar(129) ci NULL
N_COLS bigint - NOT 0
TYPE bigint_unsigned - NOT 0
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for table in ctx.tables(NO_COLUMN, NO_COLUMN)? {
            for key in table.public_foreign_keys() {
                rows.push(vec![
                    text(id(table, key)),
                    text(format!("{}/{}", table.database, table.name)),
                    text(format!("{}/{}", key.parent.database, key.parent.name)),
                    signed(key.columns.len() as i64),
                    number(type_of(key)),
                ]);
            }
        }
        Ok(rows)
    }
}

pub(super) fn id(table: &Table, key: &ForeignKey) -> String {
    format!("{}/{}", table.database, key.name)
}

/// Bits, by action (manual, 26.4.12).
fn type_of(key: &ForeignKey) -> u64 {
    let bits = |action, cascade, set_null, no_action| match action {
        ReferenceAction::Cascade => cascade,
        ReferenceAction::SetNull => set_null,
        ReferenceAction::NoAction => no_action,
        ReferenceAction::Restrict | ReferenceAction::SetDefault => 0,
    };
    bits(key.on_delete, 1, 2, 16) | bits(key.on_update, 4, 8, 32)
}
