//! What SHOW GRANTS lists.

use schema::privilege::{Privilege, PrivilegeSet};

use crate::account::{Account, AccountName, GrantedRole, name_in_backticks, names_in_backticks};
use crate::privileges::{Privileges, TablePrivileges};

impl Account {
    /// The statements that grant the account's roles and `privileges`: those of the account, perhaps with
    /// those of some roles. `lists_mandatory`: also the roles that all accounts have.
    pub fn grants(
        &self,
        privileges: &Privileges,
        administered: &[AccountName],
        lists_mandatory: bool,
    ) -> Vec<String> {
        let to = format!("TO {}", name_in_backticks(&self.user, &self.host));
        let mut lines = vec![line(
            &listed(privileges.global, PrivilegeSet::NONE),
            "*.*",
            &to,
            privileges.global,
        )];
        for with_option in [false, true] {
            let dynamic = privileges
                .dynamic
                .iter()
                .filter(|(_, option)| **option == with_option);
            let names: Vec<&str> = dynamic.map(|(name, _)| name.as_str()).collect();
            if !names.is_empty() {
                let option = if with_option {
                    PrivilegeSet::GRANT
                } else {
                    PrivilegeSet::NONE
                };
                lines.push(line(&names.join(","), "*.*", &to, option));
            }
        }
        for (database, granted) in &privileges.on_databases {
            let on = format!("{}.*", in_backticks(database));
            lines.push(line(
                &listed(*granted, PrivilegeSet::DATABASE),
                &on,
                &to,
                *granted,
            ));
        }
        let from = to.replacen("TO", "FROM", 1);
        for (database, restricted) in &privileges.restrictions {
            let on = in_backticks(database);
            let names: Vec<&str> = restricted.iter().map(Privilege::name).collect();
            lines.push(format!("REVOKE {} ON {on}.* {from}", names.join(", ")));
        }
        for (database, table, granted) in privileges.granted_tables() {
            let on = format!("{}.{}", in_backticks(database), in_backticks(table));
            lines.push(line(&listed_with_columns(granted), &on, &to, granted.table));
        }
        let is_plain = |role: &&GrantedRole| !role.with_admin && (lists_mandatory || !role.mandatory);
        let plain = self.roles.iter().filter(is_plain);
        let plain: Vec<AccountName> = plain.map(|role| role.name.clone()).collect();
        for (roles, option) in [(plain.as_slice(), ""), (administered, " WITH ADMIN OPTION")] {
            if !roles.is_empty() {
                lines.push(format!("GRANT {} {to}{option}", names_in_backticks(roles)));
            }
        }
        lines
    }
}

fn line(privileges: &str, on: &str, to: &str, granted: PrivilegeSet) -> String {
    let option = match granted.has(Privilege::Grant) {
        true => " WITH GRANT OPTION",
        false => "",
    };
    format!("GRANT {privileges} ON {on} {to}{option}")
}

/// `all`: the set that is ALL PRIVILEGES; those on everything are listed one by one.
fn listed(granted: PrivilegeSet, all: PrivilegeSet) -> String {
    let granted = granted - PrivilegeSet::GRANT;
    match granted {
        _ if granted.is_empty() => "USAGE".to_owned(),
        _ if granted == all => "ALL PRIVILEGES".to_owned(),
        _ => granted.to_string(),
    }
}

/// Each privilege on the table, then on which columns.
fn listed_with_columns(granted: &TablePrivileges) -> String {
    let table = granted.table - PrivilegeSet::GRANT;
    if granted.columns.is_empty() || table == PrivilegeSet::TABLE {
        return listed(table, PrivilegeSet::TABLE);
    }
    let mut parts = Vec::new();
    for privilege in (table | granted.of_columns()).iter() {
        if table.has(privilege) {
            parts.push(privilege.name().to_owned());
        }
        let with_it = granted
            .columns
            .iter()
            .filter(|(_, granted)| granted.has(privilege));
        let columns: Vec<String> = with_it.map(|(column, _)| in_backticks(column)).collect();
        if !columns.is_empty() {
            parts.push(format!("{} ({})", privilege.name(), columns.join(", ")));
        }
    }
    parts.join(", ")
}

fn in_backticks(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
