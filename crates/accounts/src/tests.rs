//! Accounts in a store that has no other processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::Cluster;
use cluster::node::NodeOptions;
use kv::Store;

use schema::definition::TableName;
use schema::privilege::{GrantLevel, Privilege, PrivilegeGrant, PrivilegeSet};

use super::change::{AccountChange, Grantor, Leniency};
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
        ..AccountChange::default()
    }
}

fn grant(privileges: PrivilegeSet, level: GrantLevel) -> PrivilegeGrant {
    PrivilegeGrant {
        all: false,
        privileges,
        lists_option: privileges.contains(PrivilegeSet::GRANT),
        dynamic: Vec::new(),
        columns: Vec::new(),
        level,
    }
}

fn all(level: GrantLevel) -> PrivilegeGrant {
    PrivilegeGrant {
        all: true,
        ..grant(PrivilegeSet::NONE, level)
    }
}

fn grants(account: &Account) -> Vec<String> {
    account.grants(&account.privileges, &[], true)
}

static UNRESTRICTED: BTreeMap<String, PrivilegeSet> = BTreeMap::new();

const BY: Grantor<'static> = Grantor {
    name: "root@localhost",
    now_us: 0,
    restrictions: &UNRESTRICTED,
    partial_revokes: false,
};

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
    assert!(!root.has_password());
    assert_eq!(root.privileges, Privileges::everything(true));
    let lines = grants(root);
    assert!(lines[0].ends_with("DROP ROLE ON *.* TO `root`@`localhost` WITH GRANT OPTION"));
    assert!(lines[1].starts_with("GRANT APPLICATION_PASSWORD_ADMIN,AUDIT_ABORT_EXEMPT,") && lines.len() == 2);
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
    accounts.drop_users("DROP USER", &[name("a")], false).unwrap();
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
        .drop_users("DROP USER", &[name("ac1"), name("ac2")], false)
        .unwrap_err();
    assert_eq!(error.message, "Operation DROP USER failed for 'ac2'@'%'");
    assert!(accounts.current().get("ac1", "%").is_some());
    let notes = accounts
        .drop_users("DROP USER", &[name("ac1"), name("ac2")], true)
        .unwrap();
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
}

#[test]
fn a_renamed_account_keeps_its_password_and_privileges() {
    let accounts = accounts();
    accounts
        .create_users(&[account("a", "h"), account("b", "")], false, 0)
        .unwrap();
    accounts
        .grant(&all(GrantLevel::Database("d".into())), &[name("a")], BY)
        .unwrap();
    let error = accounts.rename_users(&[(name("a"), name("b"))]).unwrap_err();
    assert_eq!(error.message, "Operation RENAME USER failed for 'a'@'%'");
    accounts.rename_users(&[(name("a"), name("c"))]).unwrap();
    let accounts = reopened(&accounts);
    let list = accounts.current();
    assert!(list.get("a", "%").is_none());
    assert!(
        list.get("c", "%")
            .is_some_and(|c| c.privileges.may_enter("d") && c.authentication == "h")
    );
}

#[test]
fn accounts_may_do_nothing_until_they_are_granted_it() {
    let accounts = accounts();
    accounts.create_users(&[account("a", "h")], false, 0).unwrap();
    let get = || accounts.current().get("a", "%").unwrap().clone();
    let may = |database: &str| get().privileges.may_enter(database);
    assert!(may("information_schema") && !may("mysql") && !may("d"));
    assert_eq!(grants(&get()), ["GRANT USAGE ON *.* TO `a`@`%`"]);

    let give = |what: &PrivilegeGrant| accounts.grant(what, &[name("a")], BY);
    let take = |what: &PrivilegeGrant| accounts.revoke(what, &[name("a")], Leniency::default(), false);
    let on_d = all(GrantLevel::Database("d".into()));
    give(&on_d).unwrap();
    assert!(may("d") && !may("e"));
    assert_eq!(grants(&get())[1], "GRANT ALL PRIVILEGES ON `d`.* TO `a`@`%`");
    take(&on_d).unwrap();
    assert_eq!(take(&on_d).unwrap_err().code, 1141);

    let table = GrantLevel::Table(TableName {
        database: "e".into(),
        name: "t".into(),
    });
    let on_columns = PrivilegeGrant {
        columns: vec![
            ("x".into(), PrivilegeSet::SELECT | PrivilegeSet::INSERT),
            ("y".into(), PrivilegeSet::SELECT),
        ],
        ..grant(PrivilegeSet::DELETE, table.clone())
    };
    give(&on_columns).unwrap();
    assert!(may("e") && get().privileges.may_see("e", "t") && !get().privileges.may_see("e", "u"));
    assert_eq!(
        grants(&get())[1],
        "GRANT SELECT (`x`, `y`), INSERT (`x`), DELETE ON `e`.`t` TO `a`@`%`"
    );
    take(&grant(PrivilegeSet::SELECT, table)).unwrap();
    assert_eq!(
        grants(&get())[1],
        "GRANT INSERT (`x`), DELETE ON `e`.`t` TO `a`@`%`"
    );

    give(&all(GrantLevel::Global)).unwrap();
    assert!(may("f") && get().privileges.has_dynamic("ROLE_ADMIN"));
    take(&all(GrantLevel::Global)).unwrap();
    assert_eq!(get().privileges, Privileges::default());
    let error = accounts.grant(&on_d, &[name("nobody")], BY).unwrap_err();
    assert_eq!(error.code, 1410);
    let error = accounts
        .revoke_everything(&[name("nobody")], Leniency::default())
        .unwrap_err();
    assert_eq!(error.code, 1269);
}

