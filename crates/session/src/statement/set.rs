//! SET: system variables, user variables, NAMES, TRANSACTION.

use std::sync::Arc;

use accounts::name_in_backticks;
use functions::{EvalContext, Expr, UserVariable};
use planner::command::SetItem;
use schema::privilege::Privilege;
use syntax::ast::VariableScope;
use types::{Error, Result, SqlType, TypeKind, Value, Warning, errno};

use super::persist;
use crate::client_charset;
use crate::errors;
use crate::session::Session;
use crate::shared::role_names;
use crate::table_locks::has_locks;
use crate::variables::charset::{numbered, paired, without_old_name};
use crate::variables::definitions::Effect;
use crate::variables::restricted::{Restriction, global_restriction, restriction, restricts_default};
use crate::variables::settings::isolation_named;
use crate::variables::values::{Change, follower, truncated_value};
use crate::variables::{Definition, lookup, notices};

/// Variables that a session copies from the global ones when it begins, and cannot set.
const SESSION_READ_ONLY: [&str; 3] = ["max_allowed_packet", "max_user_connections", "net_buffer_length"];
const ER_VARIABLE_IS_READONLY: u16 = 1621;
const ER_MANDATORY_ROLE_OF_SYSTEM_USER: u16 = 3880;

/// SET. All values are computed before the first item is set. If one item fails, none is set (manual
/// 13.7.6.1).
pub fn set(session: &mut Session, items: &[SetItem]) -> Result<()> {
    let eval = session.command_context(functions::Strictness::Warn);
    let values = items
        .iter()
        .map(|item| item_value(item, &eval))
        .collect::<Result<Vec<_>>>()?;
    session.end_of_evaluation(&eval);
    session
        .diagnostics
        .add_all(items.iter().filter_map(of_deprecated_variable));
    let pairs: Vec<(&SetItem, Option<UserVariable>)> = items.iter().zip(values).collect();
    let (global, own): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(item, _)| is_global(item));
    for (item, value) in &global {
        check_global(session, item, plain(value.clone()))?;
    }
    own.iter().try_for_each(|(item, _)| check_own(session, item))?;
    let was_autocommit = session.settings.run.autocommit;
    let before = (session.variables.clone(), session.user_variables.shared().clone());
    let (last, next) = (session.last, session.transaction.next);
    let done = own
        .into_iter()
        .try_for_each(|(item, value)| set_item(session, item, value));
    if let Err(error) = done {
        session.variables = before.0;
        session.user_variables.restore(before.1);
        (session.last, session.transaction.next) = (last, next);
        session.tracker.clear_changes();
        session.settings_changed();
        return Err(error);
    }
    // Global values were checked before. Setting them can fail only if other servers share the store.
    global
        .into_iter()
        .try_for_each(|(item, value)| set_item(session, item, value))?;
    // Turning autocommit on commits the open transaction (manual 13.3.1). Setting it again does not.
    if session.settings.run.autocommit && !was_autocommit {
        let outside_xa = session.transaction.check_outside_xa();
        if let Err(error) = outside_xa.and_then(|()| session.runner().commit()) {
            session.variables.put("autocommit", "OFF");
            session.settings_changed();
            return Err(error);
        }
    }
    Ok(())
}

fn of_deprecated_variable(item: &SetItem) -> Option<Warning> {
    match item {
        SetItem::Variable { name, .. } => notices::deprecated(name),
        _ => None,
    }
}

/// Fails if the client may not grant roles, for a value that is not a list of roles, and for a role that no account
/// may have without having been granted it.
fn check_roles(session: &Session, value: Option<&Value>) -> Result<()> {
    session.client.check_any(
        "SYSTEM_VARIABLES_ADMIN or SUPER privileges, as well as the ROLE_ADMIN",
        &[Privilege::Super],
        &["ROLE_ADMIN"],
    )?;
    let Some(Value::String(text)) = value else {
        return Ok(());
    };
    let Some(roles) = role_names(text) else {
        return Err(Error::new(
            errno::ER_WRONG_VALUE_FOR_VAR,
            format!("Variable 'mandatory_roles' can't be set to the value of '{text}'"),
        ));
    };
    let mut roles = roles.iter();
    match roles.find(|(user, host)| session.client.is_system_user(user, host)) {
        None => Ok(()),
        Some((user, host)) => Err(Error::new(
            ER_MANDATORY_ROLE_OF_SYSTEM_USER,
            format!(
                "Cannot set mandatory_roles: AuthId {} has 'SYSTEM_USER' privilege.",
                name_in_backticks(user, host)
            ),
        )),
    }
}

