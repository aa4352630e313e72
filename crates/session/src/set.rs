//! SET: system variables, user variables, NAMES, TRANSACTION.

use std::sync::Arc;

use functions::{EvalContext, Expr};
use planner::command::SetItem;
use syntax::ast::VariableScope;
use types::{Charset, Collation, Error, Result, SqlType, Value, Warning, errno};

use crate::errors;
use crate::other_collations;
use crate::session::Session;
use crate::variables::charset::{CLIENT, charset_named, collation_of, numbered, paired};
use crate::variables::definitions::{Kind, Scope};
use crate::variables::settings::Isolation;
use crate::variables::{Definition, lookup};

/// Variables that a session takes over from the global ones when it begins, and keeps.
const SESSION_READ_ONLY: [&str; 2] = ["max_allowed_packet", "net_buffer_length"];
const ER_VARIABLE_IS_READONLY: u16 = 1621;

/// The warning of a value that names utf8mb3 or a collation of it.
fn deprecated(definition: &Definition, value: &Value) -> Option<Warning> {
    match (definition.kind, value) {
        (Kind::Charset | Kind::CharsetOrNull, Value::String(name)) => planner::deprecated_charset(name),
        (Kind::Collation, value) => planner::deprecated_collation(collation_of(definition.name, value).ok()?),
        _ => None,
    }
}