#[test]
fn a_partial_revoke_excepts_a_database() {
    let accounts = accounts();
    let new = [account("a", "h"), account("b", "h")];
    accounts.create_users(&new, false, 0).unwrap();
    let get = |user: &str| accounts.current().get(user, "%").unwrap().clone();
    let by = Grantor {
        partial_revokes: true,
        ..BY
    };
    let everywhere = |what| grant(what, GrantLevel::Global);
    let on = |what, database: &str| grant(what, GrantLevel::Database(database.into()));
    let take = |what: &PrivilegeGrant, user: &str| {
        accounts
            .revoke(what, &[name(user)], Leniency::default(), true)
            .map_err(|error| error.code)
    };
    let (select, insert) = (PrivilegeSet::SELECT, PrivilegeSet::INSERT);
    assert_eq!(take(&on(select, "d_d"), "a").unwrap_err(), 1141);
    accounts
        .grant(&everywhere(select | insert), &[name("a")], by)
        .unwrap();
    take(&on(select, "d_d"), "a").unwrap();
    let a = get("a").privileges.clone();
    // The database's name is no pattern.
    assert_eq!(
        (a.of_database("d_d"), a.of_database("dxd")),
        (insert, select | insert)
    );
    assert_eq!(a.everywhere(), insert);
    assert_eq!(grants(&get("a"))[1], "REVOKE SELECT ON `d_d`.* FROM `a`@`%`");
    assert_eq!(reopened(&accounts).current().get("a", "%").unwrap().privileges, a);

    // An account with a restriction passes it on with what it grants.
    let restricted = Grantor {
        restrictions: &a.restrictions,
        ..by
    };
    accounts
        .grant(&everywhere(select), &[name("b")], restricted)
        .unwrap();
    assert_eq!(get("b").privileges.of_database("d_d"), PrivilegeSet::NONE);
    accounts.grant(&everywhere(select), &[name("b")], by).unwrap();
    assert_eq!(get("b").privileges.of_database("d_d"), select);

    // A role without the restriction lifts it.
    let mut merged = a.clone();
    merged.merge(&get("b").privileges);
    assert_eq!(merged.of_database("d_d"), select | insert);
    let mut merged = a.clone();
    merged.merge(&Privileges::default());
    assert_eq!(merged, a);

    accounts.grant(&on(select, "d_d"), &[name("a")], by).unwrap();
    assert!(get("a").privileges.restrictions.is_empty());
    take(&on(insert, "d_d"), "a").unwrap();
    take(&everywhere(insert), "a").unwrap();
    assert!(get("a").privileges.restrictions.is_empty());
}

#[test]
fn a_pattern_is_for_databases_without_a_grant_of_their_own() {
    let mut privileges = Privileges::default();
    for (pattern, granted) in [
        ("shop%", PrivilegeSet::SELECT),
        ("shop\\_a", PrivilegeSet::INSERT),
        ("shop_b", PrivilegeSet::DELETE),
    ] {
        privileges.on_databases.insert(pattern.into(), granted);
    }
    assert_eq!(privileges.of_database("shop_a"), PrivilegeSet::INSERT);
    assert_eq!(privileges.of_database("shopxb"), PrivilegeSet::DELETE);
    assert_eq!(privileges.of_database("shops"), PrivilegeSet::SELECT);
    assert_eq!(privileges.of_database("other"), PrivilegeSet::NONE);
}

#[test]
fn roles_add_what_they_have_and_never_include_themselves() {
    let accounts = accounts();
    accounts.create_users(&[account("a", "h")], false, 0).unwrap();
    let roles = [name("r1"), name("r2")];
    accounts.create_roles(&roles, false, 0).unwrap();
    accounts
        .grant(&all(GrantLevel::Database("d".into())), &[name("r2")], BY)
        .unwrap();
    accounts.grant_roles(&[name("r2")], &[name("r1")], false).unwrap();
    accounts.grant_roles(&[name("r1")], &[name("a")], false).unwrap();
    let error = accounts
        .grant_roles(&[name("r1")], &[name("r2")], false)
        .unwrap_err();
    assert_eq!(error.code, 4027);
    let list = accounts.current();
    let a = list.get("a", "%").unwrap();
    assert!(!a.privileges.may_enter("d"));
    assert!(list.privileges_with(a, &[name("r1")]).may_enter("d"));

    let error = accounts
        .set_default_roles(Some(&[name("r2")]), &[name("a")])
        .unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (3530, "`r2`@`%` is not granted to `a`@`%`")
    );
    accounts.set_default_roles(None, &[name("a")]).unwrap();
    accounts.drop_users("DROP ROLE", &[name("r1")], false).unwrap();
    let a = accounts.current().get("a", "%").unwrap().clone();
    assert!(a.roles.is_empty() && a.default_roles.is_empty());
}

#[test]
fn accounts_of_the_first_form_keep_their_privileges() {
    let stored = r#"{"everything":false,"grant_option":false,"databases":["my_db"]}"#;
    let privileges: Privileges = serde_json::from_str(stored).unwrap();
    assert!(privileges.of_database("my_db").has(Privilege::Alter) && !privileges.may_enter("myxdb"));
    let stored = r#"{"everything":true,"grant_option":true,"databases":[]}"#;
    let privileges: Privileges = serde_json::from_str(stored).unwrap();
    assert_eq!(privileges, Privileges::everything(true));
    let text = serde_json::to_string(&privileges).unwrap();
    assert_eq!(serde_json::from_str::<Privileges>(&text).unwrap(), privileges);
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
    nodes[1].0.drop_users("DROP USER", &[name("u00")], false).unwrap();
    nodes[0].1.tick().unwrap();
    assert!(nodes[0].0.current().get("u00", "%").is_none());
}
