//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD, roles. Privileges: [`super::grant`].
//!
//! `accounts` stores what they change.

use accounts::change::{AccountChange, Leniency, NewPassword, SecondPassword};
use accounts::{
    AccountName, Accounts, CACHING_SHA2_PASSWORD, OptionChanges, RequiredCertificate, TlsRequirement,
};
use planner::command::Command;
use schema::privilege::Privilege;
use syntax::ast::{self, AccountOptions, Roles, UserSpec, UserStatement};
use types::{Error, Result, SqlType, Value, Warning, errno};
use wire::auth::Plugin;

use crate::client::Client;
use crate::instance_lock::accounts_to_change;
use crate::listing::{Listing, text_type};
use crate::session::Session;

/// The width of names in the result of a statement that makes passwords.
const NAME_CHARS: u32 = 255;
const RANDOM_LENGTH: &str = "generated_random_password_length";

const ER_PASSWORD_EXPIRE_ANONYMOUS_USER: u16 = 3016;
const ER_INCORRECT_CURRENT_PASSWORD: u16 = 3891;
const ER_MISSING_CURRENT_PASSWORD: u16 = 3892;
const ER_CURRENT_PASSWORD_NOT_REQUIRED: u16 = 3893;

/// Runs a statement about accounts.
pub fn run(session: &mut Session, command: &Command) -> Result<()> {
    let warnings = match command {
        Command::User(UserStatement::SetRole(roles)) => {
            let roles = named_roles(&session.client, roles);
            session.client.set_roles(&roles)?;
            session.show_client();
            Vec::new()
        }
        Command::User(statement) => user_statement(session, statement)?,
        other => return Err(Error::internal(format_args!("no session statement: {other:?}"))),
    };
    session.diagnostics.add_all(warnings);
    match command {
        Command::User(UserStatement::SetRole(_)) => Ok(()),
        _ => tell_other_nodes(session),
    }
}

/// The other nodes use the changed accounts before the statement ends.
pub(super) fn tell_other_nodes(session: &mut Session) -> Result<()> {
    let silent = session.shared.accounts_changed(&session.process.interrupt)?;
    session.diagnostics.add_all(silent);
    Ok(())
}

fn user_statement(session: &Session, statement: &UserStatement) -> Result<Vec<Warning>> {
    let now_us = session.view().now_us();
    let client = &session.client;
    let accounts = &session.shared.catalog.accounts;
    match statement {
        UserStatement::Create { users, if_not_exists } => {
            create_users(session, users, *if_not_exists, now_us)
        }
        UserStatement::Alter { users, if_exists } => alter_users(session, users, *if_exists, now_us),
        UserStatement::Drop { users, if_exists } => drop_users(session, users, *if_exists),
        UserStatement::Rename(renames) => rename_users(session, renames),
        UserStatement::SetPassword(spec) => set_password(session, spec, now_us),
        UserStatement::CreateRole { roles, if_not_exists } => {
            let privileges = [Privilege::CreateUser, Privilege::CreateRole];
            client.check_any("CREATE USER, CREATE ROLE", &privileges, &[])?;
            accounts_to_change(session)?.create_roles(roles, *if_not_exists, now_us)
        }
        UserStatement::DropRole { roles, if_exists } => {
            let privileges = [Privilege::CreateUser, Privilege::DropRole];
            client.check_any("CREATE USER, DROP ROLE", &privileges, &[])?;
            check_system_users(session, roles)?;
            accounts.check_not_mandatory(roles)?;
            accounts_to_change(session)?.drop_users("DROP ROLE", roles, *if_exists)
        }
        UserStatement::SetRole(_) => Err(Error::internal("SET ROLE is executed by the session, not here")),
        UserStatement::SetDefaultRole { roles, users } => set_default_roles(session, roles, users),
        UserStatement::GrantRoles {
            roles,
            to,
            with_admin,
        } => {
            let to = named(client, to);
            check_gives_roles(client, roles)?;
            check_system_users(session, roles)?;
            check_system_users(session, &to)?;
            accounts_to_change(session)?
                .grant_roles(roles, &to, *with_admin)
                .map(|()| Vec::new())
        }
        UserStatement::RevokeRoles {
            roles,
            from,
            if_exists,
            ignore_unknown,
        } => {
            let from = named(client, from);
            check_gives_roles(client, roles)?;
            check_system_users(session, roles)?;
            check_system_users(session, &from)?;
            let leniency = Leniency {
                if_exists: *if_exists,
                ignore_unknown: *ignore_unknown,
            };
            accounts.check_not_mandatory(roles)?;
            accounts_to_change(session)?.revoke_roles(roles, &from, leniency)
        }
    }
}

