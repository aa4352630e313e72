//! CREATE, ALTER, DROP and RENAME USER, CREATE and DROP ROLE.

use types::{Error, Result, errno};

use super::Parser;
use crate::ast::{
    AccountOptions, Roles, SecondPassword, Statement, TlsRequirement, UserSpec, UserStatement, current_user,
};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// The host of an account that is written without one: any host.
pub(super) const ANY_HOST: &str = "%";

pub fn create_user(parser: &mut Parser<'_>) -> Result<Statement> {
    let if_not_exists = parser.if_not_exists()?;
    let mut users = parser.comma_separated(new_user_spec)?;
    user_options(parser, &mut users)?;
    Ok(Statement::User(UserStatement::Create { users, if_not_exists }))
}

pub fn alter_user(parser: &mut Parser<'_>) -> Result<Statement> {
    let if_exists = parser.if_exists()?;
    let mut users = parser.comma_separated(user_spec)?;
    user_options(parser, &mut users)?;
    Ok(Statement::User(UserStatement::Alter { users, if_exists }))
}

pub fn drop_user(parser: &mut Parser<'_>) -> Result<Statement> {
    let if_exists = parser.if_exists()?;
    let users = parser.comma_separated(account_name)?;
    Ok(Statement::User(UserStatement::Drop { users, if_exists }))
}

/// RENAME has been taken.
pub fn rename_user(parser: &mut Parser<'_>) -> Result<Statement> {
    parser.expect(Kw::USER)?;
    let renames = parser.comma_separated(|parser| {
        let from = account_name(parser)?;
        parser.expect(Kw::TO)?;
        Ok((from, account_name(parser)?))
    })?;
    Ok(Statement::User(UserStatement::Rename(renames)))
}

pub fn create_role(parser: &mut Parser<'_>) -> Result<Statement> {
    let if_not_exists = parser.if_not_exists()?;
    let roles = parser.comma_separated(role_name)?;
    Ok(Statement::User(UserStatement::CreateRole {
        roles,
        if_not_exists,
    }))
}

pub fn drop_role(parser: &mut Parser<'_>) -> Result<Statement> {
    let if_exists = parser.if_exists()?;
    let roles = parser.comma_separated(role_name)?;
    Ok(Statement::User(UserStatement::DropRole { roles, if_exists }))
}

/// Words that are no names of roles without quotes.
const NO_ROLES: &[Kw] = &[
    Kw::EVENT,
    Kw::EXECUTE,
    Kw::FILE,
    Kw::NONE,
    Kw::PROCESS,
    Kw::PROXY,
    Kw::RELOAD,
    Kw::REPLICATION,
    Kw::RESOURCE,
    Kw::RESTART,
    Kw::SHUTDOWN,
    Kw::SUPER,
];

/// Whether a role of this name needs quotes.
pub fn is_no_role(parser: &Parser<'_>) -> bool {
    parser.is_any(NO_ROLES)
}

/// A role: an account, whose name is not one of [`NO_ROLES`].
fn role_name(parser: &mut Parser<'_>) -> Result<(String, String)> {
    match is_no_role(parser) {
        true => parser.fail(),
        false => account_name(parser),
    }
}

const USER_CHARS_MAX: usize = 32;
const HOST_CHARS_MAX: usize = 255;

/// `user[@host]` or `CURRENT_USER()`.
pub fn account_name(parser: &mut Parser<'_>) -> Result<(String, String)> {
    if parser.eat(Kw::CURRENT_USER)
        || (parser.is(Kw::USER) && parser.peek().kind == Kind::LeftParen && parser.eat(Kw::USER))
    {
        if parser.eat_kind(Kind::LeftParen) {
            parser.expect_kind(Kind::RightParen)?;
        }
        return Ok(current_user());
    }
    let user = user_name(parser)?;
    types::name::check_text(&user, USER_CHARS_MAX, "user name")?;
    if !parser.eat_kind(Kind::At) {
        return Ok((user, ANY_HOST.into()));
    }
    let host = host_name(parser)?;
    types::name::check_text(&host, HOST_CHARS_MAX, "host name")?;
    match host.chars().find(|c| matches!(c, '@' | '\0')) {
        Some(symbol) => Err(Error::new(
            errno::ER_UNKNOWN_ERROR,
            format!("Malformed hostname (illegal symbol: '{symbol}')"),
        )),
        None => Ok((user, host.to_lowercase())),
    }
}

