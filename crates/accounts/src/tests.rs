//! Accounts in a store that has no other processes.

use std::sync::Arc;

use cluster::Cluster;
use cluster::node::NodeOptions;
use kv::Store;

use super::change::{AccountChange, GrantScope};
use super::*;

fn accounts() -> Arc<AccountStore> {
    open(Store::memory())
}

fn open(store: Store) -> Arc<AccountStore> {
    AccountStore::open(&Cluster::open(store, Vec::new()).unwrap()).unwrap()
}

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

fn reopened(accounts: &AccountStore) -> Arc<AccountStore> {
    open(accounts.store.clone())
}

#[test]
fn a_new_store_has_root_on_this_machine_without_a_password() {
    let accounts = accounts();
    let list = accounts.current();
    assert_eq!(list.iter().count(), 1);
    let root = list.get("root", "localhost").unwrap();
    assert_eq!(root.plugin, "caching_sha2_password");
    assert!(!root.has_password() && root.may_use("d") && root.may_administer() && root.may_manage_accounts());
    assert_eq!(
        root.grants(),
        ["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"]
    );
    assert_eq!(list.passwordless().count(), 1);
}

#[test]
fn accounts_are_stored() {
    let accounts = accounts();
    accounts
        .create_users(&[account("a", "hash"), account("b", "")], false, 5)
        .unwrap();
    accounts.alter_users(&[account("b", "hash2")], false, 6).unwrap();
    let accounts = reopened(&accounts);
    let b = accounts.current().get("b", "%").unwrap().clone();
    assert_eq!((b.authentication.as_str(), b.password_changed_us), ("hash2", 6));
    accounts.drop_users(&[name("a")], false).unwrap();
    assert!(reopened(&accounts).current().get("a", "%").is_none());
}

#[test]
fn an_exposed_server_gets_no_account_without_a_password() {
    let accounts = accounts();
    accounts.create_users(&[account("old", "")], false, 0).unwrap();
    accounts.require_passwords();
    let locked = AccountChange {
        locked: Some(true),
        ..account("locked", "")
    };
    accounts
        .create_users(&[locked.clone(), account("a", "hash")], false, 0)
        .unwrap();
    let unlocked = AccountChange {
        locked: Some(false),
        authentication: None,
        ..locked
    };
    for (refused, name) in [
        (accounts.create_users(&[account("b", "")], false, 0), "b"),
        (accounts.alter_users(&[account("a", "")], false, 0), "a"),
        (accounts.alter_users(&[unlocked], false, 0), "locked"),
    ] {
        let error = refused.unwrap_err();
        assert_eq!((error.code, error.sqlstate()), (1819, "HY000"));
        assert!(error.message.contains(&format!("'{name}'@'%'")), "{error}");
    }
    assert!(accounts.current().get("b", "%").is_none());
    assert_eq!(accounts.current().get("a", "%").unwrap().authentication, "hash");
    // An account that had no password before does not prevent changes of others.
    accounts.create_users(&[account("c", "hash")], false, 0).unwrap();
}

/// Messages and notes as MySQL 8.0.33 gives them; a statement that fails changes nothing.
#[test]
fn statements_fail_whole() {
    let accounts = accounts();
    accounts.create_users(&[account("ac1", "")], true, 0).unwrap();
    let error = accounts
        .create_users(&[account("ac1", ""), account("ac2", "")], false, 0)
        .unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (1396, "Operation CREATE USER failed for 'ac1'@'%'")
    );
    assert!(accounts.current().get("ac2", "%").is_none());
    let notes = accounts.create_users(&[account("ac1", "")], true, 0).unwrap();
    assert_eq!(
        (notes[0].code, notes[0].message.as_str()),
        (3163, "Authorization ID 'ac1'@'%' already exists.")
    );

    let error = accounts
        .drop_users(&[name("ac1"), name("ac2")], false)
        .unwrap_err();
    assert_eq!(error.message, "Operation DROP USER failed for 'ac2'@'%'");
    assert!(accounts.current().get("ac1", "%").is_some());
    let notes = accounts.drop_users(&[name("ac1"), name("ac2")], true).unwrap();
    assert_eq!((notes.len(), notes[0].code), (1, 3162));
    assert_eq!(notes[0].message, "Authorization ID 'ac2'@'%' does not exist.");

    let error = accounts
        .alter_users(&[account("ac2", "y")], false, 0)
        .unwrap_err();
    assert_eq!(error.message, "Operation ALTER USER failed for 'ac2'@'%'");
    assert_eq!(
        accounts.alter_users(&[account("ac2", "y")], true, 0).unwrap()[0].code,
        3162
    );
    let long = account(&"x".repeat(36), "");
    let error = accounts.create_users(&[long], false, 0).unwrap_err();
    assert!(
        error.code == 1470
            && error
                .message
                .ends_with("is too long for user name (should be no longer than 32)")
    );
}