fn create_users(
    session: &Session,
    users: &[UserSpec],
    if_not_exists: bool,
    now_us: i64,
) -> Result<Vec<Warning>> {
    let client = &session.client;
    check_creates_users(client)?;
    for user in users {
        if user.user.is_empty() && (user.options.expires_now || user.options.password_days.is_some()) {
            return Err(Error::new(
                errno::ER_CANNOT_USER,
                "Operation CREATE USER failed for anonymous user",
            ));
        }
        if let Some(Roles::List(roles)) = &user.default_roles {
            check_gives_roles(client, roles)?;
            check_system_users(session, roles)?;
        }
    }
    let rules = PasswordRules::of(session);
    let changes = users
        .iter()
        .map(|user| change(&named_spec(client, user), true, rules))
        .collect::<Result<Vec<_>>>()?;
    accounts_to_change(session)?.create_users(&changes, if_not_exists, now_us)
}

fn drop_users(session: &Session, users: &[AccountName], if_exists: bool) -> Result<Vec<Warning>> {
    check_creates_users(&session.client)?;
    let users = named(&session.client, users);
    check_system_users(session, &users)?;
    let accounts = &session.shared.catalog.accounts;
    accounts.check_not_mandatory(&users)?;
    let mut warnings = accounts_to_change(session)?.drop_users("DROP USER", &users, if_exists)?;
    warnings.extend(of_definers(session, &users));
    Ok(warnings)
}

fn rename_users(session: &Session, renames: &[(AccountName, AccountName)]) -> Result<Vec<Warning>> {
    let client = &session.client;
    check_creates_users(client)?;
    let renames: Vec<(AccountName, AccountName)> = renames
        .iter()
        .map(|(from, to)| (client.named_account(from), client.named_account(to)))
        .collect();
    let old: Vec<AccountName> = renames.iter().map(|(from, _)| from.clone()).collect();
    check_system_users(session, &old)?;
    accounts_to_change(session)?
        .rename_users(&renames)
        .map(|()| Vec::new())
}

fn set_default_roles(session: &Session, roles: &Roles, users: &[AccountName]) -> Result<Vec<Warning>> {
    let client = &session.client;
    let users = named(client, users);
    if !users.iter().all(|(user, host)| client.is_own(user, host)) {
        check_manages_accounts(client)?;
    }
    check_system_users(session, &users)?;
    let listed = match roles {
        Roles::All => None,
        Roles::List(roles) => Some(roles.as_slice()),
        Roles::None | Roles::Default | Roles::AllExcept(_) => Some(&[][..]),
    };
    accounts_to_change(session)?
        .set_default_roles(listed, &users)
        .map(|()| Vec::new())
}

/// The accounts, with CURRENT_USER() replaced by the client's own.
pub(super) fn named(client: &Client, names: &[AccountName]) -> Vec<AccountName> {
    names.iter().map(|name| client.named_account(name)).collect()
}

pub(super) fn named_roles(client: &Client, roles: &Roles) -> Roles {
    match roles {
        Roles::List(roles) => Roles::List(named(client, roles)),
        Roles::AllExcept(roles) => Roles::AllExcept(named(client, roles)),
        other => other.clone(),
    }
}

fn check_creates_users(client: &Client) -> Result<()> {
    client.check_any("CREATE USER", &[Privilege::CreateUser], &[])
}

/// UPDATE on `mysql` is enough, too, because MySQL stores accounts in its tables.
pub(super) fn check_manages_accounts(client: &Client) -> Result<()> {
    match client.privileges.of_database("mysql").has(Privilege::Update) {
        true => Ok(()),
        false => check_creates_users(client),
    }
}

/// Fails with 1227 unless the client may grant the roles: it has each of them WITH ADMIN OPTION, or may grant
/// all roles.
fn check_gives_roles(client: &Client, roles: &[AccountName]) -> Result<()> {
    let administers = |role: &AccountName| {
        let granted = &client.account.roles;
        granted
            .iter()
            .any(|granted| granted.name == *role && granted.with_admin)
    };
    if roles.iter().all(administers) {
        return Ok(());
    }
    client.check_any(
        "WITH ADMIN, ROLE_ADMIN, SUPER",
        &[Privilege::Super],
        &["ROLE_ADMIN"],
    )
}