impl Session {
    /// SET. All values are found before the first item is set, and if one item fails, none is (manual 13.7.6.1).
    pub(crate) fn set(&mut self, items: &[SetItem]) -> Result<()> {
        let eval = self.eval_context(self.command_params.clone(), functions::Strictness::Warn);
        let values = items
            .iter()
            .map(|item| item_value(item, &eval))
            .collect::<Result<Vec<_>>>()?;
        self.end_of_evaluation(&eval);
        self.collect_warnings(&eval);
        let pairs: Vec<(&SetItem, Option<Value>)> = items.iter().zip(values).collect();
        let (global, own): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(item, _)| is_global(item));
        for (item, value) in &global {
            self.check_global(item, value.clone())?;
        }
        let was_autocommit = self.settings.autocommit;
        let before = (self.variables.clone(), self.user_variables.clone());
        let (last_insert_id, next) = (self.last_insert_id, self.transaction.next);
        let done = own
            .into_iter()
            .try_for_each(|(item, value)| self.set_item(item, value));
        if let Err(error) = done {
            (self.variables, self.user_variables) = before;
            (self.last_insert_id, self.transaction.next) = (last_insert_id, next);
            self.changes.clear();
            self.settings_changed();
            return Err(error);
        }
        // What is global has been checked: it cannot fail any more, but for a store that other servers share.
        global
            .into_iter()
            .try_for_each(|(item, value)| self.set_item(item, value))?;
        // Turning autocommit on commits what is open (manual 13.3.1); setting it again does not.
        if self.settings.autocommit && !was_autocommit {
            self.commit_transaction()?;
        }
        Ok(())
    }

    /// Whether the server would take the value of a global item.
    fn check_global(&self, item: &SetItem, value: Option<Value>) -> Result<()> {
        self.check_administer("SUPER or SYSTEM_VARIABLES_ADMIN")?;
        let SetItem::Variable { name, .. } = item else {
            return Ok(());
        };
        let definition = lookup(name).ok_or_else(|| errors::unknown_variable(name))?;
        self.shared.variables.check(definition, value)
    }

    fn set_item(&mut self, item: &SetItem, value: Option<Value>) -> Result<()> {
        match item {
            SetItem::Variable { scope, name, .. } => self.set_variable(*scope, name, value),
            SetItem::User { name, .. } => {
                let value = value.unwrap_or(Value::Null);
                Arc::make_mut(&mut self.user_variables).insert(name.to_lowercase(), value);
                self.state_changed();
                Ok(())
            }
            SetItem::Names { charset, collation } => self.set_names(charset.as_deref(), collation.as_deref()),
            SetItem::CharacterSet { charset } => {
                let charset = self.charset_or_default(charset.as_deref())?;
                self.put_tracked("character_set_client", charset.name());
                self.put_tracked("character_set_results", charset.name());
                let connection = self.settings.collation_database;
                self.put_tracked("character_set_connection", connection.charset().name());
                self.put_tracked("collation_connection", connection.name());
                self.settings_changed();
                Ok(())
            }
            SetItem::Transaction {
                scope,
                isolation,
                read_only,
            } => self.set_transaction(*scope, isolation.as_deref(), *read_only),
        }
    }

    fn set_variable(&mut self, scope: VariableScope, name: &str, value: Option<Value>) -> Result<()> {
        let definition = lookup(name).ok_or_else(|| errors::unknown_variable(name))?;
        match scope {
            VariableScope::Global => {
                self.check_administer("SUPER or SYSTEM_VARIABLES_ADMIN")?;
                let warning = self.shared.set_global(definition, value)?;
                self.adjusted(warning);
                return Ok(());
            }
            // `SET @@transaction_isolation = ...` without SESSION: the next transaction only.
            VariableScope::NextTransaction if definition.canonical().name.starts_with("transaction_") => {
                return self.set_next_transaction(definition, value);
            }
            VariableScope::Session | VariableScope::NextTransaction => {}
        }
        let name = definition.canonical().name;
        if SESSION_READ_ONLY.contains(&name) {
            return Err(Error::new(
                ER_VARIABLE_IS_READONLY,
                format!("SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value"),
            ));
        }
        if name == "last_insert_id" {
            let warning = self.variables.set(definition, value, &self.shared.variables)?;
            self.adjusted(warning);
            self.last_insert_id = self
                .variables
                .text(definition)
                .and_then(|t| t.parse().ok())
                .unwrap_or_default();
            return Ok(());
        }
        let deprecated = value.as_ref().and_then(|value| deprecated(definition, value));
        let numbered = value.as_ref().and_then(numbered);
        let warning = self.variables.set(definition, value, &self.shared.variables)?;
        self.adjusted(warning);
        deprecated.into_iter().for_each(|w| self.diagnostics.add(w));
        let text = self.variables.text(definition).unwrap_or_default();
        if let Some((name, text)) = paired(name, &text, numbered) {
            self.variables.put(&name, text);
        }
        self.settings_changed();
        self.track(name);
        if name == "sql_mode" {
            self.warn_of_lone_modes();
        }
        Ok(())
    }

    /// Strict mode and the modes about dates and division are meant to go together; MySQL says so on every SET.
    fn warn_of_lone_modes(&mut self) {
        let mode = self.settings.sql_mode;
        let all = mode.no_zero_date && mode.no_zero_in_date && mode.error_for_division_by_zero;
        let any = mode.no_zero_date || mode.no_zero_in_date || mode.error_for_division_by_zero;
        if mode.strict != all || mode.strict != any {
            self.diagnostics.add(Warning::warning(
                3135,
                "'NO_ZERO_DATE', 'NO_ZERO_IN_DATE' and 'ERROR_FOR_DIVISION_BY_ZERO' sql modes should be used with strict mode. They will be merged with strict mode in a future release.",
            ));
        }
    }

    fn adjusted(&mut self, warning: Option<String>) {
        if let Some(message) = warning {
            self.diagnostics
                .add(Warning::warning(errno::ER_TRUNCATED_WRONG_VALUE, message));
        }
    }

    fn set_names(&mut self, charset: Option<&str>, collation: Option<&str>) -> Result<()> {
        let deprecated = charset.and_then(planner::deprecated_charset);
        let charset = self.charset_or_default(charset)?;
        deprecated.into_iter().for_each(|w| self.diagnostics.add(w));
        let collation = match collation {
            None => charset.default_collation(),
            Some(name) => {
                let collation = planner::collation_named(name)?;
                let deprecated = planner::deprecated_collation(collation);
                deprecated.into_iter().for_each(|w| self.diagnostics.add(w));
                collation
            }
        };
        if collation.charset() != charset {
            return Err(Error::new(
                errno::ER_COLLATION_CHARSET_MISMATCH,
                format!(
                    "COLLATION '{}' is not valid for CHARACTER SET '{}'",
                    collation.name(),
                    charset.name()
                ),
            ));
        }
        self.put_names(collation);
        Ok(())
    }

    fn charset_or_default(&self, name: Option<&str>) -> Result<Charset> {
        let Some(name) = name else {
            return Ok(self.shared_default_collation().charset());
        };
        charset_named(CLIENT, name)
    }

    fn shared_default_collation(&self) -> Collation {
        let text = lookup("collation_connection").and_then(|d| self.shared.variables.get(d));
        text.and_then(|t| Collation::from_name(&t))
            .unwrap_or(Collation::DEFAULT)
    }

    /// What the handshake asked for, by number. A number that means nothing to MySQL is the server's default there, and here.
    ///
    /// # Errors
    /// 1273 for a collation that MySQL has and StemDB has not, 1231 for one of a character set that no client may speak.
    pub(crate) fn set_connection_collation(&mut self, id: u16) -> Result<()> {
        let collation = match (Collation::from_id(id), other_collations::refused(id)) {
            (Some(collation), _) => collation,
            (None, Some(error)) => return Err(error),
            (None, None) => self.shared_default_collation(),
        };
        self.put_names(collation);
        self.changes.clear();
        Ok(())
    }

    fn put_names(&mut self, collation: Collation) {
        let charset = collation.charset().name();
        self.put_tracked("character_set_client", charset);
        self.put_tracked("character_set_connection", charset);
        self.put_tracked("character_set_results", charset);
        self.put_tracked("collation_connection", collation.name());
        self.settings_changed();
    }

    fn put_tracked(&mut self, name: &str, text: &str) {
        self.variables.put(name, text);
        self.track(name);
    }

    /// Tells the client with the next OK, if it asked to be told of this variable.
    fn track(&mut self, name: &str) {
        let listed = &self.settings.track_variables;
        if listed == "*" || listed.split(',').any(|n| n.trim().eq_ignore_ascii_case(name)) {
            let value = lookup(name)
                .and_then(|d| self.variables.text(d))
                .unwrap_or_else(|| "".into());
            self.changes.system_variable(name, &value);
        }
        if name != "session_track_state_change" {
            self.state_changed();
        }
    }

    /// Tells the client with the next OK, if it asked, that something about its session is not as it was.
    pub(crate) fn state_changed(&mut self) {
        if self.settings.track_state {
            self.changes.state_change();
        }
    }

    fn set_transaction(
        &mut self,
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
            .try_for_each(|(name, value)| self.set_variable(scope, name, Some(value)))
    }

    fn set_next_transaction(&mut self, definition: &'static Definition, value: Option<Value>) -> Result<()> {
        // Checked as the session's variable would be, on a copy that is thrown away.
        let mut probe = self.variables.clone();
        let warning = probe.set(definition, value, &self.shared.variables)?;
        self.adjusted(warning);
        let text = probe.text(definition).unwrap_or_else(|| "".into());
        match definition.canonical().name {
            "transaction_isolation" => self.transaction.set_next(Some(Isolation::from_name(&text)), None),
            _ => self.transaction.set_next(None, Some(&*text == "ON")),
        }
    }

    /// The value of `@@name` as the planner asks for it.
    pub(crate) fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value> {
        let definition = lookup(name).ok_or_else(|| errors::unknown_variable(name))?;
        let wrong = |kind: &str| {
            Error::new(
                errno::ER_INCORRECT_GLOBAL_LOCAL_VAR,
                format!("Variable '{}' is a {kind} variable", definition.name),
            )
        };
        let text = match (scope, definition.scope) {
            (Some(VariableScope::Global), Scope::Session) => return Err(wrong("SESSION")),
            (Some(VariableScope::Session), Scope::Global) => return Err(wrong("GLOBAL")),
            (Some(VariableScope::Global), _) | (_, Scope::Global) => self.shared.variables.get(definition),
            _ => self.variable_text(definition),
        };
        Ok(crate::variables::values::typed(
            definition.canonical(),
            text.as_deref(),
        ))
    }
}

