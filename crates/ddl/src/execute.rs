//! The entry point of all definition statements.

use cluster::meta::{keys, read_counter};
use cluster::wait::{Deadline, WaitLimit};
use schema::definition::Ddl;
use schema::model::Table;
use types::{Error, Result, Warning};

use crate::about::About;
use crate::alter::alter_table;
use crate::changer::SchemaChanger;
use crate::context::{DdlContext, Statement};
use crate::create_table::{create_table, create_table_like, create_table_like_temporary};
use crate::database::{alter_database, create_database, drop_database};
use crate::drop_table::{drop_tables, truncate_table};
use crate::executed::Executed;
use crate::partition::exchange::exchange_partition;
use crate::partition::statement::alter_partitions;
use crate::rename::rename_tables;
use crate::view::{create_view, drop_views};

impl SchemaChanger {
    /// Carries out a definition statement. The session has committed its transaction and released its
    /// metadata locks.
    ///
    /// # Errors
    /// MySQL's; 1235 for what is not supported; 1205 if a transaction uses a table for too long.
    pub fn execute(&self, ddl: &Ddl, ctx: &DdlContext) -> Result<Executed> {
        self.carry_out(ddl, ctx, |statement| match ddl {
            Ddl::AlterTable { name, changes, way } => alter_table(self, name, changes, *way, statement),
            Ddl::AlterPartitions { name, change, way } => {
                alter_partitions(self, name, change, *way, statement)
            }
            other => Ok(self.dispatch(other, statement)?.into()),
        })
    }

    /// [`SchemaChanger::execute`] for CREATE TABLE ... LIKE with a temporary table as the source.
    ///
    /// # Errors
    /// Those of CREATE TABLE ... LIKE.
    pub fn create_like_temporary(&self, ddl: &Ddl, source: &Table, ctx: &DdlContext) -> Result<Executed> {
        let Ddl::CreateTableLike {
            name, if_not_exists, ..
        } = ddl
        else {
            return Err(Error::internal("CREATE TABLE ... LIKE without a definition"));
        };
        self.carry_out(ddl, ctx, |statement| {
            Ok(create_table_like_temporary(self, name, source, *if_not_exists, statement)?.into())
        })
    }

    fn carry_out(
        &self,
        ddl: &Ddl,
        ctx: &DdlContext,
        body: impl FnOnce(&Statement<'_>) -> Result<Executed>,
    ) -> Result<Executed> {
        let statement = Statement {
            ctx,
            about: About::of(ddl, ctx.now_us),
        };
        // The statement's names refer to the newest definitions.
        self.cluster().follow()?;
        let executed = body(&statement)?;
        if !self.cluster().is_shared() {
            // Dropped data is destroyed at the end of the statement, unless a snapshot still reads it.
            self.collect_garbage();
        }
        self.wait_for_all_nodes(&ctx.limit());
        Ok(executed)
    }

    fn dispatch(&self, ddl: &Ddl, statement: &Statement) -> Result<Vec<Warning>> {
        match ddl {
            Ddl::CreateDatabase {
                name,
                if_not_exists,
                collation,
            } => create_database(self, name, *if_not_exists, *collation, statement),
            Ddl::AlterDatabase { name, collation } => alter_database(self, name, *collation, statement),
            Ddl::DropDatabase { name, if_exists } => drop_database(self, name, *if_exists, statement),
            Ddl::CreateTable {
                name,
                definition,
                if_not_exists,
            } => create_table(self, name, definition, *if_not_exists, statement),
            Ddl::CreateTableLike {
                name,
                source,
                if_not_exists,
            } => create_table_like(self, name, source, *if_not_exists, statement),
            Ddl::DropTable { names, if_exists } => drop_tables(self, names, *if_exists, statement),
            Ddl::TruncateTable { name } => truncate_table(self, name, statement),
            Ddl::RenameTable { renames } => rename_tables(self, renames, statement),
            Ddl::AlterTable { name, changes, way } => {
                Ok(alter_table(self, name, changes, *way, statement)?.warnings)
            }
            Ddl::AlterPartitions { name, change, way } => {
                Ok(alter_partitions(self, name, change, *way, statement)?.warnings)
            }
            Ddl::ExchangePartition {
                name,
                partition,
                other,
                validates,
            } => exchange_partition(self, (name, partition), other, *validates, statement),
            Ddl::CreateView {
                name,
                verb,
                columns,
                view,
            } => create_view(self, name, *verb, (columns, view), statement),
            Ddl::DropView { names, if_exists } => drop_views(self, names, *if_exists, statement),
        }
    }

    /// Waits until the change is visible on all nodes, so that the reply comes after it, unless a transaction
    /// on a node takes too long.
    pub(crate) fn wait_for_all_nodes(&self, limit: &WaitLimit) {
        let cluster = self.cluster();
        if !cluster.is_shared() {
            return;
        }
        let waited = read_counter(&cluster.store().latest(), &keys::schema_version()).and_then(|stored| {
            let deadline = Deadline::new(limit);
            cluster.wait_for_nodes(stored.unwrap_or(0), &|| Ok(()), &deadline, None)
        });
        if let Err(error) = waited {
            tracing::info!(%error, "a definition statement is done, but not seen on all servers yet");
        }
    }
}
