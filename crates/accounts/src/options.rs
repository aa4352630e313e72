//! An account's options: rules for its passwords and logins, resource limits, comment and attributes (manual
//! 13.7.1.3, "CREATE USER Statement").

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schema::privilege::PrivilegeSet;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use types::{Error, Result};

const ER_INVALID_USER_ATTRIBUTE_JSON: u16 = 3982;

const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;

/// Options that have CREATE USER's defaults are not stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountOptions {
    /// REQUIRE SSL, or more.
    pub requires_tls: bool,
    /// REQUIRE X509, or what the certificate has to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<RequiredCertificate>,
    pub limits: ResourceLimits,
    /// Days after which the password expires: 0 never; `None` is `@@default_password_lifetime`.
    pub password_days: Option<u16>,
    /// How many past passwords may not come again; `None` is `@@password_history`.
    pub history: Option<u16>,
    /// For how many days a past password may not come again; `None` is `@@password_reuse_interval`.
    pub reuse_days: Option<u16>,
    /// Whether a new password needs the current one; `None` is `@@password_require_current`.
    pub requires_current: Option<bool>,
    pub login_tracking: Option<LoginTracking>,
    /// The hash of the password that RETAIN CURRENT PASSWORD has kept; empty for none.
    pub second_authentication: String,
    /// The text of a JSON object, as MySQL writes it: ATTRIBUTE and COMMENT.
    pub attribute: Option<String>,
    /// The newest ones last.
    pub past_passwords: Vec<PastPassword>,
}

/// What a client's certificate has to say. `None`: anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequiredCertificate {
    pub cipher: Option<String>,
    pub issuer: Option<String>,
    pub subject: Option<String>,
}

impl RequiredCertificate {
    /// REQUIRE X509.
    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }
}

/// `REQUIRE ...`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsRequirement {
    pub tls: bool,
    pub certificate: Option<RequiredCertificate>,
}

/// Each 0 for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceLimits {
    pub queries_per_hour: u32,
    pub updates_per_hour: u32,
    pub connections_per_hour: u32,
    pub connections: u32,
}

/// FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME. Logins are counted where both are set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoginTracking {
    pub attempts: u16,
    /// -1: until the account is unlocked.
    pub lock_days: i32,
    /// When counting began again (ACCOUNT UNLOCK does that). Microseconds since 1970.
    pub since_us: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastPassword {
    pub plugin: String,
    pub authentication: String,
    /// Microseconds since 1970.
    pub set_us: i64,
}

/// What a statement says about options. `None` changes nothing; an inner `None` is DEFAULT.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OptionChanges {
    pub tls: Option<TlsRequirement>,
    pub queries_per_hour: Option<u32>,
    pub updates_per_hour: Option<u32>,
    pub connections_per_hour: Option<u32>,
    pub connections: Option<u32>,
    pub expires_now: bool,
    pub password_days: Option<Option<u16>>,
    pub history: Option<Option<u16>>,
    pub reuse_days: Option<Option<u16>>,
    pub requires_current: Option<Option<bool>>,
    pub attempts: Option<u16>,
    pub lock_days: Option<i32>,
    pub comment: Option<String>,
    /// The text of a JSON object, which is merged into what is there.
    pub attribute: Option<String>,
}