/// # Errors
/// 3896 if accounts have restrictions that would no longer apply.
fn check_partial_revokes(
    session: &Session,
    definition: &'static Definition,
    value: Option<Value>,
) -> Result<()> {
    const ER_PARTIAL_REVOKES_EXIST: u16 = 3896;
    let (changes, _) = session.shared.variables.changes(definition, value)?;
    let turns_off = changes.iter().any(|(_, text)| text.as_deref() == Some("OFF"));
    let accounts = session.shared.catalog.accounts.current();
    let mut restricted = accounts
        .iter()
        .filter(|account| !account.privileges.restrictions.is_empty());
    match turns_off && restricted.next().is_some() {
        false => Ok(()),
        true => Err(Error::new(
            ER_PARTIAL_REVOKES_EXIST,
            "At least one partial revoke exists on a database. The system variable '@@partial_revokes' must be set to ON.",
        )),
    }
}

/// Fails with 1227 unless the client may set this variable of its session.
fn check_own(session: &Session, item: &SetItem) -> Result<()> {
    let SetItem::Variable { name, value, .. } = item else {
        return Ok(());
    };
    let canonical = lookup(name).map_or(name.as_str(), |definition| definition.canonical().name);
    if value.is_none() && !restricts_default(canonical) {
        return Ok(());
    }
    match restriction(canonical) {
        None => Ok(()),
        Some(restriction) => check_restriction(session, restriction),
    }
}

fn check_restriction(session: &Session, restriction: &Restriction) -> Result<()> {
    session
        .client
        .check_any(restriction.label, restriction.privileges, restriction.dynamic)
}

/// Fails unless the server would accept the value of a global item.
fn check_global(session: &Session, item: &SetItem, value: Option<Value>) -> Result<()> {
    let SetItem::Variable { name, scope, .. } = item else {
        return session.client.check_sets_global();
    };
    let definition = lookup(name).ok_or_else(|| errors::unknown_variable(name))?;
    if *scope != VariableScope::PersistOnly && definition.canonical().effect == Effect::Fixed {
        // That no statement can set it comes before that the client may not.
        return session.shared.variables.check(definition, value);
    }
    match scope {
        VariableScope::PersistOnly => persist::check_only(session, definition)?,
        _ => {
            session.client.check_sets_global()?;
            let restriction = global_restriction(definition.canonical().name);
            if let Some(restriction) =
                restriction.filter(|_| value.is_some() || restricts_default(definition.name))
            {
                check_restriction(session, restriction)?;
            }
        }
    }
    if definition.name == "offline_mode" {
        check_ends_connections(session)?;
    }
    if definition.name == "mandatory_roles" {
        check_roles(session, value.as_ref())?;
    }
    if definition.name == "partial_revokes" {
        check_partial_revokes(session, definition, value.clone())?;
    }
    if matches!(definition.name, "read_only" | "super_read_only") {
        check_becomes_read_only(session, definition, value.clone())?;
    }
    session.shared.variables.check(definition, value)
}

/// Fails with 1227 unless the client may end the connections of others.
fn check_ends_connections(session: &Session) -> Result<()> {
    session.client.check_any(
        "SYSTEM_VARIABLES_ADMIN plus CONNECTION_ADMIN or SUPER",
        &[Privilege::Super],
        &["CONNECTION_ADMIN"],
    )
}

/// # Errors
/// 1192 if the client itself has locked tables or an open transaction.
fn check_becomes_read_only(
    session: &Session,
    definition: &'static Definition,
    value: Option<Value>,
) -> Result<()> {
    let (changes, _) = session.shared.variables.changes(definition, value)?;
    let turns_on = changes.iter().any(|(_, text)| text.as_deref() == Some("ON"));
    if !turns_on || session.shared.variables.boolean(definition.name) {
        return Ok(());
    }
    // FLUSH TABLES WITH READ LOCK does not stand in the way, but LOCK TABLES does.
    session.table_locks.are_all_locked()?;
    match session.transaction.in_transaction() {
        true => Err(has_locks()),
        false => Ok(()),
    }
}