/// A user's name may be longer than other names in the grammar, and has a limit and an error of its own.
fn user_name(parser: &mut Parser<'_>) -> Result<String> {
    match parser.kind() {
        Kind::Text => parser.text_literal(),
        _ => parser.alias_name(),
    }
}

/// The host, after the @. It is empty unless it begins at once.
fn host_name(parser: &mut Parser<'_>) -> Result<String> {
    if parser.start() != parser.previous_end() {
        return Ok(String::new());
    }
    match parser.kind() {
        Kind::Text => parser.text_literal(),
        Kind::QuotedWord => {
            let host = parser.quoted_name();
            parser.advance();
            Ok(host)
        }
        // An unquoted host may contain points and digits: `a@127.0.0.1`.
        Kind::Word | Kind::Integer | Kind::Decimal => {
            let start = parser.start();
            parser.advance();
            while parser.start() == parser.previous_end()
                && matches!(
                    parser.kind(),
                    Kind::Word | Kind::Integer | Kind::Decimal | Kind::Dot
                )
            {
                parser.advance();
            }
            Ok(parser.source(start, parser.previous_end()).to_string())
        }
        _ if parser.at_statement_end() => Ok(String::new()),
        _ => parser.fail(),
    }
}

/// A new account has no password to be replaced or retained.
fn new_user_spec(parser: &mut Parser<'_>) -> Result<UserSpec> {
    let spec = user_spec(parser)?;
    match spec.current_password.is_some() || spec.second_password != SecondPassword::Keep {
        true => parser.fail(),
        false => Ok(spec),
    }
}

fn user_spec(parser: &mut Parser<'_>) -> Result<UserSpec> {
    let spec = first_factor(parser)?;
    refuse_factors(parser)?;
    Ok(spec)
}

/// What MySQL says about a second and a third factor.
fn refuse_factors(parser: &Parser<'_>) -> Result<()> {
    let another = parser.is(Kw::AND) && parser.peek_is(Kw::IDENTIFIED);
    let registration = parser.kind() == Kind::Integer && parser.peek_is(Kw::FACTOR);
    let changed =
        parser.is_any(&[Kw::ADD, Kw::MODIFY, Kw::DROP]) && parser.peek_two().1.keyword == Some(Kw::FACTOR);
    let initial = parser.is(Kw::INITIAL) && parser.peek_is(Kw::AUTHENTICATION);
    match another || registration || changed || initial {
        true => Err(Error::not_supported(
            "accounts with several factors",
            "use one password, and REQUIRE X509 for a certificate beside it",
        )),
        false => Ok(()),
    }
}

fn first_factor(parser: &mut Parser<'_>) -> Result<UserSpec> {
    let (user, host) = account_name(parser)?;
    let mut spec = UserSpec {
        user,
        host,
        ..UserSpec::default()
    };
    if parser.eat_all(&[Kw::DISCARD, Kw::OLD, Kw::PASSWORD]) {
        spec.second_password = SecondPassword::Discard;
        return Ok(spec);
    }
    if !parser.eat(Kw::IDENTIFIED) {
        return Ok(spec);
    }
    if parser.eat(Kw::WITH) {
        spec.plugin = Some(parser.name_or_text()?);
        if parser.eat(Kw::AS) {
            spec.hash = Some(hash(parser)?);
            retained(parser, &mut spec)?;
            return Ok(spec);
        }
        if !parser.eat(Kw::BY) {
            return Ok(spec);
        }
    } else {
        parser.expect(Kw::BY)?;
    }
    match parser.eat_all(&[Kw::RANDOM, Kw::PASSWORD]) {
        true => spec.is_random = true,
        false => spec.password = Some(parser.text_literal()?),
    }
    retained(parser, &mut spec)?;
    Ok(spec)
}

