//! GRANT and REVOKE, of privileges and of roles.

use types::{Error, Result};

use super::Parser;
use super::account::ANY_HOST;
use crate::ast::{
    AccountName, Grant, GrantTarget, GrantedPrivilege, GrantedPrivileges, ObjectName, Revoke, Statement,
    UserStatement,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

const ER_ILLEGAL_PRIVILEGE_LEVEL: u16 = 3619;

/// Privileges whose names have several words. A word that is not followed by one of its list stands alone,
/// where it may.
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

/// One of the things that GRANT lists, which is a privilege if ON follows the list, else a role.
enum Item {
    /// A role for sure: its name is in quotes or has a host.
    Role(AccountName),
    Privilege {
        privilege: GrantedPrivilege,
        /// Where it stands in the statement, and the role that it may be.
        start: usize,
        role: Option<String>,
    },
}

impl Parser<'_> {
    pub fn grant(&mut self) -> Result<Statement> {
        self.advance();
        self.refuse_proxy()?;
        let Some(privileges) = self.all_privileges()? else {
            let items = self.comma_separated(Self::granted_item)?;
            return match self.is(Kw::ON) {
                true => self.grant_on(GrantedPrivileges::List(listed(items)?)),
                false => self.grant_roles(items),
            };
        };
        self.grant_on(privileges)
    }

    fn grant_on(&mut self, privileges: GrantedPrivileges) -> Result<Statement> {
        self.expect(Kw::ON)?;
        let on = self.grant_target()?;
        self.expect(Kw::TO)?;
        let users = self.comma_separated(Self::account_name)?;
        let grant_option = self.eat_all(&[Kw::WITH, Kw::GRANT, Kw::OPTION]);
        if self.is(Kw::AS) {
            return Err(Error::not_supported("GRANT ... AS", "grant as that account"));
        }
        Ok(Statement::Grant(Box::new(Grant {
            privileges,
            on,
            users,
            grant_option,
        })))
    }

    fn grant_roles(&mut self, items: Vec<Item>) -> Result<Statement> {
        let roles = roles(self, items)?;
        self.expect(Kw::TO)?;
        let to = self.comma_separated(Self::account_name)?;
        let with_admin = self.eat_all(&[Kw::WITH, Kw::ADMIN, Kw::OPTION]);
        Ok(Statement::User(UserStatement::GrantRoles {
            roles,
            to,
            with_admin,
        }))
    }

    pub fn revoke(&mut self) -> Result<Statement> {
        self.advance();
        let if_exists = self.if_exists()?;
        self.refuse_proxy()?;
        let what = if let Some(all) = self.all_privileges()? {
            match self.eat_kind(Kind::Comma) {
                true => {
                    self.expect(Kw::GRANT)?;
                    self.expect(Kw::OPTION)?;
                    None
                }
                false => {
                    self.expect(Kw::ON)?;
                    Some((all, self.grant_target()?))
                }
            }
        } else {
            let items = self.comma_separated(Self::granted_item)?;
            if !self.eat(Kw::ON) {
                return self.revoke_roles(items, if_exists);
            }
            let privileges = GrantedPrivileges::List(listed(items)?);
            Some((privileges, self.grant_target()?))
        };
        self.expect(Kw::FROM)?;
        let users = self.comma_separated(Self::account_name)?;
        Ok(Statement::Revoke(Box::new(Revoke {
            what,
            users,
            if_exists,
            ignore_unknown: self.eat_all(&[Kw::IGNORE, Kw::UNKNOWN, Kw::USER]),
        })))
    }

    fn revoke_roles(&mut self, items: Vec<Item>, if_exists: bool) -> Result<Statement> {
        let roles = roles(self, items)?;
        self.expect(Kw::FROM)?;
        let from = self.comma_separated(Self::account_name)?;
        Ok(Statement::User(UserStatement::RevokeRoles {
            roles,
            from,
            if_exists,
            ignore_unknown: self.eat_all(&[Kw::IGNORE, Kw::UNKNOWN, Kw::USER]),
        }))
    }

    fn refuse_proxy(&self) -> Result<()> {
        if self.is(Kw::PROXY) && self.peek().keyword == Some(Kw::ON) {
            return Err(Error::not_supported(
                "proxy users",
                "grant the privileges to the account that logs in",
            ));
        }
        Ok(())
    }

    /// `ALL [PRIVILEGES]`.
    fn all_privileges(&mut self) -> Result<Option<GrantedPrivileges>> {
        if !self.eat(Kw::ALL) {
            return Ok(None);
        }
        self.eat(Kw::PRIVILEGES);
        Ok(Some(GrantedPrivileges::All))
    }

    fn granted_item(&mut self) -> Result<Item> {
        let has_host = self.peek().kind == Kind::At;
        if self.kind() != Kind::Word || has_host {
            return Ok(Item::Role(self.account_name()?));
        }
        let start = self.start();
        let role = (!self.is_reserved()).then(|| self.word().to_string());
        let (name, is_long) = self.privilege_name()?;
        let may_have_columns = matches!(name.as_str(), "SELECT" | "INSERT" | "UPDATE" | "REFERENCES");
        let columns = match may_have_columns && self.eat_kind(Kind::LeftParen) {
            true => {
                let columns = self.comma_separated(Self::name)?;
                self.expect_kind(Kind::RightParen)?;
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
    fn privilege_name(&mut self) -> Result<(String, bool)> {
        let first = self.word().to_uppercase();
        let long = LONG_NAMES.iter().find(|(word, ..)| self.is(*word));
        self.advance();
        let Some((_, stands_alone, others)) = long else {
            return Ok((first, false));
        };
        for words in *others {
            if self.eat_all(words) {
                let rest: Vec<&str> = words.iter().map(|word| word.text()).collect();
                return Ok((format!("{first} {}", rest.join(" ").to_uppercase()), true));
            }
        }
        match stands_alone {
            true => Ok((first, false)),
            false => self.fail(),
        }
    }

    fn grant_target(&mut self) -> Result<GrantTarget> {
        for (word, kind) in [(Kw::FUNCTION, "FUNCTION"), (Kw::PROCEDURE, "PROCEDURE")] {
            if self.eat(word) {
                let name = self.object_name()?;
                return Ok(GrantTarget::Routine { kind, name });
            }
        }
        self.eat(Kw::TABLE);
        if self.eat_kind(Kind::Star) {
            if !self.eat_kind(Kind::Dot) {
                return Ok(GrantTarget::Database(None));
            }
            self.expect_kind(Kind::Star)?;
            return Ok(GrantTarget::Everything);
        }
        let first = self.database_name()?;
        if !self.eat_kind(Kind::Dot) {
            return Ok(GrantTarget::Table(ObjectName {
                database: None,
                name: first,
            }));
        }
        if self.eat_kind(Kind::Star) {
            return Ok(GrantTarget::Database(Some(first)));
        }
        Ok(GrantTarget::Table(ObjectName {
            database: Some(first),
            name: self.name_behind_point()?,
        }))
    }
}

/// The items of a list that is about privileges.
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

/// The items of a list that is about roles.
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
