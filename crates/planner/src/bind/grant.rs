//! GRANT and REVOKE: which privileges, on what.

use schema::privilege::{DYNAMIC_PRIVILEGES, GrantLevel, Privilege, PrivilegeGrant, PrivilegeSet};
use syntax::ast::{AccountName, Grant, GrantTarget, GrantedPrivilege, GrantedPrivileges, Revoke};
use types::{Error, Result, Warning, errno};

use super::Binder;
use crate::command::Command;

const ER_SYNTAX_ERROR: u16 = 1149;
const ER_NONEXISTING_PROC_GRANT: u16 = 1403;
const ER_ILLEGAL_PRIVILEGE_LEVEL: u16 = 3619;
const ER_UNSUPPORTED_USE_OF_GRANT_AS: u16 = 3835;
const ER_DYNAMIC_PRIVILEGE_NOT_REGISTERED: u16 = 3929;

pub(super) fn bind_grant(binder: &Binder<'_>, grant: &Grant) -> Result<Command> {
    let mut bound = privilege_grant(binder, &grant.privileges, &grant.on)?;
    if let Some(unknown) = unknown_dynamic(&bound) {
        return Err(unknown);
    }
    check_granted_table(binder, &bound)?;
    if grant.grant_option {
        bound.privileges |= PrivilegeSet::GRANT;
    }
    if grant.grantor.is_some() && bound.level != GrantLevel::Global {
        return Err(Error::new(
            ER_UNSUPPORTED_USE_OF_GRANT_AS,
            "GRANT ... AS is currently supported only for global privileges.",
        ));
    }
    Ok(Command::Grant {
        grant: bound,
        users: grant.users.clone(),
        grantor: grant.grantor.clone(),
    })
}

pub(super) fn bind_revoke(binder: &Binder<'_>, revoke: &Revoke) -> Result<Command> {
    let what = match &revoke.what {
        None => None,
        Some((_, GrantTarget::Routine { name, .. })) => {
            return Err(no_routine_grant(&binder.table_name(name)?.name, &revoke.users));
        }
        Some((privileges, on)) => {
            let bound = privilege_grant(binder, privileges, on)?;
            let unknown = bound.dynamic.iter().filter(|name| !is_registered(name));
            // One for each account.
            for name in revoke.users.iter().flat_map(|_| unknown.clone()) {
                binder.warn(Warning::warning(
                    ER_DYNAMIC_PRIVILEGE_NOT_REGISTERED,
                    format!("Dynamic privilege '{name}' is not registered with the server."),
                ));
            }
            Some(bound)
        }
    };
    Ok(Command::Revoke {
        what,
        users: revoke.users.clone(),
        if_exists: revoke.if_exists,
        ignore_unknown: revoke.ignore_unknown,
    })
}

/// The error of REVOKE for a routine: nobody has privileges on it, since there are none.
fn no_routine_grant(routine: &str, users: &[AccountName]) -> Error {
    let (user, host) = users.first().cloned().unwrap_or_default();
    Error::new(
        ER_NONEXISTING_PROC_GRANT,
        format!("There is no such grant defined for user '{user}' on host '{host}' on routine '{routine}'"),
    )
}

/// # Errors
/// 1144, 1221 or 3619 for a privilege that the level does not have, 1046 without a default database, 1305 for
/// a routine: there are none.
fn privilege_grant(
    binder: &Binder<'_>,
    privileges: &GrantedPrivileges,
    on: &GrantTarget,
) -> Result<PrivilegeGrant> {
    let mut bound = PrivilegeGrant {
        all: *privileges == GrantedPrivileges::All,
        privileges: PrivilegeSet::NONE,
        lists_option: false,
        dynamic: Vec::new(),
        columns: Vec::new(),
        level: grant_level(binder, on)?,
    };
    if let GrantedPrivileges::List(list) = privileges {
        list.iter().try_for_each(|one| add(&mut bound, one))?;
        bound.lists_option = bound.privileges.contains(PrivilegeSet::GRANT);
        if list.iter().any(|one| one.name == "SUPER") {
            let message = "The SUPER privilege identifier is deprecated";
            binder.warn(Warning::warning(errno::ER_WARN_DEPRECATED_SYNTAX, message));
        }
    }
    check_level(&bound)?;
    Ok(bound)
}

