//! Every kind of statement has a script that says which privileges it needs.

// Helpers of tests, which clippy does not know to be tests.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use syntax::ast::SqlCommand;
use types::SqlMode;

/// Statements that every account may run: they are about its own session, or show what the account may see.
const FOR_ALL: &[SqlCommand] = &[
    SqlCommand::Begin,
    SqlCommand::Commit,
    SqlCommand::DeallocateSql,
    SqlCommand::Do,
    SqlCommand::EmptyQuery,
    SqlCommand::ExecuteSql,
    SqlCommand::GetDiagnostics,
    SqlCommand::Help,
    SqlCommand::PrepareSql,
    SqlCommand::ReleaseSavepoint,
    SqlCommand::Resignal,
    SqlCommand::Rollback,
    SqlCommand::RollbackToSavepoint,
    SqlCommand::Savepoint,
    SqlCommand::ShowCharsets,
    SqlCommand::ShowCollations,
    SqlCommand::ShowCreateFunction,
    SqlCommand::ShowCreateProcedure,
    SqlCommand::ShowCreateTrigger,
    SqlCommand::ShowErrors,
    SqlCommand::ShowPlugins,
    SqlCommand::ShowPrivileges,
    SqlCommand::ShowProcesslist,
    SqlCommand::ShowProfile,
    SqlCommand::ShowProfiles,
    SqlCommand::ShowStorageEngines,
    SqlCommand::ShowWarnings,
    SqlCommand::Signal,
    SqlCommand::UnlockTables,
    SqlCommand::XaCommit,
    SqlCommand::XaEnd,
    SqlCommand::XaPrepare,
    SqlCommand::XaRollback,
    SqlCommand::XaStart,
];

/// The kinds of the statements that scripts run with and without each privilege.
fn walked() -> BTreeSet<SqlCommand> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql/accounts");
    let mut kinds = BTreeSet::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for block in text.split("\n.needs ").skip(1) {
            let (_, statement) = block.split_once('\n').unwrap();
            let (statement, _) = statement.split_once("\n----").unwrap();
            let (_, sql) = statement.split_once(' ').unwrap();
            let sql = sql.trim_end().trim_end_matches(';');
            for parsed in syntax::parse(sql, &SqlMode::default()).into_iter().flatten() {
                kinds.extend(parsed.statement.command());
            }
        }
    }
    kinds
}

#[test]
fn every_kind_of_statement_runs_without_and_with_its_privileges() {
    let walked = walked();
    let missing: Vec<_> = SqlCommand::ALL
        .iter()
        .filter(|kind| !walked.contains(kind) && !FOR_ALL.contains(kind))
        .collect();
    assert!(missing.is_empty(), "no .needs in tests/sql/accounts: {missing:?}");
}