/// Warnings about dropped accounts that are definers of views.
fn of_definers(session: &Session, users: &[AccountName]) -> Vec<Warning> {
    const WARN_DEFINER: u16 = 4005;
    let schema = session.shared.engine.cluster.schema();
    let tables = schema
        .databases
        .values()
        .flat_map(|database| database.tables.values());
    let definers: Vec<_> = tables
        .filter_map(|table| Some(&table.view.as_ref()?.definer))
        .collect();
    let is_definer = |user: &&AccountName| {
        definers
            .iter()
            .any(|one| (&one.user, &one.host) == (&user.0, &user.1))
    };
    let warning = |(user, host): &AccountName| {
        let message = format!("User '{user}'@'{host}' is referenced as a definer account in a view.");
        Warning::warning(WARN_DEFINER, message)
    };
    users.iter().filter(is_definer).map(warning).collect()
}

/// Fails with 1227 if a statement changes an account with SYSTEM_USER and the client does not have
/// SYSTEM_USER.
pub(super) fn check_system_users(session: &Session, users: &[AccountName]) -> Result<()> {
    users
        .iter()
        .try_for_each(|(user, host)| session.client.check_not_above(user, host))
}

/// Whether it changes nothing but the client's own password or default roles.
fn changes_only_own(client: &Client, spec: &UserSpec) -> bool {
    let has_such = spec.password.is_some()
        || spec.default_roles.is_some()
        || spec.second_password != ast::SecondPassword::Keep;
    let has_others = spec.plugin.is_some()
        || spec.hash.is_some()
        || spec.locked.is_some()
        || spec.options != AccountOptions::default();
    client.is_own(&spec.user, &spec.host) && has_such && !has_others
}

/// ALTER USER. Every account may change its own password and default roles.
fn alter_users(session: &Session, users: &[UserSpec], if_exists: bool, now_us: i64) -> Result<Vec<Warning>> {
    if let [spec] = users
        && let Some(roles) = &spec.default_roles
    {
        // The same as SET DEFAULT ROLE, and IF EXISTS has no effect.
        return set_default_roles(session, roles, &[(spec.user.clone(), spec.host.clone())]);
    }
    let client = &session.client;
    let specs: Vec<UserSpec> = users.iter().map(|user| named_spec(client, user)).collect();
    if !specs.iter().all(|spec| changes_only_own(client, spec)) {
        check_creates_users(client)?;
    }
    if specs
        .iter()
        .any(|spec| spec.user.is_empty() && spec.options.expires_now)
    {
        return Err(Error::new(
            ER_PASSWORD_EXPIRE_ANONYMOUS_USER,
            "The password for anonymous user cannot be expired.",
        ));
    }
    specs
        .iter()
        .try_for_each(|spec| check_current_password(session, spec))?;
    specs
        .iter()
        .try_for_each(|spec| check_second_password(client, spec))?;
    let names: Vec<AccountName> = specs
        .iter()
        .map(|spec| (spec.user.clone(), spec.host.clone()))
        .collect();
    check_system_users(session, &names)?;
    let accounts = session.shared.catalog.accounts.current();
    let mut changes = Vec::with_capacity(specs.len());
    let rules = PasswordRules::of(session);
    for spec in &specs {
        let mut change = change(&with_plugin(&accounts, spec), false, rules)?;
        if spec.default_roles == Some(Roles::All) {
            let account = accounts.get(&spec.user, &spec.host);
            let roles = account.map(|account| account.roles.iter().map(|role| role.name.clone()).collect());
            change.default_roles = roles;
        }
        changes.push(change);
    }
    accounts_to_change(session)?.alter_users(&changes, if_exists, now_us)
}

/// ALTER USER CURRENT_USER(), with the account's name filled in.
fn named_spec(client: &Client, spec: &UserSpec) -> UserSpec {
    let (user, host) = client.named_account(&(spec.user.clone(), spec.host.clone()));
    UserSpec {
        user,
        host,
        ..spec.clone()
    }
}

/// If the statement names no plugin, a new password is for the account's plugin.
fn with_plugin(accounts: &Accounts, spec: &UserSpec) -> UserSpec {
    let plugin = accounts
        .get(&spec.user, &spec.host)
        .map(|account| account.plugin.clone());
    UserSpec {
        plugin: match &spec.plugin {
            None if spec.password.is_some() => plugin,
            written => written.clone(),
        },
        ..spec.clone()
    }
}