/// `[REPLACE 'current password'] [RETAIN CURRENT PASSWORD]`
pub fn retained(parser: &mut Parser<'_>, spec: &mut UserSpec) -> Result<()> {
    if parser.eat(Kw::REPLACE) {
        spec.current_password = Some(parser.text_literal()?);
    }
    if parser.eat_all(&[Kw::RETAIN, Kw::CURRENT, Kw::PASSWORD]) {
        spec.second_password = SecondPassword::Retain;
    }
    Ok(())
}

/// A stored hash, as text or as hexadecimal digits.
fn hash(parser: &mut Parser<'_>) -> Result<String> {
    if parser.kind() == Kind::Hex {
        let bytes = super::literal::hex_bytes(parser.word());
        parser.advance();
        // One character per byte, so that bytes that are not UTF-8 are not lost.
        return Ok(bytes.into_iter().map(char::from).collect());
    }
    parser.text_literal()
}

/// The options after the list of accounts. They apply to each account.
fn user_options(parser: &mut Parser<'_>, users: &mut [UserSpec]) -> Result<()> {
    let (mut locked, mut roles) = (None, None);
    let mut options = AccountOptions::default();
    while !parser.at_statement_end() {
        if parser.eat_all(&[Kw::ACCOUNT, Kw::LOCK]) {
            locked = Some(true);
        } else if parser.eat_all(&[Kw::ACCOUNT, Kw::UNLOCK]) {
            locked = Some(false);
        } else if parser.eat_all(&[Kw::DEFAULT, Kw::ROLE]) {
            roles = Some(role_list(parser)?);
        } else if parser.eat(Kw::REQUIRE) {
            options.tls = Some(requirement(parser)?);
        } else if parser.eat(Kw::WITH) {
            resource_limits(parser, &mut options)?;
        } else if parser.eat(Kw::PASSWORD) {
            password_option(parser, &mut options)?;
        } else if parser.eat(Kw::FAILED_LOGIN_ATTEMPTS) {
            options.failed_logins = Some(days(parser, "FAILED_LOGIN_ATTEMPTS", LOCK_MAX)?);
        } else if parser.eat(Kw::PASSWORD_LOCK_TIME) {
            options.lock_days = Some(match parser.eat(Kw::UNBOUNDED) {
                true => -1,
                false => i32::from(days(parser, "PASSWORD_LOCK_TIME", LOCK_MAX)?),
            });
        } else if parser.eat(Kw::COMMENT) {
            options.comment = Some(parser.text_literal()?);
            break;
        } else if parser.eat(Kw::ATTRIBUTE) {
            options.attribute = Some(parser.text_literal()?);
            break;
        } else {
            return parser.fail();
        }
    }
    for user in users {
        user.locked = locked;
        user.default_roles.clone_from(&roles);
        user.options.clone_from(&options);
    }
    Ok(())
}

/// `NONE | SSL | X509 | {CIPHER | ISSUER | SUBJECT} text [[AND] ...]`
fn requirement(parser: &mut Parser<'_>) -> Result<TlsRequirement> {
    for (keyword, requirement) in [
        (Kw::NONE, TlsRequirement::None),
        (Kw::SSL, TlsRequirement::Ssl),
        (Kw::X509, TlsRequirement::X509),
    ] {
        if parser.eat(keyword) {
            return Ok(requirement);
        }
    }
    let (mut cipher, mut issuer, mut subject) = (None, None, None);
    while let Some(keyword) = parser.eat_any(&[Kw::CIPHER, Kw::ISSUER, Kw::SUBJECT]) {
        let (option, name) = match keyword {
            Kw::CIPHER => (&mut cipher, "CIPHER"),
            Kw::ISSUER => (&mut issuer, "ISSUER"),
            _ => (&mut subject, "SUBJECT"),
        };
        if option.replace(parser.text_literal()?).is_some() {
            return Err(Error::new(
                errno::ER_DUP_ARGUMENT,
                format!("Option '{name}' used twice in statement"),
            ));
        }
        if parser.eat(Kw::AND) && !parser.is_any(&[Kw::CIPHER, Kw::ISSUER, Kw::SUBJECT]) {
            return parser.fail();
        }
    }
    if cipher.is_none() && issuer.is_none() && subject.is_none() {
        return parser.fail();
    }
    Ok(TlsRequirement::Specified {
        cipher,
        issuer,
        subject,
    })
}

