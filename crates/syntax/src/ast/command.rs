//! Kinds of statements, with the names of MySQL's `Com_...` counters.

use super::{
    Delete, EngineShow, Insert, InsertRows, Maintenance, ObjectKind, ProgramAction, ServerShow,
    ShowStatement, Statement, Target, TransactionStatement, Update, UserStatement, XaStatement,
};

/// Kinds with their names, in the order of `SHOW STATUS`.
macro_rules! commands {
    ($($kind:ident $name:literal,)*) => {
        /// The kind of a statement. A statement that cannot be parsed has none.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum SqlCommand {
            $(#[doc = concat!("`Com_", $name, "`")] $kind,)*
        }

        impl SqlCommand {
            pub const ALL: &[SqlCommand] = &[$(SqlCommand::$kind,)*];

            /// The counter's name without `Com_`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

commands! {
    AdminCommands "admin_commands",
    AlterDatabase "alter_db",
    AlterEvent "alter_event",
    AlterFunction "alter_function",
    AlterProcedure "alter_procedure",
    AlterTable "alter_table",
    AlterUser "alter_user",
    AlterUserDefaultRole "alter_user_default_role",
    Analyze "analyze",
    AssignToKeyCache "assign_to_keycache",
    Begin "begin",
    CallProcedure "call_procedure",
    ChangeDatabase "change_db",
    Check "check",
    Checksum "checksum",
    Commit "commit",
    CreateDatabase "create_db",
    CreateIndex "create_index",
    CreateRole "create_role",
    CreateTable "create_table",
    CreateUser "create_user",
    CreateView "create_view",
    DeallocateSql "dealloc_sql",
    Delete "delete",
    DeleteMulti "delete_multi",
    Do "do",
    DropDatabase "drop_db",
    DropEvent "drop_event",
    DropFunction "drop_function",
    DropIndex "drop_index",
    DropProcedure "drop_procedure",
    DropRole "drop_role",
    DropTable "drop_table",
    DropTrigger "drop_trigger",
    DropUser "drop_user",
    DropView "drop_view",
    EmptyQuery "empty_query",
    ExecuteSql "execute_sql",
    ExplainOther "explain_other",
    Flush "flush",
    GetDiagnostics "get_diagnostics",
    Grant "grant",
    GrantRoles "grant_roles",
    Help "help",
    Insert "insert",
    InsertSelect "insert_select",
    Kill "kill",
    Load "load",
    LockInstance "lock_instance",
    LockTables "lock_tables",
    Optimize "optimize",
    PreloadKeys "preload_keys",
    PrepareSql "prepare_sql",
    ReleaseSavepoint "release_savepoint",
    RenameTable "rename_table",
    RenameUser "rename_user",
    Repair "repair",
    Replace "replace",
    ReplaceSelect "replace_select",
    Reset "reset",
    Resignal "resignal",
    Revoke "revoke",
    RevokeAll "revoke_all",
    RevokeRoles "revoke_roles",
    Rollback "rollback",
    RollbackToSavepoint "rollback_to_savepoint",
    Savepoint "savepoint",
    Select "select",
    SetOption "set_option",
    SetPassword "set_password",
    SetRole "set_role",
    ShowBinlogEvents "show_binlog_events",
    ShowRelaylogEvents "show_relaylog_events",
    ShowBinlogs "show_binlogs",
    ShowCharsets "show_charsets",
    ShowCollations "show_collations",
    ShowCreateDatabase "show_create_db",
    ShowCreateEvent "show_create_event",
    ShowCreateFunction "show_create_func",
    ShowCreateProcedure "show_create_proc",
    ShowCreateTable "show_create_table",
    ShowCreateTrigger "show_create_trigger",
    ShowCreateUser "show_create_user",
    ShowDatabases "show_databases",
    ShowEngineLogs "show_engine_logs",
    ShowEngineMutex "show_engine_mutex",
    ShowEngineStatus "show_engine_status",
    ShowErrors "show_errors",
    ShowEvents "show_events",
    ShowFields "show_fields",
    ShowFunctionStatus "show_function_status",
    ShowGrants "show_grants",
    ShowKeys "show_keys",
    ShowMasterStatus "show_master_status",
    ShowOpenTables "show_open_tables",
    ShowPlugins "show_plugins",
    ShowPrivileges "show_privileges",
    ShowProcedureStatus "show_procedure_status",
    ShowProcesslist "show_processlist",
    ShowProfile "show_profile",
    ShowProfiles "show_profiles",
    ShowReplicaStatus "show_replica_status",
    ShowReplicas "show_replicas",
    ShowStatus "show_status",
    ShowStorageEngines "show_storage_engines",
    ShowTableStatus "show_table_status",
    ShowTables "show_tables",
    ShowTriggers "show_triggers",
    ShowVariables "show_variables",
    ShowWarnings "show_warnings",
    Signal "signal",
    Truncate "truncate",
    UnlockInstance "unlock_instance",
    UnlockTables "unlock_tables",
    Update "update",
    UpdateMulti "update_multi",
    XaCommit "xa_commit",
    XaEnd "xa_end",
    XaPrepare "xa_prepare",
    XaRecover "xa_recover",
    XaRollback "xa_rollback",
    XaStart "xa_start",
}

impl Statement {
    /// The kind of the statement; `None` for a text that is not a statement. A new kind is an entry here, and
    /// needs a script in `tests/sql/accounts` that shows what privileges it needs.
    pub fn command(&self) -> Option<SqlCommand> {
        Some(match self {
            Self::Query(_) => SqlCommand::Select,
            Self::Insert(insert) => of_insert(insert),
            Self::Update(update) => of_update(update),
            Self::Delete(delete) => of_delete(delete),
            Self::LoadData(_) => SqlCommand::Load,
            Self::ExplainConnection { .. } => SqlCommand::ExplainOther,
            // EXPLAIN counts as what it explains.
            Self::Explain { statement, .. } => return statement.command(),
            Self::CreateDatabase { .. } => SqlCommand::CreateDatabase,
            Self::AlterDatabase { .. } => SqlCommand::AlterDatabase,
            Self::DropDatabase { .. } => SqlCommand::DropDatabase,
            Self::CreateTable(_) | Self::CreateTableLike { .. } => SqlCommand::CreateTable,
            Self::AlterTable { items, options, .. } => match options.is_index_statement {
                true if matches!(items.first(), Some(super::AlterItem::AddIndex(_))) => {
                    SqlCommand::CreateIndex
                }
                true => SqlCommand::DropIndex,
                false => SqlCommand::AlterTable,
            },
            Self::DropTable { .. } => SqlCommand::DropTable,
            Self::CreateView(_) => SqlCommand::CreateView,
            Self::DropObject { kind, .. } => match kind {
                ObjectKind::View => SqlCommand::DropView,
                ObjectKind::Procedure => SqlCommand::DropProcedure,
                ObjectKind::Function => SqlCommand::DropFunction,
                ObjectKind::Trigger => SqlCommand::DropTrigger,
                ObjectKind::Event => SqlCommand::DropEvent,
            },
            Self::OfProgram { action, kind, .. } => of_program(*action, *kind),
            Self::TruncateTable(_) => SqlCommand::Truncate,
            Self::RenameTable(_) => SqlCommand::RenameTable,
            Self::Grant(_) => SqlCommand::Grant,
            Self::Revoke(revoke) => match revoke.what {
                Some(_) => SqlCommand::Revoke,
                None => SqlCommand::RevokeAll,
            },
            Self::User(statement) => of_user(statement),
            Self::Transaction(statement) => of_transaction(statement),
            Self::Xa(statement) => of_xa(statement),
            Self::Use(_) => SqlCommand::ChangeDatabase,
            Self::Show(show) => of_show(show),
            Self::Set(_) => SqlCommand::SetOption,
            Self::Kill { .. } => SqlCommand::Kill,
            // MySQL has no such statements.
            Self::AdminShowDdlJobs { .. } | Self::AdminCancelDdlJobs { .. } | Self::SplitTable { .. } => {
                SqlCommand::AdminCommands
            }
            Self::TableMaintenance { action, .. } => match action {
                Maintenance::AdminCheck => SqlCommand::AdminCommands,
                Maintenance::Check => SqlCommand::Check,
                Maintenance::Analyze => SqlCommand::Analyze,
                Maintenance::Optimize => SqlCommand::Optimize,
                Maintenance::Repair => SqlCommand::Repair,
                Maintenance::AssignToKeyCache => SqlCommand::AssignToKeyCache,
                Maintenance::PreloadKeys => SqlCommand::PreloadKeys,
            },
            Self::ChecksumTable { .. } => SqlCommand::Checksum,
            Self::Histograms { .. } => SqlCommand::Analyze,
            Self::LockTables(_) => SqlCommand::LockTables,
            Self::UnlockTables => SqlCommand::UnlockTables,
            Self::LockInstance => SqlCommand::LockInstance,
            Self::UnlockInstance => SqlCommand::UnlockInstance,
            Self::ResetPersist { .. } => SqlCommand::Reset,
            Self::Flush(_) => SqlCommand::Flush,
            Self::Prepare { .. } => SqlCommand::PrepareSql,
            Self::Execute { .. } => SqlCommand::ExecuteSql,
            Self::Deallocate { .. } => SqlCommand::DeallocateSql,
            Self::Do(_) => SqlCommand::Do,
            Self::GetDiagnostics(_) => SqlCommand::GetDiagnostics,
            Self::Signal(_) => SqlCommand::Signal,
            Self::Resignal => SqlCommand::Resignal,
            Self::Empty => SqlCommand::EmptyQuery,
            Self::Invalid(_) => return None,
        })
    }
}

fn of_insert(insert: &Insert) -> SqlCommand {
    match (&insert.rows, insert.replace) {
        (InsertRows::Values(_) | InsertRows::Literals(_), false) => SqlCommand::Insert,
        (InsertRows::Values(_) | InsertRows::Literals(_), true) => SqlCommand::Replace,
        (InsertRows::Query(_), false) => SqlCommand::InsertSelect,
        (InsertRows::Query(_), true) => SqlCommand::ReplaceSelect,
    }
}

fn of_update(update: &Update) -> SqlCommand {
    match update.tables.as_slice() {
        [super::TableRef::Table(_)] => SqlCommand::Update,
        _ => SqlCommand::UpdateMulti,
    }
}

fn of_delete(delete: &Delete) -> SqlCommand {
    match delete.targets.is_empty() {
        true => SqlCommand::Delete,
        false => SqlCommand::DeleteMulti,
    }
}

fn of_program(action: ProgramAction, kind: ObjectKind) -> SqlCommand {
    match (action, kind) {
        (ProgramAction::Call, _) => SqlCommand::CallProcedure,
        (ProgramAction::Alter, ObjectKind::Event) => SqlCommand::AlterEvent,
        (ProgramAction::Alter, ObjectKind::Function) => SqlCommand::AlterFunction,
        (ProgramAction::Alter, _) => SqlCommand::AlterProcedure,
        (ProgramAction::ShowCreate, ObjectKind::Event) => SqlCommand::ShowCreateEvent,
        (ProgramAction::ShowCreate, ObjectKind::Function) => SqlCommand::ShowCreateFunction,
        (ProgramAction::ShowCreate, ObjectKind::Trigger) => SqlCommand::ShowCreateTrigger,
        (ProgramAction::ShowCreate, _) => SqlCommand::ShowCreateProcedure,
    }
}

fn of_user(statement: &UserStatement) -> SqlCommand {
    match statement {
        UserStatement::Create { .. } => SqlCommand::CreateUser,
        UserStatement::Alter { .. } => SqlCommand::AlterUser,
        UserStatement::Drop { .. } => SqlCommand::DropUser,
        UserStatement::Rename(_) => SqlCommand::RenameUser,
        UserStatement::SetPassword(_) => SqlCommand::SetPassword,
        UserStatement::CreateRole { .. } => SqlCommand::CreateRole,
        UserStatement::DropRole { .. } => SqlCommand::DropRole,
        UserStatement::SetRole(_) => SqlCommand::SetRole,
        UserStatement::SetDefaultRole { .. } => SqlCommand::AlterUserDefaultRole,
        UserStatement::GrantRoles { .. } => SqlCommand::GrantRoles,
        UserStatement::RevokeRoles { .. } => SqlCommand::RevokeRoles,
    }
}

impl TransactionStatement {
    pub fn command(&self) -> SqlCommand {
        of_transaction(self)
    }
}

fn of_transaction(statement: &TransactionStatement) -> SqlCommand {
    match statement {
        TransactionStatement::Begin { .. } => SqlCommand::Begin,
        TransactionStatement::Commit(_) => SqlCommand::Commit,
        TransactionStatement::Rollback(_) => SqlCommand::Rollback,
        TransactionStatement::Savepoint(_) => SqlCommand::Savepoint,
        TransactionStatement::RollbackTo(_) => SqlCommand::RollbackToSavepoint,
        TransactionStatement::ReleaseSavepoint(_) => SqlCommand::ReleaseSavepoint,
    }
}

fn of_xa(statement: &XaStatement) -> SqlCommand {
    match statement {
        XaStatement::Start { .. } => SqlCommand::XaStart,
        XaStatement::End { .. } => SqlCommand::XaEnd,
        XaStatement::Prepare(_) => SqlCommand::XaPrepare,
        XaStatement::Commit { .. } => SqlCommand::XaCommit,
        XaStatement::Rollback(_) => SqlCommand::XaRollback,
        XaStatement::Recover { .. } => SqlCommand::XaRecover,
    }
}

fn of_show(show: &ShowStatement) -> SqlCommand {
    match show {
        ShowStatement::OfDatabase { target, .. } | ShowStatement::OfTable { target, .. } => match target {
            Target::Tables => SqlCommand::ShowTables,
            Target::TableStatus => SqlCommand::ShowTableStatus,
            Target::OpenTables => SqlCommand::ShowOpenTables,
            Target::Triggers => SqlCommand::ShowTriggers,
            Target::Events => SqlCommand::ShowEvents,
            Target::Columns => SqlCommand::ShowFields,
            Target::Index => SqlCommand::ShowKeys,
            Target::CreateTable | Target::CreateView => SqlCommand::ShowCreateTable,
        },
        ShowStatement::Regions { .. } => SqlCommand::AdminCommands,
        ShowStatement::OfServer(show) => match show {
            ServerShow::Databases(_) => SqlCommand::ShowDatabases,
            ServerShow::CreateDatabase { .. } => SqlCommand::ShowCreateDatabase,
            ServerShow::Variables { .. } => SqlCommand::ShowVariables,
            ServerShow::Status { .. } => SqlCommand::ShowStatus,
            ServerShow::ProcessList { .. } => SqlCommand::ShowProcesslist,
            ServerShow::Warnings { errors_only, .. } | ServerShow::CountWarnings { errors_only } => {
                match errors_only {
                    true => SqlCommand::ShowErrors,
                    false => SqlCommand::ShowWarnings,
                }
            }
            ServerShow::Engines => SqlCommand::ShowStorageEngines,
            ServerShow::Engine { of, .. } => match of {
                EngineShow::Status => SqlCommand::ShowEngineStatus,
                EngineShow::Mutex => SqlCommand::ShowEngineMutex,
                EngineShow::Logs => SqlCommand::ShowEngineLogs,
            },
            ServerShow::Collation(_) => SqlCommand::ShowCollations,
            ServerShow::Charset(_) => SqlCommand::ShowCharsets,
            ServerShow::Plugins(_) => SqlCommand::ShowPlugins,
            ServerShow::Grants { .. } => SqlCommand::ShowGrants,
            ServerShow::Help => SqlCommand::Help,
            ServerShow::Privileges => SqlCommand::ShowPrivileges,
            ServerShow::Profile(_) => SqlCommand::ShowProfile,
            ServerShow::CreateUser(_) => SqlCommand::ShowCreateUser,
            ServerShow::List { words, .. } => match words.as_str() {
                "PROCEDURE STATUS" => SqlCommand::ShowProcedureStatus,
                "FUNCTION STATUS" => SqlCommand::ShowFunctionStatus,
                "MASTER STATUS" | "BINARY LOG STATUS" => SqlCommand::ShowMasterStatus,
                "SLAVE STATUS" | "REPLICA STATUS" => SqlCommand::ShowReplicaStatus,
                "SLAVE HOSTS" | "REPLICAS" => SqlCommand::ShowReplicas,
                "BINLOG EVENTS" => SqlCommand::ShowBinlogEvents,
                "RELAYLOG EVENTS" => SqlCommand::ShowRelaylogEvents,
                "PROFILES" => SqlCommand::ShowProfiles,
                _ => SqlCommand::ShowBinlogs,
            },
        },
    }
}