#[test]
fn a_renamed_account_keeps_its_password_and_privileges() {
    let accounts = accounts();
    accounts
        .create_users(&[account("a", "h"), account("b", "")], false, 0)
        .unwrap();
    accounts
        .grant_all(&GrantScope::Database("d".into()), &[name("a")])
        .unwrap();
    let error = accounts.rename_users(&[(name("a"), name("b"))]).unwrap_err();
    assert_eq!(error.message, "Operation RENAME USER failed for 'a'@'%'");
    accounts.rename_users(&[(name("a"), name("c"))]).unwrap();
    let accounts = reopened(&accounts);
    let list = accounts.current();
    assert!(list.get("a", "%").is_none());
    assert!(
        list.get("c", "%")
            .is_some_and(|c| c.may_use("d") && c.authentication == "h")
    );
}

#[test]
fn accounts_may_do_nothing_until_they_are_granted_it() {
    let accounts = accounts();
    accounts.create_users(&[account("a", "h")], false, 0).unwrap();
    let get = || accounts.current().get("a", "%").unwrap().clone();
    let error = get().check_database("d").unwrap_err();
    assert_eq!(error.message, "Access denied for user 'a'@'%' to database 'd'");
    assert!(error.code == 1044 && get().may_use("information_schema") && !get().may_use("mysql"));
    assert_eq!(get().grants(), ["GRANT USAGE ON *.* TO `a`@`%`"]);

    let on_d = GrantScope::Database("d".into());
    accounts.grant_all(&on_d, &[name("a")]).unwrap();
    assert!(get().may_use("d") && !get().may_use("e") && !get().may_administer());
    assert_eq!(get().grants()[1], "GRANT ALL PRIVILEGES ON `d`.* TO `a`@`%`");
    accounts
        .grant_all(&GrantScope::Everything { grant_option: true }, &[name("a")])
        .unwrap();
    assert!(get().may_use("e") && get().may_manage_accounts());
    accounts
        .revoke_all(
            Some(&GrantScope::Everything { grant_option: false }),
            &[name("a")],
        )
        .unwrap();
    assert!(!get().may_use("e") && !get().may_manage_accounts() && get().privileges.grant_option);
    accounts.revoke_all(None, &[name("a")]).unwrap();
    assert_eq!(get().privileges, Privileges::default());

    assert_eq!(
        accounts.revoke_all(Some(&on_d), &[name("a")]).unwrap_err().code,
        1141
    );
    assert_eq!(
        accounts.grant_all(&on_d, &[name("nobody")]).unwrap_err().code,
        1410
    );
    assert_eq!(
        accounts.revoke_all(None, &[name("nobody")]).unwrap_err().code,
        1269
    );
}

#[test]
fn accounts_reach_the_other_node_and_none_is_lost() {
    let store = Store::memory();
    let nodes = [(); 2].map(|()| {
        let cluster = Cluster::join(store.clone(), Vec::new(), NodeOptions::default()).unwrap();
        (AccountStore::open(&cluster).unwrap(), cluster)
    });
    std::thread::scope(|scope| {
        for (n, (accounts, _)) in nodes.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..20 {
                    let new = account(&format!("u{n}{round}"), "");
                    accounts.create_users(&[new], false, 0).unwrap();
                }
            });
        }
    });
    for (accounts, cluster) in &nodes {
        cluster.tick().unwrap();
        assert_eq!(accounts.current().iter().count(), 41);
    }
    nodes[1].0.drop_users(&[name("u00")], false).unwrap();
    nodes[0].1.tick().unwrap();
    assert!(nodes[0].0.current().get("u00", "%").is_none());
}
