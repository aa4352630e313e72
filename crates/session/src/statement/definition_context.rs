//! The context of every definition statement: its privileges, and the session's properties that `ddl` needs.

use ddl::DdlContext;
use schema::definition::{AlterChange, Ddl, PartitionChange, TableName, ViewVerb};
use schema::model::Schema;
use schema::privilege::Privilege;
use types::Result;

use crate::client::Client;
use crate::session::Session;

pub fn context(session: &Session) -> DdlContext {
    DdlContext {
        interrupt: session.process.interrupt.clone(),
        lock_wait: session.settings.run.metadata_lock_wait,
        now_us: session.view().now_us(),
        time_zone: session.settings.time_zone,
        sql_mode: session.settings.sql_mode,
        server_collation: session.settings.collation_server,
        user: session.client.account.name(),
        foreign_key_checks: session.settings.foreign_key_checks,
        progress: session.process.progress(),
        auto_increment: session.settings.run.auto_increment,
        require_primary_key: session.settings.require_primary_key,
        warned: functions::Warnings::default(),
    }
}

/// Fails with 1044 or 1142 unless the account may make the definition.
pub fn check_privileges(client: &Client, ddl: &Ddl, schema: &Schema) -> Result<()> {
    let on_table = |name: &TableName, privileges: &[Privilege]| {
        client.check_table(name, privileges.iter().copied().collect())
    };
    match ddl {
        Ddl::CreateDatabase { name, .. } => client.check_on_database(name, Privilege::Create),
        Ddl::AlterDatabase { name, .. } => client.check_on_database(name, Privilege::Alter),
        Ddl::DropDatabase { name, .. } => client.check_on_database(name, Privilege::Drop),
        Ddl::CreateTable { name, definition, .. } => {
            on_table(name, &[Privilege::Create])?;
            let mut keys = definition.foreign_keys.iter();
            keys.try_for_each(|key| client.check_parent(&key.parent))
        }
        Ddl::CreateTableLike { name, source, .. } => {
            on_table(name, &[Privilege::Create])?;
            on_table(source, &[Privilege::Select])
        }
        Ddl::CreateView { name, verb, .. } => match verb {
            ViewVerb::Create => on_table(name, &[Privilege::CreateView]),
            ViewVerb::Replace | ViewVerb::Alter => on_table(name, &[Privilege::CreateView, Privilege::Drop]),
        },
        Ddl::TruncateTable { name } => on_table(name, &[Privilege::Drop]),
        Ddl::DropTable { names, .. } => names
            .iter()
            .try_for_each(|name| on_table(name, &[Privilege::Drop])),
        Ddl::DropView { names, .. } => names.iter().try_for_each(|name| {
            on_table(name, &[Privilege::Drop])?;
            let found = schema.table(&name.database, &name.name);
            let view = found.and_then(|table| table.view.as_ref());
            view.map_or(Ok(()), |view| {
                client.check_not_above(&view.definer.user, &view.definer.host)
            })
        }),
        Ddl::RenameTable { renames } => renames.iter().try_for_each(|(from, to)| {
            on_table(from, &[Privilege::Alter, Privilege::Drop])?;
            on_table(to, &[Privilege::Create, Privilege::Insert])
        }),
        Ddl::AlterPartitions { name, change, .. } => match change {
            PartitionChange::Drop(_) => on_table(name, &[Privilege::Alter, Privilege::Drop]),
            PartitionChange::Truncate(_) => on_table(name, &[Privilege::Drop]),
            _ => on_table(name, &[Privilege::Alter]),
        },
        Ddl::ExchangePartition { name, other, .. } => [name, other].into_iter().try_for_each(|name| {
            let needed = [
                Privilege::Insert,
                Privilege::Create,
                Privilege::Drop,
                Privilege::Alter,
            ];
            on_table(name, &needed)
        }),
        Ddl::AlterTable { name, changes, .. } => {
            let only_indexes = !changes.is_empty()
                && changes.iter().all(|change| {
                    matches!(
                        change,
                        AlterChange::AddIndex { .. } | AlterChange::DropIndex { .. }
                    )
                });
            // CREATE INDEX and DROP INDEX are the same definitions as in ALTER TABLE.
            if !only_indexes || on_table(name, &[Privilege::Alter]).is_err() {
                let needed = if only_indexes {
                    Privilege::Index
                } else {
                    Privilege::Alter
                };
                on_table(name, &[needed])?;
            }
            changes.iter().try_for_each(|change| match change {
                AlterChange::RenameTable { to } => {
                    on_table(name, &[Privilege::Drop])?;
                    on_table(to, &[Privilege::Create, Privilege::Insert])
                }
                AlterChange::AddForeignKey(key) => client.check_parent(&key.parent),
                _ => Ok(()),
            })
        }
    }
}
