//! DROP TABLE and TRUNCATE TABLE.

use schema::definition::TableName;
use schema::model::{Schema, Table};
use types::{Error, Result, Warning, errno};

use super::{Statement, changeable_table, check_not_system};
use crate::Catalog;
use crate::publish::Outcome;

impl Catalog {
    /// All of them or, where one does not exist and nothing is said of that, none.
    pub(super) fn drop_tables(
        &self,
        names: &[TableName],
        if_exists: bool,
        ctx: &Statement,
    ) -> Result<Vec<Warning>> {
        for (at, name) in names.iter().enumerate() {
            check_not_system(&self.schema(), &name.database, ctx)?;
            if names[..at].contains(name) {
                return Err(Error::new(
                    errno::ER_NONUNIQ_TABLE,
                    format!("Not unique table/alias: '{}'", name.name),
                ));
            }
        }
        let tables = |schema: &Schema| {
            Ok(names
                .iter()
                .filter_map(|n| schema.table(&n.database, &n.name).map(|t| t.id))
                .collect())
        };
        self.change_tables(ctx, tables, |change| {
            let (mut found, mut unknown) = (Vec::new(), Vec::new());
            for name in names {
                match change.schema.table(&name.database, &name.name) {
                    Some(table) => found.push(table.clone()),
                    None => unknown.push(format!("{}.{}", name.database, name.name)),
                }
            }
            if !unknown.is_empty() && !if_exists {
                return Err(Error::new(
                    errno::ER_BAD_TABLE_ERROR,
                    format!("Unknown table '{}'", unknown.join(",")),
                ));
            }
            let notes = unknown
                .iter()
                .map(|n| Warning::note(errno::ER_BAD_TABLE_ERROR, format!("Unknown table '{n}'")))
                .collect();
            if found.is_empty() {
                return Ok(Outcome::Nothing(notes));
            }
            for table in found {
                change.drop_table(&table)?;
            }
            Ok(Outcome::Done(notes))
        })
    }

    /// The same definition under a new id, empty; ids start from 1 again, whatever CREATE TABLE said.
    pub(super) fn truncate_table(&self, name: &TableName, ctx: &Statement) -> Result<Vec<Warning>> {
        let table = |schema: &Schema| Ok(vec![changeable_table(schema, name, ctx)?.id]);
        let mut warnings = self.change_tables(ctx, table, |change| {
            let old = change.table(&name.database, &name.name)?;
            let new = Table {
                id: change.meta.next_id()?,
                auto_increment_start: 1,
                readable_from_ts: change.ts,
                ..Table::clone(&old)
            };
            change.drop_table(&old)?;
            change.put_table(new)?;
            Ok(Outcome::Done(Vec::new()))
        })?;
        warnings.extend(self.pre_split(name, ctx));
        Ok(warnings)
    }
}