impl AccountOptions {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// # Errors
    /// 3982 for an attribute that is no JSON object.
    pub(crate) fn change(&mut self, change: &OptionChanges, unlocks: bool, now_us: i64) -> Result<()> {
        fn set<T: Copy>(to: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *to = value;
            }
        }
        if let Some(requirement) = &change.tls {
            self.requires_tls = requirement.tls;
            self.certificate.clone_from(&requirement.certificate);
        }
        set(&mut self.limits.queries_per_hour, change.queries_per_hour);
        set(&mut self.limits.updates_per_hour, change.updates_per_hour);
        set(&mut self.limits.connections_per_hour, change.connections_per_hour);
        set(&mut self.limits.connections, change.connections);
        set(&mut self.password_days, change.password_days);
        set(&mut self.history, change.history);
        set(&mut self.reuse_days, change.reuse_days);
        set(&mut self.requires_current, change.requires_current);
        if change.attempts.is_some() || change.lock_days.is_some() {
            let tracking = self.login_tracking.get_or_insert_default();
            set(&mut tracking.attempts, change.attempts);
            set(&mut tracking.lock_days, change.lock_days);
            tracking.since_us = now_us;
        }
        if unlocks && let Some(tracking) = &mut self.login_tracking {
            tracking.since_us = now_us;
        }
        let comment = change.comment.as_ref().map(|comment| {
            let member = ("comment".to_owned(), Value::String(comment.clone()));
            Value::Object(Map::from_iter([member]))
        });
        let attribute = change.attribute.as_deref().map(object).transpose()?;
        if let Some(patch) = comment.or(attribute) {
            let mut merged = match &self.attribute {
                Some(text) => object(text)?,
                None => Value::Object(Map::new()),
            };
            merge(&mut merged, patch);
            self.attribute = Some(printed(&merged));
        }
        Ok(())
    }

    /// Whether a password that was set at `set_us` has expired.
    pub fn is_expired(&self, set_us: i64, default_days: u16, now_us: i64) -> bool {
        let days = i64::from(self.password_days.unwrap_or(default_days));
        days > 0 && now_us.saturating_sub(set_us) > days * DAY_US
    }

    /// Notes the password that an account gets. `defaults`: `@@password_history` and
    /// `@@password_reuse_interval`. `is_same`: whether it is one that the account has had.
    /// Whether it may have it.
    pub(crate) fn remember(
        &mut self,
        password: PastPassword,
        defaults: (u16, u16),
        is_same: impl Fn(&PastPassword) -> bool,
    ) -> bool {
        let history = usize::from(self.history.unwrap_or(defaults.0));
        let days = i64::from(self.reuse_days.unwrap_or(defaults.1));
        let newest = self.past_passwords.len().saturating_sub(history);
        let counts = |at: usize, past: &PastPassword| {
            at >= newest || password.set_us.saturating_sub(past.set_us) < days * DAY_US
        };
        let mut at = 0;
        self.past_passwords.retain(|past| {
            at += 1;
            counts(at - 1, past)
        });
        if self.past_passwords.iter().any(is_same) {
            return false;
        }
        if history > 0 || days > 0 {
            self.past_passwords.push(password);
        }
        // Those that only the number of passwords keeps.
        if days == 0 && self.past_passwords.len() > history {
            self.past_passwords.drain(..self.past_passwords.len() - history);
        }
        true
    }

    /// `user_attributes` of `mysql.user`, with the account's partial revokes.
    pub fn user_attributes(&self, restrictions: &BTreeMap<String, PrivilegeSet>) -> Option<String> {
        let mut all = Map::new();
        if !restrictions.is_empty() {
            let listed = restrictions.iter().map(|(database, restricted)| {
                let names = restricted.iter().map(|privilege| Value::from(privilege.name()));
                Value::Object(Map::from_iter([
                    ("Database".to_owned(), database.as_str().into()),
                    ("Privileges".to_owned(), names.collect()),
                ]))
            });
            all.insert("Restrictions".to_owned(), listed.collect());
        }
        if let Some(metadata) = self.attribute.as_deref().and_then(|text| object(text).ok()) {
            all.insert("metadata".to_owned(), metadata);
        }
        if let Some(tracking) = &self.login_tracking {
            let locking = Map::from_iter([
                ("failed_login_attempts".to_owned(), tracking.attempts.into()),
                ("password_lock_time_days".to_owned(), tracking.lock_days.into()),
            ]);
            all.insert("Password_locking".to_owned(), Value::Object(locking));
        }
        if !self.second_authentication.is_empty() {
            let second = Value::String(self.second_authentication.clone());
            all.insert("additional_password".to_owned(), second);
        }
        (!all.is_empty()).then(|| printed(&Value::Object(all)))
    }

    /// ` REQUIRE ... WITH ...` of SHOW CREATE USER.
    pub(crate) fn requirement(&self) -> String {
        let mut out = self.tls_requirement();
        let limits = [
            ("MAX_QUERIES_PER_HOUR", self.limits.queries_per_hour),
            ("MAX_UPDATES_PER_HOUR", self.limits.updates_per_hour),
            ("MAX_CONNECTIONS_PER_HOUR", self.limits.connections_per_hour),
            ("MAX_USER_CONNECTIONS", self.limits.connections),
        ];
        let mut word = " WITH";
        for (name, limit) in limits.iter().filter(|(_, limit)| *limit > 0) {
            let _ = write!(out, "{word} {name} {limit}");
            word = "";
        }
        out
    }

    fn tls_requirement(&self) -> String {
        let Some(certificate) = &self.certificate else {
            return if self.requires_tls { "SSL" } else { "NONE" }.to_owned();
        };
        let parts = [
            ("SUBJECT", &certificate.subject),
            ("ISSUER", &certificate.issuer),
            ("CIPHER", &certificate.cipher),
        ];
        let parts = parts
            .into_iter()
            .filter_map(|(word, text)| Some((word, text.as_ref()?)));
        let parts: Vec<String> = parts
            .map(|(word, text)| format!("{word} '{}'", text.replace('\\', "\\\\").replace('\'', "''")))
            .collect();
        match parts.is_empty() {
            true => "X509".to_owned(),
            false => parts.join(" "),
        }
    }

    /// ` PASSWORD HISTORY ...` to the end of SHOW CREATE USER, but for the attribute.
    pub(crate) fn rules(&self) -> String {
        let number = |value: Option<u16>| value.map_or("DEFAULT".to_owned(), |value| value.to_string());
        let mut out = format!(
            "PASSWORD HISTORY {} PASSWORD REUSE INTERVAL ",
            number(self.history)
        );
        match self.reuse_days {
            None => out.push_str("DEFAULT"),
            Some(days) => {
                let _ = write!(out, "{days} DAY");
            }
        }
        out.push_str(match self.requires_current {
            None => " PASSWORD REQUIRE CURRENT DEFAULT",
            Some(true) => " PASSWORD REQUIRE CURRENT",
            Some(false) => " PASSWORD REQUIRE CURRENT OPTIONAL",
        });
        let tracking = self.login_tracking.unwrap_or_default();
        if tracking.attempts > 0 {
            let _ = write!(out, " FAILED_LOGIN_ATTEMPTS {}", tracking.attempts);
        }
        match tracking.lock_days {
            0 => {}
            -1 => out.push_str(" PASSWORD_LOCK_TIME UNBOUNDED"),
            days => {
                let _ = write!(out, " PASSWORD_LOCK_TIME {days}");
            }
        }
        out
    }
}