fn grant_level(binder: &Binder<'_>, on: &GrantTarget) -> Result<GrantLevel> {
    Ok(match on {
        GrantTarget::Everything => GrantLevel::Global,
        GrantTarget::Database(name) => GrantLevel::Database(binder.database(name.as_deref())?),
        GrantTarget::Table(name) => GrantLevel::Table(binder.table_name(name)?),
        GrantTarget::Routine { kind, name } => {
            let name = binder.table_name(name)?;
            return Err(Error::new(
                errno::ER_SP_DOES_NOT_EXIST,
                format!("{kind} {} does not exist", name.name),
            ));
        }
    })
}

/// Privileges on a table that does not exist can be granted only together with CREATE.
fn check_granted_table(binder: &Binder<'_>, grant: &PrivilegeGrant) -> Result<()> {
    let GrantLevel::Table(name) = &grant.level else {
        return Ok(());
    };
    if grant.privileges.has(Privilege::Create) {
        return Ok(());
    }
    let table = binder.env.schema.require_table(&name.database, &name.name)?;
    match grant
        .columns
        .iter()
        .find(|(column, _)| table.public_column(column).is_none())
    {
        None => Ok(()),
        Some((column, _)) => Err(Error::new(
            errno::ER_BAD_FIELD_ERROR,
            format!("Unknown column '{column}' in '{}'", name.name),
        )),
    }
}

fn add(bound: &mut PrivilegeGrant, one: &GrantedPrivilege) -> Result<()> {
    if one.name == "USAGE" {
        return Ok(());
    }
    let Some(privilege) = Privilege::of_name(&one.name) else {
        bound.dynamic.push(one.name.clone());
        return Ok(());
    };
    if one.columns.is_empty() {
        bound.privileges |= privilege.into();
    }
    for column in &one.columns {
        match bound
            .columns
            .iter_mut()
            .find(|(known, _)| types::same_name(known, column))
        {
            Some((_, privileges)) => *privileges |= privilege.into(),
            None => bound.columns.push((column.clone(), privilege.into())),
        }
    }
    Ok(())
}

fn check_level(bound: &PrivilegeGrant) -> Result<()> {
    let illegal = || {
        Error::new(
            errno::ER_ILLEGAL_GRANT_FOR_TABLE,
            "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used",
        )
    };
    if bound.level != GrantLevel::Global
        && let Some(name) = bound.dynamic.first()
    {
        let about = match &bound.level {
            GrantLevel::Table(table) => &table.name,
            _ => name,
        };
        return Err(Error::new(
            ER_ILLEGAL_PRIVILEGE_LEVEL,
            format!("Illegal privilege level specified for {about}"),
        ));
    }
    let within = |level: PrivilegeSet| (level | PrivilegeSet::GRANT).contains(bound.privileges);
    match &bound.level {
        GrantLevel::Table(_) if !within(PrivilegeSet::TABLE) => Err(illegal()),
        GrantLevel::Table(_) => Ok(()),
        _ if !bound.columns.is_empty() => Err(illegal()),
        GrantLevel::Database(_) if !within(PrivilegeSet::DATABASE) => Err(Error::new(
            errno::ER_WRONG_USAGE,
            "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES",
        )),
        _ => Ok(()),
    }
}

fn is_registered(name: &str) -> bool {
    DYNAMIC_PRIVILEGES.contains(&name)
}

fn unknown_dynamic(bound: &PrivilegeGrant) -> Option<Error> {
    let is_known = bound.dynamic.iter().all(|name| is_registered(name));
    (!is_known).then(|| {
        Error::new(
            ER_SYNTAX_ERROR,
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the \
             right syntax to use",
        )
    })
}
