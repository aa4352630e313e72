//! Data definition: carries out [`schema::definition::Ddl`].
//!
//! # How definitions change under running statements
//!
//! A statement that uses a table holds the table's metadata lock to the end of its transaction
//! ([`crate::metadata_lock`]). Everything here takes the lock exclusively for the moment in which a new definition is
//! published, and no longer, but for one case: an ALTER TABLE that builds an index on a column which it adds itself, or that
//! has to look at all rows (NULL to NOT NULL), keeps the lock for the whole change.
//!
//! ADD INDEX goes through the states of F1's protocol: the index is published as write-only, which makes every writer
//! maintain it; existing rows are filled in by `backfill`, in small transactions, beside running statements; then it is
//! published as public. One process needs no delete-only state, since nobody is left who does not know of the index when
//! the first entry is written; several nodes do (`shared`). Of a unique index that is not public yet writers take away an
//! entry only if it is the deleted row's own: that row may have none yet, and another row one of the same key. A `job` in
//! the store lets a restart finish or undo the rest.
//!
//! Where several processes share the store, what is said here of metadata locks is done on all of them: `shared`.
//!
//! Files: one kind of statement each; `alter_plan` computes what an ALTER TABLE
//! makes of a definition, `modify` which column changes leave stored values alone,
//! `way` whether it can be had with the ALGORITHM and LOCK asked for.

pub(crate) mod alter;
pub(crate) mod alter_plan;
pub(crate) mod backfill;
mod create_table;
mod database;
mod drop_table;
pub(crate) mod history;
pub(crate) mod job;
pub(crate) mod modify;
mod rename;
mod rows;
pub(crate) mod shared;
mod way;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use functions::TimeZone;
use history::About;
use schema::definition::{Ddl, TableName};
use schema::model::{Schema, Table};
use types::{Collation, Error, Result, SqlMode, Warning, errno};

use crate::Catalog;
use crate::metadata_lock::WaitLimit;
use crate::publish::{Change, Needs, Outcome};

/// What a definition statement needs of the session that runs it.
pub struct DdlContext {
    /// Ends waits and backfills.
    pub interrupt: Arc<kv::Interrupt>,
    /// `lock_wait_timeout`.
    pub lock_wait: Duration,
    /// When the statement began, in microseconds since 1970.
    pub now_us: i64,
    pub time_zone: TimeZone,
    pub sql_mode: SqlMode,
    /// `collation_server`: for databases created without one.
    pub server_collation: Collation,
    /// `'user'@'host'` as in messages: who is denied access.
    pub user: String,
}

impl DdlContext {
    pub(crate) fn limit(&self) -> WaitLimit<'_> {
        WaitLimit {
            timeout: self.lock_wait,
            interrupt: &self.interrupt,
        }
    }
}

/// A definition statement that runs.
pub(crate) struct Statement<'a> {
    ctx: &'a DdlContext,
    pub(crate) about: About,
}

impl Deref for Statement<'_> {
    type Target = DdlContext;

    fn deref(&self) -> &DdlContext {
        self.ctx
    }
}

impl Catalog {
    /// Carries out a definition statement. The session has committed its transaction and released its metadata locks.
    ///
    /// # Errors
    /// MySQL's, 1235 for what is not supported; 1205 when a transaction keeps a table busy for too long.
    pub fn execute(&self, ddl: &Ddl, ctx: &DdlContext) -> Result<Vec<Warning>> {
        let statement = Statement {
            ctx,
            about: About::of(ddl, ctx.now_us),
        };
        // Names mean what they mean now.
        self.follow()?;
        let warnings = self.run(ddl, &statement)?;
        if self.membership.is_none() {
            // What has been dropped is gone when its statement ends, unless somebody still reads it.
            self.collect_dropped();
        }
        self.wait_for_all_nodes(&ctx.limit());
        Ok(warnings)
    }