fn resource_limits(parser: &mut Parser<'_>, options: &mut AccountOptions) -> Result<()> {
    let mut found = false;
    loop {
        let limit = if parser.eat(Kw::MAX_QUERIES_PER_HOUR) {
            &mut options.max_queries
        } else if parser.eat(Kw::MAX_UPDATES_PER_HOUR) {
            &mut options.max_updates
        } else if parser.eat(Kw::MAX_CONNECTIONS_PER_HOUR) {
            &mut options.max_connections
        } else if parser.eat(Kw::MAX_USER_CONNECTIONS) {
            &mut options.max_user_connections
        } else if found {
            return Ok(());
        } else {
            return parser.fail();
        };
        *limit = Some(parser.unsigned_32()?);
        found = true;
    }
}

/// PASSWORD has been taken. Of several clauses about the expiry, the last one counts.
fn password_option(parser: &mut Parser<'_>, options: &mut AccountOptions) -> Result<()> {
    if parser.eat(Kw::EXPIRE) {
        (options.expires_now, options.password_days) = (false, None);
        if parser.eat(Kw::INTERVAL) {
            let days = days(parser, "DAY", u16::MAX)?;
            parser.expect(Kw::DAY)?;
            if days == 0 {
                return Err(wrong_value("DAY", 0));
            }
            options.password_days = Some(Some(days));
        } else if parser.eat(Kw::NEVER) {
            options.password_days = Some(Some(0));
        } else if parser.eat(Kw::DEFAULT) {
            options.password_days = Some(None);
        } else {
            options.expires_now = true;
        }
    } else if parser.eat(Kw::HISTORY) {
        options.history = Some(match parser.eat(Kw::DEFAULT) {
            true => None,
            false => Some(days(parser, "PASSWORD HISTORY", u16::MAX)?),
        });
    } else if parser.eat_all(&[Kw::REUSE, Kw::INTERVAL]) {
        options.reuse_days = Some(match parser.eat(Kw::DEFAULT) {
            true => None,
            false => {
                let days = days(parser, "DAY", u16::MAX)?;
                parser.expect(Kw::DAY)?;
                Some(days)
            }
        });
    } else {
        parser.expect(Kw::REQUIRE)?;
        parser.expect(Kw::CURRENT)?;
        options.requires_current = Some(if parser.eat(Kw::DEFAULT) {
            None
        } else {
            Some(!parser.eat(Kw::OPTIONAL))
        });
    }
    Ok(())
}

fn days(parser: &mut Parser<'_>, what: &str, most: u16) -> Result<u16> {
    let days = parser.unsigned()?;
    let fits = u16::try_from(days).ok().filter(|days| *days <= most);
    fits.ok_or_else(|| wrong_value(what, days))
}

const ER_WRONG_VALUE: u16 = 1525;

/// The maximum of FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
const LOCK_MAX: u16 = 32767;

fn wrong_value(what: &str, value: u64) -> Error {
    Error::new(ER_WRONG_VALUE, format!("Incorrect {what} value: '{value}'"))
}

/// `DEFAULT | NONE | ALL [EXCEPT role, ...] | role, ...`.
pub fn active_roles(parser: &mut Parser<'_>) -> Result<Roles> {
    if parser.eat(Kw::DEFAULT) {
        return Ok(Roles::Default);
    }
    Ok(match role_list(parser)? {
        Roles::All if parser.eat(Kw::EXCEPT) => Roles::AllExcept(parser.comma_separated(role_name)?),
        roles => roles,
    })
}

/// `NONE | ALL | role, ...`.
pub fn role_list(parser: &mut Parser<'_>) -> Result<Roles> {
    if parser.eat(Kw::NONE) {
        return Ok(Roles::None);
    }
    if parser.eat(Kw::ALL) {
        return Ok(Roles::All);
    }
    Ok(Roles::List(parser.comma_separated(role_name)?))
}
