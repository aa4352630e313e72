//! What a kind of statement does to the open transaction before it runs, whatever comes of it.

use super::{Maintenance, Select, Statement};
use crate::command::{Absent, Command};

impl Statement {
    /// Whether the statement commits the open transaction before it runs, even if it then fails (manual 13.3.3).
    pub fn commits_implicitly(&self) -> bool {
        match self {
            Self::TableMaintenance { action, .. } => *action != Maintenance::AdminCheck,
            Self::LockTables(_) => true,
            Self::Command(command) => {
                changes_accounts(command)
                    || matches!(
                        **command,
                        Command::Flush { .. } | Command::SetRole { user: Some(_), .. }
                    )
            }
            // Temporary tables are no part of the schema that others see.
            Self::DropAbsent { kind, .. } => *kind != Absent::TemporaryTable,
            other => other.defines(),
        }
    }

    /// Whether a READ ONLY transaction refuses the statement (1792), whatever it names. LOCK TABLES depends on its locks.
    pub fn needs_read_write(&self) -> bool {
        match self {
            Self::Insert(_) | Self::Update(_) | Self::Delete(_) => true,
            Self::Select(select) => locks_exclusively(select),
            // EXPLAIN of a locking read reads the table's definition only.
            Self::Explain { statement, .. } => {
                matches!(**statement, Self::Insert(_) | Self::Update(_) | Self::Delete(_))
            }
            Self::TableMaintenance { action, .. } => {
                matches!(action, Maintenance::Optimize | Maintenance::Repair)
            }
            Self::Command(command) => changes_accounts(command),
            other => other.defines(),
        }
    }

    /// Definitions, accounts' privileges included.
    fn defines(&self) -> bool {
        matches!(
            self,
            Self::CreateDatabase { .. }
                | Self::AlterDatabase { .. }
                | Self::DropDatabase { .. }
                | Self::CreateTable(_)
                | Self::CreateTableLike { .. }
                | Self::AlterTable { .. }
                | Self::DropTable { .. }
                | Self::DropAbsent { .. }
                | Self::TruncateTable(_)
                | Self::RenameTable(_)
                | Self::Grant { .. }
                | Self::Revoke { .. }
        )
    }
}

fn changes_accounts(command: &Command) -> bool {
    matches!(
        command,
        Command::CreateUser { .. }
            | Command::AlterUser { .. }
            | Command::DropUser { .. }
            | Command::RenameUser { .. }
            | Command::SetPassword { .. }
    )
}

/// FOR UPDATE of a table.
fn locks_exclusively(select: &Select) -> bool {
    select.from.as_ref().is_some_and(|from| from.query.is_none())
        && select.locking.as_ref().is_some_and(|locking| locking.exclusive)
}