    fn run(&self, ddl: &Ddl, ctx: &Statement) -> Result<Vec<Warning>> {
        match ddl {
            Ddl::CreateDatabase {
                name,
                if_not_exists,
                collation,
            } => self.create_database(name, *if_not_exists, *collation, ctx),
            Ddl::AlterDatabase { name, collation } => self.alter_database(name, *collation, ctx),
            Ddl::DropDatabase { name, if_exists } => self.drop_database(name, *if_exists, ctx),
            Ddl::CreateTable {
                name,
                definition,
                if_not_exists,
            } => self.create_table(name, definition, *if_not_exists, ctx),
            Ddl::CreateTableLike {
                name,
                source,
                if_not_exists,
            } => self.create_table_like(name, source, *if_not_exists, ctx),
            Ddl::DropTable { names, if_exists } => self.drop_tables(names, *if_exists, ctx),
            Ddl::TruncateTable { name } => self.truncate_table(name, ctx),
            Ddl::RenameTable { renames } => self.rename_tables(renames, ctx),
            Ddl::AlterTable { name, changes, way } => self.alter_table(name, changes, *way, ctx),
        }
    }

    /// Publishes what a statement comes to.
    fn publish_for<T>(
        &self,
        statement: &Statement,
        make: impl FnOnce(&mut Change<'_>) -> Result<Outcome<T>>,
    ) -> Result<T> {
        self.publish(&statement.limit(), Needs::AllNodes, Some(&statement.about), make)
    }

    /// Has the tables that `resolve` finds to itself, and then publishes `make`. Starts again when the tables turn out to be
    /// others by then.
    pub(crate) fn change_tables<T>(
        &self,
        statement: &Statement,
        resolve: impl Fn(&Schema) -> Result<Vec<i64>>,
        mut make: impl FnMut(&mut Change<'_>) -> Result<Outcome<T>>,
    ) -> Result<T> {
        if self.membership.is_some() {
            return self.change_tables_shared(statement, &resolve, &mut make);
        }
        let limit = statement.limit();
        loop {
            let ids = resolve(&self.schema())?;
            let locks = self.locks().lock_for_change(&ids, &limit)?;
            let _exclusive = locks.exclusive(&limit)?;
            let answer = self.publish_for(statement, |change| {
                if resolve(&change.schema)? != ids {
                    return Ok(Outcome::Nothing(None));
                }
                Ok(make(change)?.map(Some))
            })?;
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
    }
}

/// A table that may be changed: 1049 or 1146 where there is none, and what [`check_not_system`] says.
pub(crate) fn changeable_table(schema: &Schema, name: &TableName, ctx: &DdlContext) -> Result<Arc<Table>> {
    check_not_system(schema, &name.database, ctx)?;
    schema.require_table(&name.database, &name.name).cloned()
}

/// Nothing can be defined in the databases that the server makes up.
pub(crate) fn check_not_system(schema: &Schema, database: &str, ctx: &DdlContext) -> Result<()> {
    const ER_NO_SYSTEM_SCHEMA_ACCESS: u16 = 3552;
    let Some(found) = schema.database(database).filter(|d| d.is_system()) else {
        return Ok(());
    };
    if matches!(found.name.as_str(), "information_schema" | "performance_schema") {
        return Err(Error::new(
            errno::ER_DBACCESS_DENIED_ERROR,
            format!("Access denied for user {} to database '{}'", ctx.user, found.name),
        ));
    }
    Err(Error::new(
        ER_NO_SYSTEM_SCHEMA_ACCESS,
        format!("Access to system schema '{}' is rejected.", found.name),
    ))
}

pub(crate) fn unknown_database(name: &str) -> Error {
    Error::new(errno::ER_BAD_DB_ERROR, format!("Unknown database '{name}'"))
}

pub(crate) fn table_exists(name: &str) -> Error {
    Error::new(
        errno::ER_TABLE_EXISTS_ERROR,
        format!("Table '{name}' already exists"),
    )
}

#[cfg(test)]
mod tests;
