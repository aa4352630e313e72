//! GRANT and REVOKE, of privileges and of roles.

use types::{Error, Result};

use super::account::ANY_HOST;
use super::{Parser, account};
use crate::ast::{
    AccountName, Grant, GrantAs, GrantTarget, GrantedPrivilege, GrantedPrivileges, ObjectName, Revoke, Roles,
    Statement, UserStatement,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

const ER_ILLEGAL_PRIVILEGE_LEVEL: u16 = 3619;

/// Privileges whose names have several words: the first word, whether it is also a privilege by itself, and
/// the words that may follow it.
const LONG_NAMES: &[(Kw, bool, &[&[Kw]])] = &[
    (
        Kw::CREATE,
        true,
        &[
            &[Kw::TEMPORARY, Kw::TABLES],
            &[Kw::VIEW],
            &[Kw::USER],
            &[Kw::ROUTINE],
            &[Kw::TABLESPACE],
            &[Kw::ROLE],
        ],
    ),
    (Kw::ALTER, true, &[&[Kw::ROUTINE]]),
    (Kw::DROP, true, &[&[Kw::ROLE]]),
    (Kw::SHOW, false, &[&[Kw::DATABASES], &[Kw::VIEW]]),
    (Kw::LOCK, false, &[&[Kw::TABLES]]),
    (Kw::REPLICATION, false, &[&[Kw::SLAVE], &[Kw::CLIENT]]),
    (Kw::GRANT, false, &[&[Kw::OPTION]]),
];

/// An item of the list of GRANT or REVOKE. It is a privilege if ON follows the list, else a role.
enum Item {
    /// Certainly a role: its name is in quotes or has a host.
    Role(AccountName),
    Privilege {
        privilege: GrantedPrivilege,
        /// Its position in the statement, and the role that it may be.
        start: usize,
        role: Option<String>,
    },
}

pub fn grant(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    refuse_proxy(parser)?;
    let Some(privileges) = all_privileges(parser)? else {
        let items = parser.comma_separated(granted_item)?;
        return match parser.is(Kw::ON) {
            true => grant_on(parser, GrantedPrivileges::List(listed(items)?)),
            false => grant_roles(parser, items),
        };
    };
    grant_on(parser, privileges)
}

fn grant_on(parser: &mut Parser<'_>, privileges: GrantedPrivileges) -> Result<Statement> {
    parser.expect(Kw::ON)?;
    let on = grant_target(parser)?;
    parser.expect(Kw::TO)?;
    let users = parser.comma_separated(account::account_name)?;
    let grant_option = parser.eat_all(&[Kw::WITH, Kw::GRANT, Kw::OPTION]);
    let grantor = grant_as(parser)?;
    Ok(Statement::Grant(Box::new(Grant {
        privileges,
        on,
        users,
        grant_option,
        grantor,
    })))
}

/// `[AS user [WITH ROLE ...]]`
fn grant_as(parser: &mut Parser<'_>) -> Result<Option<GrantAs>> {
    if !parser.eat(Kw::AS) {
        return Ok(None);
    }
    let user = account::account_name(parser)?;
    let roles = match parser.eat_all(&[Kw::WITH, Kw::ROLE]) {
        true => account::active_roles(parser)?,
        false => Roles::None,
    };
    Ok(Some(GrantAs { user, roles }))
}

fn grant_roles(parser: &mut Parser<'_>, items: Vec<Item>) -> Result<Statement> {
    let roles = roles(parser, items)?;
    parser.expect(Kw::TO)?;
    let to = parser.comma_separated(account::account_name)?;
    let with_admin = parser.eat_all(&[Kw::WITH, Kw::ADMIN, Kw::OPTION]);
    Ok(Statement::User(UserStatement::GrantRoles {
        roles,
        to,
        with_admin,
    }))
}

pub fn revoke(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.advance();
    let if_exists = parser.if_exists()?;
    refuse_proxy(parser)?;
    let what = if let Some(all) = all_privileges(parser)? {
        match parser.eat_kind(Kind::Comma) {
            true => {
                parser.expect(Kw::GRANT)?;
                parser.expect(Kw::OPTION)?;
                None
            }
            false => {
                parser.expect(Kw::ON)?;
                Some((all, grant_target(parser)?))
            }
        }
    } else {
        let items = parser.comma_separated(granted_item)?;
        if !parser.eat(Kw::ON) {
            return revoke_roles(parser, items, if_exists);
        }
        let privileges = GrantedPrivileges::List(listed(items)?);
        Some((privileges, grant_target(parser)?))
    };
    parser.expect(Kw::FROM)?;
    let users = parser.comma_separated(account::account_name)?;
    Ok(Statement::Revoke(Box::new(Revoke {
        what,
        users,
        if_exists,
        ignore_unknown: parser.eat_all(&[Kw::IGNORE, Kw::UNKNOWN, Kw::USER]),
    })))
}

fn revoke_roles(parser: &mut Parser<'_>, items: Vec<Item>, if_exists: bool) -> Result<Statement> {
    let roles = roles(parser, items)?;
    parser.expect(Kw::FROM)?;
    let from = parser.comma_separated(account::account_name)?;
    Ok(Statement::User(UserStatement::RevokeRoles {
        roles,
        from,
        if_exists,
        ignore_unknown: parser.eat_all(&[Kw::IGNORE, Kw::UNKNOWN, Kw::USER]),
    }))
}

fn refuse_proxy(parser: &Parser<'_>) -> Result<()> {
    if parser.is(Kw::PROXY) && parser.peek().keyword == Some(Kw::ON) {
        return Err(Error::not_supported(
            "proxy users",
            "grant the privileges to the account that logs in",
        ));
    }
    Ok(())
}

/// `ALL [PRIVILEGES]`.
fn all_privileges(parser: &mut Parser<'_>) -> Result<Option<GrantedPrivileges>> {
    if !parser.eat(Kw::ALL) {
        return Ok(None);
    }
    parser.eat(Kw::PRIVILEGES);
    Ok(Some(GrantedPrivileges::All))
}

fn granted_item(parser: &mut Parser<'_>) -> Result<Item> {
    let has_host = parser.peek().kind == Kind::At;
    if parser.kind() == Kind::Word && has_host && account::is_no_role(parser) {
        return parser.fail();
    }
    if parser.kind() != Kind::Word || has_host {
        return Ok(Item::Role(account::account_name(parser)?));
    }
    let start = parser.start();
    let is_role = !parser.is_reserved() && !account::is_no_role(parser);
    let role = is_role.then(|| parser.word().to_string());
    let (name, is_long) = privilege_name(parser)?;
    let may_have_columns = matches!(name.as_str(), "SELECT" | "INSERT" | "UPDATE" | "REFERENCES");
    let columns = match may_have_columns && parser.eat_kind(Kind::LeftParen) {
        true => {
            let columns = parser.comma_separated(Parser::name)?;
            parser.expect_kind(Kind::RightParen)?;
            columns
        }
        false => Vec::new(),
    };
    Ok(Item::Privilege {
        role: role.filter(|_| !is_long && columns.is_empty()),
        privilege: GrantedPrivilege { name, columns },
        start,
    })
}

/// A name, and whether it has several words.
fn privilege_name(parser: &mut Parser<'_>) -> Result<(String, bool)> {
    let first = parser.word().to_uppercase();
    let long = LONG_NAMES.iter().find(|(word, ..)| parser.is(*word));
    parser.advance();
    let Some((_, stands_alone, others)) = long else {
        return Ok((first, false));
    };
    for words in *others {
        if parser.eat_all(words) {
            let rest: Vec<&str> = words.iter().map(|word| word.text()).collect();
            return Ok((format!("{first} {}", rest.join(" ").to_uppercase()), true));
        }
    }
    match stands_alone {
        true => Ok((first, false)),
        false => parser.fail(),
    }
}

fn grant_target(parser: &mut Parser<'_>) -> Result<GrantTarget> {
    for (word, kind) in [(Kw::FUNCTION, "FUNCTION"), (Kw::PROCEDURE, "PROCEDURE")] {
        if parser.eat(word) {
            let name = parser.object_name()?;
            return Ok(GrantTarget::Routine { kind, name });
        }
    }
    parser.eat(Kw::TABLE);
    if parser.eat_kind(Kind::Star) {
        if !parser.eat_kind(Kind::Dot) {
            return Ok(GrantTarget::Database(None));
        }
        parser.expect_kind(Kind::Star)?;
        return Ok(GrantTarget::Everything);
    }
    let first = parser.database_name()?;
    if !parser.eat_kind(Kind::Dot) {
        return Ok(GrantTarget::Table(ObjectName {
            database: None,
            name: first,
        }));
    }
    if parser.eat_kind(Kind::Star) {
        return Ok(GrantTarget::Database(Some(first)));
    }
    Ok(GrantTarget::Table(ObjectName {
        database: Some(first),
        name: parser.name_behind_point()?,
    }))
}

/// The items as privileges.
fn listed(items: Vec<Item>) -> Result<Vec<GrantedPrivilege>> {
    items
        .into_iter()
        .map(|item| match item {
            Item::Privilege { privilege, .. } => Ok(privilege),
            Item::Role((user, _)) => Err(Error::new(
                ER_ILLEGAL_PRIVILEGE_LEVEL,
                format!("Illegal privilege level specified for {}", user.to_uppercase()),
            )),
        })
        .collect()
}

/// The items as roles.
fn roles(parser: &Parser<'_>, items: Vec<Item>) -> Result<Vec<AccountName>> {
    items
        .into_iter()
        .map(|item| match item {
            Item::Role(name) => Ok(name),
            Item::Privilege { role: Some(role), .. } => Ok((role, ANY_HOST.to_owned())),
            Item::Privilege { start, .. } => {
                let error = parser.error_at(start);
                let near = error
                    .message
                    .find(" near '")
                    .map_or("", |at| &error.message[at..]);
                Err(Error::new(
                    error.code,
                    format!("Illegal authorization identifier{near}"),
                ))
            }
        })
        .collect()
}
