//! How a statement affects the open transaction before it runs, whether or not it then succeeds.

use super::{Maintenance, ProgramAction, Query, QueryBody, Statement, TableRef, UserStatement};

impl Statement {
    /// Whether the statement commits the open transaction before it runs, even if it then fails (manual
    /// 13.3.3).
    pub fn commits_implicitly(&self) -> bool {
        match self {
            Self::TableMaintenance { action, .. } => *action != Maintenance::AdminCheck,
            Self::LockTables(_) | Self::Flush(_) | Self::Histograms { .. } => true,
            // SET ROLE changes the session only.
            Self::User(statement) => !matches!(statement, UserStatement::SetRole(_)),
            // Other sessions do not see temporary tables.
            other => other.defines() && !other.is_temporary(),
        }
    }

    /// Whether a READ ONLY transaction refuses the statement (1792), whatever tables it names. For LOCK
    /// TABLES this depends on the locks.
    pub fn needs_read_write(&self) -> bool {
        match self {
            Self::Insert(_) | Self::Update(_) | Self::Delete(_) | Self::LoadData(_) => true,
            Self::Query(query) => locks_exclusively(query),
            // EXPLAIN of a locking read locks nothing.
            Self::Explain { statement, .. } => {
                matches!(**statement, Self::Insert(_) | Self::Update(_) | Self::Delete(_))
            }
            Self::TableMaintenance { action, .. } => {
                matches!(action, Maintenance::Optimize | Maintenance::Repair)
            }
            Self::User(statement) => !matches!(statement, UserStatement::SetRole(_)),
            other => other.defines(),
        }
    }

    /// Whether it is CREATE or DROP with the word TEMPORARY.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::CreateTable(create) => create.temporary,
            Self::CreateTableLike { temporary, .. } | Self::DropTable { temporary, .. } => *temporary,
            _ => false,
        }
    }

    /// Definitions, including those of accounts and privileges.
    fn defines(&self) -> bool {
        matches!(
            self,
            Self::CreateDatabase { .. }
                | Self::AlterDatabase { .. }
                | Self::DropDatabase { .. }
                | Self::CreateTable(_)
                | Self::CreateTableLike { .. }
                | Self::AlterTable { .. }
                | Self::CreateView(_)
                | Self::DropTable { .. }
                | Self::DropObject { .. }
                | Self::OfProgram {
                    action: ProgramAction::Alter,
                    ..
                }
                | Self::TruncateTable(_)
                | Self::RenameTable(_)
                | Self::Grant(_)
                | Self::Revoke(_)
        )
    }
}

/// FOR UPDATE of a table.
fn locks_exclusively(query: &Query) -> bool {
    let locks = query.locking.iter().any(|clause| clause.exclusive);
    match &query.body {
        QueryBody::Nested(inner) => locks_exclusively(inner) || locks && reads_table(inner),
        _ => locks && reads_table(query),
    }
}

fn reads_table(query: &Query) -> bool {
    match &query.body {
        QueryBody::Select(select) => select.from.iter().any(names_table),
        QueryBody::Nested(inner) => reads_table(inner),
        QueryBody::Values(_) | QueryBody::SetOperation { .. } => false,
    }
}

/// Whether FROM names a table outside of derived tables.
fn names_table(table: &TableRef) -> bool {
    match table {
        TableRef::Table(_) => true,
        TableRef::Derived(_) | TableRef::Json(_) => false,
        TableRef::Join(join) => names_table(&join.left) || names_table(&join.right),
        TableRef::Nested(tables) => tables.iter().any(names_table),
    }
}