fn is_global(item: &SetItem) -> bool {
    let (SetItem::Variable { scope, .. } | SetItem::Transaction { scope, .. }) = item else {
        return false;
    };
    *scope == VariableScope::Global
}

/// The value an item sets; `None` is DEFAULT, or an item without an expression.
fn item_value(item: &SetItem, eval: &Arc<EvalContext>) -> Result<Option<Value>> {
    match item {
        SetItem::Variable { value, .. } => value.as_ref().map(|v| evaluate(v, eval)).transpose(),
        SetItem::User { value, .. } => {
            let (value, ty) = functions::eval_assigned(value, functions::Row::None, eval)?;
            Ok(Some(kept(value, &ty)))
        }
        _ => Ok(None),
    }
}

/// A value as a user variable keeps it, which has no type but its value's: dates and times are text there.
fn kept(value: Value, ty: &SqlType) -> Value {
    if !ty.is_temporal() || value.is_null() {
        return value;
    }
    Value::String(value.display_text(ty))
}

fn evaluate(expr: &Expr, eval: &Arc<EvalContext>) -> Result<Value> {
    functions::eval_value(expr, eval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_variables_keep_dates_as_text() {
        let day = functions::TimeZone::UTC.from_unix_us(86_400_000_000).pack();
        assert_eq!(
            kept(Value::UInt(day), &SqlType::datetime(0)),
            Value::String("1970-01-02 00:00:00".to_owned())
        );
        assert_eq!(kept(Value::Int(5), &SqlType::BIGINT), Value::Int(5));
        assert_eq!(kept(Value::Null, &SqlType::datetime(0)), Value::Null);
    }
}