fn set_item(session: &mut Session, item: &SetItem, value: Option<UserVariable>) -> Result<()> {
    match item {
        SetItem::Variable { scope, name, .. } => set_variable(session, *scope, name, plain(value)),
        SetItem::User { name, .. } => {
            let value = value.unwrap_or(Value::Null.into());
            session.user_variables.set(name, value);
            session.state_changed();
            Ok(())
        }
        SetItem::Names { charset, collation } => {
            client_charset::set_names(session, charset.as_deref(), collation.as_deref())
        }
        SetItem::CharacterSet(charset) => {
            let name = charset.as_deref().map(without_old_name);
            let charset = client_charset::charset_or_default(session, name)?;
            session.put_tracked("character_set_client", charset.name());
            session.put_tracked("character_set_results", charset.name());
            let connection = session.settings.collation_database;
            session.put_tracked("character_set_connection", connection.charset().name());
            session.put_tracked("collation_connection", connection.name());
            session.variables.name_collation(charset.default_collation());
            session.settings_changed();
            Ok(())
        }
        SetItem::Transaction {
            scope,
            isolation,
            read_only,
        } => set_transaction(session, *scope, isolation.as_deref(), *read_only),
    }
}

/// `SET SESSION name = value`
pub fn set_session_variable(session: &mut Session, name: &str, value: Value) -> Result<()> {
    set_variable(session, VariableScope::Session, name, Some(value))
}

fn set_variable(session: &mut Session, scope: VariableScope, name: &str, value: Option<Value>) -> Result<()> {
    let definition = lookup(name).ok_or_else(|| errors::unknown_variable(name))?;
    match scope {
        VariableScope::Global => return set_global(session, definition, value),
        VariableScope::Persist => {
            set_global(session, definition, value)?;
            let text = session.shared.variables.get(definition);
            return persist::store(session, definition, text.as_deref().map(str::to_owned));
        }
        VariableScope::PersistOnly => {
            let warnings = persist::store_only(session, definition, value)?;
            session.diagnostics.add_all(warnings);
            return Ok(());
        }
        // `SET @@transaction_isolation = ...` without SESSION: the next transaction only.
        VariableScope::NextTransaction if of_transaction(definition) => {
            return set_next_transaction(session, definition, value);
        }
        VariableScope::Session | VariableScope::NextTransaction => {}
    }
    let name = definition.canonical().name;
    if SESSION_READ_ONLY.contains(&name) {
        // A value of another type is the first error.
        session
            .variables
            .clone()
            .set(definition, value, &session.shared.variables)?;
        return Err(Error::new(
            ER_VARIABLE_IS_READONLY,
            format!("SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value"),
        ));
    }
    if matches!(name, "last_insert_id" | "insert_id") {
        let warning = session
            .variables
            .set(definition, value, &session.shared.variables)?;
        adjusted(session, warning);
        let id = session.variables.text(definition).and_then(|t| t.parse().ok());
        match name {
            "insert_id" => session.last.forced_id = id.unwrap_or_default(),
            _ => session.last.insert_id = id.unwrap_or_default(),
        }
        return Ok(());
    }
    let given = value.clone();
    let numbered = value.as_ref().and_then(numbered);
    let warning = session
        .variables
        .set(definition, value, &session.shared.variables)?;
    adjusted(session, warning);
    let text = session.variables.text(definition);
    let warnings = notices::of_set(definition, given.as_ref(), text.as_deref(), |_| 0);
    session.diagnostics.add_all(warnings);
    let text = text.unwrap_or_default();
    if let Some((name, text)) = paired(name, &text, numbered).or_else(|| follower(name, &text)) {
        session.variables.put(&name, text);
    }
    session.settings_changed();
    session.track(name);
    if name == "sql_mode" {
        warn_of_modes(session);
    }
    Ok(())
}

fn set_global(session: &mut Session, definition: &'static Definition, value: Option<Value>) -> Result<()> {
    session.client.check_sets_global()?;
    let warnings = session.shared.set_global(definition, value.clone())?;
    session.diagnostics.add_all(warnings);
    let variables = &session.shared.variables;
    let change = Change {
        at_us: session.view().clock_us(),
        user: session.client.account.user.clone(),
        host: session.client.info.host.clone(),
        is_persisted: false,
    };
    variables.note_change(definition, change);
    let text = variables.get(definition);
    let integer = |name: &str| variables.integer(name);
    let warnings = notices::of_set(definition, value.as_ref(), text.as_deref(), integer);
    session.diagnostics.add_all(warnings);
    Ok(())
}

/// Whether each transaction has a value of its own.
fn of_transaction(definition: &Definition) -> bool {
    matches!(definition.name, "transaction_isolation" | "transaction_read_only")
}