/// REPLACE 'current password'.
///
/// # Errors
/// 3891 if the password is wrong, 3892 if it is missing, 3893 if it is given for another account.
fn check_current_password(session: &Session, spec: &UserSpec) -> Result<()> {
    let client = &session.client;
    let is_own = client.is_own(&spec.user, &spec.host);
    let account = &client.account;
    match &spec.current_password {
        Some(_) if !is_own => Err(Error::new(
            ER_CURRENT_PASSWORD_NOT_REQUIRED,
            "Do not specify the current password while changing it for other users.",
        )),
        Some(current) if !is_stored_form_of(&account.plugin, &account.authentication, current.as_bytes()) => {
            Err(Error::new(
                ER_INCORRECT_CURRENT_PASSWORD,
                "Incorrect current password. Specify the correct password which has to be replaced.",
            ))
        }
        Some(_) => Ok(()),
        None => {
            let default = session.shared.variables.boolean("password_require_current");
            let is_required = account.options.requires_current.unwrap_or(default);
            let is_changed = spec.password.is_some() || spec.hash.is_some();
            let manages = client.privileges.global.has(Privilege::CreateUser)
                || client.privileges.of_database("mysql").has(Privilege::Update);
            if !is_own || !is_required || !is_changed || manages || !account.has_password() {
                return Ok(());
            }
            Err(Error::new(
                ER_MISSING_CURRENT_PASSWORD,
                "Current password needs to be specified in the REPLACE clause in order to change it.",
            ))
        }
    }
}

/// Fails with 1227 if an account may not have two passwords at a time.
fn check_second_password(client: &Client, spec: &UserSpec) -> Result<()> {
    if spec.second_password == ast::SecondPassword::Keep {
        return Ok(());
    }
    client.check_any(
        "CREATE USER or APPLICATION_PASSWORD_ADMIN",
        &[Privilege::CreateUser],
        &["APPLICATION_PASSWORD_ADMIN"],
    )
}

/// SET PASSWORD. The names in `written` are empty for the client's own account.
fn set_password(session: &Session, written: &UserSpec, now_us: i64) -> Result<Vec<Warning>> {
    let client = &session.client;
    let spec = named_spec(client, written);
    let is_own = client.is_own(&spec.user, &spec.host);
    let manages = client.privileges.of_database("mysql").has(Privilege::Update);
    if !is_own && !manages {
        return Err(client.account.denied_database("mysql"));
    }
    let accounts = session.shared.catalog.accounts.current();
    if accounts.get(&spec.user, &spec.host).is_none() {
        return Err(Error::new(
            errno::ER_PASSWORD_NO_MATCH,
            "Can't find any matching row in the user table",
        ));
    }
    check_current_password(session, &spec)?;
    check_second_password(client, &spec)?;
    check_system_users(session, &[(spec.user.clone(), spec.host.clone())])?;
    let change = change(&with_plugin(&accounts, &spec), false, PasswordRules::of(session))?;
    accounts_to_change(session)?.alter_users(&[change], false, now_us)
}

/// `@@password_history` and `@@password_reuse_interval`.
#[derive(Clone, Copy)]
struct PasswordRules {
    history: u16,
    reuse_days: u16,
}

impl PasswordRules {
    fn of(session: &Session) -> Self {
        let number = |name| u16::try_from(session.shared.variables.integer(name)).unwrap_or(u16::MAX);
        Self {
            history: number("password_history"),
            reuse_days: number("password_reuse_interval"),
        }
    }
}

/// Whether the server generates a password, which the result set shows.
pub fn makes_passwords(statement: &UserStatement) -> bool {
    match statement {
        UserStatement::Create { users, .. } | UserStatement::Alter { users, .. } => {
            users.iter().any(|spec| spec.is_random)
        }
        UserStatement::SetPassword(spec) => spec.is_random,
        _ => false,
    }
}

/// Runs a statement with RANDOM PASSWORD. Only its result set shows the passwords.
pub fn run_with_passwords(session: &mut Session, statement: &UserStatement) -> Result<Listing> {
    let mut statement = statement.clone();
    let mut shown = Listing::new(&[
        ("user", text_type(NAME_CHARS)),
        ("host", text_type(NAME_CHARS)),
        ("generated password", text_type(NAME_CHARS)),
        ("auth_factor", SqlType::BIGINT_UNSIGNED),
    ])
    .all_never_null();
    let length = session
        .view()
        .system_variable(Some(ast::VariableScope::Session), RANDOM_LENGTH)?;
    let length = match length {
        Value::UInt(length) => length as usize,
        Value::Int(length) => length as usize,
        _ => return Err(Error::internal(RANDOM_LENGTH)),
    };
    let mut fill = |spec: &mut UserSpec| -> Result<()> {
        if std::mem::take(&mut spec.is_random) {
            let password = wire::auth::random_password(length).map_err(Error::internal)?;
            let named = named_spec(&session.client, spec);
            shown.push(vec![
                Value::String(named.user),
                Value::String(named.host),
                Value::String(password.clone()),
                Value::UInt(1),
            ]);
            spec.password = Some(password);
        }
        Ok(())
    };
    match &mut statement {
        UserStatement::Create { users, .. } | UserStatement::Alter { users, .. } => {
            users.iter_mut().try_for_each(fill)?;
        }
        UserStatement::SetPassword(spec) => fill(spec)?,
        _ => {}
    }
    let warnings = user_statement(session, &statement)?;
    session.diagnostics.add_all(warnings);
    tell_other_nodes(session)?;
    Ok(shown)
}

