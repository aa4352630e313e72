//! Tests.

use std::sync::Arc;

use super::change::{AccountChange, GrantScope};
use super::*;
use crate::test_support::catalog;

fn account(user: &str, authentication: &str) -> AccountChange {
    AccountChange {
        user: user.to_owned(),
        host: "%".to_owned(),
        authentication: Some((CACHING_SHA2_PASSWORD.to_owned(), authentication.to_owned())),
        locked: None,
    }
}

fn name(user: &str) -> (String, String) {
    (user.to_owned(), "%".to_owned())
}

fn reopened(catalog: &Catalog) -> Arc<Catalog> {
    Catalog::open(catalog.store().clone()).unwrap()
}

#[test]
fn a_new_store_has_root_on_this_machine_without_a_password() {
    let catalog = catalog();
    let accounts = catalog.accounts();
    assert_eq!(accounts.iter().count(), 1);
    let root = accounts.get("root", "localhost").unwrap();
    assert_eq!(root.plugin, "caching_sha2_password");
    assert!(!root.has_password() && root.may_use("d") && root.may_administer() && root.may_manage_accounts());
    assert_eq!(
        root.grants(),
        ["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"]
    );
    assert_eq!(accounts.passwordless().count(), 1);
}

#[test]
fn accounts_are_stored() {
    let catalog = catalog();
    catalog
        .create_users(&[account("a", "hash"), account("b", "")], false, 5)
        .unwrap();
    catalog.alter_users(&[account("b", "hash2")], false, 6).unwrap();
    let catalog = reopened(&catalog);
    let b = catalog.accounts().get("b", "%").unwrap().clone();
    assert_eq!((b.authentication.as_str(), b.password_changed_us), ("hash2", 6));
    catalog.drop_users(&[name("a")], false).unwrap();
    assert!(reopened(&catalog).accounts().get("a", "%").is_none());
}

#[test]
fn an_exposed_server_gets_no_account_without_a_password() {
    let catalog = catalog();
    catalog.create_users(&[account("old", "")], false, 0).unwrap();
    catalog.require_passwords();
    let locked = AccountChange {
        locked: Some(true),
        ..account("locked", "")
    };
    catalog
        .create_users(&[locked.clone(), account("a", "hash")], false, 0)
        .unwrap();
    let unlocked = AccountChange {
        locked: Some(false),
        authentication: None,
        ..locked
    };
    for (refused, name) in [
        (catalog.create_users(&[account("b", "")], false, 0), "b"),
        (catalog.alter_users(&[account("a", "")], false, 0), "a"),
        (catalog.alter_users(&[unlocked], false, 0), "locked"),
    ] {
        let error = refused.unwrap_err();
        assert_eq!((error.code, error.sqlstate()), (1819, "HY000"));
        assert!(error.message.contains(&format!("'{name}'@'%'")), "{error}");
    }
    assert!(catalog.accounts().get("b", "%").is_none());
    assert_eq!(catalog.accounts().get("a", "%").unwrap().authentication, "hash");
    // What was so before does not stand in the way of others.
    catalog.create_users(&[account("c", "hash")], false, 0).unwrap();
}

/// Messages and notes as MySQL 8.0.33 gives them; a statement that fails changes nothing.
#[test]
fn statements_fail_whole() {
    let catalog = catalog();
    catalog.create_users(&[account("ac1", "")], true, 0).unwrap();
    let error = catalog
        .create_users(&[account("ac1", ""), account("ac2", "")], false, 0)
        .unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (1396, "Operation CREATE USER failed for 'ac1'@'%'")
    );
    assert!(catalog.accounts().get("ac2", "%").is_none());
    let notes = catalog.create_users(&[account("ac1", "")], true, 0).unwrap();
    assert_eq!(
        (notes[0].code, notes[0].message.as_str()),
        (3163, "Authorization ID 'ac1'@'%' already exists.")
    );

    let error = catalog
        .drop_users(&[name("ac1"), name("ac2")], false)
        .unwrap_err();
    assert_eq!(error.message, "Operation DROP USER failed for 'ac2'@'%'");
    assert!(catalog.accounts().get("ac1", "%").is_some());
    let notes = catalog.drop_users(&[name("ac1"), name("ac2")], true).unwrap();
    assert_eq!((notes.len(), notes[0].code), (1, 3162));
    assert_eq!(notes[0].message, "Authorization ID 'ac2'@'%' does not exist.");

    let error = catalog.alter_users(&[account("ac2", "y")], false, 0).unwrap_err();
    assert_eq!(error.message, "Operation ALTER USER failed for 'ac2'@'%'");
    assert_eq!(
        catalog.alter_users(&[account("ac2", "y")], true, 0).unwrap()[0].code,
        3162
    );
    let long = account(&"x".repeat(36), "");
    let error = catalog.create_users(&[long], false, 0).unwrap_err();
    assert!(
        error.code == 1470
            && error
                .message
                .ends_with("is too long for user name (should be no longer than 32)")
    );
}

#[test]
fn renames_keep_what_an_account_is() {
    let catalog = catalog();
    catalog
        .create_users(&[account("a", "h"), account("b", "")], false, 0)
        .unwrap();
    catalog
        .grant_all(&GrantScope::Database("d".into()), &[name("a")])
        .unwrap();
    let error = catalog.rename_users(&[(name("a"), name("b"))]).unwrap_err();
    assert_eq!(error.message, "Operation RENAME USER failed for 'a'@'%'");
    catalog.rename_users(&[(name("a"), name("c"))]).unwrap();
    let catalog = reopened(&catalog);
    let accounts = catalog.accounts();
    assert!(accounts.get("a", "%").is_none());
    assert!(
        accounts
            .get("c", "%")
            .is_some_and(|c| c.may_use("d") && c.authentication == "h")
    );
}

#[test]
fn accounts_may_do_nothing_until_they_are_granted_it() {
    let catalog = catalog();
    catalog.create_users(&[account("a", "h")], false, 0).unwrap();
    let get = || catalog.accounts().get("a", "%").unwrap().clone();
    let error = get().check_database("d").unwrap_err();
    assert_eq!(error.message, "Access denied for user 'a'@'%' to database 'd'");
    assert!(error.code == 1044 && get().may_use("information_schema") && !get().may_use("mysql"));
    assert_eq!(get().grants(), ["GRANT USAGE ON *.* TO `a`@`%`"]);

    let on_d = GrantScope::Database("d".into());
    catalog.grant_all(&on_d, &[name("a")]).unwrap();
    assert!(get().may_use("d") && !get().may_use("e") && !get().may_administer());
    assert_eq!(get().grants()[1], "GRANT ALL PRIVILEGES ON `d`.* TO `a`@`%`");
    catalog
        .grant_all(&GrantScope::Everything { grant_option: true }, &[name("a")])
        .unwrap();
    assert!(get().may_use("e") && get().may_manage_accounts());
    catalog
        .revoke_all(
            Some(&GrantScope::Everything { grant_option: false }),
            &[name("a")],
        )
        .unwrap();
    assert!(!get().may_use("e") && !get().may_manage_accounts() && get().privileges.grant_option);
    catalog.revoke_all(None, &[name("a")]).unwrap();
    assert_eq!(get().privileges, Privileges::default());

    assert_eq!(
        catalog.revoke_all(Some(&on_d), &[name("a")]).unwrap_err().code,
        1141
    );
    assert_eq!(
        catalog.grant_all(&on_d, &[name("nobody")]).unwrap_err().code,
        1410
    );
    assert_eq!(
        catalog.revoke_all(None, &[name("nobody")]).unwrap_err().code,
        1269
    );
}