/// Strict mode and the modes about dates and division should be used together, and one mode is deprecated. MySQL warns at
/// every SET.
fn warn_of_modes(session: &mut Session) {
    let mode = session.settings.sql_mode;
    let all = mode.no_zero_date && mode.no_zero_in_date && mode.error_for_division_by_zero;
    let any = mode.no_zero_date || mode.no_zero_in_date || mode.error_for_division_by_zero;
    if mode.pad_char_to_full_length {
        session.diagnostics.add(Warning::warning(
            3090,
            "Changing sql mode 'PAD_CHAR_TO_FULL_LENGTH' is deprecated. It will be removed in a future release.",
        ));
    }
    if mode.strict != all || mode.strict != any {
        session.diagnostics.add(Warning::warning(
            3135,
            "'NO_ZERO_DATE', 'NO_ZERO_IN_DATE' and 'ERROR_FOR_DIVISION_BY_ZERO' sql modes should be used with strict mode. They will be merged with strict mode in a future release.",
        ));
    }
}

fn adjusted(session: &mut Session, warning: Option<String>) {
    session.diagnostics.add_all(warning.map(truncated_value));
}

fn set_transaction(
    session: &mut Session,
    scope: VariableScope,
    isolation: Option<&str>,
    read_only: Option<bool>,
) -> Result<()> {
    let isolation = isolation.map(|level| level.to_uppercase().replace(' ', "-"));
    let mut items = Vec::new();
    if let Some(level) = isolation {
        items.push(("transaction_isolation", Value::String(level)));
    }
    if let Some(read_only) = read_only {
        items.push(("transaction_read_only", Value::Int(i64::from(read_only))));
    }
    items
        .into_iter()
        .try_for_each(|(name, value)| set_variable(session, scope, name, Some(value)))
}

fn set_next_transaction(
    session: &mut Session,
    definition: &'static Definition,
    value: Option<Value>,
) -> Result<()> {
    if session.transaction.in_transaction() {
        // This is an error (1568), whatever the value.
        return session.transaction.set_next(None, None);
    }
    // Checked as a session variable, on a copy that is discarded.
    let mut probe = session.variables.clone();
    let warning = probe.set(definition, value, &session.shared.variables)?;
    adjusted(session, warning);
    let text = probe.text(definition).unwrap_or_else(|| "".into());
    match definition.canonical().name {
        "transaction_isolation" => session.transaction.set_next(Some(isolation_named(&text)), None),
        _ => session.transaction.set_next(None, Some(&*text == "ON")),
    }
}

fn is_global(item: &SetItem) -> bool {
    let (SetItem::Variable { scope, .. } | SetItem::Transaction { scope, .. }) = item else {
        return false;
    };
    use VariableScope::{Global, Persist, PersistOnly};
    matches!(scope, Global | Persist | PersistOnly)
}

/// The value that an item sets; `None` for DEFAULT, and for an item without an expression.
fn item_value(item: &SetItem, eval: &Arc<EvalContext>) -> Result<Option<UserVariable>> {
    match item {
        SetItem::Variable { value, .. } => {
            let value = value.as_ref().map(|v| evaluate(v, eval)).transpose()?;
            Ok(value.map(UserVariable::from))
        }
        SetItem::User { value, .. } => {
            let (value, ty) = functions::eval_assigned(value, functions::Row::None, eval)?;
            Ok(Some(as_variable(value, &ty)))
        }
        _ => Ok(None),
    }
}

/// A value as a user variable stores it. A variable has only the type and collation of its value, so dates, times,
/// JSON and members of ENUM and SET become text.
fn as_variable(value: Value, ty: &SqlType) -> UserVariable {
    let is_printed = ty.is_temporal() || ty.has_members() || ty.kind == TypeKind::Json;
    let stored = match is_printed && !value.is_null() {
        true => Value::String(value.display_text(ty)),
        false => value,
    };
    UserVariable::new(stored, ty)
}

fn plain(variable: Option<UserVariable>) -> Option<Value> {
    variable.map(|variable| variable.value)
}

fn evaluate(expr: &Expr, eval: &Arc<EvalContext>) -> Result<Value> {
    functions::eval_value(expr, eval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_variables_hold_dates_as_text() {
        let day = functions::TimeZone::UTC.from_unix_us(86_400_000_000).pack();
        assert_eq!(
            as_variable(Value::UInt(day), &SqlType::datetime(0)).value,
            Value::String("1970-01-02 00:00:00".to_owned())
        );
        assert_eq!(as_variable(Value::Int(5), &SqlType::BIGINT).value, Value::Int(5));
        assert_eq!(as_variable(Value::Null, &SqlType::datetime(0)).value, Value::Null);
    }
}