impl ResourceLimits {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

fn object(text: &str) -> Result<Value> {
    let value: Option<Value> = serde_json::from_str(text).ok();
    value.filter(Value::is_object).ok_or_else(|| {
        Error::new(
            ER_INVALID_USER_ATTRIBUTE_JSON,
            "The user attribute must be a valid JSON object",
        )
    })
}

/// RFC 7396: members of `patch` take the place of those of the same name, and null removes them.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(members) = target else {
        return;
    };
    for (name, value) in patch {
        match value {
            Value::Null => {
                members.remove(&name);
            }
            value => merge(members.entry(name).or_insert(Value::Null), value),
        }
    }
}

/// MySQL's text of a JSON value: short names come first.
fn printed(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|&(name, _)| (name.len(), name.as_str()));
            let members: Vec<String> = members
                .into_iter()
                .map(|(name, value)| format!("{}: {}", Value::String(name.clone()), printed(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(printed).collect();
            format!("[{}]", elements.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_merged_as_mysql_does() {
        let mut options = AccountOptions::default();
        let mut change = |attribute: &str| {
            let change = OptionChanges {
                attribute: Some(attribute.to_owned()),
                ..OptionChanges::default()
            };
            options
                .change(&change, false, 0)
                .map(|()| options.attribute.clone())
        };
        assert_eq!(
            change(r#"{"k": {"z": 1}, "comment": "x", "a": [1, {"b": null}]}"#)
                .unwrap()
                .unwrap(),
            r#"{"a": [1, {"b": null}], "k": {"z": 1}, "comment": "x"}"#
        );
        assert_eq!(
            change(r#"{"k": {"y": 2}, "a": null}"#).unwrap().unwrap(),
            r#"{"k": {"y": 2, "z": 1}, "comment": "x"}"#
        );
        assert_eq!(change("[1]").unwrap_err().code, 3982);
        assert_eq!(change("no").unwrap_err().code, 3982);
    }

    #[test]
    fn past_passwords_count_by_number_and_by_days() {
        let password = |text: &str, set_us| PastPassword {
            plugin: String::new(),
            authentication: text.to_owned(),
            set_us,
        };
        let mut by_number = AccountOptions {
            history: Some(2),
            ..AccountOptions::default()
        };
        let mut set =
            |text: &str| by_number.remember(password(text, 0), (0, 0), |past| past.authentication == text);
        assert_eq!(
            ["a", "a", "b", "a", "c", "a"].map(&mut set),
            [true, false, true, false, true, true]
        );
        let mut by_days = AccountOptions::default();
        let mut set = |text: &str, day: i64| {
            let new = password(text, day * DAY_US);
            by_days.remember(new, (0, 3), |past| past.authentication == text)
        };
        assert!(set("a", 0) && set("b", 1) && !set("a", 2) && set("a", 3) && !set("b", 3) && set("b", 4));
    }
}