/// The change that a clause of CREATE or ALTER USER makes, with the password hashed.
fn change(spec: &UserSpec, new: bool, rules: PasswordRules) -> Result<AccountChange> {
    let name = spec.plugin.as_deref().unwrap_or(CACHING_SHA2_PASSWORD);
    let plugin = Plugin::named(name).ok_or_else(|| {
        Error::new(
            errno::ER_PLUGIN_IS_NOT_LOADED,
            format!("Plugin '{name}' is not loaded"),
        )
    })?;
    let stored = match (&spec.password, &spec.hash) {
        (_, Some(hash)) => Some(checked_hash(plugin, hash)?),
        (Some(password), None) if password.is_empty() => Some(String::new()),
        (Some(password), None) => Some(plugin.stored(password.as_bytes()).map_err(Error::internal)?),
        (None, None) if new || spec.plugin.is_some() => Some(String::new()),
        (None, None) => None,
    };
    let mut options = option_changes(&spec.options);
    // ALTER USER ... IDENTIFIED WITH a plugin leaves the account without a password, so it must get one at login.
    options.expires_now |= !new && spec.plugin.is_some() && spec.password.is_none() && spec.hash.is_none();
    // A password that expires at once keeps its lifetime.
    options.password_days = options.password_days.filter(|_| !options.expires_now);
    Ok(AccountChange {
        user: spec.user.clone(),
        host: spec.host.clone(),
        authentication: stored.map(|stored| (name.to_owned(), stored)),
        new_password: spec.password.as_ref().map(|text| NewPassword {
            text: text.clone(),
            is_stored_form_of,
            defaults: (rules.history, rules.reuse_days),
        }),
        second_password: match spec.second_password {
            ast::SecondPassword::Keep => SecondPassword::Keep,
            ast::SecondPassword::Retain => SecondPassword::Retain,
            ast::SecondPassword::Discard => SecondPassword::Discard,
        },
        options,
        locked: spec.locked,
        default_roles: match &spec.default_roles {
            Some(Roles::List(roles)) => Some(roles.clone()),
            Some(Roles::None) => Some(Vec::new()),
            _ => None,
        },
    })
}

fn tls_requirement(required: &ast::TlsRequirement) -> TlsRequirement {
    let certificate = match required {
        ast::TlsRequirement::None | ast::TlsRequirement::Ssl => None,
        ast::TlsRequirement::X509 => Some(RequiredCertificate::default()),
        ast::TlsRequirement::Specified {
            cipher,
            issuer,
            subject,
        } => Some(RequiredCertificate {
            cipher: cipher.clone(),
            issuer: issuer.clone(),
            subject: subject.clone(),
        }),
    };
    TlsRequirement {
        tls: *required != ast::TlsRequirement::None,
        certificate,
    }
}

fn option_changes(options: &AccountOptions) -> OptionChanges {
    OptionChanges {
        tls: options.tls.as_ref().map(tls_requirement),
        queries_per_hour: options.max_queries,
        updates_per_hour: options.max_updates,
        connections_per_hour: options.max_connections,
        connections: options.max_user_connections,
        expires_now: options.expires_now,
        password_days: options.password_days,
        history: options.history,
        reuse_days: options.reuse_days,
        requires_current: options.requires_current,
        attempts: options.failed_logins,
        lock_days: options.lock_days,
        comment: options.comment.clone(),
        attribute: options.attribute.clone(),
    }
}

/// Whether a password matches the hash that a plugin has stored.
fn is_stored_form_of(plugin: &str, stored: &str, password: &[u8]) -> bool {
    Plugin::named(plugin).is_some_and(|plugin| plugin.verify_password(stored, password))
}

/// `IDENTIFIED WITH plugin AS 'hash'`: stored unchanged, if it is a hash of the plugin.
fn checked_hash(plugin: Plugin, hash: &str) -> Result<String> {
    if hash.is_empty() || plugin.is_stored_form(hash) {
        return Ok(hash.to_owned());
    }
    Err(Error::new(
        1827,
        "The password hash doesn't have the expected format.",
    ))
}
